//! Welch's t test on the logarithms of two systems' runs: a test of their ratio that does not
//! assume equal noise.
//!
//! B. L. Welch, "The generalization of Student's problem when several different population
//! variances are involved", Biometrika 34 (1947); degrees of freedom by Satterthwaite.

use super::{Estimate, Logs, Look, SIGNIFICANCE, student};

/// The difference of two systems' runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The ratio of the first to the second, with its 95 % interval. In Welch's test it is the
    /// ratio of the geometric means.
    pub ratio: Estimate,
    /// The probability of a difference this large or larger by chance.
    pub p: f64,
    /// The distance of the one-sided 95 % ends, in logarithms.
    one_sided: f64,
    gap: Gap,
}

impl Difference {
    /// The upper end of the one-sided 95 % interval of the ratio: the true ratio is not above it.
    pub fn at_most(&self) -> f64 {
        (self.gap.mean + self.one_sided).exp()
    }

    /// The lower end: the true ratio is not below it.
    pub fn at_least(&self) -> f64 {
        (self.gap.mean - self.one_sided).exp()
    }

    /// The same, if it is looked at so.
    #[must_use]
    pub fn at(self, look: Look) -> Self {
        self.gap.seen_at(look)
    }
}

/// The difference of two means of logarithms, with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    pub mean: f64,
    /// The standard error.
    pub error: f64,
    /// The degrees of freedom of the error.
    pub freedom: f64,
}

/// A standard error of logarithms up to this size is rounding, from runs that do not differ:
/// doubles have 16 digits.
pub(super) const ROUNDING: f64 = 1e-12;

impl Gap {
    /// Whether runs of a system differ from each other.
    pub fn has_noise(self) -> bool {
        self.error > ROUNDING
    }

    /// The difference of two systems whose noise may be unequal.
    pub fn new(a: Logs, b: Logs) -> Self {
        let (of_a, of_b) = (a.squared_error(), b.squared_error());
        let of_both = of_a + of_b;
        Self {
            mean: a.mean - b.mean,
            error: of_both.sqrt(),
            freedom: if of_both > 0.0 {
                of_both.powi(2) / (of_a.powi(2) / (a.count - 1.0) + of_b.powi(2) / (b.count - 1.0))
            } else {
                a.count + b.count - 2.0
            },
        }
    }

    /// The difference with interval and p; `None` if the runs of neither side differ, because their
    /// noise is then unknown and nothing is certain.
    pub fn difference(self) -> Option<Difference> {
        self.has_noise().then(|| self.seen_at(Look::ONLY))
    }

    fn seen_at(self, look: Look) -> Difference {
        let Self {
            mean,
            error,
            freedom,
        } = self;
        let half = |alpha| student::t_quantile(1.0 - look.nominal(alpha) / 2.0, freedom) * error;
        let of_interval = half(SIGNIFICANCE);
        Difference {
            ratio: Estimate {
                value: mean.exp(),
                low: (mean - of_interval).exp(),
                high: (mean + of_interval).exp(),
            },
            p: look.over_all(student::t_two_sided(mean / error, freedom)),
            one_sided: half(2.0 * SIGNIFICANCE),
            gap: self,
        }
    }
}

/// The difference of two systems' runs; `None` under two runs on a side, if a value is not
/// positive, and without any noise.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Difference> {
    let (a, b) = (Logs::from_values(a)?, Logs::from_values(b)?);
    (a.count >= 2.0 && b.count >= 2.0).then(|| Gap::new(a, b).difference())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp<const N: usize>(logs: [f64; N]) -> [f64; N] {
        logs.map(f64::exp)
    }

    #[test]
    fn a_known_example_gives_its_known_numbers() {
        // By hand: means 3 and 5, variances 2.5 and 10, standard error sqrt(0.5 + 2).
        let a = exp([1.0, 2.0, 3.0, 4.0, 5.0]);
        let b = exp([1.0, 3.0, 5.0, 7.0, 9.0]);
        let found = welch(&a, &b).unwrap();
        let t = -2.0 / 2.5_f64.sqrt();
        let freedom = 2.5_f64.powi(2) / (0.5_f64.powi(2) / 4.0 + 4.0 / 4.0);
        assert!((found.ratio.value - f64::exp(-2.0)).abs() < 1e-9);
        assert!(
            (found.gap.freedom - freedom).abs() < 1e-9,
            "{}",
            found.gap.freedom
        );
        assert!((found.p - student::t_two_sided(t, freedom)).abs() < 1e-12);
        // By numerical integration: p, and t at 97.5 % for this freedom, 2.458823710.
        assert!((found.p - 0.253_702_406).abs() < 1e-8, "{}", found.p);
        let half = 2.458_823_710 * 2.5_f64.sqrt();
        assert!((found.ratio.low.ln() + 2.0 + half).abs() < 1e-7);
        assert!((found.ratio.high.ln() + 2.0 - half).abs() < 1e-7);
    }

    #[test]
    fn one_sided_ends_lie_within_the_interval() {
        let found = welch(&[1.0, 1.1, 1.2, 1.3], &[1.0, 1.0, 1.1, 1.1]).unwrap();
        let ratio = found.ratio;
        assert!(ratio.low < found.at_least() && found.at_least() < ratio.value);
        assert!(ratio.value < found.at_most() && found.at_most() < ratio.high);
    }

    #[test]
    fn runs_that_do_not_differ_are_no_certainty() {
        assert_eq!(welch(&[3.0; 4], &[3.0; 4]), None);
        assert_eq!(welch(&[6.0; 4], &[3.0; 4]), None);
        // The mean of five equal logarithms differs from them in its last bit.
        assert_eq!(welch(&[666.6; 5], &[999.9; 5]), None);
        assert_eq!(welch(&[666.6; 5], &[666.6; 5]), None);
        // One side alone that does not.
        assert!(welch(&[3.0; 4], &[2.9, 3.0, 3.1, 3.2]).unwrap().p < 1.0);
    }

    #[test]
    fn there_is_no_test_of_one_run_or_of_what_has_no_logarithm() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 0.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[], &[]), None);
    }
}
