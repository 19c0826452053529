//! A call as part of a study, so that YCSB users get the report too.

use anyhow::Context;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::{Driver, Location, Params};
use tailmark_model::{Header, Phase, PointKey, System, secret::own_command};
use tailmark_report::{refuse_foreign, write_studies};
use tailmark_runner::point::CallStudy;
use tailmark_study::Study;

/// The data that a call adds.
pub struct CallRecord<'a> {
    /// Opened the database.
    pub driver: &'static Driver,
    /// The parameters of the database.
    pub params: &'a Params,
    /// Clients.
    pub threads: u32,
    /// The name of the system.
    pub system: &'a str,
    /// The name of the point; `None` for a load.
    pub point: Option<PointKey>,
    /// The measurements.
    pub phase: Phase,
    /// What could not be sampled, and why.
    pub not_sampled: Vec<String>,
    /// The database's own facts.
    pub facts: BTreeMap<String, String>,
}

/// Refuses a study or a report of another program before anything is measured for them.
///
/// # Errors
/// If there is one, or the study cannot be opened.
pub fn check(out: &Path) -> anyhow::Result<()> {
    refuse_foreign(&["html"], out)?;
    if Study::exists(out) {
        Study::open(out)
            .with_context(|| format!("failed to open the study in `{}`", out.display()))?;
    }
    Ok(())
}

/// Adds a call to the study in `out`, created if it does not exist, and writes its report. An
/// existing point gets another repeat. A system with other data or settings becomes another system.
///
/// # Errors
/// If the study refuses.
pub fn add(out: &Path, call: CallRecord<'_>) -> anyhow::Result<PathBuf> {
    let header = Header::without_plan("YCSB", own_command());
    let system = describe(&call);
    let add = || {
        let study = CallStudy::open(out, &header, &system, |_| true)?;
        study.say_not_sampled(&call.not_sampled)?;
        match call.point {
            Some(key) => study.add_point(key, call.phase, call.facts),
            None => study.add_load(call.threads, call.phase, call.facts),
        }
    };
    add().with_context(|| format!("failed to add to the study in `{}`", out.display()))?;
    let written = write_studies(&[out.to_owned()], &["html"], out)?;
    Ok(written.path().to_owned())
}

fn describe(call: &CallRecord<'_>) -> System {
    let params = call.params;
    let mut settings: BTreeMap<String, String> = params
        .settings
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // It is gone when the call ends.
    settings.remove("password_file");
    // Of a database that was there they are its own: the facts have them.
    for name in ["checksum", "format_version"] {
        if !params.settings.given(name) {
            settings.remove(name);
        }
    }
    let data = &params.data;
    settings.insert("records".to_owned(), data.records.to_string());
    settings.insert("fields".to_owned(), data.schema.fields.len().to_string());
    settings.insert("field_length".to_owned(), data.field_length.to_string());
    System {
        name: call.system.to_owned(),
        driver: call.driver.name.to_owned(),
        place: match &params.location {
            Location::None => "nowhere".to_owned(),
            location => location.to_string(),
        },
        semantics: params.semantics.name().to_owned(),
        settings,
        ceiling_for: None,
    }
}
