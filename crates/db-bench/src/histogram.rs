//! Latencies in db_bench's histogram: whole microseconds in buckets that grow by half.
//!
//! Bucket limits, percentiles and text follow monitoring/histogram.cc of RocksDB, so that programs
//! which read db_bench's output can read this. A percentile is interpolated within a bucket and can
//! be off by tens of percent; the study keeps three digits.

use std::fmt::Write as _;
use tailmark_model::Latencies;

/// A histogram as db_bench prints it.
pub struct Histogram {
    limits: Vec<u64>,
    counts: Vec<u64>,
    count: u64,
    sum: f64,
    squares: f64,
    min: u64,
    max: u64,
}

impl Histogram {
    /// Of latencies in nanoseconds.
    pub fn new(latencies: &Latencies) -> Self {
        let limits = limits();
        let mut histogram = Self {
            counts: vec![0; limits.len()],
            limits,
            count: latencies.len(),
            sum: 0.0,
            squares: 0.0,
            min: latencies.min() / 1000,
            max: latencies.max() / 1000,
        };
        for recorded in latencies.iter_recorded() {
            let (value, count) = (
                recorded.value_iterated_to() / 1000,
                recorded.count_at_value(),
            );
            let last = histogram.limits.len() - 1;
            let bucket = histogram
                .limits
                .partition_point(|limit| *limit < value)
                .min(last);
            histogram.counts[bucket] += count;
            histogram.sum += value as f64 * count as f64;
            histogram.squares += (value as f64).powi(2) * count as f64;
        }
        histogram
    }

    fn deviation(&self) -> f64 {
        let n = self.count as f64;
        ((self.squares * n - self.sum * self.sum).max(0.0) / (n * n)).sqrt()
    }

    /// A percentile, from 0 to 100, in microseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        let threshold = self.count as f64 * percent / 100.0;
        let mut below = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            if (below + count) as f64 >= threshold {
                let left = self.left(bucket) as f64;
                let within = match count {
                    0 => 0.0,
                    _ => (threshold - below as f64) / count as f64,
                };
                let value = left + (self.limits[bucket] as f64 - left) * within;
                return value.clamp(self.min as f64, self.max as f64);
            }
            below += count;
        }
        self.max as f64
    }

    fn left(&self, bucket: usize) -> u64 {
        if bucket == 0 {
            0
        } else {
            self.limits[bucket - 1]
        }
    }
}

impl std::fmt::Display for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.count as f64;
        let average = if self.count == 0 { 0.0 } else { self.sum / n };
        let deviation = if self.count == 0 {
            0.0
        } else {
            self.deviation()
        };
        writeln!(
            f,
            "Count: {} Average: {average:.4}  StdDev: {deviation:.2}",
            self.count
        )?;
        let median = self.percentile(50.0);
        writeln!(
            f,
            "Min: {}  Median: {median:.4}  Max: {}",
            self.min, self.max
        )?;
        let mut percentiles = String::new();
        for percent in [50.0, 75.0, 99.0, 99.9, 99.99] {
            write!(percentiles, " P{percent}: {:.2}", self.percentile(percent))?;
        }
        writeln!(f, "Percentiles:{percentiles}")?;
        writeln!(f, "------------------------------------------------------")?;
        let mut cumulative = 0;
        for (bucket, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            cumulative += count;
            let share = |part: u64| 100.0 * part as f64 / n;
            let marks = "#".repeat((share(count) / 5.0 + 0.5) as usize);
            let (open, left, right) = (
                if bucket == 0 { '[' } else { '(' },
                self.left(bucket),
                self.limits[bucket],
            );
            let (part, total) = (share(count), share(cumulative));
            writeln!(
                f,
                "{open} {left:7}, {right:7} ] {count:8} {part:7.3}% {total:7.3}% {marks}"
            )?;
        }
        Ok(())
    }
}

/// The upper ends of the buckets: each half as much again as the last, cut to two digits.
fn limits() -> Vec<u64> {
    let (mut limits, mut value) = (vec![1_u64, 2], 2.0);
    loop {
        value *= 1.5;
        if value > u64::MAX as f64 {
            return limits;
        }
        let (mut limit, mut power) = (value as u64, 1);
        while limit / 10 > 10 {
            limit /= 10;
            power *= 10;
        }
        limits.push(limit * power);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::new_latencies;

    #[test]
    fn limits_are_those_of_rocksdb() {
        let first = [
            1, 2, 3, 4, 6, 10, 15, 22, 34, 51, 76, 110, 170, 250, 380, 580, 870, 1300,
        ];
        assert_eq!(limits()[..18], first);
        assert_eq!(limits().len(), 109);
    }

    #[test]
    fn a_value_at_a_limit_belongs_to_the_bucket_below_it() {
        let mut latencies = new_latencies();
        for micros in [1, 2, 2, 3] {
            latencies.record(micros * 1000).unwrap();
        }
        let text = Histogram::new(&latencies).to_string();
        assert!(
            text.starts_with(
                "Count: 4 Average: 2.0000  StdDev: 0.71\nMin: 1  Median: 1.5000  Max: 3\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("[       0,       1 ]        1  25.000%  25.000% #####\n"),
            "{text}"
        );
        assert!(
            text.contains("(       1,       2 ]        2  50.000%  75.000% ##########\n"),
            "{text}"
        );
    }

    #[test]
    fn percentiles_are_interpolated_and_stay_between_the_extremes() {
        let mut latencies = new_latencies();
        (0..100).for_each(|_| latencies.record(12_000).unwrap());
        let histogram = Histogram::new(&latencies);
        assert!((histogram.percentile(50.0) - 12.0).abs() < 1e-9);
        assert!((histogram.percentile(99.99) - 12.0).abs() < 1e-9);
    }
}
