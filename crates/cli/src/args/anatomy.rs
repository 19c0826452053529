//! The arguments of `tailmark anatomy`.

use super::examples;
use std::path::PathBuf;

/// `tailmark anatomy`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::ANATOMY)]
pub struct AnatomyArgs {
    /// Run directories of `tailmark run --anatomy`
    #[arg(required = true, value_name = "DIR")]
    pub studies: Vec<PathBuf>,
}
