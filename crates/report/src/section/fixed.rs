//! Values at a fixed rate and at a fixed latency, which the 7450 study reads off its curves:
//! measured values if there are any, otherwise read off the curve.

mod lines;
mod searched;
mod stated;
mod topics;
mod value;

pub use stated::FixedValues;
use topics::not_reached;
pub use topics::{FixedTopic, Missed, topics};

use super::Section;
use crate::{
    Block, Cell, Column, Data, Search, Table, TableRow, Text, compare,
    findings::Index,
    grid_cell::GridCell,
    sweep::{SweepTable, WorkloadGrid},
};
use std::time::Duration;
use tailmark_model::{Arrivals, Bounded, Metric, number};
use tailmark_stats::Comparison;
use value::{
    ClosedLoop, Reading, WithinAt, at_rate, is_above, measured, most_below, peak_within,
    rate_within, ratio,
};

pub const SECTION: Section = Section {
    name: "fixed",
    title: "At a fixed rate and at a fixed latency",
    render,
};

/// The fixed quantity.
#[derive(Debug, Clone, Copy)]
enum Fixed {
    /// Operations per second.
    Rate(f64),
    /// A latency.
    Latency(Duration),
}

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let all = fixed(&sweep).into_iter();
    let tables = all.flat_map(|fixed| fixed.blocks(&sweep, &data.searches, &index));
    let mut blocks: Vec<Block> = tables.collect();
    if !blocks.is_empty() {
        let text = "Interpolated values are read off the curve of a closed loop, so they are service \
                    times. They are read on the rising branch, at the first crossing, with the \
                    logarithm of the latency linear in ops/s between two points; never beyond the \
                    measured ends, and never across a missing point. They are not measurements at that \
                    rate, and they are not tested. ≥ marks the most ops/s that are known to be within the latency: the rising branch \
                        does not cross it, or points beyond the crossing are within it. ≤ marks a rate below the first \
                    point: the latency there, if latency rises with load.";
        blocks.insert(0, Block::Text(Text::plain(text)));
    }
    blocks
}

impl Fixed {
    /// The stated quantity.
    const fn title(self) -> &'static str {
        match self {
            Self::Rate(_) => "latency",
            Self::Latency(_) => "ops/s",
        }
    }

    /// In words: `40,000 ops/s`, `15.0 ms`.
    fn place(self) -> String {
        match self {
            Self::Rate(rate) => number::ops(rate),
            Self::Latency(latency) => number::latency(latency.as_nanos() as f64),
        }
    }

    /// One group for each workload and distribution: its sweep of thread counts if there is one,
    /// otherwise its points at rates.
    fn groups<'g, 'a>(self, sweep: &'g SweepTable<'a>) -> Vec<&'g WorkloadGrid<'a>> {
        let (swept, others): (Vec<_>, Vec<_>) =
            sweep.all_groups().partition(|group| group.has_peaks());
        let mut groups: Vec<&WorkloadGrid<'_>> = swept;
        for other in others {
            let is_same = |group: &&WorkloadGrid<'_>| {
                group.workload == other.workload && group.distribution == other.distribution
            };
            if !groups.iter().any(is_same) {
                groups.push(other);
            }
        }
        groups
    }

    /// Each workload with its latency and the values of each system.
    fn readings<'g, 'a>(
        self,
        sweep: &'g SweepTable<'a>,
        searches: &[Search],
    ) -> Vec<GroupReadings<'g, 'a>> {
        let mut all = Vec::new();
        for group in self.groups(sweep) {
            let Some((kind, statistic)) = sweep.latency(group) else {
                continue;
            };
            let metric = Metric::from_latency(kind, statistic);
            for arrivals in self.arrivals(sweep, group) {
                let reading = |name| {
                    let searched = self.searched(searches, group, name, metric);
                    let read = || self.reading(sweep, searches, group, name, (metric, arrivals));
                    searched.or_else(read)
                };
                let systems = sweep.systems.iter().map(|system| system.name.as_str());
                let readings = systems.map(|name| (name, reading(name))).collect();
                all.push((group, metric, readings));
            }
        }
        all
    }

    /// The values of every workload that has any, and the sentences about them.
    fn blocks(self, sweep: &SweepTable<'_>, searches: &[Search], index: &Index<'_>) -> Vec<Block> {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        let mut lacking = Vec::new();
        for (group, metric, readings) in self.readings(sweep, searches) {
            let is_none = |known: &Option<Reading<'_, '_>>| {
                matches!(known, None | Some(Reading::NotReached(_)))
            };
            if readings.iter().all(|(_, known)| is_none(known)) {
                lacking.extend(self.lacking(sweep, group, metric));
                continue;
            }
            rows.push(self.row(sweep, group, metric, &readings, index));
            lines.extend(self.lines(sweep, group, metric, &readings));
        }
        if rows.is_empty() {
            let none = match (self, lacking.is_empty()) {
                (Self::Rate(_), true) => "Nothing was measured at",
                (Self::Rate(_), false) => "There is no latency at",
                (Self::Latency(_), _) => "There is no reading at",
            };
            let none = format!("{none} {}, and no curve can be read there.", self.place());
            lacking.insert(0, none);
            return vec![Block::Text(Text::plain(lacking.join(" ")))];
        }
        lines.extend(lacking.into_iter().map(Text::plain));
        self.table(sweep, rows, lines)
    }

    /// How operations arrived at the points at the rate. Different arrivals are not compared.
    fn arrivals(self, sweep: &SweepTable<'_>, group: &WorkloadGrid<'_>) -> Vec<Option<Arrivals>> {
        let Self::Rate(rate) = self else {
            return vec![None];
        };
        let systems = sweep.systems.iter();
        let cells = systems.flat_map(|system| at_rate(sweep, group, &system.name, rate));
        let mut found: Vec<_> = cells.map(|(own, _)| own.arrivals).collect();
        found.sort_unstable();
        found.dedup();
        if found.is_empty() { vec![None] } else { found }
    }

    /// A sentence that points at the rate lack the latency, and why; `None` if there are none.
    fn lacking(
        self,
        sweep: &SweepTable<'_>,
        group: &WorkloadGrid<'_>,
        metric: Metric,
    ) -> Option<String> {
        let why = sweep
            .systems
            .iter()
            .find_map(|system| self.why_none(sweep, group, &system.name));
        why.map(|why| format!("{}, {metric}: {why} at {}.", group.title, self.place()))
    }

    /// Why a point at the rate has no latency; `None` if there is no point.
    fn why_none(
        self,
        sweep: &SweepTable<'_>,
        group: &WorkloadGrid<'_>,
        system: &str,
    ) -> Option<&'static str> {
        let Self::Rate(rate) = self else {
            return None;
        };
        let cells = at_rate(sweep, group, system, rate);
        let is_valid = |(_, cell): &(_, &GridCell<'_>)| cell.fault.is_none();
        let mut known = cells.map(|cell| is_valid(&cell));
        let first = known.next()?;
        Some(if first || known.any(|valid| valid) {
            "a point has too few samples"
        } else {
            "a point is not valid"
        })
    }

    /// The table of rows, and the sentences about them.
    fn table(self, sweep: &SweepTable<'_>, rows: Vec<TableRow>, lines: Vec<Text>) -> Vec<Block> {
        let systems = sweep.systems.iter();
        let unit = match self {
            Self::Rate(_) => "us",
            Self::Latency(_) => "ops/s",
        };
        let values = systems.flat_map(|system| {
            let value = Column::number(self.title()).unit(unit);
            [value, Column::text("from")].map(|column| column.group(&system.name))
        });
        let columns = ["Workload", "Latency", "At"].map(Column::text);
        vec![
            Block::Table(Table {
                caption: match self {
                    Self::Rate(_) => format!("Latency at {}", self.place()),
                    Self::Latency(_) => format!("Operations per second at {}", self.place()),
                },
                columns: columns.into_iter().chain(values).collect(),
                rows,
                note: "– means that the rising branch of the curve does not reach the value from below, \
                       or lacks a point or a latency on the way, and that no rate was measured there."
                    .into(),
            }),
            Block::Statements(lines),
        ]
    }

    fn row<'a>(
        self,
        sweep: &SweepTable<'a>,
        group: &WorkloadGrid<'a>,
        metric: Metric,
        readings: &[GroupReading<'_, 'a>],
        index: &Index<'_>,
    ) -> TableRow {
        let cells = |(system, reading): &GroupReading<'_, 'a>| match reading {
            None => {
                let why = self.why_none(sweep, group, system);
                [
                    Cell::none().with_detail(why.unwrap_or_default()),
                    Cell::default(),
                ]
            }
            Some(reading) => {
                let per = match self {
                    Self::Rate(_) => 1e3,
                    Self::Latency(_) => 1.0,
                };
                let mut written = Cell::new(self.written(reading));
                if let Some(bounded) = reading.bounded() {
                    let value = bounded.value / per;
                    written = written.with_bounded(Bounded { value, ..bounded });
                }
                if let Reading::Measured { cell, .. } = reading {
                    let findings = cell.points.iter().flat_map(|point| &point.phase.findings);
                    written.badges = index.badges(findings);
                }
                [written, Cell::new(reading.source())]
            }
        };
        let names = [group.title.clone(), metric.to_string(), self.place()].map(Cell::new);
        let values = readings.iter().flat_map(cells);
        TableRow {
            cells: names.into_iter().chain(values).collect(),
            total: false,
        }
    }

    fn written(self, reading: &Reading<'_, '_>) -> String {
        match (self, reading, reading.bounded()) {
            (_, Reading::Searched { answer, .. }, _) => match (answer.low, answer.high) {
                (Some(low), Some(high)) => number::rates(low, high),
                (Some(low), None) => number::bounded_rate(Bounded::at_least(low)),
                (None, _) => answer.rates(),
            },
            (_, Reading::NotReached(most), _) => format!("none: {} at most", number::ops(*most)),
            (_, _, None) => "none: above it at every thread count".to_owned(),
            (Self::Rate(_), _, Some(bounded)) => number::bounded_latency(bounded),
            (Self::Latency(_), _, Some(bounded)) => number::bounded_rate(bounded),
        }
    }

    /// The compared metric: the latency at a rate, operations per second at a latency.
    const fn compared(self, metric: Metric) -> Metric {
        match self {
            Self::Rate(_) => metric,
            Self::Latency(_) => Metric::OPS_PER_SEC,
        }
    }

    /// Each pair of systems that is compared, with its readings.
    fn pairs<'r, 'g, 'a>(
        self,
        sweep: &SweepTable<'a>,
        metric: Metric,
        readings: &'r [GroupReading<'g, 'a>],
    ) -> Vec<ReadingPair<'r, 'g, 'a>> {
        let compared = self.compared(metric);
        let known = readings.iter();
        let mut known: Vec<(&'a str, &Reading<'g, 'a>)> = known
            .filter_map(|(name, reading)| Some((*name, reading.as_ref()?)))
            .filter(|(_, reading)| !matches!(reading, Reading::NotReached(_)))
            .collect();
        known.sort_by(|(_, a), (_, b)| compared.best_first(a.value(), b.value()));
        compare::put_first(&mut known, |a, b| {
            compare::is_first_by(tested(sweep, compared, *a, *b), sweep)
        });
        let ranked: Vec<&'a str> = known.iter().map(|(name, _)| *name).collect();
        let reading = |name: &str| known.iter().find(|(known, _)| *known == name).copied();
        let pairs = compare::pairs_of(&ranked, sweep).into_iter();
        let pairs = pairs.filter_map(|(a, b)| reading(a).zip(reading(b)));
        pairs.filter(|((_, a), (_, b))| a.is_like(b)).collect()
    }

    /// Each system against the baseline, or the subject against the others.
    fn lines<'a>(
        self,
        sweep: &SweepTable<'a>,
        group: &WorkloadGrid<'a>,
        metric: Metric,
        readings: &[GroupReading<'_, 'a>],
    ) -> Vec<Text> {
        let pairs = self.pairs(sweep, metric, readings).into_iter();
        let lines = pairs.filter_map(|pair| self.line(sweep, group, metric, pair));
        let missed = not_reached(readings);
        let missed = (!missed.is_empty()).then(|| {
            let (title, missed) = (&group.title, number::list(&missed));
            Text::plain(format!("{title}: {missed} did not reach {}.", self.place()))
        });
        lines.chain(missed).collect()
    }

    /// The comparisons of a workload's values, if each of them forms a ratio.
    fn comparisons<'a>(
        self,
        sweep: &SweepTable<'a>,
        metric: Metric,
        readings: &[GroupReading<'_, 'a>],
    ) -> Option<Vec<ComparedPair<'a>>> {
        let compared = self.compared(metric);
        let pair = |((a, of_a), (b, of_b)): ReadingPair<'_, '_, 'a>| {
            if self.without_ratio((a, of_a), (b, of_b)).is_some() {
                return None;
            }
            let tested = tested(sweep, compared, (a, of_a), (b, of_b));
            // If there are verdicts, values read off a curve appear only in their own section.
            let comparison = match tested {
                Some(tested) => tested,
                None if sweep.comparisons.has_verdicts() => return None,
                None => {
                    let centers = [of_a.bounded()?, of_b.bounded()?];
                    Comparison::of_readings(compared, (a, b), ratio(of_a, of_b)?, centers)
                }
            };
            Some((a, b, Some(comparison)))
        };
        let pairs = self.pairs(sweep, metric, readings).into_iter();
        let exceeds = |of: &Reading<'_, '_>| matches!(of, Reading::Exceeds);
        let pairs = pairs.filter(|((_, a), (_, b))| !exceeds(a) && !exceeds(b));
        let pairs: Vec<ComparedPair<'a>> = pairs.map(pair).collect::<Option<_>>()?;
        (!pairs.is_empty()).then_some(pairs)
    }

    fn reading<'g, 'a>(
        self,
        sweep: &'g SweepTable<'a>,
        searches: &[Search],
        group: &WorkloadGrid<'a>,
        system: &'a str,
        (metric, arrivals): (Metric, Option<Arrivals>),
    ) -> Option<Reading<'g, 'a>> {
        let latency = metric.latency()?;
        let curve = ClosedLoop::new(group, system, latency);
        let rate = match self {
            Self::Rate(rate) => rate,
            Self::Latency(limit) => {
                let ns = limit.as_nanos() as f64;
                let crossed = curve.ops_at(ns);
                let in_loop = |ops| Reading::Within(ops, WithinAt::ClosedLoop);
                let within = || curve.most_within(ns).map(in_loop);
                let exceeds = || is_above(group, system, latency, ns).then_some(Reading::Exceeds);
                // What rates and searches for stricter limits have shown to be within.
                let at_rate = rate_within(sweep, group, system, latency, ns);
                let searched = self.within_stricter(searches, group, system, metric);
                let at_rate = at_rate.map(|ops| (ops, WithinAt::Rate)).into_iter();
                let both = at_rate.chain(searched.map(|ops| (ops, WithinAt::Search)));
                let shown = both.max_by(|(a, _), (b, _)| a.total_cmp(b));
                let of_curve = crossed.or_else(within);
                let is_more = |(ops, _): &(f64, WithinAt)| {
                    of_curve.as_ref().is_none_or(|read| read.value() < *ops)
                };
                let shown = shown.filter(is_more);
                let shown = shown.map(|(ops, at)| Reading::Within(ops, at));
                let read = shown.or(of_curve).or_else(exceeds);
                // A peak that was published without its thread count is on no curve.
                let peak = peak_within(group, system, latency, ns);
                let more = peak.filter(|ops| read.as_ref().is_none_or(|read| read.value() < *ops));
                return more.map(in_loop).or(read);
            }
        };
        let measured = measured(sweep, group, system, latency, (rate, arrivals));
        let below = || curve.latency_below(rate).map(Reading::Below);
        let not_reached = || most_below(group, system, rate).map(Reading::NotReached);
        measured
            .or_else(|| curve.latency_at(rate))
            .or_else(below)
            .or_else(not_reached)
    }
}

/// A workload, its stated latency, and the values of each system.
type GroupReadings<'g, 'a> = (&'g WorkloadGrid<'a>, Metric, Vec<GroupReading<'g, 'a>>);

/// A system and its reading.
type GroupReading<'g, 'a> = (&'a str, Option<Reading<'g, 'a>>);

/// Two systems, each with its reading.
type ReadingPair<'r, 'g, 'a> = (
    (&'a str, &'r Reading<'g, 'a>),
    (&'a str, &'r Reading<'g, 'a>),
);

/// Two systems, and how the first compares with the second.
pub type ComparedPair<'a> = (&'a str, &'a str, Option<Comparison>);

/// The rates and latencies that the report names.
fn fixed(sweep: &SweepTable<'_>) -> Vec<Fixed> {
    let rates = sweep.settings.at_rate.iter().map(|rate| Fixed::Rate(*rate));
    let latencies = sweep.settings.at_latency.iter();
    let latencies = latencies.map(|latency| Fixed::Latency(*latency));
    rates.chain(latencies).collect()
}

/// The comparison of two values that were measured at the same point.
fn tested(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, of_a): (&str, &Reading<'_, '_>),
    (b, of_b): (&str, &Reading<'_, '_>),
) -> Option<Comparison> {
    match (of_a, of_b) {
        (Reading::Measured { group, cell, .. }, Reading::Measured { cell: other, .. }) => {
            let comparison = sweep.comparisons.at(group, cell.step, metric, (a, b));
            comparison.filter(|_| cell.step == other.step)
        }
        _ => None,
    }
}
