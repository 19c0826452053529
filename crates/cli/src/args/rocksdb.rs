//! The arguments of `tailmark rocksdb`.

use super::{TextFormat, examples};
use clap::Subcommand;

/// `tailmark rocksdb`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::ROCKSDB)]
pub struct RocksDbArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RocksDbCommand,
}

/// The subcommands of `tailmark rocksdb`.
#[derive(Debug, Subcommand)]
pub enum RocksDbCommand {
    /// List the versions that database.library can name
    List(ListVersionsArgs),
    /// Get a version, by Maven from Maven Central or from a URL
    Fetch(FetchArgs),
}

/// `tailmark rocksdb list`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::ROCKSDB)]
pub struct ListVersionsArgs {
    /// Output format: text or json
    #[arg(long, value_enum, default_value = "text", hide_possible_values = true)]
    pub format: TextFormat,
}

/// `tailmark rocksdb fetch`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::ROCKSDB)]
pub struct FetchArgs {
    /// The version, such as 8.1.1.1 (of `org.rocksdb:rocksdbjni` on Maven Central)
    #[arg(value_name = "VERSION")]
    pub version: String,
    /// Where to get a jar or library instead: file:PATH, or https://... by curl
    #[arg(long, value_name = "URL", requires = "sha256")]
    pub url: Option<String>,
    /// The SHA-256 digest of what is there
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
}
