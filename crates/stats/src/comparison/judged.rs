//! The points at which more repeats may still bring a verdict.

use super::{Comparison, Place, Run, Verdict, all_pairs, comparisons};
use crate::statistics;
use std::collections::BTreeMap;
use tailmark_model::{Metric, PointName, ReportSettings};

/// The metrics in which verdicts are sought at a point, and whether each is open there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sought(pub BTreeMap<Metric, bool>);

impl Sought {
    /// Whether any verdict is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.values().any(|is_open| *is_open)
    }
}

/// The points at which verdicts are sought: better, worse and equivalent are not open. Verdicts are about operations per second of closed loops, at points and at
/// peaks, and about the metric of the report. Pairs are those that the report compares. A peak is
/// open at every thread count that may be the peak of either system.
///
/// What no repeat can decide is left out: a point that is not valid, and values that are bounds.
pub fn judged_points(
    runs: &[Run],
    systems: &[&str],
    report: &ReportSettings,
    band: f64,
) -> BTreeMap<PointName, Sought> {
    let is_open = |one: &Comparison| {
        matches!(
            one.verdict,
            Verdict::NoDifferenceShown | Verdict::TooFewRuns
        )
    };
    let one = report.baseline.as_deref().or(report.subject.as_deref());
    let is_stated = |found: &&Comparison| one.is_none_or(|one| found.a == one || found.b == one);
    let all = comparisons(runs, &all_pairs(systems), band);
    let stated = all.iter().filter(is_stated);
    let mut judged: BTreeMap<PointName, Sought> = BTreeMap::new();
    for found in stated.filter(|found| found.verdict != Verdict::NotTestable) {
        let (is_open, names) = match (&found.place, found.point()) {
            (Place::Peak { .. }, _) | (_, None) if is_open(found) => {
                (true, may_be_peaks(runs, found))
            }
            (Place::Point { .. }, Some(point)) if is_judged(found, &point, report) => {
                (is_open(found), vec![point])
            }
            _ => continue,
        };
        for name in names {
            let sought = judged.entry(name).or_default();
            *sought.0.entry(found.metric).or_default() |= is_open;
        }
    }
    judged
}

/// Whether repeats go on until a point is decided in a metric.
fn is_judged(found: &Comparison, point: &PointName, report: &ReportSettings) -> bool {
    match found.metric {
        Metric::OPS_PER_SEC => point.target_rate().is_none(),
        metric => report.metric == Some(metric),
    }
}

/// The closed-loop points of two systems that may be the peak of either.
fn may_be_peaks(runs: &[Run], peaks: &Comparison) -> Vec<PointName> {
    let points = |system: &str| {
        let mut counts: BTreeMap<PointName, Vec<f64>> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.key.system == system) {
            let name = PointName::from(&run.key);
            let value = run.values.get(&Metric::OPS_PER_SEC);
            if let Some(value) = value
                && run.is_valid
                && name.is_closed_loop_of(&peaks.workload, &peaks.distribution)
            {
                counts.entry(name).or_default().push(value.value);
            }
        }
        let values: Vec<Vec<f64>> = counts.values().cloned().collect();
        let may_be = statistics::may_be_peak(&values).into_iter();
        let points = counts.into_keys().zip(may_be);
        points
            .filter_map(|(name, is_one)| is_one.then_some(name))
            .collect::<Vec<_>>()
    };
    [&peaks.a, &peaks.b]
        .into_iter()
        .flat_map(|system| points(system))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::runs;
    use super::*;

    fn open(all: &[Run], report: &ReportSettings) -> Vec<u32> {
        let judged = judged_points(all, &["a", "b", "c"], report, 0.03).into_iter();
        let open = judged.filter(|(_, sought)| sought.is_open());
        open.map(|(name, _)| name.threads).collect()
    }

    /// Runs that differ by this factor from repeat to repeat.
    fn noisy(system: &str, threads: u32, ops: f64, by: f64) -> Vec<Run> {
        let mut all = runs(system, threads, ops, true);
        for (run, power) in all.iter_mut().zip([-1.0, 1.0, -0.5, 0.5]) {
            let value = tailmark_model::Bounded::exact(ops * f64::powf(by, power));
            run.values = [(Metric::OPS_PER_SEC, value)].into();
        }
        all
    }

    #[test]
    fn a_point_is_open_until_every_pair_there_has_a_verdict() {
        let report = ReportSettings::default();
        let decided = [runs("a", 4, 100.0, true), runs("b", 4, 200.0, true)].concat();
        assert_eq!(open(&decided, &report), []);
        let third = [decided.clone(), noisy("c", 4, 190.0, 1.2)].concat();
        assert_eq!(open(&third, &report), [4]);
        // The report says nothing of b and c, and a is far below both.
        let baseline = ReportSettings {
            baseline: Some("a".to_owned()),
            ..ReportSettings::default()
        };
        assert_eq!(open(&third, &baseline), []);
    }

    #[test]
    fn a_peak_is_open_at_the_thread_counts_that_may_be_it() {
        // Each thread count is decided by itself, but not where the peaks are.
        let all = [
            runs("a", 1, 100.0, true),
            runs("b", 1, 200.0, true),
            noisy("a", 4, 1_000.0, 1.02),
            noisy("b", 4, 930.0, 1.02),
            noisy("a", 8, 900.0, 1.02),
            noisy("b", 8, 1_010.0, 1.02),
        ]
        .concat();
        assert_eq!(open(&all, &ReportSettings::default()), [4, 8]);
    }

    #[test]
    fn what_no_repeat_can_decide_is_not_open() {
        let invalid = [noisy("a", 4, 100.0, 1.2), runs("b", 4, 101.0, false)].concat();
        assert_eq!(open(&invalid, &ReportSettings::default()), []);
    }
}
