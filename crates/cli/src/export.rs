//! `tailmark export`: what was measured, for other programs.

use crate::{args::ExportArgs, exit::Exit, report};
use anyhow::Context;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
};
use tailmark_results::export::FORMATS;

/// Writes the study in the format asked for.
pub fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let study = report::open(&args.study)?;
    let format = FORMATS.iter().find(|format| format.name == args.format);
    let format = format.context("the argument parser knows the table of formats")?;
    match &args.out {
        Some(path) => {
            let failed = || format!("failed to write `{}`", path.display());
            let mut out = BufWriter::new(File::create(path).with_context(failed)?);
            (format.write)(&study, &mut out).with_context(failed)?;
            out.flush().with_context(failed)?;
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            (format.write)(&study, &mut out)?;
            out.flush()?;
        }
    }
    Ok(Exit::Done)
}
