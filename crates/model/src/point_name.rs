//! The name of a point without its system and repeat. Points of one name are runs of the same
//! point, and two systems are compared where both have a point of that name.

use crate::{Arrivals, PointKey, number};
use std::fmt;

/// The name of a point, in the order of tables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointName {
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn.
    pub distribution: String,
    /// Clients; [`PointKey::PEAK`] if only the peak is known.
    pub threads: u32,
    /// The bits of the target rate. Bits of positive numbers sort like the numbers.
    rate_bits: Option<u64>,
    /// How operations arrive at that rate.
    pub arrivals: Option<Arrivals>,
}

impl PointName {
    /// The name of a point.
    pub fn new(
        workload: &str,
        distribution: &str,
        threads: u32,
        target_rate: Option<f64>,
        arrivals: Option<Arrivals>,
    ) -> Self {
        Self {
            workload: workload.to_owned(),
            distribution: distribution.to_owned(),
            threads,
            rate_bits: target_rate.map(f64::to_bits),
            arrivals,
        }
    }

    /// Operations per second over all clients; `None` for a closed loop.
    pub fn target_rate(&self) -> Option<f64> {
        self.rate_bits.map(f64::from_bits)
    }

    /// Whether it is a closed loop of this workload and distribution.
    pub fn is_closed_loop_of(&self, workload: &str, distribution: &str) -> bool {
        self.rate_bits.is_none() && self.workload == workload && self.distribution == distribution
    }

    /// Clients, and the rate if there is one: `16 threads`, `2,000/s even, 64 threads`.
    pub fn at(&self) -> String {
        let threads = number::threads(self.threads);
        let rate = self.target_rate().map(number::rate);
        match (rate, self.arrivals) {
            (Some(rate), Some(arrivals)) => format!("{rate}/s {}, {threads}", arrivals.name()),
            (Some(rate), None) => format!("{rate}/s, {threads}"),
            (None, _) => threads,
        }
    }
}

impl From<&PointKey> for PointName {
    fn from(key: &PointKey) -> Self {
        Self::new(
            &key.workload,
            &key.distribution,
            key.threads,
            key.target_rate,
            key.arrivals,
        )
    }
}

/// `ycsb-a zipfian, 16 threads`
impl fmt::Display for PointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", self.workload, self.distribution, self.at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_by_clients_and_rate_and_ordered_by_both() {
        let point =
            |threads, rate, arrivals| PointName::new("w", "uniform", threads, rate, arrivals);
        let even = Some(Arrivals::Even);
        let names = [
            (point(1, None, None), "w uniform, 1 thread"),
            (point(16, None, None), "w uniform, 16 threads"),
            (point(16, Some(900.0), None), "w uniform, 900/s, 16 threads"),
            (
                point(16, Some(2e3), even),
                "w uniform, 2,000/s even, 16 threads",
            ),
        ];
        assert!(names.iter().all(|(name, text)| name.to_string() == *text));
        assert!(names.is_sorted_by_key(|(name, _)| name));
    }
}
