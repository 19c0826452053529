//! The words for how systems compare.

use super::ComparedAt;
use crate::{axis::Step, block::Text, compared::Comparisons};
use tailmark_model::{Metric, number};
use tailmark_stats::Comparison;

/// Whether there were runs enough for a verdict.
#[must_use]
pub const fn has_verdict(comparison: &Comparison) -> bool {
    comparison.p_adjusted.is_some()
}

/// The 95 % interval of the improvement in words, if there is a verdict: `+8 % to +12 %`, `11 % to
/// 20 % lower`.
#[must_use]
pub fn interval(comparison: &Comparison, comparisons: &Comparisons) -> Option<String> {
    let ends = comparison.interval.filter(|_| has_verdict(comparison))?;
    let text = comparison.metric.improvements(ends, comparisons.ratios);
    // `equal to 1 % higher` would read as one phrase.
    let text = match text.strip_prefix("equal to ") {
        Some(far) if far != "equal" => format!("0 % to {far}"),
        _ => text,
    };
    Some(text.replace(' ', "\u{a0}"))
}

/// What follows `31 % lower` and `equal` in a sentence: ` than B's`, ` to B's`.
#[must_use]
pub fn than(said: &str, other: &str) -> String {
    let joint = if said == "equal" { "to" } else { "than" };
    format!(" {joint} {other}'s")
}

/// ` (+8 % to +12 %)`, if there is a verdict.
#[must_use]
pub fn interval_after(comparison: &Comparison, comparisons: &Comparisons) -> String {
    interval(comparison, comparisons).map_or_else(String::new, |interval| format!(" ({interval})"))
}

/// `within 3 %`: the band of practical equivalence in words.
#[must_use]
pub fn within(comparisons: &Comparisons) -> String {
    let percent = (comparisons.band * 1e4).round() / 100.0;
    format!("within {percent} %")
}

/// The better of two values of a metric.
#[must_use]
pub fn better(metric: Metric) -> &'static str {
    if metric.more_is_better() {
        "higher"
    } else {
        "lower"
    }
}

/// `A, B and C` for titles, with a common beginning only once: `YCSB A, B and C`.
#[must_use]
pub fn titles(titles: &[&str]) -> String {
    const COMMON: &str = "YCSB ";
    let short: Option<Vec<&str>> = titles.iter().map(|t| t.strip_prefix(COMMON)).collect();
    match short {
        Some(short) if short.len() > 1 => format!("{COMMON}{}", number::list(&short)),
        _ => number::list(titles),
    }
}

/// `4, 8 and 16 threads`, `10,000 and 20,000 ops/s`.
#[must_use]
pub fn places(steps: &[Step]) -> String {
    let Some((last, head)) = steps.split_last() else {
        return String::new();
    };
    let mut names: Vec<String> = head.iter().map(|step| step.label()).collect();
    names.push(last.place());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    number::list(&names)
}

/// `at peak`, `at 64 threads`, `on average over thread counts`.
#[must_use]
pub fn place(spot: ComparedAt) -> String {
    match spot {
        ComparedAt::Peak => "at peak".to_owned(),
        ComparedAt::Step(step) => format!("at {}", step.place()),
        ComparedAt::Average(_) => "on average over thread counts".to_owned(),
    }
}

/// Two names in bold with words between them.
#[must_use]
pub fn between(a: &str, words: &str, b: &str) -> Text {
    Text::strong(a).and(words).and_strong(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_titles_begin_with_is_said_once() {
        assert_eq!(titles(&["YCSB A", "YCSB F"]), "YCSB A and F");
        assert_eq!(titles(&["YCSB A"]), "YCSB A");
        assert_eq!(titles(&["YCSB A", "own"]), "YCSB A and own");
    }

    #[test]
    fn places_say_their_unit_once() {
        let step = |rate, threads| Step { rate, threads };
        assert_eq!(places(&[step(None, 4), step(None, 8)]), "4 and 8 threads");
        assert_eq!(places(&[step(None, 1)]), "1 thread");
        let rates = [step(Some(1e4), 8), step(Some(2e4), 8)];
        assert_eq!(places(&rates), "10,000 and 20,000 ops/s");
    }
}
