//! What the report is about.

use super::roles::REPORT;
use crate::{
    Accept::{FixedRates, Flag, Metric, Percent, Text, Times, Words},
    PlanKey, units,
};

/// The keys of `report`.
pub(super) const REPORT_KEYS: &[PlanKey] = &[
    PlanKey::new("report", "metric", REPORT, Metric)
        .about("what is stated and compared besides ops/s: `p99.9 read`, `write_amplification`")
        .flag(18, "--metric", "METRIC")
        .help("The metric that is stated besides ops/s: \"p99.9 read\", write_amplification")
        .sets(|plan| Some(plan.report.metric?.to_string())),
    PlanKey::new("report", "baseline", REPORT, Text)
        .about("the system that every other one is compared with; without it, the leader is")
        .flag(19, "--baseline", "NAME")
        .help("The system that every other one is compared with")
        .sets(|plan| plan.report.baseline.clone()),
    PlanKey::new("report", "at_rate", REPORT, FixedRates)
        .about("rates at which the latency is stated, measured or off the curve")
        .sets(|plan| plan.report.at_rate_text()),
    PlanKey::new("report", "at_latency", REPORT, Times(1e-6, 3_600.0))
        .about("latencies at which ops/s are stated, off the curve")
        .sets(|plan| plan.report.at_latency_text()),
    PlanKey::new("report", "skipped", REPORT, Words)
        .about("workloads that are left out, and why: [\"ycsb-e: not every database can scan\"]")
        .sets(|plan| plan.report.skipped_text()),
    PlanKey::new("report", "equivalence", REPORT, Percent(0.0, 100.0))
        .about("differences within it are none in practice")
        .or("3%")
        .flag(20, "--equivalence", "PERCENT")
        .help("Differences within it are none in practice: 3%")
        .sets(|plan| Some(units::percent_text(plan.report.equivalence?))),
    PlanKey::new("report", "redact", REPORT, Flag)
        .about("whether serial numbers, host names and addresses are left out")
        .or("false")
        .flag(21, "--redact", "")
        .help(
            "Leave serial numbers, host names and addresses out of study facts, report and exports",
        )
        .sets(|plan| plan.report.redact.then(|| true.to_string())),
];
