//! The header of a study.

use crate::{PlanValue, StudySettings, instant::unix_ms, new_study_id};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// General information about a study, written once when it is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The unique id of the study: 32 hexadecimal digits. Markers of data that its runs created
    /// carry the same id.
    pub id: String,
    /// The title of the plan.
    pub title: String,
    /// The version of tailmark that made the study.
    pub tailmark: String,
    /// When the study was made, milliseconds since 1970 UTC.
    pub created_ms: u64,
    /// The effective plan: dotted keys with their values as text and their roles. Compared when a
    /// run uses the directory again.
    pub plan: BTreeMap<String, PlanValue>,
    /// Settings of the plan for readers of the study.
    pub settings: StudySettings,
    /// The plan file as given, or an equivalent one if the plan came from flags.
    pub source: String,
    /// Dotted keys whose values the described study does not publish and the user did not set: as
    /// the plan names them, and the keys of `plan` that they become.
    pub assumed: Vec<String>,
}

impl Header {
    /// A header, created now, for results without a plan: imports, and calls of drop-in programs.
    pub fn without_plan(title: impl Into<String>, source: String) -> Self {
        Self {
            id: new_study_id(),
            title: title.into(),
            tailmark: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: unix_ms(),
            plan: BTreeMap::new(),
            settings: StudySettings::default(),
            source,
            assumed: Vec::new(),
        }
    }

    /// The effective plan: dotted keys and their values as text.
    pub fn plan_texts(&self) -> BTreeMap<String, String> {
        let plan = self.plan.iter();
        plan.map(|(key, given)| (key.clone(), given.value.clone()))
            .collect()
    }

    /// Bytes of all values in the data set, without keys; `None` if no plan states it.
    pub fn value_bytes(&self) -> Option<f64> {
        self.settings.data.map(|data| data.value_bytes)
    }
}
