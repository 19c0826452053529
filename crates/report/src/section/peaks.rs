//! The peaks of all workloads in one chart and one table.

use super::{
    Section,
    compared_table::{self, RATIO},
    workload::hint,
};
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
        let of = |title: &str| Column::number(title).of(&system.name);
        columns.extend([of("peak ops/s").unit("ops/s"), of("at threads")]);
    }
    let improvements = improvements(sweep);
    if several {
        columns.push(Column::text("Highest"));
        columns.extend(improvements.iter().map(|of| {
            let column = Column::number(of.title()).unit(RATIO);
            column.of("improvement")
        }));
    }
    let groups = sweep.groups.iter();
    let rows = groups
        .map(|group| row(group, sweep, &improvements))
        .collect();
    let mut note =
        "The peak is the highest ops/s of a valid point over all thread counts, wherever \
                    each system has it."
            .to_owned();
    if several {
        note.push_str(match sweep.baseline() {
            Some(_) => " Improvements are those over the baseline.",
            None => " Improvements are those of the highest peak over each of the others.",
        });
    }
    if sweep.has_peaks_at_least() {
        note.push_str(" ≥ means at least: the clients were the limit there.");
    }
    Table {
        columns,
        rows,
        note,
        ..Table::default()
    }
}

/// A column of improvements.
enum Improvement<'a> {
    /// Of the higher of two over the other.
    OverTheOther,
    /// Of the highest over this one.
    Over(&'a str),
    /// Of this one over the baseline.
    OverBaseline(&'a str, &'a str),
}

impl Improvement<'_> {
    fn title(&self) -> String {
        match self {
            Self::OverTheOther => "over the other".to_owned(),
            Self::Over(system) => format!("over {system}"),
            Self::OverBaseline(system, baseline) => format!("{system} over {baseline}"),
        }
    }
}

/// One for each system with a baseline but itself; without one, for each system of more than two.
fn improvements<'a>(sweep: &SweepTable<'a>) -> Vec<Improvement<'a>> {
    let systems = sweep.systems.iter().map(|system| system.name.as_str());
    match sweep.baseline() {
        None if systems.len() == 2 => vec![Improvement::OverTheOther],
        None => systems.map(Improvement::Over).collect(),
        Some(baseline) => systems
            .filter(|system| *system != baseline)
            .map(|system| Improvement::OverBaseline(system, baseline))
            .collect(),
    }
}

fn row<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    improvements: &[Improvement<'a>],
) -> TableRow {
    let standings = compare::standings(group, &sweep.systems);
    let first = standings.first().map(|standing| standing.system);
    let at_peak = |pair: (&str, &str)| sweep.comparisons.at_peak(group, pair);
    let next = standings
        .get(1)
        .and_then(|next| at_peak((first?, next.system)));
    let outcome = next.map(|of| (Outcome::of(&of, sweep.comparisons.band), of));
    // One run, or two that differ: the highest is in bold unless nothing shows that it is.
    let stands_out = outcome.as_ref().is_none_or(|(outcome, of)| {
        matches!(outcome, Outcome::Differ) || !compare::has_verdict(of)
    });
    let several = sweep.systems.len() > 1;
    let mut cells = vec![Cell::new(group.title_with_conditions())];
    for system in &sweep.systems {
        let is_best = several && stands_out && first == Some(&*system.name);
        cells.extend(peak_cells(group, system, is_best));
    }
    if several {
        let words = outcome.as_ref();
        let words = words.map(|(outcome, of)| highest(*outcome, of, sweep.comparisons));
        cells.push(words.map_or_else(Cell::none, Cell::new));
        cells.extend(improvements.iter().map(|improvement| {
            let of = match *improvement {
                Improvement::OverTheOther => outcome.as_ref().map(|(_, of)| of.clone()),
                Improvement::Over(system) if Some(system) == first => return Cell::default(),
                Improvement::Over(system) => first.and_then(|first| at_peak((first, system))),
                Improvement::OverBaseline(system, baseline) => at_peak((system, baseline)),
            };
            of.map_or_else(Cell::none, |of| advantage(&of, sweep.comparisons))
        }));
    }
    TableRow {
        cells,
        total: false,
    }
}

/// Which of two is the highest.
fn highest(outcome: Outcome, of: &Comparison, comparisons: &Comparisons) -> String {
    match outcome {
        Outcome::Differ => of.a.clone(),
        Outcome::Tied => "tie".to_owned(),
        Outcome::Equivalent => format!("equivalent ({})", compare::within(comparisons)),
        Outcome::NoDifferenceShown => of.verdict.name().to_owned(),
        Outcome::UnlikePeaks => "not comparable".to_owned(),
    }
}

/// By how much a peak is higher.
fn advantage(of: &Comparison, comparisons: &Comparisons) -> Cell {
    let cell = compared_table::improvement(of, comparisons);
    let outcome = Outcome::of(of, comparisons.band);
    Cell {
        muted: matches!(outcome, Outcome::NoDifferenceShown | Outcome::UnlikePeaks),
        ..cell
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
                .with_detail(peak.ops.range(number::rate))
                .with_value(peak.ops.middle);
            let threads = match peak.threads {
                PointKey::PEAK => Cell::none().with_detail("not known"),
                threads => Cell::new(threads.to_string()),
            };
            [Cell { strong, ..ops }, threads]
        }
    }
}
