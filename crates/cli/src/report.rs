//! `tailmark report`: writes the report again, or one over several studies.

use crate::{
    args::{HistoryArgs, ReportArgs},
    screen,
};
use std::{io, path::Path};
use tailmark_console::{Console, Exit, Refused};
use tailmark_report::{
    Data, Report, ReportFormat, read_studies, refuse_logo, refuse_unknown_sections, write_data,
    write_history,
};

/// Writes the report and prints its path. A text without an output path is printed itself.
pub fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<Exit> {
    let formats: Vec<&str> = args.formats.iter().map(String::as_str).collect();
    let as_text = match formats[..] {
        [name] => ReportFormat::find(name)?.text,
        _ => None,
    };
    match (&args.out, as_text) {
        (Some(out), _) => to_directory(args, &formats, out, console)?,
        (None, Some(write)) => {
            let (data, screen) = (data(args)?, screen::of(&io::stdout()));
            let report = Report::new(&data);
            console.write(|out| Ok(write(&report, screen, out)?))?;
        }
        (None, None) => {
            let names = formats.join(",");
            let why = format!("--format {names} needs a directory to write into: -o OUT");
            return Err(Refused(why).into());
        }
    }
    Ok(Exit::Done)
}

/// The content of the studies, and the report settings of the flags.
fn data(args: &ReportArgs) -> anyhow::Result<Data> {
    let settings = args.keys.settings(&args.set)?;
    refuse_unknown_sections(&settings)?;
    refuse_logo(&settings, "report.logo")?;
    let data = read_studies(&args.studies)?;
    let data = if settings.redact {
        data.redacted()
    } else {
        data
    };
    let data = data.with_settings(settings)?;
    match &args.against {
        None => Ok(data),
        Some(earlier) => {
            let earlier = read_studies(std::slice::from_ref(earlier))?;
            Ok(data.against(&earlier)?)
        }
    }
}

/// Writes the index page of a folder, and prints its path. Changes go to standard error.
pub fn history(args: &HistoryArgs, console: &Console) -> anyhow::Result<Exit> {
    let history = write_history(&args.folder, &args.metrics)?;
    for skipped in &history.skipped {
        console.warn(&format!("left out: {skipped}"));
    }
    for copy in &history.copies {
        console.warn(&format!("counted once: {copy}"));
    }
    history
        .changes
        .iter()
        .for_each(|change| console.warn(change));
    console.say(&history.path.display().to_string())?;
    Ok(Exit::Done)
}

fn to_directory(
    args: &ReportArgs,
    formats: &[&str],
    out: &Path,
    console: &Console,
) -> anyhow::Result<()> {
    let written = write_data(&data(args)?, formats, out).map_err(|error| match error {
        tailmark_report::Error::Files(file) if file.is_usage() => Refused::because(file.into()),
        other => other.into(),
    })?;
    written.headline.iter().for_each(|line| console.warn(line));
    let mut paths = written.paths.iter();
    paths.try_for_each(|path| console.say(&path.display().to_string()))
}
