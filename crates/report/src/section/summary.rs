//! The summary: who leads, by how much, and the basis of the numbers.

use super::{FixedTopic, Section, cards::card, fixed_topics, load, remarks};
use crate::{
    Block, Data, Text, author, compare, findings::Index, grid_name::workload_title, headline,
    measure, sweep::SweepTable,
};
use std::collections::BTreeSet;
use tailmark_model::{Metric, Point, Words, finding::LENGTH_UNKNOWN, number};

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
    let quiet = quiet.chain(remarks::not_real(data, &sweep));
    let quiet: Vec<String> = quiet.chain(load::earlier_in_words(data)).collect();
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
        format!(
            "Values {places} are interpolated between measured points, as the curves are drawn."
        )
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
