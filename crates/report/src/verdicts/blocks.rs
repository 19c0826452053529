//! The page of a comparison: tables of verdicts, what qualifies them, and gates.

use super::{
    Verdicts,
    gate::GateOutcome,
    gate_words::{IN_TURNS, head, is_doubtful, lines},
    ratio::{form, improvement, interval_text},
    sides::{Pair, Subject},
};
use crate::{
    Block, Cell, Column, Report, Section, Table, TableRow, Text,
    format::Head,
    section::Rendered,
    section::{RATIO, metric_cell, probability},
};
use std::collections::BTreeMap;
use tailmark_model::{Metric, PointKey, finding::UNEQUAL_CONDITIONS, number};
use tailmark_stats::{
    Comparison,
    comparison::{Place, Verdict},
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
    let compared = verdicts.compared.iter().map(|(pair, compared)| {
        let text = verdicts.name(&verdicts.pairs[*pair], &compared.to_string());
        Text::plain(format!("compared: {text}"))
    });
    let sides = [
        side("A", |pair| &pair.a, ""),
        side("B", |pair| &pair.b, "; the baseline"),
    ];
    sides.into_iter().chain(compared).collect()
}

fn tables(verdicts: &Verdicts) -> Vec<Block> {
    let at_points = verdicts.metrics.iter().map(|metric| (*metric, false));
    let all = at_points.chain([(Metric::OPS_PER_SEC, true)]);
    let tables = all.filter_map(|(metric, are_peaks)| table(verdicts, metric, are_peaks));
    let mut blocks: Vec<_> = tables.map(Block::Table).collect();
    blocks.extend(statements(unlike_money(verdicts)));
    blocks.extend(statements(one_sided(verdicts)));
    if blocks.is_empty() {
        let none = if verdicts.comparisons.is_empty() {
            "No point of both was measured without a failure, so there is nothing to compare."
        } else {
            "Nothing is compared: at every point a value is missing or both values are bounds."
        };
        blocks.push(Block::Text(Text::plain(none)));
    }
    blocks.push(Block::Text(Text::plain(about(verdicts))));
    blocks
}

/// The values of money that are not compared, each in its currency.
fn unlike_money(verdicts: &Verdicts) -> Vec<String> {
    let line = |unlike: &super::UnlikeMoney<'_>| {
        let metric = unlike.metric;
        let [a, b] = unlike.runs.map(|runs| match runs.center(metric) {
            Some(value) => metric.text_with_unit(value, runs.currency()),
            None => format!("unknown, in {}", runs.currency()),
        });
        let [in_a, in_b] = unlike.runs;
        let why = if in_a.currency() == in_b.currency() {
            let energy = [in_a, in_b].map(|runs| runs.energy_of());
            format!(
                "the energy of A is that of {}, of B that of {}",
                energy[0], energy[1]
            )
        } else {
            "the currencies differ".to_owned()
        };
        let text = format!("{}: {a} and {b}", metric.row().title);
        let place = verdicts.name(unlike.pair, &unlike.point.to_string());
        format!("{place}: {text}: not compared, because {why}")
    };
    verdicts.unlike_money().iter().map(line).collect()
}

/// More places than these are counted.
const PLACES_NAMED: usize = 4;

/// The metrics that only one side has at points of both: `p99.99 read latency: only A has it, at 6
/// points`.
fn one_sided(verdicts: &Verdicts) -> Vec<String> {
    let line = |(metric, side, found): (Metric, &str, Vec<String>)| {
        let places = match found.len() {
            ..=PLACES_NAMED => found.join("; "),
            count => format!("{count} points"),
        };
        format!("{}: only {side} has it, at {places}", metric.row().title)
    };
    verdicts.one_sided().into_iter().map(line).collect()
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
        let mut cells = cells(verdicts, comparison);
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

fn cells(verdicts: &Verdicts, comparison: &Comparison) -> Vec<Cell> {
    let metric = comparison.metric;
    let [mut a, mut b] = comparison.centers.map(|value| metric_cell(metric, value));
    if let Some(runs) = verdicts
        .points
        .compared(comparison)
        .filter(|_| metric.is_money())
    {
        [a, b] = [(a, runs[0]), (b, runs[1])].map(|(cell, own)| cell.with_currency(own.currency()));
    }
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
        } if [threads_a, threads_b].contains(&PointKey::PEAK) && threads_a != threads_b => {
            let counts = [threads_a, threads_b].map(number::threads);
            counts.join(" and ")
        }
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
        let about = if verdicts.pairs.iter().all(Pair::is_same_system) {
            "A and B differ in the following. It should be only what you changed on purpose."
        } else {
            "A and B differ in more than their device. It should be only what you compare."
        };
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

/// What verdicts are about.
fn about(verdicts: &Verdicts) -> String {
    let day = |ms: u64| number::instant(ms).chars().take(10).collect::<String>();
    let days = match verdicts.began.map(|(first, last)| (day(first), day(last))) {
        Some((first, last)) if first == last => format!("on this day ({first})"),
        Some((first, last)) => format!("on these days ({first} to {last})"),
        None => "on the days of these runs".to_owned(),
    };
    let is_verdict = |c: &Comparison| {
        verdicts.metrics.contains(&c.metric)
            && !matches!(c.verdict, Verdict::TooFewRuns | Verdict::NotTestable)
    };
    let subject = if verdicts.comparisons.iter().any(is_verdict) {
        "Verdicts hold"
    } else {
        "There is no verdict. These numbers hold"
    };
    format!("{subject} for these devices under this load {days}, not for others of their kind.")
}
