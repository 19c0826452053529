//! The number of comparisons for which p is adjusted: those that could give a verdict.
//!
//! It follows from the plan and the number of runs, never from results. A point that failed, that
//! missed its rate or whose value is a bound counts as a test that shows nothing. If such points
//! were left out, results would choose the family. For example, if requests fail in slow runs, the
//! remaining points were fast by chance, and the chance of a false verdict among them exceeds 5 %.
//! A point with too few runs cannot have a verdict whatever its results, so leaving it out chooses
//! nothing.

use crate::{Run, statistics::RUNS_MIN};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Kind, Metric, PointKey, PointName};

/// The sizes of all families.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Pairs at points, if both have the subject.
    points: usize,
    subjects: BTreeMap<Subject, usize>,
    /// Pairs at peaks.
    peaks: usize,
}

/// The subject of a metric at a point: requests of a kind, or samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Requests(Kind),
    Figure(Metric),
}

impl Subject {
    fn from_metric(metric: Metric) -> Self {
        match metric.latency() {
            Some((kind, _)) => Self::Requests(kind),
            None => Self::Figure(metric),
        }
    }
}

/// The points of a system with enough runs for a verdict.
type Enough = BTreeMap<PointName, BTreeSet<Subject>>;

impl Families {
    pub(super) fn new(runs: &[Run], pairs: &[(String, String)]) -> Self {
        let systems = systems(runs);
        let both = |(a, b): &(String, String)| systems.get(a.as_str()).zip(systems.get(b.as_str()));
        let mut families = Self::default();
        for (a, b) in pairs.iter().filter_map(both) {
            let common = a
                .iter()
                .filter_map(|(name, of_a)| Some((name, of_a, b.get(name)?)));
            for (_, of_a, of_b) in common.filter(|(name, ..)| name.threads != PointKey::PEAK) {
                families.points += 1;
                for subject in of_a.intersection(of_b) {
                    *families.subjects.entry(*subject).or_default() += 1;
                }
            }
            families.peaks += workloads(a).intersection(&workloads(b)).count();
        }
        families
    }

    /// The size of the family of a metric, at points or at peaks.
    pub(super) fn size(&self, metric: Metric, are_peaks: bool) -> usize {
        if are_peaks {
            return self.peaks;
        }
        if metric == Metric::OPS_PER_SEC {
            return self.points;
        }
        let subject = Subject::from_metric(metric);
        self.subjects.get(&subject).copied().unwrap_or(0)
    }
}

fn systems(runs: &[Run]) -> BTreeMap<&str, Enough> {
    let mut points: BTreeMap<&str, BTreeMap<PointName, Vec<&Run>>> = BTreeMap::new();
    for run in runs {
        let of_system = points.entry(run.key.system.as_str()).or_default();
        let name = PointName::from(&run.key);
        of_system.entry(name).or_default().push(run);
    }
    let subjects = |(name, repeats): (PointName, Vec<&Run>)| {
        let metrics = repeats.iter().flat_map(|run| run.values.keys());
        let subjects = metrics.map(|metric| Subject::from_metric(*metric));
        (repeats.len() >= RUNS_MIN).then(|| (name, subjects.collect()))
    };
    let enough = |of_system: BTreeMap<_, _>| of_system.into_iter().filter_map(subjects).collect();
    let systems = points.into_iter();
    systems
        .map(|(system, of_system)| (system, enough(of_system)))
        .collect()
}

/// The workloads in which a system has a peak.
fn workloads(points: &Enough) -> BTreeSet<(&str, &str)> {
    let closed = points.keys().filter(|name| name.target_rate().is_none());
    closed
        .map(|name| (name.workload.as_str(), name.distribution.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, Place, Verdict, all_pairs, comparisons, tests::runs};
    use super::*;
    use tailmark_model::Bounded;

    /// Runs of two systems at thread counts from 1 on, the first 5 % faster.
    fn both(counts: u32) -> Vec<Run> {
        let counts = 1..=counts;
        let both = counts.flat_map(|threads| [("a", threads, 105.0), ("b", threads, 100.0)]);
        both.flat_map(|(system, threads, ops)| runs(system, threads, ops, true))
            .collect()
    }

    /// The result at one thread.
    fn first(runs: &[Run], pairs: &[(String, String)]) -> Comparison {
        let found = comparisons(runs, pairs, 0.03).into_iter();
        let mut points =
            found.filter(|comparison| matches!(comparison.place, Place::Point { threads: 1, .. }));
        points.next().unwrap()
    }

    #[test]
    fn points_with_too_few_runs_are_in_no_family_and_those_that_came_out_badly_are() {
        let pairs = all_pairs(&["a", "b"]);
        let adjusted = |runs: &[Run]| {
            let found = first(runs, &pairs);
            (found.family, found.p_adjusted.unwrap() / found.p.unwrap())
        };
        assert_eq!(adjusted(&both(1)), (1, 1.0));
        let all = both(3);
        assert_eq!(first(&all, &pairs).family, 3);
        let is_high = |run: &Run| run.key.threads > 1;
        let few = all.iter().filter(|run| !is_high(run) || run.key.repeat < 4);
        assert_eq!(adjusted(&few.cloned().collect::<Vec<_>>()), (1, 1.0));
        // Others that are as large a difference would be found with it.
        let with = |change: fn(&mut Run)| {
            let mut all = all.clone();
            all.iter_mut().filter(|run| is_high(run)).for_each(change);
            all
        };
        let failed = with(|run| run.is_valid = run.key.repeat > 1);
        let bounds = with(|run| {
            run.values
                .values_mut()
                .for_each(|value| *value = Bounded::at_least(value.value));
        });
        let unknown = with(|run| run.values.clear());
        for runs in [failed, bounds, unknown] {
            assert_eq!(adjusted(&runs), (3, 3.0));
        }
    }

    #[test]
    fn the_family_of_a_latency_is_of_the_points_that_have_such_requests() {
        let metric = Metric::from_name("p99 update").unwrap();
        let mut all = both(3);
        for run in all.iter_mut().filter(|run| run.key.threads < 3) {
            run.values.insert(
                metric,
                Bounded::exact(1e6 * f64::from(100 + run.key.repeat)),
            );
            // How slow they are is not known of a rate that was not reached.
            run.is_rate_met = run.key.threads == 1;
        }
        let found = comparisons(&all, &all_pairs(&["a", "b"]), 0.03);
        let same = found.iter().filter(|c| c.metric == metric);
        assert_eq!(same.map(|c| c.family).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn the_family_of_a_figure_is_of_the_points_that_have_it() {
        let metric = Metric::from_name("write_amplification").unwrap();
        let mut all = both(3);
        for run in all.iter_mut().filter(|run| run.key.threads == 1) {
            run.values
                .insert(metric, Bounded::exact(3.0 + f64::from(run.key.repeat)));
        }
        let found = comparisons(&all, &all_pairs(&["a", "b"]), 0.03);
        let found = found.iter().find(|c| c.metric == metric).unwrap();
        assert_eq!((found.family, found.p_adjusted), (1, found.p));
    }

    #[test]
    fn peaks_of_which_one_failed_count() {
        let mut all = both(1);
        let other = all.clone().into_iter().map(|mut run| {
            run.key.workload = "ycsb-b".into();
            run.is_valid = run.key.system == "a";
            run
        });
        all.extend(other.collect::<Vec<_>>());
        let found = comparisons(&all, &all_pairs(&["a", "b"]), 0.03);
        let peak = found
            .iter()
            .find(|comparison| matches!(comparison.place, Place::Peak { .. }));
        let peak = peak.unwrap();
        assert_eq!((peak.family, peak.verdict), (2, Verdict::Better));
        assert!((peak.p_adjusted.unwrap() / peak.p.unwrap() - 2.0).abs() < 1e-12);
    }
}
