//! Which requests failed, and why.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text, findings::point_title, merge::is_imported,
};
use tailmark_model::{Fault, Phase, Point, RankedLatencies, number, quantile::P50};

pub const SECTION: Section = Section {
    name: "errors",
    title: "Errors",
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
    if rows.is_empty() && invalid(data).is_empty() {
        // What another program does not report may have happened.
        let is_known = data.systems.iter().any(|system| !is_imported(system));
        let none = Block::Text(Text::plain("No request failed."));
        return is_known.then_some(none).into_iter().collect();
    }
    let columns = vec![
        Column::text("Where"),
        Column::text("Request"),
        Column::text("Cause"),
        Column::number("Failed"),
        Column::number("Share").unit("%"),
        Column::number("Failed/s"),
        Column::number("Failed after, p50").unit("us"),
        Column::number("Failed after, max").unit("us"),
        Column::text("First message"),
    ];
    let table = Table {
        columns,
        rows,
        ..Table::default()
    };
    let mut blocks = Vec::new();
    let invalid = invalid(data);
    if !invalid.is_empty() {
        let again = if was_measured_here(data) {
            "; `tailmark run` with --retry-failed measures them again"
        } else {
            ""
        };
        let rule = format!(
            "Excluded from peaks and comparisons, because more than {} of the operations failed, the \
             database went away or nothing was found{again}:",
            data.allow_errors_text()
        );
        blocks.push(Block::Text(Text::plain(rule)));
        blocks.push(Block::Statements(invalid));
    }
    blocks.push(Block::Table(table));
    blocks
}

/// Whether any of the points that are not valid is no import.
fn was_measured_here(data: &Data) -> bool {
    let is_own = |name: &str| {
        let mut systems = data.systems.iter();
        systems.any(|system| system.name == name && !is_imported(system))
    };
    let mut points = data.points.iter();
    points.any(|point| data.fault(point).is_some() && is_own(&point.key.system))
}

/// The points that are not valid: how many of their operations succeeded and failed a second.
fn invalid(data: &Data) -> Vec<Text> {
    let points = data.points.iter();
    let invalid = points.filter_map(|point| Some((point, data.fault(point)?)));
    let line = |(point, fault): (&Point, Fault)| {
        let phase = &point.phase;
        let counts = format!(
            ", {} of {} operations; {} ops/s succeeded and {} ops/s failed.",
            number::count(phase.failed),
            number::count(phase.operations),
            number::rate(phase.ops_per_sec()),
            number::rate(phase.errors_per_sec())
        );
        let counts = if phase.failed > 0 { &counts } else { "." };
        Text::plain(format!("{}: ", point_title(point)))
            .and_strong(fault.to_string())
            .and(counts)
    };
    invalid.map(line).collect()
}

fn phase_rows(place: &str, phase: &Phase) -> Vec<TableRow> {
    phase
        .errors
        .iter()
        .map(|error| {
            let kind = phase.kinds.get(&error.kind);
            let sent = kind.map_or(0, |k| k.count + k.errors);
            // The latencies of failures are kept by kind of request, not by cause.
            let failed = kind.and_then(|k| k.failed.as_ref());
            let after = |ns: Option<f64>| {
                ns.map_or_else(Cell::none, |ns| {
                    Cell::new(number::latency(ns)).with_value(ns / 1e3)
                })
            };
            let middle = failed.and_then(|failed| RankedLatencies::new(failed).quantile(P50));
            let count = error.count as f64;
            let share = count / sent as f64;
            // Failures after the end are not kept by cause.
            let in_time = match phase.failed {
                // Requests of background clients alone.
                0 => 1.0,
                all => phase.failed_in_time() as f64 / all as f64,
            };
            let per_sec = count * in_time / phase.duration_s.max(1e-9);
            let cells = vec![
                Cell::new(place),
                Cell::new(error.kind.name()),
                Cell::new(&error.cause),
                Cell::new(number::count(error.count)).with_value(count),
                match sent {
                    0 => Cell::none(),
                    _ => Cell::new(number::share(share)).with_value(share * 100.0),
                },
                Cell::new(number::rate(per_sec)).with_value(per_sec),
                after(middle.map(|ns| ns.value)),
                after(failed.map(|failed| failed.max() as f64)),
                Cell::new(&error.example),
            ];
            TableRow {
                cells,
                total: false,
            }
        })
        .collect()
}
