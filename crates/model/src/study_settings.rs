//! Typed settings of a plan for readers of its study. The texts of keys are only for display.

use crate::{ALLOW_ERRORS, Kind, ReportSettings, SloSettings, SystemCost};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Settings of a plan for readers of its study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudySettings {
    /// What the report is about.
    pub report: ReportSettings,
    /// The search, if any.
    pub slo: Option<SloSettings>,
    /// How its points are judged.
    #[serde(flatten)]
    pub rules: RunRules,
    /// Whether rates are separate points.
    pub has_rates: bool,
    /// The size of the data set, if the plan states it.
    pub data: Option<DataSize>,
    /// The kinds of request that background clients alone send, by workload.
    pub background: BTreeMap<String, BTreeSet<Kind>>,
    /// Prices and ratings, by system; without systems of which the plan states none.
    #[serde(default)]
    pub costs: BTreeMap<String, SystemCost>,
}

/// What a plan says of how its points are judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunRules {
    /// The share of a point's operations that may fail, 0 to 1.
    pub allow_errors: f64,
    /// Whether systems take turns.
    pub takes_turns: bool,
    /// How many repeats there are, if they end once a verdict is reached; `None`: all of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<RepeatRange>,
    /// How long points are, if they end once their figures are known; `None`: as the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<LengthRange>,
}

impl RunRules {
    /// Those of a system that two plans measured: what both allow.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ranges = self.repeats.into_iter().chain(other.repeats);
        Self {
            allow_errors: self.allow_errors.min(other.allow_errors),
            takes_turns: self.takes_turns && other.takes_turns,
            repeats: ranges.reduce(RepeatRange::and),
            lengths: self.lengths.or(other.lengths),
        }
    }
}

impl Default for RunRules {
    /// Those of results without a plan.
    fn default() -> Self {
        Self {
            allow_errors: ALLOW_ERRORS,
            takes_turns: false,
            repeats: None,
            lengths: None,
        }
    }
}

/// Repeats that end once a verdict is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RepeatRange {
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// Lengths of points that end once their figures are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LengthRange {
    /// The shortest, seconds.
    pub least_s: f64,
    /// The longest, seconds.
    pub most_s: f64,
}

impl LengthRange {
    /// Whether a point that took `duration_s` ended because its figures were known.
    #[must_use]
    pub fn ended_early(self, duration_s: f64) -> bool {
        duration_s <= 0.99 * self.most_s
    }
}

impl RepeatRange {
    /// A range that holds both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// The size of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DataSize {
    /// The number of records.
    pub records: u64,
    /// Bytes of all values, without keys.
    pub value_bytes: f64,
}

impl StudySettings {
    /// What the plan states of a system's price and ratings; nothing if it states none.
    pub fn cost(&self, system: &str) -> SystemCost {
        self.costs.get(system).cloned().unwrap_or_default()
    }
}

impl Default for StudySettings {
    /// Settings of results without a plan.
    fn default() -> Self {
        Self {
            report: ReportSettings::default(),
            slo: None,
            rules: RunRules::default(),
            has_rates: false,
            data: None,
            background: BTreeMap::new(),
            costs: BTreeMap::new(),
        }
    }
}
