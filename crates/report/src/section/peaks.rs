//! The peaks of all workloads in one chart and one table.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    chart::bars,
    compare::{self, Verdict},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_results::{System, number};

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
        hint: "higher is better".into(),
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
    let best = standings.first().map(|s| s.system);
    let mut cells = vec![Cell::new(group.title_with_conditions())];
    for system in &sweep.systems {
        cells.extend(peak_cells(
            group,
            system,
            several && best == Some(&*system.name),
        ));
    }
    if several {
        match standings.as_slice() {
            [first, second, ..] => {
                let (name, advantage) = match compare::verdict(first.peak.ops, second.peak.ops) {
                    Verdict::Leads(ratio) => (first.system, format!("{ratio:.2}X")),
                    Verdict::Tied => (
                        "tie",
                        format!("{:.2}X", first.peak.ops.middle / second.peak.ops.middle),
                    ),
                    Verdict::NoDifferenceShown => ("no difference shown", "–".to_owned()),
                };
                cells.extend([Cell::new(name), Cell::new(advantage)]);
            }
            _ => cells.extend([Cell::none(), Cell::none()]),
        }
    }
    TableRow {
        cells,
        total: false,
    }
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
            [Cell { strong, ..ops }, Cell::new(peak.threads.to_string())]
        }
    }
}
