//! Fits the Universal Scalability Law to measured points, so that reports can describe how a system
//! scales and where its knee is. It never replaces a measurement.
//!
//! X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). Lambda is the throughput of one client.
//! Sigma is the share of work that waits for shared resources (contention). Kappa is the cost of
//! keeping each pair of clients in agreement (coherency), which makes ops/s fall in the end. N. J.
//! Gunther, "A General Theory of Computational Scalability Based on Rational Functions" (2008).
//!
//! The fit is by least squares within limits (lambda > 0, 0 <= sigma <= 1, kappa >= 0), which curve
//! fitting libraries leave to their callers. Given sigma and kappa, the best lambda follows. So two
//! parameters are searched for, or one or none if the least squares lie on a limit. Each such case
//! is fitted separately (Levenberg and Marquardt), and the best is taken.

mod curves;

pub use curves::{Curves, SystemScaling};

use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use std::ops::RangeInclusive;

/// The fewest thread counts to which a law is fitted.
pub const THREAD_COUNTS_MIN: usize = 6;

/// The smallest share of the variation between points that the law must explain. Below it, the law
/// does not describe these points and is not reported.
pub const EXPLAINED_MIN: f64 = 0.9;

/// The largest distance of a point from the law, as a fraction of the highest ops/s. Laws with 3 %
/// of noise stay below it in 95 to 99 of 100 fits of single runs. A hard knee, min(N a, b), that
/// lies two points or more within the ends is 8 to 24 % away from its nearest law.
pub const MISFIT_MAX: f64 = 0.07;

/// The same if repeats show that it is not noise. No real system follows a law exactly.
pub const MISFIT_SHOWN_MAX: f64 = 0.03;

/// The chance of rejecting a true law because of its points, with repeats.
const MISFIT_SIGNIFICANCE: f64 = 0.01;

/// The most steps of a fit; about ten are usual.
const STEPS_MAX: usize = 200;

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// Operations per second of one client, above 0.
    pub lambda: f64,
    /// Contention, 0 to 1.
    pub sigma: f64,
    /// Coherency, 0 or more.
    pub kappa: f64,
    /// R squared: the share of the variation between points that it explains, 0.9 to 1.
    pub explained: f64,
}

/// Terms of kappa below this are none, relative to 1 at a single client.
const NO_KAPPA: f64 = 1e-6;

impl Scaling {
    /// The law of these points of clients and operations per second. `None` under
    /// [`THREAD_COUNTS_MIN`] client counts, if a value is not positive, or if no law explains the
    /// points.
    pub fn fit(points: &[(u32, f64)]) -> Option<Self> {
        let is_positive =
            |&(threads, ops): &(u32, f64)| threads > 0 && ops.is_finite() && ops > 0.0;
        let mut counts: Vec<u32> = points.iter().map(|(threads, _)| *threads).collect();
        counts.sort_unstable();
        counts.dedup();
        if counts.len() < THREAD_COUNTS_MIN || !points.iter().all(is_positive) {
            return None;
        }
        let points = Points::new(points);
        let fits = SEARCHES.iter().filter_map(|search| points.fit(*search));
        let best = fits.min_by(|a, b| points.error(*a).total_cmp(&points.error(*b)))?;
        let most = f64::from(counts.last().copied().unwrap_or(1));
        let fitted = Self {
            lambda: points.lambda(best) * points.scale,
            sigma: best[0],
            // A term that changes nothing at the most clients is the rounding of the search.
            kappa: if best[1] * most * (most - 1.0) < NO_KAPPA {
                0.0
            } else {
                best[1]
            },
            explained: 1.0 - points.error(best) / points.variation(),
        };
        (fitted.lambda > 0.0 && fitted.explained >= EXPLAINED_MIN).then_some(fitted)
    }

    /// Whether the law fits these runs by client count. No mean may lie farther from it than
    /// [`MISFIT_MAX`]. With repeats, none may lie farther than [`MISFIT_SHOWN_MAX`] if the runs'
    /// own noise does not explain it (F test of lack of fit against pure error).
    pub fn is_of(&self, runs: &[(u32, &[f64])]) -> bool {
        let (mut highest, mut farthest) = (0.0_f64, 0.0_f64);
        let (mut lack, mut pure, mut count) = (0.0, 0.0, 0.0);
        for (threads, repeats) in runs {
            let n = repeats.len() as f64;
            let mean = repeats.iter().sum::<f64>() / n;
            let miss = mean - self.ops_per_sec(f64::from(*threads));
            highest = highest.max(mean);
            farthest = farthest.max(miss.abs());
            lack += n * miss * miss;
            pure += repeats.iter().map(|ops| (ops - mean).powi(2)).sum::<f64>();
            count += n;
        }
        let misfit = farthest / highest;
        let freedom = (runs.len() as f64 - 3.0, count - runs.len() as f64);
        let is_shown = || {
            let f = (lack / freedom.0) / (pure / freedom.1);
            let of_noise = FisherSnedecor::new(freedom.0, freedom.1);
            of_noise.is_ok_and(|f_test| f.is_infinite() || f_test.sf(f) < MISFIT_SIGNIFICANCE)
        };
        let has_repeats = freedom.0 > 0.0 && freedom.1 > 0.0;
        let is_far = misfit > MISFIT_SHOWN_MAX && has_repeats && is_shown();
        misfit <= MISFIT_MAX && !is_far
    }

    /// Operations per second of that many clients.
    pub fn ops_per_sec(&self, threads: f64) -> f64 {
        self.lambda * relative(threads, [self.sigma, self.kappa])
    }

    /// The number of clients with the most operations per second, at least 1. `None` if more
    /// clients never reduce them.
    pub fn peak_threads(&self) -> Option<f64> {
        let at = ((1.0 - self.sigma) / self.kappa).sqrt();
        (self.kappa > 0.0).then(|| at.max(1.0))
    }
}

/// Sigma and kappa.
type Shape = [f64; 2];

/// The fixed value of a parameter; `None` if the search looks for it.
type Search = [Option<f64>; 2];

/// Searches inside the limits and on each of them.
const SEARCHES: [Search; 6] = [
    [None, None],
    [None, Some(0.0)],
    [Some(0.0), None],
    [Some(0.0), Some(0.0)],
    [Some(1.0), None],
    [Some(1.0), Some(0.0)],
];

/// The range of each parameter.
const LIMITS: [RangeInclusive<f64>; 2] = [0.0..=1.0, 0.0..=f64::MAX];

/// Operations per second relative to those of one client.
fn relative(threads: f64, [sigma, kappa]: Shape) -> f64 {
    threads / (1.0 + sigma * (threads - 1.0) + kappa * threads * (threads - 1.0))
}

/// Points to which laws are fitted.
struct Points {
    /// Clients, and operations per second divided by `scale`.
    all: Vec<(f64, f64)>,
    /// The highest operations per second.
    scale: f64,
}

impl Points {
    fn new(points: &[(u32, f64)]) -> Self {
        let scale = points.iter().map(|(_, ops)| *ops).fold(0.0, f64::max);
        let point = |&(threads, ops): &(u32, f64)| (f64::from(threads), ops / scale);
        Self {
            all: points.iter().map(point).collect(),
            scale,
        }
    }

    /// The best lambda of a shape.
    fn lambda(&self, shape: Shape) -> f64 {
        let sums = self.all.iter().fold((0.0, 0.0), |sums, &(threads, ops)| {
            let of_one = relative(threads, shape);
            (sums.0 + ops * of_one, sums.1 + of_one * of_one)
        });
        sums.0 / sums.1
    }

    fn residuals(&self, shape: Shape) -> Vec<f64> {
        let lambda = self.lambda(shape);
        let residual = |&(threads, ops): &(f64, f64)| lambda * relative(threads, shape) - ops;
        self.all.iter().map(residual).collect()
    }

    /// The sum of squared residuals of a shape.
    fn error(&self, shape: Shape) -> f64 {
        self.residuals(shape).iter().map(|miss| miss * miss).sum()
    }

    /// The sum of squares around the mean.
    fn variation(&self) -> f64 {
        let mean = self.all.iter().map(|(_, ops)| ops).sum::<f64>() / self.all.len() as f64;
        self.all.iter().map(|(_, ops)| (ops - mean).powi(2)).sum()
    }

    /// The least-squares shape of a search, if it lies within the limits.
    fn fit(&self, search: Search) -> Option<Shape> {
        let mut shape = self.start(search);
        let mut damping = 1e-3;
        for _ in 0..STEPS_MAX {
            let Some(step) = self.step(shape, search, damping) else {
                break;
            };
            let next = [shape[0] + step[0], shape[1] + step[1]];
            // Beyond a limit, but on a way back, a search may go on as long as there is a curve.
            if self.is_curve(next) && self.error(next) < self.error(shape) {
                shape = next;
                damping /= 10.0;
            } else if damping < 1e15 {
                damping *= 10.0;
            } else {
                break;
            }
        }
        let is_within = shape
            .iter()
            .zip(&LIMITS)
            .all(|(parameter, limit)| limit.contains(parameter));
        is_within.then_some(shape)
    }

    /// The start of a search. N / X is a polynomial of N - 1, 1 / lambda + (sigma + kappa) / lambda
    /// (N - 1) + kappa / lambda (N - 1)^2. Its coefficients follow roughly from three of the
    /// points.
    fn start(&self, search: Search) -> Shape {
        let mut all = self.all.clone();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |index: usize| (all[index].0 - 1.0, all[index].0 / all[index].1);
        let [(x0, y0), (x1, y1), (x2, y2)] = [0, all.len() / 2, all.len() - 1].map(at);
        let (first, second) = ((y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1));
        let square = (second - first) / (x2 - x0);
        let linear = first - square * (x0 + x1);
        let constant = y0 - x0 * (linear + square * x0);
        let rough = [(linear - square) / constant, square / constant];
        let limited = |index: usize| {
            if constant > 0.0 && rough[index].is_finite() {
                rough[index].clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        [0, 1].map(|index| search[index].unwrap_or_else(|| limited(index)))
    }

    fn is_curve(&self, shape: Shape) -> bool {
        let rises = |&(threads, _): &(f64, f64)| relative(threads, shape) > 0.0;
        shape.iter().all(|parameter| parameter.is_finite()) && self.all.iter().all(rises)
    }

    /// The Levenberg-Marquardt step in the parameters of the search; `None` if there is none.
    fn step(&self, shape: Shape, search: Search, damping: f64) -> Option<Shape> {
        let residuals = self.residuals(shape);
        let slopes = [0, 1].map(|index| self.slopes(shape, search, index));
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let square = [0, 1].map(|i| [0, 1].map(|j| sum(&slopes[i], &slopes[j])));
        let damped = |index: usize| match search[index] {
            Some(_) => 1.0,
            None => square[index][index] * (1.0 + damping),
        };
        let (a, b, c) = (damped(0), square[0][1], damped(1));
        let toward = [0, 1].map(|index| -sum(&slopes[index], &residuals));
        let determinant = a * c - b * b;
        let step = [
            (toward[0] * c - toward[1] * b) / determinant,
            (toward[1] * a - toward[0] * b) / determinant,
        ];
        let is_step = step.iter().all(|part| part.is_finite()) && step != [0.0, 0.0];
        is_step.then_some(step)
    }

    /// The derivative of the residuals with respect to a parameter, with the best lambda for each
    /// shape; 0 for a fixed parameter.
    fn slopes(&self, shape: Shape, search: Search, index: usize) -> Vec<f64> {
        if search[index].is_some() {
            return vec![0.0; self.all.len()];
        }
        // Per point: what one client's multiple is, and how it changes.
        let change = |&(threads, ops): &(f64, f64)| {
            let of_one = relative(threads, shape);
            let load = [threads - 1.0, threads * (threads - 1.0)][index];
            (of_one, -of_one * of_one * load / threads, ops)
        };
        let each: Vec<_> = self.all.iter().map(change).collect();
        let lambda = self.lambda(shape);
        let (above, below) = each.iter().fold((0.0, 0.0), |sums, (of_one, slope, ops)| {
            let above = slope * (ops - 2.0 * lambda * of_one);
            (sums.0 + above, sums.1 + of_one * of_one)
        });
        let of_lambda = above / below;
        let slope = |(of_one, slope, _): &(f64, f64, f64)| lambda * slope + of_lambda * of_one;
        each.iter().map(slope).collect()
    }
}

#[cfg(test)]
mod tests;
