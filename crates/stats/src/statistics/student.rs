//! Student's t distribution.

use super::SIGNIFICANCE;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The distribution with these degrees of freedom, which may be fractional.
fn distribution(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("at least two runs leave a degree of freedom")
}

/// The quantile of t at probability `p`, 0 to 1.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    distribution(freedom).inverse_cdf(p)
}

/// The probability of a t this far or farther from 0, on either side.
pub fn t_two_sided(t: f64, freedom: f64) -> f64 {
    (2.0 * distribution(freedom).sf(t.abs())).min(1.0)
}

/// The probability of a t this high or higher.
pub fn t_above(t: f64, freedom: f64) -> f64 {
    distribution(freedom).sf(t)
}

/// Half the width of the 95 % interval of the mean of these values, at least two.
pub fn t_half_width(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    t_quantile(1.0 - SIGNIFICANCE / 2.0, n - 1.0) * (squares / (n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, freedom, t) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 3.0, 3.182_446_305),
            (0.975, 8.0, 2.306_004_135),
            (0.95, 8.0, 1.859_548_038),
            (0.995, 4.0, 4.604_094_871),
            (0.9995, 18.0, 3.921_645_825),
            // By numerical integration of the density.
            (0.975, 6.5, 2.402_002_008),
        ] {
            let found = t_quantile(p, freedom);
            assert!((found - t).abs() < 1e-7, "{p} {freedom}: {found}");
            let back = t_two_sided(found, freedom) / 2.0;
            assert!((back - (1.0 - p)).abs() < 1e-6, "{p} {freedom}: {back}");
        }
    }

    #[test]
    fn tails_are_exact_where_they_are_known() {
        // With one degree of freedom it is Cauchy's: 1/2 - atan(t)/pi above t.
        for t in [0.5_f64, 2.0, 1e3, 1e6] {
            let exact = (1.0 / t).atan() / std::f64::consts::PI;
            for signed in [t, -t] {
                let found = t_two_sided(signed, 1.0) / 2.0;
                assert!((found / exact - 1.0).abs() < 1e-6, "{signed}");
            }
        }
        assert_eq!(t_two_sided(0.0, 5.0), 1.0);
        assert_eq!(t_two_sided(f64::INFINITY, 5.0), 0.0);
    }
}
