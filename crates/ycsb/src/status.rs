//! Status lines for `-s`.

use super::{
    java::decimal,
    measurement::{OutputFormat, OutputFormats},
    tally::{Tallies, microseconds},
};
use std::time::Duration;

/// The content of a status line.
#[derive(Debug)]
pub struct Status<'a> {
    /// Stands before everything.
    pub label: &'a str,
    /// The time of day: `yyyy-MM-dd HH:mm:ss:SSS`.
    pub now: String,
    /// Since the start.
    pub elapsed: Duration,
    /// Since the line before.
    pub since: Duration,
    /// Operations since the start.
    pub operations: u64,
    /// Operations since the line before.
    pub recent: u64,
    /// The remaining operations; `None`: they are not counted.
    pub left: Option<u64>,
}

impl Status<'_> {
    /// The line, with the groups measured since the line before.
    pub fn line(&self, tallies: &Tallies, formats: &OutputFormats) -> String {
        let Self {
            label,
            now,
            operations,
            ..
        } = self;
        let seconds = self.elapsed.as_secs();
        let mut line = format!("{label}{now} {seconds} sec: {operations} operations; ");
        if self.operations > 0 {
            let rate = self.recent as f64 / self.since.as_secs_f64().max(1e-3);
            line.push_str(&format!("{} current ops/sec; ", decimal(rate)));
        }
        if let Some(left) = self.left.filter(|&left| left > 0) {
            // Without time there is no rate; without operations it takes for ever.
            let rate = self.operations as f64 / self.elapsed.as_secs_f64();
            let left_s = if rate.is_nan() {
                0
            } else {
                ((left as f64 / rate).ceil() as u64).min(i64::MAX as u64)
            };
            line.push_str(&format!("est completion in {}", remaining(left_s)));
        }
        for (group, tally) in tallies {
            for (prefix, format) in &formats.formats {
                line.push_str(&summary(&format!("{prefix}{group}"), tally, *format));
                line.push(' ');
            }
        }
        line
    }
}

fn summary(name: &str, tally: &super::tally::Tally, format: OutputFormat) -> String {
    let latencies = &tally.latencies;
    let mean = if latencies.is_empty() {
        0.0
    } else {
        latencies.mean() / 1000.0
    };
    match format {
        OutputFormat::Hdr => {
            let us = microseconds(latencies);
            let max = latencies.max() / 1000;
            let min = if us.is_empty() {
                i64::MAX as u64
            } else {
                latencies.min() / 1000
            };
            let mut line = format!(
                "[{name}: Count={}, Max={max}, Min={min}, Avg={}",
                us.len(),
                decimal(mean)
            );
            for percentile in [90.0, 99.0, 99.9, 99.99] {
                let value = us.value_at_quantile(percentile / 100.0).min(max);
                line.push_str(&format!(", {percentile}={value}"));
            }
            line + "]"
        }
        OutputFormat::Buckets | OutputFormat::TimeSeries if latencies.is_empty() => String::new(),
        OutputFormat::Buckets | OutputFormat::TimeSeries => {
            format!("[{name} AverageLatency(us)={}]", decimal(mean))
        }
        OutputFormat::Raw => String::new(),
    }
}

/// A duration: days and hours, or hours and minutes, or seconds. YCSB's plural of seconds depends
/// on the number of digits: `9 second`, `10 seconds`.
fn remaining(seconds: u64) -> String {
    let unit = |count: u64, name: &str| match count {
        0 => String::new(),
        1 => format!("1 {name} "),
        count => format!("{count} {name}s "),
    };
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let mut text = unit(days, "day") + &unit(hours, "hour");
    if days == 0 {
        text += &unit(minutes, "minute");
    }
    if !text.is_empty() {
        text
    } else if seconds < 10 {
        format!("{seconds} second ")
    } else {
        format!("{seconds} seconds ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        exporter::{Line, Value},
        measurement::TimeSeries,
        properties::Properties,
        tally::Tally,
    };
    use super::*;

    fn status<'a>() -> Status<'a> {
        Status {
            label: "lab ",
            now: "2026-11-21 10:48:04:731".to_owned(),
            elapsed: Duration::from_millis(10_100),
            since: Duration::from_secs(10),
            operations: 100_000,
            recent: 100_000,
            left: Some(1_000_000),
        }
    }

    fn formats(text: &str) -> OutputFormats {
        let mut properties = Properties::default();
        properties.read_text(text).unwrap();
        OutputFormats::read(&properties).unwrap()
    }

    #[test]
    fn a_line_is_ycsbs() {
        let mut tally = Tally::default();
        tally.latencies.record_n(12_500, 2).unwrap();
        let tallies = Tallies::from([
            ("READ".to_owned(), tally.clone()),
            ("UPDATE".to_owned(), tally),
        ]);
        let line = status().line(&tallies, &formats(""));
        assert_eq!(
            line,
            "lab 2026-11-21 10:48:04:731 10 sec: 100000 operations; 10000 current ops/sec; est \
             completion in 1 minute [READ: Count=2, Max=12, Min=12, Avg=12.5, 90=12, 99=12, \
             99.9=12, 99.99=12] [UPDATE: Count=2, Max=12, Min=12, Avg=12.5, 90=12, 99=12, \
             99.9=12, 99.99=12] "
        );
    }

    #[test]
    fn the_maximum_is_that_of_the_summary_and_no_percentile_is_above_it() {
        let formats = formats("");
        for ns in [999, 7_274_495, 12_345_678, 1_234_567_890] {
            let mut tally = Tally::default();
            tally.latencies.record_n(ns, 100).unwrap();
            let tallies = Tallies::from([("READ".to_owned(), tally)]);
            let line = status().line(&tallies, &formats);
            let (_, group) = line.split_once("[READ: ").unwrap();
            let value = |name: &str| {
                let (_, rest) = group.split_once(&format!("{name}=")).unwrap();
                let digits = rest.split([',', ']']).next().unwrap();
                digits.parse::<i64>().unwrap()
            };
            for name in ["Min", " 90", " 99", " 99.9", " 99.99"] {
                assert!(value(name) <= value("Max"), "{name}: {line}");
            }
            let summary = formats.lines(&tallies, &TimeSeries::default());
            let is_max = |summed: &&Line| summed.name == "MaxLatency(us)";
            let Value::Whole(max) = summary.iter().find(is_max).unwrap().value else {
                panic!("a maximum is whole")
            };
            assert_eq!(value("Max"), max, "{line}");
        }
    }

    #[test]
    fn the_first_line_has_no_rate() {
        let first = Status {
            operations: 0,
            recent: 0,
            elapsed: Duration::ZERO,
            ..status()
        };
        let line = first.line(&Tallies::new(), &formats(""));
        assert!(
            line.ends_with("0 sec: 0 operations; est completion in 0 second "),
            "{line}"
        );
        let stalled = Status {
            operations: 0,
            recent: 0,
            ..status()
        };
        let endless = stalled.line(&Tallies::new(), &formats(""));
        assert!(
            endless.ends_with("est completion in 106751991167300 days 15 hours "),
            "{endless}"
        );
    }

    #[test]
    fn times_left_are_in_two_units() {
        for (seconds, text) in [
            (0, "0 second "),
            (1, "1 second "),
            (9, "9 second "),
            (10, "10 seconds "),
            (59, "59 seconds "),
            (60, "1 minute "),
            (3_661, "1 hour 1 minute "),
            (7_200, "2 hours "),
            (90_000, "1 day 1 hour "),
            (86_400 * 2 + 60, "2 days "),
        ] {
            assert_eq!(remaining(seconds), text);
        }
    }

    #[test]
    fn averages_alone_are_written_for_the_older_types() {
        let mut tally = Tally::default();
        tally.latencies.record(1_500).unwrap();
        let tallies = Tallies::from([("READ".to_owned(), tally)]);
        let line = status().line(&tallies, &formats("measurementtype=timeseries"));
        assert!(line.ends_with("[READ AverageLatency(us)=1.5] "), "{line}");
    }
}
