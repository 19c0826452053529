//! The page of a comparison: tables of verdicts, what qualifies them, and gates.

use super::{
    Verdicts,
    gate::{Disturbance, Gate, GateOutcome, Judged, Reason},
    sides::{Pair, Subject},
};
use crate::{
    Block, Cell, Column, Report, Section, Table, TableRow, Text,
    format::Head,
    section::Rendered,
    section::{RATIO, metric_cell, probability},
};
use std::collections::BTreeMap;
use tailmark_model::{Bounded, Metric, Ratios, finding::UNEQUAL_CONDITIONS, number};
use tailmark_stats::{
    Comparison,
    comparison::{Place, Verdict},
    statistics::RUNS_MIN,
};

static SIDES: Section = Section::of_page("sides", "Sides");
static VERDICTS: Section = Section::of_page("verdicts", "Verdicts");
static SKIPPED: Section = Section::of_page("skipped", "Points that are not compared");
static UNEQUAL: Section = Section::of_page("unequal", "Unequal conditions");
static GATES: Section = Section::of_page("gates", "Gates");

/// Everything, in the order of reading.
pub fn page(verdicts: &Verdicts) -> Report {
    let subjects = || verdicts.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
    let names = subjects().flat_map(|side| [&side.label, &side.system, &side.title]);
    let head = Head {
        kicker: "Verdicts on storage",
        title: "A against B".to_owned(),
        facts: vec![
            "+ means that A is better; below it is the 95 % interval".to_owned(),
            format!(
                "equivalent: within {} either way",
                number::limit(verdicts.band)
            ),
        ],
        names: names.cloned().collect(),
        began_ms: verdicts.began.map(|(first, _)| first),
        ..Head::default()
    };
    let mut sections: Rendered = vec![
        (&GATES, gates(verdicts)),
        (&SIDES, vec![Block::Statements(sides(verdicts))]),
        (&VERDICTS, tables(verdicts)),
        (&SKIPPED, skipped(verdicts)),
        (&UNEQUAL, unequal(verdicts)),
    ];
    sections.retain(|(_, blocks)| !blocks.is_empty());
    Report::with_sections(head, sections)
}

fn statements(lines: Vec<String>) -> Vec<Block> {
    let texts: Vec<_> = lines.into_iter().map(Text::plain).collect();
    match texts[..] {
        [] => Vec::new(),
        _ => vec![Block::Statements(texts)],
    }
}

fn sides(verdicts: &Verdicts) -> Vec<Text> {
    let side = |name: &str, side: fn(&Pair) -> &Subject, role: &str| {
        let first = side(&verdicts.pairs[0]);
        let systems = verdicts.pairs.iter().map(|pair| side(pair).system.as_str());
        let systems = number::list(&systems.collect::<Vec<_>>());
        let study = first.study.display();
        Text::plain(format!(
            "{name}: {systems} in {study}, \"{}\"{role}",
            first.title
        ))
    };
    vec![
        side("A", |pair| &pair.a, ""),
        side("B", |pair| &pair.b, "; the baseline"),
    ]
}

fn tables(verdicts: &Verdicts) -> Vec<Block> {
    let at_points = verdicts.metrics.iter().map(|metric| (*metric, false));
    let all = at_points.chain([(Metric::OPS_PER_SEC, true)]);
    let tables = all.filter_map(|(metric, are_peaks)| table(verdicts, metric, are_peaks));
    let mut blocks: Vec<_> = tables.map(Block::Table).collect();
    if verdicts.comparisons.is_empty() {
        let none =
            "No point of both was measured without a failure, so there is nothing to compare.";
        blocks.push(Block::Text(Text::plain(none)));
    }
    blocks.push(Block::Text(Text::plain(about(verdicts))));
    blocks
}

/// The comparisons of a metric.
fn table(verdicts: &Verdicts, metric: Metric, are_peaks: bool) -> Option<Table> {
    let comparisons = verdicts.of_metric(metric, are_peaks);
    if comparisons.is_empty() || !verdicts.metrics.contains(&metric) {
        return None;
    }
    let unit = metric.row().unit;
    let (place, at_peaks) = if are_peaks {
        ("peak at", " at peaks")
    } else {
        ("at", "")
    };
    let mut columns = vec![
        Column::text("workload"),
        Column::text(place),
        Column::number("A").unit(unit),
        Column::number("B").unit(unit),
        Column::number("A against B").unit(RATIO),
        Column::number("runs"),
        Column::number("p adjusted"),
        Column::text("verdict"),
    ];
    let has_systems = verdicts.pairs.len() > 1;
    if has_systems {
        columns.insert(0, Column::text("system"));
    }
    let row = |comparison: &&Comparison| {
        let mut cells = cells(comparison);
        if has_systems {
            let mut pairs = verdicts.pairs.iter();
            let pair = pairs.find(|pair| pair.a.label == comparison.a);
            cells.insert(0, Cell::new(pair.map_or("", |pair| &pair.a.system)));
        }
        TableRow {
            cells,
            total: false,
        }
    };
    Some(Table {
        caption: format!("{}{at_peaks}", metric.row().title),
        columns,
        rows: comparisons.iter().map(row).collect(),
        ..Table::default()
    })
}

fn cells(comparison: &Comparison) -> Vec<Cell> {
    let metric = comparison.metric;
    let [a, b] = comparison.centers.map(|value| metric_cell(metric, value));
    let ratios = form(comparison);
    let interval = comparison.interval;
    let interval = interval.map(|ends| interval_text(metric, ends, ratios));
    let verdict = comparison.verdict;
    vec![
        Cell::new(format!(
            "{} {}",
            comparison.workload, comparison.distribution
        )),
        Cell::new(at(comparison)),
        a,
        b,
        Cell::new(improvement(metric, comparison.ratio, ratios))
            .with_bounded(comparison.ratio)
            .with_detail(interval.unwrap_or_default()),
        Cell::new(format!("{}, {}", comparison.runs_a, comparison.runs_b)),
        comparison
            .p_adjusted
            .map_or_else(Cell::none, |p| Cell::new(probability(p))),
        Cell::new(if verdict.is_difference() {
            format!("A is {}", verdict.name())
        } else {
            verdict.name().to_owned()
        }),
    ]
}

/// The place of a comparison, in words.
fn at(found: &Comparison) -> String {
    let place = match found.place {
        Place::Peak {
            threads_a,
            threads_b,
            ..
        } if threads_a != threads_b => format!("{threads_a} and {threads_b} threads"),
        Place::Peak { threads_a, .. } => number::threads(threads_a),
        Place::Point { .. } => found.point().map_or_else(String::new, |point| point.at()),
    };
    match found.place {
        Place::Peak {
            is_over_common: true,
            ..
        } => format!("{place} (of the thread counts in common)"),
        _ => place,
    }
}

/// How a ratio and its interval are written.
fn form(comparison: &Comparison) -> Option<Ratios> {
    let ends = comparison.interval.into_iter();
    let ends = ends.flat_map(|(low, high)| [low, high]);
    let figures: Vec<f64> = ends.chain([comparison.ratio.value]).collect();
    comparison.metric.together(&figures, None)
}

/// A ratio as reports say it, but that small percentages have a decimal.
fn improvement(metric: Metric, ratio: Bounded, ratios: Option<Ratios>) -> String {
    let said = metric.improvement(ratio, ratios);
    if said.contains('X') || !ratio.is_exact() {
        return said;
    }
    if metric.more_is_better() {
        return change(metric.gain(ratio).value);
    }
    let (share, side) = if ratio.value > 1.0 {
        (ratio.value - 1.0, "higher")
    } else {
        (1.0 - ratio.value, "lower")
    };
    match change(share).trim_start_matches(['+', '±']) {
        "0 %" => said,
        percent => format!("{percent} {side}"),
    }
}

/// From the smaller improvement to the larger one; if it is worse throughout, from the smaller change.
fn interval_text(metric: Metric, (low, high): (f64, f64), ratios: Option<Ratios>) -> String {
    let end = |ratio| improvement(metric, Bounded::exact(ratio), ratios);
    if metric.more_is_better() || low >= 1.0 {
        format!("{} to {}", end(low), end(high))
    } else {
        format!("{} to {}", end(high), end(low))
    }
}

/// A signed percentage, with one decimal below ten, because judged values are often a few percent.
fn change(share: f64) -> String {
    let tenths = (share * 1000.0).round();
    match tenths.abs() {
        0.5..99.5 => {
            let sign = if tenths > 0.0 { '+' } else { '\u{2212}' };
            format!("{sign}{:.1} %", tenths.abs() / 10.0)
        }
        _ => number::change(share),
    }
}

/// How many points are left out and why, and which.
fn skipped(verdicts: &Verdicts) -> Vec<Block> {
    let skipped = verdicts.skipped();
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for out in &skipped {
        *reasons.entry(out.reason).or_default() += 1;
    }
    let line = |out: &super::Skipped<'_>| {
        let point = verdicts.name(out.pair, &out.point.to_string());
        format!("{point}: {}", out.reason)
    };
    let mut blocks = statements(skipped.iter().map(line).collect());
    if !blocks.is_empty() {
        let reasons = reasons
            .iter()
            .map(|(reason, count)| format!("{reason} ({count})"));
        let about = format!(
            "{} of {} are not compared: {}.",
            skipped.len(),
            number::plural(verdicts.points_of_either() as u64, "point"),
            reasons.collect::<Vec<_>>().join(", ")
        );
        blocks.insert(0, Block::Text(Text::plain(about)));
    }
    blocks
}

fn unequal(verdicts: &Verdicts) -> Vec<Block> {
    let line = |(pair, unequal): &(usize, tailmark_stats::Inequality)| {
        let text = verdicts.name(&verdicts.pairs[*pair], &unequal.to_string());
        let finding = UNEQUAL_CONDITIONS.finding(text);
        format!("{}: {}", finding.code, finding.text())
    };
    let mut blocks = statements(verdicts.unequal.iter().map(line).collect());
    if !blocks.is_empty() {
        let about = "A and B also differ in conditions other than the one compared.";
        blocks.insert(0, Block::Text(Text::plain(about)));
    }
    blocks
}

fn gates(verdicts: &Verdicts) -> Vec<Block> {
    let about = "Bounds are one-sided, 95 %; p is adjusted for all points of a metric.";
    let mut blocks = vec![Block::Text(Text::plain(about))];
    let is_doubted = verdicts.gates.iter().any(is_doubtful);
    if is_doubted
        || (verdicts.are_of_two_studies() && verdicts.outcome() == Some(GateOutcome::Fail))
    {
        blocks.push(Block::Text(Text::plain(IN_TURNS)));
    }
    for (index, gate) in verdicts.gates.iter().enumerate() {
        blocks.push(Block::Heading {
            anchor: format!("gate-{index}"),
            title: head(gate),
            about: String::new(),
        });
        if gate.outcome != GateOutcome::Pass {
            blocks.extend(statements(lines(verdicts, gate)));
        }
    }
    if verdicts.gates.is_empty() {
        Vec::new()
    } else {
        blocks
    }
}

/// What tells a change of the systems from a change of the machine.
const IN_TURNS: &str = "A machine that changes between the runs looks like a system that changed. \
                        To tell them apart, measure in turns on an idle machine: before, after, \
                        before, after. Both differences must be there, and none between the two \
                        measurements of one side.";

/// Whether something besides the systems may have caused what a gate looks for.
fn is_doubtful(gate: &Gate) -> bool {
    let mut judged = gate.judged.iter();
    judged.any(|judged| judged.reason == Reason::Disturbed)
}

/// One line for each gate: its outcome, the condition, and the figures of the point that decides.
pub fn gate_lines(verdicts: &Verdicts) -> Vec<String> {
    let line = |gate: &Gate| {
        let distance = |judged: &&Judged| {
            let compared = judged.comparison.as_ref();
            compared.map_or(f64::INFINITY, |c| gate.condition.distance(c.ratio.value))
        };
        let by_distance = |a: &&Judged, b: &&Judged| distance(a).total_cmp(&distance(b));
        // The largest difference if the condition is met, otherwise the closest to it.
        let decides = match gate.outcome {
            GateOutcome::Fail => decisive(gate).max_by(by_distance),
            _ => decisive(gate).min_by(by_distance),
        };
        match decides {
            Some(judged) => format!("{}: {}", head(gate), reasoned(verdicts, gate, judged)),
            None => head(gate),
        }
    };
    verdicts.gates.iter().map(line).collect()
}

/// The points by which a gate has its outcome.
fn decisive(gate: &Gate) -> impl Iterator<Item = &Judged> {
    let judged = gate.judged.iter();
    judged.filter(|judged| judged.outcome() == gate.outcome)
}

/// A condition with its outcome.
fn head(gate: &Gate) -> String {
    let all = gate.judged.len();
    let what = if gate.condition.is_of_peaks {
        "peak"
    } else {
        "point"
    };
    let of_all = number::plural(all as u64, what);
    let head = format!("{}: {}", gate.outcome.name(), gate.condition);
    match gate.outcome {
        _ if all == 0 => format!("{head} (no {what} was measured for both)"),
        GateOutcome::Pass => format!("{head} (ruled out at {of_all})"),
        _ => format!("{head} (at {} of {of_all})", decisive(gate).count()),
    }
}

/// Why, at each of the points that decide.
fn lines(all: &Verdicts, gate: &Gate) -> Vec<String> {
    decisive(gate)
        .map(|judged| reasoned(all, gate, judged))
        .collect()
}

/// A place with the reason for the outcome there.
fn reasoned(all: &Verdicts, gate: &Gate, judged: &Judged) -> String {
    let place = match &judged.point {
        Some(point) => point.to_string(),
        None => format!("{} {}, peaks", judged.workload, judged.distribution),
    };
    format!("{}: {}", all.name(&judged.pair, &place), why(gate, judged))
}

fn why(gate: &Gate, judged: &Judged) -> String {
    let repeats = judged.repeats.map(|repeats| repeats.text());
    let metric = gate.condition.metric;
    let comparison = judged.comparison.as_ref();
    let ratios = comparison.and_then(form);
    let found = comparison.map(|comparison| improvement(metric, comparison.ratio, ratios));
    let found = found.unwrap_or_default();
    match (judged.reason, comparison) {
        (Reason::Met | Reason::Disturbed, Some(comparison)) => {
            let p = comparison.p_adjusted.map_or_else(String::new, probability);
            let interval = comparison.interval;
            let interval = interval.map(|ends| interval_text(metric, ends, ratios));
            let interval = interval.map_or_else(String::new, |ends| format!(" ({ends})"));
            let may_be_why = match &disturbances(comparison, &judged.disturbances)[..] {
                [] => String::new(),
                causes => format!("; but {} may be the cause", causes.join(", ")),
            };
            format!("{found}{interval}, p {p}{may_be_why}")
        }
        (Reason::RuledOut, Some(comparison)) => {
            format!(
                "{found}; anything beyond {} is ruled out",
                beyond(gate, comparison)
            )
        }
        (Reason::TooFewRuns, Some(comparison)) => {
            let runs = format!("{} and {} runs", comparison.runs_a, comparison.runs_b);
            let needed = repeats.unwrap_or_else(|| format!("{RUNS_MIN} repeats"));
            format!("{found}, but {runs} are too few: {needed} of each are needed")
        }
        (Reason::NoNoise, _) => {
            format!("{found}, but the runs of a system are identical, so their noise is unknown")
        }
        (Reason::Noise, Some(comparison)) => {
            let room = room(gate, comparison);
            match repeats {
                Some(repeats) => {
                    format!("{found}, but {room} not ruled out: {repeats} of each are needed")
                }
                None => format!("{found}, but {room} not ruled out: too close to the limit"),
            }
        }
        (Reason::Bound, bound) => {
            let (both, why) = match judged.point {
                Some(_) => ("both are", "requests failed, or were due and never done"),
                None => ("both peaks are", "the clients were the limit"),
            };
            match bound {
                Some(_) => format!("{found}: only a bound, because {why}"),
                None => format!("{both} lower bounds, because {why}"),
            }
        }
        (Reason::RateNotMet, _) => {
            "the rate was not reached, so latencies are not compared".to_owned()
        }
        (Reason::UnlikePeaks, _) => format!(
            "{found} as measured, but one system has no valid point at a thread count of the other, \
             and its peak may be there"
        ),
        (Reason::Failed, _) => match judged.point {
            Some(_) => "a run failed, so the point is not compared".to_owned(),
            None => "one of them has no peak: its points failed or reached 0 ops/s".to_owned(),
        },
        _ => format!("{metric} of some run is unknown or 0: too few samples, or none"),
    }
}

/// Findings with the runs that have them: `machine-busy in 2 of 5 runs of A`.
fn disturbances(comparison: &Comparison, found: &[Disturbance]) -> Vec<String> {
    let runs = |have: usize, of: usize, side: &str| {
        (have > 0).then(|| format!("{have} of {of} runs of {side}"))
    };
    let of_both = |own: &Disturbance| {
        let a = runs(own.runs_a, comparison.runs_a, "A");
        let b = runs(own.runs_b, comparison.runs_b, "B");
        let sides: Vec<String> = a.into_iter().chain(b).collect();
        format!("{} in {}", own.code, sides.join(" and "))
    };
    found.iter().map(of_both).collect()
}

/// The one-sided bounds on the sides of a condition.
fn beyond(gate: &Gate, comparison: &Comparison) -> String {
    let (at_least, at_most) = comparison.one_sided.unwrap_or((0.0, f64::INFINITY));
    let end = |ratio| improvement(gate.condition.metric, Bounded::exact(ratio), None);
    match (gate.condition.low(), gate.condition.high()) {
        (Some(_), Some(_)) => format!("{} and {}", end(at_least), end(at_most)),
        (Some(_), None) => end(at_least),
        _ => end(at_most),
    }
}

/// What the one-sided bounds leave open.
fn room(gate: &Gate, comparison: &Comparison) -> String {
    let Some((at_least, at_most)) = comparison.one_sided else {
        return "nothing is".to_owned();
    };
    let metric = gate.condition.metric;
    let end = |ratio| improvement(metric, Bounded::exact(ratio), None);
    let low = gate.condition.low().filter(|low| at_least <= *low);
    let high = gate.condition.high().filter(|high| at_most >= *high);
    match (low, high) {
        (Some(_), Some(_)) => format!("{} and {} are", end(at_least), end(at_most)),
        (Some(_), None) => format!("{} is", end(at_least)),
        _ => format!("{} is", end(at_most)),
    }
}

/// What verdicts are about.
fn about(verdicts: &Verdicts) -> String {
    let day = |ms: u64| number::instant(ms).chars().take(10).collect::<String>();
    let days = match verdicts.began.map(|(first, last)| (day(first), day(last))) {
        Some((first, last)) if first == last => format!("on this day ({first})"),
        Some((first, last)) => format!("on these days ({first} to {last})"),
        None => "on the days of these runs".to_owned(),
    };
    let is_verdict =
        |c: &Comparison| !matches!(c.verdict, Verdict::TooFewRuns | Verdict::NotTestable);
    let subject = if verdicts.comparisons.iter().any(is_verdict) {
        "Verdicts hold"
    } else {
        "There is no verdict. These numbers hold"
    };
    format!("{subject} for these devices under this load {days}, not for others of their kind.")
}
