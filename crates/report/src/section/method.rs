//! How it was tested: everything needed to repeat it.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text, author, block::anchor, compare, measure,
    merge::is_imported, sweep::SweepTable,
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Fact, Header, System, Words, number};
use tailmark_stats::statistics;

pub const SECTION: Section = Section {
    name: "method",
    title: "How we tested",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let mut blocks = author::words(data, Words::Notes);
    blocks.extend([
        Block::Text(definitions(data)),
        heading("systems", "Systems under test"),
        Block::Table(systems(data)),
    ]);
    let machine = machine(data);
    if !machine.rows.is_empty() {
        blocks.extend([heading("machine", "Machine"), Block::Table(machine)]);
    }
    for header in &data.headers {
        if header.plan.is_empty() && header.source.is_empty() {
            continue;
        }
        let title = match data.headers.len() {
            1 => "Plan".to_owned(),
            _ => format!("Plan: {}", header.title),
        };
        blocks.push(Block::Heading {
            anchor: anchor(&["method", &title]),
            title,
            about: format!(
                "tailmark {}, begun {}",
                header.tailmark,
                number::instant(header.created_ms)
            ),
        });
        if !header.plan.is_empty() {
            blocks.push(Block::Table(plan(header)));
        }
        if !header.source.is_empty() {
            blocks.push(Block::Source {
                title: "The plan file".to_owned(),
                text: header.source.clone(),
            });
        }
    }
    blocks
}

fn heading(name: &str, title: &str) -> Block {
    Block::Heading {
        anchor: anchor(&["method", name]),
        title: title.into(),
        about: String::new(),
    }
}

fn definitions(data: &Data) -> Text {
    let sweep = SweepTable::new(data);
    let are_imported = !data.systems.is_empty() && data.systems.iter().all(is_imported);
    let text = if are_imported {
        "Threads are clients with one operation in flight each. The values are those of the import: how \
         they were measured, and which operations they leave out, it does not say. "
    } else {
        "Threads are clients with one operation in flight each. A latency at a quality of \
         service q over n samples is the k-th highest of them, k = n(1 − q) rounded down and at \
         least 1. It is omitted if fewer than 10 samples lie beyond it. A read-modify-write counts \
         as one operation in ops/s and is recorded as a read, an update and the pair; it fails if \
         either half does. Ops/s count successful operations; in latencies, a failed request ranks \
         above every success. "
    };
    let valid = format!(
        "A point is marked and excluded from peaks and comparisons if more than {} of its operations \
         failed (sweep.allow_errors), its database went away, or it found nothing. ",
        data.allow_errors_text()
    );
    let has_faults = data.points.iter().any(|point| data.fault(point).is_some());
    let valid = if are_imported && !has_faults {
        String::new()
    } else {
        valid
    };
    let merged = match measure::ends(sweep.repeats()) {
        "" => String::new(),
        ends => format!(
            "Values over runs are geometric means (arithmetic ones if a run has 0), with {ends}; error \
             bars in charts show the same. "
        ),
    };
    let compared = if sweep.systems.len() > 1 {
        "Improvements at equal threads are a / b − 1 for ops/s and 1 − a / b for latency. The \
         average improvement is their arithmetic mean, which depends on which system is a; the \
         geometric mean of the ratios, which sentences state beside it, does not. Where the two \
         disagree on which system is better, the first page and tables state the geometric mean. "
    } else {
        ""
    };
    let text = Text::plain(text).and(valid).and(merged);
    text.and(compared).and(verdicts(&sweep, are_imported))
}

/// How differences are tested; of an import whose runs are too few for that, that they are not.
fn verdicts(sweep: &SweepTable<'_>, are_imported: bool) -> String {
    if sweep.comparisons.is_empty() {
        return String::new();
    }
    if are_imported && !sweep.comparisons.has_verdicts() {
        let why = sweep.comparisons.without_verdicts(sweep.repeats());
        return why.unwrap_or_default();
    }
    let looks = if sweep.comparisons.until_decided.is_some() {
        " Repeats ended once verdicts were reached; p and intervals allow for looking after each \
         repeat (limits of Wang and Tsiatis)."
    } else {
        ""
    };
    format!(
        "The unit of a comparison is a run. With {} runs or more on both sides, the logarithms of \
         their values are compared: by Welch's t; if systems took turns, by least squares with a \
         linear trend (the ratio is then free of the drift that the means have); and at peaks, by \
         an interval that holds for all thread counts that may be the peak. The verdict is better \
         or worse if p, adjusted (Holm) over all points or all peaks of a metric, is below 0.05 \
         and the ratio is not {}. It is equivalent if the whole 95 % interval of the ratio is. \
         Otherwise, no difference is shown; one whose interval excludes 1 is not significant.{looks}",
        statistics::RUNS_MIN,
        compare::within(sweep.comparisons),
    )
}

/// One column for each system. Differences between compared systems are in bold.
fn systems(data: &Data) -> Table {
    let mut columns = vec![Column::text("")];
    columns.extend(data.systems.iter().map(|s| Column::text(&s.name)));
    let compared = data
        .systems
        .iter()
        .map(|s| s.ceiling_for.is_none())
        .collect();
    let mut rows = Rows {
        compared,
        rows: Vec::new(),
    };
    let each = |value: fn(&System) -> Option<String>| -> Vec<Option<String>> {
        data.systems.iter().map(value).collect()
    };
    rows.push("driver", &each(|s| Some(s.driver.clone())));
    // Of what another program did, neither is known.
    let own = |s: &System, value: &str| {
        let is_known = !is_imported(s) && !value.is_empty();
        is_known.then(|| value.to_owned())
    };
    let places = data.systems.iter().map(|s| own(s, &s.place));
    rows.push("place", &places.collect::<Vec<_>>());
    let semantics = data.systems.iter().map(|s| own(s, &s.semantics));
    rows.push("semantics", &semantics.collect::<Vec<_>>());
    rows.push("ceiling of", &each(|s| s.ceiling_for.clone()));
    for (group, name) in fact_names(data) {
        let values: Vec<Option<String>> = data
            .systems
            .iter()
            .map(|system| fact(&data.facts, &system.name, &group, &name))
            .collect();
        // Such a fact is named after a file or its contents.
        if [Fact::IMPORTED, Fact::IMPORTED_CONTENTS].contains(&group.as_str()) {
            let named = values
                .iter()
                .map(|value| value.as_ref().map(|_| name.clone()));
            rows.push(&group, &named.collect::<Vec<_>>());
        } else {
            rows.push(&format!("{group}: {name}"), &values);
        }
    }
    let settings: BTreeSet<&String> = data
        .systems
        .iter()
        .flat_map(|s| s.settings.keys())
        .collect();
    for name in settings {
        let values: Vec<Option<String>> = data
            .systems
            .iter()
            .map(|s| s.settings.get(name).cloned())
            .collect();
        rows.push(&format!("setting: {name}"), &values);
    }
    Table {
        columns,
        rows: rows.rows,
        note: "Differences between the compared systems are in bold.".into(),
        ..Table::default()
    }
}

struct Rows {
    /// Which columns are compared with each other.
    compared: Vec<bool>,
    rows: Vec<TableRow>,
}

impl Rows {
    fn push(&mut self, name: &str, values: &[Option<String>]) {
        if values.iter().all(Option::is_none) {
            return;
        }
        let all = values.iter().zip(&self.compared);
        let compared = all.clone().filter(|(_, is_compared)| **is_compared);
        let differ = compared
            .map(|(value, _)| value)
            .collect::<BTreeSet<_>>()
            .len()
            > 1;
        let cells = all.map(|(value, is_compared)| match value {
            None => Cell::none(),
            Some(text) => Cell {
                strong: differ && *is_compared,
                ..Cell::new(text)
            },
        });
        let cells = std::iter::once(Cell::new(name)).chain(cells).collect();
        self.rows.push(TableRow {
            cells,
            total: false,
        });
    }
}

/// Groups and names of facts of systems, in order of appearance.
fn fact_names(data: &Data) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for fact in data.facts.iter().filter(|f| f.system.is_some()) {
        let name = (fact.group.clone(), fact.name.clone());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let order: BTreeMap<String, usize> = names
        .iter()
        .rev()
        .enumerate()
        .map(|(i, (group, _))| (group.clone(), i))
        .collect();
    names.sort_by_key(|(group, _)| std::cmp::Reverse(order[group]));
    names
}

fn fact(facts: &[Fact], system: &str, group: &str, name: &str) -> Option<String> {
    let own = facts.iter().filter(|f| f.system.as_deref() == Some(system));
    let own = own.filter(|f| f.group == group && f.name == name);
    let values: Vec<&str> = own.map(|f| f.value.as_str()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn machine(data: &Data) -> Table {
    let mut groups: Vec<&str> = Vec::new();
    let facts = data.facts.iter().filter(|f| f.system.is_none());
    // That tailmark made the study's folder says nothing of the machine.
    let facts: Vec<&Fact> = facts.filter(|f| f.group != "run directory").collect();
    for fact in &facts {
        if !groups.contains(&fact.group.as_str()) {
            groups.push(&fact.group);
        }
    }
    let rows = groups
        .iter()
        .flat_map(|group| {
            let of_group = facts.iter().filter(move |f| f.group == *group);
            of_group.enumerate().map(|(i, f)| {
                let head = if i == 0 { f.group.as_str() } else { "" };
                TableRow {
                    cells: [head, &f.name, &f.value].map(Cell::new).into(),
                    total: false,
                }
            })
        })
        .collect();
    let columns = ["Part", "Fact", "Value"].map(Column::text).into();
    Table {
        columns,
        rows,
        ..Table::default()
    }
}

fn plan(header: &Header) -> Table {
    let rows = header
        .plan
        .iter()
        .map(|(key, given)| {
            let value = Cell::new(&given.value);
            let assumed = header.assumed.contains(key);
            let value = if assumed {
                value.with_detail("assumed: the study does not say")
            } else {
                value
            };
            TableRow {
                cells: vec![Cell::new(key), value],
                total: false,
            }
        })
        .collect();
    let columns = ["Key", "Value"].map(Column::text).into();
    Table {
        columns,
        rows,
        ..Table::default()
    }
}
