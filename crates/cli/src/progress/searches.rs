//! How many searches for the highest rate are left, and how long they may take.

use std::time::Duration;
use tailmark_model::SloSettings;
use tailmark_plan::{Plan, is_searched};
use tailmark_stats::slo::{Next, Slo};

/// The searches for the highest rate, which come after the points.
#[derive(Debug, Default)]
pub struct Searches {
    /// In the plan.
    pub all: usize,
    /// Of these, answered in this run.
    pub done: usize,
    /// The trials of the one in progress.
    pub trials: usize,
    /// The longest that one may take.
    pub each: Duration,
    /// The same of the one in progress.
    pub left: Duration,
}

impl Searches {
    /// All of a plan; none if it has no limits.
    pub fn new(plan: &Plan) -> Self {
        let Some(settings) = &plan.slo else {
            return Self::default();
        };
        let workloads = plan.sweep.workloads.iter();
        let searched = workloads.filter(|workload| is_searched(settings, workload));
        let systems = plan.systems.iter();
        let systems = systems.filter(|system| system.ceiling_for.is_none());
        Self {
            all: searched.count() * systems.count(),
            each: settings.time,
            left: settings.time,
            ..Self::default()
        }
    }

    /// Counts the last trial of a search.
    pub fn add(&mut self, slo: &Slo, settings: &SloSettings) {
        match slo.next(settings) {
            Next::Try { .. } => {
                self.trials = slo.trials.len();
                self.left = settings.time.saturating_sub(slo.took());
            }
            Next::Done(_) => {
                self.done += 1;
                (self.trials, self.left) = (0, self.each);
            }
        }
    }

    /// The longest that they may still take.
    pub fn most(&self) -> Duration {
        let Some(later) = self.all.checked_sub(self.done + 1) else {
            return Duration::ZERO;
        };
        let later = u32::try_from(later).unwrap_or(u32::MAX);
        self.left.saturating_add(self.each.saturating_mul(later))
    }
}
