//! In which order the points of several systems are measured, that a run which goes on keeps it, and
//! that it changes nothing else.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use support::{plan, points, run, system, system_with};
use tailmark_driver::{Access, Location, Params};
use tailmark_engine::{Observer, PhaseKind, PhaseStart, Stop};
use tailmark_model::{Point, PointKey};
use tailmark_plan::{AskedRate, Order, Plan, RawPlan, Service, ServiceControl, SystemPlan};
use tailmark_runner::Error;
use tailmark_study::Study;
use tempfile::TempDir;

fn null(name: &str) -> SystemPlan {
    system(name, "null", Path::new("x"))
}

fn file(name: &str, place: &Path) -> SystemPlan {
    system_with(name, "file", place, &[("direct", "false")])
}

fn interleaved(systems: Vec<SystemPlan>, threads: &[u32], repeats: u32) -> Plan {
    let mut plan = plan(systems, &["ycsb-a"], threads);
    plan.sweep.order = Order::Interleaved;
    plan.sweep.repeats = repeats;
    plan.sweep.operations = Some(200);
    plan
}

/// System, repeat and clients of a point: `a1 2`.
fn named(key: &PointKey) -> String {
    let rate = key.target_rate.map_or("", |_| "@");
    format!("{}{} {}{rate}", key.system, key.repeat, key.threads)
}

/// Keeps which points were measured, and what was said.
#[derive(Default)]
struct Seen {
    points: Mutex<Vec<String>>,
    said: Mutex<Vec<String>>,
}

impl Observer for Seen {
    fn notice(&self, text: &str) {
        self.said.lock().unwrap().push(text.to_owned());
    }
    fn point_finished(&self, point: &Point) {
        self.points.lock().unwrap().push(named(&point.key));
    }
}

/// The points that a run measures, in order, and what it says.
fn seen(plan: &Plan, out: &Path) -> (Vec<String>, Vec<String>) {
    let seen = Seen::default();
    tailmark_runner::run(plan, out, &seen, &Stop::new()).unwrap();
    (
        seen.points.into_inner().unwrap(),
        seen.said.into_inner().unwrap(),
    )
}

#[test]
fn systems_take_turns_point_by_point_there_and_back() {
    let out = TempDir::new().unwrap();
    let plan = interleaved(vec![null("a"), null("b")], &[1, 2], 2);
    let there = ["a1 1", "b1 1", "b1 2", "a1 2"];
    let back = ["b2 1", "a2 1", "a2 2", "b2 2"];
    assert_eq!(seen(&plan, out.path()).0, [there, back].concat());
    let second = TempDir::new().unwrap();
    let mut after = plan;
    after.sweep.order = Order::Systems;
    let one = ["a1 1", "a1 2", "a2 1", "a2 2"];
    let other = ["b1 1", "b1 2", "b2 1", "b2 2"];
    assert_eq!(seen(&after, second.path()).0, [one, other].concat());
}

/// Tries to open each database that is there while one is measured: that which is open is locked.
struct Opener {
    databases: Vec<(String, Params)>,
    open: Mutex<Vec<(String, Vec<String>)>>,
}

impl Observer for Opener {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        if phase.kind != PhaseKind::Measure {
            return;
        }
        let driver = tailmark_driver::db::find("file").unwrap();
        let is_open = |(_, params): &&(String, Params)| {
            let is_there = params.location.path().unwrap().exists();
            is_there && (driver.open)(params).is_err()
        };
        let open = self.databases.iter().filter(is_open);
        let open = open.map(|(name, _)| name.clone()).collect();
        let measured = phase.system.to_owned();
        self.open.lock().unwrap().push((measured, open));
    }
}

#[test]
fn the_other_databases_are_closed_while_one_is_measured() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let places = ["a", "b", "c"].map(|name| (name.to_owned(), dir.path().join(name)));
    let systems = places.iter().map(|(name, place)| file(name, place));
    let plan = interleaved(systems.collect(), &[1, 2], 2);
    let databases = plan
        .systems
        .iter()
        .zip(&places)
        .map(|(system, (name, place))| {
            let params = Params {
                location: Location::Directory(place.join("slots.dat")),
                data: system.data.clone(),
                settings: system.settings.clone(),
                semantics: system.semantics,
                access: Access::Write,
                study: String::new(),
            };
            (name.clone(), params)
        });
    let opener = Opener {
        databases: databases.collect(),
        open: Mutex::default(),
    };
    tailmark_runner::run(&plan, out.path(), &opener, &Stop::new()).unwrap();
    let open = opener.open.into_inner().unwrap();
    assert_eq!(open.len(), 12);
    for (measured, files) in open {
        assert_eq!(files, [measured]);
    }
}

/// Keeps what stands in the file of a system after each of its points.
struct Contents<'a> {
    dir: &'a Path,
    after: Mutex<BTreeMap<String, Vec<Vec<u8>>>>,
}

impl Observer for Contents<'_> {
    fn point_finished(&self, point: &Point) {
        let system = &point.key.system;
        let content = fs::read(self.dir.join(system).join("slots.dat")).unwrap();
        let content = content[1 << 20..].to_vec(); // after the stamp
        let mut after = self.after.lock().unwrap();
        after.entry(system.clone()).or_default().push(content);
    }
}

#[test]
fn every_system_is_sent_the_same_writes_whatever_the_order() {
    let contents = |order| {
        let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let systems = ["a", "b"].map(|name| file(name, &dir.path().join(name)));
        let mut plan = interleaved(systems.to_vec(), &[1], 2);
        let more = ["ycsb-d", "ycsb-f"].map(|name| tailmark_workload::find(name).unwrap());
        plan.sweep.workloads.extend(more.map(Into::into));
        plan.sweep.load_threads = 1; // several would each take the next record to load
        plan.sweep.order = order;
        let contents = Contents {
            dir: dir.path(),
            after: Mutex::default(),
        };
        tailmark_runner::run(&plan, out.path(), &contents, &Stop::new()).unwrap();
        contents.after.into_inner().unwrap()
    };
    let [interleaved, one_by_one] = [Order::Interleaved, Order::Systems].map(contents);
    assert_eq!(interleaved["a"].len(), 6);
    assert!(interleaved["a"] == interleaved["b"], "two systems differ");
    assert!(interleaved == one_by_one, "two orders differ");
    let distinct: BTreeSet<_> = interleaved["a"].iter().collect();
    assert_eq!(distinct.len(), 6, "each point writes");
}

/// Requests a stop when the n-th point begins, from 1.
struct StopsAt {
    nth: usize,
    started: AtomicUsize,
    stop: Stop,
    seen: Seen,
}

impl Observer for StopsAt {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let is_point = phase.kind == PhaseKind::Measure;
        if is_point && self.started.fetch_add(1, Ordering::Relaxed) + 1 == self.nth {
            self.stop.request();
        }
    }
    fn point_finished(&self, point: &Point) {
        self.seen.point_finished(point);
    }
}

/// The points that a run measures that is stopped in its n-th.
fn stopped_at(plan: &Plan, out: &Path, nth: usize) -> Vec<String> {
    let observer = StopsAt {
        nth,
        started: AtomicUsize::new(0),
        stop: Stop::new(),
        seen: Seen::default(),
    };
    let summary = tailmark_runner::run(plan, out, &observer, &observer.stop).unwrap();
    assert!(summary.interrupted);
    observer.seen.points.into_inner().unwrap()
}

#[test]
fn a_run_that_was_stopped_at_any_point_goes_on_in_the_same_order() {
    let plan = interleaved(vec![null("a"), null("b"), null("c")], &[1, 2], 2);
    let whole = TempDir::new().unwrap();
    let expected = seen(&plan, whole.path()).0;
    assert_eq!(expected.len(), 12);
    for nth in 1..=12 {
        let out = TempDir::new().unwrap();
        let mut measured = stopped_at(&plan, out.path(), nth);
        assert_eq!(measured.len(), nth - 1);
        measured.extend(seen(&plan, out.path()).0);
        assert_eq!(measured, expected, "stopped in point {nth}");
    }
}

#[test]
fn points_that_failed_are_measured_again_in_the_order_of_the_plan() {
    let failing = |settings: &[(&str, &str)]| {
        let bad = system_with("b", "sim", Path::new("x"), settings);
        interleaved(vec![null("a"), bad], &[1, 2], 2)
    };
    let out = TempDir::new().unwrap();
    let summary = run(&failing(&[("error_every", "4")]), out.path()).unwrap();
    assert_eq!(summary.failed.len(), 4);
    let mut well = failing(&[]);
    well.retry_failed = true;
    let (again, _) = seen(&well, out.path());
    assert_eq!(again, ["b1 1", "b1 2", "b2 1", "b2 2"]);
    assert_eq!(points(out.path()).len(), 8);
}

#[test]
fn all_systems_have_the_rates_of_a_peak_that_is_measured_before() {
    for system in ["a", "b"] {
        let out = TempDir::new().unwrap();
        let latencies = [("a", "100"), ("b", "400")];
        let systems = latencies.map(|(name, latency)| {
            system_with(name, "sim", Path::new("x"), &[("latency_us", latency)])
        });
        let mut plan = interleaved(systems.to_vec(), &[1, 2], 2);
        plan.sweep.rates = vec![AskedRate::OfPeak(0.5)];
        plan.sweep.rates_of = Some(system.to_owned());
        let (measured, _) = seen(&plan, out.path());
        let there = ["a1 1", "b1 1", "b1 2", "a1 2", "a1 4@", "b1 4@"];
        let back = ["b2 1", "a2 1", "a2 2", "b2 2", "b2 4@", "a2 4@"];
        assert_eq!(measured, [there, back].concat());
        let rates = points(out.path()).into_iter();
        let rates: BTreeSet<_> = rates
            .filter_map(|p| p.key.target_rate.map(f64::to_bits))
            .collect();
        assert_eq!(rates.len(), 1, "all at one rate, that of `{system}`");
    }
}

#[test]
fn what_was_skipped_for_want_of_a_peak_is_measured_once_there_is_one() {
    let failing = |settings: &[(&str, &str)]| {
        let bad = system_with("b", "sim", Path::new("x"), settings);
        let mut plan = interleaved(vec![null("a"), bad], &[1, 2], 2);
        plan.sweep.rates = vec![AskedRate::OfPeak(0.5)];
        plan
    };
    let out = TempDir::new().unwrap();
    let summary = run(&failing(&[("error_every", "4")]), out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_skipped), (10, 2));
    let mut well = failing(&[]);
    well.retry_failed = true;
    // Of the first repeat, the thread counts of the second are not valid yet.
    let (again, _) = seen(&well, out.path());
    assert_eq!(again, ["b1 1", "b1 2", "b2 1", "b2 2", "b2 4@", "b1 4@"]);
    assert_eq!(points(out.path()).len(), 12);
}

/// A service that writes down what is done to it.
fn service(name: &str, log: &Path) -> Service {
    let note = |what: &str| format!("echo {what} {name} >>{}", log.display());
    Service {
        control: ServiceControl::Commands {
            start: note("start"),
            stop: Some(note("stop")),
        },
        ready: None,
        log: None,
    }
}

/// Keeps which services are up when a point is measured.
struct Up {
    log: PathBuf,
    seen: Mutex<Vec<(String, BTreeSet<String>)>>,
}

fn events(log: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(what, name)| (what.to_owned(), name.to_owned()))
        .collect()
}

impl Observer for Up {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let mut up = BTreeSet::new();
        for (what, name) in events(&self.log) {
            match what.as_str() {
                "start" => up.insert(name),
                _ => up.remove(&name),
            };
        }
        self.seen
            .lock()
            .unwrap()
            .push((phase.system.to_owned(), up));
    }
}

#[test]
fn one_service_runs_at_a_time_and_starts_once_for_each_further_point() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let log = dir.path().join("log");
    let systems = ["a", "b"].map(|name| SystemPlan {
        service: Some(service(name, &log)),
        ..null(name)
    });
    let plan = interleaved(systems.to_vec(), &[1, 2], 2);
    let up = Up {
        log: log.clone(),
        seen: Mutex::default(),
    };
    tailmark_runner::run(&plan, out.path(), &up, &Stop::new()).unwrap();
    let seen = up.seen.into_inner().unwrap();
    assert_eq!(seen.len(), 8);
    for (measured, started) in seen {
        assert_eq!(started, BTreeSet::from([measured]));
    }
    let events = events(&log);
    // A service that still runs is stopped before the first point of another.
    let first = |event: &str| {
        let is_it = |(what, name): &(String, String)| format!("{what} {name}") == event;
        events.iter().position(is_it).unwrap()
    };
    assert!(first("stop b") < first("start a"), "{events:?}");
    for name in ["a", "b"] {
        let starts = events
            .iter()
            .filter(|event| **event == ("start".into(), name.into()));
        // To examine it, and for each of its points.
        assert_eq!(starts.count(), 1 + 4, "{name}: {events:?}");
    }
}

#[test]
fn the_service_of_a_system_that_is_done_does_not_run_beside_another() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let log = dir.path().join("log");
    let systems = ["a", "b"].map(|name| SystemPlan {
        service: Some(service(name, &log)),
        ..null(name)
    });
    let plan = interleaved(systems.to_vec(), &[1], 2);
    // The last of a b | b a is left: `b` has all its points, and its service runs.
    assert_eq!(stopped_at(&plan, out.path(), 4).len(), 3);
    fs::write(&log, "start b\n").unwrap();
    let up = Up {
        log,
        seen: Mutex::default(),
    };
    tailmark_runner::run(&plan, out.path(), &up, &Stop::new()).unwrap();
    let seen = up.seen.into_inner().unwrap();
    assert_eq!(seen, [("a".to_owned(), BTreeSet::from(["a".to_owned()]))]);
}

fn checked(sweep: &str) -> Plan {
    let text = format!(
        "[database]\ndriver = 'null'\n[dataset]\nrecords = 1000\n[sweep]\nthreads = 1\n\
         operations = 50\nwarmup = '0s'\n{sweep}\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n"
    );
    let raw = RawPlan::parse("test", &text).unwrap();
    raw.check().unwrap()
}

#[test]
fn that_drift_would_look_like_a_difference_is_said_where_systems_do_not_take_turns() {
    for (sweep, is_exposed) in [
        ("repeats = 2\norder = 'systems'", true),
        ("repeats = 2", false),
        ("repeats = 1", false),
    ] {
        let out = TempDir::new().unwrap();
        let (_, said) = seen(&checked(sweep), out.path());
        let kept = Study::open_read_only(out.path())
            .unwrap()
            .notices()
            .unwrap();
        for notices in [said, kept] {
            let mut notices = notices.iter();
            let is_said = notices.any(|text| text.contains("would look like a difference"));
            assert_eq!(is_said, is_exposed, "{sweep}");
        }
    }
}

#[test]
fn another_order_is_another_plan() {
    let (interleaved, one_by_one) = (
        checked("repeats = 2"),
        checked("repeats = 2\norder = 'systems'"),
    );
    for (started, other, key) in [
        (
            &interleaved,
            &one_by_one,
            "sweep.order is not set, was `interleaved`",
        ),
        (
            &one_by_one,
            &interleaved,
            "sweep.order is `interleaved`, was not set",
        ),
    ] {
        let out = TempDir::new().unwrap();
        run(started, out.path()).unwrap();
        let error = run(other, out.path()).unwrap_err();
        assert!(matches!(error, Error::ChangedPlan { .. }), "{error}");
        assert!(error.to_string().contains(key), "{error}");
        assert_eq!(run(started, out.path()).unwrap().points_kept, 4);
    }
}

#[test]
fn two_systems_that_would_keep_one_data_set_in_a_directory_are_refused() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let [place, name] = ["place", "name"].map(|name| dir.path().join(name));
    fs::create_dir(&place).unwrap();
    std::os::unix::fs::symlink(&place, &name).unwrap();
    let plan = interleaved(vec![file("a", &place), file("b", &name)], &[1], 2);
    let refused = run(&plan, out.path());
    assert!(
        matches!(refused, Err(Error::BadDirectory { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}
