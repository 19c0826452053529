//! What devices and machine did at each point: requests, waits and bytes at the device, processor time of
//! an operation. They say why a number is as it is.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text,
    block::anchor,
    grid_cell::GridCell,
    measure::Spread,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{DERIVED, Derived, READ_BYTES, System, number};

pub const SECTION: Section = Section {
    name: "machine",
    title: "Devices and machine",
    about: "what devices and processors did at each point: requests, waits, amplification, CPU",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    // Of studies that were merged nobody knows which data set a system has.
    let value_bytes = match &*data.headers {
        [header] => header.value_bytes(),
        _ => None,
    };
    let of_each = sweep.all_groups().filter_map(|group| {
        let heading = Block::Heading {
            anchor: anchor(&["machine", &group.anchor]),
            title: group.title_with_conditions(),
            about: group.conditions.clone(),
        };
        Some([heading, Block::Table(table(group, &sweep, value_bytes)?)])
    });
    let mut blocks: Vec<Block> = of_each.flatten().collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Text(about(&blocks)));
    }
    blocks
}

/// What each column that there is means.
fn about(blocks: &[Block]) -> Text {
    let is_shown = |row: &&Derived| {
        let mut tables = blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        tables.any(|table| table.columns.iter().any(|column| column.title == row.title))
    };
    let text = Text::plain(
        "Means over the measured part, of the samples that were taken of the machine meanwhile; a \
         device counts whatever is done to it.",
    );
    let shown = DERIVED.iter().filter(is_shown);
    shown.fold(text, |text, row| {
        text.and(" ")
            .and_strong(row.title)
            .and(format!(": {}.", row.about))
    })
}

/// None of a workload of which nothing was sampled.
fn table(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    value_bytes: Option<f64>,
) -> Option<Table> {
    let cells = || {
        let steps = group.steps.iter();
        let systems = || sweep.systems.iter().chain(&sweep.ceilings);
        let places = steps.flat_map(move |step| systems().map(move |system| (*step, *system)));
        places.filter_map(|(step, system)| Some((system, group.cell(&system.name, step)?)))
    };
    let figure = |cell: &GridCell<'_>, row: &Derived| spread(cell, row, value_bytes);
    let is_sampled = |row: &&Derived| row.name != READ_BYTES;
    let is_known = |row: &&Derived| cells().any(|(_, cell)| figure(cell, row).is_some());
    let shown: Vec<&Derived> = DERIVED.iter().filter(is_sampled).filter(is_known).collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("At"), Column::text("System")];
    columns.push(Column::number("ops/s").unit("ops/s"));
    columns.extend(
        shown
            .iter()
            .map(|row| Column::number(row.title).unit(row.unit)),
    );
    let rows = cells().map(|(system, cell)| self::row(system, cell, &shown, figure));
    Some(Table {
        columns,
        rows: rows.collect(),
        ..Table::default()
    })
}

fn row(
    system: &System,
    cell: &GridCell<'_>,
    shown: &[&Derived],
    figure: impl Fn(&GridCell<'_>, &Derived) -> Option<f64>,
) -> TableRow {
    let ops: Vec<f64> = cell
        .points
        .iter()
        .map(|of| of.phase.ops_per_sec())
        .collect();
    let ops = Spread::from_values(&ops)
        .map(|ops| Cell::new(number::rate(ops.middle)).with_value(ops.middle));
    let mut cells = vec![
        Cell::new(cell.step.place()),
        Cell::new(&system.name),
        ops.unwrap_or_else(Cell::none),
    ];
    let figure = |row: &&Derived| match figure(cell, row) {
        Some(value) => Cell::new(text(value, row.unit)).with_value(value),
        None => Cell::none(),
    };
    cells.extend(shown.iter().map(figure));
    for cell_of in &mut cells {
        cell_of.muted |= cell.fault.is_some();
    }
    TableRow {
        cells,
        total: false,
    }
}

/// The mean over the repeats of a point; none where one of them is not known.
fn spread(cell: &GridCell<'_>, row: &Derived, value_bytes: Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = cell
        .points
        .iter()
        .map(|of| (row.of)(&of.phase, value_bytes))
        .collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Three digits; bytes with their unit.
fn text(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => number::bytes(value),
        _ if value >= 100.0 => number::count(value.round() as u64),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
