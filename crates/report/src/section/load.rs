//! The loads of the data sets.

use super::Section;
use crate::{Block, Cell, Column, Data, Table, TableRow, findings::Index};
use tailmark_model::{Fact, Kind, Load, Statistic, TimeBasis, number};

pub const SECTION: Section = Section {
    name: "load",
    title: "Load",
    render,
};

const STATISTICS: [Statistic; 3] = [Statistic::MEAN, Statistic::P99, Statistic::P999];

fn render(data: &Data) -> Vec<Block> {
    let earlier = earlier(data);
    if data.loads.is_empty() && earlier.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("System"),
        Column::number("Records"),
        Column::number("Threads"),
        Column::number("Duration").unit("s"),
        Column::number("Records/s"),
        Column::number("Bandwidth").unit("MB/s"),
    ];
    let latency = |statistic: Statistic| {
        Column::number(statistic.name)
            .group("insert latency")
            .unit("us")
    };
    let columns = columns.into_iter().chain(STATISTICS.map(latency)).collect();
    let index = Index::new(data);
    let columns: Vec<Column> = columns;
    let rows = data.loads.iter().map(|load| row(load, &index));
    let rows = rows.chain(earlier.iter().map(|(system, when)| {
        let name = Cell::new(*system).with_detail(format!("loaded earlier, on {when}"));
        let others = columns[1..].iter().map(|_| Cell::none());
        TableRow {
            cells: std::iter::once(name).chain(others).collect(),
            total: false,
        }
    }));
    let rows = rows.collect();
    let note =
        "Bandwidth counts keys and values as written by clients, not bytes that reach the device.";
    vec![Block::Table(Table {
        columns,
        rows,
        note: note.into(),
        ..Table::default()
    })]
}

/// The systems whose data set an earlier run loaded, and when: `2026-11-30 08:19 UTC`.
pub fn earlier(data: &Data) -> Vec<(&str, String)> {
    let (group, name) = Fact::LOADED_EARLIER;
    let facts = data.facts.iter().filter_map(|fact| {
        let system = fact.system.as_deref()?;
        let is_loaded_here = data.loads.iter().any(|load| load.system == system);
        let is_it = (fact.group.as_str(), fact.name.as_str()) == (group, name);
        // `2026-11-30T08:19:12.979Z` to the minute.
        let when = fact.value.get(..16).unwrap_or(&fact.value);
        (is_it && !is_loaded_here).then(|| (system, when.replace('T', " ") + " UTC"))
    });
    facts.collect()
}

/// Names the systems whose data set an earlier run loaded, if this run loaded others:
/// `memory was loaded earlier, on 2026-11-30 08:19 UTC.`
pub fn earlier_in_words(data: &Data) -> Option<String> {
    let earlier = earlier(data);
    let sentences = earlier
        .iter()
        .map(|(system, when)| format!("The data set of {system} was loaded earlier, on {when}."));
    let sentences: Vec<String> = sentences.collect();
    (!data.loads.is_empty() && !sentences.is_empty()).then(|| sentences.join(" "))
}

fn row(load: &Load, index: &Index<'_>) -> TableRow {
    let phase = &load.phase;
    let inserts = phase.kinds.get(&Kind::Insert);
    let bandwidth = match inserts.and(phase.bandwidth().database) {
        Some(mb) if phase.duration_s > 0.0 => {
            Cell::new(format!("{}/s", number::bytes(mb * 1e6))).with_value(mb)
        }
        _ => Cell::none(),
    };
    let mut cells = vec![
        Cell {
            badges: index.badges(phase.findings.iter()),
            ..Cell::new(&load.system)
        },
        Cell::new(number::count(load.records)).with_value(load.records as f64),
        Cell::new(load.threads.to_string()),
        Cell::new(number::duration(phase.duration_s)).with_value(phase.duration_s),
        Cell::new(number::rate(phase.ops_per_sec())).with_value(phase.ops_per_sec()),
        bandwidth,
    ];
    let latency = |statistic: Statistic| {
        let ns = inserts.and_then(|kind| statistic.value(TimeBasis::Response.latencies(kind)));
        ns.map_or_else(Cell::none, |ns| {
            let cell = Cell::new(number::bounded_latency(ns));
            // A bound is no number.
            if ns.is_exact() {
                cell.with_value(ns.value / 1e3)
            } else {
                cell
            }
        })
    };
    cells.extend(STATISTICS.map(latency));
    TableRow {
        cells,
        total: false,
    }
}
