//! The words for how systems compare.

use crate::{axis::Step, block::Text, compared::Comparisons};
use tailmark_model::{Bounded, Metric, number};
use tailmark_stats::Comparison;

/// Whether there were runs enough for a verdict.
#[must_use]
pub const fn has_verdict(comparison: &Comparison) -> bool {
    comparison.p_adjusted.is_some()
}

/// The 95 % interval of the improvement in words, where there is a verdict: `+8 % to +12 %`.
#[must_use]
pub fn interval(comparison: &Comparison) -> Option<String> {
    let ends = comparison.interval.filter(|_| has_verdict(comparison))?;
    let text = comparison.metric.improvements(ends);
    Some(text.replace(' ', "\u{a0}"))
}

/// The same beside a sentence that says how far [`apart`] the values are: `11 % to 20 % higher`.
#[must_use]
pub fn interval_apart(comparison: &Comparison) -> Option<String> {
    let ends = comparison.interval.filter(|_| has_verdict(comparison))?;
    Some(ends_apart(ends).replace(' ', "\u{a0}"))
}

/// From one ratio to another, the smaller difference first where both are on one side.
fn ends_apart((low, high): (f64, f64)) -> String {
    let (near, far) = if high <= 1.0 {
        (high, low)
    } else {
        (low, high)
    };
    let texts = [near, far].map(|end| apart(Bounded::exact(end)));
    match texts.each_ref().map(|text| text.rsplit_once(' ')) {
        [Some((one, side)), Some((other, same))] if side == same => {
            if one.ends_with('%') == other.ends_with('%') {
                return format!("{one} to {other} {side}");
            }
            let ratios = [near, far].map(|end| number::ratio(end.max(1.0 / end)));
            format!("{} {side}", ratios.join(" to "))
        }
        _ => texts.join(" to "),
    }
}

/// ` (+8 % to +12 %)`, where there is a verdict.
#[must_use]
pub fn interval_after(comparison: &Comparison) -> String {
    interval(comparison).map_or_else(String::new, |interval| format!(" ({interval})"))
}

/// `within 3 %`: the band of practical equivalence in words.
#[must_use]
pub fn within(comparisons: &Comparisons) -> String {
    let percent = (comparisons.band * 1e4).round() / 100.0;
    format!("within {percent} %")
}

/// Which of two values of a metric is the better one.
#[must_use]
pub fn better(metric: Metric) -> &'static str {
    if metric.more_is_better() {
        "higher"
    } else {
        "lower"
    }
}

/// How far one value is from another, by their ratio: `2.2X lower`, `23 % lower`, `8 % higher`.
#[must_use]
pub fn apart(ratio: Bounded) -> String {
    let inverse = Bounded {
        value: 1.0 / ratio.value,
        bound: ratio.bound.reversed(),
    };
    let less = Bounded {
        value: 1.0 - ratio.value,
        ..inverse
    };
    // What is 8 % more of the other.
    let more = Bounded {
        value: ratio.value - 1.0,
        ..ratio
    };
    let percent = |change| number::bounded_change(change).replace(['+', '±'], "");
    if inverse.value >= number::TWICE {
        format!("{} lower", number::bounded_ratio(inverse))
    } else if ratio.value >= number::TWICE {
        format!("{} higher", number::bounded_ratio(ratio))
    } else if number::bounded_change(less).starts_with('±') {
        "equal".to_owned()
    } else if less.value >= 0.0 {
        format!("{} lower", percent(less))
    } else {
        format!("{} higher", percent(more))
    }
}

/// `A, B and C` of titles; what all begin with is said once: `YCSB A, B and C`.
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

/// Two names in bold with words between them.
#[must_use]
pub fn between(a: &str, words: &str, b: &str) -> Text {
    Text::strong(a).and(words).and_strong(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_lower_or_higher_in_percent_and_from_twice_on_as_a_ratio() {
        for (ratio, text) in [
            (Bounded::exact(1.0 / 7.0), "7.0X lower"),
            (Bounded::exact(0.77), "23 % lower"),
            (Bounded::exact(1.0), "equal"),
            (Bounded::exact(1.08), "8 % higher"),
            (Bounded::exact(16.81), "17X higher"),
            (Bounded::at_least(1.5), "≥ 50 % higher"),
            (Bounded::at_least(3.0), "≥ 3.0X higher"),
        ] {
            assert_eq!(apart(ratio), text);
        }
    }

    #[test]
    fn an_interval_has_the_words_and_the_scale_of_its_sentence() {
        for (ends, text) in [
            ((1.11, 1.2), "11 % to 20 % higher"),
            ((0.8, 0.89), "11 % to 20 % lower"),
            ((1.8, 2.2), "1.8X to 2.2X higher"),
            ((0.4, 0.78), "1.3X to 2.5X lower"),
            ((0.9, 1.1), "10 % lower to 10 % higher"),
            ((1.0, 1.1), "equal to 10 % higher"),
        ] {
            assert_eq!(ends_apart(ends), text);
        }
    }

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
