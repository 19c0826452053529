//! Observers of a sweep's progress: the terminal, tests and the live page.

use crate::IntervalStats;
use std::time::Duration;
use tailmark_model::{Load, Point, PointKey, SloSettings};
use tailmark_stats::slo::Slo;

/// What a phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseKind {
    /// Writes the data set.
    Load,
    /// Runs the workload without counting it.
    Warmup,
    /// Runs the workload and counts it.
    Measure,
}

/// The start of a phase.
#[derive(Debug, Clone)]
pub struct PhaseStart<'a> {
    /// Load, warm-up or measurement.
    pub kind: PhaseKind,
    /// The system's name.
    pub system: &'a str,
    /// The point; `None` for a load.
    pub point: Option<&'a PointKey>,
    /// Operations after which it ends, if any.
    pub operations: Option<u64>,
    /// Time after which it ends, if any.
    pub duration: Option<Duration>,
}

/// The newest second of the phase in progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live {
    /// Time since the start of the phase.
    pub elapsed: Duration,
    /// Operations since the start of the phase, failures included.
    pub operations: u64,
    /// Successful operations per second in the last interval.
    pub ops_per_sec: f64,
    /// Failed operations per second in the last interval.
    pub errors_per_sec: f64,
    /// 99th percentile of response time over all kinds in the last interval, nanoseconds.
    pub p99_ns: u64,
    /// Requests that failed since the start of the phase.
    pub errors: u64,
}

/// Is notified of phases and intervals. Every method does nothing by default.
pub trait Observer: Send + Sync {
    /// The sweep begins. It has `points`, of which `done` are already in the study.
    fn sweep_started(&self, points: usize, done: usize) {
        let _ = (points, done);
    }
    /// The number of points of the sweep, and whether it is final: a ladder may add more. Called
    /// before [`Self::sweep_started`] and again after each point is in the study, unless the points
    /// are known from the beginning.
    fn points_known(&self, points: usize, is_all: bool) {
        let _ = (points, is_all);
    }
    /// A notice for the user: a system was left out, or caches could not be dropped.
    fn notice(&self, text: &str) {
        let _ = text;
    }
    /// A step between phases, for example `waiting for compactions`.
    fn step(&self, text: &str) {
        let _ = text;
    }
    /// A phase begins.
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let _ = phase;
    }
    /// An interval of the phase in progress ended.
    fn interval(&self, live: &Live) {
        let _ = live;
    }
    /// One client thread's stats of an interval of the phase in progress. Intervals are seconds
    /// since the start of the measured part. Called off the measured path.
    fn recorded(&self, interval: u32, stats: &IntervalStats) {
        let _ = (interval, stats);
    }
    /// A client has closed its session at the end of the phase in progress, which took that long.
    fn session_closed(&self, took: Duration) {
        let _ = took;
    }
    /// A data set was loaded and is in the study.
    fn load_finished(&self, load: &Load) {
        let _ = load;
    }
    /// A trial of a search was measured and is in the study. Gives the search so far.
    fn trial_finished(&self, slo: &Slo, settings: &SloSettings) {
        let _ = (slo, settings);
    }
    /// A point was measured and is in the study.
    fn point_finished(&self, point: &Point) {
        let _ = point;
    }
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
