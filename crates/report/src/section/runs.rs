//! Every run separately.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    block::anchor,
    chart::runs,
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, PointName, START_ROWS, StartRow, number};

pub const SECTION: Section = Section {
    name: "runs",
    title: "Runs",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    if sweep.repeats() < 2 {
        return Vec::new();
    }
    let figures = sweep.all_groups().filter_map(|group| figure(group, &sweep));
    let starts = starts(data).into_iter().map(Block::Table);
    figures.map(Block::Figure).chain(starts).collect()
}

/// The state from which each run started, if it is known of any.
fn starts(data: &Data) -> Option<Table> {
    let points = data.points.iter().filter(|point| !point.key.is_peak());
    let known: Vec<_> = points
        .map(|point| (point, point.phase.start()))
        .filter(|(_, start)| !start.is_empty())
        .collect();
    let has = |row: &StartRow| {
        known
            .iter()
            .any(|(_, start)| start.value(row.name).is_some())
    };
    let shown: Vec<&StartRow> = START_ROWS.iter().filter(|row| has(row)).collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![
        Column::text("System"),
        Column::text("Point"),
        Column::number("Run"),
        Column::number("Ops/s"),
    ];
    columns.extend(shown.iter().map(|row| Column::number(row.title)));
    let rows = known.iter().map(|(point, start)| {
        let ops = point.phase.ops_per_sec();
        let mut cells = vec![
            Cell::new(&point.key.system),
            Cell::new(PointName::from(&point.key).to_string()),
            Cell::new(point.key.repeat.to_string()),
            Cell::new(number::rate(ops)).with_value(ops),
        ];
        cells.extend(shown.iter().map(|row| match start.value(row.name) {
            None => Cell::none(),
            Some(value) if row.is_bytes => Cell::new(number::bytes(value)).with_value(value),
            Some(value) => Cell::new(number::count(value.round() as u64)).with_value(value),
        }));
        TableRow {
            cells,
            total: false,
        }
    });
    Some(Table {
        caption: "The state from which each run started".into(),
        columns,
        rows: rows.collect(),
        note:
            "After waiting for background work, before the warm-up. Runs that are compared should \
               start alike."
                .into(),
    })
}

fn figure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Figure> {
    let metrics = std::iter::once(Metric::OPS_PER_SEC).chain(sweep.metric(group));
    let charts = metrics.filter_map(|metric| {
        let title = group.title_with_conditions();
        Some(Chart {
            title: format!("{title}: {} of each run", metric.row().title),
            hint: format!(
                "{} is better; one mark per run, repeats from left to right",
                compare::better(metric)
            ),
            about: format!("{} of every run of {title}, by system.", metric.row().title),
            height: 300,
            wide: false,
            base: runs::scatter(group, sweep, metric)?,
            variants: vec![serde_json::json!({})],
            plot: None,
        })
    });
    let charts: Vec<Chart> = charts.collect();
    (!charts.is_empty()).then(|| Figure {
        anchor: anchor(&["runs", &group.anchor]),
        controls: Vec::new(),
        charts,
    })
}
