//! `tailmark report`: the report again, or one over several studies.

use crate::{
    args::ReportArgs,
    exit::{Exit, NoStudy},
    output,
};
use anyhow::Context;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tailmark_report::Data;
use tailmark_results::Study;

/// Writes the report and prints its path.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let path = write(&args.studies, &args.format, &args.out)?;
    output::say(&path.display().to_string())?;
    Ok(Exit::Done)
}

/// Writes the report of the studies in these directories.
pub fn write(studies: &[PathBuf], format: &str, out: &Path) -> anyhow::Result<PathBuf> {
    let studies = studies
        .iter()
        .map(|dir| open(dir))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let data = Data::read(&studies)?;
    let failed = || format!("failed to write a report into `{}`", out.display());
    fs::create_dir_all(out).with_context(failed)?;
    tailmark_report::write(format, &data, out).with_context(failed)
}

/// The study in a run directory, to read.
pub fn open(dir: &Path) -> anyhow::Result<Study> {
    if !Study::exists(dir) && !dir.is_file() {
        return Err(NoStudy(dir.to_owned()).into());
    }
    let failed = || format!("failed to read the study in `{}`", dir.display());
    Study::open_read_only(dir).with_context(failed)
}
