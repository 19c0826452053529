//! How systems compare: which pairs a report considers, who leads at which place, and the wording.
//! All statements about two systems follow from their [`Comparison`] alone. Headline, cards,
//! sentences and tables use this module, so that they cannot contradict each other.

mod average;
mod subject;
mod words;

pub use average::{Average, are_bounds, average, where_stated};
pub use subject::subject;

pub use words::{
    after_adjusting, better, between, common_noun, has_verdict, in_words, interval, interval_after,
    is_by_adjustment, is_not_significant, place, places, reason, reasons, than, titles, within,
};

use crate::{
    axis::Step,
    compared::Comparisons,
    grid_cell::SpreadPeak,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeMap;
use tailmark_model::{Bound, Bounded, Metric, Point, System, finding::RATE_NOT_MET};
use tailmark_stats::{
    Comparison, Verdict,
    comparison::{Place, is_within},
};

/// Where systems are compared in a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComparedAt {
    /// Each at its peak.
    Peak,
    /// All at one step of the axis.
    Step(Step),
    /// On average over the steps, of which this is the highest that all systems have.
    Average(Step),
}

/// A system's peak in a group.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The system.
    pub system: &'a str,
    /// Its peak.
    pub peak: SpreadPeak,
}

/// The systems that were measured in a group, the highest peak first.
#[must_use]
pub fn standings<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<Standing<'a>> {
    let mut standings: Vec<Standing<'a>> = sweep
        .systems
        .iter()
        .filter_map(|s| {
            group.peak(&s.name).map(|peak| Standing {
                system: &s.name,
                peak,
            })
        })
        .collect();
    standings.sort_by(|a, b| b.peak.ops.middle.total_cmp(&a.peak.ops.middle));
    put_first(&mut standings, |a, b| {
        let comparison = sweep.comparisons.at_peak(group, (a.system, b.system));
        is_first_by(comparison, sweep)
    });
    standings
}

/// Sorts systems so that each comes before those that it leads. If systems took turns, their
/// comparison is free of drift but their means are not, so the leader may have the lower mean.
pub fn put_first<T>(ordered: &mut [T], is_first: impl Fn(&T, &T) -> bool) {
    for end in 1..ordered.len() {
        let mut at = end;
        while at > 0 && is_first(&ordered[at], &ordered[at - 1]) {
            ordered.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Whether the first of a comparison is ahead, and neither value is a bound.
#[must_use]
pub fn is_first_by(comparison: Option<Comparison>, sweep: &SweepTable<'_>) -> bool {
    let exact = comparison.filter(|comparison| comparison.ratio.is_exact());
    exact.and_then(|exact| is_ahead(&exact, sweep.comparisons.band)) == Some(true)
}

/// The systems with a known metric at a place, the best first. Systems with only a bound come last,
/// because nothing shows that they lead.
#[must_use]
pub fn ranked<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Vec<&'a str> {
    let step = match spot {
        ComparedAt::Peak => {
            let standings = standings(group, sweep);
            return standings.iter().map(|standing| standing.system).collect();
        }
        ComparedAt::Step(step) | ComparedAt::Average(step) => step,
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
        // A value between two others is near both.
        let is_near = |one: &Bounded| !matches!(one.bound, Bound::AtLeast | Bound::AtMost);
        let near_first = is_near(b).cmp(&is_near(a));
        near_first.then(metric.best_first(a.value, b.value))
    });
    put_first(&mut known, |(a, _), (b, _)| {
        let comparison = sweep.comparisons.at(group, step, metric, (a, b));
        is_first_by(comparison, sweep)
    });
    known.into_iter().map(|(system, _)| system).collect()
}

/// The pairs `(a, b)` that are compared at a place, with the improvement of `a` over `b`: every
/// other system with the baseline, or the subject with every other one, the best of them first.
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
    let one = sweep.baseline().or(subject(sweep));
    let Some(one) = one.filter(|one| ranked.contains(one)) else {
        return Vec::new();
    };
    let others = ranked.iter().filter(|system| **system != one);
    let pair = |other: &&'a str| match sweep.baseline() {
        Some(_) => (*other, one),
        None => (one, *other),
    };
    others.map(pair).collect()
}

/// The systems compared in the table and in the sentences over all thread counts or rates of a
/// workload.
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
        ComparedAt::Average(step) => {
            let comparison = sweep.comparisons.at(group, step, metric, pair)?;
            let average = average(group, sweep.comparisons, metric, pair)?;
            Some(Comparison {
                ratio: average.stated(),
                ..comparison
            })
        }
    }
}

/// The points of a system at a place.
#[must_use]
pub fn points<'a>(group: &WorkloadGrid<'a>, spot: ComparedAt, system: &'a str) -> Vec<&'a Point> {
    let peak = group.peak(system).map(|peak| peak.threads);
    let is_there = |step: Step| match spot {
        ComparedAt::Peak => Some(step.threads) == peak,
        ComparedAt::Step(other) => step == other,
        ComparedAt::Average(_) => true,
    };
    let cells = group.cells_of(system).filter(|cell| is_there(cell.step));
    cells.flat_map(|cell| cell.points.iter().copied()).collect()
}

/// The highest step at which a metric is known for every system of the group or, if there is none,
/// for two of them.
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

/// How a comparison is worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// One is better: by its verdict, or without one as it was measured.
    Differ,
    /// As it was measured they lie within the band; that is no verdict.
    Tied,
    /// The interval of their ratio lies within the band.
    Equivalent,
    /// None of these.
    NoDifferenceShown,
    /// The lower peak belongs to a system whose points failed at some of the other's thread counts,
    /// or that has none in common with it.
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

/// Comparisons by their outcome, those within the band first. All that show no difference are one
/// group.
#[must_use]
pub fn by_outcome<'c>(all: &[&'c Comparison], band: f64) -> BTreeMap<Outcome, Vec<&'c Comparison>> {
    let mut groups: BTreeMap<Outcome, Vec<&Comparison>> = BTreeMap::new();
    for &one in all {
        let outcome = match Outcome::new(one, band) {
            same @ (Outcome::Tied | Outcome::Equivalent) => same,
            _ => Outcome::NoDifferenceShown,
        };
        groups.entry(outcome).or_default().push(one);
    }
    groups
}

/// The position of the first of a pair relative to the second.
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
    /// Too few runs for a verdict, although other pairs have enough.
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

    /// The position of one system against several: better only if it is better than each of them.
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

/// What is said of peaks that are compared so.
pub const OVER_COMMON: &str = "over the thread counts in common";

/// Whether peaks are compared over the thread counts in common, because the two have others besides.
#[must_use]
pub const fn is_over_common(comparison: &Comparison) -> bool {
    matches!(
        comparison.place,
        Place::Peak {
            is_over_common: true,
            ..
        }
    )
}

/// The thread counts at which both of a pair were measured, if their peaks are compared over those
/// only: `4 to 32 threads`.
#[must_use]
pub fn over_common(group: &WorkloadGrid<'_>, comparison: &Comparison) -> Option<String> {
    let has = |system: &str, step: &Step| {
        let mut points = group.points().map(|point| &point.key);
        points.any(|key| key.system == system && group.axis.step(key) == *step)
    };
    let steps = group.steps.iter();
    let both = steps.filter(|step| has(&comparison.a, step) && has(&comparison.b, step));
    let both: Vec<&Step> = both.collect();
    let (first, last) = (both.first()?, both.last()?);
    is_over_common(comparison).then(|| {
        if first == last {
            last.place()
        } else {
            format!("{} to {}", first.label(), last.place())
        }
    })
}

/// A sentence that peaks are compared over thread counts in common, if some are.
#[must_use]
pub fn about_common(sweep: &SweepTable<'_>) -> Option<&'static str> {
    let mut groups = sweep.groups.iter().filter(|group| group.has_peaks());
    let is_any = groups.any(|group| {
        let pairs = pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC);
        let mut known = pairs
            .into_iter()
            .filter_map(|pair| sweep.comparisons.at_peak(group, pair));
        known.any(|known| over_common(group, &known).is_some())
    });
    is_any.then_some(
        "Where two systems were measured at different thread counts, their peaks are compared over \
         those in common.",
    )
}

/// The system without a valid point at a thread count of the other, and the other system. The one
/// with the lower peak comes first.
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

/// A sentence that two systems do not differ; `None` if they do.
#[must_use]
pub fn alike(outcome: Outcome, (a, b): (&str, &str), comparisons: &Comparisons) -> Option<String> {
    match outcome {
        Outcome::Differ => None,
        Outcome::Equivalent => {
            let within = within(comparisons);
            Some(format!("{a} and {b} are equivalent ({within})"))
        }
        Outcome::Tied => {
            let within = within(comparisons);
            Some(format!("{a} and {b} are {within} of each other"))
        }
        Outcome::NoDifferenceShown | Outcome::UnlikePeaks => {
            Some(format!("{a} and {b} show no difference"))
        }
        Outcome::Open => Some(format!(
            "{a} and {b} may or may not differ (a value is a bound)"
        )),
    }
}

/// Which of two is ahead, if one is: whether it is the first.
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
        Bound::Between(low, high) => ratio.value * low > 1.0 || ratio.value * high < 1.0,
    }
}

/// A comparison seen from its second system, with the pair in that order.
#[must_use]
pub fn turned<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: Option<ComparedAt>,
    known: &Comparison,
    pair: (&'a str, &'a str),
) -> Comparison {
    let own = match spot {
        // The arithmetic mean of the ratios of one to the other is not the inverse of the other's.
        Some(spot @ ComparedAt::Average(_)) => at(group, sweep, spot, known.metric, pair),
        _ => None,
    };
    own.unwrap_or_else(|| known.reversed())
}

/// How much better the first is, as a fraction: more operations per second, less latency.
#[must_use]
pub fn gain(comparison: &Comparison) -> Bounded {
    comparison.metric.gain(comparison.ratio)
}
