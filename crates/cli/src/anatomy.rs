//! `tailmark anatomy`: why the slowest requests of a study were slow, in the terminal.

use crate::{args::AnatomyArgs, screen};
use anyhow::Context;
use std::io;
use tailmark_console::{Console, Exit, Refused};
use tailmark_model::ReportSettings;
use tailmark_report::{Report, ReportFormat, read_studies};

/// Prints the section of the report.
pub fn anatomy(args: &AnatomyArgs, console: &Console) -> anyhow::Result<Exit> {
    let data = read_studies(&args.studies)?;
    if data.anatomies.is_empty() {
        let why = "no requests were taken apart; measure with `tailmark run --anatomy`";
        return Err(Refused(why.to_owned()).into());
    }
    let data = data.with_settings(ReportSettings {
        sections: vec!["anatomy".to_owned()],
        ..ReportSettings::default()
    })?;
    let write = ReportFormat::find("terminal")?.text;
    let write = write.context("the format is text")?;
    let (report, screen) = (Report::new(&data), screen::of(&io::stdout()));
    console.write(|out| Ok(write(&report, screen, out)?))?;
    Ok(Exit::Done)
}
