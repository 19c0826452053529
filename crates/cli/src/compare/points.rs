//! The points of two systems: where both were measured, and where only one was.

use std::collections::{BTreeMap, BTreeSet};
use tailmark_results::{
    Arrivals, Comparison, Kind, Metric, Run, Stated,
    comparison::{Place, center},
    number,
};

/// What a point is but for its system, in the order of tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointName {
    /// The workload.
    pub workload: String,
    /// How its keys are drawn.
    pub distribution: String,
    /// The bits of the target rate: a positive number is in their order.
    rate: Option<u64>,
    /// Clients.
    pub threads: u32,
    arrivals: Option<&'static str>,
}

impl PointName {
    /// That of a run.
    pub fn from_run(run: &Run) -> Self {
        let key = &run.key;
        Self {
            workload: key.workload.clone(),
            distribution: key.distribution.clone(),
            rate: key.target_rate.map(f64::to_bits),
            threads: key.threads,
            arrivals: key.arrivals.map(Arrivals::name),
        }
    }

    /// Operations per second over all clients; none: a closed loop.
    pub fn rate(&self) -> Option<f64> {
        self.rate.map(f64::from_bits)
    }

    /// Clients, and the rate where there is one: `16 threads`, `2,000/s, 64 threads`.
    pub fn at(&self) -> String {
        let threads = number::threads(self.threads);
        match (self.rate(), self.arrivals) {
            (Some(rate), Some(arrivals)) => {
                format!("{}/s {arrivals}, {threads}", number::rate(rate))
            }
            (Some(rate), None) => format!("{}/s, {threads}", number::rate(rate)),
            (None, _) => threads,
        }
    }

    /// Whether a comparison is of this point.
    pub fn is_of(&self, comparison: &Comparison) -> bool {
        Self::of_comparison(comparison).is_some_and(|name| name == *self)
    }

    /// That of a comparison; none at peaks.
    fn of_comparison(of: &Comparison) -> Option<Self> {
        match of.place {
            Place::Point {
                threads,
                target_rate,
                arrivals,
            } => Some(Self {
                workload: of.workload.clone(),
                distribution: of.distribution.clone(),
                rate: target_rate.map(f64::to_bits),
                threads,
                arrivals: arrivals.map(Arrivals::name),
            }),
            Place::Peak { .. } => None,
        }
    }

    /// With workload and distribution.
    pub fn text(&self) -> String {
        format!("{} {}, {}", self.workload, self.distribution, self.at())
    }
}

/// The runs of one point of one system.
#[derive(Debug, Clone, Default)]
pub struct PointRuns<'a>(Vec<&'a Run>);

impl PointRuns<'_> {
    /// Whether all of them are in comparisons.
    pub fn are_valid(&self) -> bool {
        self.0.iter().all(|run| run.is_valid)
    }

    /// A metric of those that have it.
    pub fn values(&self, metric: Metric) -> Vec<Stated> {
        let known = self.0.iter().filter_map(|run| run.values.get(&metric));
        known.copied().collect()
    }

    /// What they come to.
    pub fn center(&self, metric: Metric) -> Option<Stated> {
        center(&self.values(metric))
    }

    /// Whether a metric is known of every run, of some as a bound only.
    pub fn have_bounds(&self, metric: Metric) -> bool {
        let values = self.values(metric);
        values.len() == self.0.len() && values.iter().any(|value| !value.is_exact())
    }

    /// Whether all of them reached their rate, where they have one.
    pub fn met_their_rate(&self) -> bool {
        self.0.iter().all(|run| run.is_rate_met)
    }

    /// Whether requests of a kind were asked for.
    pub fn have(&self, kind: Kind) -> bool {
        let is_of =
            |metric: &Metric| matches!(metric, Metric::Latency { kind: k, .. } if *k == kind);
        self.0.iter().any(|run| run.values.keys().any(is_of))
    }
}

/// The points of each system, by the system's label.
pub struct Points<'a>(BTreeMap<&'a str, BTreeMap<PointName, PointRuns<'a>>>);

impl<'a> Points<'a> {
    /// The points of these runs.
    pub fn from_runs(runs: &'a [Run]) -> Self {
        let mut points: BTreeMap<_, BTreeMap<_, PointRuns<'_>>> = BTreeMap::new();
        for run in runs {
            let of_system = points.entry(run.key.system.as_str()).or_default();
            let point = of_system.entry(PointName::from_run(run)).or_default();
            point.0.push(run);
        }
        Self(points)
    }

    /// One point of a system.
    pub fn get(&self, system: &str, name: &PointName) -> Option<&PointRuns<'a>> {
        self.0.get(system)?.get(name)
    }

    /// The points of a system.
    pub fn names(&self, system: &str) -> BTreeSet<&PointName> {
        let of_system = self.0.get(system);
        of_system.into_iter().flat_map(BTreeMap::keys).collect()
    }

    /// Those that both have, whether they failed or not.
    pub fn common(&self, a: &str, b: &str) -> Vec<&PointName> {
        let (of_a, of_b) = (self.names(a), self.names(b));
        of_a.intersection(&of_b).copied().collect()
    }

    /// The runs of both that a comparison is of.
    pub fn compared(&self, of: &Comparison) -> Option<[&PointRuns<'a>; 2]> {
        match (PointName::of_comparison(of), &of.place) {
            (Some(name), _) => Some([self.get(&of.a, &name)?, self.get(&of.b, &name)?]),
            (
                None,
                Place::Peak {
                    threads_a,
                    threads_b,
                },
            ) => Some([
                self.closed(&of.a, of, *threads_a)?,
                self.closed(&of.b, of, *threads_b)?,
            ]),
            (None, Place::Point { .. }) => None,
        }
    }

    /// A closed loop of the workload that a comparison is of.
    fn closed(&self, system: &str, of: &Comparison, threads: u32) -> Option<&PointRuns<'a>> {
        let is_there = |name: &&PointName| {
            (&name.workload, &name.distribution) == (&of.workload, &of.distribution)
                && (name.threads, name.rate) == (threads, None)
        };
        let name = self.names(system).into_iter().find(is_there)?;
        self.get(system, name)
    }
}

/// Where a comparison is, in words.
pub fn at(of: &Comparison) -> String {
    match (PointName::of_comparison(of), &of.place) {
        (
            None,
            Place::Peak {
                threads_a,
                threads_b,
            },
        ) if threads_a != threads_b => format!("{threads_a} and {threads_b} threads"),
        (None, Place::Peak { threads_a: n, .. } | Place::Point { threads: n, .. }) => {
            number::threads(*n)
        }
        (Some(name), _) => name.at(),
    }
}
