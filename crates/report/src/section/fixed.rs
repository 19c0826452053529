//! At a fixed rate and at a fixed latency, as the 7450 study reads them off its curves: what was
//! measured there, and otherwise what the curve says.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Search, Table, TableRow, Text,
    axis::Step,
    compare::{self, Outcome, lower},
    grid_cell::GridCell,
    reading::{self, CurvePoint},
    statement::more,
    sweep::{SweepTable, WorkloadGrid},
};
use std::time::Duration;
use tailmark_results::{
    Kind, Metric, Stated, Statistic, TimeBasis, number,
    slo::{Limit, Status},
};

pub const SECTION: Section = Section {
    name: "fixed",
    title: "At a fixed rate and at a fixed latency",
    about: "the latency at the rates, and ops/s at the latencies that the plan names",
    render,
};

/// What is fixed.
#[derive(Debug, Clone, Copy)]
enum Fixed {
    /// Operations per second.
    Rate(f64),
    /// A latency.
    Latency(Duration),
}

/// A value there, and where it comes from.
#[derive(Debug, Clone)]
enum Reading<'g, 'a> {
    /// Of points at that rate, which have their comparisons.
    Measured {
        value: Stated,
        group: &'g WorkloadGrid<'a>,
        step: Step,
    },
    /// By a search: the highest rate that held the limit and the lowest that did not.
    Searched {
        low: f64,
        high: Option<f64>,
        is_quick: bool,
    },
    /// Off the curve of a closed loop.
    Interpolated(f64),
}

impl Reading<'_, '_> {
    const fn value(&self) -> f64 {
        match self {
            Self::Measured { value, .. } => value.value,
            Self::Searched { low: value, .. } | Self::Interpolated(value) => *value,
        }
    }

    fn stated(&self) -> Stated {
        match self {
            Self::Measured { value, .. } => *value,
            Self::Searched {
                low, high: None, ..
            } => Stated::at_least(*low),
            Self::Searched { low: value, .. } | Self::Interpolated(value) => Stated::exact(*value),
        }
    }

    /// Two values make a ratio only where both come from the same.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Measured { group: a, .. }, Self::Measured { group: b, .. }) => {
                a.arrivals == b.arrivals
            }
            (Self::Interpolated(_), Self::Interpolated(_))
            | (Self::Searched { .. }, Self::Searched { .. }) => true,
            _ => false,
        }
    }

    fn source(&self) -> String {
        match self {
            Self::Measured { group, .. } => match group.arrivals {
                Some(arrivals) => format!("measured, {} arrivals", arrivals.name()),
                None => "measured".to_owned(),
            },
            Self::Searched { is_quick: true, .. } => "measured by a quick search".to_owned(),
            Self::Searched { .. } => "measured by a search".to_owned(),
            Self::Interpolated(_) => "interpolated".to_owned(),
        }
    }
}

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let rates = sweep.settings.at_rate.iter().map(|rate| Fixed::Rate(*rate));
    let latencies = sweep.settings.at_latency.iter();
    let latencies = latencies.map(|latency| Fixed::Latency(*latency));
    let tables = rates
        .chain(latencies)
        .flat_map(|fixed| fixed.blocks(&sweep, &data.searches));
    let mut blocks: Vec<Block> = tables.collect();
    if !blocks.is_empty() {
        let text = "Interpolated values are read off the curve of a closed loop, so they are of \
                    service time: on its rising branch, at the first crossing, the logarithm of the \
                    latency linear in ops/s between two points, and never beyond the ends of what \
                    was measured. They are no measurement at that rate, and nothing is tested.";
        blocks.insert(0, Block::Text(Text::plain(text)));
    }
    blocks
}

impl Fixed {
    /// What is stated.
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

    /// One for each workload and distribution: its sweep of thread counts where there is one; of a rate,
    /// otherwise what was measured at rates.
    fn groups<'g, 'a>(self, sweep: &'g SweepTable<'a>) -> Vec<&'g WorkloadGrid<'a>> {
        let (swept, others): (Vec<_>, Vec<_>) =
            sweep.all_groups().partition(|group| group.has_peaks());
        let mut groups: Vec<&WorkloadGrid<'_>> = swept;
        for other in others.into_iter().filter(|_| matches!(self, Self::Rate(_))) {
            let is_same = |group: &&WorkloadGrid<'_>| {
                group.workload == other.workload && group.distribution == other.distribution
            };
            if !groups.iter().any(is_same) {
                groups.push(other);
            }
        }
        groups
    }

    /// The values of every workload of which any is known, and what they say.
    fn blocks(self, sweep: &SweepTable<'_>, searches: &[Search]) -> Vec<Block> {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for group in self.groups(sweep) {
            let Some((kind, statistic)) = sweep.latency(group) else {
                continue;
            };
            let metric = Metric::Latency { kind, statistic };
            let of = |name| {
                let searched = self.searched(searches, group, name, metric);
                searched.or_else(|| self.reading(sweep, group, name, (kind, statistic)))
            };
            let systems = sweep.systems.iter().map(|system| system.name.as_str());
            let readings: Vec<_> = systems.map(|name| (name, of(name))).collect();
            if readings.iter().all(|(_, reading)| reading.is_none()) {
                continue;
            }
            rows.push(self.row(group, metric, &readings));
            lines.extend(self.lines(sweep, group, metric, &readings));
        }
        if rows.is_empty() {
            let none = match self {
                Self::Rate(_) => "Nothing was measured at",
                Self::Latency(_) => "There is no reading at",
            };
            let none = format!("{none} {}, and no curve rises to it.", self.place());
            return vec![Block::Text(Text::plain(none))];
        }
        let systems = sweep.systems.iter();
        let unit = match self {
            Self::Rate(_) => "us",
            Self::Latency(_) => "ops/s",
        };
        let values = systems.flat_map(|system| {
            let value = Column::number(self.title()).unit(unit);
            [value, Column::text("from")].map(|column| column.of(&system.name))
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
                note: "– means that nothing was measured there, and that the rising branch of the curve \
                       does not get there from below."
                    .into(),
            }),
            Block::Statements(lines),
        ]
    }

    fn row(
        self,
        group: &WorkloadGrid<'_>,
        metric: Metric,
        readings: &[(&str, Option<Reading<'_, '_>>)],
    ) -> TableRow {
        let cells = |reading: &Option<Reading<'_, '_>>| match reading {
            None => [Cell::none(), Cell::default()],
            Some(reading) => {
                let per = match self {
                    Self::Rate(_) => 1e3,
                    Self::Latency(_) => 1.0,
                };
                let value = Stated {
                    value: reading.value() / per,
                    ..reading.stated()
                };
                let written = Cell::new(self.written(reading)).with_stated(value);
                [written, Cell::new(reading.source())]
            }
        };
        let names = [group.title.clone(), metric.to_string(), self.place()].map(Cell::new);
        let values = readings.iter().flat_map(|(_, reading)| cells(reading));
        TableRow {
            cells: names.into_iter().chain(values).collect(),
            total: false,
        }
    }

    fn written(self, reading: &Reading<'_, '_>) -> String {
        match self {
            Self::Rate(_) => number::stated_latency(reading.stated()),
            Self::Latency(_) => match reading {
                Reading::Searched {
                    low,
                    high: Some(high),
                    ..
                } => {
                    format!("{} to {}", number::rate(*low), number::rate(*high))
                }
                _ => reading.stated().text(number::rate),
            },
        }
    }

    /// Each system against the baseline, or the best against the others.
    fn lines<'a>(
        self,
        sweep: &SweepTable<'a>,
        group: &WorkloadGrid<'a>,
        metric: Metric,
        readings: &[(&'a str, Option<Reading<'_, 'a>>)],
    ) -> Vec<Text> {
        let stated = match self {
            Self::Rate(_) => metric,
            Self::Latency(_) => Metric::OpsPerSec,
        };
        let known = readings.iter();
        let mut known: Vec<(&'a str, &Reading<'_, 'a>)> = known
            .filter_map(|(name, reading)| Some((*name, reading.as_ref()?)))
            .collect();
        known.sort_by(|(_, a), (_, b)| stated.best_first(a.value(), b.value()));
        let ranked: Vec<&'a str> = known.iter().map(|(name, _)| *name).collect();
        let of = |name: &str| known.iter().find(|(known, _)| *known == name).copied();
        let pairs = compare::pairs_of(&ranked, sweep).into_iter();
        let pairs = pairs.filter_map(|(a, b)| of(a).zip(of(b)));
        let like = pairs.filter(|((_, a), (_, b))| a.is_like(b));
        let lines = like.filter_map(|pair| self.line(sweep, group, (metric, stated), pair));
        lines.collect()
    }

    fn line(
        self,
        sweep: &SweepTable<'_>,
        group: &WorkloadGrid<'_>,
        (metric, stated): (Metric, Metric),
        ((a, of_a), (b, of_b)): ((&str, &Reading<'_, '_>), (&str, &Reading<'_, '_>)),
    ) -> Option<Text> {
        let ratio = ratio(of_a, of_b)?;
        let value = ratio.value;
        let figures = format!("{} against {}", self.written(of_a), self.written(of_b));
        let begin = match self {
            Self::Rate(_) => format!("{}, {metric} latency at {}: ", group.title, self.place()),
            Self::Latency(_) => {
                let place = self.place();
                format!("{}, ops/s at {place} of {metric} latency: ", group.title)
            }
        };
        let text = Text::plain(begin);
        let source = of_a.source();
        if let Some(same) = same(sweep, metric, (a, of_a), (b, of_b), ratio) {
            return Some(text.and(format!("{same} ({figures}; {source}).")));
        }
        let text = text.and_strong(a).and(" ");
        let text = match self {
            Self::Rate(_) => text
                .and("is ")
                .and_strong(lower(stated, ratio))
                .and(" than "),
            Self::Latency(_) => more(text, &stated.improvement(ratio), value < 1.0),
        };
        Some(text.and(format!("{b} ({figures}; {source}).")))
    }

    /// What a search for this limit alone found.
    fn searched<'g, 'a>(
        self,
        searches: &[Search],
        group: &WorkloadGrid<'a>,
        system: &str,
        metric: Metric,
    ) -> Option<Reading<'g, 'a>> {
        let Self::Latency(latency) = self else {
            return None;
        };
        let is_it = |search: &&Search| {
            let slo = &search.slo;
            let limits = search.settings.latency.as_slice();
            let is_alone =
                |limit: &Limit| limit.latency == latency && limit.metric() == Some(metric);
            slo.system == system
                && group.workload == slo.workload
                && group.distribution == slo.distribution
                && matches!(limits, [limit] if is_alone(limit))
        };
        let search = searches.iter().find(is_it)?;
        let answer = search.answer();
        if answer.status == Status::Unfinished {
            return None;
        }
        Some(Reading::Searched {
            low: answer.low?,
            high: answer.high,
            is_quick: search.settings.quick,
        })
    }

    fn reading<'g, 'a>(
        self,
        sweep: &'g SweepTable<'a>,
        group: &WorkloadGrid<'a>,
        system: &'a str,
        latency: (Kind, Statistic),
    ) -> Option<Reading<'g, 'a>> {
        let rate = match self {
            Self::Rate(rate) => rate,
            Self::Latency(limit) => {
                let curve = curve(group, system, latency);
                let ops = reading::ops_at(&curve, limit.as_nanos() as f64);
                return ops.map(Reading::Interpolated);
            }
        };
        measured(sweep, group, system, latency, rate).or_else(|| {
            let ns = reading::latency_at(&curve(group, system, latency), rate);
            ns.map(Reading::Interpolated)
        })
    }
}

/// How the first is to the second; of two searches the least that it is: the lower end of the one to
/// the upper end of the other. None where no side of it is known.
fn ratio(a: &Reading<'_, '_>, b: &Reading<'_, '_>) -> Option<Stated> {
    if let (Reading::Searched { low, .. }, Reading::Searched { high, .. }) = (a, b) {
        return high.map(|high| Stated::at_least(low / high));
    }
    let bound = a.stated().bound.and(b.stated().bound.reversed())?;
    let value = a.value() / b.value();
    Some(Stated { value, bound })
}

/// That two values do not differ, in words: by their comparison where they were measured, and
/// otherwise as they are. None where they do.
fn same(
    sweep: &SweepTable<'_>,
    metric: Metric,
    (a, of_a): (&str, &Reading<'_, '_>),
    (b, of_b): (&str, &Reading<'_, '_>),
    ratio: Stated,
) -> Option<String> {
    if let (Reading::Searched { .. }, Reading::Searched { .. }) = (of_a, of_b) {
        let overlap = format!("the answers of {a} and {b} overlap, and no difference is shown");
        return (ratio.value <= 1.0).then_some(overlap);
    }
    let tested = match (of_a, of_b) {
        (Reading::Measured { group, step, .. }, Reading::Measured { step: other, .. }) => {
            let of = sweep.comparisons.at(group, *step, metric, (a, b));
            of.filter(|_| step == other)
        }
        _ => None,
    };
    let band = sweep.comparisons.band;
    let outcome = match tested {
        Some(comparison) => Outcome::of(&comparison, band),
        None if compare::is_within(ratio.value, band) => Outcome::Tied,
        None => Outcome::Differ,
    };
    let uncertain = format!("which of {a} and {b} is lower is not certain");
    compare::alike(outcome, (a, b), sweep.comparisons)
        .or_else(|| (!compare::is_certain(ratio)).then_some(uncertain))
}

/// The latency of points at the rate, response time; of several client counts, those of the most.
fn measured<'g, 'a>(
    sweep: &'g SweepTable<'a>,
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
    rate: f64,
) -> Option<Reading<'g, 'a>> {
    let is_of = |other: &&WorkloadGrid<'a>| {
        other.workload == group.workload && other.distribution == group.distribution
    };
    let cells = sweep.all_groups().filter(is_of).flat_map(|other| {
        let at_rate = move |cell: &&GridCell<'a>| cell.step.rate.or(other.rate) == Some(rate);
        let cells = other.cells_of(system).filter(at_rate);
        cells.map(move |cell| (other, cell))
    });
    let valid = cells.filter(|(_, cell)| cell.fault.is_none());
    let (group, cell) = valid.max_by_key(|(_, cell)| cell.step.threads)?;
    let value = cell.latency(kind, TimeBasis::Response, statistic)?.middle;
    let step = cell.step;
    Some(Reading::Measured { value, group, step })
}

/// The curve of a system by client count, from the first point of which the latency is known exactly
/// to the next of which it is not, or that is not valid: nothing is read across a gap.
fn curve<'a>(
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
) -> Vec<CurvePoint> {
    let point = |cell: &GridCell<'_>| {
        let ns = cell.latency(kind, TimeBasis::Service, statistic)?.middle;
        let is_known = cell.fault.is_none() && ns.is_exact() && ns.value > 0.0;
        let ops = cell.ops()?.middle;
        is_known.then_some(CurvePoint { ops, ns: ns.value })
    };
    let cells = group
        .steps
        .iter()
        .filter_map(|&step| group.cell(system, step));
    let points = cells.map(point).skip_while(Option::is_none);
    points.map_while(|point| point).collect()
}
