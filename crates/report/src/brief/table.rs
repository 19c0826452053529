//! The table of a workload in a brief: each system at each thread count, and how the subject differs
//! from its nearest competitor.

use crate::{
    Cell, Column, Table, TableRow,
    axis::{Axis, Step},
    compare, section,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, System};
use tailmark_stats::Comparison;

/// The letters of a row at its widest with columns of differences beside three systems or more.
const LETTERS_MAX: usize = 112;
/// Those of a number with the room beside it.
const NUMBER: usize = 9;

/// Operations per second and the latency of each system at each thread count or rate; peaks in bold.
pub fn table<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Option<Table> {
    let systems = sweep
        .systems
        .iter()
        .filter(|system| group.has(&system.name));
    let systems: Vec<&System> = systems.copied().collect();
    let mut metrics = Vec::new();
    if group.axis == Axis::Threads {
        metrics.push(Metric::OPS_PER_SEC);
    }
    metrics.extend(sweep.metric(group));
    let title = |(a, b): &(&str, &str)| match (systems.len(), sweep.baseline()) {
        (2, _) => "difference".to_owned(),
        (_, Some(_)) => format!("{a} over {b}"),
        (_, None) => format!("over {b}"),
    };
    let pairs = compare::main_pairs(group, sweep);
    let pair = pairs.first().filter(|pair| {
        let names = systems.iter().map(|system| system.name.clone());
        let titles: Vec<String> = names.chain([title(pair)]).collect();
        systems.len() == 2 || letters(&titles) * metrics.len() + NUMBER <= LETTERS_MAX
    });
    let at = |step: Step, metric| sweep.comparisons.at(group, step, metric, *pair?);
    let mut columns = vec![Column::number(group.axis.title())];
    for metric in &metrics {
        let column = |name: &str| {
            let column = Column::number(name).unit(metric.row().unit);
            column.group(metric.row().title)
        };
        columns.extend(systems.iter().map(|system| column(&system.name)));
        columns.extend(pair.map(|pair| column(&title(pair))));
    }
    let steps = group.steps.iter();
    let all = steps.flat_map(|step| metrics.iter().filter_map(|metric| at(*step, *metric)));
    let all: Vec<Comparison> = all.collect();
    let comparisons = sweep.comparisons.beside(&all.iter().collect::<Vec<_>>());
    let row = |&step: &Step| {
        let mut cells = vec![Cell::new(step.label())];
        for &metric in &metrics {
            let (_, are_marked) = sweep.few_samples(group, metric);
            let values = systems.iter().map(|system| {
                let cell = value(group, system, metric, step);
                let is_valid = group.valid_cell(&system.name, step).is_some();
                Cell {
                    muted: cell.muted && (are_marked || !is_valid),
                    ..cell
                }
            });
            cells.extend(values);
            cells.extend(pair.map(|_| {
                let said = at(step, metric).map(|known| comparisons.improvement(&known));
                said.map_or_else(Cell::none, Cell::new)
            }));
        }
        TableRow {
            cells,
            total: false,
        }
    };
    (!group.steps.is_empty() && !metrics.is_empty()).then(|| Table {
        columns,
        rows: group.steps.iter().map(row).collect(),
        note: section::below_mean(group, sweep).unwrap_or_default(),
        ..Table::default()
    })
}

/// The width of columns with these titles, which break between words.
fn letters(titles: &[String]) -> usize {
    let widest = |title: &String| title.split(' ').map(|word| word.chars().count()).max();
    let widths = titles.iter().map(|title| widest(title).unwrap_or(0) + 2);
    widths.map(|width| width.max(NUMBER)).sum()
}

fn value<'a>(group: &WorkloadGrid<'a>, system: &'a System, metric: Metric, step: Step) -> Cell {
    let peak = group.peak(&system.name).map(|peak| peak.threads);
    let point = group.cell(&system.name, step);
    let known = point.and_then(|cell| Some((cell, cell.value(metric)?)));
    known.map_or_else(Cell::none, |(cell, value)| {
        let mut written = section::metric_cell(metric, value.middle);
        if metric.is_money() {
            let currency = &cell.points[0].phase.money.currency;
            written.text = metric.text_with_unit(value.middle, currency);
        }
        if cell.fault.is_some() {
            written.text = format!("({})", written.text);
        }
        Cell {
            strong: metric == Metric::OPS_PER_SEC && peak == Some(step.threads),
            muted: cell.fault.is_some() || !value.solid,
            ..written
        }
    })
}
