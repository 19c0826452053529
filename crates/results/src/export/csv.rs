//! The points as a table: one row per point and kind. Its columns are in `docs/EXPORT.md`.

use super::{Format, failed, numbers, timestamp, us};
use crate::{Arrivals, Error, Kind, KindResult, Known, Point, Study, new_latencies};
use csv::Writer;
use std::{collections::BTreeMap, io::Write};

pub const FORMAT: Format = Format {
    name: "csv",
    about: "a table for spreadsheets: a row per point and kind",
    write,
};

/// The columns before the latencies.
const HEAD: [&str; 22] = [
    "system",
    "driver",
    "workload",
    "distribution",
    "threads",
    "repeat",
    "target_rate",
    "arrivals",
    "started_at",
    "duration_s",
    "operations",
    "failed_operations",
    "drained_operations",
    "censored_operations",
    "ops_per_sec",
    "errors_per_sec",
    "valid",
    "kind",
    "count",
    "not_found",
    "errors",
    "bytes",
];

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let drivers: BTreeMap<String, String> = study
        .systems()?
        .into_iter()
        .map(|s| (s.name, s.driver))
        .collect();
    let mut table = Writer::from_writer(out);
    table.write_record(columns()).map_err(failed(FORMAT.name))?;
    let allowed = study.header()?.allow_errors();
    for point in study.point_totals()? {
        let driver = drivers.get(&point.key.system).map_or("", String::as_str);
        for (&kind, result) in &point.phase.kinds {
            table
                .write_record(row(&point, allowed, driver, kind, result))
                .map_err(failed(FORMAT.name))?;
        }
    }
    table.flush().map_err(failed(FORMAT.name))
}

fn columns() -> Vec<String> {
    let mut columns = HEAD.map(str::to_owned).to_vec();
    let none = new_latencies();
    for time in ["service", "response"] {
        let names = numbers(Known::of(&none)).map(|(name, _)| name);
        columns.extend(names.map(|name| format!("{time}_{name}_us")));
    }
    columns.push("findings".to_owned());
    columns
}

fn row(point: &Point, allowed: f64, driver: &str, kind: Kind, result: &KindResult) -> Vec<String> {
    let (key, phase) = (&point.key, &point.phase);
    let mut row = vec![
        key.system.clone(),
        driver.to_owned(),
        key.workload.clone(),
        key.distribution.clone(),
        key.clients().map_or_else(String::new, |n| n.to_string()),
        key.repeat.to_string(),
        key.target_rate.map_or_else(String::new, |r| r.to_string()),
        key.arrivals.map_or("", Arrivals::name).to_owned(),
        phase.started_ms.map(timestamp).unwrap_or_default(),
        phase.duration_s.to_string(),
        phase.operations.to_string(),
        phase.failed.to_string(),
        phase.drained.to_string(),
        phase.censored.to_string(),
        phase.ops_per_sec().to_string(),
        phase.errors_per_sec().to_string(),
        phase.fault(allowed).is_none().to_string(),
        kind.name().to_owned(),
        result.count.to_string(),
        result.not_found.to_string(),
        result.errors.to_string(),
        result.bytes.to_string(),
    ];
    row.extend(latency(result.known_service()));
    row.extend(latency(result.known_response()));
    let codes: Vec<&str> = phase
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    row.push(codes.join(" "));
    row
}

/// Microseconds; what has too few samples, or is not known, is empty, and `≥` is before a lower
/// bound.
fn latency(known: Known<'_>) -> impl Iterator<Item = String> {
    numbers(known).map(|(_, stated)| match stated {
        None => String::new(),
        Some(ns) => format!("{}{}", ns.bound.sign().trim_end(), us(ns.value)),
    })
}
