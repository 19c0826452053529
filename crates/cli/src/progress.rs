//! The progress of a run. On a terminal: a bar for the whole sweep and a live line for the current
//! phase. Elsewhere: one plain line for each load and point.

mod searches;
mod words;

use crate::point_name::{name, threads};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use searches::Searches;
use std::{
    io::IsTerminal,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tailmark_console::Console;
use tailmark_engine::{Live, Observer, PhaseKind, PhaseStart};
use tailmark_model::{Load, Metric, Point, SloSettings, number, printable, printable_lines};
use tailmark_plan::Plan;
use tailmark_stats::slo::Slo;
use words::{failed, fitted, measured, metric_of, searched};

/// The bar moves within a point, in thousandths of one.
const PARTS: u64 = 1_000;
/// The width of a line about a point on a terminal.
const COLUMNS: usize = 80;

/// Shows the progress that the runner reports.
pub struct Progress {
    console: Console,
    screen: Option<Screen>,
    /// What the study is about.
    metric: Option<Metric>,
    state: Mutex<State>,
}

/// The display on a terminal.
struct Screen {
    all: MultiProgress,
    sweep: ProgressBar,
    live: ProgressBar,
}

/// The state of the run so far.
#[derive(Debug, Default)]
struct State {
    points: usize,
    /// Whether there may be more than these.
    has_more: bool,
    points_done: usize,
    systems_left: usize,
    /// The expected duration of a point, with its warm-up; `None` while unknown.
    point_expected: Option<Duration>,
    /// The time of the points and loads finished so far.
    points_time: Duration,
    points_measured: u32,
    loads_time: Duration,
    loads_measured: u32,
    searches: Searches,
    /// When the load or the point in progress began.
    began: Option<Instant>,
    phase: Option<RunningPhase>,
}

/// The phase in progress.
#[derive(Debug, Clone)]
struct RunningPhase {
    kind: PhaseKind,
    what: String,
    operations: Option<u64>,
    duration: Option<Duration>,
    live: Live,
}

impl Progress {
    /// Ready for a run of `plan`.
    pub fn new(plan: &Plan, console: &Console) -> Self {
        let sweep = &plan.sweep;
        let state = State {
            systems_left: plan.systems.len(),
            searches: Searches::new(plan),
            point_expected: sweep
                .duration
                .map(|duration| duration + sweep.warmup.longest()),
            ..State::default()
        };
        // On a terminal that cannot be drawn on (TERM is `dumb`, or not set), there are lines alone.
        let screen = std::io::stderr().is_terminal().then(Screen::new);
        let screen = screen.filter(|screen| !screen.all.is_hidden());
        Self {
            console: console.clone(),
            screen,
            metric: metric_of(plan),
            state: Mutex::new(state),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(screen) = &self.screen {
            screen.live.finish_and_clear();
            screen.sweep.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        // Not `suspend`, which panics where the terminal was closed.
        match &self.screen {
            Some(screen) => drop(screen.all.println(printable_lines(text))),
            None => self.console.warn(text),
        }
    }

    fn draw(&self, state: &State) {
        let Some(screen) = &self.screen else { return };
        screen.sweep.set_position(state.position());
        screen
            .sweep
            .set_message(printable(&state.summary()).into_owned());
        if let Some(phase) = &state.phase {
            screen
                .live
                .set_message(printable(&phase.line()).into_owned());
        }
    }
}

impl Screen {
    fn new() -> Self {
        let all = MultiProgress::new();
        let style = |template| {
            let style = ProgressStyle::with_template(template);
            style
                .expect("the template is a constant")
                .progress_chars("=> ")
        };
        let sweep = all.add(ProgressBar::new(0));
        sweep.set_style(style("[{bar:16}] {msg}"));
        let live = all.add(ProgressBar::new_spinner());
        live.set_style(style("{spinner} {wide_msg}"));
        live.enable_steady_tick(Duration::from_millis(250));
        Self { all, sweep, live }
    }
}

impl State {
    /// The completed part of all points, in thousandths.
    fn position(&self) -> u64 {
        let part = match &self.phase {
            Some(phase) if phase.kind == PhaseKind::Measure => phase.part().unwrap_or(0.0),
            _ => 0.0,
        };
        self.points_done as u64 * PARTS + (part * PARTS as f64) as u64
    }

    /// The number of points: `12`, or `12+` if there may be more.
    fn all_points(&self) -> String {
        let more = if self.has_more { "+" } else { "" };
        format!("{}{more}", self.points)
    }

    fn summary(&self) -> String {
        let (done, points) = (self.points_done, self.all_points());
        let searches = &self.searches;
        let search = match searches.trials {
            0 => String::new(),
            trials => format!(
                ", search {} of {}: trial {}",
                searches.done + 1,
                searches.all,
                trials + 1
            ),
        };
        let left = self.left().map_or_else(String::new, |left| {
            let left = number::rounded(Duration::from_secs(left.as_secs()));
            let or_more = if self.has_more { " or more" } else { "" };
            let at_most = if searches.most().is_zero() {
                ""
            } else {
                " at most"
            };
            format!(", {left}{or_more} left{at_most}")
        });
        format!("{done} of {points} points{search}{left}")
    }

    /// The remaining time, based on points and loads so far; `None` while unknown.
    fn left(&self) -> Option<Duration> {
        let mean = |time: Duration, count: u32| time.checked_div(count);
        let by_rate = || {
            let phase = self
                .phase
                .as_ref()
                .filter(|phase| phase.kind == PhaseKind::Measure)?;
            // Failed operations use the budget too.
            let rate = phase.live.ops_per_sec + phase.live.errors_per_sec;
            let operations = phase.operations?;
            (rate > 0.0).then(|| Duration::from_secs_f64(operations as f64 / rate))
        };
        let points_left = self.points.saturating_sub(self.points_done);
        let point = match points_left {
            0 => Duration::ZERO,
            _ => mean(self.points_time, self.points_measured)
                .or(self.point_expected)
                .or_else(by_rate)?,
        };
        let load = mean(self.loads_time, self.loads_measured).unwrap_or_default();
        let expected = point.saturating_mul(points_left as u32)
            + load.saturating_mul(self.systems_left as u32);
        let in_load = self
            .phase
            .as_ref()
            .filter(|phase| phase.kind == PhaseKind::Load);
        let elapsed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        Some(match in_load {
            Some(phase) => {
                expected
                    + phase
                        .part()
                        .filter(|part| *part > 0.0)
                        .map_or(load, |part| {
                            elapsed.mul_f64((1.0 / part - 1.0).clamp(0.0, 1e6))
                        })
            }
            None => expected.saturating_sub(elapsed.min(point)),
        })
        .map(|left| left.saturating_add(self.searches.most()))
    }
}

impl RunningPhase {
    /// The completed fraction, 0 to 1, if known.
    fn part(&self) -> Option<f64> {
        let by_time = self
            .duration
            .filter(|time| !time.is_zero())
            .map(|time| self.live.elapsed.as_secs_f64() / time.as_secs_f64());
        let by_count = self
            .operations
            .filter(|count| *count > 0)
            .map(|count| self.live.operations as f64 / count as f64);
        // Whichever ends first.
        by_time
            .into_iter()
            .chain(by_count)
            .reduce(f64::max)
            .map(|part| part.clamp(0.0, 1.0))
    }

    /// Short, so that errors are still seen on a narrow terminal.
    fn line(&self) -> String {
        let (what, live) = (&self.what, &self.live);
        let doing = match (self.kind, self.part()) {
            (PhaseKind::Load, Some(part)) => format!("loading {:.0} %, ", part * 100.0),
            (PhaseKind::Load, None) => "loading, ".to_owned(),
            (PhaseKind::Warmup, _) => "warming up, ".to_owned(),
            (PhaseKind::Measure, _) => String::new(),
        };
        if live.operations == 0 {
            return format!("{what}: {doing}...");
        }
        format!(
            "{what}: {doing}{}, p99 {}, {}",
            number::ops(live.ops_per_sec),
            number::latency(live.p99_ns as f64),
            failed(live.errors),
        )
    }
}

impl Observer for Progress {
    fn sweep_started(&self, points: usize, done: usize) {
        let mut state = self.state();
        (state.points, state.points_done) = (points, done);
        if let Some(screen) = &self.screen {
            screen.sweep.set_length(points as u64 * PARTS);
        }
        self.draw(&state);
        let all = state.all_points();
        drop(state);
        if done > 0 {
            self.line(&format!("{done} of {all} points are already in the study"));
        }
    }

    fn points_known(&self, points: usize, is_all: bool) {
        let mut state = self.state();
        (state.points, state.has_more) = (points, !is_all);
        if let Some(screen) = &self.screen {
            screen.sweep.set_length(points as u64 * PARTS);
        }
    }

    fn notice(&self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn step(&self, text: &str) {
        let mut state = self.state();
        state.began.get_or_insert_with(Instant::now);
        if let Some(screen) = &self.screen {
            let what = state
                .phase
                .as_ref()
                .map_or(String::new(), |phase| phase.what.clone() + ": ");
            screen.live.set_message(format!("{what}{text}"));
        }
    }

    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let what = match phase.point {
            Some(key) => format!("{} {}, {}", key.system, key.workload, threads(key)),
            None => phase.system.to_owned(),
        };
        let mut state = self.state();
        if phase.kind == PhaseKind::Load {
            state.began = None;
            state.systems_left = state.systems_left.saturating_sub(1);
        }
        state.began.get_or_insert_with(Instant::now);
        let (kind, operations, duration) = (phase.kind, phase.operations, phase.duration);
        state.phase = Some(RunningPhase {
            kind,
            what,
            operations,
            duration,
            live: Live::default(),
        });
        self.draw(&state);
    }

    fn interval(&self, live: &Live) {
        let mut state = self.state();
        if let Some(phase) = &mut state.phase {
            phase.live = *live;
        }
        self.draw(&state);
    }

    fn load_finished(&self, load: &Load) {
        let mut state = self.state();
        let took = state
            .began
            .take()
            .map_or(Duration::ZERO, |began| began.elapsed());
        state.loads_measured += 1;
        state.loads_time += took;
        state.phase = None;
        drop(state);
        self.line(&format!(
            "{}: loaded {} records in {:.1} s, {}",
            load.system,
            number::count(load.records),
            load.phase.duration_s,
            number::ops(load.phase.ops_per_sec()),
        ));
    }

    fn trial_finished(&self, slo: &Slo, settings: &SloSettings) {
        let mut state = self.state();
        (state.began, state.phase) = (None, None);
        state.searches.add(slo, settings);
        self.draw(&state);
        drop(state);
        searched(slo, settings)
            .iter()
            .for_each(|line| self.line(line));
    }

    fn point_finished(&self, point: &Point) {
        let mut state = self.state();
        let took = state
            .began
            .take()
            .map_or(Duration::ZERO, |began| began.elapsed());
        state.points_done += 1;
        // Points may be measured again, so that all were warmed up equally.
        state.points = state.points.max(state.points_done);
        state.points_measured += 1;
        state.points_time += took;
        state.phase = None;
        let count = format!("[{}/{}]", state.points_done, state.all_points());
        self.draw(&state);
        drop(state);
        let (name, result) = (name(&point.key), measured(&point.phase, self.metric));
        let columns = self.screen.as_ref().map_or(usize::MAX, |_| COLUMNS);
        self.line(&fitted(&count, &name, &result, columns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measuring(elapsed: u64, duration: u64) -> RunningPhase {
        RunningPhase {
            kind: PhaseKind::Measure,
            what: "disk ycsb-a, 4 threads".into(),
            operations: None,
            duration: Some(Duration::from_secs(duration)),
            live: Live {
                elapsed: Duration::from_secs(elapsed),
                operations: 37_035,
                ops_per_sec: 12_345.0,
                p99_ns: 1_234_567,
                ..Live::default()
            },
        }
    }

    #[test]
    fn the_live_line_has_rate_tail_and_errors() {
        assert_eq!(
            measuring(3, 4).line(),
            "disk ycsb-a, 4 threads: 12,345 ops/s, p99 1.23 ms, no errors"
        );
    }

    #[test]
    fn the_bar_moves_within_a_point() {
        let state = State {
            points: 10,
            points_done: 2,
            phase: Some(measuring(3, 4)),
            ..State::default()
        };
        assert_eq!(state.position(), 2_750);
    }

    #[test]
    fn while_there_may_be_more_points_the_count_says_so() {
        let mut state = State {
            points: 4,
            points_done: 3,
            has_more: true,
            ..State::default()
        };
        assert_eq!(state.summary(), "3 of 4+ points");
        state.point_expected = Some(Duration::from_secs(4));
        assert_eq!(state.summary(), "3 of 4+ points, 4s or more left");
        state.has_more = false;
        assert_eq!(state.summary(), "3 of 4 points, 4s left");
    }

    #[test]
    fn trials_of_a_search_are_shown_with_the_time_left() {
        let mut state = State {
            points: 4,
            points_done: 4,
            point_expected: Some(Duration::from_secs(4)),
            searches: Searches {
                all: 2,
                each: Duration::from_secs(2_400),
                left: Duration::from_secs(2_400),
                ..Searches::default()
            },
            ..State::default()
        };
        assert_eq!(state.summary(), "4 of 4 points, 1h 20m left at most");
        (state.searches.trials, state.searches.left) = (3, Duration::from_secs(600));
        assert_eq!(
            state.summary(),
            "4 of 4 points, search 1 of 2: trial 4, 50m left at most"
        );
        (state.searches.trials, state.searches.done) = (0, 2);
        assert_eq!(state.summary(), "4 of 4 points, 0s left");
    }

    #[test]
    fn time_left_comes_from_the_plan_and_then_from_what_points_took() {
        let mut state = State {
            points: 10,
            points_done: 2,
            ..State::default()
        };
        assert_eq!(state.left(), None);
        state.point_expected = Some(Duration::from_secs(4));
        assert_eq!(state.left(), Some(Duration::from_secs(32)));
        (state.points_time, state.points_measured) = (Duration::from_secs(12), 2);
        assert_eq!(state.left(), Some(Duration::from_secs(48)));
    }

    #[test]
    fn a_point_ends_by_whichever_budget_is_nearer() {
        let mut running = measuring(1, 10);
        running.operations = Some(100);
        running.live.operations = 80;
        assert_eq!(running.part(), Some(0.8));
    }
}
