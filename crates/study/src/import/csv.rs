//! Tables of published figures: a row for each point, of any number of systems and workloads.
//! docs/IMPORT.md describes the columns.
//!
//! A table does not say how long a point ran, nor its latencies beyond those in its columns. So a
//! point keeps the printed rate exactly, over a made-up length, and findings say what is unknown. A
//! row may describe a peak without its thread count.

use super::{
    Given, Import, Imported, Source,
    columns::{Column, Head, Statistic},
    failed, failed_at,
    held::{Held, check_size},
    is_measured,
};
use crate::Error;
use csv::{ReaderBuilder, StringRecord};
use tailmark_model::{
    Fact, Kind, Phase, PointKey, Series, SeriesKind, Summary,
    finding::{LENGTH_UNKNOWN, PEAK_ONLY, SUMMARY_ONLY},
};

pub const IMPORT: Import = Import {
    name: "csv",
    about: "a table of published figures: system, workload, threads (or `peak`), ops/s, latencies",
    read,
    leaves_out: false,
};

/// The word for threads of a row that is a peak.
const PEAK: &str = "peak";

/// Digits of a rate that operations and seconds have exactly; with more it is the nearest number of
/// floating point.
const DIGITS_EXACT: usize = 15;
/// Of those, the ones after the point: a study takes no phase that is longer than 10^10 seconds.
const DECIMALS_EXACT: usize = 10;

fn read(sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
    let (mut all, mut held) = (Vec::new(), Held::default());
    for source in sources {
        check_size(source)?;
        let text = String::from_utf8_lossy(&source.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut records = reader.records();
        let damaged = |error: csv::Error| failed(source, error.to_string());
        let first = records.next().transpose().map_err(damaged)?;
        let first = first.ok_or_else(|| failed(source, "it is empty"))?;
        let head = Head::new(source, &first, given)?;
        let before = all.len();
        for record in records {
            let record = record.map_err(damaged)?;
            let row = Row {
                source,
                head: &head,
                record: &record,
            };
            let added = held.add_point();
            added.map_err(|reason| failed_at(source, row.line(), &reason))?;
            all.push(row.read(given)?);
        }
        if all.len() == before {
            return Err(failed(source, "it has a header but no rows"));
        }
    }
    Ok(all)
}

/// One row.
struct Row<'a> {
    source: &'a Source,
    head: &'a Head,
    record: &'a StringRecord,
}

impl Row<'_> {
    fn read(&self, given: &Given) -> Result<Imported, Error> {
        let (values, columns) = (self.record.len(), self.head.columns.len());
        if values != columns {
            let reason = format!("{values} values, but the header has {columns} columns");
            return Err(failed(
                self.source,
                format!("line {}: {reason}", self.line()),
            ));
        }
        let threads = match given.threads {
            Some(threads) => threads,
            None => self.threads()?,
        };
        let mut phase = self.phase()?;
        if threads == PointKey::PEAK {
            phase.findings.push(PEAK_ONLY.finding(
                "The table names a peak without its thread count. It is compared only with other \
                 peaks.",
            ));
        }
        let distribution = self.text(&Column::Distribution).unwrap_or("unknown");
        let workload = self.name(given.workload.as_ref(), &Column::Workload)?;
        let known = given.workload_of.and_then(|named| named(&workload));
        let workload = known.map_or(workload, str::to_owned);
        Ok(Imported {
            system: self.name(given.system.as_ref(), &Column::System)?,
            facts: self.facts(&workload),
            workload: Some(workload),
            distribution: distribution.to_owned(),
            threads,
            phase,
            file: self.source.path.clone(),
            ..Imported::default()
        })
    }

    fn phase(&self) -> Result<Phase, Error> {
        let (operations, duration_s) = self.rate()?;
        let mut phase = Phase {
            duration_s,
            operations,
            ..Phase::default()
        };
        self.check_order()?;
        phase.series = self.bandwidth(duration_s)?;
        for (at, (_, column)) in self.head.columns.iter().enumerate() {
            let text = &self.record[at];
            let (kind, count, latency) = match column {
                _ if text.is_empty() => continue,
                Column::Count(kind) => {
                    let count: Option<u64> =
                        text.parse().ok().filter(|n| (1..=1 << 53).contains(n));
                    let count = count.ok_or_else(|| self.error(at, "a count of 1 or more"))?;
                    (kind, Some(count), None)
                }
                Column::Latency(kind, statistic, unit_ns) => {
                    let ns = self.latency(at, *unit_ns)?;
                    (kind, None, Some((statistic, ns)))
                }
                _ => continue,
            };
            let result = phase.kinds.entry(*kind).or_default();
            result.count = count.unwrap_or(result.count);
            let Some((statistic, ns)) = latency else {
                continue;
            };
            let summary = result.summary.get_or_insert_default();
            match statistic {
                Statistic::Mean => summary.set(Summary::MEAN, ns),
                Statistic::Min => summary.set(Summary::MIN, ns),
                Statistic::Max => summary.set(Summary::MAX, ns),
                Statistic::Percentile(percent) => summary.set_percentile(*percent, ns),
            }
        }
        phase.findings.push(
            LENGTH_UNKNOWN
                .finding("The table has the published rate, but not how long the point ran."),
        );
        phase
            .findings
            .push(SUMMARY_ONLY.finding(
                "The table has numbers but no histogram, so other quantiles are unknown.",
            ));
        Ok(phase)
    }

    /// What the device did, as counters at both ends of the point; nothing without both columns.
    fn bandwidth(&self, duration_s: f64) -> Result<Vec<Series>, Error> {
        const MB: f64 = 1e6;
        let columns = [
            (Column::DeviceRead, "read_bytes"),
            (Column::DeviceWritten, "write_bytes"),
        ];
        let mut all = Vec::new();
        for (column, name) in columns {
            let at = self.head.position(&column);
            let Some(at) = at.filter(|at| !self.record[*at].is_empty()) else {
                continue;
            };
            let number = self.record[at].parse().ok();
            let number = number.filter(|mb: &f64| *mb >= 0.0 && is_measured(*mb));
            let mb = number.ok_or_else(|| self.error(at, "a number of 0 or more"))?;
            all.push(Series {
                probe: "disk".to_owned(),
                subject: "device".to_owned(),
                name: name.to_owned(),
                kind: SeriesKind::Counter,
                at_s: vec![0.0, duration_s],
                values: vec![0.0, mb * MB * duration_s],
            });
        }
        if all.len() == 1 {
            let line = self.line();
            let reason = format!("line {line}: give both `read_mb/s` and `write_mb/s`, or neither");
            return Err(failed(self.source, reason));
        }
        Ok(all)
    }

    /// A latency, nanoseconds.
    fn latency(&self, at: usize, unit_ns: f64) -> Result<f64, Error> {
        let number = self.record[at].parse().ok();
        let ns = number.map(|number: f64| number * unit_ns);
        let ns = ns.filter(|ns| *ns > 0.0 && is_measured(*ns));
        ns.ok_or_else(|| self.error(at, "a number above 0"))
    }

    /// Refuses latencies of a kind that are in no possible order, such as a p50 above a p99: two
    /// columns were swapped, or a unit is wrong.
    fn check_order(&self) -> Result<(), Error> {
        let mut known: Vec<(Kind, f64, usize, f64)> = Vec::new();
        let mut means = Vec::new();
        for (at, (_, column)) in self.head.columns.iter().enumerate() {
            let Column::Latency(kind, statistic, unit_ns) = column else {
                continue;
            };
            if self.record[at].is_empty() {
                continue;
            }
            let ns = self.latency(at, *unit_ns)?;
            match statistic {
                Statistic::Min => known.push((*kind, 0.0, at, ns)),
                Statistic::Percentile(percent) => known.push((*kind, *percent, at, ns)),
                Statistic::Max => known.push((*kind, 100.0, at, ns)),
                Statistic::Mean => means.push((*kind, at, ns)),
            }
        }
        known.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut pairs = known.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        if let Some(pair) = pairs.find(|pair| pair[0].3 > pair[1].3) {
            return Err(self.out_of_order(pair[0].2, pair[1].2));
        }
        for (kind, mean_at, mean) in means {
            for (_, percent, at, ns) in known.iter().filter(|row| row.0 == kind) {
                match *percent {
                    0.0 if *ns > mean => return Err(self.out_of_order(*at, mean_at)),
                    100.0 if mean > *ns => return Err(self.out_of_order(mean_at, *at)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The error that one latency exceeds another that it cannot exceed.
    fn out_of_order(&self, low: usize, high: usize) -> Error {
        let [(low, a), (high, b)] =
            [low, high].map(|at| (&self.head.columns[at].0, &self.record[at]));
        let line = self.line();
        let reason = format!("line {line}: `{low}` is {a}, which is more than `{high}` ({b})");
        failed(self.source, reason)
    }

    /// Operations and seconds whose ratio is the rate that is printed: 1,706.5 is 17,065 in 10 s.
    fn rate(&self) -> Result<(u64, f64), Error> {
        let at = self.head.position(&Column::OpsPerSec);
        let at = at.expect("the head has a rate");
        let text = &self.record[at];
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}");
        let is_exact = digits.len() <= DIGITS_EXACT
            && part.len() <= DECIMALS_EXACT
            && digits.bytes().all(|b| b.is_ascii_digit());
        if let Some(operations) = is_exact.then(|| digits.parse().ok()).flatten()
            && operations > 0
        {
            let decimals = i32::try_from(part.len()).expect("there are few digits");
            return Ok((operations, 10_f64.powi(decimals)));
        }
        let rate = text.parse().ok();
        let rate = rate.filter(|rate: &f64| *rate > 0.0 && is_measured(*rate));
        let rate = rate.ok_or_else(|| self.error(at, "a number above 0, such as 40114"))?;
        Ok(operations_and_seconds(rate))
    }

    fn threads(&self) -> Result<u32, Error> {
        let at = self.head.position(&Column::Threads);
        let at = at.expect("the head has threads");
        match &self.record[at] {
            text if text.eq_ignore_ascii_case(PEAK) => Ok(PointKey::PEAK),
            text => {
                let threads = text.parse().ok().filter(|threads| *threads > 0);
                let accepted = format!("a whole number of 1 or more, or `{PEAK}`");
                threads.ok_or_else(|| self.error(at, &accepted))
            }
        }
    }

    /// A name that the user gave, or that of the row.
    fn name(&self, given: Option<&String>, column: &Column) -> Result<String, Error> {
        if let Some(name) = given {
            return Ok(name.clone());
        }
        let at = self.head.position(column);
        let at = at.expect("the head has what is not given");
        match &self.record[at] {
            "" => Err(self.error(at, "a name")),
            name => Ok(name.to_owned()),
        }
    }

    fn facts(&self, workload: &str) -> Vec<(String, String, String)> {
        let fact = |column, group: &str, name: &str| {
            let value = self.text(&column)?.to_owned();
            Some((group.to_owned(), name.to_owned(), value))
        };
        [
            fact(Column::Source, "published", "source"),
            fact(Column::Database, "database", "name"),
            fact(Column::UseCase, Fact::USE_CASE, workload),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn text(&self, column: &Column) -> Option<&str> {
        let text = &self.record[self.head.position(column)?];
        (!text.is_empty()).then_some(text)
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// The error for a value: line, column, value, and what is accepted there.
    fn error(&self, at: usize, accepted: &str) -> Error {
        let (line, column, value) = (self.line(), &self.head.columns[at].0, &self.record[at]);
        let reason = format!("line {line}, column `{column}`: `{value}` is not {accepted}");
        failed(self.source, reason)
    }
}

/// Operations, about as many as in a second, and the seconds that they take at a rate.
fn operations_and_seconds(rate: f64) -> (u64, f64) {
    let near = rate.round().max(1.0) as u64;
    let seconds = |operations: u64| operations as f64 / rate;
    let is_exact = |operations: &u64| *operations as f64 / seconds(*operations) == rate;
    let operations = (near..near + 1_000).find(is_exact).unwrap_or(near);
    (operations, seconds(operations))
}

#[cfg(test)]
mod tests;
