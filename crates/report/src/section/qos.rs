//! Quality of service: the high quantiles of whole runs and of their blocks of a million requests,
//! so that a bad quarter of an hour is not hidden in a day.

use super::Section;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, Text,
    axis::Axis,
    block::anchor,
    grid_cell::GridCell,
    measure::{self, Quantity},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{
    BlockQos, BlockValue, Bounded, Kind, KindResult, Phase, Point, Qos, Quantile, System,
    TimeBasis, number,
    qos::{BLOCK_SAMPLES, qualities, requests_beyond},
};
use tailmark_stats::statistics::geometric_mean;

pub const SECTION: Section = Section {
    name: "qos",
    title: "Quality of service",
    render,
};

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let groups = sweep.all_groups();
    let tables = groups.filter_map(|group| Some((group, table(group, &sweep)?)));
    let blocks = tables.flat_map(|(group, table)| {
        let at_scale = at_scale(group, &sweep).map(Block::Table);
        let heading = Block::Heading {
            anchor: anchor(&["qos", &group.anchor]),
            title: group.title_with_conditions(),
            about: group.conditions.clone(),
        };
        [heading, Block::Table(table)].into_iter().chain(at_scale)
    });
    let mut blocks: Vec<Block> = blocks.collect();
    if !blocks.is_empty() && data.points.iter().any(is_counted) {
        blocks.insert(0, Block::Text(definition()));
    }
    blocks
}

fn definition() -> Text {
    Text::plain(format!(
        "A block is the fewest consecutive seconds with {} requests of a kind. A block has quantiles \
         like a whole run: of a million requests, p99.99 is the fastest of the 100 slowest. Requests \
         per second at or above the value count all requests of the kind, failed ones included.",
        number::count(BLOCK_SAMPLES)
    ))
}

/// Whether the number of requests is known: an import may state quantiles alone.
fn is_counted(point: &Point) -> bool {
    let mut kinds = point.phase.kinds.values();
    kinds.any(|kind| kind.count > 0)
}

/// None of a workload whose runs have no quantile at all.
fn table(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Table> {
    let mut rows = Vec::new();
    let mut has_blocks = false;
    for kind in group.kinds() {
        for system in &sweep.systems {
            for (place, cell) in places(group, system) {
                let Some(service) = Service::new(cell, kind) else {
                    continue;
                };
                has_blocks |= service.blocks() > 0;
                let title = [system.name.clone(), place, kind.name().to_owned()];
                rows.extend(service.rows(&title));
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut columns = ["System", "At", "Requests", "Of"]
        .map(Column::text)
        .to_vec();
    columns
        .extend(qualities().map(|quality| Column::number(quality.name).unit("us or requests/s")));
    let is_counted = group.points().any(is_counted);
    if !is_counted {
        without_unstated(&mut columns, &mut rows);
    }
    Some(Table {
        caption: String::new(),
        columns,
        rows,
        note: if is_counted {
            note(group, has_blocks)
        } else {
            "As the import states them, without numbers of requests.".to_owned()
        },
    })
}

/// Drops the qualities that an import states nowhere, and the rows without any.
fn without_unstated(columns: &mut Vec<Column>, rows: &mut Vec<TableRow>) {
    let is_stated = |cell: &Cell| cell.value.is_some();
    let own: Vec<bool> = (0..columns.len())
        .map(|at| !columns[at].numeric || rows.iter().any(|row| is_stated(&row.cells[at])))
        .collect();
    rows.retain(|row| row.cells.iter().any(is_stated));
    for row in rows {
        let cells = std::mem::take(&mut row.cells).into_iter().enumerate();
        let cells = cells.filter(|(at, _)| own[*at]);
        row.cells = cells
            .map(|(_, cell)| Cell {
                muted: false,
                ..cell
            })
            .collect();
    }
    let mut at = own.iter();
    columns.retain(|_| at.next().copied().unwrap_or_default());
}

/// The installations that a study scales up to, and how many devices each has.
const SCALES: [(&str, f64); 4] = [
    ("1 device", 1.0),
    ("a server with 10", 10.0),
    ("20 such servers", 200.0),
    ("20 racks of those", 4_000.0),
];

/// How many requests per second are at or above each quality, for one device and for many with the
/// same load: of the main kind of request, at the peak or at the highest rate.
fn at_scale(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Table> {
    let kind = group.main_kind()?;
    let mut rows = Vec::new();
    for system in &sweep.systems {
        let places = places(group, system);
        let place = match group.axis {
            Axis::Threads => places.into_iter().next(),
            Axis::Rates => places.into_iter().last(),
        };
        let Some((place, cell)) = place.filter(|(_, cell)| cell.fault.is_none()) else {
            continue;
        };
        let Some(service) = Service::new(cell, kind) else {
            continue;
        };
        let known = qualities().enumerate();
        let known = known.filter_map(|(index, quality)| {
            let beyond = service.requests_beyond(index, quality)?;
            Some((service.whole(index), quality, beyond))
        });
        for (at, (value, quality, beyond)) in known.enumerate() {
            let names = [&system.name, &place].map(|name| match at {
                0 => Cell::new(name),
                _ => Cell::default(),
            });
            let scaled = SCALES.map(|(_, devices)| {
                let requests = beyond * devices;
                Cell::new(few(requests)).with_value(requests)
            });
            let cells = names.into_iter().chain([Cell::new(quality.name), value]);
            rows.push(TableRow {
                cells: cells.chain(scaled).collect(),
                total: false,
            });
        }
    }
    let mut columns = ["System", "At", "Quality"].map(Column::text).to_vec();
    columns.push(Column::number(format!("{} latency", kind.name())).unit("us"));
    columns.extend(SCALES.map(|(name, _)| {
        let column = Column::number(name).unit("requests/s");
        column.group(format!("{} requests/s at or above", kind.name()))
    }));
    (!rows.is_empty()).then(|| Table {
        caption: "Requests at or above the value, at scale".into(),
        columns,
        rows,
        note: "Assumes that each device performs like the measured one; nothing else is scaled."
            .into(),
    })
}

fn note(group: &WorkloadGrid<'_>, has_blocks: bool) -> String {
    let mut note = String::new();
    if group.has_response() {
        note.push_str("Latencies are response times. ");
    }
    note.push_str(
        "– means fewer than 10 samples beyond the value; grey means fewer than 100 in the block with \
         the fewest. ",
    );
    let runs = group.cell_sizes().max().unwrap_or(0);
    match measure::ends(runs) {
        "" => {}
        ends => note.push_str(&format!(
            "Whole runs are the geometric mean of the runs, with {ends}. The worst and the best \
             block are of all runs; the median block is the geometric mean of the medians. "
        )),
    }
    note.push_str(if has_blocks {
        "Quantiles of blocks are accurate to 1 %. Below the worst block is when it began, from the \
             start of the measured part. Operations that were never done are in no block."
    } else {
        "No run has enough requests for a block, or the study predates blocks."
    });
    note
}

/// The places of a system that are examined: each rate, or the most clients and the peak.
fn places<'g, 'a>(
    group: &'g WorkloadGrid<'a>,
    system: &'a System,
) -> Vec<(String, &'g GridCell<'a>)> {
    if group.axis == Axis::Rates {
        let cells = group.cells_of(&system.name);
        return cells.map(|cell| (cell.step.place(), cell)).collect();
    }
    let Some(last) = group.cells_of(&system.name).last() else {
        return Vec::new();
    };
    let highest = group.peak(&system.name).filter(|_| group.has_peaks());
    let at_peak =
        |cell: &&GridCell<'_>| highest.is_some_and(|peak| peak.threads == cell.step.threads);
    let name = |cell: &GridCell<'_>| {
        if at_peak(&cell) {
            format!("{} (peak)", cell.step.place())
        } else {
            cell.step.place()
        }
    };
    let peak = group.cells_of(&system.name).find(at_peak);
    let peak = peak.filter(|cell| cell.step != last.step);
    let cells = peak.into_iter().chain([last]);
    cells.map(|cell| (name(cell), cell)).collect()
}

/// One kind of request of a point, over its runs.
struct Service<'a> {
    runs: Vec<RunService<'a>>,
}

struct RunService<'a> {
    repeat: u32,
    /// Requests per second of this kind; `None` if unknown.
    requests_per_s: Option<f64>,
    /// One for each of [`qualities`].
    qualities: Vec<Qos<'a>>,
}

impl<'a> Service<'a> {
    /// `None` for a kind that one of the runs lacks, and if no quantile is known.
    fn new(cell: &GridCell<'a>, kind: Kind) -> Option<Self> {
        let run = |point: &&'a tailmark_model::Point| {
            let phase = &point.phase;
            Some(RunService {
                repeat: point.key.repeat,
                requests_per_s: requests_per_s(phase, kind),
                qualities: phase.qos(kind, TimeBasis::Response),
            })
        };
        let runs = cell.points.iter().map(run).collect::<Option<Vec<_>>>()?;
        let is_known = |qos: &Qos<'_>| qos.run.is_some() || qos.blocks.is_some();
        let mut all = runs.iter().flat_map(|service| &service.qualities);
        all.any(is_known).then_some(Self { runs })
    }

    /// Blocks of all runs.
    fn blocks(&self) -> u64 {
        let of_run = |run: &RunService<'_>| {
            let blocks = run.qualities.iter().filter_map(|qos| qos.blocks);
            blocks.map(|blocks| blocks.blocks).max().unwrap_or(0)
        };
        self.runs.iter().map(of_run).sum()
    }

    /// The first one begins with `title`.
    fn rows(&self, title: &[String]) -> Vec<TableRow> {
        type Write<'s> = Box<dyn Fn(usize, Quantile) -> Cell + 's>;
        let whole = match self.runs.len() {
            1 => "whole run".to_owned(),
            n => format!("{n} whole runs"),
        };
        let mut parts: Vec<(String, Write<'_>)> =
            vec![(whole, Box::new(|index, _| self.whole(index)))];
        match self.blocks() {
            0 => {}
            blocks => parts.extend([
                (
                    format!("worst of {}", number::plural(blocks, "block")),
                    Box::new(|index, _| self.worst(index)) as Write<'_>,
                ),
                (
                    "median block".to_owned(),
                    Box::new(|index, _| self.median(index)),
                ),
                (
                    "best block".to_owned(),
                    Box::new(|index, _| self.best(index)),
                ),
            ]),
        }
        parts.push((
            "requests/s at or above".to_owned(),
            Box::new(|index, quality| self.beyond(index, quality)),
        ));
        let row = |(at, (part, write)): (usize, (String, Write<'_>))| {
            let title = title.iter().map(|text| match at {
                0 => Cell::new(text),
                _ => Cell::default(),
            });
            let values = qualities().enumerate();
            let values = values.map(|(index, quality)| write(index, quality));
            TableRow {
                cells: title.chain([Cell::new(part)]).chain(values).collect(),
                total: false,
            }
        };
        parts.into_iter().enumerate().map(row).collect()
    }

    fn qualities(&self, index: usize) -> impl Iterator<Item = (u32, Qos<'a>)> {
        let quality = move |run: &RunService<'a>| Some((run.repeat, *run.qualities.get(index)?));
        self.runs.iter().filter_map(quality)
    }

    fn whole(&self, index: usize) -> Cell {
        let values: Option<Vec<Bounded>> = self.qualities(index).map(|(_, qos)| qos.run).collect();
        let is_solid = self.qualities(index).all(|(_, qos)| qos.is_solid);
        let measured = values.and_then(|values| Quantity::new(&values, is_solid));
        measured.map_or_else(Cell::none, |ns| Cell {
            muted: !ns.solid,
            detail: ns.range(number::bounded_latency),
            ..Cell::new(number::bounded_latency(ns.middle)).with_bounded(us(ns.middle))
        })
    }

    fn of_blocks(&self, index: usize) -> impl Iterator<Item = (u32, &'a BlockQos)> {
        self.qualities(index)
            .filter_map(|(repeat, qos)| Some((repeat, qos.blocks?)))
    }

    /// The block with the highest exact value, and its run.
    fn highest_exact(&self, index: usize) -> Option<(u32, BlockValue)> {
        let values = self.of_blocks(index).flat_map(|(repeat, block)| {
            [block.worst, block.median, block.best].map(|value| (repeat, value))
        });
        let exact = values.filter(|(_, value)| !value.is_at_least);
        exact.max_by_key(|(_, value)| value.ns)
    }

    fn worst(&self, index: usize) -> Cell {
        let worst = self.of_blocks(index).max_by_key(|(_, b)| b.worst.rank());
        worst.map_or_else(Cell::none, |(repeat, blocks)| {
            let raised = self.highest_exact(index);
            let raised = raised.map(|(run, highest)| (run, blocks.worst.above(Some(highest))));
            let raised = raised.filter(|(_, value)| *value != blocks.worst);
            let (repeat, value) = raised.unwrap_or((repeat, blocks.worst));
            let mut detail = format!("from {:.0} s", value.start_s);
            if self.runs.len() > 1 {
                detail.push_str(&format!(", run {repeat}"));
            }
            written(value.bounded(), blocks.is_solid()).with_detail(detail)
        })
    }

    fn median(&self, index: usize) -> Cell {
        let highest = self.highest_exact(index).map(|(_, value)| value);
        let median = |(_, blocks): (u32, &BlockQos)| blocks.median.above(highest).bounded();
        let medians = || self.of_blocks(index).map(median);
        let is_solid = self.of_blocks(index).all(|(_, blocks)| blocks.is_solid());
        let mean = geometric_mean(&medians().map(|value| value.value).collect::<Vec<_>>());
        let bounded = if medians().all(Bounded::is_exact) {
            Bounded::exact
        } else {
            Bounded::at_least
        };
        mean.map_or_else(Cell::none, |ns| written(bounded(ns), is_solid))
    }

    fn best(&self, index: usize) -> Cell {
        let best = self.of_blocks(index).min_by_key(|(_, b)| b.best.rank());
        best.map_or_else(Cell::none, |(_, b)| written(b.best.bounded(), b.is_solid()))
    }

    fn beyond(&self, index: usize, quality: Quantile) -> Cell {
        let beyond = self.requests_beyond(index, quality);
        beyond.map_or_else(Cell::none, |requests| {
            Cell::new(few(requests)).with_value(requests)
        })
    }

    /// Requests per second at or above the value, as the mean of the runs, if known.
    fn requests_beyond(&self, index: usize, quality: Quantile) -> Option<f64> {
        let is_known = self.qualities(index).all(|(_, qos)| qos.run.is_some());
        let rates = self.runs.iter().map(|run| run.requests_per_s);
        let rates: Vec<f64> = rates.collect::<Option<_>>()?;
        let per_second = geometric_mean(&rates).filter(|_| is_known)?;
        Some(requests_beyond(per_second, quality.value))
    }
}

/// Requests of a kind per second, including those that failed or were never done: the samples to
/// which a quality refers. It is the kind's share of ops/s, which excludes requests done after the
/// end. `None` if another program gave the latencies of a kind without its count.
fn requests_per_s(phase: &Phase, kind: Kind) -> Option<f64> {
    let is_counted = |result: &KindResult| result.count > 0 || result.summary.is_none();
    let own = phase.kinds.get(&kind)?;
    if !phase.kinds.values().all(is_counted) {
        return None;
    }
    // A pair of read and update is one operation, and both halves are counted by kind as well.
    let count = |are_pairs: bool| -> u64 {
        let kinds = phase.kinds.iter();
        let counted = kinds.filter(|(one, _)| (**one == Kind::ReadModifyWrite) == are_pairs);
        counted.map(|(_, result)| result.count).sum()
    };
    let (pairs, halves) = (count(true), count(false));
    // Of an import counts may be of any time.
    let is_measured = !phase.intervals.is_empty() && phase.succeeded() > 0;
    let operations = if is_measured || (pairs > 0 && phase.failed > 0) {
        // Of a pair that failed one half may have succeeded, and requests of background clients are no
        // operations.
        phase.succeeded()
    } else {
        let operations = halves.checked_sub(pairs).filter(|n| *n > 0);
        operations.unwrap_or(pairs)
    };
    let never_done = own
        .censored
        .as_ref()
        .map_or(0, |never| never.response.len());
    // Requests done after the end are not kept by kind.
    let done = phase.ops_per_sec() * own.count as f64 / (operations as f64).max(1.0);
    let failed_in_time = phase.failed_in_time() as f64 / (phase.failed as f64).max(1.0);
    let failed = own.errors as f64 * failed_in_time;
    let rest = (failed + never_done as f64) / phase.duration_s.max(1e-9);
    (done + rest > 0.0).then_some(done + rest)
}

/// Nanoseconds as the unit of tables.
fn us(ns: Bounded) -> Bounded {
    Bounded {
        value: ns.value / 1e3,
        ..ns
    }
}

fn written(ns: Bounded, is_solid: bool) -> Cell {
    Cell {
        muted: !is_solid,
        ..Cell::new(number::bounded_latency(ns)).with_bounded(us(ns))
    }
}

/// Something a second that may be much less than one: two digits then.
fn few(per_second: f64) -> String {
    match per_second {
        v if v >= 0.995 || v <= 0.0 => number::rate(v),
        v => format!("{v:.*}", (1.0 - v.log10().floor()) as usize),
    }
}

#[cfg(test)]
mod tests;
