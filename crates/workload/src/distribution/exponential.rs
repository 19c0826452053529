//! Exponentially rarer with the distance from the newest record (YCSB's `ExponentialGenerator`).

use crate::random::Random;

/// Draws distances from the last key.
#[derive(Debug, Clone)]
pub struct Exponential {
    /// The mean distance.
    mean: f64,
}

impl Exponential {
    /// Of a hundred draws, `percentile` lie within `fraction` of `records` from the last key
    /// (before draws beyond the first key are repeated).
    pub fn new(records: u64, percentile: f64, fraction: f64) -> Self {
        let gamma = -(1.0 - percentile / 100.0).ln() / (records as f64 * fraction);
        Self { mean: 1.0 / gamma }
    }

    /// A key up to `last`. Distances beyond key 0 are drawn again.
    #[inline]
    pub fn draw(&self, random: &mut Random, last: u64) -> u64 {
        loop {
            let distance = -random.unit().ln() * self.mean;
            if let Some(number) = last.checked_sub(distance as u64) {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn distances_have_the_shares_of_the_formula() {
        for records in [1_000_u64, 1_000_000, 10_000_000_000] {
            let (percentile, fraction) = (95.0, 0.857_142_857_1);
            let (draws, mut random) = (Exponential::new(records, percentile, fraction), random());
            let last = records - 1;
            // Of distances below x, 1 - 0.05^(x / (records * fraction)) are drawn, and those beyond
            // the records again.
            let within = |x: u64| 1.0 - 0.05_f64.powf(x as f64 / (records as f64 * fraction));
            let step = records / 20;
            let share =
                |bin: u64| (within((bin + 1) * step) - within(bin * step)) / within(records);
            let shares: Vec<_> = (0..20).map(share).collect();
            let bin = || ((last - draws.draw(&mut random, last)) / step) as usize;
            assert_shares(1_000_000, &shares, bin);
        }
    }

    #[test]
    fn the_named_share_of_draws_lies_within_the_named_share_of_records() {
        let (draws, mut random) = (Exponential::new(1_000, 90.0, 0.25), random());
        // A last key far from 0, so that hardly any draw is repeated.
        let last = 1_000_000;
        assert_shares(1_000_000, &[0.9], || {
            usize::from(last - draws.draw(&mut random, last) >= 250)
        });
    }
}
