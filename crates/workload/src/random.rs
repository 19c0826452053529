//! Random numbers of one client: fast, seedable, the same on every machine.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A client's generator.
///
/// Every client has two, one for its operations and one for the bytes that it writes, so that the
/// length or compressibility of values changes no key.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

/// The purpose of a generator. Those of one client are independent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Operations, keys, fields and lengths.
    Operations,
    /// The bytes of values.
    Values,
}

impl Random {
    /// The generator of one client.
    ///
    /// The client's number is added to the mixed seed, then mixed again. Mixing is one to one, so
    /// no two clients or purposes of a seed share a state.
    pub fn new(seed: u64, client: u32, purpose: Purpose) -> Self {
        let stream = u64::from(client) << 1 | u64::from(matches!(purpose, Purpose::Values));
        let state = mix(mix(seed).wrapping_add(stream));
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// Another generator with independent numbers.
    pub fn fork(&self) -> Self {
        let mut other = self.clone();
        other.0.long_jump();
        other
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; 0 if n is 0. It is the upper half of the product of n and 64 random bits,
    /// which differs from uniform by less than n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014, with the constants of Stafford's variant 13). One to one.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn clients_and_purposes_of_a_seed_draw_different_numbers() {
        let mut first = HashSet::new();
        for client in 0..1024 {
            for purpose in [Purpose::Operations, Purpose::Values] {
                assert!(first.insert(Random::new(7, client, purpose).bits()));
            }
        }
    }

    #[test]
    fn below_reaches_both_ends_evenly() {
        let mut random = Random::new(1, 0, Purpose::Operations);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        // Standard deviation is 95.
        assert!(
            counts.iter().all(|c| c.abs_diff(10_000) < 500),
            "{counts:?}"
        );
    }

    #[test]
    fn unit_lies_in_its_range() {
        let mut random = Random::new(1, 0, Purpose::Operations);
        let draws: Vec<_> = (0..100_000).map(|_| random.unit()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
