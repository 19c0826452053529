//! The verdict on two systems: p adjusted over its family of tests, and the band of equivalence.

use super::{Comparison, Place, family::Families};
use crate::statistics::{self, SIGNIFICANCE};
use std::collections::BTreeMap;
use tailmark_model::Metric;

/// The verdict on two systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The first is better: the adjusted p is under 0.05, and the ratio lies outside the band of
    /// practical equivalence.
    Better,
    /// The first is worse by the same rule.
    Worse,
    /// The whole interval of the ratio lies within the band.
    Equivalent,
    /// None of these.
    NoDifferenceShown,
    /// One of them has fewer than four runs, not counting copies. Or no run of either differs from
    /// the others, so that their noise is unknown.
    TooFewRuns,
    /// A value is a bound, because requests failed, operations were never done, the clients were
    /// the limit, or a counter has coarse steps, and the true values could decide either way. Or a
    /// peak is above that of a system whose points failed at some of the thread counts, or that has
    /// none in common.
    NotTestable,
}

impl Verdict {
    /// The verdict in words, and in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::NoDifferenceShown => "no difference shown",
            Self::TooFewRuns => "too few runs",
            Self::NotTestable => "not testable",
        }
    }

    /// Whether it calls one of the two better.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// The verdict on the second against the first.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            other => other,
        }
    }
}

/// Adjusts p over each family of tests and sets the verdicts.
pub(super) fn judge(comparisons: &mut [Comparison], families: &Families, band: f64) {
    let mut tested: BTreeMap<(Metric, bool), Vec<(usize, f64)>> = BTreeMap::new();
    for (index, comparison) in comparisons.iter_mut().enumerate() {
        let is_peak = matches!(comparison.place, Place::Peak { .. });
        comparison.family = families.size(comparison.metric, is_peak);
        let of_family = tested.entry((comparison.metric, is_peak)).or_default();
        of_family.extend(comparison.p.map(|p| (index, p)));
    }
    for ((metric, is_peak), family) in tested {
        let p: Vec<f64> = family.iter().map(|(_, p)| *p).collect();
        let adjusted = statistics::holm(&p, families.size(metric, is_peak));
        for ((index, _), p_adjusted) in family.into_iter().zip(adjusted) {
            let comparison = &mut comparisons[index];
            comparison.p_adjusted = Some(p_adjusted);
            comparison.verdict = verdict(comparison, p_adjusted, band);
            if !comparison.ratio.is_exact() && !comparison.verdict.is_difference() {
                comparison.leave_open();
            }
        }
    }
}

/// Whether a ratio makes no practical difference: from 1 / 1.03 to 1.03, inclusive, for a band of
/// 0.03.
pub fn is_within(ratio: f64, band: f64) -> bool {
    // Quotients are not exact.
    ratio.max(1.0 / ratio) <= (1.0 + band) * (1.0 + 1e-9)
}

fn verdict(comparison: &Comparison, p_adjusted: f64, band: f64) -> Verdict {
    let ratio = comparison.ratio.value;
    let is_inside = |(from, to): (f64, f64)| is_within(from, band) && is_within(to, band);
    // The interval of peaks may have been extended over 1 to hold their ratio.
    let is_on_its_side = |(from, to): (f64, f64)| if ratio > 1.0 { from > 1.0 } else { to < 1.0 };
    let is_shown = comparison.interval.is_none_or(is_on_its_side);
    if p_adjusted < SIGNIFICANCE && is_shown && !is_within(ratio, band) {
        if (ratio > 1.0) == comparison.metric.more_is_better() {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    } else if comparison.interval.is_some_and(is_inside) {
        Verdict::Equivalent
    } else {
        Verdict::NoDifferenceShown
    }
}
