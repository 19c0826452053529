//! The summary: who leads, by how much, and the basis of the numbers.

use super::{ComparedPair, FixedTopic, Section, fixed_topics, remarks};
use crate::{
    Bar, Block, Card, CardFigure, Data, Text, author,
    compare::{self, ComparedAt, Lead, Outcome},
    findings::Index,
    grid_cell::SpreadPeak,
    grid_name::workload_title,
    headline, measure,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeSet;
use tailmark_model::{Metric, Point, System, Words, finding::LENGTH_UNKNOWN, number};
use tailmark_stats::Comparison;

pub const SECTION: Section = Section {
    name: "summary",
    title: "Summary",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let mut blocks = front(data);
    let verdicts = about_verdicts(&sweep);
    blocks.push(Block::Text(verdicts.and_all(basis(data, &sweep, &index))));
    blocks
}

/// The headline, what qualifies it, the cards, and the author's words between them.
pub fn front(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let overall = headline::headline(data, &sweep, &index);
    let mut blocks: Vec<Block> = overall.map(Block::Text).into_iter().collect();
    let fixed = fixed_topics(data, &sweep);
    let quiet = as_measured(&sweep).into_iter().chain(interpolated(&fixed));
    let quiet: Vec<String> = quiet.chain(remarks::not_real(data, &sweep)).collect();
    if !quiet.is_empty() {
        blocks.push(Block::Text(Text::plain(quiet.join(" "))));
    }
    blocks.extend(author::words(data, Words::Introduction));
    blocks.extend(skipped(&sweep).map(Block::Text));
    if !sweep.groups.is_empty() {
        let cards = sweep.groups.iter();
        let cards = cards.map(|group| card(group, &sweep, &index, &fixed));
        blocks.push(Block::Cards(cards.collect()));
    }
    let remarks = remarks::remarks(data, &sweep, &index);
    blocks.extend(remarks.into_iter().map(Block::Text));
    blocks.extend(author::words(data, Words::Why));
    blocks
}

/// The first sentences of the report, without emphasis. `None` if no systems are compared.
#[must_use]
pub fn headline(data: &Data) -> Option<String> {
    let sweep = SweepTable::new(data);
    let text = headline::headline(data, &sweep, &Index::new(data))?;
    let note = as_measured(&sweep).map_or_else(String::new, |line| format!(" {line}"));
    Some(text.to_plain() + &note)
}

/// That nothing that is compared has a verdict, and why.
fn as_measured(sweep: &SweepTable<'_>) -> Option<String> {
    let comparisons = sweep.comparisons;
    let why = comparisons.without_verdicts(sweep.repeats());
    why.filter(|_| !comparisons.is_empty())
}

/// Which of the stated values are not measured but read off curves.
fn interpolated(fixed: &[FixedTopic<'_, '_>]) -> Option<String> {
    let places = fixed.iter().filter(|topic| topic.is_of_curve);
    let places: Vec<&str> = places.map(|topic| topic.place.as_str()).collect();
    (!places.is_empty()).then(|| {
        let places = number::list(&places);
        format!("Values {places} are interpolated between measured points.")
    })
}

/// The workloads that were left out, and why.
fn skipped(sweep: &SweepTable<'_>) -> Option<Text> {
    let line = |text: &String| match text.split_once(": ") {
        Some((name, why)) => format!("{} ({why})", workload_title(name)),
        None => text.clone(),
    };
    let all: Vec<String> = sweep.settings.skipped.iter().map(line).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    (!all.is_empty()).then(|| Text::plain(format!("Left out: {}.", number::list(&all))))
}

/// What verdicts are about, and over how many tests they are adjusted.
fn about_verdicts(sweep: &SweepTable<'_>) -> Text {
    if !sweep.comparisons.has_verdicts() {
        return Text::default();
    }
    let families = families(sweep);
    if families.is_empty() {
        return Text::default();
    }
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    let few = if sweep.comparisons.have_too_few_runs() {
        "Where a side has too few runs, differences are not tested. "
    } else if sweep.comparisons.have_no_noise() {
        "Where the runs of a point are identical, differences are not tested. "
    } else {
        ""
    };
    Text::plain(format!(
        "Differences marked better or worse are significant at the 5 % level, adjusted (Holm) for \
         {}, and larger than {}. They hold for these devices under this load on these days. {few}",
        number::list(&families),
        compare::within(sweep.comparisons).trim_start_matches("within "),
    ))
}

/// The number of comparisons in each family whose verdicts this report states: peaks, and at points
/// operations per second, the report's metric, and latencies.
fn families(sweep: &SweepTable<'_>) -> Vec<String> {
    let family = |are_peaks, metric: Metric| {
        let mut all = sweep.comparisons.of_peaks(are_peaks);
        let comparison = all.find(|comparison| comparison.metric == metric);
        let count = comparison.map_or(0, |comparison| comparison.family);
        let what = if are_peaks {
            "peaks".to_owned()
        } else if metric.latency().is_some() {
            format!("{metric} at points")
        } else {
            format!("{} at points", metric.noun())
        };
        (count > 0).then(|| format!("{} of {what}", number::plural(count as u64, "comparison")))
    };
    let of_group = |group| sweep.compared(group).chain(sweep.latency_metric(group));
    let of_groups: BTreeSet<Metric> = sweep.all_groups().flat_map(of_group).collect();
    let ops = (!sweep.groups.is_empty()).then_some(Metric::OPS_PER_SEC);
    let peaks = family(true, Metric::OPS_PER_SEC).into_iter();
    let at_points = ops.into_iter().chain(of_groups);
    let at_points = at_points.filter_map(|metric| family(false, metric));
    peaks.chain(at_points).collect()
}

/// What the author names comes first, and stands for the metric at a load of our choice.
fn card<'a>(
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
            return of_pairs(group, sweep, (&what, None), pairs)?.ok();
        }
        let mut stated = topic.stated.iter();
        let stated = stated.find(|own| own.group.anchor == group.anchor)?;
        let (value, system) = stated.own.as_ref()?;
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
    let what = ("ops/s at peak", Some(ComparedAt::Peak));
    let compared = of_pairs(group, sweep, what, &pairs);
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
    match of_pairs(group, sweep, (&what, Some(spot)), &pairs)? {
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

/// How the subject compares with the best of its competitors; if that one is level with it, with the
/// first that falls behind. A competitor that is ahead is named first, as in the headline. `None`
/// without a pair; the error is a deciding pair that is not compared. `spot` is where the metric was measured,
/// unless it is read off curves.
fn of_pairs<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    (what, spot): (&str, Option<ComparedAt>),
    pairs: &[ComparedPair<'a>],
) -> Option<Result<CardFigure, (&'a str, &'a str)>> {
    let lead = |(.., known): &ComparedPair<'_>| Lead::new(known.as_ref(), sweep.comparisons);
    let leads = |pair: &&ComparedPair<'_>| lead(pair) == Lead::Better;
    let is_compared = |(.., known): &&ComparedPair<'_>| known.is_some();
    let others = pairs.iter().filter(|pair| !leads(pair));
    let keeps = others
        .clone()
        .find(is_compared)
        .filter(|_| sweep.baseline().is_none());
    let (a, b, known) = keeps.or(pairs.iter().find(is_compared)).or(pairs.first())?;
    let is_level = |pair: &&ComparedPair<'_>| matches!(lead(pair), Lead::Same | Lead::Equivalent);
    let level: Vec<&ComparedPair<'_>> = pairs.iter().filter(is_level).collect();
    let is_ahead_of_rest = pairs.iter().all(|pair| leads(&pair) || is_level(&pair));
    let behind = pairs.iter().find(leads);
    let (Some((one, other, Some(ahead))), false, true, None) =
        (behind, level.is_empty(), is_ahead_of_rest, sweep.baseline())
    else {
        let unknown = others.filter(|pair| !is_compared(pair));
        let unknown: Vec<&str> = unknown.map(|(_, other, _)| *other).collect();
        let is_worse = lead(&(*a, *b, known.clone())) == Lead::Worse;
        let is_first = *a == pairs[0].0 && *b == pairs[0].1 && pairs.len() > 1;
        let rank = |words| if is_first { words } else { "" };
        let figure = |compared: &Comparison| {
            let figure = if sweep.baseline().is_some() {
                of_pair(
                    group,
                    [(a, rank(", the best,")), (b, "")],
                    what,
                    compared,
                    sweep,
                )
            } else if is_worse {
                let turned = compare::turned(group, sweep, spot, compared, (b, a));
                of_pair(
                    group,
                    [(b, rank(", the best,")), (a, "")],
                    what,
                    &turned,
                    sweep,
                )
            } else {
                of_pair(
                    group,
                    [(a, ""), (b, rank(", the nearest"))],
                    what,
                    compared,
                    sweep,
                )
            };
            let about = match unknown[..] {
                [] => figure.about,
                _ => format!("{}; not compared: {}", figure.about, number::list(&unknown)),
            };
            CardFigure { about, ..figure }
        };
        return Some(known.as_ref().map(figure).ok_or((*a, *b)));
    };
    let is_one_of_many = pairs.iter().filter(leads).count() > 1;
    let rank = if is_one_of_many {
        ", the nearest behind"
    } else {
        ""
    };
    let figure = of_pair(group, [(one, ""), (other, rank)], what, ahead, sweep);
    let level: Vec<&Comparison> = level.iter().filter_map(|(.., own)| own.as_ref()).collect();
    let groups = compare::by_outcome(&level, sweep.comparisons.band).into_iter();
    let about = groups.fold(figure.about.clone(), |about, (outcome, own)| {
        let how = match outcome {
            Outcome::Tied => format!("{} of", compare::within(sweep.comparisons)),
            Outcome::Equivalent => "equivalent to".to_owned(),
            _ => "no difference shown from".to_owned(),
        };
        let names: Vec<&str> = own.iter().map(|each| each.b.as_str()).collect();
        let why = compare::after_adjusting(&own);
        format!("{about}; {how} {}{why}", number::list(&names))
    });
    Some(Ok(CardFigure { about, ..figure }))
}

/// Value and words of two systems, each with what it is among several.
fn of_pair<'a>(
    group: &WorkloadGrid<'a>,
    [(a, of_a), (b, of_b)]: [(&'a str, &str); 2],
    what: &str,
    comparison: &Comparison,
    sweep: &SweepTable<'_>,
) -> CardFigure {
    let within = compare::within(sweep.comparisons);
    let common = compare::over_common(group, comparison);
    let what = common.map_or_else(
        || what.to_owned(),
        |counts| format!("{what} over the thread counts in common ({counts})"),
    );
    let over = if comparison.metric.more_is_better() {
        format!("{what}, {a}{of_a} over {b}{of_b}")
    } else {
        format!("{what}, {a}{of_a} against {b}{of_b}")
    };
    let (value, about) = match Outcome::new(comparison, sweep.comparisons.band) {
        Outcome::Differ => (sweep.comparisons.improvement(comparison), over),
        Outcome::Tied => ("tie".to_owned(), format!("{what} {within}, {a} and {b}")),
        Outcome::Equivalent => (
            "equivalent".to_owned(),
            format!("{what} {within}, {a} and {b}"),
        ),
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
    let interval = compare::reason(comparison, sweep.comparisons);
    let interval = interval.map_or_else(String::new, |text| format!(": {text}"));
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

/// How much was measured, how often, and whether findings qualify it.
fn basis(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>) -> Text {
    let repeats = sweep.repeats();
    let runs = match (repeats, measure::ends(repeats)) {
        (0, _) => String::new(),
        (1, _) => "Each point was run once, so run-to-run variation is unknown. ".to_owned(),
        (n, ends) => {
            format!("Each value is the geometric mean of up to {n} runs, with {ends}. ")
        }
    };
    let measured = measured(data);
    let invalid = data.points.iter();
    let invalid = invalid.filter(|p| data.fault(p).is_some());
    let measured = match invalid.count() {
        0 => measured,
        n => format!(
            "{measured}{} not valid. Their points are excluded from peaks and comparisons. ",
            match n {
                1 => "One run is".to_owned(),
                n => format!("{} are", number::plural(n as u64, "run")),
            }
        ),
    };
    let findings = match index.entries(data).len() {
        0 => "There are no findings.".to_owned(),
        1 => "There is 1 kind of finding.".to_owned(),
        n => format!("There are {n} kinds of findings."),
    };
    Text::plain(runs).and(measured).and(findings)
}

/// How much was measured. For published points only their rate is known.
fn measured(data: &Data) -> String {
    let is_timed = |point: &&Point| !LENGTH_UNKNOWN.is_among(&point.phase.findings);
    let timed: Vec<&Point> = data.points.iter().filter(is_timed).collect();
    let runs = number::plural(data.points.len() as u64, "run");
    if timed.is_empty() {
        return format!("{runs} of unknown length. ");
    }
    let untimed = match data.points.len() - timed.len() {
        0 => String::new(),
        n => format!(" ({} of unknown length)", number::count(n as u64)),
    };
    let seconds: f64 = timed.iter().map(|p| p.phase.duration_s).sum();
    let operations: u64 = timed.iter().map(|p| p.phase.operations).sum();
    let errors: u64 = data.points.iter().map(|p| p.phase.errors()).sum();
    let failed = match errors {
        0 => "no request failed".to_owned(),
        errors => failed(errors),
    };
    format!(
        "{runs}{untimed} with {} in {} of measurement; {failed}{}. ",
        number::plural(operations, "operation"),
        number::duration(seconds),
        never_done(data),
    )
}

/// Behind the failures: operations that were due and have no latency but their age.
fn never_done(data: &Data) -> String {
    match data.points.iter().map(|p| p.phase.censored).sum() {
        0 => String::new(),
        n => format!(", {} never done", number::plural(n, "operation")),
    }
}

fn failed(errors: u64) -> String {
    format!("{} failed", number::plural(errors, "request"))
}
