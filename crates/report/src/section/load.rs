//! The loads of the data sets.

use super::Section;
use crate::{Block, Cell, Column, Data, Table, TableRow, findings::Index};
use tailmark_model::{Kind, Load, Statistic, TimeBasis, number};

pub const SECTION: Section = Section {
    name: "load",
    title: "Load",
    render,
};

const STATISTICS: [Statistic; 3] = [Statistic::MEAN, Statistic::P99, Statistic::P999];

fn render(data: &Data) -> Vec<Block> {
    if data.loads.is_empty() {
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
    let rows = data.loads.iter().map(|load| row(load, &index)).collect();
    let note =
        "Bandwidth counts keys and values as written by clients, not bytes that reach the device.";
    vec![Block::Table(Table {
        columns,
        rows,
        note: note.into(),
        ..Table::default()
    })]
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
