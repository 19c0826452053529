//! What a run did, for whoever started it.

use tailmark_results::{Fault, PointKey};

/// What a run did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Points that were measured.
    pub points_measured: usize,
    /// Probes of searches that were measured.
    pub probes_measured: usize,
    /// Points that were in the study already.
    pub points_kept: usize,
    /// Points that were left out, because their rate is a part of a peak that is not there.
    pub points_left_out: usize,
    /// Whether it was stopped before the end; the same command goes on.
    pub interrupted: bool,
    /// Requests that failed in the points measured.
    pub errors: u64,
    /// Points of the study, whenever they were measured, that are no peak, and why.
    pub failed: Vec<(PointKey, Fault)>,
    /// Changes of this machine that could not be put back.
    pub left_changed: usize,
    /// Hosts of servers on which changes could not be put back, with how many, as far as that is known.
    pub left_on_servers: Vec<(String, Option<usize>)>,
}

impl Summary {
    /// Of a run that finds so many points in the study.
    pub(super) fn going_on(points_kept: usize) -> Self {
        Self {
            points_kept,
            ..Self::default()
        }
    }

    /// Points that nothing is left to do for.
    pub(super) const fn points_done(&self) -> usize {
        self.points_measured + self.points_kept + self.points_left_out
    }
}
