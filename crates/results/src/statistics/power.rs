//! What a plan can show: the smallest true difference that so many repeats find as a rule.

use super::{RUNS_MIN, SIGNIFICANCE, t_quantile};

/// How often the smallest difference is found where it is there.
pub const POWER: f64 = 0.9;

/// The smallest true difference, as a fraction (0.05 is 5 %), that is found with a chance of
/// [`POWER`] or more: `noise` is the standard deviation of the logarithm of a run's value, `runs`
/// the runs of each system, `tests` the size of the family by which p is adjusted (Holm's first
/// step, the strictest), and `band` that of practical equivalence, beyond which the ratio that is
/// found must lie. None under [`RUNS_MIN`] runs, where there is no verdict.
///
/// With n runs a side and 2n - 2 degrees of freedom a difference d of the means of logarithms is
/// found with that chance where `d = (t(1 - 0.05 / tests / 2) + t(0.9)) noise sqrt(2 / n)`, the usual
/// approximation of the noncentral t distribution by a shifted one; and the ratio that is found lies
/// outside the band where `d = ln(1 + band) + t(0.9) noise sqrt(2 / n)`. The higher of both is given.
#[must_use]
pub fn smallest_difference(noise: f64, runs: usize, tests: usize, band: f64) -> Option<f64> {
    if runs < RUNS_MIN || !noise.is_finite() || noise < 0.0 {
        return None;
    }
    let freedom = 2.0 * runs as f64 - 2.0;
    let error = noise * (2.0 / runs as f64).sqrt();
    let found = t_quantile(POWER, freedom) * error;
    let significance = SIGNIFICANCE / tests.max(1) as f64;
    let shown = found + t_quantile(1.0 - significance / 2.0, freedom) * error;
    Some(shown.max(found + band.ln_1p()).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_noise_more_tests_and_fewer_runs_need_a_larger_difference() {
        let of = |noise, runs, tests| smallest_difference(noise, runs, tests, 0.0).unwrap();
        // t(0.975, 8) = 2.3060, t(0.9, 8) = 1.3968: 3.7028 x 0.03 x sqrt(2 / 5) = 0.07025.
        assert!(
            (of(0.03, 5, 1) - 0.07278).abs() < 1e-4,
            "{}",
            of(0.03, 5, 1)
        );
        assert!(of(0.05, 5, 1) > of(0.03, 5, 1));
        assert!(of(0.03, 4, 1) > of(0.03, 5, 1));
        assert!(of(0.03, 5, 50) > of(0.03, 5, 1));
    }

    #[test]
    fn without_noise_it_is_the_band_and_under_four_runs_nothing_is_shown() {
        assert!((smallest_difference(0.0, 4, 50, 0.03).unwrap() - 0.03).abs() < 1e-12);
        assert_eq!(smallest_difference(0.03, 3, 1, 0.03), None);
        assert_eq!(smallest_difference(f64::NAN, 5, 1, 0.03), None);
    }
}
