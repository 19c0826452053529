//! The ratio of two systems that took turns: least squares on logarithms, with a mean for each
//! system and a common linear trend in the position of a run.
//!
//! Drift during a study (temperature, wear, a neighbour) then does not count as noise. With equal
//! numbers of runs and equal noise, the estimate has 2n - 3 degrees of freedom. If the systems'
//! noise differs, there are fewer, after Satterthwaite, as in Welch's test. With three times the
//! noise on one side, 2n - 3 would give 7 % false differences instead of 5 %.

use super::{Difference, has_logarithm, welch::Gap};

/// One side: the sums of its runs.
struct Side {
    count: f64,
    at: f64,
    mean: f64,
    /// Position and logarithm, minus their means.
    runs: Vec<(f64, f64)>,
}

impl Side {
    fn from_runs(runs: &[(f64, f64)]) -> Option<Self> {
        if runs.len() < 2 || !runs.iter().all(|(_, value)| has_logarithm(*value)) {
            return None;
        }
        let count = runs.len() as f64;
        let at = runs.iter().map(|(at, _)| at).sum::<f64>() / count;
        let mean = runs.iter().map(|(_, value)| value.ln()).sum::<f64>() / count;
        let centered = runs
            .iter()
            .map(|(own, value)| (own - at, value.ln() - mean));
        Some(Self {
            count,
            at,
            mean,
            runs: centered.collect(),
        })
    }

    fn square(&self) -> f64 {
        self.runs.iter().map(|(at, _)| at * at).sum()
    }

    fn residual_square(&self, slope: f64) -> f64 {
        let residual = |(at, log): &(f64, f64)| (log - slope * at).powi(2);
        self.runs.iter().map(residual).sum()
    }
}

/// The difference of two systems' runs, each given as its position in the study and its value;
/// `None` under two runs on a side, if a value is not positive, or if all have one position.
pub fn in_turns(a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<Difference> {
    let (a, b) = (Side::from_runs(a)?, Side::from_runs(b)?);
    let square = a.square() + b.square();
    if square <= 0.0 {
        return None;
    }
    let products = a.runs.iter().chain(&b.runs).map(|(at, log)| at * log);
    let slope = products.sum::<f64>() / square;
    // Of the degree of freedom that the trend takes, each side has its part.
    let freedom = |side: &Side| side.count - 1.0 - side.square() / square;
    let variance = |side: &Side| side.residual_square(slope) / freedom(side) / side.count;
    let (of_a, of_b) = (variance(&a), variance(&b));
    let means = of_a + of_b;
    let pooled = (a.residual_square(slope) + b.residual_square(slope)) / (a.count + b.count - 3.0);
    let of_slope = pooled * (a.at - b.at).powi(2) / square;
    let gap = Gap {
        mean: a.mean - b.mean - slope * (a.at - b.at),
        error: (means + of_slope).sqrt(),
        freedom: if means > 0.0 {
            means.powi(2) / (of_a.powi(2) / freedom(&a) + of_b.powi(2) / freedom(&b))
        } else {
            a.count + b.count - 3.0
        },
    };
    gap.difference()
}

/// The probability of a mean of paired differences this far or farther from 0 by chance: Student's
/// paired test, a diagnostic. `None` under two pairs, if the numbers of runs differ, or if a value
/// is not positive.
pub fn paired_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 2 || !a.iter().chain(b).all(|value| has_logarithm(*value)) {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let logs = super::Logs::of_logarithms(&differences);
    let gap = Gap {
        mean: logs.mean,
        error: logs.squared_error().sqrt(),
        freedom: logs.count - 1.0,
    };
    gap.difference().map(|difference| difference.p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::t_two_sided;

    #[test]
    fn a_known_example_gives_its_known_numbers() {
        // Turns A B, B A, A B, B A; logarithms with a trend of 0.1 and residuals of +-0.01 that are
        // orthogonal to it.
        let a = [(0.0, 0.01), (3.0, -0.01), (4.0, -0.01), (7.0, 0.01)];
        let b = [(1.0, 0.01), (2.0, -0.01), (5.0, -0.01), (6.0, 0.01)];
        let run = |level: f64| {
            move |(at, residual): &(f64, f64)| (*at, (level + 0.1 * at + residual).exp())
        };
        let (a, b) = (a.iter().map(run(0.2)), b.iter().map(run(0.0)));
        let found = in_turns(&a.collect::<Vec<_>>(), &b.collect::<Vec<_>>()).unwrap();
        assert!((found.ratio.value.ln() - 0.2).abs() < 1e-12);
        // 8 residuals of 0.01 squared over 5, and 2/4 of that is the square of the error. The trend
        // takes 25 of 42 parts of its degree from the one and 17 from the other.
        let error = (8.0 * 1e-4_f64 / 5.0 / 2.0).sqrt();
        let p = t_two_sided(0.2 / error, 5.0);
        assert!((found.p / p - 1.0).abs() < 0.1, "{} {p}", found.p);
    }

    #[test]
    fn pairs_are_tested_by_their_differences() {
        let e = f64::exp;
        let p = paired_p(&[e(1.1), e(2.3), e(3.2)], &[e(1.0), e(2.0), e(3.0)]).unwrap();
        // Differences 0.1, 0.3 and 0.2: t = 0.2 / (0.1 / sqrt(3)) with two degrees of freedom.
        assert!((p - t_two_sided(2.0 * 3.0_f64.sqrt(), 2.0)).abs() < 1e-9);
        assert_eq!(paired_p(&[1.0, 2.0], &[1.0]), None);
    }
}
