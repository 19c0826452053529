//! `tailmark import`: results of other programs, into a study.

use crate::args::ImportArgs;
use anyhow::Context;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};
use tailmark_console::{Console, Exit};
use tailmark_model::{Header, Load, PointKey, System, secret::own_words};
use tailmark_report::{refuse_foreign, write_studies};
use tailmark_study::{
    Error, Study,
    import::{Given, Imported, Source, UNITS, find},
};

/// The most bytes of all files of an import.
const BYTES_MAX: u64 = 256 << 20;

/// Reads the files and adds what is in them to the study; prints the path of its report.
pub fn import(args: &ImportArgs, console: &Console) -> anyhow::Result<Exit> {
    let format = find(&args.format)?;
    let mut left = BYTES_MAX;
    let read = |path: &std::path::PathBuf| {
        let bytes = contents(path, left);
        let bytes = bytes.with_context(|| format!("failed to read `{}`", path.display()))?;
        left -= bytes.len() as u64;
        anyhow::Ok(Source {
            path: path.clone(),
            bytes,
        })
    };
    let sources = args
        .files
        .iter()
        .map(read)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (system, workload) = (args.system.clone(), args.workload.clone());
    let given = Given {
        system,
        workload,
        threads: args.threads,
        unit_ns: args.unit.as_deref().and_then(unit_ns),
    };
    let (all, left_out) = format.import_readable(&sources, &given)?;
    for error in &left_out {
        console.warn(&format!("left out: {error}"));
    }
    refuse_foreign(&["html"], &args.out)?;
    let failed = || format!("failed to add to the study in `{}`", args.out.display());
    add_all(&args.out, all, format.name).with_context(failed)?;
    let reported = write_studies(std::slice::from_ref(&args.out), &["html"], &args.out);
    let page = reported.context("the study is complete, but has no report")?;
    console.say(&page.path().display().to_string())?;
    Ok(Exit::Done)
}

/// A file that has at most so many bytes of [`BYTES_MAX`].
fn contents(path: &Path, left: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(left + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > left {
        let most = BYTES_MAX >> 20;
        return Err(io::Error::other(format!(
            "the files of this import have more than {most} MiB; split them, and import the parts \
             one after the other into the same directory"
        )));
    }
    Ok(bytes)
}

/// Nanoseconds in one of a unit.
fn unit_ns(name: &str) -> Option<u64> {
    let known = UNITS.iter().find(|(known, _)| *known == name);
    known.map(|(_, ns)| *ns)
}

/// Adds everything to the study in a directory, or nothing: a study and a directory that were made
/// for it go again.
fn add_all(out: &Path, all: Vec<Imported>, format: &str) -> Result<(), Error> {
    let (had_study, had_directory) = (Study::exists(out), out.exists());
    let remove_directory = || {
        if !had_directory {
            let _ = fs::remove_dir(out);
        }
    };
    let study = if had_study {
        Study::open(out)?
    } else {
        Study::create(out, &header(format), &[]).inspect_err(|_| remove_directory())?
    };
    let mut all = all.into_iter();
    let added = study.together(|| all.try_for_each(|imported| add(&study, imported, format)));
    if added.is_err() && !had_study {
        drop(study);
        let _ = fs::remove_file(out.join(Study::FILE));
        remove_directory();
    }
    added
}

fn add(study: &Study, imported: Imported, format: &str) -> Result<(), Error> {
    study.add_system(&System {
        name: imported.system.clone(),
        driver: format!("{format} (imported)"),
        place: imported.place.clone(),
        semantics: "faithful".to_owned(),
        settings: imported.settings.clone(),
        ceiling_for: None,
    })?;
    study.set_facts(&imported.facts(&imported.system, format))?;
    let Imported {
        system,
        workload,
        distribution,
        threads,
        target_rate,
        arrivals,
        phase,
        ..
    } = imported;
    let Some(workload) = workload else {
        let records = phase.succeeded();
        return study.add_load(&Load {
            system,
            records,
            threads,
            phase,
        });
    };
    let key = PointKey {
        system,
        workload,
        distribution,
        threads,
        repeat: 1,
        target_rate,
        arrivals,
    };
    study.append_point(key, phase)
}

fn header(format: &str) -> Header {
    let words = own_words().join(" ");
    Header::without_plan(format!("Imported from {format}"), words)
}
