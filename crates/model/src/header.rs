//! What a study says of itself.

use crate::{PlanValue, StudySettings, new_study_id};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// What a study is of; written once, when the study is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What tells the study from every other: 32 hexadecimal digits. Markers of data that a run of it
    /// made have the same. Empty in a study of before there were any.
    pub id: String,
    /// The title of the plan.
    pub title: String,
    /// The version of tailmark that made the study.
    pub tailmark: String,
    /// When the study was made, milliseconds since 1970 UTC.
    pub created_ms: u64,
    /// The plan as it takes effect: dotted keys, their values as text and their roles. Compared when
    /// a directory is run again.
    pub plan: BTreeMap<String, PlanValue>,
    /// What the plan says to those who read the study.
    pub settings: StudySettings,
    /// The plan file as it was given, or one that says the same as the flags.
    pub source: String,
    /// Dotted keys whose values the described study does not publish and the user did not give: as
    /// the plan names them, and those of `plan` that they become.
    pub assumed: Vec<String>,
}

impl Header {
    /// The header of results that come without a plan, made now: by a call of a program, or
    /// imported.
    #[must_use]
    pub fn without_plan(title: impl Into<String>, source: String) -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            id: new_study_id(),
            title: title.into(),
            tailmark: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            plan: BTreeMap::new(),
            settings: StudySettings::default(),
            source,
            assumed: Vec::new(),
        }
    }

    /// The plan as it takes effect: dotted keys and their values as text.
    #[must_use]
    pub fn plan_texts(&self) -> BTreeMap<String, String> {
        let plan = self.plan.iter();
        plan.map(|(key, given)| (key.clone(), given.value.clone()))
            .collect()
    }

    /// Bytes of the values in the data set, without keys; none if no plan says.
    #[must_use]
    pub fn value_bytes(&self) -> Option<f64> {
        self.settings.data.map(|data| data.value_bytes)
    }
}
