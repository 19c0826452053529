//! How much goes to and from each device at the highest thread count, as the 2023 study shows it;
//! where a device is not known, what goes to and from the databases.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    chart::bars,
    measure::Spread,
    sweep::{self, SweepTable, WorkloadGrid},
};
use tailmark_results::{Kind, Phase, Series, System, number};

pub const SECTION: Section = Section {
    name: "bandwidth",
    title: "Bandwidth",
    about: "MB/s of each device in each workload at the highest thread count",
    render,
};

/// Whose bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BandwidthSource {
    /// Those that the device read and wrote.
    Device,
    /// Keys and values that the clients asked for.
    Database,
}

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let mut cells = sweep
        .groups
        .iter()
        .flat_map(|group| {
            sweep
                .systems
                .iter()
                .filter_map(|&system| last(group, system))
        })
        .peekable();
    if cells.peek().is_none() {
        return Vec::new();
    }
    let have_devices = cells.all(|cell| cell.points.iter().all(|p| of_device(&p.phase).is_some()));
    let source = if have_devices {
        BandwidthSource::Device
    } else {
        BandwidthSource::Database
    };
    if source == BandwidthSource::Database && sweep.groups.iter().all(|g| !has_bytes(g)) {
        return Vec::new();
    }
    let (title, about) = match source {
        BandwidthSource::Device => (
            "Device bandwidth at the highest thread count",
            "device reads and writes",
        ),
        BandwidthSource::Database => (
            "Database bandwidth at the highest thread count",
            "keys and values",
        ),
    };
    let chart = Chart {
        title: title.into(),
        hint: format!("MB/s of {about}"),
        about: format!("Bars of the mean MB/s of {about}, by workload and system."),
        height: 320,
        wide: true,
        base: bars::bandwidth(&sweep, |group, system| {
            spread(last(group, system)?, |phase| match source {
                BandwidthSource::Device => of_device(phase).map(|[read, written]| read + written),
                BandwidthSource::Database => Some(of_database(phase)),
            })
        }),
        variants: vec![serde_json::json!({})],
    };
    let figure = Figure {
        anchor: "bandwidth-chart".into(),
        controls: Vec::new(),
        charts: vec![chart],
    };
    vec![Block::Figure(figure), Block::Table(table(&sweep, source))]
}

fn table(sweep: &SweepTable<'_>, source: BandwidthSource) -> Table {
    let mut columns = vec![Column::text("Workload"), Column::number("Threads")];
    for system in &sweep.systems {
        let names: &[&str] = match source {
            BandwidthSource::Device => &["read", "written", "database"],
            BandwidthSource::Database => &["database"],
        };
        columns.extend(
            names
                .iter()
                .map(|name| Column::number(*name).of(&system.name).unit("MB/s")),
        );
    }
    let note = match source {
        BandwidthSource::Device => {
            "Means over the measured part, in MB/s of a million bytes. A device counts whatever is \
             done to it; the database's are keys and values as clients give and get them, those of \
             background clients included."
        }
        BandwidthSource::Database => {
            "Means over the measured part, in MB/s of a million bytes, of keys and values as \
             clients \
             give and get them, those of background clients included. Not every device was \
             known, so none is shown."
        }
    };
    Table {
        caption: String::new(),
        columns,
        rows: sweep.groups.iter().map(|g| row(g, sweep, source)).collect(),
        note: note.into(),
    }
}

fn row<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>, source: BandwidthSource) -> TableRow {
    let threads = group.steps.last().map(|step| step.label());
    let mut cells = vec![
        Cell::new(group.title_with_conditions()),
        Cell::new(threads.unwrap_or_default()),
    ];
    for &system in &sweep.systems {
        let cell = last(group, system);
        if source == BandwidthSource::Device {
            let of = |index: usize| move |phase: &Phase| of_device(phase).map(|both| both[index]);
            cells.extend([written(cell, of(0)), written(cell, of(1))]);
        }
        cells.push(written(cell, |phase| Some(of_database(phase))));
    }
    TableRow {
        cells,
        total: false,
    }
}

fn written(cell: Option<&sweep::GridCell<'_>>, of: impl Fn(&Phase) -> Option<f64>) -> Cell {
    cell.and_then(|cell| spread(cell, of))
        .map_or_else(Cell::none, |spread| {
            let fault = cell.and_then(|cell| cell.fault);
            let detail = fault.map_or_else(|| spread.range(number::rate), |f| f.to_string());
            let value = Cell::new(number::rate(spread.middle)).with_value(spread.middle);
            let value = value.with_detail(detail);
            Cell {
                muted: fault.is_some(),
                ..value
            }
        })
}

/// What a system did at the highest thread count of the workload.
fn last<'a, 'g>(
    group: &'g WorkloadGrid<'a>,
    system: &'a System,
) -> Option<&'g sweep::GridCell<'a>> {
    group.cell(&system.name, *group.steps.last()?)
}

/// A figure of every repeat.
fn spread(cell: &sweep::GridCell<'_>, of: impl Fn(&Phase) -> Option<f64>) -> Option<Spread> {
    let values: Option<Vec<_>> = cell.points.iter().map(|p| of(&p.phase)).collect();
    Spread::of(&values?)
}

fn has_bytes(group: &WorkloadGrid<'_>) -> bool {
    group.points().any(|point| of_database(&point.phase) > 0.0)
}

/// MB/s that the device read and wrote, where one was watched.
fn of_device(phase: &Phase) -> Option<[f64; 2]> {
    let rate = |name: &str| {
        let is_it = |s: &&Series| s.probe == "disk" && s.name == name;
        phase.series.iter().find(is_it)?.mean_rate(phase.duration_s)
    };
    let (read, written) = (rate("read_bytes")?, rate("write_bytes")?);
    Some([read / 1e6, written / 1e6])
}

/// MB/s of keys and values. A read-modify-write is in the counts of its two halves.
fn of_database(phase: &Phase) -> f64 {
    let kinds = phase.kinds.iter();
    let halves = kinds.filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
    let bytes: u64 = halves.map(|(_, result)| result.bytes).sum();
    bytes as f64 / 1e6 / phase.duration_s.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tailmark_results::{KindResult, SeriesKind};

    fn phase() -> Phase {
        let disk = |name: &str, per_s: f64| Series {
            probe: "disk".to_owned(),
            subject: "nvme0n1".to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Counter,
            // One sample before the phase and one after it, which do not count.
            at_s: vec![-5.0, 0.0, 5.0, 10.0, 20.0],
            values: [0.0, 5.0, 10.0, 15.0, 1000.0].map(|t| t * per_s).to_vec(),
        };
        let kind = |bytes| KindResult {
            count: 1,
            bytes,
            ..KindResult::default()
        };
        let kinds = [
            (Kind::Read, kind(30_000_000)),
            (Kind::Update, kind(10_000_000)),
            (Kind::ReadModifyWrite, kind(40_000_000)),
        ];
        Phase {
            duration_s: 10.0,
            operations: 2,
            kinds: BTreeMap::from(kinds),
            series: vec![disk("read_bytes", 70e6), disk("write_bytes", 2e6)],
            ..Phase::default()
        }
    }

    #[test]
    fn a_device_counts_what_it_did_in_the_measured_part() {
        assert_eq!(of_device(&phase()), Some([70.0, 2.0]));
        let without = Phase {
            series: Vec::new(),
            ..phase()
        };
        assert_eq!(of_device(&without), None);
    }

    #[test]
    fn a_read_modify_write_is_counted_by_its_halves() {
        assert!((of_database(&phase()) - 4.0).abs() < 1e-9);
    }
}
