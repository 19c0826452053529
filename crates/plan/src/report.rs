//! What the report of a plan is about: the latency that it states first, and from when on a
//! difference matters. Nothing of it changes what is measured.

use super::{Accept, Error, accept::Accepted, reader::TableReader, requests::sends, units};
use std::sync::Arc;
use tailmark_results::{Kind, Metric};
use tailmark_workload::Workload;
use toml::Value;

/// What the report is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportPlan {
    /// The latency that is compared beside operations per second, where one is named.
    pub latency: Option<Metric>,
    /// The band of practical equivalence, from 0 to 1: ratios from 1 / (1 + band) to 1 + band make
    /// no difference to anybody.
    pub equivalence: f64,
}

impl ReportPlan {
    /// Reads it, and refuses a latency of requests that no workload sends.
    pub(super) fn read(keys: &TableReader<'_>, workloads: &[Arc<Workload>]) -> Result<Self, Error> {
        let latency = keys.optional("latency")?;
        if let Some(Metric::Latency { kind, .. }) = latency
            && !workloads.iter().any(|workload| sends(workload, kind))
        {
            let is_sent = |kind: &&Kind| workloads.iter().any(|workload| sends(workload, **kind));
            let sent: Vec<_> = Kind::ALL.iter().filter(is_sent).map(|k| k.name()).collect();
            return Err(Error::BadValue {
                key: keys.label("latency"),
                value: keys
                    .value("latency")
                    .map_or_else(String::new, |v| units::text(&v)),
                accepted: format!(
                    "of requests that a workload of the plan sends: {}",
                    sent.join(", ")
                ),
            });
        }
        Ok(Self {
            latency,
            equivalence: keys.get("equivalence")?,
        })
    }
}

/// Whether a key of an effective plan shapes what is measured: one that does not may change between
/// two runs of a study.
#[must_use]
pub fn shapes_points(key: &str) -> bool {
    !key.starts_with("report.")
}

impl Accepted for Metric {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value
            .as_str()
            .filter(|_| matches!(accept, Accept::Latency))?;
        Self::latency(text)
    }
}
