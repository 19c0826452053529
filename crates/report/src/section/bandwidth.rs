//! Bandwidth to and from each device at the highest thread count, as in the 2023 study, and to and
//! from the databases. A system with an unknown device leaves a gap.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow,
    chart::bars,
    grid_cell::GridCell,
    measure::Spread,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{DeviceBandwidth, Phase, System, number};

pub const SECTION: Section = Section {
    name: "bandwidth",
    title: "Bandwidth",
    render,
};

/// Of how many of the systems the device is known, at the highest thread counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Devices {
    /// Of all.
    All,
    /// Of some; others may be in memory or on another machine.
    Some,
    /// Of none.
    None,
}

impl Devices {
    fn from_cells<'c, 'a: 'c>(cells: impl Iterator<Item = &'c GridCell<'a>>) -> Self {
        let is_known = |cell: &GridCell<'_>| spread(cell, device(DeviceBandwidth::total)).is_some();
        let known: Vec<bool> = cells.map(is_known).collect();
        match known.iter().filter(|has| **has).count() {
            0 => Self::None,
            n if n == known.len() => Self::All,
            _ => Self::Some,
        }
    }

    const fn are_known(self) -> bool {
        matches!(self, Self::All | Self::Some)
    }
}

fn devices(sweep: &SweepTable<'_>) -> Devices {
    let groups = sweep.groups.iter();
    let cells = groups.flat_map(|group| sweep.systems.iter().filter_map(|s| last(group, s)));
    Devices::from_cells(cells)
}

/// The bars of the devices. `None` unless all are known.
pub fn chart(sweep: &SweepTable<'_>) -> Option<Chart> {
    let devices = devices(sweep);
    (devices == Devices::All).then(|| bars_of(sweep, devices))
}

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let devices = devices(&sweep);
    if !devices.are_known() && sweep.groups.iter().all(|group| !has_bytes(group)) {
        return Vec::new();
    }
    let figure = Figure {
        anchor: "bandwidth-chart".into(),
        controls: Vec::new(),
        charts: vec![bars_of(&sweep, devices)],
    };
    vec![Block::Figure(figure), Block::Table(table(&sweep, devices))]
}

fn bars_of(sweep: &SweepTable<'_>, devices: Devices) -> Chart {
    let (what, about) = if devices.are_known() {
        ("Device", "device reads and writes")
    } else {
        ("Database", "keys and values")
    };
    let title = format!("{what} bandwidth {}", place(sweep));
    let (base, plot) = bars::bandwidth(sweep, |group, system| {
        // A bar has no mark for what failed there; the table has.
        let cell = last(group, system).filter(|cell| cell.fault.is_none())?;
        if devices.are_known() {
            spread(cell, device(DeviceBandwidth::total))
        } else {
            spread(cell, of_database)
        }
    });
    Chart {
        title,
        hint: format!("MB/s of {about}"),
        about: format!("Bars of the mean MB/s of {about}, by workload and system."),
        height: 320,
        wide: true,
        base,
        variants: vec![serde_json::json!({})],
        plot: Some(plot),
    }
}

fn table(sweep: &SweepTable<'_>, devices: Devices) -> Table {
    let mut columns = vec![Column::text("Workload"), Column::number("Threads")];
    for system in &sweep.systems {
        let names: &[&str] = if devices.are_known() {
            &["read", "written", "database"]
        } else {
            &["database"]
        };
        columns.extend(
            names
                .iter()
                .map(|name| Column::number(*name).group(&system.name).unit("MB/s")),
        );
    }
    let mut note = "Means over the measured part, in MB/s of a million bytes. ".to_owned();
    note.push_str(if devices.are_known() {
        "Device bandwidth is all traffic to the devices of a system. Database bandwidth counts \
             keys and values as clients write and read them, background clients included."
    } else {
        "Database bandwidth counts keys and values as clients write and read them, background \
             clients included. No device was known."
    });
    if devices == Devices::Some {
        note.push_str(" – means that no device was known.");
    }
    Table {
        caption: String::new(),
        columns,
        rows: sweep
            .groups
            .iter()
            .map(|g| row(g, sweep, devices))
            .collect(),
        note,
    }
}

fn row<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>, devices: Devices) -> TableRow {
    let threads = group.steps.last().map(|step| step.label());
    let mut cells = vec![
        Cell::new(group.title_with_conditions()),
        Cell::new(threads.unwrap_or_default()),
    ];
    for &system in &sweep.systems {
        let cell = last(group, system);
        if devices.are_known() {
            let figures: [fn(DeviceBandwidth) -> f64; 2] =
                [|device| device.read, |device| device.written];
            for figure in figures {
                let sum = written(cell, device(figure));
                cells.push(match cell.and_then(|cell| each(cell, figure)) {
                    Some(each) => {
                        let parts = [sum.detail.clone(), each];
                        let parts = parts.iter().filter(|part| !part.is_empty());
                        let detail = parts.cloned().collect::<Vec<_>>().join("; ");
                        sum.with_detail(detail)
                    }
                    None => sum,
                });
            }
        }
        cells.push(written(cell, of_database));
    }
    TableRow {
        cells,
        total: false,
    }
}

fn written(cell: Option<&GridCell<'_>>, figure: impl Fn(&Phase) -> Option<f64>) -> Cell {
    cell.and_then(|cell| spread(cell, figure))
        .map_or_else(Cell::none, |spread| {
            let fault = cell.and_then(GridCell::fault_text);
            let is_invalid = fault.is_some();
            let detail = fault.unwrap_or_else(|| spread.range(number::bounded_rate));
            let value = Cell::new(number::rate(spread.middle)).with_value(spread.middle);
            let value = value.with_detail(detail);
            Cell {
                muted: is_invalid,
                ..value
            }
        })
}

/// `at 96 threads`, if that is the highest thread count of all workloads.
fn place(sweep: &SweepTable<'_>) -> String {
    let lasts = sweep.groups.iter().filter_map(|group| group.steps.last());
    let lasts: BTreeSet<u32> = lasts.map(|step| step.threads).collect();
    match lasts.first() {
        Some(only) if lasts.len() == 1 => format!("at {}", number::threads(*only)),
        _ => "at the highest thread count".to_owned(),
    }
}

/// The bandwidth of a system at the highest thread count of the workload.
fn last<'a, 'g>(group: &'g WorkloadGrid<'a>, system: &'a System) -> Option<&'g GridCell<'a>> {
    group.cell(&system.name, *group.steps.last()?)
}

/// A figure of every repeat.
fn spread(cell: &GridCell<'_>, figure: impl Fn(&Phase) -> Option<f64>) -> Option<Spread> {
    let values: Option<Vec<_>> = cell.points.iter().map(|p| figure(&p.phase)).collect();
    Spread::from_values(&values?)
}

fn has_bytes(group: &WorkloadGrid<'_>) -> bool {
    group
        .points()
        .any(|point| point.phase.bandwidth().database.is_some_and(|mb| mb > 0.0))
}

/// A figure of the device, if one was watched.
fn device(figure: fn(DeviceBandwidth) -> f64) -> impl Fn(&Phase) -> Option<f64> {
    move |phase| phase.bandwidth().device.map(figure)
}

/// If several devices were watched: the figure of each, averaged over the repeats.
fn each(cell: &GridCell<'_>, figure: fn(DeviceBandwidth) -> f64) -> Option<String> {
    let mut devices: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for point in &cell.points {
        for (name, device) in point.phase.device_bandwidths() {
            devices.entry(name).or_default().push(figure(device));
        }
    }
    let said = devices.iter().map(|(name, values)| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        format!("{name} {}", number::rate(mean))
    });
    (devices.len() > 1).then(|| said.collect::<Vec<_>>().join(", "))
}

fn of_database(phase: &Phase) -> Option<f64> {
    phase.bandwidth().database
}
