//! Which runs of two systems came in turns, and in which order.

use super::Run;

/// Which runs came in which order, of those that began in turns: of each its number, by the instant
/// at which it began.
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

    /// Of each run; none where two systems did not take turns: also where one of them was measured
    /// before the other, because both keep one data set.
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

/// When a run began, of a study whose systems take turns.
fn turn(run: &Run) -> Option<u64> {
    run.started_ms.filter(|_| run.takes_turns)
}

#[cfg(test)]
mod tests {
    use super::super::{Test, Verdict, all_pairs, comparisons, tests::runs};
    use super::*;
    use tailmark_model::{Bounded, Metric};

    /// Runs of 5 % less, with 3 % of drift from repeat to repeat, begun at these instants.
    fn drifting(system: &str, ops: f64, began: [u64; 4]) -> Vec<Run> {
        let mut all = runs(system, 4, 100.0, true);
        for ((run, at), noise) in all.iter_mut().zip(began).zip([1.001, 0.999, 1.0, 1.001]) {
            let value = ops * noise * (-0.015 * at as f64).exp();
            run.values = [(Metric::OPS_PER_SEC, Bounded::exact(value))].into();
            (run.started_ms, run.takes_turns) = (Some(1_000 + at), true);
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
        untimed.iter_mut().for_each(|run| run.takes_turns = false);
        let welch = &comparisons(&untimed, &all_pairs(&["a", "b"]), 0.03)[0];
        assert_eq!(
            (welch.verdict, welch.test),
            (Verdict::NoDifferenceShown, Test::Welch)
        );
    }
}
