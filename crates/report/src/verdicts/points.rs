//! The points of the compared systems, and their runs.

use crate::sweep::energy_in_words;
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Bounded, Kind, Metric, PointName, RepeatRange};
use tailmark_stats::{
    Comparison, Run,
    comparison::{Place, center, repeat_range},
};

/// The runs of one point of one system.
#[derive(Debug, Clone, Default)]
pub struct PointRuns(Vec<Run>);

impl PointRuns {
    /// Whether all of them are in comparisons.
    pub fn are_valid(&self) -> bool {
        self.0.iter().all(|run| run.is_valid)
    }

    /// The range of their repeats, if those end once a verdict is reached.
    pub fn repeat_range(&self) -> Option<RepeatRange> {
        repeat_range(&self.0)
    }

    /// A metric of the runs that have it.
    pub fn values(&self, metric: Metric) -> Vec<Bounded> {
        let known = self.0.iter().filter_map(|run| run.values.get(&metric));
        known.copied().collect()
    }

    /// The geometric mean of a metric; `None` of costs whose energy covers different parts.
    pub fn center(&self, metric: Metric) -> Option<Bounded> {
        self.is_comparable(self, metric)
            .then(|| center(&self.values(metric)))
            .flatten()
    }

    /// Whether a metric is known of any run.
    pub fn has(&self, metric: Metric) -> bool {
        !self.values(metric).is_empty()
    }

    /// Whether a metric is known of every run, of some as a bound only.
    pub fn have_bounds(&self, metric: Metric) -> bool {
        let values = self.values(metric);
        values.len() == self.0.len() && values.iter().any(|value| !value.is_exact())
    }

    /// The currency of their figures of money; empty without any.
    pub fn currency(&self) -> &str {
        let mut known = self.0.iter().map(|run| run.money.currency.as_str());
        known.find(|currency| !currency.is_empty()).unwrap_or("")
    }

    /// What the energy in those figures covers: `server`, or several answers.
    pub fn energy_of(&self) -> String {
        let known: BTreeSet<&str> = self
            .0
            .iter()
            .map(|run| run.money.energy_of.as_str())
            .collect();
        energy_in_words(known)
    }

    /// Whether a metric can be compared with that of other runs: money only in the same currency.
    pub fn is_comparable(&self, other: &Self, metric: Metric) -> bool {
        let mut pairs = self
            .0
            .iter()
            .flat_map(|a| other.0.iter().map(move |b| (a, b)));
        pairs.all(|(a, b)| a.is_comparable(b, metric))
    }

    /// The number of runs with a finding that makes comparisons doubtful.
    pub fn with_finding(&self, code: &str) -> usize {
        let runs = self.0.iter();
        runs.filter(|run| run.disturbances.contains(&code)).count()
    }

    /// Whether all of them reached their rate, if they have one.
    pub fn met_their_rate(&self) -> bool {
        self.0.iter().all(|run| run.is_rate_met)
    }

    fn have_latencies(&self) -> bool {
        let mut metrics = self.0.iter().flat_map(|run| run.values.keys());
        metrics.any(|metric| metric.latency().is_some())
    }

    /// Whether requests of a kind were asked for.
    pub fn have(&self, kind: Kind) -> bool {
        let is_of = |metric: &Metric| metric.latency().is_some_and(|(own, _)| own == kind);
        self.0.iter().any(|run| run.values.keys().any(is_of))
    }
}

/// The points of each system, by the system's label.
#[derive(Debug, Default)]
pub struct Points(BTreeMap<String, BTreeMap<PointName, PointRuns>>);

impl Points {
    /// The points of these runs.
    pub fn from_runs(runs: Vec<Run>) -> Self {
        let mut points = Self::default();
        for run in runs {
            let of_system = points.0.entry(run.key.system.clone()).or_default();
            let point = of_system.entry(PointName::from(&run.key)).or_default();
            point.0.push(run);
        }
        points
    }

    /// One point of a system.
    pub fn get(&self, system: &str, name: &PointName) -> Option<&PointRuns> {
        self.0.get(system)?.get(name)
    }

    /// The points of a system.
    pub fn names(&self, system: &str) -> BTreeSet<&PointName> {
        let of_system = self.0.get(system);
        of_system.into_iter().flat_map(BTreeMap::keys).collect()
    }

    /// Whether runs of a workload had requests, but none of this kind.
    pub fn lack(&self, workload: &str, kind: Kind) -> bool {
        let all = self.0.values().flatten();
        let own = all.filter(|(name, _)| name.workload == workload);
        let mut own = own
            .map(|(_, runs)| runs)
            .filter(|runs| runs.have_latencies());
        own.next().is_some_and(|first| !first.have(kind)) && own.all(|runs| !runs.have(kind))
    }

    /// The runs of both sides in a comparison.
    pub fn compared(&self, comparison: &Comparison) -> Option<[&PointRuns; 2]> {
        let (workload, distribution) = (&comparison.workload, &comparison.distribution);
        let [a, b] = match comparison.place {
            Place::Point { .. } => [comparison.point()?, comparison.point()?],
            Place::Peak {
                threads_a,
                threads_b,
                ..
            } => [threads_a, threads_b]
                .map(|threads| PointName::new(workload, distribution, threads, None, None)),
        };
        Some([self.get(&comparison.a, &a)?, self.get(&comparison.b, &b)?])
    }
}
