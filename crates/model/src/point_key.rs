//! The name of a load or a point within a study.

use crate::{Arrivals, ResolvedRate};
use serde::{Deserialize, Serialize};

/// The name of a load or a point within a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointKey {
    /// The system's name.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn: `uniform`, `zipfian`, ...
    pub distribution: String,
    /// Clients, each with one operation in flight; [`PointKey::PEAK`] if only the peak is known.
    pub threads: u32,
    /// The repeat, from 1.
    pub repeat: u32,
    /// Operations per second over all clients; `None` for a closed loop.
    pub target_rate: Option<f64>,
    /// How operations arrive at that rate; `None` for a closed loop, and if each client has its own
    /// schedule (drop-ins).
    pub arrivals: Option<Arrivals>,
}

impl PointKey {
    /// A value of [`PointKey::threads`]: only the peak of the workload is known, not its thread
    /// count. No run has that many clients, so it cannot be mistaken for a measured point.
    pub const PEAK: u32 = 0;

    /// Whether the point is the peak of its workload at an unknown thread count. It takes part in
    /// comparisons of peaks, but never in comparisons at a thread count.
    pub const fn is_peak(&self) -> bool {
        self.threads == Self::PEAK
    }

    /// The names of its system, workload and distribution.
    pub fn names(&self) -> (&str, &str, &str) {
        (&self.system, &self.workload, &self.distribution)
    }

    /// Whether the point is measured at this rate.
    pub fn is_at(&self, rate: &ResolvedRate) -> bool {
        self.names() == (&*rate.system, &*rate.workload, &*rate.distribution)
            && self.target_rate == Some(rate.rate)
    }

    /// The number of clients, if it is known.
    pub fn clients(&self) -> Option<u32> {
        (!self.is_peak()).then_some(self.threads)
    }
}
