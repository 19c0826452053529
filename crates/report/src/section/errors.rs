//! Which requests failed, and why.

use super::Section;
use crate::{Block, Cell, Column, Data, Row, Table, Text, findings::point_title, number};
use tailmark_results::Phase;

pub const SECTION: Section = Section {
    name: "errors",
    title: "Errors",
    about: "failed requests by cause",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let mut rows = Vec::new();
    for load in &data.loads {
        rows.extend(phase_rows(&format!("{}, load", load.system), &load.phase));
    }
    for point in &data.points {
        rows.extend(phase_rows(&point_title(point), &point.phase));
    }
    if rows.is_empty() {
        return vec![Block::Text(Text::plain("No request failed."))];
    }
    let columns = vec![
        Column::text("Where"),
        Column::text("Request"),
        Column::text("Cause"),
        Column::number("Failed"),
        Column::number("Share"),
        Column::number("Failed after, p50"),
        Column::number("Failed after, max"),
        Column::text("First message"),
    ];
    vec![Block::Table(Table {
        columns,
        rows,
        ..Table::default()
    })]
}

fn phase_rows(place: &str, phase: &Phase) -> Vec<Row> {
    phase
        .errors
        .iter()
        .map(|error| {
            let kind = phase.kinds.get(&error.kind);
            let sent = kind.map_or(0, |k| k.count + k.errors);
            // The latencies of failures are kept by kind of request, not by cause.
            let failed = kind.and_then(|k| k.failed.as_ref());
            let after = |ns: Option<u64>| ns.map_or("–".into(), |ns| number::latency(ns as f64));
            let share = if sent > 0 {
                number::share(error.count as f64 / sent as f64)
            } else {
                "–".into()
            };
            let cells = [
                place,
                error.kind.name(),
                &error.cause,
                &number::count(error.count),
                &share,
                &after(failed.map(|failed| failed.value_at_quantile(0.5))),
                &after(failed.map(|failed| failed.max())),
                &error.example,
            ];
            Row {
                cells: cells.map(Cell::new).into(),
                total: false,
            }
        })
        .collect()
}
