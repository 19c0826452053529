//! Tables for spreadsheets and programs that read columns: one file for each kind of data.
//! `docs/EXPORT.md` describes their columns.
//!
//! A heading and the values below it are one row of the tables here, so that neither can move
//! without the other.

mod comparisons;
mod intervals;
mod loads;
mod points;
mod qos;
mod series;

pub use comparisons::FORMAT as COMPARISONS;
pub use intervals::FORMAT as INTERVALS;
pub use loads::FORMAT as LOADS;
pub use points::FORMAT as POINTS;
pub use qos::FORMAT as QOS;
pub use series::FORMAT as SERIES;

use super::{Format, failed, numbers, operations_and_seconds, timestamp, us};
use crate::{Error, Study};
use std::{collections::BTreeMap, io::Write};
use tailmark_model::{
    Arrivals, Bandwidth, Bounded, Header, Kind, KindResult, Metric, Phase, Point, PointKey,
    RankedLatencies, csv_cell, new_latencies,
};

/// A heading, and the cell below it for a row.
type Column<Of> = (&'static str, fn(&Of) -> String);

/// The table as it is written.
struct Table<'o> {
    format: &'static str,
    writer: csv::Writer<&'o mut dyn Write>,
}

impl<'o> Table<'o> {
    /// Begins with the headings.
    fn new(
        format: &Format,
        headings: impl IntoIterator<Item = impl AsRef<str>>,
        out: &'o mut dyn Write,
    ) -> Result<Self, Error> {
        let mut table = Self {
            format: format.name,
            writer: csv::Writer::from_writer(out),
        };
        table.row(headings)?;
        Ok(table)
    }

    fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), Error> {
        for cell in cells {
            let field = csv_cell(cell.as_ref());
            let written = self.writer.write_field(field.as_bytes());
            written.map_err(failed(self.format))?;
        }
        let written = self.writer.write_record(None::<&[u8]>);
        written.map_err(failed(self.format))
    }

    fn rows(&mut self, rows: Vec<Vec<String>>) -> Result<(), Error> {
        rows.into_iter().try_for_each(|row| self.row(row))
    }

    fn end(mut self) -> Result<(), Error> {
        self.writer.flush().map_err(failed(self.format))
    }
}

fn headings<Of>(columns: &[Column<Of>]) -> impl Iterator<Item = String> {
    columns.iter().map(|(name, _)| (*name).to_owned())
}

/// Nothing is an empty cell.
fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Of a point, after the name of its system.
const POINT: [Column<PointKey>; 6] = [
    ("workload", |key| key.workload.clone()),
    ("distribution", |key| key.distribution.clone()),
    ("threads", |key| cell(key.clients())),
    ("repeat", |key| key.repeat.to_string()),
    ("target_rate", |key| cell(key.target_rate)),
    ("arrivals", |key| cell(key.arrivals.map(Arrivals::name))),
];

/// The common first headings of loads and points.
fn key_headings() -> impl Iterator<Item = String> {
    let names = ["system", "load"].map(str::to_owned);
    names.into_iter().chain(headings(&POINT))
}

/// Hands over the loads and then the points, each with its cells below [`key_headings`].
fn each_phase(
    study: &Study,
    mut act: impl FnMut(&[String], &Phase) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut number = 0;
    study.each_load(|load| {
        number += 1;
        let mut cells = vec![load.system, number.to_string()];
        cells.extend(POINT.map(|_| String::new()));
        act(&cells, &load.phase)
    })?;
    study.each_point(|Point { key, phase }| {
        let mut cells = vec![key.system.clone(), String::new()];
        cells.extend(POINT.map(|(_, cell)| cell(&key)));
        act(&cells, &phase)
    })
}

/// Of a load or a point.
const PHASE: [Column<Phase>; 8] = [
    ("started_at", |phase| cell(phase.started_ms.map(timestamp))),
    ("duration_s", |phase| {
        cell(operations_and_seconds(phase).map(|(_, seconds)| seconds))
    }),
    ("operations", |phase| {
        cell(operations_and_seconds(phase).map(|(operations, _)| operations))
    }),
    ("failed_operations", |phase| phase.failed.to_string()),
    ("drained_operations", |phase| phase.drained.to_string()),
    ("censored_operations", |phase| phase.censored.to_string()),
    ("ops_per_sec", |phase| phase.ops_per_sec().to_string()),
    ("errors_per_sec", |phase| phase.errors_per_sec().to_string()),
];

/// Of one kind of request.
const KIND: [Column<KindResult>; 4] = [
    ("count", |result| result.count.to_string()),
    ("not_found", |result| result.not_found.to_string()),
    ("errors", |result| result.errors.to_string()),
    ("bytes", |result| result.bytes.to_string()),
];

const BANDWIDTH: [Column<Bandwidth>; 3] = [
    ("device_read_mb_per_sec", |bandwidth| {
        cell(bandwidth.device.map(|device| device.read))
    }),
    ("device_written_mb_per_sec", |bandwidth| {
        cell(bandwidth.device.map(|device| device.written))
    }),
    ("database_mb_per_sec", |bandwidth| cell(bandwidth.database)),
];

/// The headings that loads and points share, kind by kind.
fn phase_headings() -> impl Iterator<Item = String> {
    headings(&PHASE)
        .chain(["valid", "kind"].map(str::to_owned))
        .chain(headings(&KIND))
        .chain(latency_headings())
        .chain(["findings".to_owned()])
        .chain(headings(&BANDWIDTH))
        .chain(Metric::figures().flat_map(figure_headings))
        .chain(["currency".to_owned()])
}

/// The rows of a phase, one for each kind, of a study with this header; each begins with the
/// same cells.
fn phase_rows(first: &[String], phase: &Phase, header: &Header) -> Vec<Vec<String>> {
    let is_valid = phase
        .fault(header.settings.rules.allow_errors)
        .is_none()
        .to_string();
    let findings = phase.findings.iter();
    let codes: Vec<&str> = findings.map(|finding| finding.code.as_str()).collect();
    let bandwidth = phase.bandwidth();
    let derived = Metric::figures().flat_map(|metric| figure(metric, phase));
    let derived: Vec<String> = derived.collect();
    let row = |(kind, result): (&Kind, &KindResult)| {
        let mut row = first.to_vec();
        row.extend(PHASE.map(|(_, cell)| cell(phase)));
        row.extend([is_valid.clone(), kind.name().to_owned()]);
        row.extend(KIND.map(|(_, cell)| cell(result)));
        row.extend(latency(result.ranked_service()));
        row.extend(latency(result.ranked_response()));
        row.push(codes.join(" "));
        row.extend(BANDWIDTH.map(|(_, cell)| cell(&bandwidth)));
        row.extend(derived.iter().cloned());
        row.push(phase.money.currency.clone());
        row
    };
    phase.kinds.iter().map(row).collect()
}

/// The name of a metric, and of its ends if it may have some.
fn figure_headings(metric: Metric) -> Vec<String> {
    let name = metric.row().name;
    let mut headings = vec![name.to_owned()];
    if metric.may_have_ends() {
        headings.extend(["at_least", "at_most"].map(|end| format!("{name}_{end}")));
    }
    headings
}

/// The value of a metric. Its ends are empty if it is exact or unknown, and one of them is if the
/// value is a bound.
fn figure(metric: Metric, phase: &Phase) -> Vec<String> {
    let value = metric.value(phase);
    let mut cells = vec![cell(value.map(|value| value.value))];
    if metric.may_have_ends() {
        let bounded = value.filter(|value| !value.is_exact());
        let (low, high) = (bounded.map(Bounded::low), bounded.map(Bounded::high));
        cells.push(cell(low.filter(|low| *low > 0.0)));
        cells.push(cell(high.filter(|high| high.is_finite())));
    }
    cells
}

/// The headings of service and response time.
fn latency_headings() -> impl Iterator<Item = String> {
    let none = new_latencies();
    let names: Vec<&str> = numbers(RankedLatencies::new(&none))
        .map(|(name, _)| name)
        .collect();
    ["service", "response"].into_iter().flat_map(move |time| {
        let both = move |n| [format!("{time}_{n}_us"), format!("{time}_{n}_is_at_least")];
        names.clone().into_iter().flat_map(both)
    })
}

/// Each number in two cells; see [`stated_us`].
fn latency(known: RankedLatencies<'_>) -> impl Iterator<Item = String> {
    numbers(known).flat_map(|(_, bounded)| stated_us(bounded))
}

/// Microseconds, and whether they are a lower bound. Both are empty with too few samples, or if
/// unknown.
fn stated_us(bounded: Option<Bounded>) -> [String; 2] {
    [
        cell(bounded.map(|ns| us(ns.value))),
        cell(bounded.map(|ns| !ns.is_exact())),
    ]
}

/// The driver of each system.
fn drivers(study: &Study) -> Result<BTreeMap<String, String>, Error> {
    let systems = study.systems()?.into_iter();
    Ok(systems.map(|s| (s.name, s.driver)).collect())
}
