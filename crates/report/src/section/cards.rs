//! The cards of the first page: one for each workload, with how the subject compares there.

use super::{ComparedPair, FixedTopic};
use crate::{
    Bar, Card, CardFigure,
    compare::{self, ComparedAt, Lead, Outcome},
    compared::Comparisons,
    findings::Index,
    grid_cell::SpreadPeak,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, System, number};
use tailmark_stats::Comparison;

/// What the author names comes first, and stands for the metric at a load of our choice.
pub fn card<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
    fixed: &[FixedTopic<'_, 'a>],
) -> Card {
    let spot = if group.has_peaks() {
        Some(ComparedAt::Peak)
    } else {
        let metric = sweep.metric(group);
        metric.and_then(|metric| compare::where_stated(group, sweep, metric))
    };
    let systems = sweep.systems.iter();
    let points = spot.into_iter().flat_map(|spot| {
        let systems = systems.clone();
        systems.flat_map(move |system| compare::points(group, spot, &system.name))
    });
    let figures = fixed.iter().filter_map(|topic| {
        let what = format!("{} {}", topic.name, topic.place);
        let mut workloads = topic.workloads.iter();
        if let Some((_, pairs)) = workloads.find(|(own, _)| own.anchor == group.anchor) {
            let all = topic.workloads.iter();
            let all_stated = all.filter_map(|(_, own)| first_compared(own));
            let on_cards = OnCards::new(sweep, &what, all_stated);
            return of_pairs(group, sweep, &on_cards, pairs)?.ok();
        }
        let mut values = topic.stated.iter();
        let values = values.find(|own| own.group.anchor == group.anchor)?;
        let (value, system) = values.own.as_ref()?;
        Some(figure(value, format!("{what}, {system}")))
    });
    let mut figures: Vec<CardFigure> = figures.collect();
    let has_fixed = !figures.is_empty();
    figures.extend(group.has_peaks().then(|| peaks(group, sweep)));
    figures.extend(metric_figure(group, sweep).filter(|_| !has_fixed));
    if figures.is_empty() {
        let only = alone(group, sweep);
        figures.push(only.unwrap_or_else(|| figure("–", "no latency known of two systems")));
    }
    Card {
        title: match &group.use_case {
            Some(use_case) => format!("{}: {use_case}", group.title_with_conditions()),
            None => group.title_with_conditions(),
        },
        figures,
        anchor: group.anchor.clone(),
        bars: bars(group, sweep),
        badges: index.headline_badges(points),
    }
}

/// The report's metric of the only system, at the highest thread count or rate.
fn alone(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<CardFigure> {
    let [system] = sweep.systems[..] else {
        return None;
    };
    let (metric, step) = (sweep.metric(group)?, *group.steps.last()?);
    let value = group.valid_cell(&system.name, step)?.value(metric)?.middle;
    let text = metric.text_with_unit(value, sweep.currency(&system.name));
    let place = step.place();
    Some(figure(text, format!("{} at {place}", metric.row().title)))
}

fn figure(value: impl Into<String>, about: impl Into<String>) -> CardFigure {
    CardFigure {
        value: value.into(),
        about: about.into(),
    }
}

/// How the peaks compare.
fn peaks<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> CardFigure {
    let standings = compare::standings(group, sweep);
    let pairs = compared_pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC);
    let all_stated = sweep
        .groups
        .iter()
        .filter_map(|own| stated_in(own, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC));
    let on_cards = OnCards::new(sweep, "ops/s at peak", all_stated);
    let compared = of_pairs(group, sweep, &on_cards, &pairs);
    match (standings.as_slice(), compared) {
        ([], _) if sweep.systems.iter().any(|s| group.has(&s.name)) => {
            figure("–", "no valid point")
        }
        ([], _) => figure("–", "only ceilings were measured"),
        ([only], _) => {
            let whose = match sweep.systems.len() {
                1 => String::new(),
                _ => format!(" of {}", only.system),
            };
            let threads = number::threads(only.peak.threads);
            figure(only.peak.text(), format!("ops/s at peak{whose}, {threads}"))
        }
        (_, None) => {
            let one = sweep
                .baseline()
                .or(compare::subject(sweep))
                .unwrap_or_default();
            figure("–", format!("{one} has no valid point"))
        }
        (_, Some(Ok(figure))) => figure,
        (_, Some(Err((a, b)))) => {
            let peaks = [a, b].map(|system| group.peak(system));
            let is_zero = |peak: &Option<SpreadPeak>| {
                peak.as_ref().is_some_and(|peak| peak.ops.middle <= 0.0)
            };
            let why = if peaks.iter().any(is_zero) {
                "a peak is 0, so there is no ratio"
            } else {
                "both peaks are lower bounds"
            };
            figure("not compared", format!("{a} and {b}: {why}"))
        }
    }
}

/// How two systems compare in the report's metric.
fn metric_figure<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Option<CardFigure> {
    let metric = sweep.metric(group)?;
    let spot = compare::where_stated(group, sweep, metric)?;
    let pairs = compared_pairs(group, sweep, spot, metric);
    let what = format!("{} {}", metric.row().title, compare::place(spot));
    let all_stated = sweep.groups.iter().filter_map(|own| {
        let of_own = sweep.metric(own)?;
        let at = compare::where_stated(own, sweep, of_own)?;
        stated_in(own, sweep, at, of_own)
    });
    let on_cards = OnCards::new(sweep, &what, all_stated);
    match of_pairs(group, sweep, &on_cards, &pairs)? {
        Ok(figure) => Some(figure),
        Err((a, b)) => {
            let why = sweep.unlike_money(metric, (a, b))?;
            Some(figure(
                "not compared",
                format!("{what} of {a} and {b}: {why}"),
            ))
        }
    }
}

/// Each pair of systems that is compared, with the comparison.
fn compared_pairs<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Vec<ComparedPair<'a>> {
    let pairs = compare::pairs(group, sweep, spot, metric).into_iter();
    let compared = |(a, b)| (a, b, compare::at(group, sweep, spot, metric, (a, b)));
    pairs.map(compared).collect()
}

/// What cards compare, and how all of them write it.
struct OnCards<'s> {
    what: &'s str,
    comparisons: Comparisons,
}

impl<'s> OnCards<'s> {
    /// With the first comparison of each card.
    fn new(
        sweep: &SweepTable<'_>,
        what: &'s str,
        all_stated: impl Iterator<Item = Comparison>,
    ) -> Self {
        let all_stated: Vec<Comparison> = all_stated.collect();
        let comparisons = sweep
            .comparisons
            .beside(&all_stated.iter().collect::<Vec<_>>());
        Self { what, comparisons }
    }
}

/// What the card of a workload states.
fn stated_in<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    spot: ComparedAt,
    metric: Metric,
) -> Option<Comparison> {
    first_compared(&compared_pairs(group, sweep, spot, metric))
}

/// How the subject compares with its best competitor.
fn first_compared(pairs: &[ComparedPair<'_>]) -> Option<Comparison> {
    pairs.iter().find_map(|(.., known)| known.clone())
}

/// How the subject compares with its best competitor, and then whom it beats, if those two are level.
/// `None` without a pair; the error is a deciding pair that is not compared.
fn of_pairs<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    on_cards: &OnCards<'_>,
    pairs: &[ComparedPair<'a>],
) -> Option<Result<CardFigure, (&'a str, &'a str)>> {
    let is_compared = |(.., known): &&ComparedPair<'_>| known.is_some();
    let (a, b, known) = pairs.iter().find(is_compared).or(pairs.first())?;
    let Some(compared) = known else {
        return Some(Err((*a, *b)));
    };
    let lead = |one: &Comparison| Lead::new(Some(one), sweep.comparisons);
    let is_level = |one: &&Comparison| matches!(lead(one), Lead::Same | Lead::Equivalent);
    let others = pairs.iter().filter(|pair| pair.1 != *b);
    let unknown = others.clone().filter(|pair| !is_compared(pair));
    let unknown: Vec<&str> = unknown.map(|pair| pair.1).collect();
    let all = others.clone().filter_map(|(.., own)| own.as_ref());
    let level: Vec<&Comparison> = all.clone().filter(is_level).collect();
    let is_one_of_many = pairs.len() > 1 && sweep.baseline().is_none();
    let is_apart = level.is_empty() && unknown.is_empty();
    let rank = match lead(compared) {
        Lead::Worse if is_one_of_many => ", the best",
        Lead::Better if is_one_of_many && is_apart => ", the nearest",
        _ => "",
    };
    let figure = of_pair(group, [(a, ""), (b, rank)], on_cards, compared);
    let mut about = figure.about + &level_with(sweep, &level);
    if is_level(&compared) {
        about += &beaten(on_cards, all.filter(|own| lead(own) == Lead::Better));
    }
    if !unknown.is_empty() {
        about += &format!("; not compared: {}", number::list(&unknown));
    }
    Some(Ok(CardFigure { about, ..figure }))
}

/// The other systems that the subject beats, for the end of a card: `; +23 % over C`.
fn beaten<'c>(on_cards: &OnCards<'_>, beaten: impl Iterator<Item = &'c Comparison>) -> String {
    let said = beaten.map(|one| {
        let improvement = on_cards.comparisons.improvement(one);
        if one.metric.more_is_better() {
            format!("; {improvement} over {}", one.b)
        } else {
            format!("; {improvement}{}", compare::than(&improvement, &one.b))
        }
    });
    said.collect()
}

/// The competitors that are level with the subject: `; within 3 % of B and C`.
fn level_with(sweep: &SweepTable<'_>, level: &[&Comparison]) -> String {
    let (open, level): (Vec<&Comparison>, Vec<&Comparison>) = level
        .iter()
        .partition(|one| compare::is_not_significant(one));
    let comparisons = sweep.comparisons.beside(&open);
    let not_significant = open.iter().map(|one| {
        let joint = if one.metric.more_is_better() {
            "over"
        } else {
            "against"
        };
        let interval = compare::interval(one, &comparisons);
        let interval = interval.map_or_else(String::new, |ends| format!(" ({ends})"));
        let said = comparisons.improvement(one);
        format!("{said}{interval} {joint} {}", one.b)
    });
    let not_significant: Vec<String> = not_significant.collect();
    let not_significant = match &not_significant[..] {
        [] => String::new(),
        all => {
            let why = compare::after_adjusting(&open);
            format!("; not significant{why}: {}", all.join(", "))
        }
    };
    let groups = compare::by_outcome(&level, sweep.comparisons.band).into_iter();
    let said = groups.map(|(outcome, own)| {
        let how = match outcome {
            Outcome::Tied => format!("{} of", compare::within(sweep.comparisons)),
            Outcome::Equivalent => "equivalent to".to_owned(),
            _ => "no difference shown from".to_owned(),
        };
        let names: Vec<&str> = own.iter().map(|each| each.b.as_str()).collect();
        format!("; {how} {}", number::list(&names))
    });
    said.chain([not_significant]).collect()
}

/// Value and words of two systems, each with what it is among several.
fn of_pair<'a>(
    group: &WorkloadGrid<'a>,
    [(a, of_a), (b, of_b)]: [(&'a str, &str); 2],
    on_cards: &OnCards<'_>,
    comparison: &Comparison,
) -> CardFigure {
    let OnCards { what, comparisons } = on_cards;
    let within = compare::within(comparisons);
    let common = compare::over_common(group, comparison);
    let what = common.map_or_else(
        || (*what).to_owned(),
        |counts| format!("{what} over the thread counts in common ({counts})"),
    );
    let is_ahead = comparison.ratio.value >= 1.0;
    let over = if comparison.metric.more_is_better() && is_ahead {
        format!("{what}, {a}{of_a} over {b}{of_b}")
    } else {
        format!("{what}, {a}{of_a} against {b}{of_b}")
    };
    let (value, about) = match Outcome::new(comparison, comparisons.band) {
        Outcome::Differ => (comparisons.improvement(comparison), over),
        Outcome::Tied => ("tie".to_owned(), format!("{what} {within}, {a} and {b}")),
        Outcome::Equivalent => (
            "equivalent".to_owned(),
            format!("{what} {within}, {a} and {b}"),
        ),
        Outcome::NoDifferenceShown if compare::is_not_significant(comparison) => {
            let said = comparisons.improvement(comparison);
            ("not significant".to_owned(), format!("{over}: {said}"))
        }
        Outcome::NoDifferenceShown => ("no difference shown".to_owned(), over),
        Outcome::UnlikePeaks => {
            let (lacking, counts) = compare::unlike(group, (a, b), comparison.ratio.value);
            (
                "not comparable".to_owned(),
                format!("{lacking} has no valid point at a thread count that {counts} has"),
            )
        }
        Outcome::Open => (
            "not certain".to_owned(),
            format!("{over}: a value is a bound"),
        ),
    };
    let joint = if compare::is_not_significant(comparison) {
        ", "
    } else {
        ": "
    };
    let interval = compare::reason(comparison, comparisons);
    let interval = interval.map_or_else(String::new, |text| format!("{joint}{text}"));
    figure(value, about + &interval)
}

/// The peaks, in the order of the plan, so that a system keeps its place from card to card.
fn bars<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<Bar> {
    let peaks = sweep.systems.iter();
    let peaks: Vec<_> = peaks
        .filter_map(|system| Some((system, group.peak(&system.name)?)))
        .collect();
    let highest = peaks.iter().map(|(_, peak)| peak.ops.middle);
    let highest = highest.fold(f64::MIN_POSITIVE, f64::max);
    let bar = |(system, peak): &(&&System, SpreadPeak)| Bar {
        name: system.name.clone(),
        value: peak.text(),
        fraction: peak.ops.middle / highest,
        color: sweep.color(&system.name),
    };
    peaks.iter().map(bar).collect()
}
