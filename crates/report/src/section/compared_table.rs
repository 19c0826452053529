//! The tables of a workload: a row for each client count or rate, the systems next to each other,
//! and how they compare. Part of the section on workloads.

use crate::{
    Cell, Column, Table, TableRow,
    axis::{Axis, Step},
    compare,
    compared::Comparisons,
    findings::Index,
    grid_cell::{GridCell, SpreadPeak},
    measure::{self, Quantity},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, Metric, Phase, System, finding::COARSE_COUNTER, number};
use tailmark_stats::{Comparison, Verdict};

/// Systems that are beside each other in one table with all metrics; of more, each metric has its own.
const BESIDE: usize = 2;

/// How much better the first of a comparison is, its interval, and the verdict. If there are no
/// verdicts anywhere, cells do not mention them. The value of the cell is the ratio.
pub fn improvement(comparison: &Comparison, comparisons: &Comparisons) -> Cell {
    let verdict = match comparison.verdict {
        Verdict::TooFewRuns | Verdict::NotTestable if !comparisons.has_verdicts() => String::new(),
        Verdict::Equivalent => format!("equivalent ({})", compare::within(comparisons)),
        _ if compare::is_by_adjustment(comparison) => {
            let family = number::plural(comparison.family as u64, "comparison");
            format!("not significant among {family}")
        }
        _ if compare::is_not_significant(comparison) => "not significant".to_owned(),
        verdict => verdict.name().to_owned(),
    };
    let parts = compare::interval(comparison, comparisons).into_iter();
    let parts = parts.chain(Some(verdict).filter(|verdict| !verdict.is_empty()));
    let p = comparison.p_adjusted.zip(comparison.p);
    Cell {
        muted: comparison.verdict == Verdict::NoDifferenceShown,
        detail: parts.collect::<Vec<_>>().join(", "),
        hint: p.map_or_else(String::new, |(adjusted, p)| {
            format!("p {}, adjusted {}", probability(p), probability(adjusted))
        }),
        ..Cell::new(comparisons.improvement(comparison))
    }
    .with_bounded(comparison.ratio)
}

/// The unit of the values of improvements.
pub const RATIO: &str = "ratio";

/// `0.013`, `below 0.0001`.
pub fn probability(p: f64) -> String {
    if p < 1e-4 {
        "below 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// A value of a metric, with its raw value.
pub fn metric_cell(metric: Metric, value: Bounded) -> Cell {
    Cell::new(metric.text(value)).with_bounded(metric.in_unit(value))
}

/// The combined value of a metric over the runs.
pub fn measured(metric: Metric, value: Quantity) -> Cell {
    let range = value.range(|value| metric_cell(metric, value).text);
    Cell {
        muted: !value.solid,
        ..metric_cell(metric, value.middle).with_detail(range)
    }
}

/// The same, with the currency of money.
pub fn measured_in(metric: Metric, value: Quantity, currency: &str) -> Cell {
    let cell = measured(metric, value);
    if metric.is_money() {
        cell.with_currency(currency)
    } else {
        cell
    }
}

struct Grid<'s, 'a> {
    group: &'s WorkloadGrid<'a>,
    systems: Vec<&'a System>,
    /// The pairs whose improvements are stated.
    pairs: Vec<(&'a str, &'a str)>,
    peaks: Vec<Option<SpreadPeak>>,
    index: &'s Index<'s>,
    comparisons: &'s Comparisons,
    sweep: &'s SweepTable<'a>,
}

/// The tables: operations per second, the latency that the report is about, and p99.99.
pub fn tables<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
) -> Vec<Table> {
    let systems: Vec<&System> = sweep
        .systems
        .iter()
        .copied()
        .filter(|s| group.has(&s.name))
        .collect();
    let peaks = systems.iter().map(|s| group.peak(&s.name)).collect();
    let grid = Grid {
        group,
        systems,
        pairs: compare::main_pairs(group, sweep),
        peaks,
        index,
        comparisons: sweep.comparisons,
        sweep,
    };
    // At several rates ops/s are in the table of each system; no system is better by it.
    let mut metrics = Vec::new();
    if group.axis == Axis::Threads {
        metrics.push(Metric::OPS_PER_SEC);
    }
    metrics.extend(sweep.compared(group));
    if grid.systems.len() <= BESIDE {
        vec![grid.table(&metrics)]
    } else {
        metrics
            .iter()
            .map(|metric| grid.table(&[*metric]))
            .collect()
    }
}

impl<'a> Grid<'_, 'a> {
    fn table(&self, metrics: &[Metric]) -> Table {
        let mut columns = vec![Column::number(self.group.axis.title())];
        for &metric in metrics {
            let column = |title: &str| Column::number(title).group(title_of(metrics, metric));
            let systems = self.systems.iter();
            columns.extend(systems.map(|s| column(&s.name).unit(metric.row().unit)));
            for (a, b) in &self.pairs {
                let title = match (self.systems.len(), self.is_one_against_all()) {
                    (2, _) => "difference".to_owned(),
                    (_, true) => format!("over {b}"),
                    (_, false) => format!("{a} over {b}"),
                };
                columns.push(column(&title).unit(RATIO));
            }
        }
        let steps = self.group.steps.iter();
        let mut rows: Vec<TableRow> = steps.map(|&step| self.row(step, metrics)).collect();
        rows.extend(self.average(metrics));
        Table {
            caption: match metrics {
                [only] => only.row().title.to_owned(),
                _ => String::new(),
            },
            columns,
            rows,
            note: self.note(metrics),
        }
    }

    /// Whether one system is compared with each of the others, and not each with the baseline.
    fn is_one_against_all(&self) -> bool {
        self.pairs.windows(2).all(|two| two[0].0 == two[1].0)
    }

    fn note(&self, metrics: &[Metric]) -> String {
        let mut note = String::new();
        if self.group.has_peaks() {
            note.push_str("Peaks in bold. ");
        }
        let equal = match self.group.axis {
            Axis::Threads => "threads: more ops/s, less latency",
            Axis::Rates => "rates: less latency",
        };
        if let Some((first, second)) = self.pairs.first() {
            let over = if self.is_one_against_all() {
                format!("of {first}")
            } else {
                format!("over {second}")
            };
            note.push_str(&format!("Differences are those {over} at equal {equal}. "));
        }
        note.push_str(&self.note_of_runs());
        let cells = || {
            let systems = self.systems.iter();
            systems.flat_map(|s| self.group.cells_of(&s.name))
        };
        let is_unknown =
            cells().any(|cell| metrics.iter().any(|own| cell.is_of_unknown_samples(*own)));
        note.push_str(if is_unknown {
            "– means that the import does not state it."
        } else {
            "– means not measured, or fewer than 10 samples beyond the value; grey means fewer than \
             100."
        });
        if cells().any(|cell| cell.fault.is_some()) {
            note.push_str(
                " Grey with a reason means not valid: excluded from peaks and differences; ops/s count \
                 successes only.",
            );
        }
        let bounds = self.causes_of_bounds(metrics);
        if !bounds.is_empty() {
            let causes = number::list(&bounds);
            note.push_str(&format!(
                " ≥ and ≤ mark bounds (at least, at most): {causes}."
            ));
        }
        note
    }

    /// Why values of these metrics are bounds; empty if none is.
    fn causes_of_bounds(&self, metrics: &[Metric]) -> Vec<&'static str> {
        let systems = self.systems.iter();
        let cells = systems.flat_map(|system| self.group.cells_of(&system.name));
        let is_bound = |cell: &&GridCell<'_>| {
            let values = metrics.iter().filter_map(|metric| cell.value(*metric));
            values.into_iter().any(|value| !value.middle.is_exact())
        };
        let phases = cells.filter(is_bound).flat_map(|cell| &cell.points);
        let phases: Vec<_> = phases.map(|point| &point.phase).collect();
        let is_any = |count: fn(&Phase) -> u64| phases.iter().any(|phase| count(phase) > 0);
        let causes = [
            (is_any(|phase| phase.failed), "requests failed"),
            (
                is_any(|phase| phase.censored),
                "operations were due and never done",
            ),
        ];
        let is_coarse = metrics.iter().any(|metric| metric.may_have_ends())
            && phases
                .iter()
                .any(|phase| COARSE_COUNTER.is_among(&phase.findings));
        let causes = causes.into_iter().chain([(
            is_coarse,
            "a counter has coarse steps (both ends are shown)",
        )]);
        let present = causes.into_iter().filter(|(is_there, _)| *is_there);
        present.map(|(_, cause)| cause).collect()
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
            ends => format!("Values are the geometric mean of the runs; below it, {ends}. "),
        };
        if !self.pairs.is_empty() && self.comparisons.has_verdicts() {
            note.push_str("Below a difference are its 95 % interval and the verdict. ");
        }
        note
    }

    fn row(&self, step: Step, metrics: &[Metric]) -> TableRow {
        let mut cells = vec![Cell::new(step.label())];
        for &metric in metrics {
            for (i, system) in self.systems.iter().enumerate() {
                cells.push(self.value(metric, system, i, step));
            }
            let pairs = self.pairs.iter();
            let known = pairs.filter_map(|&pair| self.comparison(metric, pair, step));
            let known: Vec<Comparison> = known.collect();
            let comparisons = self.comparisons.beside(&known.iter().collect::<Vec<_>>());
            for &pair in &self.pairs {
                cells.push(self.improvement(metric, pair, step, &comparisons));
            }
        }
        TableRow {
            cells,
            total: false,
        }
    }

    fn value(&self, metric: Metric, system: &'a System, at: usize, step: Step) -> Cell {
        let Some(cell) = self.group.cell(&system.name, step) else {
            return Cell::none();
        };
        let Some(value) = cell.value(metric) else {
            return Cell::none();
        };
        let written = measured_in(metric, value, &cell.points[0].phase.money.currency);
        let is_rate = metric == Metric::OPS_PER_SEC;
        let findings = cell.points.iter().flat_map(|p| &p.phase.findings);
        Cell {
            strong: is_rate
                && self.group.has_peaks()
                && self.peaks[at].is_some_and(|p| p.threads == step.threads),
            muted: written.muted || cell.fault.is_some(),
            fault: cell.fault_text().unwrap_or_default(),
            badges: if is_rate {
                self.index.badges(findings)
            } else {
                Vec::new()
            },
            detail: match cell.fault_text().filter(|_| is_rate) {
                Some(fault) => fault,
                None => written.detail.clone(),
            },
            ..written
        }
    }

    /// How the first compares with the second at a step.
    fn comparison(
        &self,
        metric: Metric,
        pair: (&'a str, &'a str),
        step: Step,
    ) -> Option<Comparison> {
        self.comparisons.at(self.group, step, metric, pair)
    }

    /// The same in words, as comparisons of its row are written.
    fn improvement(
        &self,
        metric: Metric,
        pair: (&'a str, &'a str),
        step: Step,
        comparisons: &Comparisons,
    ) -> Cell {
        match self.comparison(metric, pair, step) {
            Some(comparison) => improvement(&comparison, comparisons),
            None => match self.sweep.unlike_money(metric, pair) {
                Some(why) => Cell::none().with_detail(why),
                None if compare::are_bounds(self.group, metric, pair, step) => {
                    Cell::none().with_detail("not certain")
                }
                None => Cell::none(),
            },
        }
    }

    /// The mean of the improvements at each step.
    fn average(&self, metrics: &[Metric]) -> Option<TableRow> {
        if self.pairs.is_empty() || self.group.steps.len() < 2 {
            return None;
        }
        let label = Cell::new("average").with_detail("arithmetic mean; below it, geometric");
        let mut cells = vec![label];
        for &metric in metrics {
            cells.extend(self.systems.iter().map(|_| Cell::default()));
            let averages = self.pairs.iter().map(|&pair| self.average_of(metric, pair));
            cells.extend(averages.map(|cell| cell.unwrap_or_else(Cell::none)));
        }
        Some(TableRow { cells, total: true })
    }

    /// The mean of improvements is shown only if all of them are certain.
    fn average_of(&self, metric: Metric, pair: (&'a str, &'a str)) -> Option<Cell> {
        let average = compare::average(self.group, self.comparisons, metric, pair)?;
        let cell = Cell::new(self.comparisons.ratio(metric, average.arithmetic));
        let cell = cell.with_bounded(average.arithmetic);
        Some(cell.with_detail(self.comparisons.ratio(metric, average.geometric)))
    }
}

/// The title over the columns of one of several metrics; a single metric is the caption.
fn title_of(metrics: &[Metric], metric: Metric) -> String {
    match metrics.len() {
        1 => String::new(),
        _ => metric.row().title.to_owned(),
    }
}
