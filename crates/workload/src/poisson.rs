//! When the operations of a Poisson process are due.

use crate::{
    Seed,
    random::{Purpose, Random},
};

/// Instants whose distances are independent and exponentially distributed, rising from 0.
#[derive(Debug, Clone)]
pub struct Poisson {
    random: Random,
    mean_ns: f64,
    at_ns: f64,
}

impl Poisson {
    /// So many a second in the mean; the same seed gives the same instants.
    #[must_use]
    pub fn new(rate: f64, seed: u64) -> Self {
        let seed = Seed::new(seed).of("arrivals", "poisson").value();
        Self {
            random: Random::new(seed, 0, Purpose::Operations),
            mean_ns: 1e9 / rate,
            at_ns: 0.0,
        }
    }

    /// The next instant, nanoseconds after the start: a distance is -ln(1 - u) of the mean, u
    /// uniform in [0, 1).
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        self.at_ns -= (-self.random.unit()).ln_1p() * self.mean_ns;
        self.at_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_exponential() {
        let mut poisson = Poisson::new(1_000.0, 7);
        let (n, mut before) = (1_000_000_u64, 0);
        let distances: Vec<f64> = (0..n)
            .map(|_| {
                let at = poisson.next_ns();
                let distance = (at - before) as f64;
                before = at;
                distance
            })
            .collect();
        let mean = distances.iter().sum::<f64>() / n as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.005, "{mean}");
        // P(distance > x) = e^(-x / mean).
        for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let beyond = distances.iter().filter(|d| **d > x * 1e6).count();
            let (share, expected) = (beyond as f64 / n as f64, f64::exp(-x));
            let error = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((share - expected).abs() < 4.0 * error, "{x}: {share}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_instants() {
        let of = |seed| {
            let mut poisson = Poisson::new(100.0, seed);
            [(); 100].map(|()| poisson.next_ns())
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
