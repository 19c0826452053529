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
        .about("the headline of the report")
        .flag(18, "--title", "TEXT")
        .help("The title of the report")
        .or_else(|inputs| (!inputs.names.is_empty()).then(|| inputs.names.join(" against "))),
    PlanKey::new("", "assumed", REPORT, Words)
        .about("dotted keys whose values the described study does not publish"),
    PlanKey::new("", "scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies records, operations, caches and memory limits")
        .or("1")
        .flag(26, "--scale", "FACTOR")
        .help("Multiplies records, operations, caches and memory limits")
        .sets(|plan| Some(plan.general.scale.to_string())),
    PlanKey::new("", "time_scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies durations, which stay at 10 s or more")
        .or("1")
        .flag(27, "--time-scale", "FACTOR")
        .help("Multiplies durations; those of 10 s or more stay so")
        .sets(|plan| Some(plan.general.time_scale.to_string())),
    PlanKey::new("", "same_device", RUN, Flag)
        .about(
            "whether systems may share one physical device: settings are compared, not \
             devices",
        )
        .or("false"),
    PlanKey::new("", "unexpected", RUN, Choice(Unexpected::NAMES))
        .about("what a system that is not as `expect` says is: an error, or a finding")
        .or(Unexpected::Error.name())
        .flag(30, "--unexpected", "WHAT")
        .help("What a system that is not as the plan expects is: error or finding")
        .sets(|plan| {
            let is_finding = plan.general.unexpected == Unexpected::Finding;
            is_finding.then(|| plan.general.unexpected.name().to_owned())
        }),
    PlanKey::new("", "database", SYSTEM, Table)
        .about("the database of every system, and its settings"),
    PlanKey::new("", "dataset", DATA_SET, Table).about("what is loaded"),
    PlanKey::new("", "sweep", POINTS, Table)
        .about("what is run: the axes and the budget of each point"),
    PlanKey::new("", "machine", EVERY_POINT, Table).about("what is done to the machine"),
    PlanKey::new("", "prepare", EVERY_POINT, Table)
        .about("what is done to the machine and to devices before systems are measured"),
    PlanKey::new("", "report", REPORT, Table).about("what the report states and compares"),
    PlanKey::new("", "slo", TRIALS, Table)
        .about("the search for the highest rate that holds limits"),
    PlanKey::new("", "abort", RUN, Table).about("what ends the run at once"),
    PlanKey::new("", "system", SYSTEM, Tables).about("a system under test; at least one"),
    PlanKey::new("", "workload", WORKLOAD, Tables).about("a workload of one's own"),
];

/// What the keys at the top of a plan say of the whole run.
#[derive(Debug, Clone)]
pub struct General {
    /// The factor that records, operations, caches and memory limits were multiplied by.
    pub scale: f64,
    /// The factor that durations were multiplied by.
    pub time_scale: f64,
    /// Whether systems may share one physical device: their settings are compared, not devices.
    pub same_device: bool,
    /// What is done where a system is not as the plan expects.
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
