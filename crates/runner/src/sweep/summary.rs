//! The results of a run, for its caller.

use tailmark_model::{Fault, PointKey, number};

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Points that were measured.
    pub points_measured: usize,
    /// Trials of searches that were measured.
    pub trials_measured: usize,
    /// Points that were in the study already.
    pub points_kept: usize,
    /// Points that were left out, because their rate is a part of a peak that is not there.
    pub points_skipped: usize,
    /// Whether it was stopped before the end. The same command resumes it.
    pub interrupted: bool,
    /// Requests that failed in the points measured.
    pub errors: u64,
    /// Points of the study, whenever they were measured, that are no peak, and why.
    pub failed: Vec<(PointKey, Fault)>,
    /// Changes of this machine that could not be put back.
    pub left_changed: usize,
    /// Hosts of servers on which changes could not be restored, with their number if known.
    pub left_on_servers: Vec<(String, Option<usize>)>,
}

impl Summary {
    /// The summary of a run that finds that many points in the study.
    pub(super) fn going_on(points_kept: usize) -> Self {
        Self {
            points_kept,
            ..Self::default()
        }
    }

    /// Changes that could not be restored, one sentence each; empty if all were.
    #[must_use]
    pub fn left(&self) -> Vec<String> {
        let changes = |left: usize| number::plural(left as u64, "change");
        let here = (self.left_changed > 0).then(|| {
            format!(
                "{} of this machine could not be undone (see above); run `tailmark restore` to try \
                 again",
                changes(self.left_changed)
            )
        });
        let on_servers = self.left_on_servers.iter().map(|(host, left)| {
            let what = match left {
                Some(left) => format!("{} of `{host}` could not be undone", changes(*left)),
                None => format!("tailmark cannot tell whether all changes of `{host}` were undone"),
            };
            format!("{what} (see above); the next run that prepares something there tries again")
        });
        here.into_iter().chain(on_servers).collect()
    }
}
