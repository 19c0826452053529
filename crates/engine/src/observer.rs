//! Who wants to know how a sweep goes on: the progress of the terminal, tests, later a live page.

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

/// What is about to be done.
#[derive(Debug, Clone)]
pub struct PhaseStart<'a> {
    /// Load, warm-up or measurement.
    pub kind: PhaseKind,
    /// The system's name.
    pub system: &'a str,
    /// Which point; none for a load.
    pub point: Option<&'a PointKey>,
    /// Operations after which it ends, if any.
    pub operations: Option<u64>,
    /// Time after which it ends, if any.
    pub duration: Option<Duration>,
}

/// The last second of the phase in progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live {
    /// Since the start of the phase.
    pub elapsed: Duration,
    /// Operations since the start of the phase, failures included.
    pub operations: u64,
    /// Operations per second in the last interval that succeeded.
    pub ops_per_sec: f64,
    /// Operations per second in the last interval that failed.
    pub errors_per_sec: f64,
    /// 99th percentile of response time over all kinds in the last interval, nanoseconds.
    pub p99_ns: u64,
    /// Requests that failed since the start of the phase.
    pub errors: u64,
}

/// Notified of phases and intervals; every method does nothing by default.
pub trait Observer: Send + Sync {
    /// The sweep begins; `points` are to be measured, `done` of them are in the study already.
    fn sweep_started(&self, points: usize, done: usize) {
        let _ = (points, done);
    }
    /// How many points the sweep has, and whether that is all: while client counts are climbed, more
    /// may follow. Told before [`Self::sweep_started`], and again whenever a point is in the study;
    /// not where the points are known from the beginning.
    fn points_known(&self, points: usize, is_all: bool) {
        let _ = (points, is_all);
    }
    /// Something worth a line: a system was left out, caches could not be dropped.
    fn notice(&self, text: &str) {
        let _ = text;
    }
    /// What is done between phases, for example `waiting for compactions`.
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
    /// One client thread's stats of an interval of the phase in progress, counted in seconds since
    /// the start of the measured part. Called off the measured path.
    fn recorded(&self, interval: u32, stats: &IntervalStats) {
        let _ = (interval, stats);
    }
    /// A client has closed its session at the end of the phase in progress, which took so long.
    fn session_closed(&self, took: Duration) {
        let _ = took;
    }
    /// A data set was loaded and is in the study.
    fn load_finished(&self, load: &Load) {
        let _ = load;
    }
    /// A trial of a search was measured and is in the study: the search as it stands.
    fn trial_finished(&self, slo: &Slo, settings: &SloSettings) {
        let _ = (slo, settings);
    }
    /// A point was measured and is in the study.
    fn point_finished(&self, point: &Point) {
        let _ = point;
    }
}

/// An observer that wants to know nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
