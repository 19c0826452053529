//! What the report of a plan is about: the metric that it states first, and from when on a
//! difference matters. Nothing of it changes what is measured.

use super::{Accept, Error, SystemPlan, accept::Accepted, reader::TableReader, requests::sends};
use std::sync::Arc;
use tailmark_model::{Kind, Metric, ReportSettings};
use tailmark_workload::Workload;
use toml::Value;

/// Reads it, and refuses a latency of requests that no workload sends, and a baseline that is no
/// system.
pub(super) fn read(
    keys: &TableReader<'_>,
    workloads: &[Arc<Workload>],
    systems: &[SystemPlan],
) -> Result<ReportSettings, Error> {
    let settings = ReportSettings {
        metric: keys.optional("metric")?,
        baseline: keys.optional("baseline")?,
        at_rate: keys.optional("at_rate")?.unwrap_or_default(),
        at_latency: keys.optional("at_latency")?.unwrap_or_default(),
        skipped: keys.optional("skipped")?.unwrap_or_default(),
        equivalence: keys.optional("equivalence")?,
        redact: keys.get("redact")?,
    };
    if let Some((kind, _)) = settings.metric.and_then(Metric::latency)
        && !workloads.iter().any(|workload| sends(workload, kind))
    {
        let is_sent = |kind: &&Kind| workloads.iter().any(|workload| sends(workload, **kind));
        let sent: Vec<_> = Kind::ALL.iter().filter(is_sent).map(|k| k.name()).collect();
        let sent = sent.join(", ");
        let accepted = format!("of requests that a workload of the plan sends: {sent}");
        return Err(keys.refuse_given("metric", accepted));
    }
    let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
    let compared: Vec<&str> = compared.map(|system| system.name.as_str()).collect();
    if let Some(baseline) = &settings.baseline
        && !compared.contains(&baseline.as_str())
    {
        let accepted = format!("the name of a system: {}", compared.join(", "));
        return Err(keys.refuse_given("baseline", accepted));
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

impl Accepted for Metric {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value
            .as_str()
            .filter(|_| matches!(accept, Accept::Metric))?;
        Self::from_name(text).filter(|metric| metric.heads_reports())
    }
}
