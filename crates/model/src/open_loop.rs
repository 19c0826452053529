//! Properties of points at a fixed rate only: how operations arrive, how late they are sent and
//! why, and which were never done.

use crate::{Latencies, new_latencies};
use serde::{Deserialize, Serialize};

/// How the operations of a point at a fixed rate follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// A Poisson process: times between arrivals are independent and exponentially distributed.
    Poisson,
}

impl Arrivals {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Even, Self::Poisson];

    /// The name in plans, exports and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// How late operations were sent, nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StartLag {
    /// All operations.
    pub all: Latencies,
    /// By cause; `None` if each client has its own schedule.
    pub causes: Option<LagCauses>,
}

/// Start lag by cause. Each operation is in one of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct LagCauses {
    /// Operations that were due before any client was free.
    pub no_client: Latencies,
    /// Operations for which a client waited but was woken late.
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

/// Operations that were due and still not done 10 s after the end of the point, by their age then,
/// nanoseconds. Each would have taken at least that long, so a quantile above the smallest age is a
/// lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Censored {
    /// Age since sending. Operations that were never sent are not included.
    pub service: Latencies,
    /// Age since they were due.
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

/// The rate that a percentage in a plan resolved to: a share of the peak of a system in a workload,
/// computed once, before its first point was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvedRate {
    /// The system that is measured at the rate.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn.
    pub distribution: String,
    /// As written in the plan: `60%`.
    pub requested: String,
    /// The system whose peak it is a percentage of.
    pub of_system: String,
    /// The peak.
    pub peak_ops_per_sec: f64,
    /// The resulting rate, operations per second.
    pub rate: f64,
}
