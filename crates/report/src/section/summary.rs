//! The headline: who leads, by how much, and on what the numbers rest.

use super::Section;
use crate::{
    Bar, Block, Card, Data, Text,
    compare::{self, Verdict, WORTH_A_RATIO},
    findings::Index,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::number;

pub const SECTION: Section = Section {
    name: "summary",
    title: "Summary",
    about: "who leads, by how much, at which peak",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let mut blocks = Vec::new();
    blocks.extend(overall(&sweep).map(Block::Text));
    if !sweep.groups.is_empty() {
        blocks.push(Block::Cards(
            sweep.groups.iter().map(|g| card(g, &sweep)).collect(),
        ));
    }
    blocks.push(Block::Text(basis(data, &sweep)));
    blocks
}

/// Who leads how many workloads.
fn overall(sweep: &SweepTable<'_>) -> Option<Text> {
    let leader = compare::leader(sweep)?;
    let total = sweep.groups.len();
    if sweep.systems.len() < 2 || total == 0 {
        return None;
    }
    let mut ratios: Vec<f64> = Vec::new();
    for group in &sweep.groups {
        let standings = compare::standings(group, &sweep.systems);
        let [first, second, ..] = standings.as_slice() else {
            continue;
        };
        if let Verdict::Leads(ratio) = compare::verdict(first.peak.ops, second.peak.ops)
            && first.system == leader.name
        {
            ratios.push(ratio);
        }
    }
    let ahead = ratios.len();
    if ahead == 0 {
        return Some(Text::plain("No system leads at its peak in any workload."));
    }
    let (low, high) = ratios
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(l, h), r| (l.min(*r), h.max(*r)));
    let range = match (advantage(low), advantage(high)) {
        (low, high) if low == high => format!("by {high}"),
        (low, high) => format!("by {low} to {high}"),
    };
    let where_ahead = match (ahead, total) {
        (1, 1) => "the workload".to_owned(),
        (a, t) if a == t => format!("all {t} workloads"),
        (a, t) => format!("{a} of {t} workloads"),
    };
    Some(
        Text::strong(leader.name.clone())
            .and(format!(" has the highest peak in {where_ahead}, "))
            .and_strong(range)
            .and(" over its nearest competitor."),
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
        [first, second, ..] => match compare::verdict(first.peak.ops, second.peak.ops) {
            Verdict::Leads(ratio) => (
                advantage(ratio),
                format!("{} over {}, ops/s at peak", first.system, second.system),
            ),
            Verdict::Tied => ("tie".to_owned(), "peaks lie within 3 %".to_owned()),
            Verdict::NoDifferenceShown => {
                ("no difference".to_owned(), "the repeats overlap".to_owned())
            }
        },
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
    }
}

/// How much was measured, how often, and whether anything qualifies it.
fn basis(data: &Data, sweep: &SweepTable<'_>) -> Text {
    let repeats = sweep.repeats();
    let runs = match repeats {
        0 => String::new(),
        1 => "One run a point: the differences have no known spread, so they are what was \
              measured and not yet a verdict. "
            .to_owned(),
        n => format!(
            "Each point is the median of up to {n} runs, with the lowest and the highest beside \
             it. "
        ),
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
    let findings = match Index::new(data).entries(data).len() {
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
