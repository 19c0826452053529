//! The report's latency, for all workloads in one table.

use super::{Section, compared_table, improvements};
use crate::{
    Block, Cell, Column, Data, Table, TableRow,
    compare::{self, ComparedAt},
    sweep::{SweepTable, WorkloadGrid},
};

pub const SECTION: Section = Section {
    name: "latency",
    title: "Latency",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let groups = sweep.all_groups();
    let rows: Vec<TableRow> = groups.filter_map(|group| row(group, &sweep)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let names = ["Workload", "Latency", "At"].map(Column::text);
    let systems = sweep.systems.iter();
    let values = systems.map(|system| Column::number(&system.name).unit("us"));
    let columns = names.into_iter().chain(values);
    let columns = columns.chain(improvements::columns(&sweep, ["Lower", "Lowest"]));
    vec![Block::Table(Table {
        columns: columns.collect(),
        rows,
        note:
            "At the highest thread count or rate at which every system has a comparable point, or \
               else at least two have. At a rate, latency is response time."
                .to_owned(),
        ..Table::default()
    })]
}

/// None of a workload without latencies.
fn row<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Option<TableRow> {
    let metric = sweep.latency_metric(group)?;
    let alone = || group.steps.last().copied();
    let step = compare::last_common(group, sweep, metric).or_else(alone)?;
    let spot = ComparedAt::Step(step);
    let ranked = compare::ranked(group, sweep, spot, metric);
    if ranked.is_empty() {
        return None;
    }
    let value = |name: &'a str| {
        let value = group.valid_cell(name, step)?.value(metric)?;
        Some(compared_table::measured(metric, value))
    };
    let names = [
        group.title_with_conditions(),
        metric.to_string(),
        step.place(),
    ];
    let values = sweep.systems.iter().map(|system| value(&system.name));
    let values = values.map(|cell| cell.unwrap_or_else(Cell::none));
    let at = |pair: (&str, &str)| compare::at(group, sweep, spot, metric, pair);
    let cells = names.map(Cell::new).into_iter().chain(values);
    Some(TableRow {
        cells: cells
            .chain(improvements::cells(sweep, &ranked, at))
            .collect(),
        total: false,
    })
}
