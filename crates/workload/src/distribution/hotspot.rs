//! A hot set of the lowest key numbers (YCSB's `HotspotIntegerGenerator`).

use crate::random::Random;

/// Draws from a hot and a cold set, each uniformly.
#[derive(Debug, Clone)]
pub struct Hotspot {
    records: u64,
    hot: u64,
    operation_fraction: f64,
}

impl Hotspot {
    /// Numbers below `records`, at least 1; both fractions are from 0 to 1. If one of the sets is
    /// empty, all draws go to the other (YCSB divides by zero).
    pub fn new(records: u64, data_fraction: f64, operation_fraction: f64) -> Self {
        let hot = ((records as f64 * data_fraction) as u64).min(records);
        let operation_fraction = match hot {
            0 => 0.0,
            all if all == records => 1.0,
            _ => operation_fraction,
        };
        Self {
            records,
            hot,
            operation_fraction,
        }
    }

    /// A number below the records.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        if random.unit() < self.operation_fraction {
            random.below(self.hot)
        } else {
            self.hot + random.below(self.records - self.hot)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn both_sets_get_their_share_evenly() {
        for records in [1_000, 1_000_000, 10_000_000_000] {
            let (hotspot, mut random) = (Hotspot::new(records, 0.2, 0.8), random());
            let bin = || (hotspot.draw(&mut random) * 10 / records) as usize;
            let mut shares = [0.2 / 8.0; 10];
            shares[..2].fill(0.8 / 2.0);
            assert_shares(1_000_000, &shares, bin);
        }
    }

    #[test]
    fn an_empty_set_leaves_its_draws_to_the_other() {
        let mut random = random();
        for (records, data) in [(3, 0.2), (3, 0.0), (3, 1.0), (1, 0.5)] {
            let hotspot = Hotspot::new(records, data, 0.5);
            let drawn: std::collections::BTreeSet<_> =
                (0..1_000).map(|_| hotspot.draw(&mut random)).collect();
            assert!(drawn.into_iter().eq(0..records));
        }
    }
}
