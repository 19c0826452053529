//! All numbers below a bound, each once, in an order that looks random and takes no memory.
//!
//! A Feistel network over the next even number of bits, walked until the number is below the bound
//! (Black, Rogaway: Ciphers with arbitrary finite domains, 2002).

use crate::random::mix;

const ROUNDS: u64 = 4;

/// A permutation of `0..count`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    seed: u64,
}

impl Permutation {
    /// The permutation of this seed.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            count,
            half_bits: bits.div_ceil(2).max(1),
            seed,
        }
    }

    /// The number at a place; both are below the count.
    pub fn at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.encipher(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn encipher(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits & mask, number & mask);
        for round in 0..ROUNDS {
            let key = mix(self.seed.wrapping_add(round));
            (left, right) = (right, left ^ (mix(key ^ right) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in [1, 2, 3, 1000, 4097] {
            let permutation = Permutation::new(count, 7);
            let mut numbers: Vec<_> = (0..count).map(|place| permutation.at(place)).collect();
            let in_order = numbers.is_sorted();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
            assert!(count < 1000 || !in_order);
        }
    }
}
