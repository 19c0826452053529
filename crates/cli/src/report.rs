//! `tailmark report`: the report again, or one over several studies.

use crate::args::ReportArgs;
use tailmark_console::{Console, Exit};
use tailmark_report::write_studies;

/// Writes the report and prints its path.
pub fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<Exit> {
    let written = write_studies(&args.studies, &args.format, &args.out)?;
    written.headline.iter().for_each(|line| console.warn(line));
    console.say(&written.path.display().to_string())?;
    Ok(Exit::Done)
}
