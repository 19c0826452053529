//! Each workload: what can be said of it, the curves, the bars, the table by thread count.

use super::{Section, rates};
use crate::{
    Block, Cell, Chart, Column, Control, ControlChoice, Data, Figure, Table, TableRow, Text,
    axis::{Axis, Step},
    block::anchor,
    chart::{
        bars,
        curve::{self, LatencyChoice},
    },
    compare,
    findings::Index,
    measure::Measured,
    sweep::{self, SpreadPeak, SweepTable, WorkloadGrid},
};
use tailmark_results::{
    Kind, STATISTICS, Stated, Statistic, System, TimeBasis, compare as statistics, number,
};

pub const SECTION: Section = Section {
    name: "workloads",
    title: "Workloads",
    about: "ops/s against latency, both against threads, and the table, for each workload",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let index = Index::new(data);
    let leader = compare::leader(&sweep);
    // What a workload did at several rates comes behind what it did by client count.
    let mut groups: Vec<&WorkloadGrid<'_>> = sweep.all_groups().collect();
    let names: Vec<&str> = groups.iter().map(|group| group.workload.as_str()).collect();
    groups.sort_by_key(|group| names.iter().position(|name| *name == group.workload));
    groups
        .into_iter()
        .flat_map(|group| workload(group, &sweep, &index, leader))
        .collect()
}

fn workload<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
    leader: Option<&'a System>,
) -> Vec<Block> {
    let about = match group.mix() {
        mix if mix.is_empty() => group.conditions.clone(),
        mix => format!("{mix}; {}", group.conditions),
    };
    let heading = Block::Heading {
        anchor: group.anchor.clone(),
        title: group.title_with_conditions(),
        about,
    };
    let mut blocks = vec![
        heading,
        Block::Statements(compare::statements(group, sweep)),
    ];
    if group.rate.is_some() {
        blocks.push(Block::Text(Text::plain(
            "At a fixed rate, ops/s cannot exceed the rate; latency is what differs.",
        )));
    }
    blocks.extend(figure(group, sweep).map(Block::Figure));
    let several = sweep.systems.iter().filter(|s| group.has(&s.name)).count() > 1;
    if group.axis == Axis::Threads || several {
        blocks.push(Block::Table(table(group, sweep, index, leader)));
    }
    if group.axis == Axis::Rates {
        blocks.extend(rates::tables(group, sweep, index));
    }
    blocks
}

fn figure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Figure> {
    let kinds = group.kinds();
    let clocks: &[TimeBasis] = if group.has_response() {
        &TimeBasis::ALL
    } else {
        &TimeBasis::ALL[..1]
    };
    let initial = initial_measure(group, sweep)?;
    let readings: Vec<LatencyChoice> = kinds
        .iter()
        .flat_map(|&kind| clocks.iter().map(move |&clock| (kind, clock)))
        .flat_map(|(kind, clock)| {
            STATISTICS.iter().map(move |&measure| LatencyChoice {
                kind,
                clock,
                measure,
            })
        })
        .collect();
    let charts = match group.axis {
        Axis::Threads => thread_charts(group, sweep, &readings),
        Axis::Rates => vec![rates::chart(group, sweep, &readings)],
    };
    let anchor = anchor(&[&group.anchor, "charts"]);
    Some(Figure {
        anchor,
        controls: controls(&kinds, clocks, initial),
        charts,
    })
}

fn thread_charts(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    readings: &[LatencyChoice],
) -> Vec<Chart> {
    let variants =
        |draw: fn(&WorkloadGrid<'_>, &SweepTable<'_>, LatencyChoice) -> serde_json::Value| {
            readings
                .iter()
                .map(|&reading| draw(group, sweep, reading))
                .collect::<Vec<_>>()
        };
    let mut charts = vec![Chart {
        title: "Latency against operations per second".into(),
        hint: "lower and further right is better; labels are thread counts".into(),
        about: format!(
            "One line a system of {}, one point a thread count.",
            group.title
        ),
        height: 400,
        wide: true,
        base: curve::curve_base(),
        variants: variants(curve::curve),
    }];
    if group.steps.len() > 1 {
        charts.push(Chart {
            title: "Operations per second by threads".into(),
            hint: "higher is better".into(),
            about: format!(
                "Bars of ops/s of each system in {} by thread count.",
                group.title
            ),
            height: 300,
            wide: false,
            base: bars::ops_by_threads(group, sweep),
            variants: vec![serde_json::json!({})],
        });
        charts.push(Chart {
            title: "Latency by threads".into(),
            hint: "lower is better".into(),
            about: format!(
                "Lines of latency of each system in {} by thread count.",
                group.title
            ),
            height: 300,
            wide: false,
            base: curve::latency_base(group),
            variants: variants(curve::latency),
        });
    }
    charts
}

/// In the order in which readings are made: kind, clock, measure.
fn controls(kinds: &[Kind], clocks: &[TimeBasis], initial: usize) -> Vec<Control> {
    let control = |key, label: &str, names: Vec<&str>, initial| Control {
        key,
        label: label.into(),
        choices: names.into_iter().map(ControlChoice::new).collect(),
        initial,
    };
    vec![
        control(
            "kind",
            "Requests",
            kinds.iter().map(|k| k.name()).collect(),
            0,
        ),
        control(
            "clock",
            "Clock",
            clocks.iter().map(|c| c.name()).collect(),
            0,
        ),
        control(
            "measure",
            "Latency",
            STATISTICS.iter().map(|m| m.name).collect(),
            initial,
        ),
    ]
}

/// The 99th percentile where every system has it everywhere, otherwise the mean.
fn initial_measure(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<usize> {
    let kind = group.main_kind()?;
    let has = |measure: Statistic| {
        sweep
            .systems
            .iter()
            .flat_map(|s| group.cells_of(&s.name))
            .all(|cell| cell.latency(kind, TimeBasis::Response, measure).is_some())
    };
    let measure = if has(Statistic::P99) {
        Statistic::P99
    } else {
        Statistic::MEAN
    };
    STATISTICS.iter().position(|m| *m == measure)
}

/// A number a table shows for each system, and how two of them compare.
struct Quantity<'q, 'a> {
    title: String,
    value: &'q dyn Fn(&sweep::GridCell<'a>) -> Option<Measured>,
    write: fn(f64) -> String,
    improvement: fn(Stated, Stated) -> Option<Stated>,
    is_rate: bool,
}

/// How much better one system is than another.
struct Gain {
    /// None where it is not certain: of two lower bounds.
    gain: Option<Stated>,
    /// Whether repeats show that there is a difference.
    shown: bool,
}

struct Grid<'s, 'a> {
    group: &'s WorkloadGrid<'a>,
    systems: Vec<&'a System>,
    leader: Option<&'a System>,
    peaks: Vec<Option<SpreadPeak>>,
    index: &'s Index<'s>,
}

fn table<'a>(
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
    };
    let kind = group.main_kind();
    let ops = |cell: &sweep::GridCell<'a>| cell.ops().map(Measured::from);
    let latency = |measure| {
        move |cell: &sweep::GridCell<'a>| cell.latency(kind?, TimeBasis::Response, measure)
    };
    let (mean, p99) = (latency(Statistic::MEAN), latency(Statistic::P99));
    let of =
        |measure: Statistic| format!("{} {} latency", measure.name, kind.map_or("", Kind::name));
    let quantity = |title: String, value, is_rate| Quantity {
        title,
        value,
        write: if is_rate {
            number::rate
        } else {
            number::latency
        },
        improvement: if is_rate {
            |a, b| statistics::improvement(a.value, b.value).map(Stated::exact)
        } else {
            statistics::improvement_latency
        },
        is_rate,
    };
    let mut quantities = Vec::new();
    // At several rates that is in the table of each system; no system is better by it.
    if group.axis == Axis::Threads {
        quantities.push(quantity("operations per second".into(), &ops, true));
    }
    if kind.is_some() {
        quantities.push(quantity(of(Statistic::MEAN), &mean, false));
        quantities.push(quantity(of(Statistic::P99), &p99, false));
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

    fn row(&self, step: Step, quantities: &[Quantity<'_, 'a>]) -> TableRow {
        let mut cells = vec![Cell::new(step.label())];
        for quantity in quantities {
            for (i, system) in self.systems.iter().enumerate() {
                cells.push(self.value(quantity, system, i, step));
            }
            for (a, b) in self.pairs() {
                cells.push(self.improvement(quantity, a, b, step));
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
            text: measured.middle.text(quantity.write),
        }
    }

    /// How much better the first is than the second, where both have a value.
    fn gain(
        &self,
        quantity: &Quantity<'_, 'a>,
        a: &'a System,
        b: &'a System,
        step: Step,
    ) -> Option<Gain> {
        let value = |s: &'a System| (quantity.value)(self.group.valid_cell(&s.name, step)?);
        let (ours, theirs) = (value(a)?, value(b)?);
        let gain = (quantity.improvement)(ours.middle, theirs.middle);
        if gain.is_none() && theirs.middle.value <= 0.0 {
            return None;
        }
        Some(Gain {
            gain,
            shown: !ours.meets(theirs),
        })
    }

    fn improvement(
        &self,
        quantity: &Quantity<'_, 'a>,
        a: &'a System,
        b: &'a System,
        step: Step,
    ) -> Cell {
        match self.gain(quantity, a, b, step) {
            None => Cell::none(),
            Some(Gain { gain: None, .. }) => Cell::none().with_detail("not certain"),
            Some(Gain {
                gain: Some(gain),
                shown,
            }) => Cell {
                muted: !shown,
                detail: if shown { "" } else { "no difference shown" }.to_owned(),
                ..Cell::new(number::stated_change(gain))
            },
        }
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
                let gains = steps.filter_map(|&step| self.gain(quantity, a, b, step));
                // Where one of them is not certain, no mean of them is.
                let gains: Option<Vec<Stated>> = gains.map(|gain| gain.gain).collect();
                let average = gains.and_then(|gains| statistics::average_stated(&gains));
                let text = average.map(number::stated_change);
                cells.push(text.map_or_else(Cell::none, Cell::new));
            }
        }
        Some(TableRow { cells, total: true })
    }
}
