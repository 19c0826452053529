//! Finds the runs of two systems that took turns, and their order.

use super::Run;

/// The order of runs that took turns: the number of each, by its start.
pub(super) struct Positions(Vec<u64>);

impl Positions {
    pub(super) fn from_runs(runs: &[Run]) -> Self {
        let mut instants: Vec<u64> = runs.iter().filter_map(turn).collect();
        instants.sort_unstable();
        Self(instants)
    }

    pub(super) fn of_run(&self, run: &Run) -> Option<f64> {
        let turn = turn(run)?;
        Some(self.0.partition_point(|instant| *instant < turn) as f64)
    }

    /// The mean position of runs that have one; 0 if none has.
    pub(super) fn mean(&self, runs: &[&Run]) -> f64 {
        let known: Vec<f64> = runs.iter().filter_map(|run| self.of_run(run)).collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    }

    /// The position of each run; `None` if two systems did not take turns, even if only because
    /// they share a data set.
    pub(super) fn of_turns(&self, a: &[&Run], b: &[&Run]) -> Option<[Vec<f64>; 2]> {
        let positions = |runs: &[&Run]| -> Option<Vec<f64>> {
            runs.iter().map(|run| self.of_run(run)).collect()
        };
        let (a, b) = (positions(a)?, positions(b)?);
        let ends = |at: &[f64]| {
            let low = at.iter().copied().fold(f64::INFINITY, f64::min);
            (low, at.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        let (of_a, of_b) = (ends(&a), ends(&b));
        (of_a.0 < of_b.1 && of_b.0 < of_a.1).then_some([a, b])
    }
}

/// When a run began, if the systems of its study take turns.
fn turn(run: &Run) -> Option<u64> {
    run.started_ms.filter(|_| run.rules.takes_turns)
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, Test, Verdict, all_pairs, comparisons, tests::runs};
    use super::*;
    use tailmark_model::{Bounded, Metric};

    /// Runs with 5 % less, with 3 % of drift per repeat, started at these instants.
    fn drifting(system: &str, ops: f64, began: [u64; 4]) -> Vec<Run> {
        let mut all = runs(system, 4, 100.0, true);
        for ((run, at), noise) in all.iter_mut().zip(began).zip([1.001, 0.999, 1.0, 1.001]) {
            let value = ops * noise * (-0.015 * at as f64).exp();
            run.values = [(Metric::OPS_PER_SEC, Bounded::exact(value))].into();
            (run.started_ms, run.rules.takes_turns) = (Some(1_000 + at), true);
        }
        all
    }

    #[test]
    fn where_systems_take_turns_what_both_drift_by_hides_no_difference() {
        let compare = |a: [u64; 4], b: [u64; 4]| {
            let all = [drifting("a", 105.0, a), drifting("b", 100.0, b)].concat();
            comparisons(&all, &all_pairs(&["a", "b"]), 0.03)[0].clone()
        };
        let in_turns = compare([0, 3, 4, 7], [1, 2, 5, 6]);
        assert_eq!(
            (in_turns.verdict, in_turns.test),
            (Verdict::Better, Test::InTurns)
        );
        assert!(in_turns.diagnostics().unwrap().paired_p.is_some());
        // Measured one after the other, whatever the plan asked for.
        let after = compare([0, 1, 2, 3], [4, 5, 6, 7]);
        assert_eq!(after.test, Test::Welch);
        let mut untimed = [
            drifting("a", 105.0, [0, 3, 4, 7]),
            drifting("b", 100.0, [1, 2, 5, 6]),
        ]
        .concat();
        untimed
            .iter_mut()
            .for_each(|run| run.rules.takes_turns = false);
        let welch = &comparisons(&untimed, &all_pairs(&["a", "b"]), 0.03)[0];
        assert_eq!(
            (welch.verdict, welch.test),
            (Verdict::NoDifferenceShown, Test::Welch)
        );
    }

    /// The result at each point, and at the peaks.
    fn ratio_and_interval(all: &[Run]) -> Vec<(f64, (f64, f64), Verdict)> {
        let found = comparisons(all, &all_pairs(&["a", "b"]), 0.03);
        let one = |own: &Comparison| {
            let interval = own.interval.unwrap();
            (own.ratio.value, interval, own.verdict)
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn in_an_order_that_is_not_balanced_ratio_interval_and_verdict_are_of_one_estimate() {
        // Measured again at the end: b b a a b b a a. The ratio of the means is 1.05 exp(-0.03).
        let (a, b) = ([2, 3, 6, 7], [0, 1, 4, 5]);
        let of_one = [drifting("a", 105.0, a), drifting("b", 100.0, b)].concat();
        // The same beside a thread count that is no peak: peaks with the trend of all counts.
        let below = |system: &str, began: [u64; 4]| {
            let mut runs = drifting(system, 50.0, began);
            runs.iter_mut().for_each(|run| run.key.threads = 1);
            runs
        };
        let of_two = [of_one.clone(), below("a", a), below("b", b)].concat();
        for all in [of_one, of_two] {
            let found = ratio_and_interval(&all);
            let higher = found.iter().filter(|(ratio, ..)| *ratio > 1.02);
            assert_eq!(
                higher.clone().count(),
                2,
                "the point and the peak: {found:?}"
            );
            for (ratio, (low, high), verdict) in higher {
                assert!((ratio / 1.05 - 1.0).abs() < 1e-3, "{ratio}");
                assert!(low < ratio && ratio < high, "{low} {ratio} {high}");
                assert_eq!(*verdict, Verdict::Better);
            }
        }
    }

    #[test]
    fn in_a_balanced_order_it_is_the_ratio_of_the_geometric_means() {
        let (a, b) = ([0, 3, 4, 7], [1, 2, 5, 6]);
        let all = [drifting("a", 105.0, a), drifting("b", 100.0, b)].concat();
        let found = &comparisons(&all, &all_pairs(&["a", "b"]), 0.03)[0];
        let [of_a, of_b] = found.centers.map(|center| center.value);
        assert!((found.ratio.value / (of_a / of_b) - 1.0).abs() < 1e-12);
    }
}
