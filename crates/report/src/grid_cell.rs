//! The repeats of one point, and their combined values.

use crate::{
    axis::Step,
    measure::{Quantity, Spread},
};
use tailmark_model::{
    Bounded, Fault, FindingCode, Kind, Metric, Point, Statistic, TimeBasis,
    finding::CLIENT_SATURATED, number,
};
use tailmark_stats::statistics::{self, RUNS_MIN};

/// The repeats of one point.
#[derive(Debug)]
pub struct GridCell<'a> {
    /// Its position on the axis.
    pub step: Step,
    /// One for each repeat.
    pub points: Vec<&'a Point>,
    /// Why it is excluded from peaks and comparisons, if one of the repeats is not valid.
    pub fault: Option<Fault>,
}

/// The highest ops/s over all client counts: with enough repeats, each at the client count that the
/// others choose, so that it is not too high by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadPeak {
    /// Its thread count.
    pub threads: u32,
    /// Operations per second.
    pub ops: Spread,
    /// Whether the clients were the limit at a count that may be the peak: the system may do more.
    pub is_at_least: bool,
}

impl SpreadPeak {
    /// The peak of a system, given its valid client counts, of which this is the highest.
    #[must_use]
    pub fn new(highest: &GridCell<'_>, counts: &[&GridCell<'_>]) -> Option<Self> {
        let runs: Vec<_> = counts.iter().map(|cell| cell.ops_by_repeat()).collect();
        let chosen = statistics::leave_one_out(&runs);
        let value = |(index, repeat): &(usize, u32)| {
            let run = runs[*index].iter().find(|(known, _)| known == repeat);
            run.map(|(_, ops)| *ops)
        };
        let values: Vec<f64> = chosen.iter().filter_map(value).collect();
        let mut ops = Spread::from_values(&values).or_else(|| highest.ops())?;
        let of_count = |own: &Vec<(u32, f64)>| own.iter().map(|(_, one)| *one).collect();
        let by_count: Vec<_> = runs.iter().map(of_count).collect();
        let mut may_be_peak = counts.iter().zip(statistics::may_be_peak(&by_count));
        if counts.len() > 1
            && runs.iter().all(|repeats| repeats.len() >= RUNS_MIN)
            && let Some((low, high)) = statistics::peak_interval(&by_count)
        {
            (ops.low, ops.high) = (low.min(ops.middle), high.max(ops.middle));
        }
        Some(Self {
            threads: highest.step.threads,
            ops,
            is_at_least: may_be_peak
                .any(|(cell, may_be)| may_be && cell.has_finding(&CLIENT_SATURATED)),
        })
    }

    /// A lower bound if the clients were the limit.
    #[must_use]
    pub fn bounded(self) -> Bounded {
        if self.is_at_least {
            Bounded::at_least(self.ops.middle)
        } else {
            Bounded::exact(self.ops.middle)
        }
    }

    /// `42,012`, or `≥ 42,012` if the clients were the limit.
    #[must_use]
    pub fn text(self) -> String {
        number::bounded_rate(self.bounded())
    }
}

impl GridCell<'_> {
    /// Why it is not valid, in words: `0.58% failed`; of several runs the share is that of the worst.
    #[must_use]
    pub fn fault_text(&self) -> Option<String> {
        let fault = self.fault?;
        let is_highest = matches!(fault, Fault::Failed(_)) && self.points.len() > 1;
        Some(if is_highest {
            format!("up to {fault}")
        } else {
            fault.to_string()
        })
    }

    /// Whether one of the repeats has a finding of this code.
    #[must_use]
    pub fn has_finding(&self, code: &FindingCode) -> bool {
        let mut points = self.points.iter();
        points.any(|point| code.is_among(&point.phase.findings))
    }

    /// A metric over the repeats: of a latency, response time.
    #[must_use]
    pub fn value(&self, metric: Metric) -> Option<Quantity> {
        if let Some((kind, statistic)) = metric.latency() {
            return self.latency(kind, TimeBasis::Response, statistic);
        }
        // Runs whose energy covers different parts have no mean cost.
        let mut pairs = self.points.windows(2);
        let is_like = |pair: &[&Point]| {
            let [one, other] = [pair[0], pair[1]].map(|point| &point.phase.money);
            one.is_like(other, metric)
        };
        if !pairs.all(is_like) {
            return None;
        }
        let values = self.points.iter().map(|point| metric.value(&point.phase));
        Quantity::new(&values.collect::<Option<Vec<_>>>()?, true)
    }

    /// The repeats, each with its operations per second.
    #[must_use]
    pub fn ops_by_repeat(&self) -> Vec<(u32, f64)> {
        let run = |point: &&Point| (point.key.repeat, point.phase.ops_per_sec());
        self.points.iter().map(run).collect()
    }

    /// Operations per second over the repeats.
    #[must_use]
    pub fn ops(&self) -> Option<Spread> {
        let ops = self.points.iter().map(|p| p.phase.ops_per_sec());
        Spread::from_values(&ops.collect::<Vec<_>>())
    }

    /// Whether a latency of a run was imported without its number of samples.
    #[must_use]
    pub fn is_of_unknown_samples(&self, metric: Metric) -> bool {
        let Some((kind, statistic)) = metric.latency() else {
            return false;
        };
        let mut all = self
            .points
            .iter()
            .filter_map(|point| point.phase.kinds.get(&kind));
        all.any(|own| statistic.is_of_unknown_samples(TimeBasis::Response.latencies(own)))
    }

    /// A latency over the repeats; `None` if any of them has too few samples.
    #[must_use]
    pub fn latency(&self, kind: Kind, clock: TimeBasis, measure: Statistic) -> Option<Quantity> {
        let mut values = Vec::with_capacity(self.points.len());
        let mut solid = true;
        for point in &self.points {
            let latencies = clock.latencies(point.phase.kinds.get(&kind)?);
            values.push(measure.value(latencies)?);
            // What is taken as another program wrote it is not marked point by point.
            solid &= measure.is_solid(latencies) || measure.is_of_unknown_samples(latencies);
        }
        Quantity::new(&values, solid)
    }
}
