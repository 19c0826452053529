//! `tailmark report`: the report again, or one over several studies.

use crate::args::ReportArgs;
use tailmark_console::{Console, Exit};
use tailmark_report::write_studies;

/// Writes the report and prints its path.
pub fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<Exit> {
    let path = write_studies(&args.studies, &args.format, &args.out)?;
    console.say(&path.display().to_string())?;
    Ok(Exit::Done)
}
