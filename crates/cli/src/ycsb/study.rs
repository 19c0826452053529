//! A call as a part of a study, so that a YCSB user gets the report too.

use super::{binding::without_passwords, call::Call};
use crate::report;
use anyhow::Context;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use tailmark_results::{Fact, Header, Load, Phase, Point, PointKey, Study, System};

/// Adds a call to the study in `out`, which is made where there is none, and writes its report. A
/// point that is there already becomes another repeat.
///
/// # Errors
/// Where the study refuses.
pub fn add(
    out: &Path,
    call: &Call,
    system: &str,
    point: Option<PointKey>,
    phase: &Phase,
    facts: BTreeMap<String, String>,
) -> anyhow::Result<PathBuf> {
    let failed = || format!("failed to add to the study in `{}`", out.display());
    let described = describe(call, system);
    let study = match Study::exists(out) {
        true => Study::open(out).with_context(failed)?,
        false => {
            Study::create(out, &header(), std::slice::from_ref(&described)).with_context(failed)?
        }
    };
    study.add_system(&described).with_context(failed)?;
    let mut known = tailmark_host::machine_facts();
    known.extend(tailmark_host::place_facts(system, &call.params.place));
    known.extend(facts.into_iter().map(|(name, value)| Fact {
        system: Some(system.to_owned()),
        group: "database".to_owned(),
        name,
        value,
    }));
    study.set_facts(&known).with_context(failed)?;
    let phase = phase.clone();
    match point {
        Some(mut key) => {
            while study.has_point(&key).with_context(failed)? {
                key.repeat += 1;
            }
            study
                .add_point(&Point { key, phase })
                .with_context(failed)?;
        }
        None => {
            let system = system.to_owned();
            let records = phase.operations - phase.errors();
            study
                .add_load(&Load {
                    system,
                    records,
                    threads: call.threads,
                    phase,
                })
                .with_context(failed)?;
        }
    }
    report::write(&[out.to_owned()], "html", out)
}

fn header() -> Header {
    let words: Vec<String> = std::env::args().collect();
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Header {
        title: "YCSB".to_owned(),
        tailmark: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: since.as_millis() as u64,
        plan: BTreeMap::new(),
        source: without_passwords(&words).join(" "),
        assumed: Vec::new(),
    }
}

fn describe(call: &Call, system: &str) -> System {
    let mut settings: BTreeMap<String, String> = call
        .params
        .settings
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // It is gone when the call ends.
    settings.remove("password_file");
    let data = &call.params.data;
    settings.insert("records".to_owned(), data.records.to_string());
    settings.insert("fields".to_owned(), data.schema.fields.len().to_string());
    settings.insert("field_length".to_owned(), data.field_length.to_string());
    System {
        name: system.to_owned(),
        driver: call.driver.name.to_owned(),
        place: call.params.place.display().to_string(),
        semantics: call.params.semantics.name().to_owned(),
        settings,
        ceiling_for: None,
    }
}
