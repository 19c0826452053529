//! The power of a plan: the smallest true difference that a number of repeats usually finds.

use super::{Look, RUNS_MIN, SIGNIFICANCE, student::t_quantile};
use statrs::distribution::{ContinuousCDF, Normal};
use tailmark_model::RepeatRange;

/// How often the smallest difference is found if it exists.
pub const POWER: f64 = 0.9;

/// The smallest true difference, as a fraction (0.05 is 5 %), that is found with a chance of
/// [`POWER`] or more. `noise` is the standard deviation of the logarithm of a run's value, `runs`
/// the number of runs of each system, seen at this look, `tests` the size of the family for the adjustment of p
/// (Holm's first step, the strictest), and `band` the band of practical equivalence, which the
/// ratio must exceed. `None` under [`RUNS_MIN`] runs, which give no verdict.
///
/// The standard error is `e = noise sqrt(2 / n)`. With k = n - 1, two sides of equal noise have
/// about `f = 2 k (k + 1) / (k + 2)` of Welch's degrees of freedom on average. A difference d of
/// the means of logarithms is found with that chance if `d / e = c + z(0.9) sqrt(1 + c² / 2f)` with
/// `c = t(1 - 0.05 / tests / 2)`: the noncentral t distribution by Johnson and Welch, "Applications
/// of the non-central t-distribution", Biometrika 31 (1940). The ratio lies outside the band with
/// that chance if `d = ln(1 + band) + z(0.9) e`. The higher d is taken.
pub fn smallest_difference(
    noise: f64,
    (runs, look): (usize, Look),
    tests: usize,
    band: f64,
) -> Option<f64> {
    smallest_beyond(noise, runs, quantile(look, tests), band)
}

/// The quantile of t that a difference exceeds.
fn quantile(look: Look, tests: usize) -> f64 {
    1.0 - look.nominal(SIGNIFICANCE / tests.max(1) as f64) / 2.0
}

/// How many repeats of a range two systems take on average until this difference, as a fraction, is
/// found: the fewest, and one more for each look with the chance that it was not found before. The
/// chances are those of [`smallest_difference`].
pub fn expected_repeats(
    noise: f64,
    difference: f64,
    range: RepeatRange,
    tests: usize,
    band: f64,
) -> f64 {
    let is_open = |runs: u32| {
        let (freedom, part) = errors(runs as usize);
        let critical = t_quantile(
            quantile(Look::after(runs as usize, Some(range)), tests),
            freedom,
        );
        let deviations = difference.ln_1p() / (part * noise);
        let significant =
            (deviations - critical) / (1.0 + critical.powi(2) / (2.0 * freedom)).sqrt();
        let beyond_band = deviations - band.ln_1p() / (part * noise);
        1.0 - Normal::standard().cdf(significant.min(beyond_band))
    };
    f64::from(range.least) + (range.least..range.most).map(is_open).sum::<f64>()
}

/// Welch's degrees of freedom for two sides of equal noise with so many runs each, on average, and the
/// standard error of their difference, as a part of the noise.
fn errors(runs: usize) -> (f64, f64) {
    let k = runs as f64 - 1.0;
    (2.0 * k * (k + 1.0) / (k + 2.0), (2.0 / runs as f64).sqrt())
}

/// The same for a difference that an unadjusted one-sided 95 % bound rules out: its distance from
/// the true difference.
pub fn smallest_ruled_out(noise: f64, (runs, look): (usize, Look)) -> Option<f64> {
    smallest_beyond(
        noise,
        runs,
        1.0 - look.nominal(2.0 * SIGNIFICANCE) / 2.0,
        0.0,
    )
}

fn smallest_beyond(noise: f64, runs: usize, quantile: f64, band: f64) -> Option<f64> {
    if runs < RUNS_MIN || !noise.is_finite() || noise < 0.0 {
        return None;
    }
    let (freedom, part) = errors(runs);
    let error = noise * part;
    let critical = t_quantile(quantile, freedom);
    let power = Normal::standard().inverse_cdf(POWER);
    let significant = critical + power * (1.0 + critical.powi(2) / (2.0 * freedom)).sqrt();
    let beyond_band = band.ln_1p() + power * error;
    Some((significant * error).max(beyond_band).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_noise_more_tests_and_fewer_runs_need_a_larger_difference() {
        let difference = |noise, runs, tests| {
            smallest_difference(noise, (runs, Look::ONLY), tests, 0.0).unwrap()
        };
        // t(0.975, 6.667) = 2.3884, and 1.2816 sqrt(1 + 5.704 / 13.33) = 1.5313 is added:
        // 3.9197 x 0.03 x sqrt(2 / 5) = 0.07437.
        let found = difference(0.03, 5, 1);
        assert!((found - 0.07720).abs() < 2e-4, "{found}");
        assert!(difference(0.05, 5, 1) > difference(0.03, 5, 1));
        assert!(difference(0.03, 4, 1) > difference(0.03, 5, 1));
        assert!(difference(0.03, 5, 50) > difference(0.03, 5, 1));
    }

    #[test]
    fn a_bound_on_one_side_rules_out_what_a_test_on_two_does_not_show() {
        // t(0.95, 6.667) = 1.9107, and 1.2816 sqrt(1 + 3.651 / 13.33) = 1.4464 is added:
        // 3.3571 x 0.03 x sqrt(2 / 5) = 0.06370.
        let found = smallest_ruled_out(0.03, (5, Look::ONLY)).unwrap();
        assert!((found - 0.06577).abs() < 3e-4, "{found}");
        assert!(found < smallest_difference(0.03, (5, Look::ONLY), 1, 0.0).unwrap());
        assert_eq!(smallest_ruled_out(0.03, (3, Look::ONLY)), None);
    }

    #[test]
    fn the_repeats_that_are_expected_are_those_of_simulated_studies() {
        // docs/METHOD.md: 6.6 and 11.0 of 4 to 20 repeats at four thread counts.
        let range = RepeatRange { least: 4, most: 20 };
        let expected = |difference| expected_repeats(0.03, difference, range, 4, 0.03);
        assert!((expected(0.1) - 6.6).abs() < 0.8, "{}", expected(0.1));
        assert!((expected(0.05) - 11.0).abs() < 1.5, "{}", expected(0.05));
        assert!(expected(0.0) > 19.9 && expected(1.0) < 4.5);
    }

    #[test]
    fn without_noise_it_is_the_band_and_under_four_runs_nothing_is_shown() {
        assert!(
            (smallest_difference(0.0, (4, Look::ONLY), 50, 0.03).unwrap() - 0.03).abs() < 1e-12
        );
        assert_eq!(smallest_difference(0.03, (3, Look::ONLY), 1, 0.03), None);
        assert_eq!(
            smallest_difference(f64::NAN, (5, Look::ONLY), 1, 0.03),
            None
        );
    }
}
