//! How systems compare: which pairs a report looks at, who is ahead of whom at which place, and the
//! words for it. What is said of two systems follows from their [`Comparison`] alone; headline,
//! cards, sentences and tables all ask here, so that none says what another does not.

use crate::{
    axis::Step,
    block::Text,
    compared::Comparisons,
    grid_cell::SpreadPeak,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bound, Bounded, Metric, Point, System, finding::RATE_NOT_MET, number};
use tailmark_stats::{Comparison, Verdict};

/// Where systems are compared in a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComparedAt {
    /// Each at its peak.
    Peak,
    /// All at one step of the axis.
    Step(Step),
}

/// A system's peak in a group.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// Which system.
    pub system: &'a str,
    /// Its peak.
    pub peak: SpreadPeak,
}

/// The systems that were measured in a group, the highest peak first.
#[must_use]
pub fn standings<'a>(group: &WorkloadGrid<'a>, systems: &[&'a System]) -> Vec<Standing<'a>> {
    let mut standings: Vec<Standing<'a>> = systems
        .iter()
        .filter_map(|s| {
            group.peak(&s.name).map(|peak| Standing {
                system: &s.name,
                peak,
            })
        })
        .collect();
    standings.sort_by(|a, b| b.peak.ops.middle.total_cmp(&a.peak.ops.middle));
    standings
}

/// The systems of which a metric is known at a place, the best first; those of which only a bound
/// is known come last, since nothing shows that they lead.
#[must_use]
pub fn ranked<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Vec<&'a str> {
    let step = match spot {
        ComparedAt::Peak => {
            let standings = standings(group, &sweep.systems);
            return standings.iter().map(|standing| standing.system).collect();
        }
        ComparedAt::Step(step) => step,
    };
    let value = |system: &&'a System| {
        let cell = group.valid_cell(&system.name, step)?;
        // How slow a point was that did not reach its rate says how long it was.
        let is_met = metric == Metric::OPS_PER_SEC || !cell.has_finding(&RATE_NOT_MET);
        let value = cell.value(metric).filter(|_| is_met)?;
        Some((system.name.as_str(), value.middle))
    };
    let mut known: Vec<_> = sweep.systems.iter().filter_map(value).collect();
    known.sort_by(|(_, a), (_, b)| {
        let exact_first = b.is_exact().cmp(&a.is_exact());
        exact_first.then(metric.best_first(a.value, b.value))
    });
    known.into_iter().map(|(system, _)| system).collect()
}

/// Which systems are compared at a place, each pair as `(a, b)`, of which the improvement of `a`
/// over `b` is stated: every other one with the baseline; without one, the best with the others.
#[must_use]
pub fn pairs<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Vec<(&'a str, &'a str)> {
    pairs_of(&ranked(group, sweep, spot, metric), sweep)
}

/// The pairs of systems that are ranked, the best first.
#[must_use]
pub fn pairs_of<'a>(ranked: &[&'a str], sweep: &SweepTable<'a>) -> Vec<(&'a str, &'a str)> {
    match (sweep.baseline(), ranked) {
        (Some(baseline), known) if known.contains(&baseline) => {
            let others = known.iter().filter(|system| **system != baseline);
            others.map(|system| (*system, baseline)).collect()
        }
        (None, [first, others @ ..]) => others.iter().map(|other| (*first, *other)).collect(),
        _ => Vec::new(),
    }
}

/// Which systems the table and the sentences over all thread counts or rates of a workload compare.
#[must_use]
pub fn main_pairs<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<(&'a str, &'a str)> {
    if group.has_peaks() {
        return pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC);
    }
    let of_latency = sweep.metric(group).and_then(|metric| {
        let step = last_common(group, sweep, metric)?;
        Some(pairs(group, sweep, ComparedAt::Step(step), metric))
    });
    of_latency.unwrap_or_default()
}

/// How the first of a pair compares with the second at a place.
#[must_use]
pub fn at(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    spot: ComparedAt,
    metric: Metric,
    pair: (&str, &str),
) -> Option<Comparison> {
    match spot {
        ComparedAt::Peak => sweep.comparisons.at_peak(group, pair),
        ComparedAt::Step(step) => sweep.comparisons.at(group, step, metric, pair),
    }
}

/// The points of a system at a place.
#[must_use]
pub fn points<'a>(group: &WorkloadGrid<'a>, spot: ComparedAt, system: &'a str) -> Vec<&'a Point> {
    let peak = group.peak(system).map(|peak| peak.threads);
    let is_there = |step: Step| match spot {
        ComparedAt::Peak => Some(step.threads) == peak,
        ComparedAt::Step(other) => step == other,
    };
    let cells = group.cells_of(system).filter(|cell| is_there(cell.step));
    cells.flat_map(|cell| cell.points.iter().copied()).collect()
}

/// The highest step at which a metric is known of every system of the group; where there is none,
/// of two of them.
#[must_use]
pub fn last_common(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    metric: Metric,
) -> Option<Step> {
    let all = sweep.systems.iter().filter(|s| group.has(&s.name)).count();
    let known = |step: &&Step| ranked(group, sweep, ComparedAt::Step(**step), metric).len();
    let steps = || group.steps.iter().rev();
    let common = steps().find(|step| known(step) == all && all > 1);
    common
        .or_else(|| steps().find(|step| known(step) > 1))
        .copied()
}

/// How a comparison is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// One is better: by its verdict, or without one as it was measured.
    Differ,
    /// As it was measured they lie within the band; that is no verdict.
    Tied,
    /// The interval of their ratio lies within the band.
    Equivalent,
    /// None of these.
    NoDifferenceShown,
    /// The lower peak is of a system without a valid point at some thread counts of the other.
    UnlikePeaks,
    /// A value is a bound, which leaves it open whether they differ.
    Open,
}

impl Outcome {
    /// Of a comparison whose band of practical equivalence is this fraction.
    #[must_use]
    pub fn new(comparison: &Comparison, band: f64) -> Self {
        match comparison.verdict {
            Verdict::Better | Verdict::Worse => Self::Differ,
            Verdict::Equivalent => Self::Equivalent,
            Verdict::NoDifferenceShown => Self::NoDifferenceShown,
            Verdict::NotTestable if comparison.ratio.is_exact() => Self::UnlikePeaks,
            Verdict::NotTestable => Self::Open,
            Verdict::TooFewRuns => Self::as_measured(comparison.ratio, band),
        }
    }
}

impl Outcome {
    /// Of a ratio that nothing tests.
    #[must_use]
    pub fn as_measured(ratio: Bounded, band: f64) -> Self {
        let is_within = is_within(ratio.value, band);
        if !ratio.is_exact() && (is_within || !is_certain(ratio)) {
            Self::Open
        } else if is_within {
            Self::Tied
        } else {
            Self::Differ
        }
    }
}

/// How the first of a pair stands to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// Nothing shows that they differ.
    Same,
    /// They are the same in practice.
    Equivalent,
    /// Too few runs for a verdict, where others have them.
    Untested,
    /// A value is a bound, or both are, which leaves it open.
    Open,
    /// Another one has no valid point at some of its thread counts.
    Unlike,
}

impl Lead {
    /// Of how they compare: not at all where bounds of both leave no ratio.
    #[must_use]
    pub fn new(comparison: Option<&Comparison>, comparisons: &Comparisons) -> Self {
        let Some(comparison) = comparison else {
            return Self::Open;
        };
        let band = comparisons.band;
        let is_tested = has_verdict(comparison) || !comparisons.has_verdicts();
        match Outcome::new(comparison, band) {
            Outcome::UnlikePeaks => Self::Unlike,
            Outcome::Open => Self::Open,
            Outcome::Equivalent => Self::Equivalent,
            _ if !is_tested => Self::Untested,
            _ => match is_ahead(comparison, band) {
                Some(true) => Self::Better,
                Some(false) => Self::Worse,
                None => Self::Same,
            },
        }
    }

    /// Of one system against several: better only where it is better than each of them.
    #[must_use]
    pub fn over_all(each: &[Self]) -> Self {
        let whys = [Self::Unlike, Self::Untested, Self::Open];
        let why = whys.into_iter().find(|why| each.contains(why));
        why.unwrap_or_else(|| match each {
            [first, ..] if each.iter().all(|lead| lead == first) => *first,
            _ => Self::Same,
        })
    }
}

/// Of the pairs that are compared at a place the one that a card shows: without a baseline the first
/// that keeps the best from leading, where there is one.
#[must_use]
pub fn deciding_pair<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Option<(&'a str, &'a str)> {
    let pairs = pairs(group, sweep, spot, metric);
    let leads = |pair: &&(&'a str, &'a str)| {
        let comparison = at(group, sweep, spot, metric, **pair);
        Lead::new(comparison.as_ref(), sweep.comparisons) == Lead::Better
    };
    let keeps = pairs.iter().find(|pair| !leads(pair));
    let keeps = keeps.filter(|_| sweep.baseline().is_none());
    keeps.or(pairs.first()).copied()
}

/// Which of two has no valid point at a thread count of the other, and the other: the one with the
/// lower peak first.
#[must_use]
pub fn unlike<'a>(
    group: &WorkloadGrid<'a>,
    (a, b): (&'a str, &'a str),
    ratio: f64,
) -> (&'a str, &'a str) {
    let (lower, higher) = if ratio > 1.0 { (b, a) } else { (a, b) };
    let is_valid = |system, step: &Step| group.valid_cell(system, *step).is_some();
    let lacks = |step: &Step| is_valid(higher, step) && !is_valid(lower, step);
    if group.steps.iter().any(lacks) {
        (lower, higher)
    } else {
        (higher, lower)
    }
}

/// Whether a ratio is none in practice.
#[must_use]
pub fn is_within(ratio: f64, band: f64) -> bool {
    ratio.max(1.0 / ratio) < 1.0 + band
}

/// That two do not differ, in words; none where they do.
#[must_use]
pub fn alike(outcome: Outcome, (a, b): (&str, &str), comparisons: &Comparisons) -> Option<String> {
    match outcome {
        Outcome::Differ => None,
        Outcome::Equivalent => {
            let within = within(comparisons);
            Some(format!("{a} and {b} are equivalent, {within}"))
        }
        Outcome::Tied => Some(format!("no clear difference between {a} and {b}")),
        Outcome::NoDifferenceShown | Outcome::UnlikePeaks => {
            Some(format!("no difference shown between {a} and {b}"))
        }
        Outcome::Open => Some(format!(
            "whether {a} and {b} differ is open, because a value is a bound"
        )),
    }
}

/// Which of two is ahead, where one is: whether that is the first.
#[must_use]
pub fn is_ahead(comparison: &Comparison, band: f64) -> Option<bool> {
    let differs = Outcome::new(comparison, band) == Outcome::Differ;
    let differs = differs && is_certain(comparison.ratio);
    differs.then(|| gain(comparison).value > 0.0)
}

/// Whether it is known on which side of 1 a ratio is: a bound must be one of more, or of less.
#[must_use]
pub fn is_certain(ratio: Bounded) -> bool {
    match ratio.bound {
        Bound::Exact => true,
        Bound::AtLeast => ratio.value > 1.0,
        Bound::AtMost => ratio.value < 1.0,
    }
}

/// Whether there were runs enough for a verdict.
#[must_use]
pub const fn has_verdict(comparison: &Comparison) -> bool {
    comparison.p_adjusted.is_some()
}

/// How much better the first is: more operations per second, less latency; as a fraction.
#[must_use]
pub fn gain(comparison: &Comparison) -> Bounded {
    comparison.metric.gain(comparison.ratio)
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
