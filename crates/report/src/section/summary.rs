//! The headline: who leads, by how much, and on what the numbers rest.

use super::Section;
use crate::{
    Bar, Block, Card, Data, Text,
    compare::{self, Outcome, Standing, WORTH_A_RATIO},
    compared::Comparisons,
    findings::{self, Index},
    measure,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::{Comparison, Metric, Verdict, number, statistics};

pub const SECTION: Section = Section {
    name: "summary",
    title: "Summary",
    about: "who leads, by how much, at which peak",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let overall = overall(&sweep);
    let is_said = overall.is_some();
    let mut blocks: Vec<Block> = overall.map(Block::Text).into_iter().collect();
    blocks.extend(conditions(data, &index).map(Block::Text));
    if !sweep.groups.is_empty() {
        blocks.push(Block::Cards(
            sweep.groups.iter().map(|g| card(g, &sweep)).collect(),
        ));
    }
    let verdicts = about_verdicts(&sweep, is_said);
    blocks.push(Block::Text(verdicts.and_all(basis(data, &sweep, &index))));
    blocks
}

/// The first sentences of the report, without emphasis; none where no systems are compared.
#[must_use]
pub fn headline(data: &Data) -> Option<String> {
    let text = overall(&SweepTable::new(data))?;
    Some(text.to_plain())
}

/// Who leads how many workloads.
fn overall(sweep: &SweepTable<'_>) -> Option<Text> {
    let leader = compare::leader(sweep)?;
    let groups = || sweep.groups.iter().filter(|group| group.has_peaks());
    if sweep.systems.len() < 2 || groups().next().is_none() {
        return None;
    }
    let leads: Vec<(&str, Lead)> = groups()
        .filter_map(|group| Lead::of(group, sweep))
        .collect();
    let has_verdicts = sweep.comparisons.has_verdicts();
    let ratios = |system: &str| -> Vec<f64> {
        let own = leads.iter().filter(|(first, _)| *first == system);
        let ratio = own.filter_map(|(_, lead)| match lead {
            Lead::Better(ratio) => Some(*ratio),
            Lead::AsMeasured(ratio) => Some(*ratio).filter(|_| !has_verdicts),
            Lead::None | Lead::Untested | Lead::Unlike => None,
        });
        ratio.collect()
    };
    // The one that leads most workloads; of equals, the leader of the report.
    let systems = sweep.systems.iter().map(|system| system.name.as_str());
    let order = |system: &&str| (ratios(system).len(), *system == leader.name);
    let best = systems.clone().max_by_key(order)?;
    let (begin, none) = match has_verdicts || leads.is_empty() {
        true => ("", "No"),
        false => ("Too few runs for a verdict: as it was measured, ", "no"),
    };
    let led = led(best, &ratios(best), groups().count());
    let led = led.unwrap_or_else(|| {
        Text::plain(format!("{none} system leads at its peak in any workload."))
    });
    let mut text = match begin {
        "" => led,
        begin => Text::plain(begin).and_all(led),
    };
    for other in systems.filter(|system| *system != best) {
        let count = ratios(other).len();
        if count > 0 {
            text = text.and(format!(" {other} has it in {count}."));
        }
    }
    let unlike = leads
        .iter()
        .filter(|(_, lead)| matches!(lead, Lead::Unlike));
    match unlike.count() {
        0 => {}
        count => {
            let workloads = number::plural(count as u64, "workload");
            text = text.and(format!(
                " The peaks of {workloads} are not comparable: a system has no valid point at a \
                 thread count of the highest."
            ));
        }
    }
    let is_untested = |lead: &Lead| matches!(lead, Lead::AsMeasured(_) | Lead::Untested);
    let untested = leads.iter().filter(|(_, lead)| is_untested(lead)).count();
    Some(match has_verdicts && untested > 0 {
        false => text,
        true => {
            let workloads = number::plural(untested as u64, "workload");
            text.and(format!(" Too few runs for a verdict in {workloads}."))
        }
    })
}

/// In how many workloads a system leads, and by how much; none where in none.
fn led(system: &str, ratios: &[f64], total: usize) -> Option<Text> {
    let low = ratios.iter().copied().reduce(f64::min).map(advantage);
    let high = ratios.iter().copied().reduce(f64::max).map(advantage);
    let (low, high) = low.zip(high)?;
    let range = match low == high {
        true => format!("by {high}"),
        false => format!("by {low} to {high}"),
    };
    let where_ahead = match (ratios.len(), total) {
        (1, 1) => "the workload".to_owned(),
        (a, t) if a == t => format!("all {t} workloads"),
        (a, t) => format!("{a} of {t} workloads"),
    };
    let text = Text::strong(system).and(format!(" has the highest peak in {where_ahead}, "));
    Some(text.and_strong(range).and(" over its nearest competitor."))
}

/// How the system with the highest peak in a workload stands.
enum Lead {
    /// Better than every other one by its verdicts; than the next by this ratio.
    Better(f64),
    /// The highest by this ratio, with too few runs for a verdict.
    AsMeasured(f64),
    /// Too close to the next, with too few runs for a verdict.
    Untested,
    /// Another one has no valid point at some of its thread counts.
    Unlike,
    /// It is not shown that it leads.
    None,
}

impl Lead {
    /// With the name of the system; none where no two of them are compared.
    fn of<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Option<(&'a str, Self)> {
        let standings = compare::standings(group, &sweep.systems);
        let (first, others) = standings.split_first()?;
        let against = |other: &Standing<'_>| {
            let pair = (first.system, other.system);
            sweep.comparisons.at_peak(group, pair)
        };
        let all = others.iter().map(against).collect::<Option<Vec<_>>>()?;
        let ratio = all.first()?.ratio.value;
        let band = sweep.comparisons.band;
        let is_better = |of: &Comparison| of.verdict == Verdict::Better;
        let is_ahead = |of: &Comparison| Outcome::of(of, band) == Outcome::Differ;
        let is_unlike = |of: &Comparison| Outcome::of(of, band) == Outcome::UnlikePeaks;
        let lead = match all.iter().all(compare::has_verdict) {
            _ if all.iter().any(is_unlike) => Self::Unlike,
            true if all.iter().all(is_better) => Self::Better(ratio),
            true => Self::None,
            false if all.iter().all(is_ahead) => Self::AsMeasured(ratio),
            false => Self::Untested,
        };
        Some((first.system, lead))
    }
}

/// What verdicts are about, and over how many tests they are adjusted; how many runs they would
/// take.
fn about_verdicts(sweep: &SweepTable<'_>, is_said: bool) -> Text {
    if sweep.comparisons.is_empty() {
        return Text::default();
    }
    if !sweep.comparisons.has_verdicts() {
        let begin = match is_said {
            true => "",
            false => "Too few runs for a verdict. ",
        };
        return Text::plain(format!(
            "{begin}A verdict takes {} runs of each point on either side. ",
            statistics::RUNS_MIN,
        ));
    }
    let count = |are_peaks| {
        let all = sweep.comparisons.of_peaks(are_peaks);
        all.filter(|of| of.metric == Metric::OpsPerSec).count()
    };
    let families: Vec<String> = [(count(true), "peaks"), (count(false), "points")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, of)| format!("{} of {of}", number::plural(count as u64, "comparison")))
        .collect();
    let families: Vec<&str> = families.iter().map(String::as_str).collect();
    Text::plain(format!(
        "Better and worse are verdicts about these devices under this load on these days: with a \
         chance of error of 5 %, adjusted (Holm) for {} of each metric, and by more than {}. ",
        number::list(&families),
        compare::within(sweep.comparisons).trim_start_matches("within "),
    ))
}

/// What the systems differ in besides what is compared.
fn conditions(data: &Data, index: &Index<'_>) -> Option<Text> {
    let pairs = data.unequal_pairs();
    let first = pairs.first()?;
    let mut names: Vec<&str> = Vec::new();
    for unequal in pairs.iter().flat_map(|pair| &pair.unequal) {
        if !names.contains(&unequal.name.as_str()) {
            names.push(&unequal.name);
        }
    }
    let between = match pairs.len() {
        1 => format!("{} and {}", first.a, first.b),
        n => format!("{n} pairs of systems"),
    };
    let badge = index.badges(std::iter::once(&findings::unequal_conditions(first)));
    let letter = badge.first().map_or("", |badge| &badge.letter);
    let named = names.len().min(findings::NAMED);
    let more = match names.len() - named {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(
        Text::strong("Unequal conditions: ")
            .and(format!("{between} differ in "))
            .and_strong(names[..named].join(", "))
            .and(format!(
                "{more} (finding {letter}), which may be why their numbers do."
            )),
    )
}

/// `1.8X`, or `+18 %` where one decimal would hide the difference.
fn advantage(ratio: f64) -> String {
    if ratio < WORTH_A_RATIO {
        number::change(ratio - 1.0)
    } else {
        number::ratio(ratio)
    }
}

fn card(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Card {
    let standings = compare::standings(group, &sweep.systems);
    let highest = standings.first().map_or(1.0, |s| s.peak.ops.middle);
    let (value, about) = match standings.as_slice() {
        [] if sweep.systems.iter().any(|s| group.has(&s.name)) => (
            "–".to_owned(),
            "no valid point: operations failed".to_owned(),
        ),
        [] => ("–".to_owned(), "only ceilings were measured".to_owned()),
        [only] => (
            number::rate(only.peak.ops.middle),
            format!("ops/s at peak, {}", number::threads(only.peak.threads)),
        ),
        [first, second, ..] => {
            let pair = (first.system, second.system);
            match sweep.comparisons.at_peak(group, pair) {
                Some(comparison) => card_of(&comparison, sweep.comparisons),
                None => (
                    "–".to_owned(),
                    "no peaks are compared at a fixed rate".to_owned(),
                ),
            }
        }
    };
    // In the order of the plan, so that a system keeps its place from card to card.
    let bars = sweep
        .systems
        .iter()
        .filter_map(|system| {
            let peak = group.peak(&system.name)?;
            Some(Bar {
                name: system.name.clone(),
                value: number::rate(peak.ops.middle),
                fraction: if highest > 0.0 {
                    peak.ops.middle / highest
                } else {
                    0.0
                },
                color: sweep.color(&system.name),
            })
        })
        .collect();
    Card {
        title: group.title_with_conditions(),
        value,
        about,
        anchor: group.anchor.clone(),
        bars,
        badges: Vec::new(),
    }
}

/// Value and words of the card of two systems.
fn card_of(comparison: &Comparison, comparisons: &Comparisons) -> (String, String) {
    let (a, b) = (&comparison.a, &comparison.b);
    let within = compare::within(comparisons);
    let (value, about) = match Outcome::of(comparison, comparisons.band) {
        Outcome::Differ => (
            advantage(comparison.ratio.value),
            format!("{a} over {b}, ops/s at peak"),
        ),
        Outcome::Tied => ("tie".to_owned(), format!("peaks lie {within}")),
        Outcome::Equivalent => (
            "equivalent".to_owned(),
            format!("{a} and {b}, peaks {within}"),
        ),
        Outcome::NoDifferenceShown => (
            "no difference shown".to_owned(),
            format!("{a} over {b}, ops/s at peak"),
        ),
        Outcome::UnlikePeaks => (
            "not comparable".to_owned(),
            format!("{b} has no valid point at a thread count of {a}"),
        ),
    };
    let interval = compare::gain_interval(comparison);
    let interval = interval.map_or_else(String::new, |of| format!(": {of}"));
    (value, about + &interval)
}

/// How much was measured, how often, and whether anything qualifies it.
fn basis(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>) -> Text {
    let repeats = sweep.repeats();
    let runs = match (repeats, measure::ends(repeats)) {
        (0, _) => String::new(),
        (1, _) => "One run a point: how far runs differ is not known. ".to_owned(),
        (n, ends) => {
            format!("Each point is the geometric mean of up to {n} runs; beside it stands {ends}. ")
        }
    };
    let seconds: f64 = data.points.iter().map(|p| p.phase.duration_s).sum();
    let operations: u64 = data.points.iter().map(|p| p.phase.operations).sum();
    let errors: u64 = data.points.iter().map(|p| p.phase.errors()).sum();
    let measured = format!(
        "{} with {} in {} of measurement; {}. ",
        number::plural(data.points.len() as u64, "run"),
        number::plural(operations, "operation"),
        number::duration(seconds),
        match (errors, never_done(data)) {
            (0, never_done) => format!("no request failed{never_done}"),
            (errors, never_done) => format!("{}{never_done}", failed(errors)),
        },
    );
    let invalid = data.points.iter();
    let invalid = invalid.filter(|p| p.phase.fault(sweep.allow_errors).is_some());
    let measured = match invalid.count() {
        0 => measured,
        n => format!(
            "{measured}{} not valid, and so no peak and in no comparison. ",
            match n {
                1 => "One run is".to_owned(),
                n => format!("{} are", number::plural(n as u64, "run")),
            }
        ),
    };
    let findings = match index.entries(data).len() {
        0 => "Nothing was found that qualifies the numbers.".to_owned(),
        1 => "One kind of finding qualifies the numbers.".to_owned(),
        n => format!("{n} kinds of findings qualify the numbers."),
    };
    Text::plain(runs).and(measured).and(findings)
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
