//! The benchmarks of a call as points of a study, so that a db_bench user gets the report too.

use super::flags::Flags;
use crate::report;
use anyhow::Context;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};
use tailmark_driver::Params;
use tailmark_results::{Fact, Header, Phase, Point, PointKey, Study, System};

/// The name of the system under test.
pub const SYSTEM: &str = "rocksdb";

/// A study that takes points.
pub struct Sink {
    out: PathBuf,
    study: Study,
}

impl Sink {
    /// The study in `out`, made where there is none.
    ///
    /// # Errors
    /// Where it cannot be made or opened.
    pub fn new(out: PathBuf, flags: &Flags, params: &Params) -> anyhow::Result<Self> {
        let failed = || format!("failed to open the study in `{}`", out.display());
        let given = flags
            .given()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let system = System {
            name: SYSTEM.to_owned(),
            driver: "rocksdb".to_owned(),
            place: params.place.display().to_string(),
            semantics: params.semantics.name().to_owned(),
            settings: given.collect(),
            ceiling_for: None,
        };
        let study = match Study::exists(&out) {
            true => Study::open(&out).with_context(failed)?,
            false => {
                std::fs::create_dir_all(&out).with_context(failed)?;
                Study::create(&out, &header(), std::slice::from_ref(&system))
                    .with_context(failed)?
            }
        };
        study.add_system(&system).with_context(failed)?;
        let mut facts = tailmark_host::machine_facts();
        facts.extend(tailmark_host::place_facts(SYSTEM, &params.place));
        study.set_facts(&facts).with_context(failed)?;
        Ok(Self { out, study })
    }

    /// Adds a point; one that is there already becomes another repeat.
    ///
    /// # Errors
    /// Where the study refuses.
    pub fn add(
        &mut self,
        mut key: PointKey,
        phase: Phase,
        facts: BTreeMap<String, String>,
    ) -> anyhow::Result<()> {
        let facts: Vec<_> = facts
            .into_iter()
            .map(|(name, value)| Fact {
                system: Some(SYSTEM.to_owned()),
                group: "database".to_owned(),
                name,
                value,
            })
            .collect();
        self.study.set_facts(&facts)?;
        while self.study.has_point(&key)? {
            key.repeat += 1;
        }
        Ok(self.study.add_point(&Point { key, phase })?)
    }

    /// Writes the report; its path.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn report(&self) -> anyhow::Result<PathBuf> {
        report::write(std::slice::from_ref(&self.out), "html", &self.out)
    }
}

fn header() -> Header {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Header {
        title: "db_bench".to_owned(),
        tailmark: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: since.as_millis() as u64,
        plan: BTreeMap::new(),
        source: std::env::args().collect::<Vec<_>>().join(" "),
        assumed: Vec::new(),
    }
}
