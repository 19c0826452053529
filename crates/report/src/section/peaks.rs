//! The peaks of all workloads in one chart and one table.

use super::{Section, compared_table, workload::hint};
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    chart::bars,
    compare::{self, Outcome},
    compared::Comparisons,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::{Comparison, PointKey, System, number};

pub const SECTION: Section = Section {
    name: "peaks",
    title: "Peaks",
    about: "the highest ops/s of each system in each workload",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    if sweep.groups.is_empty() {
        return Vec::new();
    }
    let chart = Chart {
        title: "Peak operations per second by workload".into(),
        hint: hint("higher is better", &sweep),
        about: "Bars of the highest ops/s over all thread counts, by workload and system.".into(),
        height: 320,
        wide: true,
        base: bars::peaks(&sweep),
        variants: vec![serde_json::json!({})],
    };
    let figure = Figure {
        anchor: "peaks-chart".into(),
        controls: Vec::new(),
        charts: vec![chart],
    };
    vec![Block::Figure(figure), Block::Table(table(&sweep))]
}

fn table(sweep: &SweepTable<'_>) -> Table {
    let several = sweep.systems.len() > 1;
    let mut columns = vec![Column::text("Workload")];
    for system in &sweep.systems {
        columns.push(Column::number("peak ops/s").of(&system.name));
        columns.push(Column::number("at threads").of(&system.name));
    }
    if several {
        columns.push(Column::text("Highest"));
        columns.push(Column::number("Advantage"));
    }
    let rows = sweep
        .groups
        .iter()
        .map(|group| row(group, sweep, several))
        .collect();
    let note = if several {
        "The peak is the highest ops/s of a valid point over all thread counts, wherever each \
         system \
         has it. The advantage is that of the highest peak over the next."
    } else {
        "The peak is the highest ops/s of a valid point over all thread counts."
    };
    Table {
        caption: String::new(),
        columns,
        rows,
        note: note.into(),
    }
}

fn row<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>, several: bool) -> TableRow {
    let standings = compare::standings(group, &sweep.systems);
    let comparison = match standings.as_slice() {
        [first, second, ..] => sweep
            .comparisons
            .at_peak(group, (first.system, second.system)),
        _ => None,
    };
    let outcome = comparison.map(|of| (Outcome::of(&of, sweep.comparisons.band), of));
    // One run, or two that differ: the highest is in bold unless nothing shows that it is.
    let stands_out = outcome.as_ref().is_none_or(|(outcome, of)| {
        matches!(outcome, Outcome::Differ) || !compare::has_verdict(of)
    });
    let best = standings.first().map(|s| s.system);
    let mut cells = vec![Cell::new(group.title_with_conditions())];
    for system in &sweep.systems {
        let is_best = several && stands_out && best == Some(&*system.name);
        cells.extend(peak_cells(group, system, is_best));
    }
    if several {
        cells.extend(match outcome {
            None => [Cell::none(), Cell::none()],
            Some((outcome, of)) => advantage(outcome, &of, sweep.comparisons),
        });
    }
    TableRow {
        cells,
        total: false,
    }
}

/// Which of two is the highest, and by how much.
fn advantage(outcome: Outcome, of: &Comparison, comparisons: &Comparisons) -> [Cell; 2] {
    let highest = match outcome {
        Outcome::Differ => of.a.clone(),
        Outcome::Tied => "tie".to_owned(),
        Outcome::Equivalent => format!("equivalent ({})", compare::within(comparisons)),
        Outcome::NoDifferenceShown => of.verdict.name().to_owned(),
        Outcome::UnlikePeaks => "not comparable".to_owned(),
    };
    let ratio = Cell {
        muted: matches!(outcome, Outcome::NoDifferenceShown | Outcome::UnlikePeaks),
        text: format!("{:.2}X", of.ratio.value),
        detail: compare::gain_interval(of).unwrap_or_default(),
        ..compared_table::improvement(of, comparisons)
    };
    [Cell::new(highest), ratio]
}

fn peak_cells<'a>(group: &WorkloadGrid<'a>, system: &'a System, strong: bool) -> [Cell; 2] {
    match group.peak(&system.name) {
        None if group.has(&system.name) => {
            let none = Cell::none().with_detail("no valid point");
            [none, Cell::none()]
        }
        None => [Cell::none(), Cell::none()],
        Some(peak) => {
            let ops =
                Cell::new(number::rate(peak.ops.middle)).with_detail(peak.ops.range(number::rate));
            let threads = match peak.threads {
                PointKey::PEAK => Cell::none().with_detail("not known"),
                threads => Cell::new(threads.to_string()),
            };
            [Cell { strong, ..ops }, threads]
        }
    }
}
