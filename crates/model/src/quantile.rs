//! Quantiles as the published studies state them: the k-th highest of n samples.
//!
//! The value at quality q over n samples is the k-th highest latency, k = max(1, floor(n(1 - q))).
//! For example, of a million samples the lowest of the 100 highest is the 99.99 % quality of
//! service. A quantile with fewer than [`SAMPLES_MIN`] samples at or above it is too uncertain to
//! be printed as a number.

use crate::Latencies;

/// A quantile that is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// In tables and exports: `p99.9`.
    pub name: &'static str,
    /// The quality, from 0 to 1.
    pub value: f64,
}

/// Every quantile that is reported, rising.
pub const QUANTILES: [Quantile; 7] = [
    Quantile::new("p50", 0.5),
    Quantile::new("p90", 0.9),
    Quantile::new("p95", 0.95),
    Quantile::new("p99", 0.99),
    Quantile::new("p99.9", 0.999),
    Quantile::new("p99.99", 0.9999),
    Quantile::new("p99.999", 0.999_99),
];

/// The median.
pub const P50: Quantile = QUANTILES[0];

/// The 99th percentile.
pub const P99: Quantile = QUANTILES[3];

/// One nine more than reports state of every point: 10 of 10 million samples lie beyond it.
pub const SIX_NINES: Quantile = Quantile::new("p99.9999", 0.999_999);

/// With fewer samples beyond it, a quantile is not printed as a number.
pub const SAMPLES_MIN: u64 = 10;

/// With this many samples beyond it, a quantile is solid (its 95 % interval is within a fifth or so).
pub const SAMPLES_SOLID: u64 = 100;

impl Quantile {
    const fn new(name: &'static str, value: f64) -> Self {
        Self { name, value }
    }

    /// Its value in nanoseconds, if enough samples lie beyond it. Reports use
    /// [`crate::RankedLatencies`], which includes operations that were never done.
    pub fn value_in(self, latencies: &Latencies) -> Option<u64> {
        quantile(latencies, self.value)
    }

    /// Whether enough samples lie beyond it to treat it as certain.
    pub fn solid(self, latencies: &Latencies) -> bool {
        samples_beyond(latencies.len(), self.value) >= SAMPLES_SOLID
    }
}

/// The value at quality `q`, nanoseconds; `None` with fewer than [`SAMPLES_MIN`] samples beyond it.
pub fn quantile(latencies: &Latencies, q: f64) -> Option<u64> {
    (samples_beyond(latencies.len(), q) >= SAMPLES_MIN).then(|| value_at(latencies, q))
}

/// floor(n(1 - q)): how many of `n` samples are at or above the value at quality `q`.
///
/// A q such as 0.9999 is not exact in binary. A product that misses a whole number only by that
/// error counts as the whole number.
pub fn samples_beyond(n: u64, q: f64) -> u64 {
    let n = n as f64;
    let beyond = n * (1.0 - q.clamp(0.0, 1.0));
    let whole = beyond.round();
    if (beyond - whole).abs() <= n * f64::EPSILON {
        whole as u64
    } else {
        beyond.floor() as u64
    }
}

/// The k-th highest of n samples, k = max(1, floor(n(1 - q))), nanoseconds, however few there are;
/// 0 without samples. The value is HdrHistogram's highest equivalent value.
pub fn value_at(latencies: &Latencies, q: f64) -> u64 {
    kth_highest(latencies, rank(latencies.len(), q))
}

/// The rank of the value at quality `q` among n samples, counted from the highest.
pub fn rank(n: u64, q: f64) -> u64 {
    samples_beyond(n, q).clamp(1, n.max(1))
}

/// The k-th highest sample, k from 1, nanoseconds; the lowest if there are fewer, 0 if there are
/// none.
pub fn kth_highest(latencies: &Latencies, k: u64) -> u64 {
    let n = latencies.len();
    let (rank, mut below) = (n - k.min(n) + 1, 0);
    for bucket in latencies.iter_recorded() {
        below += bucket.count_since_last_iteration();
        if below >= rank {
            return latencies.highest_equivalent(bucket.value_iterated_to());
        }
    }
    0
}

/// The minimum latency, nanoseconds; `None` without samples.
pub fn min(latencies: &Latencies) -> Option<u64> {
    (!latencies.is_empty()).then(|| latencies.min())
}

/// The maximum latency, nanoseconds; `None` without samples.
pub fn max(latencies: &Latencies) -> Option<u64> {
    (!latencies.is_empty()).then(|| latencies.max())
}

/// The mean latency, nanoseconds; `None` without samples.
pub fn mean(latencies: &Latencies) -> Option<f64> {
    (!latencies.is_empty()).then(|| latencies.mean())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new_latencies;

    fn histogram(samples: &[u64]) -> Latencies {
        let mut latencies = new_latencies();
        samples
            .iter()
            .for_each(|&sample| latencies.record(sample).unwrap());
        latencies
    }

    #[test]
    fn the_samples_beyond_are_exact() {
        // Whole numbers by hand, of products that are not whole in binary.
        let cases = [
            (1_000_000, 0.9999, 100),
            (999_999, 0.9999, 99),
            (100_000, 0.9999, 10),
            (99_999, 0.9999, 9),
            (1_000_000, 0.999_99, 10),
            (10_000_000_000, 0.999_99, 100_000),
            (10_000_000_001, 0.999_99, 100_000),
            (9_999_999_999, 0.999_99, 99_999),
            (1_000, 0.999, 1),
            (100, 0.99, 1),
            (200, 0.95, 10),
            (30, 0.9, 3),
            (29, 0.9, 2),
            (7, 0.5, 3),
            (5, 0.0, 5),
            (5, 1.0, 0),
            (0, 0.5, 0),
        ];
        for (n, q, beyond) in cases {
            assert_eq!(samples_beyond(n, q), beyond, "n = {n}, q = {q}");
        }
    }

    #[test]
    fn a_quantile_is_the_kth_highest_of_the_sorted_samples() {
        let mut state = 1_u64;
        for n in [
            1, 2, 9, 10, 19, 20, 99, 100, 101, 1_000, 1_001, 54_321, 100_000,
        ] {
            let mut samples: Vec<u64> = (0..n)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    50_000 + (state >> 40) * (state >> 60)
                })
                .collect();
            let latencies = histogram(&samples);
            samples.sort_unstable();
            for quantile in QUANTILES {
                // k in whole numbers: n(1 - q) with q in units of 1 / 100,000.
                let beyond = n * (100_000 - (quantile.value * 100_000.0).round() as u64) / 100_000;
                let sample = samples[(n - beyond.max(1)) as usize];
                let value = value_at(&latencies, quantile.value);
                assert_eq!(
                    value,
                    latencies.highest_equivalent(sample),
                    "{} of {n}",
                    quantile.name
                );
                let known = (beyond >= 10).then_some(value);
                assert_eq!(quantile.value_in(&latencies), known);
                assert_eq!(quantile.solid(&latencies), beyond >= 100);
            }
        }
    }

    #[test]
    fn the_lowest_of_the_hundred_highest_of_a_million_is_four_nines() {
        let mut latencies = new_latencies();
        latencies.record_n(100_000, 999_900).unwrap();
        latencies.record_n(5_000_000, 1).unwrap();
        latencies.record_n(9_000_000, 99).unwrap();
        let value = quantile(&latencies, 0.9999).unwrap();
        assert!(latencies.equivalent(value, 5_000_000), "{value}");
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        let none = new_latencies();
        assert_eq!((min(&none), max(&none), mean(&none)), (None, None, None));
        assert!(QUANTILES.iter().all(|q| q.value_in(&none).is_none()));
        assert_eq!(value_at(&none, 0.99), 0);
    }

    #[test]
    fn quantiles_rise_and_are_named_after_their_value() {
        assert!(QUANTILES.is_sorted_by(|a, b| a.value < b.value));
        assert_eq!(P99.name, "p99");
        for quantile in QUANTILES {
            let percent: f64 = quantile.name[1..].parse().unwrap();
            assert!(
                (percent / 100.0 - quantile.value).abs() < 1e-12,
                "{}",
                quantile.name
            );
        }
    }
}
