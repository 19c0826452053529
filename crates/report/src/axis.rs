//! The axis of a workload's points: client counts, or offered rates.

use std::cmp::Ordering;
use tailmark_model::{Arrivals, PointKey, number};

/// The axis of a grid's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Client counts, in a closed loop or at one fixed rate.
    Threads,
    /// Offered rates.
    Rates,
}

impl Axis {
    /// At the head of a table's first column.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Threads => "Threads",
            Self::Rates => "Offered ops/s",
        }
    }

    /// In charts.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Threads => "thread count",
            Self::Rates => "offered operations per second",
        }
    }

    /// The position of a point on it.
    #[must_use]
    pub fn step(self, key: &PointKey) -> Step {
        let rate = key.target_rate.filter(|_| self == Self::Rates);
        Step {
            rate,
            threads: key.threads,
        }
    }
}

/// The position of a cell on the axis of its grid.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The offered operations per second; `None` if the axis is the client count.
    pub rate: Option<f64>,
    /// Client count.
    pub threads: u32,
}

impl Step {
    /// Below every step.
    pub const FIRST: Self = Self {
        rate: None,
        threads: 0,
    };
    /// Above every step.
    pub const LAST: Self = Self {
        rate: Some(f64::INFINITY),
        threads: u32::MAX,
    };

    /// Its number on the axis: `16`, `10,000`; `peak` at an unknown thread count.
    #[must_use]
    pub fn label(self) -> String {
        match self.rate {
            None if self.threads == PointKey::PEAK => "peak".to_owned(),
            None => self.threads.to_string(),
            Some(rate) => number::rate(rate),
        }
    }

    /// In a sentence: `16 threads`, `10,000 ops/s`.
    #[must_use]
    pub fn place(self) -> String {
        match self.rate {
            None => number::threads(self.threads),
            Some(rate) => number::ops(rate),
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Step {}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        let rates = match (self.rate, other.rate) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
        rates.then(self.threads.cmp(&other.threads))
    }
}

/// `Poisson arrivals`, as people write it.
#[must_use]
pub const fn arrivals(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Even => "even arrivals",
        Arrivals::Poisson => "Poisson arrivals",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_by_rate_and_then_by_clients() {
        let step = |rate, threads| Step { rate, threads };
        let steps = [
            Step::FIRST,
            step(None, 16),
            step(Some(9.0), 64),
            step(Some(10.0), 8),
            step(Some(10.0), 16),
            Step::LAST,
        ];
        assert!(steps.is_sorted_by(|a, b| a < b));
    }
}
