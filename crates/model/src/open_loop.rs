//! What only a point at a fixed rate has: how operations arrive, how late they are sent and why,
//! and those that were never done.

use crate::{Latencies, new_latencies};
use serde::{Deserialize, Serialize};

/// How the operations of a point at a fixed rate follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// A Poisson process: the times between two are independent and exponentially distributed.
    Poisson,
}

impl Arrivals {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Even, Self::Poisson];

    /// The name in plans, exports and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// How much later than due operations were sent, nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StartLag {
    /// Of every operation.
    pub all: Latencies,
    /// By cause; none where each client has a schedule of its own.
    pub causes: Option<LagCauses>,
}

/// Start lag by its cause: each operation is in one of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct LagCauses {
    /// Of operations that were due before a client was free to send them.
    pub no_client: Latencies,
    /// Of operations for which a client waited: it was woken so late.
    pub woken_late: Latencies,
}

impl Default for LagCauses {
    fn default() -> Self {
        Self {
            no_client: new_latencies(),
            woken_late: new_latencies(),
        }
    }
}

/// Operations that were due and not done when the point had ended and 10 s more had passed, by
/// their age then, nanoseconds. What they would have taken is at least that: a quantile above the
/// smallest age is known to be no less than it is stated.
#[derive(Debug, Clone, PartialEq)]
pub struct Censored {
    /// Since they were sent; those that never were are not in it.
    pub service: Latencies,
    /// Since they were due.
    pub response: Latencies,
}

impl Default for Censored {
    fn default() -> Self {
        Self {
            service: new_latencies(),
            response: new_latencies(),
        }
    }
}

/// What a percentage among the rates of a plan came to: of the peak of a system in a workload,
/// worked out once, when the first of its points was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvedRate {
    /// The system that is measured at the rate.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn.
    pub distribution: String,
    /// As the plan has it: `60%`.
    pub requested: String,
    /// The system whose peak it is a percentage of.
    pub of_system: String,
    /// That peak.
    pub peak_ops_per_sec: f64,
    /// The rate that it came to, operations per second.
    pub rate: f64,
}
