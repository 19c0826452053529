//! Zipf's law counted back from the newest record (YCSB's `SkewedLatestGenerator`).

use super::zipfian::Zipfian;
use crate::random::Random;

/// Draws distances from the last key.
#[derive(Debug, Clone)]
pub struct Latest {
    distances: Zipfian,
}

impl Latest {
    /// Draws with `last` as the last key at the start. As in YCSB there are `last` distances, so
    /// key 0 is drawn only if it is the only key.
    pub fn new(last: u64) -> Self {
        Self {
            distances: Zipfian::new(last.max(1)),
        }
    }

    /// A key up to `last`, which grows during a run.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, last: u64) -> u64 {
        self.distances.grow(last);
        last.saturating_sub(self.distances.draw(random))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{testing::*, zeta::zeta, zipfian::THETA};
    use super::*;

    #[test]
    fn the_newest_records_get_the_shares_of_zipf() {
        for last in [999_u64, 999_999, 9_999_999_999] {
            let (mut latest, mut random) = (Latest::new(last), random());
            let sum = zeta(last, THETA);
            let shares = [1.0 / sum, 0.5_f64.powf(THETA) / sum];
            assert_shares(2_000_000, &shares, || {
                (last - latest.draw(&mut random, last)) as usize
            });
        }
    }

    #[test]
    fn distances_have_the_shares_of_the_formula_to_the_oldest_record() {
        for last in [999_u64, 999_999, 9_999_999_999] {
            let (mut latest, mut random) = (Latest::new(last), random());
            let distances = Zipfian::new(last);
            let share = |bin: usize| {
                let from = if bin == 0 { 0 } else { decade_end(bin - 1) };
                distances.below(decade_end(bin).min(last)) - distances.below(from)
            };
            let shares: Vec<_> = (0..=decade(last - 1)).map(share).collect();
            let bin = || decade(last - latest.draw(&mut random, last));
            assert_shares(2_000_000, &shares, bin);
        }
    }

    #[test]
    fn the_newest_record_stays_the_most_frequent_while_records_are_added() {
        let (mut latest, mut random, mut last) = (Latest::new(999), random(), 999_u64);
        let sum = zeta(1_500_000, THETA);
        // From 1 to 2 million records the sum changes by little: its middle serves for all.
        latest.draw(&mut random, 1_000_000);
        last += 999_001;
        let mut newest = 0_u32;
        for _ in 0..1_000_000 {
            last += 1;
            newest += u32::from(latest.draw(&mut random, last) == last);
        }
        let expected = 1e6 / sum;
        assert!(
            (f64::from(newest) - expected).abs() < 0.03 * expected,
            "{newest}, {expected}"
        );
    }

    #[test]
    fn key_0_is_never_drawn_and_key_1_is() {
        let (mut latest, mut random) = (Latest::new(3), random());
        let drawn: std::collections::BTreeSet<_> =
            (0..10_000).map(|_| latest.draw(&mut random, 3)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }
}
