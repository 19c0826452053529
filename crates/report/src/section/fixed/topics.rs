//! The topics of the headline at fixed rates and latencies.

use super::{
    ComparedPair, Fixed, FixedValues, GroupReading, fixed, stated::exceeding, value::Reading,
};
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
    /// Whether a value is read off a curve.
    pub is_of_curve: bool,
    /// The workloads whose readings all make ratios.
    pub workloads: Vec<(&'g WorkloadGrid<'a>, Vec<ComparedPair<'a>>)>,
    /// The workloads whose readings are only stated, because bounds leave no ratio.
    pub stated: Vec<FixedValues<'g, 'a>>,
    /// The workloads in which systems do not reach the rate, and which.
    pub not_reached: Vec<Missed<'g, 'a>>,
    /// The workloads in which every point of systems is above the latency, and which.
    pub exceeding: Vec<Missed<'g, 'a>>,
}

/// A workload, and the systems without a value there.
pub type Missed<'g, 'a> = (&'g WorkloadGrid<'a>, Vec<&'a str>);

/// The topics of the report at each fixed rate and latency.
pub fn topics<'g, 'a>(data: &Data, sweep: &'g SweepTable<'a>) -> Vec<FixedTopic<'g, 'a>> {
    let all = fixed(sweep).into_iter();
    let topic = |fixed: Fixed| {
        let (mut workloads, mut values) = (Vec::new(), Vec::new());
        let (mut missed, mut above) = (Vec::new(), Vec::new());
        let mut latencies = Vec::new();
        let mut is_of_curve = false;
        for (group, metric, readings) in fixed.readings(sweep, &data.searches) {
            let pairs = fixed.comparisons(sweep, metric, &readings);
            let stated = fixed.stated(sweep, group, metric, &readings);
            let stated = stated.filter(|_| pairs.is_none());
            let missing = [
                (not_reached(&readings), &mut missed),
                (exceeding(&readings), &mut above),
            ];
            let mut is_said = pairs.is_some() || stated.is_some();
            for (names, of_kind) in missing {
                is_said |= !names.is_empty() && !sweep.comparisons.has_verdicts();
                of_kind.extend((!names.is_empty()).then_some((group, names)));
            }
            if is_said {
                let known = readings.iter().filter_map(|(_, reading)| reading.as_ref());
                is_of_curve |= known.into_iter().any(Reading::is_interpolated);
                latencies.push(metric);
            }
            workloads.extend(pairs.map(|pairs| (group, pairs)));
            values.extend(stated);
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
            is_of_curve,
            workloads,
            stated: values,
            not_reached: missed,
            exceeding: above,
        })
    };
    all.filter_map(topic).collect()
}

/// The systems of which a rate is beyond the curve.
pub(super) fn not_reached<'a>(readings: &[GroupReading<'_, 'a>]) -> Vec<&'a str> {
    let is_it = |reading: &Option<Reading<'_, '_>>| matches!(reading, Some(Reading::NotReached(_)));
    let missed = readings.iter().filter(|(_, reading)| is_it(reading));
    missed.map(|(name, _)| *name).collect()
}
