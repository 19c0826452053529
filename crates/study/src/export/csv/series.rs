//! The series of probes: one row per sample.

use super::{Table, each_phase, key_headings};
use crate::{Error, Format, Study};
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "csv-series",
    about: "a table of what probes sampled during loads and points: a row per sample",
    write,
};

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let headings = ["probe", "subject", "name", "kind", "at_s", "value"];
    let all = key_headings().chain(headings.map(str::to_owned));
    let mut table = Table::new(&FORMAT, all, out)?;
    each_phase(study, |key, phase| {
        for series in &phase.series {
            let names = [
                series.probe.as_str(),
                &series.subject,
                &series.name,
                series.kind.name(),
            ];
            let first: Vec<&str> = key.iter().map(String::as_str).chain(names).collect();
            for (at_s, value) in series.at_s.iter().zip(&series.values) {
                let sample = [at_s.to_string(), value.to_string()];
                let sample = sample.iter().map(String::as_str);
                table.row(first.iter().copied().chain(sample))?;
            }
        }
        Ok(())
    })?;
    table.end()
}
