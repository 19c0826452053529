//! What a reader of the first page must know besides the figures: that no device was measured, under
//! which conditions the systems were not alike, and which figures rest on few samples. The details
//! are in the findings.

use crate::{
    Data, Text,
    axis::Step,
    compare::{self, ComparedAt},
    findings::{self, Index},
    grid_name::workload_title,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeSet;
use tailmark_model::{Fact, Metric, System, finding::TOO_FEW_SAMPLES, number};
use tailmark_stats::Inequality;

/// Conditions that the first page names.
const NAMED: usize = 3;
/// Longer values are in the table of conditions alone.
const VALUE_CHARS: usize = 24;

/// The remarks on the figures, the weightiest first.
pub fn remarks(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>) -> Vec<Text> {
    let all = [conditions(data, index), few_samples(sweep, index)];
    all.into_iter().flatten().collect()
}

/// That systems are simulated or their devices emulated: `new and old are on emulated devices, as fast
/// as the plan says.`
pub fn not_real(data: &Data, sweep: &SweepTable<'_>) -> Option<String> {
    let with = |is_it: &dyn Fn(&System) -> bool| -> Vec<&str> {
        let own = sweep.systems.iter().filter(|system| is_it(system));
        own.map(|system| system.name.as_str()).collect()
    };
    let simulated = with(&|system| system.driver == "sim");
    let answered = with(&|system| system.driver == "null");
    let emulated = with(&|system| is_emulated(data, &system.name));
    let said = [
        (
            &simulated,
            ["is", "are"],
            "simulated: the plan says how long a request takes",
        ),
        (
            &answered,
            ["is", "are"],
            "no database: every request is answered at once",
        ),
        (
            &emulated,
            ["is on an emulated device,", "are on emulated devices,"],
            "as fast as the plan says",
        ),
    ];
    let said = said.into_iter().filter(|(names, ..)| !names.is_empty());
    let sentences: Vec<String> = said
        .map(|(names, [one, several], what)| {
            let verb = if names.len() == 1 { one } else { several };
            format!("{} {verb} {what}.", number::list(names))
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn is_emulated(data: &Data, system: &str) -> bool {
    let mut facts = data.facts.iter();
    facts.any(|fact| {
        let is_own = fact.system.as_deref() == Some(system);
        is_own && fact.group == Fact::PREPARATION && fact.name == "emulate"
    })
}

/// What differs between the systems besides what is compared.
fn conditions(data: &Data, index: &Index<'_>) -> Option<Text> {
    let pairs = data.unequal_pairs();
    let first = pairs.first()?;
    let mut names: Vec<String> = Vec::new();
    let simulated = simulated(data);
    for pair in &pairs {
        // How long a simulated request takes is what is compared, as a device otherwise is.
        let is_compared = |one: &&Inequality| {
            let are_simulated = [pair.a, pair.b].iter().all(|name| simulated.contains(name));
            one.name != "model" || !are_simulated
        };
        let values = pairs.len() == 1;
        let named = pair.unequal.iter().filter(is_compared);
        for name in named.map(|one| in_words(one, values)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let who = match pairs.len() {
        1 => format!("{} and {}", first.a, first.b),
        _ => "the systems".to_owned(),
    };
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    names.extend((more > 0).then(|| format!("{more} more")));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let finding = findings::unequal_conditions(first);
    let text = Text::plain(format!("Besides what is compared, {who} differ in "));
    let text = text
        .and(number::list(&names))
        .and(", which may explain part of the results.");
    Some(text.and_badges(index.badges(std::iter::once(&finding))))
}

fn simulated(data: &Data) -> BTreeSet<&str> {
    let systems = data.systems.iter().filter(|system| system.driver == "sim");
    systems.map(|system| system.name.as_str()).collect()
}

/// `file system (ext4 against tmpfs)`.
fn in_words(unequal: &Inequality, with_values: bool) -> String {
    let name = name_in_words(&unequal.name);
    let is_short = |value: &&String| value.chars().count() <= VALUE_CHARS && !value.contains(',');
    let a = unequal.a.as_ref().filter(is_short);
    match a.zip(unequal.b.as_ref().filter(is_short)) {
        Some((a, b)) if with_values => format!("{name} ({a} against {b})"),
        _ => name,
    }
}

/// The name of a condition as a sentence has it.
fn name_in_words(name: &str) -> String {
    if let Some(workload) = name.strip_prefix("bytes a read of ") {
        return format!("bytes per read of {}", workload_title(workload));
    }
    let known = match name {
        "file system type" => "file system",
        "file system options" => "mount options",
        "driver" => "database",
        "preparation erase" => "how the device was erased",
        "preparation precondition" => "preconditioning",
        "preparation filesystem" => "how the file system was made",
        "preparation mount" => "how the file system was mounted",
        "preparation sysctls" => "kernel settings",
        _ => return name.replace(['_', '.'], " "),
    };
    known.to_owned()
}

/// Which of the compared latencies rest on few requests, or are not stated for want of them.
pub fn few_samples(sweep: &SweepTable<'_>, index: &Index<'_>) -> Option<Text> {
    if let Some(metric) = unknown_samples(sweep) {
        return Some(Text::plain(format!(
            "The import does not say how many requests there were, so it is unknown how much of the {} \
             is chance.",
            metric.noun()
        )));
    }
    // The workloads of the same systems and place in one clause.
    let mut few: Vec<(String, Vec<String>)> = Vec::new();
    let mut metric = None;
    for group in sweep.all_groups() {
        let (systems, step) = affected(group, sweep);
        let Some(step) = step.filter(|_| !systems.is_empty()) else {
            continue;
        };
        metric = metric.or(sweep.metric(group));
        let whose = format!("{} at {}", number::list(&systems), step.place());
        let title = group.title_with_conditions();
        match few.iter_mut().find(|(known, _)| *known == whose) {
            Some((_, titles)) => titles.push(title),
            None => few.push((whose, vec![title])),
        }
    }
    let clauses = few.iter().map(|(whose, titles)| {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        format!("{whose} in {}", compare::titles(&titles))
    });
    let text = Text::plain(format!(
        "Fewer than 100 requests of a run are beyond the {} of {}, so chance has a part in it.",
        metric?.noun(),
        clauses.collect::<Vec<_>>().join(", and of "),
    ));
    let finding = TOO_FEW_SAMPLES.finding("");
    Some(text.and_badges(index.badges(std::iter::once(&finding))))
}

/// The metric, if it is a quantile that was imported without its number of samples.
fn unknown_samples(sweep: &SweepTable<'_>) -> Option<Metric> {
    let mut unknown = sweep.all_groups().filter_map(|group| {
        let metric = sweep.metric(group)?;
        let systems = sweep.systems.iter();
        let mut cells = systems.flat_map(|system| group.cells_of(&system.name));
        let is_unknown = cells.any(|cell| cell.is_of_unknown_samples(metric));
        is_unknown.then_some(metric)
    });
    unknown.next()
}

/// The systems with few samples where a workload's metric is stated, and the place.
fn affected<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> (Vec<&'a str>, Option<Step>) {
    let spot = sweep.metric(group).and_then(|metric| {
        let spot = compare::where_stated(group, sweep, metric)?;
        Some((metric, spot))
    });
    let Some((metric, ComparedAt::Step(step))) = spot else {
        return (Vec::new(), None);
    };
    let systems = sweep.systems.iter().map(|system| system.name.as_str());
    let few = systems.filter(|name| {
        let cell = group.valid_cell(name, step);
        let value = cell.and_then(|cell| cell.value(metric));
        value.is_some_and(|value| !value.solid)
    });
    (few.collect(), Some(step))
}
