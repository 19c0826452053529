//! The lines of one group, in each of YCSB's measurement types.

use super::{
    exporter::Line,
    java,
    properties::Properties,
    tally::{Tallies, Tally, microseconds},
};
use anyhow::bail;
use std::collections::BTreeMap;
use tailmark_engine::IntervalStats;

/// The lines that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Percentiles of an HdrHistogram.
    Hdr,
    /// Buckets of one millisecond.
    Buckets,
    /// Averages over time.
    TimeSeries,
    /// A summary; the samples themselves are written apart.
    Raw,
}

/// The formats of measurements.
#[derive(Debug, Clone)]
pub struct OutputFormats {
    /// Each with what its groups' names start with.
    pub formats: Vec<(&'static str, OutputFormat)>,
    /// Percentiles of the histogram.
    percentiles: Vec<f64>,
    /// Whether every value of a histogram is written.
    verbose: bool,
    /// Buckets of one millisecond.
    buckets: u64,
    /// Length of a piece of the series, milliseconds; whole seconds.
    granularity_ms: u64,
    /// Whether raw samples come without a summary.
    no_summary: bool,
}

impl OutputFormats {
    /// Reads the properties.
    ///
    /// # Errors
    /// Names the property that is wrong.
    pub fn read(properties: &Properties) -> anyhow::Result<Self> {
        let formats = match properties.text_or("measurementtype", "hdrhistogram") {
            "histogram" => vec![("", OutputFormat::Buckets)],
            "hdrhistogram" => vec![("", OutputFormat::Hdr)],
            "hdrhistogram+histogram" => vec![
                ("Hdr", OutputFormat::Hdr),
                ("Bucket", OutputFormat::Buckets),
            ],
            "hdrhistogram+raw" => vec![("Hdr", OutputFormat::Hdr), ("Raw", OutputFormat::Raw)],
            "timeseries" => vec![("", OutputFormat::TimeSeries)],
            "raw" => vec![("", OutputFormat::Raw)],
            other => bail!("unknown measurementtype={other}"),
        };
        let granularity = properties.number("timeseries.granularity", 1000_u64, "milliseconds")?;
        if formats[0].1 == OutputFormat::TimeSeries
            && (granularity == 0 || !granularity.is_multiple_of(1000))
        {
            bail!(
                "{}",
                properties.refuse("timeseries.granularity", "a multiple of 1000 milliseconds")
            );
        }
        Ok(Self {
            formats,
            percentiles: percentiles(properties),
            verbose: properties.flag("measurement.histogram.verbose", false),
            buckets: properties.number("histogram.buckets", 1000, "a number of buckets")?,
            granularity_ms: granularity.max(1000),
            no_summary: properties.flag("measurement.raw.no_summary", false),
        })
    }

    /// Whether this is one of them.
    pub fn includes(&self, format: OutputFormat) -> bool {
        self.formats.iter().any(|(_, other)| *other == format)
    }

    /// The lines of all groups.
    pub fn lines(&self, tallies: &Tallies, series: &TimeSeries) -> Vec<Line> {
        let mut lines = Vec::new();
        for (group, tally) in tallies {
            for (at, (prefix, format)) in self.formats.iter().enumerate() {
                let name = format!("{prefix}{group}");
                let before = lines.len();
                match format {
                    OutputFormat::Hdr => self.hdr(&name, tally, &mut lines),
                    OutputFormat::Buckets => self.bucket_lines(&name, tally, &mut lines),
                    OutputFormat::TimeSeries => {
                        self.series(&name, tally, series.pieces(group), &mut lines)
                    }
                    OutputFormat::Raw => self.raw(&name, tally, &mut lines),
                }
                if at == 0 {
                    // Statuses stand after the summary, before single values.
                    let single =
                        |line: &Line| !line.name.ends_with(')') || line.name.starts_with('>');
                    let end = lines[before..]
                        .iter()
                        .position(|line| line.name != "Operations" && single(line))
                        .map_or(lines.len(), |index| before + index);
                    let returns = tally.returns.iter();
                    let returns = returns.map(|(status, count)| {
                        Line::whole(&name, format!("Return={status}"), *count)
                    });
                    let end = if *format == OutputFormat::Raw {
                        lines.len()
                    } else {
                        end
                    };
                    lines.splice(end..end, returns.collect::<Vec<_>>());
                }
            }
        }
        lines
    }

    fn hdr(&self, name: &str, tally: &Tally, lines: &mut Vec<Line>) {
        let us = microseconds(&tally.latencies);
        // A value of the histogram is the highest of its bucket, which may be above the maximum.
        let max = tally.latencies.max() / 1000;
        summary(name, tally, lines);
        for percentile in &self.percentiles {
            let label = format!("{}PercentileLatency(us)", java::ordinal(*percentile));
            lines.push(Line::whole(
                name,
                label,
                us.value_at_quantile(percentile / 100.0).min(max),
            ));
        }
        if self.verbose {
            for value in us.iter_recorded() {
                let (at, count) = (value.value_iterated_to(), value.count_at_value());
                lines.push(Line::double(name, at.to_string(), count as f64));
            }
        }
    }

    fn bucket_lines(&self, name: &str, tally: &Tally, lines: &mut Vec<Line>) {
        let mut counts = vec![0_u64; self.buckets as usize];
        let (mut over, mut squares) = (0, 0.0);
        let all = tally.latencies.len();
        for value in tally.latencies.iter_recorded() {
            let us = (value.value_iterated_to() / 1000) as f64;
            let (bucket, count) = (
                value.value_iterated_to() / 1_000_000,
                value.count_at_value(),
            );
            squares += us * us * count as f64;
            match counts.get_mut(bucket as usize) {
                Some(bucket) => *bucket += count,
                None => over += count,
            }
        }
        let mean = mean_us(tally);
        summary(name, tally, lines);
        let variance = (squares / all as f64 - mean * mean).max(0.0);
        let at = lines.len() - 2;
        lines.insert(at, Line::double(name, "LatencyVariance(us)", variance));
        for (share, label) in [(0.95, "95th"), (0.99, "99th")] {
            let mut below = 0;
            let reached = counts.iter().position(|count| {
                below += count;
                below as f64 / all as f64 >= share
            });
            if let Some(bucket) = reached {
                let label = format!("{label}PercentileLatency(us)");
                lines.push(Line::whole(name, label, bucket as u64 * 1000));
            }
        }
        if self.verbose {
            for (bucket, count) in counts.iter().enumerate() {
                lines.push(Line::whole(name, bucket.to_string(), *count));
            }
            lines.push(Line::whole(name, format!(">{}", self.buckets), over));
        }
    }

    fn series(&self, name: &str, tally: &Tally, pieces: &[Piece], lines: &mut Vec<Line>) {
        summary(name, tally, lines);
        if pieces.is_empty() && !tally.latencies.is_empty() {
            // Measurements available only at the end are one piece.
            lines.push(Line::double(name, "0", mean_us(tally)));
        }
        let seconds = (self.granularity_ms / 1000) as usize;
        for (at, chunk) in pieces.chunks(seconds).enumerate() {
            let sum = chunk
                .iter()
                .fold(Piece::default(), |sum, piece| sum.with(*piece));
            if sum.count > 0 {
                let label = (at as u64 * self.granularity_ms).to_string();
                lines.push(Line::double(name, label, sum.us / sum.count as f64));
            }
        }
    }

    fn raw(&self, name: &str, tally: &Tally, lines: &mut Vec<Line>) {
        let us = microseconds(&tally.latencies);
        lines.push(Line::whole(name, "Total Operations", us.len()));
        if us.is_empty() || self.no_summary {
            return;
        }
        let mut note = Line::whole(name, "Below is a summary of latency in microseconds:", 0);
        note.value = super::exporter::Value::Whole(-1);
        lines.push(note);
        lines.push(Line::double(name, "Average", mean_us(tally)));
        lines.push(Line::whole(name, "Min", us.min()));
        lines.push(Line::whole(name, "Max", us.max()));
        for percentile in [1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99] {
            let value = us.value_at_quantile(percentile / 100.0);
            lines.push(Line::whole(name, format!("p{percentile}"), value));
        }
    }
}

/// Count, average, minimum and maximum.
fn summary(name: &str, tally: &Tally, lines: &mut Vec<Line>) {
    let latencies = &tally.latencies;
    let min = if latencies.is_empty() {
        i64::MAX as u64
    } else {
        latencies.min() / 1000
    };
    lines.extend([
        Line::whole(name, "Operations", latencies.len()),
        Line::double(name, "AverageLatency(us)", mean_us(tally)),
        Line::whole(name, "MinLatency(us)", min),
        Line::whole(name, "MaxLatency(us)", latencies.max() / 1000),
    ]);
}

/// At most the maximum, which has whole microseconds.
fn mean_us(tally: &Tally) -> f64 {
    let latencies = &tally.latencies;
    if latencies.is_empty() {
        f64::NAN
    } else {
        (latencies.mean() / 1000.0).min((latencies.max() / 1000) as f64)
    }
}

/// `hdrhistogram.percentiles`; a list that cannot be read is the default, with a warning.
fn percentiles(properties: &Properties) -> Vec<f64> {
    const DEFAULT: &str = "95,99";
    let parse = |list: &str| -> Option<Vec<f64>> {
        let percentile = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|p| (0.0..=100.0).contains(p))
        };
        list.split(',').map(percentile).collect()
    };
    let given = properties.text_or("hdrhistogram.percentiles", DEFAULT);
    parse(given).unwrap_or_else(|| {
        properties.warn(format!(
            "[WARN] Couldn't read hdrhistogram.percentiles value: '{given}', the default of \
             '{DEFAULT}' will be used."
        ));
        parse(DEFAULT).expect("the default can be read")
    })
}

/// The measurements of one second.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    count: u64,
    us: f64,
}

impl Piece {
    fn with(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            us: self.us + other.us,
        }
    }
}

/// Measurements over time, by group.
#[derive(Debug, Clone, Default)]
pub struct TimeSeries(BTreeMap<&'static str, Vec<Piece>>);

impl TimeSeries {
    /// Adds one client's work in a second.
    pub fn add(&mut self, second: u32, stats: &IntervalStats) {
        for kind in tailmark_model::Kind::ALL {
            let Some(recorded) = &stats.kinds[kind as usize] else {
                continue;
            };
            let pieces = self.0.entry(super::tally::group(kind)).or_default();
            if pieces.len() <= second as usize {
                pieces.resize(second as usize + 1, Piece::default());
            }
            let service = recorded.service.latencies();
            let count = service.len();
            let us = service.mean() / 1000.0 * count as f64;
            let piece = &mut pieces[second as usize];
            *piece = piece.with(Piece { count, us });
        }
    }

    fn pieces(&self, group: &str) -> &[Piece] {
        self.0.get(group).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(properties: &str) -> Vec<String> {
        let mut read = Properties::default();
        read.read_text(properties).unwrap();
        let formats = OutputFormats::read(&read).unwrap();
        let mut tally = Tally::default();
        for (ns, count) in [(100_000, 90), (5_500_000, 9), (2_000_000_000, 1)] {
            tally.latencies.record_n(ns, count).unwrap();
        }
        tally.returns.insert("OK", 100);
        let tallies = Tallies::from([("READ".to_owned(), tally)]);
        let mut out = Vec::new();
        let lines = formats.lines(&tallies, &TimeSeries::default());
        super::super::exporter::Exporter::Text
            .write(&lines, &mut out)
            .unwrap();
        String::from_utf8(out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn names(lines: &[String]) -> Vec<&str> {
        lines
            .iter()
            .filter_map(|line| line.split(", ").nth(1))
            .collect()
    }

    #[test]
    fn a_histogram_has_ycsbs_lines_in_its_order() {
        let lines = text("hdrhistogram.percentiles=50,95,99.9");
        assert_eq!(
            names(&lines),
            [
                "Operations",
                "AverageLatency(us)",
                "MinLatency(us)",
                "MaxLatency(us)",
                "50thPercentileLatency(us)",
                "95thPercentileLatency(us)",
                "99.9PercentileLatency(us)",
                "Return=OK"
            ]
        );
        assert_eq!(lines[0], "[READ], Operations, 100");
        assert_eq!(lines[4], "[READ], 50thPercentileLatency(us), 100");
        let verbose = text("measurement.histogram.verbose=true");
        assert_eq!(names(&verbose)[6..8], ["Return=OK", "100"]);
        assert_eq!(verbose[7], "[READ], 100, 90.0");
    }

    #[test]
    fn neither_a_percentile_nor_the_average_is_above_the_maximum() {
        let mut read = Properties::default();
        read.read_text("hdrhistogram.percentiles=50,99,99.99")
            .unwrap();
        let formats = OutputFormats::read(&read).unwrap();
        for ns in [12_345_678, 1_234_567_890, 98_765_432_109] {
            let mut tally = Tally::default();
            tally.latencies.record_n(ns, 100).unwrap();
            let tallies = Tallies::from([("READ".to_owned(), tally)]);
            let lines = formats.lines(&tallies, &TimeSeries::default());
            let value = |name: &str| {
                let line = lines
                    .iter()
                    .find(|line| line.name.starts_with(name))
                    .unwrap();
                match line.value {
                    super::super::exporter::Value::Whole(value) => value,
                    super::super::exporter::Value::Double(_) => panic!("{name}"),
                }
            };
            for name in ["50thP", "99thP", "99.99P"] {
                assert!(value(name) <= value("MaxLatency"), "{ns}: {name}");
            }
            let average = mean_us(&tallies["READ"]);
            assert!(average <= value("MaxLatency") as f64, "{ns}: {average}");
        }
    }

    #[test]
    fn buckets_are_milliseconds_and_what_is_beyond_the_last_has_no_percentile() {
        let lines = text(
            "measurementtype=histogram\nhistogram.buckets=7\nmeasurement.histogram.verbose=true",
        );
        assert_eq!(
            names(&lines),
            [
                "Operations",
                "AverageLatency(us)",
                "LatencyVariance(us)",
                "MinLatency(us)",
                "MaxLatency(us)",
                "95thPercentileLatency(us)",
                "99thPercentileLatency(us)",
                "Return=OK",
                "0",
                "1",
                "2",
                "3",
                "4",
                "5",
                "6",
                ">7"
            ]
        );
        assert!(lines.contains(&"[READ], 95thPercentileLatency(us), 5000".to_owned()));
        assert!(lines.contains(&"[READ], >7, 1".to_owned()));
        let short = text("measurementtype=histogram\nhistogram.buckets=3");
        assert!(!short.iter().any(|line| line.contains("95th")), "{short:?}");
    }

    #[test]
    fn combined_formats_have_groups_of_their_own() {
        let lines = text("measurementtype=hdrhistogram+histogram");
        assert!(
            lines[0].starts_with("[HdrREAD], ")
                && lines.last().unwrap().starts_with("[BucketREAD], ")
        );
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.contains("Return=OK"))
                .count(),
            1
        );
    }

    #[test]
    fn a_list_of_percentiles_that_cannot_be_read_is_the_default() {
        assert!(
            text("hdrhistogram.percentiles=95,many")
                .iter()
                .any(|line| line.contains("99thP"))
        );
    }

    #[test]
    fn raw_samples_without_a_summary_are_counted() {
        let lines = text("measurementtype=raw\nmeasurement.raw.no_summary=true");
        let expected = ["[READ], Total Operations, 100", "[READ], Return=OK, 100"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_summary_of_raw_samples_has_its_own_words() {
        let lines = text("measurementtype=raw");
        assert_eq!(lines[0], "[READ], Total Operations, 100");
        assert_eq!(
            lines[1],
            "[READ], Below is a summary of latency in microseconds:, -1"
        );
        assert!(
            lines.contains(&"[READ], p99.9, 2000000".to_owned())
                || lines.iter().any(|l| l.starts_with("[READ], p99.9, "))
        );
    }
}
