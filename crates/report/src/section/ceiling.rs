//! What share of the device's capability each database achieves.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text,
    findings::Index,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, System, number};

pub const SECTION: Section = Section {
    name: "ceilings",
    title: "Share of the device ceiling",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let pairs: Vec<(&System, &System)> = sweep
        .ceilings
        .iter()
        .filter_map(|ceiling| {
            let name = ceiling.ceiling_for.as_deref()?;
            Some((*sweep.systems.iter().find(|s| s.name == name)?, *ceiling))
        })
        .collect();
    if pairs.is_empty() || sweep.groups.is_empty() {
        return Vec::new();
    }
    let text = Text::plain(
        "The ceiling is the same workload on the same device without a database: records in fixed \
         places, read and written directly. Compaction, logs and reads of whole blocks keep a \
         database below 100 %; its caches can lift it above.",
    );
    vec![
        Block::Text(text),
        Block::Table(table(&sweep, &pairs, &index)),
    ]
}

fn table<'a>(
    sweep: &SweepTable<'a>,
    pairs: &[(&'a System, &'a System)],
    index: &Index<'_>,
) -> Table {
    let mut columns = vec![Column::text("Workload")];
    for (system, ceiling) in pairs {
        columns.push(
            Column::number("peak ops/s")
                .unit("ops/s")
                .group(&system.name),
        );
        columns.push(
            Column::number(&ceiling.name)
                .unit("ops/s")
                .group(&system.name),
        );
        columns.push(Column::number("share").unit("%").group(&system.name));
    }
    let rows = sweep
        .groups
        .iter()
        .map(|group| {
            let title = Cell::new(group.title_with_conditions());
            let shares = pairs
                .iter()
                .flat_map(|(system, ceiling)| cells(group, (system, ceiling), index));
            TableRow {
                cells: std::iter::once(title).chain(shares).collect(),
                total: false,
            }
        })
        .collect();
    Table {
        columns,
        rows,
        ..Table::default()
    }
}

fn cells<'a>(
    group: &WorkloadGrid<'a>,
    (system, ceiling): (&'a System, &'a System),
    index: &Index<'_>,
) -> [Cell; 3] {
    let rate = |own: &'a System| match group.peak(&own.name) {
        None => (None, Cell::none()),
        Some(peak) => {
            let at_peak = group.cells_of(&own.name);
            let at_peak = at_peak.filter(|cell| cell.step.threads == peak.threads);
            let cell = Cell {
                badges: index.headline_badges(at_peak.flat_map(|cell| cell.points.iter().copied())),
                ..Cell::new(peak.text()).with_bounded(peak.bounded())
            };
            (Some(peak.bounded()), cell)
        }
    };
    let ((own, own_cell), (highest, highest_cell)) = (rate(system), rate(ceiling));
    // Two bounds make no share.
    let part = |(peak, most): (Bounded, Bounded)| {
        let bound = peak.bound.and(most.bound.reversed())?;
        let value = peak.value / most.value;
        (most.value > 0.0).then_some(Bounded { value, bound })
    };
    let share = own.zip(highest).and_then(part);
    let share = share.map_or_else(Cell::none, |known| {
        let value = known.value * 100.0;
        Cell {
            strong: true,
            ..Cell::new(number::bounded_share(known)).with_bounded(Bounded { value, ..known })
        }
    });
    [own_cell, highest_cell, share]
}
