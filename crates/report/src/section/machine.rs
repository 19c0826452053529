//! Devices and machine at each point: requests, waits and bytes at the device, processor time per
//! operation. They explain the numbers.

use super::{Section, compared_table::metric_cell};
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text,
    block::anchor,
    grid_cell::GridCell,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, Metric, READ_BYTES, System, number};

pub const SECTION: Section = Section {
    name: "machine",
    title: "Devices and machine",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let of_each = sweep.all_groups().filter_map(|group| {
        let heading = Block::Heading {
            anchor: anchor(&["machine", &group.anchor]),
            title: group.title_with_conditions(),
            about: group.conditions.clone(),
        };
        Some([heading, Block::Table(table(group, &sweep)?)])
    });
    let mut blocks: Vec<Block> = of_each.flatten().collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Text(about(&blocks)));
    }
    blocks
}

/// What each column that there is means.
fn about(blocks: &[Block]) -> Text {
    let is_shown = |metric: &Metric| {
        let title = title(*metric);
        let mut tables = blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        tables.any(|table| table.columns.iter().any(|column| column.title == title))
    };
    let text = Text::plain(
        "Means of the samples taken during the measured part. A device counts all requests to it, \
         whoever makes them.",
    );
    let shown = Metric::figures().filter(is_shown);
    shown.fold(text, |text, metric| {
        let about = format!(": {}.", metric.row().about);
        text.and(" ").and_strong(title(metric)).and(about)
    })
}

/// Over a column: with the unit, but that of bytes, which stands in each cell.
fn title(metric: Metric) -> String {
    let row = metric.row();
    match row.unit {
        "us" | "%" => format!("{}, {}", row.title, row.unit),
        _ => row.title.to_owned(),
    }
}

/// How figures of several runs are combined.
const MEANS: &str = "With several runs, metrics that are compared are geometric means, or \
                     arithmetic means if one of the runs has 0. The others (requests, queues, \
                     processors) are arithmetic means.";

/// `None` for a workload without samples.
fn table(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Table> {
    let cells = || {
        let steps = group.steps.iter();
        let systems = || sweep.systems.iter().chain(&sweep.ceilings);
        let places = steps.flat_map(move |step| systems().map(move |system| (*step, *system)));
        places.filter_map(|(step, system)| Some((system, group.cell(&system.name, step)?)))
    };
    let is_sampled = |metric: &Metric| metric.row().name != READ_BYTES && !metric.is_cost();
    let is_known = |metric: &Metric| cells().any(|(_, cell)| mean(cell, *metric).is_some());
    let shown: Vec<Metric> = Metric::figures()
        .filter(is_sampled)
        .filter(is_known)
        .collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("At"), Column::text("System")];
    columns.push(Column::number("ops/s").unit("ops/s"));
    columns.extend(
        shown
            .iter()
            .map(|metric| Column::number(title(*metric)).unit(metric.row().unit)),
    );
    let rows = cells().map(|(system, cell)| row(system, cell, &shown));
    Some(Table {
        columns,
        rows: rows.collect(),
        note: if cells().any(|(_, cell)| cell.points.len() > 1) {
            MEANS.to_owned()
        } else {
            String::new()
        },
        ..Table::default()
    })
}

fn row(system: &System, cell: &GridCell<'_>, shown: &[Metric]) -> TableRow {
    let ops = cell
        .ops()
        .map(|ops| Cell::new(number::rate(ops.middle)).with_value(ops.middle));
    let mut cells = vec![
        Cell::new(cell.step.place()),
        Cell::new(&system.name),
        ops.unwrap_or_else(Cell::none),
    ];
    let figure = |metric: &Metric| match mean(cell, *metric) {
        Some(value) => metric_cell(*metric, value),
        None => Cell::none(),
    };
    cells.extend(shown.iter().map(figure));
    for cell_of in &mut cells {
        cell_of.muted |= cell.fault.is_some();
        cell_of.fault = cell.fault_text().unwrap_or_default();
    }
    TableRow {
        cells,
        total: false,
    }
}

/// The mean over the repeats of a point; for compared metrics the geometric mean, as everywhere.
/// `None` if it is unknown for one of them.
pub(super) fn mean(cell: &GridCell<'_>, metric: Metric) -> Option<Bounded> {
    if metric.ranks() {
        return cell.value(metric).map(|measured| measured.middle);
    }
    let values = cell.points.iter().map(|point| metric.value(&point.phase));
    Bounded::mean(&values.collect::<Option<Vec<_>>>()?)
}
