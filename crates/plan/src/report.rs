//! What the report of a plan is about: the latency that it states first, and from when on a
//! difference matters. Nothing of it changes what is measured.

use super::{
    Accept, Error, SystemPlan, accept::Accepted, reader::TableReader, requests::sends, units,
};
use std::sync::Arc;
use tailmark_model::{Kind, Metric, ReportSettings};
use tailmark_workload::Workload;
use toml::Value;

/// What the report is about.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportPlan {
    /// What it states, and of what.
    pub settings: ReportSettings,
    /// The band of practical equivalence, from 0 to 1: ratios from 1 / (1 + band) to 1 + band make
    /// no difference to anybody.
    pub equivalence: f64,
    /// Whether serial numbers, host names and addresses are left out.
    pub redact: bool,
}

impl ReportPlan {
    /// Reads it, and refuses a latency of requests that no workload sends, and a baseline that is no
    /// system.
    pub(super) fn read(
        keys: &TableReader<'_>,
        workloads: &[Arc<Workload>],
        systems: &[SystemPlan],
    ) -> Result<Self, Error> {
        let settings = ReportSettings {
            latency: keys.optional("latency")?,
            baseline: keys.optional("baseline")?,
            at_rate: keys.optional("at_rate")?.unwrap_or_default(),
            at_latency: keys.optional("at_latency")?.unwrap_or_default(),
            left_out: keys.optional("left_out")?.unwrap_or_default(),
        };
        let refuse = |name: &'static str, accepted: String| Error::BadValue {
            key: keys.label(name),
            value: keys
                .value(name)
                .map_or_else(String::new, |value| units::text(&value)),
            accepted,
        };
        if let Some(Metric::Latency { kind, .. }) = settings.latency
            && !workloads.iter().any(|workload| sends(workload, kind))
        {
            let is_sent = |kind: &&Kind| workloads.iter().any(|workload| sends(workload, **kind));
            let sent: Vec<_> = Kind::ALL.iter().filter(is_sent).map(|k| k.name()).collect();
            let sent = sent.join(", ");
            let accepted = format!("of requests that a workload of the plan sends: {sent}");
            return Err(refuse("latency", accepted));
        }
        let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
        let compared: Vec<&str> = compared.map(|system| system.name.as_str()).collect();
        if let Some(baseline) = &settings.baseline
            && !compared.contains(&baseline.as_str())
        {
            let accepted = format!("the name of a system: {}", compared.join(", "));
            return Err(refuse("baseline", accepted));
        }
        let is_told = |left_out: &String| {
            let told = left_out.split_once(": ");
            told.is_some_and(|(name, why)| {
                let is_run = workloads.iter().any(|workload| workload.name == name);
                !name.is_empty() && !is_run && !why.trim().is_empty()
            })
        };
        if !settings.left_out.iter().all(is_told) {
            let accepted = "workloads that the plan does not run, each as `NAME: REASON`";
            return Err(refuse("left_out", accepted.to_owned()));
        }
        Ok(Self {
            settings,
            equivalence: keys.get("equivalence")?,
            redact: keys.get("redact")?,
        })
    }
}

/// Whether a key of an effective plan shapes what is measured: one that does not may change between
/// two runs of a study.
#[must_use]
pub fn shapes_points(key: &str) -> bool {
    !key.starts_with("report.")
        && !shapes_trials(key)
        && !is_expectation(key)
        && !is_protection(key)
}

/// Whether a key of an effective plan protects what is measured on: it changes no point that is
/// measured to its end.
fn is_protection(key: &str) -> bool {
    key == "dataset.load_rate" || key.starts_with("abort.")
}

/// Whether a key of an effective plan says what is expected of a system, or how its devices are
/// prepared: what was done is in the facts of a study.
fn is_expectation(key: &str) -> bool {
    let of_system = [".expect.", ".prepare."];
    key == "unexpected"
        || (key.starts_with("system.") && of_system.iter().any(|part| key.contains(part)))
}

/// Whether a key of an effective plan shapes the trials of a search: it may change as long as a
/// study has none.
#[must_use]
pub fn shapes_trials(key: &str) -> bool {
    key.starts_with("slo.")
}

impl Accepted for Metric {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value
            .as_str()
            .filter(|_| matches!(accept, Accept::Latency))?;
        Self::latency(text)
    }
}
