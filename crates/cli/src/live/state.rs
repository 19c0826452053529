//! What a live page is told: the phase in progress with its seconds, and how many points are in the study.

use crate::point_name::name;
use serde_json::json;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tailmark_engine::{Live, Observer, PhaseKind, PhaseStart};
use tailmark_results::{
    Load, Point,
    slo::{Slo, SloSettings},
};

/// The seconds of a phase that are kept; of a longer one the last.
const SECONDS_MAX: usize = 3_600;
/// The last notices.
const NOTICES_MAX: usize = 5;

/// How the run goes on.
#[derive(Debug, Default)]
pub struct State(Mutex<Now>);

#[derive(Debug, Default)]
struct Now {
    /// Counts what came into the study.
    version: u64,
    points: usize,
    done: usize,
    what: String,
    elapsed_s: f64,
    duration_s: Option<f64>,
    /// Seconds since the start of the phase, ops/s, p99 in microseconds.
    series: Vec<(f64, f64, f64)>,
    notices: Vec<String>,
}

impl State {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another one whenever something came into the study.
    pub fn version(&self) -> u64 {
        self.now().version
    }

    /// All of it.
    pub fn json(&self) -> String {
        let now = self.now();
        json!({
            "version": now.version, "points": now.points, "done": now.done, "what": now.what,
            "elapsed": now.elapsed_s, "duration": now.duration_s, "series": now.series,
            "notices": now.notices,
        })
        .to_string()
    }
}

impl Observer for State {
    fn sweep_started(&self, points: usize, done: usize) {
        let mut now = self.now();
        now.points = points;
        now.done = done;
        now.version += 1;
    }

    fn points_known(&self, points: usize, _: bool) {
        self.now().points = points;
    }

    fn notice(&self, text: &str) {
        let mut now = self.now();
        now.notices.push(text.to_owned());
        if now.notices.len() > NOTICES_MAX {
            now.notices.remove(0);
        }
    }

    fn step(&self, text: &str) {
        self.now().what = text.to_owned();
    }

    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let kind = match phase.kind {
            PhaseKind::Load => "loading",
            PhaseKind::Warmup => "warming up",
            PhaseKind::Measure => "measuring",
        };
        let of = match phase.point {
            Some(point) => name(point),
            None => phase.system.to_owned(),
        };
        let mut now = self.now();
        now.what = format!("{of}: {kind}");
        now.elapsed_s = 0.0;
        now.duration_s = phase.duration.map(|duration| duration.as_secs_f64());
        now.series.clear();
    }

    fn interval(&self, live: &Live) {
        let mut now = self.now();
        let at = live.elapsed.as_secs_f64();
        now.elapsed_s = at;
        if now.series.len() == SECONDS_MAX {
            now.series.remove(0);
        }
        now.series
            .push((at, live.ops_per_sec, live.p99_ns as f64 / 1e3));
    }

    fn load_finished(&self, _: &Load) {
        self.now().version += 1;
    }

    fn probe_finished(&self, _: &Slo, _: &SloSettings) {
        self.now().version += 1;
    }

    fn point_finished(&self, _: &Point) {
        let mut now = self.now();
        now.done += 1;
        now.version += 1;
    }
}
