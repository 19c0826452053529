//! The loads of the data sets.

use super::Section;
use crate::{Block, Cell, Column, Data, Table, TableRow, findings::Index};
use tailmark_results::{Kind, Load, Statistic, TimeBasis, number};

pub const SECTION: Section = Section {
    name: "load",
    title: "Load",
    about: "how the data sets were loaded, and how fast",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    if data.loads.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("System"),
        Column::number("Records"),
        Column::number("Threads"),
        Column::number("Duration"),
        Column::number("Records/s"),
        Column::number("Bandwidth"),
        Column::number("mean").of("insert latency"),
        Column::number("p99").of("insert latency"),
        Column::number("p99.9").of("insert latency"),
    ];
    let index = Index::new(data);
    let rows = data.loads.iter().map(|load| row(load, &index)).collect();
    let note =
        "Bandwidth counts keys and values as the user gives them, not what reaches the device.";
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
    let bandwidth = match inserts {
        Some(_) if phase.duration_s > 0.0 => Cell::new(format!(
            "{}/s",
            number::bytes(phase.bandwidth().database * 1e6)
        )),
        _ => Cell::none(),
    };
    let mut cells = vec![
        Cell {
            badges: index.badges(phase.findings.iter()),
            ..Cell::new(&load.system)
        },
        Cell::new(number::count(load.records)),
        Cell::new(load.threads.to_string()),
        Cell::new(number::duration(phase.duration_s)),
        Cell::new(number::rate(phase.ops_per_sec())),
        bandwidth,
    ];
    for measure in [Statistic::MEAN, Statistic::P99, Statistic::P999] {
        let value = inserts.and_then(|kind| measure.of(TimeBasis::Response.of(kind)));
        cells.push(value.map_or_else(Cell::none, |ns| Cell::new(number::stated_latency(ns))));
    }
    TableRow {
        cells,
        total: false,
    }
}
