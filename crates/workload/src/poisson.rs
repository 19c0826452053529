//! The due times of operations in a Poisson process.

use crate::Seed;
use rand_core::SeedableRng as _;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::SplitMix64;

/// Instants whose distances are independent and exponentially distributed.
///
/// Each depends only on the previous one. So many clients can take the next instant of a shared
/// sequence with a single atomic exchange, and the same seed gives all of them the same instants.
#[derive(Debug, Clone, Copy)]
pub struct Poisson {
    seed: u64,
    mean_ns: f64,
}

impl Poisson {
    /// This many per second on average.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self {
            seed: Seed::new(seed).with("arrivals", "poisson").value(),
            mean_ns: 1e9 / rate,
        }
    }

    /// The instant after another, nanoseconds; at least one later.
    #[inline]
    pub fn after(&self, instant_ns: u64) -> u64 {
        let distance: f64 = Exp1.sample(&mut bits(self.seed ^ instant_ns));
        // Rounded down, it would come half a nanosecond too early each time.
        let distance = (distance * self.mean_ns + 0.5) as u64;
        instant_ns.saturating_add(distance.max(1))
    }
}

/// Random bits derived from a number: SplitMix64, from its second state on.
#[inline]
fn bits(number: u64) -> SplitMix64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    SplitMix64::seed_from_u64(number.wrapping_add(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(rate: f64, n: usize) -> Vec<f64> {
        let (poisson, mut at) = (Poisson::new(rate, 7), 0);
        (0..n)
            .map(|_| {
                let next = poisson.after(at);
                let distance = (next - at) as f64;
                at = next;
                distance
            })
            .collect()
    }

    #[test]
    fn distances_are_exponential() {
        for rate in [0.5, 1_000.0, 1_000_000.0] {
            let (n, mean_ns) = (1_000_000, 1e9 / rate);
            let distances = distances(rate, n);
            let mean = distances.iter().sum::<f64>() / n as f64;
            assert!((mean / mean_ns - 1.0).abs() < 0.004, "{rate}: {mean}");
            // P(distance > x) = e^(-x / mean).
            for x in [0.1, 0.5, 1.0, 2.0, 4.0, 8.0] {
                let beyond = distances.iter().filter(|d| **d > x * mean_ns).count();
                let (share, expected) = (beyond as f64 / n as f64, f64::exp(-x));
                let error = (expected * (1.0 - expected) / n as f64).sqrt();
                assert!((share - expected).abs() < 4.0 * error, "{x}: {share}");
            }
        }
    }

    #[test]
    fn distances_are_independent() {
        let distances = distances(20_000.0, 1_000_000);
        let n = distances.len() as f64;
        let mean = distances.iter().sum::<f64>() / n;
        for lag in [1, 2, 3, 10, 100] {
            let pairs = distances.iter().zip(&distances[lag..]);
            let sum: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
            let correlation = sum / n / (mean * mean);
            assert!(correlation.abs() < 4.0 / n.sqrt(), "{lag}: {correlation}");
        }
    }

    #[test]
    fn as_many_arrive_in_a_second_as_in_a_poisson_process() {
        let (rate, seconds) = (200.0, 20_000);
        let (poisson, mut at) = (Poisson::new(rate, 3), 0);
        let mut counts = vec![0_u32; seconds];
        loop {
            at = poisson.after(at);
            match counts.get_mut((at / 1_000_000_000) as usize) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let n = seconds as f64;
        let mean = counts.iter().map(|c| f64::from(*c)).sum::<f64>() / n;
        let variance = counts
            .iter()
            .map(|c| (f64::from(*c) - mean).powi(2))
            .sum::<f64>()
            / n;
        assert!((mean / rate - 1.0).abs() < 0.003, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn bits_are_the_mixed_numbers_of_the_sequence() {
        use rand_core::Rng as _;
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        for number in [0, 1, 7, u64::MAX] {
            let mut bits = bits(number);
            let expected = [1_u64, 2].map(|n| number.wrapping_add(STEP.wrapping_mul(n)));
            let expected = expected.map(crate::random::mix);
            assert_eq!([bits.next_u64(), bits.next_u64()], expected);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_instants() {
        let instants = |seed| {
            let poisson = Poisson::new(100.0, seed);
            (0..100).fold(0, |at, _| poisson.after(at))
        };
        assert_eq!(instants(1), instants(1));
        assert_ne!(instants(1), instants(2));
    }
}
