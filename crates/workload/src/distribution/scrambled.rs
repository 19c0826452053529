//! YCSB's `zipfian`: the ranks of a fixed zipfian, hashed and folded onto the records.

use super::zipfian::Zipfian;
use crate::{key::hash, random::Random};

/// Ranks of the inner zipfian: 0 to 10^10.
const RANKS: u64 = 10_000_000_001;
/// YCSB's sum of i^-0.99 over 10^10 items (`ScrambledZipfianGenerator`), used for one more.
const ZETAN: f64 = 26.469_028_201_783_02;

/// Draws numbers below a number of items.
#[derive(Debug, Clone)]
pub struct Scrambled {
    ranks: Zipfian,
    items: u64,
}

impl Scrambled {
    /// Numbers below `items`, at least 1.
    pub fn new(items: u64) -> Self {
        Self {
            ranks: Zipfian::with_sum(RANKS, ZETAN),
            items,
        }
    }

    /// A number below the items.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        hash(self.ranks.draw(random)) % self.items
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    /// The bin of a number: 0 and 1 for the numbers of ranks 0 and 1, 2 for all others.
    fn top(number: u64, items: u64) -> usize {
        (0..2)
            .position(|rank| number == hash(rank) % items)
            .unwrap_or(2)
    }

    #[test]
    fn the_first_ranks_get_the_same_share_of_any_number_of_items() {
        // What the other ranks add to these two records is their share of all the others.
        for items in [100_001, 1_000_001, 10_000_000_001] {
            let (scrambled, mut random) = (Scrambled::new(items), random());
            let other = (1.0 - 0.03778 - 0.01902) / items as f64;
            let shares = [1.0 / ZETAN + other, 0.5_f64.powf(0.99) / ZETAN + other];
            assert!((shares[0] - 0.03778).abs() < 2e-5 && (shares[1] - 0.01902).abs() < 2e-5);
            assert_shares(4_000_000, &shares, || {
                top(scrambled.draw(&mut random), items)
            });
        }
    }

    /// The first ranks are hashed one by one. The others are too many for their places to matter.
    #[test]
    fn every_part_of_the_items_gets_the_shares_of_the_ranks_that_are_hashed_to_it() {
        const HASHED: u64 = 2_000_000;
        for items in [1_001, 1_000_001, 10_000_000_001] {
            let (scrambled, mut random) = (Scrambled::new(items), random());
            let below = |end| scrambled.ranks.below(end);
            let bin = |number: u64| (u128::from(number) * 50 / u128::from(items)) as usize;
            let start = |i: u64| (i * items).div_ceil(50);
            let rest = (1.0 - below(HASHED)) / items as f64;
            let mut shares: [f64; 50] =
                std::array::from_fn(|i| rest * (start(i as u64 + 1) - start(i as u64)) as f64);
            for rank in 0..HASHED {
                shares[bin(hash(rank) % items)] += below(rank + 1) - below(rank);
            }
            assert_shares(2_000_000, &shares, || bin(scrambled.draw(&mut random)));
        }
    }
}
