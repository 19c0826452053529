//! `tailmark export`: writes a study for other programs.

use crate::args::ExportArgs;
use anyhow::Context;
use std::{fs, os::unix::fs::MetadataExt, path::Path};
use tailmark_console::{Console, Exit, Refused};
use tailmark_study::{NewFile, Study, export::FORMATS, is_wrong_place};

/// Writes the study in the format asked for.
pub fn export(args: &ExportArgs, console: &Console) -> anyhow::Result<Exit> {
    let study = Study::open_read_only(&args.study)?;
    let study = if args.redact || study.header()?.settings.report.redact {
        study.redacted()?
    } else {
        study
    };
    let format = FORMATS.iter().find(|format| format.name == args.format);
    let format = format.context("the argument parser knows the table of formats")?;
    match &args.out {
        Some(path) => {
            let failed = || format!("failed to write `{}`", path.display());
            if is_same_file(path, study.path()) {
                let name = path.display();
                let why = format!("`{name}` is the study to export; name another file with -o");
                return Err(Refused(why).into());
            }
            let mut out = match NewFile::create(path) {
                Err(why) if is_wrong_place(&why) => {
                    return Err(Refused(format!("{}: {why}", failed())).into());
                }
                created => created.with_context(failed)?,
            };
            (format.write)(&study, &mut out).with_context(failed)?;
            out.finish().with_context(failed)?;
        }
        None => console.write(|out| Ok((format.write)(&study, out)?))?,
    }
    Ok(Exit::Done)
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    let number = |file| fs::metadata(file).map(|found| (found.dev(), found.ino()));
    matches!((number(path), number(other)), (Ok(one), Ok(other)) if one == other)
}
