//! The words for how systems compare.

use super::{ComparedAt, Outcome};
use crate::{axis::Step, block::Text, compared::Comparisons, verdicts::interval_text};
use std::collections::BTreeSet;
use tailmark_model::{Metric, number};
use tailmark_stats::{Comparison, Verdict, comparison::is_within, statistics::SIGNIFICANCE};

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
    let ratios = comparisons.form(&[comparison]);
    let text = if is_not_shown(comparison, comparisons) {
        // In whole percent an end just beyond the band looks like one within it.
        interval_text(comparison.metric, ends, ratios)
    } else {
        comparison.metric.improvements(ends, ratios)
    };
    Some(text.replace(' ', "\u{a0}"))
}

/// The interval and, if no difference is shown, why: `95 % interval of 4 runs: −57 % to +67 %, too
/// wide to rule a difference beyond 3 % in or out`.
#[must_use]
pub fn reason(comparison: &Comparison, comparisons: &Comparisons) -> Option<String> {
    let interval = interval(comparison, comparisons)?;
    if !is_not_shown(comparison, comparisons) {
        return Some(interval);
    }
    let (runs, limit) = (runs(comparison), limit(comparison, comparisons));
    Some(format!("95 % interval of {runs}: {interval}, {limit}"))
}

/// The same of several workloads, with their titles, at the end of a sentence: `: the 95 % intervals
/// of 4 runs, −57 % to +67 % (YCSB C) and −20 % to +4 % (YCSB B), are too wide to rule a difference
/// beyond 3 % in or out`. Of many, the widest. Where the number of comparisons decides: ` (+8 %, 95 % interval
/// +2.3 % to +19 %, after adjusting for 30 comparisons)`, of many the number alone.
#[must_use]
pub fn reasons(all: &[(String, &Comparison)], comparisons: &Comparisons) -> String {
    const LISTED: usize = 2;
    let adjusted = adjusted(all, comparisons);
    let is_open = |(_, one): &&(String, &Comparison)| {
        is_not_shown(one, comparisons) && !is_by_adjustment(one)
    };
    let mut open: Vec<&(String, &Comparison)> = all.iter().filter(is_open).collect();
    let width = |(_, one): &(String, &Comparison)| one.interval.map_or(0.0, |(l, h)| h / l);
    let widest = match open.len() {
        0 => return adjusted,
        1..=LISTED => "",
        _ => {
            open.sort_by(|a, b| width(b).total_cmp(&width(a)));
            open.truncate(1);
            "the widest "
        }
    };
    let is_one = open.len() == 1 && widest.is_empty();
    // What tells the intervals apart: the workload, the other system, or both.
    let of_all = || all.iter().filter(is_open);
    let has_titles = of_all().any(|(title, _)| *title != open[0].0);
    let has_systems = of_all().any(|(_, one)| one.b != open[0].1.b);
    let intervals = open.iter().filter_map(|(title, one)| {
        let interval = interval(one, comparisons)?;
        Some(match (has_titles, has_systems) {
            _ if is_one => interval,
            (true, true) => format!("{interval} ({title}, {})", one.b),
            (false, true) => format!("{interval} ({})", one.b),
            (_, false) => format!("{interval} ({title})"),
        })
    });
    let intervals: Vec<String> = intervals.collect();
    let intervals: Vec<&str> = intervals.iter().map(String::as_str).collect();
    let known = all.iter().filter(is_open);
    let (mut of_runs, mut limits) = (BTreeSet::new(), BTreeSet::new());
    for (_, one) in known {
        of_runs.insert(runs(one));
        limits.insert(limit(one, comparisons));
    }
    let of_runs: Vec<&str> = of_runs.iter().map(String::as_str).collect();
    let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
    let (noun, verb) = if is_one {
        ("interval", "is")
    } else {
        ("intervals", "are")
    };
    format!(
        "{adjusted}: the 95 % {noun} of {}, {widest}{}, {verb} {}",
        of_runs.join(" or "),
        number::list(&intervals),
        limits.join(", or ")
    )
}

/// ` (+8 %, 95 % interval +2.3 % to +19 %, after adjusting for 30 comparisons)`: of those that only the
/// number of comparisons makes not significant.
fn adjusted(all: &[(String, &Comparison)], comparisons: &Comparisons) -> String {
    const LISTED: usize = 2;
    let own = all.iter().filter(|(_, one)| is_by_adjustment(one));
    let own: Vec<&(String, &Comparison)> = own.collect();
    let why = after_adjusting(&own.iter().map(|(_, one)| *one).collect::<Vec<_>>());
    let why = why.trim_start();
    if own.is_empty() || own.len() > LISTED {
        return if why.is_empty() {
            String::new()
        } else {
            format!(" ({why})")
        };
    }
    let has_titles = own.iter().any(|(title, _)| *title != own[0].0);
    let has_systems = own.iter().any(|(_, one)| one.b != own[0].1.b);
    let each = own.iter().filter_map(|(title, one)| {
        let value = comparisons.improvement(one);
        let interval = interval(one, comparisons)?;
        let of = match (has_titles, has_systems) {
            (false, false) => String::new(),
            (true, false) => format!(" in {title}"),
            (false, true) => format!(" against {}", one.b),
            (true, true) => format!(" in {title} against {}", one.b),
        };
        Some(format!("{value}{of}, 95 % interval {interval}"))
    });
    let each: Vec<String> = each.collect();
    format!(" ({}, {why})", each.join("; "))
}

fn is_not_shown(comparison: &Comparison, comparisons: &Comparisons) -> bool {
    Outcome::new(comparison, comparisons.band) == Outcome::NoDifferenceShown
        && has_verdict(comparison)
        && comparison.interval.is_some()
}

/// Whether a difference is significant by itself, but not as one of all that are compared.
#[must_use]
pub fn is_by_adjustment(comparison: &Comparison) -> bool {
    let is_shown = comparison.p.is_some_and(|p| p < SIGNIFICANCE);
    let excludes_1 = |(low, high): (f64, f64)| low > 1.0 || high < 1.0;
    comparison.verdict == Verdict::NoDifferenceShown
        && is_shown
        && comparison.p_adjusted.is_some_and(|p| p >= SIGNIFICANCE)
        && comparison.interval.is_none_or(excludes_1)
}

/// Whether the interval of a difference that is not shown excludes that there is none: it is called not
/// significant, with its value.
#[must_use]
pub fn is_not_significant(comparison: &Comparison) -> bool {
    let excludes_1 = comparison
        .interval
        .is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let is_open = comparison.verdict == Verdict::NoDifferenceShown && has_verdict(comparison);
    is_open && (excludes_1 || is_by_adjustment(comparison))
}

/// ` after adjusting for 30 comparisons`, if that is why one of these shows no difference.
#[must_use]
pub fn after_adjusting(all: &[&Comparison]) -> String {
    let mut adjusted = all.iter().filter(|one| is_by_adjustment(one));
    adjusted.next().map_or_else(String::new, |one| {
        let family = number::plural(one.family as u64, "comparison");
        format!(" after adjusting for {family}")
    })
}

/// `4 runs`, `4 and 5 runs`.
fn runs(comparison: &Comparison) -> String {
    let Comparison { runs_a, runs_b, .. } = comparison;
    if runs_a == runs_b {
        number::plural(*runs_a as u64, "run")
    } else {
        format!("{runs_a} and {runs_b} runs")
    }
}

/// What an interval lacks for a verdict.
fn limit(comparison: &Comparison, comparisons: &Comparisons) -> String {
    let is_beyond = comparison.interval.is_some_and(|(low, high)| {
        let is_outside = [low, high].map(|end| !is_within(end, comparisons.band));
        is_outside == [true; 2] && (low > 1.0 || high < 1.0)
    });
    let adjusted = after_adjusting(&[comparison]);
    if !adjusted.is_empty() || is_beyond {
        format!("not significant{adjusted}")
    } else {
        let within = within(comparisons);
        let band = within.trim_start_matches("within ");
        format!("too wide to rule a difference beyond {band} in or out")
    }
}

/// A ratio of a metric of which more is better, as a latency is said to be: `+44 %` is `44 % higher`,
/// and `2.2X` is `2.2X higher`. Others are as they are.
#[must_use]
pub fn in_words(said: &str) -> String {
    let (bound, rest) = match said.split_once(' ') {
        Some((bound @ ("≥" | "≤"), rest)) => (format!("{bound} "), rest),
        _ => (String::new(), said),
    };
    let more = rest
        .strip_prefix('+')
        .or_else(|| rest.ends_with('X').then_some(rest));
    match (more, rest.strip_prefix('−')) {
        (Some(more), _) => format!("{bound}{more} higher"),
        (_, Some(less)) => format!("{bound}{less} lower"),
        _ => said.to_owned(),
    }
}

/// What follows `31 % lower` and `equal` in a sentence: ` than B's`, ` to B's`.
#[must_use]
pub fn than(said: &str, other: &str) -> String {
    let joint = if said == "equal" { "to" } else { "than" };
    format!(" {joint} {other}'s")
}

/// ` (+8 % to +12 %)`, if there is a verdict; why no difference is shown.
#[must_use]
pub fn interval_after(comparison: &Comparison, comparisons: &Comparisons) -> String {
    reason(comparison, comparisons).map_or_else(String::new, |reason| format!(" ({reason})"))
}

/// `within 3 %`: the band of practical equivalence in words.
#[must_use]
pub fn within(comparisons: &Comparisons) -> String {
    let percent = (comparisons.band * 1e4).round() / 100.0;
    format!("within {percent} %")
}

/// What several metrics are called together: `p99 read latency`, of several kinds of requests `p99
/// latency`, and otherwise `latency`.
#[must_use]
pub fn common_noun(metrics: &[Metric]) -> String {
    let one = |value: &dyn Fn(Metric) -> Option<&'static str>| {
        let mut all = metrics.iter().map(|metric| value(*metric));
        let first = all.next().flatten()?;
        all.all(|other| other == Some(first)).then_some(first)
    };
    let statistic = |metric: Metric| metric.latency().map(|(_, statistic)| statistic.name);
    match (one(&|metric| Some(metric.noun())), one(&statistic)) {
        (Some(noun), _) => noun.to_owned(),
        (None, Some(statistic)) => format!("{statistic} latency"),
        (None, None) => "latency".to_owned(),
    }
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
    fn a_change_of_which_more_is_better_is_said_as_that_of_a_latency() {
        let said = ["+44 %", "−99.97 %", "2.2X", "≥ 2.2X", "2.0X lower", "equal"];
        let words = [
            "44 % higher",
            "99.97 % lower",
            "2.2X higher",
            "≥ 2.2X higher",
            "2.0X lower",
            "equal",
        ];
        assert_eq!(said.map(in_words), words);
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

    #[test]
    fn metrics_of_several_kinds_of_requests_keep_their_quantile() {
        let noun = |names: &[&str]| {
            let metrics = names.iter().filter_map(|name| Metric::from_name(name));
            common_noun(&metrics.collect::<Vec<_>>())
        };
        assert_eq!(noun(&["p99 read", "p99 read"]), "p99 read latency");
        assert_eq!(noun(&["p99 update", "p99 scan"]), "p99 latency");
        assert_eq!(noun(&["p99 update", "p99.9 scan"]), "latency");
    }
}
