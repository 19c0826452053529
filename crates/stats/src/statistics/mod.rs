//! Statistics for comparing runs, when only a few runs are affordable.
//!
//! The unit is a run. Operations within a run are not independent, because a compaction delays
//! thousands in a row. Variation between runs is multiplicative, so everything works on logarithms,
//! and differences are ratios. `docs/METHOD.md` shows how well this holds.

mod change;
mod holm;
mod look;
mod peak;
mod power;
mod rank_sum;
mod resampling;
mod student;
mod trend;
mod welch;

pub use change::{CHANGE_SIGNIFICANCE, ChangePoint, SIDE_MIN, change_points};
pub use holm::holm;
pub use look::Look;
pub use peak::{CountRun, PeakRatio, leave_one_out, may_be_peak, peak_interval, peak_ratio};
pub use power::{POWER, expected_repeats, smallest_difference, smallest_ruled_out};
pub use rank_sum::rank_sum_p;
pub use resampling::resampled_ratio;
pub use student::{t_half_width, t_two_sided};
pub use trend::{in_turns, paired_p};
pub use welch::{Difference, welch};

use student::t_quantile;

/// The accepted chance of a false verdict over all tests of one metric.
pub const SIGNIFICANCE: f64 = 0.05;

/// The fewest runs on either side for a verdict.
pub const RUNS_MIN: usize = 4;

/// With this many repeats, nearly every difference of peaks that matters is found: 10 % at 3 %
/// noise in nine studies of ten, with four repeats in seven.
pub const PEAK_RUNS: usize = 5;

/// The band of practical equivalence if the plan does not set one: ratios within 3 % either way.
pub const EQUIVALENCE: f64 = 0.03;

/// A number with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The geometric mean of runs; `None` without runs, or if one is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs = Logs::from_values(values)?;
    Some(match values {
        // Logarithms would change its last digit.
        [one] => *one,
        _ => logs.mean.exp(),
    })
}

/// The geometric mean of runs with its 95 % interval, by Student's t on logarithms; `None` under
/// [`RUNS_MIN`] runs.
pub fn mean_of_runs(values: &[f64]) -> Option<Estimate> {
    let logs = Logs::from_values(values).filter(|logs| logs.count >= RUNS_MIN as f64)?;
    let half = t_quantile(1.0 - SIGNIFICANCE / 2.0, logs.count - 1.0) * logs.squared_error().sqrt();
    Some(Estimate {
        value: logs.mean.exp(),
        low: (logs.mean - half).exp(),
        high: (logs.mean + half).exp(),
    })
}

/// The noise of runs: the standard deviation of their logarithms, pooled over points with separate
/// means. `None` if no point has two positive runs.
pub fn noise<'a>(points: impl IntoIterator<Item = &'a [f64]>) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for logs in points.into_iter().filter_map(Logs::from_values) {
        squares += logs.variance * (logs.count - 1.0);
        freedom += logs.count - 1.0;
    }
    (freedom > 0.0).then(|| (squares / freedom).sqrt())
}

/// Logarithms of runs: their number, mean and variance (0 for a single run).
#[derive(Debug, Clone, Copy)]
struct Logs {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Logs {
    /// `None` without values, or if one has no logarithm.
    fn from_values(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| has_logarithm(*value)) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        Some(Self::of_logarithms(&logs))
    }

    /// Statistics of at least one logarithm.
    fn of_logarithms(logs: &[f64]) -> Self {
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Self {
            count,
            mean,
            variance: squares / (count - 1.0).max(1.0),
        }
    }

    /// The squared standard error of the mean.
    fn squared_error(self) -> f64 {
        self.variance / self.count
    }
}

fn has_logarithm(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_points_does_not_know_what_they_differ_by() {
        // Logarithms 1 apart: variance 1/2 with two runs, whatever their mean.
        let e = std::f64::consts::E;
        let points: [&[f64]; 3] = [&[1.0, e], &[100.0, 100.0 * e], &[7.0]];
        assert!((noise(points).unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(super::noise([[1.0].as_slice(), &[2.0, 0.0]]), None);
    }

    #[test]
    fn the_mean_of_runs_is_geometric_and_has_an_interval_from_four_on() {
        let estimate = mean_of_runs(&[90.0, 110.0, 95.0, 105.0]).unwrap();
        let mean = (90.0_f64 * 110.0 * 95.0 * 105.0).powf(0.25);
        assert!((estimate.value - mean).abs() < 1e-9);
        // t with 3 degrees of freedom is 3.182446; the logarithms have a deviation of 0.0915732.
        let half = 3.182_446 * 0.091_573_2 / 2.0;
        assert!(
            (estimate.high / mean - f64::exp(half)).abs() < 1e-5,
            "{estimate:?}"
        );
        assert!(
            (estimate.low / mean - f64::exp(-half)).abs() < 1e-5,
            "{estimate:?}"
        );
        assert_eq!(mean_of_runs(&[1.0, 2.0, 3.0]), None);
        assert_eq!(geometric_mean(&[2.0, 8.0]), Some(4.0));
        assert_eq!(geometric_mean(&[2.0, 0.0]), None);
    }
}
