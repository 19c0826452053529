//! What a plan says to those who read its study, typed: the text of its keys is only shown.

use crate::{ALLOW_ERRORS, Kind, ReportSettings, SloSettings};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a plan says to those who read its study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudySettings {
    /// What the report is about.
    pub report: ReportSettings,
    /// What is searched for, if anything is.
    pub slo: Option<SloSettings>,
    /// The part of a point's operations that may fail, 0 to 1.
    pub allow_errors: f64,
    /// Whether systems take turns.
    pub takes_turns: bool,
    /// Whether rates are points of their own.
    pub has_rates: bool,
    /// What is loaded, if the plan says so.
    pub data: Option<DataSize>,
    /// The kinds of request that background clients alone send, by workload.
    #[serde(default)]
    pub background: BTreeMap<String, BTreeSet<Kind>>,
}

/// The size of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DataSize {
    /// How many records.
    pub records: u64,
    /// Bytes of all their values, without keys.
    pub value_bytes: f64,
}

impl Default for StudySettings {
    /// Of results that come without a plan.
    fn default() -> Self {
        Self {
            report: ReportSettings::default(),
            slo: None,
            allow_errors: ALLOW_ERRORS,
            takes_turns: false,
            has_rates: false,
            data: None,
            background: BTreeMap::new(),
        }
    }
}
