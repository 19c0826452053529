//! The intervals: one row per interval and kind, even if nothing was done.

use super::{Column, Table, each_phase, headings, key_headings, latency, latency_headings};
use crate::{Error, Format, Study};
use std::{collections::BTreeSet, io::Write};
use tailmark_model::{Interval, Kind, Packed, Phase, RankedLatencies, new_interval_latencies};

pub const FORMAT: Format = Format {
    name: "csv-intervals",
    about: "a table of the intervals of loads and points: a row per interval and kind",
    write,
};

const INTERVAL: [Column<Interval>; 4] = [
    ("start_s", |interval| interval.start_s.to_string()),
    ("length_s", |interval| interval.length_s.to_string()),
    ("operations", |interval| interval.operations.to_string()),
    ("failed_operations", |interval| interval.failed.to_string()),
];

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let of_kind = ["kind", "count", "errors"].map(str::to_owned).into_iter();
    let of_interval = headings(&INTERVAL).chain(of_kind).chain(latency_headings());
    let mut table = Table::new(&FORMAT, key_headings().chain(of_interval), out)?;
    each_phase(study, |key, phase| {
        let kinds = kinds(phase);
        for interval in &phase.intervals {
            let mut first = key.to_vec();
            first.extend(INTERVAL.map(|(_, cell)| cell(interval)));
            for &kind in &kinds {
                table.row(first.iter().cloned().chain(kind_cells(interval, kind)))?;
            }
        }
        Ok(())
    })?;
    table.end()
}

/// The kinds with a row for each interval: those of any interval, and at least one even if nothing
/// was done.
fn kinds(phase: &Phase) -> Vec<Option<Kind>> {
    let all = phase.intervals.iter().flat_map(|i| i.kinds.keys().copied());
    let kinds: BTreeSet<Kind> = all.collect();
    if kinds.is_empty() {
        vec![None]
    } else {
        kinds.into_iter().map(Some).collect()
    }
}

fn kind_cells(interval: &Interval, kind: Option<Kind>) -> Vec<String> {
    let name = kind.map_or("", Kind::name).to_owned();
    let Some(result) = kind.and_then(|kind| interval.kinds.get(&kind)) else {
        let nothing: Vec<_> = latency(RankedLatencies::new(&new_interval_latencies())).collect();
        let counts = [name, "0".to_owned(), "0".to_owned()].into_iter();
        return counts.chain(nothing.clone()).chain(nothing).collect();
    };
    let cells = |packed: &Packed| latency(result.known(&packed.unpack())).collect::<Vec<_>>();
    let service = cells(&result.service);
    let response = result
        .response
        .as_ref()
        .map_or_else(|| service.clone(), cells);
    let counts = [name, result.count.to_string(), result.errors.to_string()].into_iter();
    counts.chain(service).chain(response).collect()
}
