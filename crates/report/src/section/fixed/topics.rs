//! The topics of the headline at fixed rates and latencies.

use super::{ComparedPair, Fixed, fixed};
use crate::{
    Data, compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::Metric;

/// A topic of the headline at one fixed rate or latency.
pub struct FixedTopic<'g, 'a> {
    /// The name of the compared metric: `p99.99 read latency`, `ops/s`.
    pub name: String,
    /// Where: `at 40,000 ops/s`, `at 15.0 ms of p99.99 read latency`.
    pub place: String,
    /// The compared metric.
    pub metric: Metric,
    /// The workloads whose readings all make ratios.
    pub workloads: Vec<(&'g WorkloadGrid<'a>, Vec<ComparedPair<'a>>)>,
}

/// The topics of the report at each fixed rate and latency.
pub fn topics<'g, 'a>(data: &Data, sweep: &'g SweepTable<'a>) -> Vec<FixedTopic<'g, 'a>> {
    let all = fixed(sweep).into_iter();
    let topic = |fixed: Fixed| {
        let mut workloads = Vec::new();
        let mut latencies = Vec::new();
        for (group, metric, readings) in fixed.readings(sweep, &data.searches) {
            if let Some(pairs) = fixed.comparisons(sweep, metric, &readings) {
                workloads.push((group, pairs));
                latencies.push(metric);
            }
        }
        let metric = *latencies.first()?;
        let noun = compare::common_noun(&latencies);
        Some(FixedTopic {
            name: match fixed {
                Fixed::Rate(_) => noun.clone(),
                Fixed::Latency(_) => Metric::OPS_PER_SEC.noun().to_owned(),
            },
            place: match fixed {
                Fixed::Rate(_) => format!("at {}", fixed.place()),
                Fixed::Latency(_) => format!("at {} of {noun}", fixed.place()),
            },
            metric: fixed.compared(metric),
            workloads,
        })
    };
    all.filter_map(topic).collect()
}
