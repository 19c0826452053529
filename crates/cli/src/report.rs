//! `tailmark report`: the report again, or one over several studies.

use crate::{args::ReportArgs, exit::Refused, screen};
use std::{io, path::Path};
use tailmark_console::{Console, Exit};
use tailmark_report::{Data, Error, ReportFormat, read_studies, write_data};
use tailmark_results::ReportSettings;

/// Writes the report and prints its path; a text without a place for it is printed itself.
pub fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<Exit> {
    let format = ReportFormat::find(&args.format)?;
    match &args.out {
        Some(out) => to_directory(args, out, console)?,
        None if format.is_text => {
            let (data, screen) = (data(args)?, screen::of(&io::stdout()));
            console.write(|out| Ok((format.write)(&data, screen, out)?))?;
        }
        None => {
            let name = format.name;
            let why = format!("--format {name} needs a directory to write into: -o OUT");
            return Err(Refused(why).into());
        }
    }
    Ok(Exit::Done)
}

/// What the studies hold, and what the flags say that the report is to be about.
fn data(args: &ReportArgs) -> Result<Data, Error> {
    let settings = ReportSettings {
        latency: args.latency,
        baseline: args.baseline.clone(),
        ..ReportSettings::default()
    };
    let data = read_studies(&args.studies)?;
    let data = if args.redact { data.redacted() } else { data };
    data.with_settings(settings)
}

fn to_directory(args: &ReportArgs, out: &Path, console: &Console) -> anyhow::Result<()> {
    let written = write_data(&data(args)?, &args.format, out)?;
    written.headline.iter().for_each(|line| console.warn(line));
    console.say(&written.path.display().to_string())
}
