//! The peaks of all workloads in one chart and one table.

use super::{Section, improvements, workload::hint};
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    chart::bars,
    compare::{self, ComparedAt, Lead},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, PointKey, System, number};
use tailmark_stats::statistics::RUNS_MIN;

pub const SECTION: Section = Section {
    name: "peaks",
    title: "Peaks",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let Some(chart) = chart(&sweep) else {
        return Vec::new();
    };
    let figure = Figure {
        anchor: "peaks-chart".into(),
        controls: Vec::new(),
        charts: vec![chart],
    };
    vec![Block::Figure(figure), Block::Table(table(&sweep))]
}

/// Bars of the peaks of all workloads. `None` if there are none, because at a fixed rate the
/// offered rate is the limit.
pub fn chart(sweep: &SweepTable<'_>) -> Option<Chart> {
    if !sweep.groups.iter().any(WorkloadGrid::has_peaks) {
        return None;
    }
    let (base, plot) = bars::peaks(sweep);
    Some(Chart {
        title: "Peak operations per second by workload".into(),
        hint: hint("higher is better", sweep) + corrected(sweep),
        about: "Bars of the highest ops/s over all thread counts, by workload and system.".into(),
        height: 320,
        wide: true,
        base,
        variants: vec![serde_json::json!({})],
        plot: Some(plot),
    })
}

fn table(sweep: &SweepTable<'_>) -> Table {
    let mut columns = vec![Column::text("Workload")];
    for system in &sweep.systems {
        let column = |title: &str| Column::number(title).group(&system.name);
        columns.extend([column("peak ops/s").unit("ops/s"), column("at threads")]);
    }
    columns.extend(improvements::columns(sweep, ["Higher", "Highest"]));
    let mut note =
        "The peak of a system is its highest ops/s over all thread counts, of valid points."
            .to_owned();
    let is_cross_validated = sweep.repeats() >= RUNS_MIN;
    note.push_str(if is_cross_validated {
        " In each repeat, the thread count of the peak is chosen by the other repeats, so that \
         chance does not inflate the peak. It may be below the mean at its thread count."
    } else {
        " Of several thread counts the highest is too high by chance: four repeats or more avoid \
         this bias."
    });
    if sweep.has_peaks_at_least() {
        note.push_str(" ≥ means at least: the clients were the limit there.");
    }
    if let Some(common) = compare::about_common(sweep) {
        note.push(' ');
        note.push_str(common);
    }
    let groups = sweep.groups.iter().filter(|group| group.has_peaks());
    Table {
        columns,
        rows: groups.map(|group| row(group, sweep)).collect(),
        note,
        ..Table::default()
    }
}

/// The same in a few columns, for a brief: each peak with its thread count, and the improvements.
pub fn short_table(sweep: &SweepTable<'_>) -> Table {
    let long = table(sweep);
    // Of the long table, two columns of each system become one, and the best is in bold alone.
    let systems = 1 + 2 * sweep.systems.len();
    let improvements = (systems + 1).min(long.columns.len());
    let mut columns = vec![Column::text("Workload")];
    let title = "peak ops/s at threads";
    let names = sweep.systems.iter().map(|system| &system.name);
    columns.extend(names.map(|name| Column::number(name).unit("ops/s").group(title)));
    // A name is never split between two lines.
    let of_systems = long.columns[improvements..].iter().cloned();
    columns.extend(of_systems.map(|column| Column {
        title: match column.title.split_once("over ") {
            Some((before, name)) => format!("{before}over {}", name.replace(' ', "\u{a0}")),
            None => column.title,
        },
        ..column
    }));
    let row = |row: &TableRow| {
        let mut cells = vec![row.cells[0].clone()];
        let peaks = row.cells[1..systems].chunks(2);
        cells.extend(peaks.map(|peak| {
            let (ops, threads) = (&peak[0], &peak[1]);
            let text = match threads.text.parse::<u32>() {
                Ok(_) => format!("{} at {}", ops.text, threads.text),
                Err(_) => ops.text.clone(),
            };
            Cell {
                text,
                ..ops.clone()
            }
        }));
        cells.extend_from_slice(&row.cells[improvements..]);
        TableRow {
            cells,
            total: false,
        }
    };
    Table {
        columns,
        rows: long.rows.iter().map(row).collect(),
        ..Table::default()
    }
}

/// That some peaks are below the means in the tables of the workloads; empty if none is.
fn corrected(sweep: &SweepTable<'_>) -> &'static str {
    let mut groups = sweep.groups.iter().filter(|group| group.has_peaks());
    let is_any = groups.any(|group| {
        let mut systems = sweep.systems.iter();
        systems.any(|system| group.mean_above_peak(&system.name).is_some())
    });
    if is_any {
        "; peaks are corrected for being chosen as the highest"
    } else {
        ""
    }
}

/// The peaks that are below the mean at their thread count, if some are: a sentence beside the table
/// that has the means.
pub fn below_mean(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<String> {
    let peaks = sweep.systems.iter().filter_map(|system| {
        group.mean_above_peak(&system.name)?;
        Some((&*system.name, group.peak(&system.name)?.text()))
    });
    let peaks: Vec<(&str, String)> = peaks.collect();
    let said = peaks.iter().map(|(name, peak)| format!("{peak} ({name})"));
    let said: Vec<String> = said.collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let verb = match said.len() {
        0 => return None,
        1 => "peak is",
        _ => "peaks are",
    };
    Some(format!(
        "Corrected for being chosen as the highest mean, the {verb} {}.",
        number::list(&said)
    ))
}

fn row<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> TableRow {
    let ranked = compare::ranked(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC);
    let at_peak = |pair: (&str, &str)| sweep.comparisons.at_peak(group, pair);
    // The highest is in bold where it leads, as in the headline.
    let leads = improvements::leads(sweep, &ranked, at_peak);
    let stands_out = leads.is_empty() || Lead::over_all(&leads) == Lead::Better;
    // Over the thread counts in common another peak may be the higher one.
    let is_over_common = ranked.iter().skip(1).any(|other| {
        at_peak((ranked[0], other)).is_some_and(|known| compare::is_over_common(&known))
    });
    let stands_out = stands_out && !is_over_common;
    let several = sweep.systems.len() > 1;
    let mut cells = vec![Cell::new(group.title_with_conditions())];
    for system in &sweep.systems {
        let is_best = several && stands_out && ranked.first() == Some(&&*system.name);
        cells.extend(peak_cells(group, system, is_best));
    }
    cells.extend(improvements::cells(sweep, &ranked, at_peak));
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
            let ops = Cell::new(peak.text())
                .with_detail(peak.ops.range(number::bounded_rate))
                .with_bounded(peak.bounded());
            let threads = match peak.threads {
                PointKey::PEAK => Cell::none().with_detail("not known"),
                threads => Cell::new(threads.to_string()),
            };
            [Cell { strong, ..ops }, threads]
        }
    }
}
