//! A workload at several fixed rates: a table for each system. Part of the section on workloads.

use crate::{
    Block, Cell, Column, Table, TableRow, Text,
    findings::Index,
    grid_cell::GridCell,
    measure::Quantity,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{
    Arrivals, Bounded, Kind, LagCauses, Latencies, Phase, QUANTILES, RankedLatencies, STATISTICS,
    System, TimeBasis, number, quantile::P99,
};

/// The content of each system's table.
pub fn tables<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
) -> Vec<Block> {
    let systems = sweep.systems.iter().chain(&sweep.ceilings);
    let measured = systems.filter(|system| group.has(&system.name));
    let table = |system: &&'a System| Block::Table(table(group, sweep, index, system));
    let text = format!(
        "At a fixed rate, {}. Response time counts from when an operation was due, whether or not a \
         client was free.",
        reached(group.arrivals)
    );
    let text = Block::Text(Text::plain(text));
    std::iter::once(text).chain(measured.map(table)).collect()
}

/// How ops/s relate to a fixed rate, in words. With Poisson arrivals the number of due operations
/// varies by chance.
pub fn reached(arrivals: Option<Arrivals>) -> &'static str {
    match arrivals {
        Some(Arrivals::Even) => "ops/s cannot exceed the rate",
        Some(Arrivals::Poisson) => {
            "ops/s follow the rate as far as the system keeps up, with small random deviations"
        }
        None => "ops/s follow the rate as far as the system keeps up",
    }
}

/// How a count of operations is read from a phase.
type Count = fn(&Phase) -> u64;

/// The part of the start lag that belongs to a cause.
type Cause = fn(&LagCauses) -> &Latencies;

/// Operations that were not done in the measured part.
const LEFT: [(&str, Count); 2] = [
    ("drained", |phase| phase.drained),
    ("never done", |phase| phase.censored),
];

/// Start lag by its cause.
const LAG: [(&str, Cause); 2] = [
    ("no client free", |causes| &causes.no_client),
    ("woken late", |causes| &causes.woken_late),
];

fn table<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    index: &Index<'_>,
    system: &'a System,
) -> Table {
    let kind = group.main_kind();
    let name = kind.map_or("", Kind::name);
    let mut columns = vec![
        Column::number(group.axis.title()),
        Column::number("Reached ops/s").unit("ops/s"),
        Column::number("Threads"),
    ];
    let latencies = QUANTILES
        .iter()
        .map(|quantile| Column::number(quantile.name).unit("us"));
    columns.extend(latencies.map(|column| column.group(format!("{name} response time"))));
    columns.extend(LEFT.map(|(title, _)| Column::number(title).group("not done in time")));
    columns.extend(LAG.map(|(title, _)| {
        let column = Column::number(title).unit("us");
        column.group("start lag, p99")
    }));
    let cells = group.cells_of(&system.name);
    let rows = cells.map(|cell| row(cell, sweep, index, kind)).collect();
    Table {
        caption: system.name.clone(),
        columns,
        rows,
        note: "≥ means at least: requests failed, or operations were due and never done. Drained \
               operations were done after the end of the measured part and are not in ops/s. With \
               several runs, these counts are the highest of any run. – means fewer than 10 samples \
               beyond the value; grey means fewer than 100."
            .into(),
    }
}

fn row(
    cell: &GridCell<'_>,
    sweep: &SweepTable<'_>,
    index: &Index<'_>,
    kind: Option<Kind>,
) -> TableRow {
    let reached = cell.ops().map_or_else(Cell::none, |ops| {
        let findings = cell.points.iter().flat_map(|point| &point.phase.findings);
        Cell {
            detail: cell
                .fault_text()
                .unwrap_or_else(|| ops.range(number::bounded_rate)),
            muted: cell.fault.is_some(),
            fault: cell.fault_text().unwrap_or_default(),
            badges: index.badges(findings),
            ..Cell::new(number::rate(ops.middle)).with_value(ops.middle)
        }
    });
    let mut cells = vec![
        Cell::new(cell.step.label()).with_detail(requested(cell, sweep)),
        reached,
        Cell::new(cell.step.threads.to_string()),
    ];
    for measure in STATISTICS.into_iter().filter(|s| s.quantile.is_some()) {
        let latency = kind.and_then(|kind| cell.latency(kind, TimeBasis::Response, measure));
        cells.push(latency.map_or_else(Cell::none, |ns| written(ns, cell.fault.is_some())));
    }
    for (_, count) in LEFT {
        let counts = cell.points.iter().map(|point| count(&point.phase));
        let most = counts.max().map(number::count);
        cells.push(most.map_or_else(Cell::none, Cell::new));
    }
    cells.extend(LAG.map(|(_, cause)| lag(cell, cause).unwrap_or_else(Cell::none)));
    TableRow {
        cells,
        total: false,
    }
}

fn written(ns: Quantity, faulty: bool) -> Cell {
    Cell {
        muted: faulty || !ns.solid,
        ..Cell::new(number::bounded_latency(ns.middle))
            .with_detail(ns.range(number::bounded_latency))
            .with_bounded(Bounded {
                value: ns.middle.value / 1e3,
                ..ns.middle
            })
    }
}

/// The 99th percentile of the start lag by one cause; empty if nothing was late by it.
fn lag(cell: &GridCell<'_>, cause: Cause) -> Option<Cell> {
    let lags = cell.points.iter().map(|point| {
        let causes = point.phase.start_lag.as_ref()?.causes.as_ref()?;
        RankedLatencies::new(cause(causes)).quantile(P99)
    });
    let lags: Vec<Bounded> = lags.collect::<Option<_>>()?;
    Quantity::new(&lags, true).map(|lag| written(lag, false))
}

/// `60% of disk's peak so far, 2,400`, if the rate was given as a percentage: runs after it may have
/// changed the peak. `2,390 to 2,400` if it differed between studies.
fn requested(cell: &GridCell<'_>, sweep: &SweepTable<'_>) -> String {
    let Some(key) = cell.points.first().map(|point| &point.key) else {
        return String::new();
    };
    let resolved = sweep.data.resolved_rates.iter();
    let resolved: Vec<_> = resolved.filter(|resolved| key.is_at(resolved)).collect();
    let Some(first) = resolved.first() else {
        return String::new();
    };
    let peaks = || resolved.iter().map(|own| own.peak_ops_per_sec);
    let [low, high] = [f64::min, f64::max].map(|end| peaks().fold(first.peak_ops_per_sec, end));
    let [low, high] = [low, high].map(number::rate);
    let peak = if low == high {
        low
    } else {
        format!("{low} to {high}")
    };
    let (part, system) = (&first.requested, &first.of_system);
    format!("{part} of {system}'s peak so far, {peak}")
}
