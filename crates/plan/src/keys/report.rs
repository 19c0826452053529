//! What the report is about: `[report]`. Nothing of it changes what is measured.

use super::roles::REPORT;
use crate::{
    Accept,
    Accept::{FixedRates, Flag, Metric, Percent, Text, Times, Words},
    Error, PlanKey, SystemPlan,
    accept::Accepted,
    reader::TableReader,
    requests::sends,
    units,
};
use std::sync::Arc;
use tailmark_model::{self as model, Kind, ReportSettings};
use tailmark_workload::Workload;
use toml::Value;

/// The keys of `report`.
pub(super) const REPORT_KEYS: &[PlanKey] = &[
    PlanKey::new("report", "metric", REPORT, Metric)
        .about("what is stated and compared besides ops/s: `p99.9 read`, `write_amplification`")
        .flag(19, "--metric", "METRIC")
        .help("The metric that is stated besides ops/s: \"p99.9 read\", write_amplification")
        .sets(|plan| Some(plan.report.metric?.to_string())),
    PlanKey::new("report", "subject", REPORT, Text)
        .about("the system that the report is about; without it, the baseline or the leader")
        .flag(20, "--subject", "NAME")
        .help("The system that the report is about: it is compared with each other one")
        .sets(|plan| plan.report.subject.clone()),
    PlanKey::new("report", "baseline", REPORT, Text)
        .about("the system that every other one is compared with, instead of a subject")
        .flag(21, "--baseline", "NAME")
        .help("The system that every other one is compared with")
        .sets(|plan| plan.report.baseline.clone()),
    PlanKey::new("report", "at_rate", REPORT, FixedRates)
        .about("rates at which the latency is stated, measured or off the curve")
        .flag(22, "--at-rate", "OPS,...")
        .help("Rates at which the latency is stated, measured or read off the curve: 40k")
        .sets(|plan| plan.report.at_rate_text()),
    PlanKey::new("report", "at_latency", REPORT, Times(1e-6, 3_600.0))
        .about("latencies at which ops/s are stated, off the curve")
        .flag(23, "--at-latency", "TIME,...")
        .help("Latencies at which ops/s are stated, read off the curve: 15ms")
        .sets(|plan| plan.report.at_latency_text()),
    PlanKey::new("report", "skipped", REPORT, Words)
        .about("workloads that are left out, and why: [\"ycsb-e: not every database can scan\"]")
        .sets(|plan| plan.report.skipped_text()),
    PlanKey::new("report", "equivalence", REPORT, Percent(0.0, 100.0))
        .about("differences within it are none in practice")
        .or("3%")
        .flag(24, "--equivalence", "PERCENT")
        .help("Differences within it are none in practice: 3%")
        .sets(|plan| Some(units::percent_text(plan.report.equivalence?))),
    PlanKey::new("report", "redact", REPORT, Flag)
        .about("whether serial numbers, host names and addresses are left out")
        .or("false")
        .flag(25, "--redact", "")
        .help(
            "Leave serial numbers, host names and addresses out of study facts, report and exports",
        )
        .sets(|plan| plan.report.redact.then(|| true.to_string())),
];

/// What the table says, without the plan around it.
///
/// # Errors
/// Where a value is not accepted, or both a subject and a baseline are given.
pub(crate) fn settings(keys: &TableReader<'_>) -> Result<ReportSettings, Error> {
    let settings = ReportSettings {
        metric: keys.optional("metric")?,
        title: None,
        subject: keys.optional("subject")?,
        baseline: keys.optional("baseline")?,
        at_rate: keys.optional("at_rate")?.unwrap_or_default(),
        at_latency: keys.optional("at_latency")?.unwrap_or_default(),
        skipped: keys.optional("skipped")?.unwrap_or_default(),
        equivalence: keys.optional("equivalence")?,
        redact: keys.get("redact")?,
    };
    if settings.subject.is_some() && settings.baseline.is_some() {
        let accepted = "a report with `report.subject` or with `report.baseline`, not both";
        return Err(keys.refuse_given("baseline", accepted.to_owned()));
    }
    Ok(settings)
}

/// Reads what the report is about, and refuses a latency of requests that no workload sends, and a
/// subject or a baseline that is no system.
pub(crate) fn read(
    keys: &TableReader<'_>,
    workloads: &[Arc<Workload>],
    systems: &[SystemPlan],
) -> Result<ReportSettings, Error> {
    let settings = settings(keys)?;
    if let Some((kind, _)) = settings.metric.and_then(model::Metric::latency)
        && !workloads.iter().any(|workload| sends(workload, kind))
    {
        let is_sent = |sent: &&Kind| workloads.iter().any(|workload| sends(workload, **sent));
        let sent: Vec<_> = Kind::ALL.iter().filter(is_sent).map(|k| k.name()).collect();
        let sent = sent.join(", ");
        let accepted = format!("of requests that a workload of the plan sends: {sent}");
        return Err(keys.refuse_given("metric", accepted));
    }
    let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
    let compared: Vec<&str> = compared.map(|system| system.name.as_str()).collect();
    let named = [
        ("subject", &settings.subject),
        ("baseline", &settings.baseline),
    ];
    for (key, name) in named {
        if name
            .as_deref()
            .is_some_and(|name| !compared.contains(&name))
        {
            let accepted = format!("the name of a system: {}", compared.join(", "));
            return Err(keys.refuse_given(key, accepted));
        }
    }
    let is_told = |skipped: &String| {
        let told = skipped.split_once(": ");
        told.is_some_and(|(name, why)| {
            let is_run = workloads.iter().any(|workload| workload.name == name);
            !name.is_empty() && !is_run && !why.trim().is_empty()
        })
    };
    if !settings.skipped.iter().all(is_told) {
        let accepted = "workloads that the plan does not run, each as `NAME: REASON`";
        return Err(keys.refuse_given("skipped", accepted.to_owned()));
    }
    Ok(settings)
}

impl Accepted for model::Metric {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value
            .as_str()
            .filter(|_| matches!(accept, Accept::Metric))?;
        Self::from_name(text).filter(|metric| metric.heads_reports())
    }
}
