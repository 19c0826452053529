//! The bootstrap, a diagnostic: the ratio of geometric means over resampled runs. With a handful of
//! runs its interval is too narrow, so no verdict uses it.
//!
//! B. Efron, R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13: percentiles.

use super::Estimate;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws.
const DRAWS: usize = 2_000;

/// The ratio of geometric means, first to second, with the middle 95 % of resamples of the same
/// size from each side. The same runs always give the same interval. `None` if a side is empty or a
/// value is not positive.
pub fn resampled_ratio(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let value = (super::Logs::from_values(a)?.mean - super::Logs::from_values(b)?.mean).exp();
    let [a, b] = [a, b].map(|runs| runs.iter().map(|run| run.ln()).collect::<Vec<_>>());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| mean_of_draw(&a, &mut random) - mean_of_draw(&b, &mut random))
        .collect();
    draws.sort_by(f64::total_cmp);
    let beyond = DRAWS / 40;
    Some(Estimate {
        value,
        low: draws[beyond].exp(),
        high: draws[DRAWS - 1 - beyond].exp(),
    })
}

/// The mean of a resample of the same size.
fn mean_of_draw(runs: &[f64], random: &mut Xoshiro256PlusPlus) -> f64 {
    let count = runs.len();
    let below = |bits: u64| ((u128::from(bits) * count as u128) >> 64) as usize;
    let sum: f64 = (0..count).map(|_| runs[below(random.next_u64())]).sum();
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_lie_around_the_ratio_and_within_the_runs() {
        let (a, b) = ([9.0, 10.0, 11.0, 12.0], [5.0, 5.5, 4.5, 5.2]);
        let found = resampled_ratio(&a, &b).unwrap();
        assert!(found.low < found.value && found.value < found.high);
        assert!(
            found.low > 9.0 / 5.5 && found.high < 12.0 / 4.5,
            "{found:?}"
        );
        assert_eq!(resampled_ratio(&a, &b), Some(found));
        assert_eq!(resampled_ratio(&a, &[]), None);
        let same = resampled_ratio(&[2.0; 4], &[1.0; 4]).unwrap();
        assert!((same.low - 2.0).abs() < 1e-12 && (same.high - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_many_runs_is_that_of_the_normal_distribution() {
        // Runs whose logarithms are spread evenly from -0.1 to 0.1: deviation 0.0577 each.
        let runs: Vec<f64> = (0..400)
            .map(|i| (f64::from(i) / 1_995.0 - 0.1).exp())
            .collect();
        let found = resampled_ratio(&runs, &runs).unwrap();
        let half = 1.96 * 0.0577 * (2.0_f64 / 400.0).sqrt();
        assert!((found.high.ln() / half - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.low.ln() / -half - 1.0).abs() < 0.1, "{found:?}");
    }
}
