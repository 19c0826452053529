//! Exports of a study to other formats: one row of [`FORMATS`] each.

mod comparison;
mod csv;
mod hlog;
mod json;

pub use comparison::{bound_name, comparison_json};

use crate::{Error, Study};
use std::io::{self, Write};
use tailmark_model::{
    Bounded, Header, Phase, QUANTILES, RankedLatencies, Summary, finding::LENGTH_UNKNOWN,
    instant::at_ms,
};

/// A format that a study can be exported in.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// For `--format`.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// Writes the whole export.
    pub write: fn(&Study, &mut dyn Write) -> Result<(), Error>,
}

/// Every format, sorted by name.
pub const FORMATS: &[Format] = &[
    csv::POINTS,
    csv::COMPARISONS,
    csv::INTERVALS,
    csv::LOADS,
    csv::QOS,
    csv::SERIES,
    hlog::FORMAT,
    json::FORMAT,
];

/// The format of a name.
///
/// # Errors
/// Names the formats that there are.
pub fn find(name: &str) -> Result<&'static Format, Error> {
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| Error::unknown_format(name, FORMATS.iter().map(|format| format.name)))
}

/// The error of a format that could not be written.
fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    format: &'static str,
) -> impl Fn(E) -> Error {
    move |source| Error::Export {
        format,
        source: io::Error::other(source),
    }
}

/// Milliseconds since 1970 UTC as RFC 3339, for example `2026-11-21T10:15:00.000Z`.
fn timestamp(ms: u64) -> String {
    humantime::format_rfc3339_millis(at_ms(ms)).to_string()
}

/// The operations of a phase and its length in seconds. Of published figures neither is known: an
/// import makes them up, so that their ratio is the rate.
fn operations_and_seconds(phase: &Phase) -> Option<(u64, f64)> {
    let is_made_up = LENGTH_UNKNOWN.is_among(&phase.findings);
    (!is_made_up).then_some((phase.operations, phase.duration_s))
}

/// Whether a point ended because its figures were known; `None` if it had a fixed length.
fn figures_known(phase: &Phase, header: &Header) -> Option<bool> {
    let rules = header.settings.rules;
    let is_valid = phase.fault(rules.allow_errors).is_none();
    let lengths = rules.lengths?;
    Some(is_valid && lengths.ended_early(phase.duration_s))
}

/// The numbers of a latency by name, in the order of columns.
fn numbers(known: RankedLatencies<'_>) -> impl Iterator<Item = (&'static str, Option<Bounded>)> {
    [(Summary::MEAN, known.mean()), (Summary::MIN, known.min())]
        .into_iter()
        .chain(QUANTILES.map(|quantile| (quantile.name, known.quantile(quantile))))
        .chain([(Summary::MAX, known.max())])
}

/// Nanoseconds as microseconds.
fn us(ns: f64) -> f64 {
    ns / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_sorted_and_described_in_one_line() {
        assert!(FORMATS.is_sorted_by(|a, b| a.name < b.name));
        for format in FORMATS {
            assert!(
                !format.about.is_empty() && !format.about.contains('\n'),
                "{}",
                format.name
            );
            assert_eq!(find(format.name).unwrap().name, format.name);
        }
    }

    #[test]
    fn an_unknown_format_is_refused_by_name() {
        let error = find("xml").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no format `xml`; formats: csv, csv-comparisons, csv-intervals, csv-loads, \
             csv-qos, csv-series, hlog, json"
        );
    }

    #[test]
    fn instants_are_utc() {
        assert_eq!(timestamp(1_000), "1970-01-01T00:00:01.000Z");
        assert_eq!(timestamp(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
