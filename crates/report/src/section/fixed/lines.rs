//! Sentences about two values at a fixed rate or latency.

use super::{
    Fixed, ReadingPair, tested,
    value::{Reading, ratio},
};
use crate::{
    block::Text,
    compare::{self, Outcome},
    statement::more,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, Metric, number};
use tailmark_stats::{Comparison, slo::Answer};

impl Fixed {
    pub(super) fn line(
        self,
        sweep: &SweepTable<'_>,
        group: &WorkloadGrid<'_>,
        metric: Metric,
        ((a, of_a), (b, of_b)): ReadingPair<'_, '_, '_>,
    ) -> Option<Text> {
        let compared = self.compared(metric);
        let [value_a, value_b] = [of_a, of_b].map(|reading| self.written(reading));
        let (source, other) = (of_a.source(), of_b.source());
        let figures = if source == other {
            format!("({value_a} against {value_b}; {source})")
        } else {
            format!("({value_a}, {source}, against {value_b}, {other})")
        };
        let begin = match self {
            Self::Rate(_) => format!("{}, {metric} latency at {}: ", group.title, self.place()),
            Self::Latency(_) => {
                let place = self.place();
                format!("{}, ops/s at {place} of {metric} latency: ", group.title)
            }
        };
        let text = Text::plain(begin);
        if let Some(said) = self.without_ratio((a, of_a), (b, of_b)) {
            let figures = match (of_a, of_b) {
                (Reading::Exceeds, Reading::Exceeds) => String::new(),
                _ => format!(" {figures}"),
            };
            return Some(text.and(format!("{said}{figures}.")));
        }
        let tested = tested(sweep, compared, (a, of_a), (b, of_b));
        let ratio = match &tested {
            Some(comparison) => comparison.ratio,
            None => ratio(of_a, of_b)?,
        };
        let value = ratio.value;
        // The answers of two searches that overlap have no ratio, so these are apart.
        let same = match of_a {
            Reading::Searched { .. } => None,
            _ => same(sweep, compared, (a, b), tested.as_ref(), ratio),
        };
        if let Some(same) = same {
            return Some(text.and(format!("{same} {figures}.")));
        }
        let text = text.and_strong(a).and(" ");
        let text = match self {
            Self::Rate(_) => text
                .and("is ")
                .and_strong(sweep.comparisons.ratio(metric, ratio))
                .and(" than "),
            Self::Latency(_) => more(text, &sweep.comparisons.ratio(compared, ratio), value < 1.0),
        };
        Some(text.and(format!("{b} {figures}.")))
    }

    /// Two values that have no ratio, in words.
    pub(super) fn without_ratio(
        self,
        (a, of_a): (&str, &Reading<'_, '_>),
        (b, of_b): (&str, &Reading<'_, '_>),
    ) -> Option<String> {
        let missed: Vec<&str> = [(a, of_a), (b, of_b)]
            .iter()
            .filter(|(_, reading)| reading.is_not_reached())
            .map(|(name, _)| *name)
            .collect();
        if !missed.is_empty() {
            let (missed, place) = (number::list(&missed), self.place());
            return Some(format!(
                "{missed} did not reach {place}, so there is no comparison"
            ));
        }
        let one = |within: &str, other: &str, most: &str| {
            let place = self.place();
            format!(
                "{within} delivers {most} ops/s within {place}; {other} exceeds {place} at every \
                 thread count"
            )
        };
        let at_least = |most: f64| {
            let most = number::bound_rate(Bounded::at_least(most));
            format!("at least {most}")
        };
        let rate = |most: Bounded| {
            if most.is_exact() {
                number::rate(most.value)
            } else {
                at_least(most.value)
            }
        };
        match (of_a, of_b) {
            (Reading::Exceeds, Reading::Exceeds) => Some(format!(
                "{a} and {b} exceed {} at every thread count",
                self.place()
            )),
            (Reading::Exceeds, Reading::Within(most, _)) => Some(one(b, a, &at_least(*most))),
            (Reading::Within(most, _), Reading::Exceeds) => Some(one(a, b, &at_least(*most))),
            (Reading::Exceeds, Reading::Met(most) | Reading::Interpolated(most)) => {
                Some(one(b, a, &rate(*most)))
            }
            (Reading::Met(most) | Reading::Interpolated(most), Reading::Exceeds) => {
                Some(one(a, b, &rate(*most)))
            }
            (Reading::Searched { answer: of_a, .. }, Reading::Searched { answer: of_b, .. }) => {
                let ends = |answer: &Answer| (answer.low.unwrap_or(0.0), answer.high);
                let ((low_a, high_a), (low_b, high_b)) = (ends(of_a), ends(of_b));
                let is_overlap = low_a <= high_b? && low_b <= high_a?;
                is_overlap.then(|| {
                    format!("the answers of {a} and {b} overlap, so they show no difference")
                })
            }
            _ => None,
        }
    }
}

/// A sentence that two values do not differ: by their comparison if they were measured, otherwise
/// by value. `None` if they differ.
fn same(
    sweep: &SweepTable<'_>,
    compared: Metric,
    (a, b): (&str, &str),
    tested: Option<&Comparison>,
    ratio: Bounded,
) -> Option<String> {
    let band = sweep.comparisons.band;
    let outcome = match tested {
        Some(comparison) => Outcome::new(comparison, band),
        None => Outcome::as_measured(ratio, band),
    };
    if compare::is_certain(ratio) {
        let text = compare::alike(outcome, (a, b), sweep.comparisons);
        if tested.is_some_and(compare::is_not_significant) {
            text.map(|text| text.replace("no difference", "no significant difference"))
        } else {
            text
        }
    } else {
        let side = compare::better(compared);
        Some(format!("it is not certain whether {a} or {b} is {side}"))
    }
}
