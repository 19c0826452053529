//! `restore = "reload"` before each repeat: every repeat has a data set of its own, loaded once, wherever a run ends and
//! the next one goes on.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use support::{plan, points, restoring, run, system_with};
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::{Load, Point, PointKey};
use tailmark_plan::{Order, Plan, Restore, RestoreBefore, SystemPlan};
use tailmark_study::Study;
use tempfile::TempDir;

fn file(name: &str, place: &Path) -> SystemPlan {
    system_with(name, "file", place, &[("direct", "false")])
}

/// So many systems, two thread counts, and repeats.
fn reloading(dir: &Path, systems: &[&str], repeats: u32) -> Plan {
    let systems = systems.iter().map(|name| file(name, &dir.join(name)));
    let mut plan = plan(systems.collect(), &["ycsb-a"], &[1, 2]);
    plan = restoring(plan, Restore::Reload, RestoreBefore::Repeat);
    plan.sweep.repeats = repeats;
    plan.sweep.order = Order::Interleaved;
    plan.sweep.operations = Some(100);
    for system in &mut plan.systems {
        system.data.records = 200;
    }
    plan
}

/// Ends a run at its n-th event, as a kill or as Ctrl-C does.
struct Ender {
    nth: usize,
    events: AtomicUsize,
    stop: Stop,
    end: End,
    out: PathBuf,
    /// Of each point that was finished: its system, its repeat, and the loads of the system by then.
    points: Mutex<Vec<(String, u32, usize)>>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    /// Nothing is done any more, whatever is under way.
    Kill,
    /// A stop is requested.
    Interrupt,
}

impl Ender {
    fn event(&self) {
        if self.events.fetch_add(1, Ordering::Relaxed) + 1 == self.nth {
            match self.end {
                // A panic without a message.
                End::Kill => resume_unwind(Box::new("killed")),
                End::Interrupt => self.stop.request(),
            }
        }
    }
}

impl Observer for Ender {
    fn step(&self, _: &str) {
        self.event();
    }
    fn phase_started(&self, _: &PhaseStart<'_>) {
        // The clients of a phase cannot be killed from within, so they continue.
        if self.end == End::Interrupt {
            self.event();
        }
    }
    fn load_finished(&self, _: &Load) {
        self.event();
    }
    fn point_finished(&self, point: &Point) {
        let PointKey { system, repeat, .. } = &point.key;
        let loads = loads_of(&self.out, system);
        let seen = (system.clone(), *repeat, loads);
        self.points.lock().unwrap().push(seen);
        self.event();
    }
}

/// Runs a plan that is ended at its n-th event, and then to its end; false where it has fewer.
fn ended_at(nth: usize, end: End, systems: &[&str]) -> bool {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let plan = reloading(dir.path(), systems, 2);
    let mut points = Vec::new();
    let mut run_to = |event| {
        let ender = Ender {
            nth: event,
            events: AtomicUsize::new(0),
            stop: Stop::new(),
            end,
            out: out.path().to_owned(),
            points: Mutex::default(),
        };
        let run = || tailmark_runner::run(&plan, out.path(), &ender, &ender.stop);
        let ended = catch_unwind(AssertUnwindSafe(run)).map(Result::unwrap);
        points.append(&mut ender.points.into_inner().unwrap());
        ended.map_or(true, |summary| summary.interrupted)
    };
    let was_ended = run_to(nth);
    if was_ended {
        assert!(!run_to(usize::MAX));
    }
    let when = format!("{end:?} at event {nth}");
    assert_eq!(points.len(), systems.len() * 2 * 2, "{when}");
    // Every point comes after as many loads as repeats: no load is missed or done twice.
    for (system, repeat, loads) in points {
        assert_eq!(loads, repeat as usize, "{when}: {system}, repeat {repeat}");
    }
    for system in systems {
        assert_eq!(loads_of(out.path(), system), 2, "{when}: {system}");
    }
    was_ended
}

/// Ends a run at every so many-th event, each time another run.
fn ended_at_each(end: End, systems: &[&str], stride: usize) {
    let mut events = (1..).step_by(stride);
    let beyond = events.find(|nth| !ended_at(*nth, end, systems)).unwrap();
    assert!(beyond > 15 * systems.len(), "{beyond}");
}

#[test]
fn each_repeat_is_loaded_once_wherever_a_run_is_killed() {
    ended_at_each(End::Kill, &["a"], 1);
}

#[test]
fn each_repeat_is_loaded_once_wherever_a_run_is_interrupted() {
    ended_at_each(End::Interrupt, &["a"], 1);
}

#[test]
fn each_repeat_of_each_system_is_loaded_once_where_systems_take_turns() {
    ended_at_each(End::Kill, &["a", "b"], 5);
}

/// How many loads of a system a study has.
fn loads_of(out: &Path, system: &str) -> usize {
    let loads = support::loads(out);
    loads.iter().filter(|load| load.system == system).count()
}

#[test]
fn data_that_was_there_serves_the_first_repeat() {
    let (dir, first, second) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let plan = reloading(dir.path(), &["a", "b"], 3);
    run(&plan, first.path()).unwrap();
    assert_eq!(loads_of(first.path(), "a"), 3);
    run(&plan, second.path()).unwrap();
    assert_eq!(loads_of(second.path(), "a"), 2);
}

/// Makes a point of a study one that failed.
fn spoil(out: &Path, system: &str, repeat: u32, threads: u32) {
    let study = Study::open(out).unwrap();
    let is_it = |point: &Point| {
        let key = &point.key;
        (key.system.as_str(), key.repeat, key.threads) == (system, repeat, threads)
    };
    let mut point = points(out).into_iter().find(is_it).unwrap();
    point.phase.failed = point.phase.operations / 2;
    study.add_point(&point).unwrap();
}

#[test]
fn a_point_of_an_earlier_repeat_is_measured_again_on_data_of_that_repeat() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut plan = reloading(dir.path(), &["a", "b"], 3);
    run(&plan, out.path()).unwrap();
    for (repeat, threads) in [(1, 2), (2, 1), (2, 2)] {
        spoil(out.path(), "a", repeat, threads);
    }
    plan.retry_failed = true;
    let again = run(&plan, out.path()).unwrap();
    assert_eq!(again.points_measured, 3);
    // One for each of the two repeats; the other system is left alone.
    assert_eq!(loads_of(out.path(), "a"), 3 + 2);
    assert_eq!(loads_of(out.path(), "b"), 3);
    // Nothing is loaded for the repeat that the data now belongs to.
    spoil(out.path(), "a", 2, 2);
    run(&plan, out.path()).unwrap();
    assert_eq!(loads_of(out.path(), "a"), 3 + 2);
}

/// Stops when the first point of a repeat is finished.
struct StopsAfter(u32, Stop);

impl Observer for StopsAfter {
    fn point_finished(&self, point: &Point) {
        if point.key.repeat == self.0 {
            self.1.request();
        }
    }
}

#[test]
fn data_that_another_study_has_loaded_meanwhile_is_not_that_of_a_repeat() {
    let (dir, out, other) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let plan = reloading(dir.path(), &["a"], 3);
    let observer = StopsAfter(2, Stop::new());
    tailmark_runner::run(&plan, out.path(), &observer, &observer.1).unwrap();
    assert_eq!(
        (points(out.path()).len(), loads_of(out.path(), "a")),
        (3, 2)
    );
    let mut once = restoring(plan.clone(), Restore::Reload, RestoreBefore::Point);
    once.sweep.repeats = 1;
    run(&once, other.path()).unwrap();
    run(&plan, out.path()).unwrap();
    assert_eq!(points(out.path()).len(), 6);
    assert_eq!(
        loads_of(out.path(), "a"),
        4,
        "the second repeat again, and the third"
    );
}
