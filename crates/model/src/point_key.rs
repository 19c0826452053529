//! The name of a load or a point within a study.

use crate::Arrivals;
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
    /// Clients with one operation in flight each; [`PointKey::PEAK`] where only the peak is known.
    pub threads: u32,
    /// From 1.
    pub repeat: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub target_rate: Option<f64>,
    /// How operations arrive at that rate; none in a closed loop, and where each client has a
    /// schedule of its own (drop-ins).
    pub arrivals: Option<Arrivals>,
}

impl PointKey {
    /// In [`PointKey::threads`]: only the peak of the workload is known, not the thread count that
    /// it was reached at. No run has so many clients, so nothing that was measured is mistaken for
    /// it.
    pub const PEAK: u32 = 0;

    /// Whether the point is the peak of its workload at an unknown thread count. It is in
    /// comparisons of peaks, and in none at a thread count.
    #[must_use]
    pub const fn is_peak(&self) -> bool {
        self.threads == Self::PEAK
    }

    /// Clients, where their number is known.
    #[must_use]
    pub fn clients(&self) -> Option<u32> {
        (!self.is_peak()).then_some(self.threads)
    }
}
