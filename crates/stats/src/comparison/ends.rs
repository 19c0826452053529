//! Compares values that are known between two ends: those of counters with coarse steps.
//!
//! The true ratio lies between the one that is worst for the first system and the one that is best
//! for it. Both are tested like any other, and the end closer to 1 is stated as a bound. So a
//! verdict needs that the runs show a difference wherever the true values lie between their ends.
//! If the ends decide either way, there is none, and the bound is on the side of the worst case.

use super::{Comparison, center};
use tailmark_model::{Bound, Bounded};

/// Whether a value is known between two ends.
pub(super) const fn is_between(value: &Bounded) -> bool {
    matches!(value.bound, Bound::Between(..))
}

/// The comparison of such values, given how others are compared. `None` if no end of the ratio is
/// known.
pub(super) fn compare(
    values: &[Vec<Bounded>; 2],
    compare: impl Fn([Vec<Bounded>; 2]) -> Option<Comparison>,
) -> Option<Comparison> {
    let lows = |of: &[Bounded]| of.iter().map(|one| Bounded::at_least(one.low())).collect();
    let highs = |of: &[Bounded]| of.iter().map(|one| Bounded::at_most(one.high())).collect();
    let [a, b] = values;
    let least = compare([lows(a), highs(b)]).filter(|least| least.ratio.value.is_finite());
    let most = compare([highs(a), lows(b)]).filter(|most| most.ratio.value.is_finite());
    let least = least.filter(|least| least.ratio.value > 0.0);
    let most = most.filter(|most| most.ratio.value > 0.0);
    let at_least = least
        .as_ref()
        .and_then(|one| one.one_sided)
        .map(|ends| ends.0);
    let at_most = most
        .as_ref()
        .and_then(|one| one.one_sided)
        .map(|ends| ends.1);
    let is_below = most.as_ref().is_some_and(|most| most.ratio.value < 1.0);
    let found = if is_below { most } else { least.or(most) }?;
    Some(Comparison {
        centers: [center(a)?, center(b)?],
        one_sided: (at_least.is_some() || at_most.is_some())
            .then(|| (at_least.unwrap_or(0.0), at_most.unwrap_or(f64::INFINITY))),
        values: values
            .each_ref()
            .map(|of| of.iter().map(|one| one.value).collect()),
        ..found
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Verdict, all_pairs, comparisons, tests::runs};
    use super::*;
    use crate::Run;
    use tailmark_model::Metric;

    /// Five runs of a system about a value, each known within this share.
    fn within(system: &str, value: f64, share: f64) -> Vec<Run> {
        let metric = Metric::from_name("device_write_amplification").unwrap();
        let mut all = runs(system, 1, 100.0, true);
        for (run, noise) in all.iter_mut().zip([0.99, 1.0, 1.01, 1.0, 0.995]) {
            let value = value * noise;
            let bounded = Bounded::from_ends(value / (1.0 + share), value, value * (1.0 + share));
            run.values = [(metric, bounded.unwrap())].into();
        }
        all
    }

    fn compared(a: Vec<Run>, b: Vec<Run>) -> Comparison {
        let runs = [a, b].concat();
        let mut found = comparisons(&runs, &all_pairs(&["a", "b"]), 0.03);
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn a_difference_within_the_steps_has_no_verdict_and_one_far_beyond_them_has() {
        // 1.0 to 1.8 and 1.1 to 2.0 overlap.
        let open = compared(within("a", 1.34, 0.34), within("b", 1.48, 0.34));
        assert_eq!(
            (open.verdict, open.p, open.interval),
            (Verdict::NotTestable, None, None)
        );
        let (low, high) = open.one_sided.unwrap();
        assert!(low < 0.52 && high > 1.6, "{low} to {high}");
        // 1.0 to 1.8 and 4.0 to 7.2: at most 0.45 times.
        let far = compared(within("a", 1.34, 0.34), within("b", 5.36, 0.34));
        assert_eq!(
            (far.verdict, far.ratio.bound),
            (Verdict::Better, Bound::AtMost)
        );
        assert!((far.ratio.value - 0.4489).abs() < 0.001, "{:?}", far.ratio);
        let back = far.reversed();
        assert_eq!(
            (back.verdict, back.ratio.bound),
            (Verdict::Worse, Bound::AtLeast)
        );
        let turned = compared(within("a", 5.36, 0.34), within("b", 1.34, 0.34));
        assert!((turned.ratio.value / back.ratio.value - 1.0).abs() < 1e-9);
        assert_eq!(turned.verdict, Verdict::Worse);
    }

    #[test]
    fn one_end_is_enough_if_the_other_system_is_exact() {
        let exact = |value| {
            let mut all = within("b", value, 0.34);
            for run in &mut all {
                let values = run.values.values_mut();
                values.for_each(|known| *known = Bounded::exact(known.value));
            }
            all
        };
        let far = compared(within("a", 1.34, 0.34), exact(3.0));
        assert_eq!(
            (far.verdict, far.ratio.bound),
            (Verdict::Better, Bound::AtMost)
        );
        let close = compared(within("a", 1.34, 0.34), exact(1.7));
        assert_eq!(close.verdict, Verdict::NotTestable);
    }

    #[test]
    fn a_side_that_is_open_above_can_only_be_shown_to_be_higher() {
        let mut open = within("b", 5.0, 0.3);
        for run in &mut open {
            let values = run.values.values_mut();
            values.for_each(|value| *value = Bounded::at_least(value.low()));
        }
        let far = compared(within("a", 1.34, 0.34), open.clone());
        assert_eq!(
            (far.verdict, far.ratio.bound),
            (Verdict::Better, Bound::AtMost)
        );
        let close = compared(within("a", 9.0, 0.34), open);
        assert_eq!(close.verdict, Verdict::NotTestable);
    }

    #[test]
    fn of_few_runs_the_ratio_is_a_bound_without_a_verdict() {
        let few = |runs: Vec<Run>| runs.into_iter().take(1).collect::<Vec<_>>();
        let far = compared(few(within("a", 1.34, 0.34)), few(within("b", 5.36, 0.34)));
        assert_eq!(
            (far.verdict, far.ratio.bound),
            (Verdict::TooFewRuns, Bound::AtMost)
        );
    }
}
