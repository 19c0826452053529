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
            let sent = phase
                .kinds
                .get(&error.kind)
                .map_or(0, |k| k.count + k.errors);
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
                &error.example,
            ];
            Row {
                cells: cells.map(Cell::new).into(),
                total: false,
            }
        })
        .collect()
}
