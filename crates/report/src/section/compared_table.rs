//! The table of a workload: a row for each client count or rate, the systems beside each other, and
//! how much better the leader is. A part of the section of workloads.

use crate::{
    Cell, Column, Table, TableRow,
    axis::{Axis, Step},
    compare,
    compared::Comparisons,
    findings::Index,
    measure::{self, Measured},
    sweep::{self, SpreadPeak, SweepTable, WorkloadGrid},
};
use tailmark_results::{
    Comparison, Kind, Metric, Stated, Statistic, System, TimeBasis, Verdict, compare as statistics,
    number,
};

/// How much better the first of a comparison is, its interval, and the verdict. Where there is none
/// anywhere, nothing is said of that in each cell.
pub fn improvement(comparison: &Comparison, comparisons: &Comparisons) -> Cell {
    let verdict = match comparison.verdict {
        Verdict::TooFewRuns if !comparisons.has_verdicts() => String::new(),
        Verdict::NotTestable => String::new(),
        Verdict::Equivalent => format!("equivalent ({})", compare::within(comparisons)),
        verdict => verdict.name().to_owned(),
    };
    let parts = compare::gain_interval(comparison).into_iter();
    let parts = parts.chain(Some(verdict).filter(|verdict| !verdict.is_empty()));
    let p = comparison.p_adjusted.zip(comparison.p);
    Cell {
        muted: comparison.verdict == Verdict::NoDifferenceShown,
        detail: parts.collect::<Vec<_>>().join(", "),
        hint: p.map_or_else(String::new, |(adjusted, p)| {
            format!("p {}, adjusted {}", probability(p), probability(adjusted))
        }),
        ..Cell::new(number::stated_change(compare::gain(comparison)))
    }
}

/// `0.013`, `below 0.0001`.
fn probability(p: f64) -> String {
    match p < 1e-4 {
        true => "below 0.0001".to_owned(),
        false => format!("{p:.4}"),
    }
}

/// A number a table shows for each system, and how two of them compare.
struct Quantity<'q, 'a> {
    title: String,
    value: &'q dyn Fn(&sweep::GridCell<'a>) -> Option<Measured>,
    write: fn(f64) -> String,
    metric: Metric,
    is_rate: bool,
}

struct Grid<'s, 'a> {
    group: &'s WorkloadGrid<'a>,
    systems: Vec<&'a System>,
    leader: Option<&'a System>,
    peaks: Vec<Option<SpreadPeak>>,
    index: &'s Index<'s>,
    comparisons: &'s Comparisons,
}

/// The table; `leader` is the system whose improvements are stated.
pub fn table<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
    leader: Option<&'a System>,
) -> Table {
    let systems: Vec<&System> = sweep
        .systems
        .iter()
        .copied()
        .filter(|s| group.has(&s.name))
        .collect();
    let leader = leader.filter(|l| systems.len() > 1 && group.has(&l.name));
    let peaks = systems.iter().map(|s| group.peak(&s.name)).collect();
    let grid = Grid {
        group,
        systems,
        leader,
        peaks,
        index,
        comparisons: sweep.comparisons,
    };
    let kind = group.main_kind();
    let ops = |cell: &sweep::GridCell<'a>| cell.ops().map(Measured::from);
    let latency = |measure| {
        move |cell: &sweep::GridCell<'a>| cell.latency(kind?, TimeBasis::Response, measure)
    };
    let (mean, p99) = (latency(Statistic::MEAN), latency(Statistic::P99));
    let of =
        |measure: Statistic| format!("{} {} latency", measure.name, kind.map_or("", Kind::name));
    let quantity = |title: String, value, metric: Metric| Quantity {
        title,
        value,
        write: match metric {
            Metric::OpsPerSec => number::rate,
            Metric::Latency { .. } => number::latency,
        },
        metric,
        is_rate: metric == Metric::OpsPerSec,
    };
    let mut quantities = Vec::new();
    // At several rates that is in the table of each system; no system is better by it.
    if group.axis == Axis::Threads {
        let title = "operations per second".into();
        quantities.push(quantity(title, &ops, Metric::OpsPerSec));
    }
    if let Some(kind) = kind {
        let metric = |statistic| Metric::Latency { kind, statistic };
        let (mean_of, p99_of) = (metric(Statistic::MEAN), metric(Statistic::P99));
        quantities.push(quantity(of(Statistic::MEAN), &mean, mean_of));
        quantities.push(quantity(of(Statistic::P99), &p99, p99_of));
    }
    grid.table(&quantities)
}

impl<'a> Grid<'_, 'a> {
    fn table(&self, quantities: &[Quantity<'_, 'a>]) -> Table {
        let mut columns = vec![Column::number(self.group.axis.title())];
        for quantity in quantities {
            for system in &self.systems {
                columns.push(Column::number(&system.name).of(&quantity.title));
            }
            for (_, other) in self.pairs() {
                let title = if self.systems.len() == 2 {
                    "improvement".to_owned()
                } else {
                    format!("over {}", other.name)
                };
                columns.push(Column::number(title).of(&quantity.title));
            }
        }
        let mut rows: Vec<TableRow> = self
            .group
            .steps
            .iter()
            .map(|&step| self.row(step, quantities))
            .collect();
        rows.extend(self.average(quantities));
        Table {
            caption: String::new(),
            columns,
            rows,
            note: self.note(),
        }
    }

    /// The leader against each of the others.
    fn pairs(&self) -> Vec<(&'a System, &'a System)> {
        let Some(leader) = self.leader else {
            return Vec::new();
        };
        let others = self.systems.iter().filter(|s| s.name != leader.name);
        others.map(|other| (leader, *other)).collect()
    }

    fn note(&self) -> String {
        let (mut note, equal) = match self.group.axis {
            Axis::Threads => (
                "Peaks in bold. ".to_owned(),
                "threads: more ops/s, less latency",
            ),
            Axis::Rates => (String::new(), "rates: less latency"),
        };
        if let Some(leader) = self.leader {
            note.push_str(&format!(
                "Improvements are those of {} at equal {equal}. ",
                leader.name
            ));
        }
        note.push_str(&self.note_of_runs());
        note.push_str("– means not measured, or fewer than 10 samples beyond the value; grey, fewer than 100.");
        let mut cells = self
            .systems
            .iter()
            .flat_map(|s| self.group.cells_of(&s.name));
        if cells.any(|cell| cell.fault.is_some()) {
            note.push_str(
                " Grey with a reason: not valid, so no peak and in no improvement; ops/s are those \
                 that succeeded.",
            );
        }
        if self.group.points().any(|p| p.phase.censored > 0) {
            note.push_str(
                " ≥ and ≤ mean at least and at most: operations were due and never done.",
            );
        }
        note
    }

    /// What stands beside values of several runs, and what verdicts mean.
    fn note_of_runs(&self) -> String {
        let points = self
            .systems
            .iter()
            .flat_map(|s| self.group.cells_of(&s.name));
        let runs = points.map(|cell| cell.points.len()).max().unwrap_or(0);
        let mut note = match measure::ends(runs) {
            "" => String::new(),
            ends => format!("Values are the geometric mean of the runs, and below it {ends}. "),
        };
        if self.leader.is_some() && self.comparisons.has_verdicts() {
            note.push_str("Below an improvement: its 95 % interval and the verdict. ");
        }
        note
    }

    fn row(&self, step: Step, quantities: &[Quantity<'_, 'a>]) -> TableRow {
        let mut cells = vec![Cell::new(step.label())];
        for quantity in quantities {
            for (i, system) in self.systems.iter().enumerate() {
                cells.push(self.value(quantity, system, i, step));
            }
            for (a, b) in self.pairs() {
                cells.push(self.improvement(quantity, (a, b), step));
            }
        }
        TableRow {
            cells,
            total: false,
        }
    }

    fn value(
        &self,
        quantity: &Quantity<'_, 'a>,
        system: &'a System,
        at: usize,
        step: Step,
    ) -> Cell {
        let Some(cell) = self.group.cell(&system.name, step) else {
            return Cell::none();
        };
        let Some(measured) = (quantity.value)(cell) else {
            return Cell::none();
        };
        let detail = match cell.fault.filter(|_| quantity.is_rate) {
            Some(fault) => fault.to_string(),
            None => measured.range(quantity.write),
        };
        let findings = cell.points.iter().flat_map(|p| &p.phase.findings);
        Cell {
            strong: quantity.is_rate && self.peaks[at].is_some_and(|p| p.threads == step.threads),
            muted: !measured.solid || cell.fault.is_some(),
            badges: if quantity.is_rate {
                self.index.badges(findings)
            } else {
                Vec::new()
            },
            detail,
            ..Cell::new(measured.middle.text(quantity.write))
        }
    }

    /// How the first compares with the second at a step.
    fn comparison(
        &self,
        quantity: &Quantity<'_, 'a>,
        (a, b): (&'a System, &'a System),
        step: Step,
    ) -> Option<Comparison> {
        let pair = (a.name.as_str(), b.name.as_str());
        self.comparisons.at(self.group, step, quantity.metric, pair)
    }

    fn improvement(
        &self,
        quantity: &Quantity<'_, 'a>,
        pair: (&'a System, &'a System),
        step: Step,
    ) -> Cell {
        match self.comparison(quantity, pair, step) {
            Some(comparison) => improvement(&comparison, self.comparisons),
            None if self.is_uncertain(quantity, pair, step) => {
                Cell::none().with_detail("not certain")
            }
            None => Cell::none(),
        }
    }

    /// Whether both have a value and there is still no ratio: both are bounds.
    fn is_uncertain(
        &self,
        quantity: &Quantity<'_, 'a>,
        (a, b): (&'a System, &'a System),
        step: Step,
    ) -> bool {
        let is_bound = |system: &'a System| {
            let cell = self.group.valid_cell(&system.name, step);
            let measured = cell.and_then(|cell| (quantity.value)(cell));
            measured.is_some_and(|measured| !measured.middle.is_exact())
        };
        is_bound(a) && is_bound(b)
    }

    /// The mean of the improvements at each step.
    fn average(&self, quantities: &[Quantity<'_, 'a>]) -> Option<TableRow> {
        if self.pairs().is_empty() || self.group.steps.len() < 2 {
            return None;
        }
        let mut cells = vec![Cell::new("average")];
        for quantity in quantities {
            cells.extend(self.systems.iter().map(|_| Cell::default()));
            for (a, b) in self.pairs() {
                let steps = self.group.steps.iter();
                let gain = |&step: &Step| self.comparison(quantity, (a, b), step);
                let gains = steps.clone().filter_map(gain).map(|of| compare::gain(&of));
                let gains: Vec<Stated> = gains.collect();
                // Where one of them is not certain, no mean of them is.
                let mut all = steps.map(|&step| self.is_uncertain(quantity, (a, b), step));
                let is_certain = !all.any(|uncertain| uncertain);
                let average = is_certain
                    .then(|| statistics::average_stated(&gains))
                    .flatten();
                let text = average.map(number::stated_change);
                cells.push(text.map_or_else(Cell::none, Cell::new));
            }
        }
        Some(TableRow { cells, total: true })
    }
}
