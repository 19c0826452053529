//! A call as a part of a study, so that a YCSB user gets the report too.

use super::binding::without_passwords;
use crate::report;
use anyhow::Context;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use tailmark_driver::{Driver, Params};
use tailmark_results::{Fact, Header, Load, Phase, Point, PointKey, Study, System};

/// What a call adds.
pub struct Entry<'a> {
    /// Opened the database.
    pub driver: &'static Driver,
    /// What was opened.
    pub params: &'a Params,
    /// Clients.
    pub threads: u32,
    /// The name of the system.
    pub system: &'a str,
    /// The name of the point; none for a load.
    pub point: Option<PointKey>,
    /// What was measured.
    pub phase: Phase,
    /// What the database told of itself.
    pub facts: BTreeMap<String, String>,
}

/// Adds a call to the study in `out`, which is made where there is none, and writes its report. A
/// point that is there already becomes another repeat.
///
/// # Errors
/// Where the study refuses.
pub fn add(out: &Path, entry: Entry<'_>) -> anyhow::Result<PathBuf> {
    let failed = || format!("failed to add to the study in `{}`", out.display());
    let described = describe(&entry);
    let Entry {
        params,
        threads,
        system,
        point,
        phase,
        facts,
        ..
    } = entry;
    let study = match Study::exists(out) {
        true => Study::open(out).with_context(failed)?,
        false => {
            Study::create(out, &header(), std::slice::from_ref(&described)).with_context(failed)?
        }
    };
    study.add_system(&described).with_context(failed)?;
    let mut known = tailmark_host::machine_facts();
    known.extend(tailmark_host::place_facts(system, &params.place));
    known.extend(facts.into_iter().map(|(name, value)| Fact {
        system: Some(system.to_owned()),
        group: "database".to_owned(),
        name,
        value,
    }));
    study.set_facts(&known).with_context(failed)?;
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
                    threads,
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

fn describe(entry: &Entry<'_>) -> System {
    let params = entry.params;
    let mut settings: BTreeMap<String, String> = params
        .settings
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // It is gone when the call ends.
    settings.remove("password_file");
    let data = &params.data;
    settings.insert("records".to_owned(), data.records.to_string());
    settings.insert("fields".to_owned(), data.schema.fields.len().to_string());
    settings.insert("field_length".to_owned(), data.field_length.to_string());
    System {
        name: entry.system.to_owned(),
        driver: entry.driver.name.to_owned(),
        place: params.place.display().to_string(),
        semantics: params.semantics.name().to_owned(),
        settings,
        ceiling_for: None,
    }
}
