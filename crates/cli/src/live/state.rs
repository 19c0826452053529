//! The state for a live page: the phase in progress with its seconds, and the number of points in
//! the study.

use crate::point_name::name;
use serde_json::json;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tailmark_engine::{Live, Observer, PhaseKind, PhaseStart};
use tailmark_model::{Load, Point, SloSettings, script_json};
use tailmark_stats::slo::Slo;

/// The seconds of a phase that are kept; of a longer one the last.
const SECONDS_MAX: usize = 3_600;
/// The last notices.
const NOTICES_MAX: usize = 5;

/// The state of the run.
#[derive(Debug, Default)]
pub struct State(Mutex<Now>);

#[derive(Debug, Default)]
struct Now {
    /// Counts additions to the study.
    version: u64,
    points: usize,
    done: usize,
    /// The point or the system that something is done with; empty between them.
    of: String,
    /// The current phase, or step between phases.
    doing: String,
    /// When the step began; `None` during a phase, which has its own time.
    step_began: Option<Instant>,
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
        let (elapsed_s, duration_s) = match now.step_began {
            Some(began) => (began.elapsed().as_secs_f64(), None),
            None => (now.elapsed_s, now.duration_s),
        };
        let state = json!({
            "version": now.version, "points": now.points, "done": now.done, "what": now.what(),
            "elapsed": elapsed_s, "duration": duration_s, "series": now.series,
            "notices": now.notices,
        });
        script_json(&state.to_string()).into_owned()
    }
}

impl Now {
    fn what(&self) -> String {
        match self.of.as_str() {
            "" => self.doing.clone(),
            of => format!("{of}: {}", self.doing),
        }
    }

    /// Something came into the study: what follows is done with something else.
    fn committed(&mut self) {
        self.version += 1;
        self.of.clear();
    }
}

/// The name of a step without its progress: `erasing` from `erasing: 12 %`.
fn step_name(text: &str) -> &str {
    text.split(':').next().unwrap_or(text)
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
        let mut now = self.now();
        if now.step_began.is_none() || step_name(&now.doing) != step_name(text) {
            now.step_began = Some(Instant::now());
        }
        now.doing = text.to_owned();
    }

    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let kind = match phase.kind {
            PhaseKind::Load => "loading",
            PhaseKind::Warmup => "warming up",
            PhaseKind::Measure => "measuring",
        };
        let subject = match phase.point {
            Some(point) => name(point),
            None => phase.system.to_owned(),
        };
        let mut now = self.now();
        (now.of, now.doing) = (subject, kind.to_owned());
        now.step_began = None;
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
        self.now().committed();
    }

    fn trial_finished(&self, _: &Slo, _: &SloSettings) {
        self.now().committed();
    }

    fn point_finished(&self, _: &Point) {
        let mut now = self.now();
        now.done += 1;
        now.committed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::{thread, time::Duration};

    fn told(state: &State) -> Value {
        serde_json::from_str(&state.json()).unwrap()
    }

    fn measuring(state: &State) {
        state.phase_started(&PhaseStart {
            kind: PhaseKind::Measure,
            system: "disk",
            point: None,
            operations: None,
            duration: Some(Duration::from_secs(60)),
        });
        state.interval(&Live {
            elapsed: Duration::from_secs(60),
            ops_per_sec: 1_000.0,
            ..Live::default()
        });
    }

    #[test]
    fn what_follows_a_phase_has_its_own_seconds_and_those_of_the_phase_stay_drawn() {
        let state = State::default();
        measuring(&state);
        let phase = told(&state);
        assert_eq!(phase["what"], "disk: measuring");
        assert_eq!(
            (&phase["elapsed"], &phase["duration"]),
            (&60.0.into(), &60.0.into())
        );

        state.step("waiting for background work to settle");
        let settling = told(&state);
        assert_eq!(
            settling["what"],
            "disk: waiting for background work to settle"
        );
        assert!(
            settling["elapsed"].as_f64() < Some(60.0) && settling["duration"].is_null(),
            "{settling}"
        );
        assert_eq!(settling["series"], phase["series"]);
        thread::sleep(Duration::from_millis(2));
        assert!(
            told(&state)["elapsed"].as_f64() > settling["elapsed"].as_f64(),
            "it goes on"
        );
    }

    #[test]
    fn how_far_a_step_is_does_not_begin_it_again() {
        let state = State::default();
        state.step("erasing: 10 %");
        let began = state.now().step_began;
        state.step("erasing: 20 %, 1min left");
        assert_eq!(
            (began, told(&state)["what"].as_str()),
            (state.now().step_began, Some("erasing: 20 %, 1min left"))
        );
        thread::sleep(Duration::from_millis(2));
        state.step("dropping caches");
        assert!(state.now().step_began > began);
    }

    #[test]
    fn a_step_behind_a_point_is_not_of_it() {
        let state = State::default();
        measuring(&state);
        state.now().committed();
        state.step("dropping caches");
        assert_eq!(told(&state)["what"], "dropping caches");
    }
}
