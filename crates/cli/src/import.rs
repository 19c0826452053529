//! `tailmark import`: results of other programs, into a study.

use crate::{args::ImportArgs, exit::Exit, output, report};
use anyhow::Context;
use std::{
    collections::BTreeMap,
    fs,
    time::{SystemTime, UNIX_EPOCH},
};
use tailmark_results::{
    Header, Load, Point, PointKey, Study, System,
    import::{Given, Imported, Source, find},
};

/// Reads the files and adds what is in them to the study; prints the path of its report.
pub fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let format = find(&args.format)?;
    let read = |path: &std::path::PathBuf| {
        let bytes =
            fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))?;
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
    };
    let all = (format.read)(&sources, &given)?;
    let failed = || format!("failed to add to the study in `{}`", args.out.display());
    let study = match Study::exists(&args.out) {
        true => Study::open(&args.out),
        false => Study::create(&args.out, &header(format.name), &[]),
    };
    let study = study.with_context(failed)?;
    for imported in all {
        add(&study, imported, format.name).with_context(failed)?;
    }
    let page = report::write(std::slice::from_ref(&args.out), "html", &args.out)?;
    output::say(&page.display().to_string())?;
    Ok(Exit::Done)
}

fn add(study: &Study, imported: Imported, format: &str) -> Result<(), tailmark_results::Error> {
    let Imported {
        system,
        workload,
        distribution,
        threads,
        target_rate,
        phase,
    } = imported;
    study.add_system(&System {
        name: system.clone(),
        driver: format!("{format} (imported)"),
        place: String::new(),
        semantics: "faithful".to_owned(),
        settings: BTreeMap::new(),
        ceiling_for: None,
    })?;
    let Some(workload) = workload else {
        let records = phase.operations.saturating_sub(phase.errors());
        return study.add_load(&Load {
            system,
            records,
            threads,
            phase,
        });
    };
    let mut key = PointKey {
        system,
        workload,
        distribution,
        threads,
        repeat: 1,
        target_rate,
    };
    while study.has_point(&key)? {
        key.repeat += 1;
    }
    study.add_point(&Point { key, phase })
}

fn header(format: &str) -> Header {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Header {
        title: format!("Imported from {format}"),
        tailmark: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: since.as_millis() as u64,
        plan: BTreeMap::new(),
        source: std::env::args().collect::<Vec<_>>().join(" "),
        assumed: Vec::new(),
    }
}
