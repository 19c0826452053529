//! Tables of published figures: a row for each point, of as many systems and workloads as there
//! are. docs/IMPORT.md has the columns.
//!
//! A table says neither how long a point ran nor what its latencies were like beside those that it
//! names. So a point has the rate exactly as it is printed, over a length that only stands for one,
//! and findings say what is not known. A row may be of a peak without its thread count.

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
    Fact, Kind, Phase, PointKey, Summary,
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
            return Err(failed(source, "it has a head and no row"));
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
            let reason = format!("{values} values, but the head has {columns} columns");
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
                "The table names the peak and not the thread count that it was reached at: it is \
                 compared with other peaks, and at no thread count.",
            ));
        }
        let distribution = self.text(&Column::Distribution).unwrap_or("unknown");
        let workload = self.name(given.workload.as_ref(), &Column::Workload)?;
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
        phase.findings.push(LENGTH_UNKNOWN.finding(
            "The table has the rate as it was published, and does not say how long the point ran.",
        ));
        phase.findings.push(SUMMARY_ONLY.finding(
            "The table has the numbers that it names and no histogram: other quantiles are not \
             known.",
        ));
        Ok(phase)
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
            for (_, percent, at, ns) in known.iter().filter(|of| of.0 == kind) {
                match *percent {
                    0.0 if *ns > mean => return Err(self.out_of_order(*at, mean_at)),
                    100.0 if mean > *ns => return Err(self.out_of_order(mean_at, *at)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The error of two latencies of which the first is above the second and cannot be.
    fn out_of_order(&self, low: usize, high: usize) -> Error {
        let [(low, a), (high, b)] =
            [low, high].map(|at| (&self.head.columns[at].0, &self.record[at]));
        let line = self.line();
        let reason = format!("line {line}: `{low}` is {a}, above `{high}`, which is {b}");
        failed(self.source, reason)
    }

    /// Operations and seconds whose ratio is the rate that is printed: 1,706.5 is 17,065 in 10 s.
    fn rate(&self) -> Result<(u64, f64), Error> {
        let at = self.head.position(&Column::OpsPerSec);
        let at = at.expect("the head has a rate");
        let text = &self.record[at];
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}");
        let is_exact = digits.len() <= DIGITS_EXACT && digits.bytes().all(|b| b.is_ascii_digit());
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
        let of = |column, group: &str, name: &str| {
            let value = self.text(&column)?.to_owned();
            Some((group.to_owned(), name.to_owned(), value))
        };
        [
            of(Column::Source, "published", "source"),
            of(Column::Database, "database", "name"),
            of(Column::UseCase, Fact::USE_CASE, workload),
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

    /// The error of a value: line, column, value, and what is accepted there.
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
mod tests {
    use super::*;
    use tailmark_model::{Bounded, Fault, QUANTILES};

    fn table(text: &str) -> Result<Vec<Imported>, Error> {
        let source = Source {
            path: "study.csv".into(),
            bytes: text.as_bytes().to_vec(),
        };
        read(&[source], &Given::default())
    }

    fn refusal(text: &str) -> String {
        table(text).unwrap_err().to_string()
    }

    #[test]
    fn rates_are_exactly_those_that_are_printed() {
        for printed in [
            "17060",
            "0.3",
            "40114.75",
            "154815.1",
            "999999999.999999",
            // As Python and Java print floating point.
            "33590.863621094391",
            "0.30000000000000004",
            "1234567.8901234567",
            "1.0E7",
        ] {
            let all = table(&format!("system,workload,threads,ops/s\nd,a,4,{printed}\n"));
            let rate = all.unwrap()[0].phase.ops_per_sec();
            assert_eq!(rate, printed.parse::<f64>().unwrap());
        }
    }

    #[test]
    fn a_row_says_its_point_and_where_it_is_from() {
        let all = table(
            "\u{feff}source,Database,workload,Use Case,device,threads,ops_per_sec\n\
             # a remark\nBrief (2021),RocksDB,YCSB A,\"Sessions, many\",Disk A,16,40114\n",
        );
        let imported = all.unwrap().remove(0);
        assert_eq!((imported.system.as_str(), imported.threads), ("Disk A", 16));
        assert_eq!(imported.workload.as_deref(), Some("YCSB A"));
        assert_eq!(imported.phase.fault(0.0), None::<Fault>);
        let facts = imported.facts("Disk A", "csv");
        let said = facts
            .iter()
            .map(|f| [f.group.as_str(), &f.name, &f.value].join(": "));
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "imported from: study.csv: csv",
                "published: source: Brief (2021)",
                "database: name: RocksDB",
                "use case: YCSB A: Sessions, many",
            ]
        );
    }

    #[test]
    fn latencies_have_their_kind_statistic_and_unit_in_the_name_of_the_column() {
        let all = table(
            "system,workload,threads,ops/s,read_p99_ms,read-modify-write mean us,update_max_s,\
             update_count\nd,a,4,100,1.5,20,,5000\n",
        );
        let kinds = &all.unwrap()[0].phase.kinds;
        let read = kinds[&Kind::Read].ranked_service();
        assert_eq!(read.quantile(QUANTILES[3]), Some(Bounded::exact(1.5e6)));
        assert_eq!(read.mean(), None);
        let pairs = kinds[&Kind::ReadModifyWrite].ranked_service();
        assert_eq!(pairs.mean(), Some(Bounded::exact(20_000.0)));
        let update = &kinds[&Kind::Update];
        assert_eq!((update.count, update.summary.is_some()), (5_000, false));
    }

    #[test]
    fn latencies_in_no_possible_order_are_refused() {
        let head = "system,workload,threads,ops/s,read_p99_ms,read_p50_us,read_mean_us,read_min_us,\
                    read_max_ms,update_p50_ms\n";
        // The mean may be above a p99.
        for row in ["1,1000,5000,3,9,70", "1,,,,,70", ",1000,,,9,"] {
            table(&format!("{head}d,a,4,100,{row}\n")).unwrap();
        }
        for (row, said) in [
            (
                "1,1500,,,,",
                "line 2: `read_p50_us` is 1500, above `read_p99_ms`, which is 1",
            ),
            (
                "1,,,,0.5,",
                "`read_p99_ms` is 1, above `read_max_ms`, which is 0.5",
            ),
            (",10,,11,,", "`read_min_us` is 11, above `read_p50_us`"),
            (",,10,11,,", "`read_min_us` is 11, above `read_mean_us`"),
            (",,3000,,2,", "`read_mean_us` is 3000, above `read_max_ms`"),
        ] {
            let error = refusal(&format!("{head}d,a,4,100,{row}\n"));
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_peak_is_at_no_thread_count() {
        let all = table("system,workload,threads,ops/s\nd,a,Peak,100\n").unwrap();
        assert_eq!(all[0].threads, PointKey::PEAK);
        assert!(PEAK_ONLY.is_among(&all[0].phase.findings));
    }

    #[test]
    fn a_refusal_names_line_column_value_and_what_is_accepted() {
        let head = "system,workload,threads,ops/s,read_p99_ms,read_count\n";
        for (rows, said) in [
            (
                "d,a,4,1,,\nd,a,0,1,,\n",
                "line 3, column `threads`: `0` is not a whole number of",
            ),
            (
                "d,a,many,1,,\n",
                "`many` is not a whole number of 1 or more, or `peak`",
            ),
            (
                "d,a,4,-1,,\n",
                "line 2, column `ops/s`: `-1` is not a number above 0",
            ),
            ("d,a,4,1_000,,\n", "`1_000` is not a number above 0"),
            ("d,a,4,1e300,,\n", "`1e300`"),
            ("d,a,4,0,,\n", "`0` is not a number above 0"),
            (
                "d,a,4,1,NaN,\n",
                "column `read_p99_ms`: `NaN` is not a number above 0",
            ),
            (
                "d,a,4,1,1,0\n",
                "column `read_count`: `0` is not a count of 1 or more",
            ),
            (",a,4,1,,\n", "column `system`: `` is not a name"),
            ("d,a,4\n", "line 2: 3 values, but the head has 6 columns"),
            ("", "it has a head and no row"),
        ] {
            let error = refusal(&format!("{head}{rows}"));
            assert!(
                error.contains(said) && error.contains("study.csv"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_refusal_of_a_head_names_the_columns_that_there_are() {
        for (head, said) in [
            (
                "system,workload,threads,ops/s,p99",
                "no column `p99`; columns: clients, ",
            ),
            (
                "system,workload,threads,ops/s,read_p100_ms",
                "no column `read_p100_ms`",
            ),
            (
                "system,workload,threads,ops/s,read_p99_m",
                "no column `read_p99_m`",
            ),
            (
                "system,workload,threads",
                "no column `ops/s` or `ops_per_sec`",
            ),
            (
                "workload,threads,ops/s",
                "no column `device` or `system`, and --system",
            ),
            (
                "system,device,workload,threads,ops/s",
                "`system` and `device` say the same",
            ),
            ("", "it is empty"),
        ] {
            let error = refusal(&format!("{head}\n1,2,3,4,5\n"));
            assert!(error.contains(said) || head.is_empty(), "{error}");
        }
        assert!(refusal("").contains("it is empty"));
    }

    #[test]
    fn what_the_user_says_counts_first() {
        let given = Given {
            system: Some("x".into()),
            workload: Some("w".into()),
            threads: Some(3),
            ..Given::default()
        };
        let source = Source {
            path: "t.csv".into(),
            bytes: b"ops/s\n7\n".to_vec(),
        };
        let imported = read(&[source], &given).unwrap().remove(0);
        assert_eq!((imported.system.as_str(), imported.threads), ("x", 3));
        assert_eq!(imported.workload.as_deref(), Some("w"));
    }
}
