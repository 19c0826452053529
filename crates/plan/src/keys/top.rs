//! The keys at the top of a plan.

use super::{
    Unexpected,
    roles::{DATA_SET, EVERY_POINT, POINTS, REPORT, RUN, SYSTEM, TRIALS, WORKLOAD},
};
use crate::{
    Accept::{Choice, Flag, Number, Table, Tables, Text, Words},
    Error, PlanKey,
    reader::TableReader,
};

/// The keys at the top.
pub(super) const TOP_KEYS: &[PlanKey] = &[
    PlanKey::new("", "title", REPORT, Text)
        .about("headline of the report")
        .flag(30, "--title", "TEXT")
        .help("Title of the report")
        .or_else(|inputs| (!inputs.names.is_empty()).then(|| inputs.names.join(" against "))),
    PlanKey::new("", "assumed", REPORT, Words)
        .about("keys whose values the described study does not publish"),
    PlanKey::new("", "scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies records, operations, caches and memory limits")
        .or("1")
        .flag(25, "--scale", "FACTOR")
        .help("Multiply records, operations, caches and memory limits")
        .sets(|plan| Some(plan.general.scale.to_string())),
    PlanKey::new("", "time_scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies durations; one of 10 s or more stays at 10 s or more")
        .or("1")
        .flag(26, "--time-scale", "FACTOR")
        .help("Multiply durations; 10 s or more stays at 10 s or more")
        .sets(|plan| Some(plan.general.time_scale.to_string())),
    PlanKey::new("", "same_device", RUN, Flag)
        .about("allow two systems on one physical device, to compare settings")
        .or("false"),
    PlanKey::new("", "unexpected", RUN, Choice(Unexpected::NAMES))
        .about("what to do if a system is not as `expect` says: an error, or a finding")
        .or(Unexpected::Error.name())
        .flag(28, "--unexpected", "WHAT")
        .help("If a system is not as the plan expects: error or finding")
        .sets(|plan| {
            let is_finding = plan.general.unexpected == Unexpected::Finding;
            is_finding.then(|| plan.general.unexpected.name().to_owned())
        }),
    PlanKey::new("", "database", SYSTEM, Table).about("database and settings of every system"),
    PlanKey::new("", "dataset", DATA_SET, Table).about("what to load"),
    PlanKey::new("", "sweep", POINTS, Table)
        .about("what to run: the axes and the budget of each point"),
    PlanKey::new("", "machine", EVERY_POINT, Table).about("memory, caches and probes"),
    PlanKey::new("", "prepare", EVERY_POINT, Table).about("preparation of machine and devices"),
    PlanKey::new("", "report", REPORT, Table).about("what the report states and compares"),
    PlanKey::new("", "cost", REPORT, Table).about("prices and ratings of every system"),
    PlanKey::new("", "slo", TRIALS, Table)
        .about("search for the highest rate within latency limits"),
    PlanKey::new("", "anatomy", RUN, Table).about("points whose requests are taken apart"),
    PlanKey::new("", "abort", RUN, Table).about("limits that end the run"),
    PlanKey::new("", "system", SYSTEM, Tables).about("a system under test; at least one"),
    PlanKey::new("", "workload", WORKLOAD, Tables).about("a custom workload"),
];

/// Settings for the whole run from the top of a plan.
#[derive(Debug, Clone)]
pub struct General {
    /// The factor applied to records, operations, caches and memory limits.
    pub scale: f64,
    /// The factor applied to durations.
    pub time_scale: f64,
    /// Whether systems may share one physical device, because their settings are compared, not
    /// devices.
    pub same_device: bool,
    /// What happens if a system is not as expected.
    pub unexpected: Unexpected,
}

impl General {
    pub(crate) fn read(top: &TableReader<'_>) -> Result<Self, Error> {
        Ok(Self {
            scale: top.get("scale")?,
            time_scale: top.get("time_scale")?,
            same_device: top.get("same_device")?,
            unexpected: Unexpected::read(top)?,
        })
    }
}

impl Default for General {
    fn default() -> Self {
        Self {
            scale: 1.0,
            time_scale: 1.0,
            same_device: false,
            unexpected: Unexpected::default(),
        }
    }
}
