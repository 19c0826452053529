//! A whole sweep: points, the study, resuming, data sets and their markers, on drivers that need no
//! server.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use support::{RECORDS, plan, points, run, system, system_with};
use tailmark_driver::Location;
use tailmark_engine::{Observer, PhaseKind, PhaseStart, Stop};
use tailmark_model::{Kind, Load, Point};
use tailmark_plan::{Plan, Restore, RestoreBefore, Warmup};
use tailmark_runner::{Error, Summary};

/// Requests a stop when something happens, and remembers what did.
struct Stopper {
    stop: Stop,
    after: fn(&PhaseStart<'_>) -> bool,
    loads: Mutex<Vec<u64>>,
}

impl Observer for Stopper {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        if (self.after)(phase) {
            self.stop.request();
        }
    }
    fn load_finished(&self, load: &Load) {
        self.loads.lock().unwrap().push(load.records);
    }
}

fn run_until(plan: &Plan, out: &Path, after: fn(&PhaseStart<'_>) -> bool) -> (Summary, Vec<u64>) {
    let stopper = Stopper {
        stop: Stop::new(),
        after,
        loads: Mutex::default(),
    };
    let summary = tailmark_runner::run(plan, out, &stopper, &stopper.stop).unwrap();
    (summary, stopper.loads.into_inner().unwrap())
}

#[test]
fn every_point_of_the_product_is_measured_and_counts_every_operation_once() {
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(
        vec![
            system("a", "null", "x".as_ref()),
            system("b", "null", "x".as_ref()),
        ],
        &["ycsb-a", "ycsb-c"],
        &[1, 3],
    );
    plan.sweep.repeats = 2;
    let summary = run(&plan, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (16, 0));
    let points = points(out.path());
    assert_eq!(points.len(), 16);
    for point in points {
        assert_eq!(point.phase.operations, 500, "{:?}", point.key);
        assert_eq!(
            point.phase.kinds.values().map(|k| k.count).sum::<u64>(),
            500
        );
        assert_eq!(
            point
                .phase
                .intervals
                .iter()
                .map(|i| i.operations)
                .sum::<u64>(),
            500
        );
        assert!(
            point
                .phase
                .kinds
                .values()
                .all(|k| k.service.len() == k.count && k.response.is_none())
        );
    }
}

#[test]
fn a_read_modify_write_is_recorded_thrice_and_counted_once() {
    let out = tempfile::tempdir().unwrap();
    run(
        &plan(vec![system("a", "null", "x".as_ref())], &["ycsb-f"], &[2]),
        out.path(),
    )
    .unwrap();
    let phase = &points(out.path())[0].phase;
    let count = |kind| phase.kinds[&kind].count;
    assert_eq!(phase.operations, 500);
    assert_eq!(count(Kind::Read), 500);
    assert_eq!(count(Kind::Update), count(Kind::ReadModifyWrite));
    assert!(
        (150..350).contains(&count(Kind::Update)),
        "{}",
        count(Kind::Update)
    );
}

#[test]
fn a_fixed_rate_keeps_response_time_and_its_schedule() {
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(vec![system("a", "null", "x".as_ref())], &["ycsb-c"], &[2]);
    plan.sweep.rate = Some(1000.0);
    plan.sweep.operations = Some(500);
    plan.sweep.warmup = Warmup::Fixed(Duration::from_millis(100));
    run(&plan, out.path()).unwrap();
    let point = &points(out.path())[0];
    assert_eq!(point.key.target_rate, Some(1000.0));
    let read = &point.phase.kinds[&Kind::Read];
    assert_eq!(read.response.as_ref().map(|r| r.len()), Some(read.count));
    assert_eq!(
        point.phase.start_lag.as_ref().map(|l| l.all.len()),
        Some(read.count)
    );
    // 500 at 1,000 a second, the first when the warm-up ends.
    assert_eq!(read.count, 500);
    assert!(point.phase.duration_s >= 0.49, "{}", point.phase.duration_s);
}

#[test]
fn the_measured_part_has_as_many_operations_as_the_budget() {
    for _ in 0..3 {
        let out = tempfile::tempdir().unwrap();
        let system = || {
            let settings = [("latency_us", "2000")];
            vec![system_with("a", "sim-threads", "x".as_ref(), &settings)]
        };
        let mut plan = plan(system(), &["ycsb-a"], &[16]);
        plan.sweep.warmup = Warmup::Fixed(Duration::from_millis(50));
        plan.sweep.operations = Some(400);
        run(&plan, out.path()).unwrap();
        assert_eq!(points(out.path())[0].phase.operations, 400);
        // Late clients send operations of the warm-up after its end.
        let second = tempfile::tempdir().unwrap();
        plan.sweep.rate = Some(100_000.0);
        run(&plan, second.path()).unwrap();
        assert_eq!(points(second.path())[0].phase.operations, 400);
    }
}

#[test]
fn a_read_modify_write_is_measured_whole_or_not_at_all() {
    for _ in 0..3 {
        let out = tempfile::tempdir().unwrap();
        let settings = [("latency_us", "3000")];
        let system = system_with("a", "sim-threads", "x".as_ref(), &settings);
        let mut plan = plan(vec![system], &["ycsb-f"], &[16]);
        plan.sweep.warmup = Warmup::Fixed(Duration::from_millis(50));
        plan.sweep.operations = None;
        plan.sweep.duration = Some(Duration::from_millis(100));
        run(&plan, out.path()).unwrap();
        let phase = &points(out.path())[0].phase;
        // A busy machine may finish none in that time.
        let count = |kind| phase.kinds.get(&kind).map_or(0, |result| result.count);
        assert_eq!(count(Kind::Read), phase.operations);
        assert_eq!(count(Kind::Update), count(Kind::ReadModifyWrite));
    }
}

#[test]
fn a_rate_is_divided_by_the_planned_time() {
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(vec![system("a", "null", "x".as_ref())], &["ycsb-c"], &[1]);
    (plan.sweep.rate, plan.sweep.operations) = (Some(10.0), None);
    plan.sweep.duration = Some(Duration::from_secs(1));
    run(&plan, out.path()).unwrap();
    let phase = &points(out.path())[0].phase;
    assert!(
        (phase.duration_s - 1.0).abs() < 1e-9,
        "{}",
        phase.duration_s
    );
    assert!((1..=10).contains(&phase.operations), "{}", phase.operations);
    // The last of 10 is due after 0.9 s.
    let second = tempfile::tempdir().unwrap();
    (plan.sweep.operations, plan.sweep.duration) = (Some(10), None);
    run(&plan, second.path()).unwrap();
    let counted = &points(second.path())[0].phase;
    assert_eq!(counted.operations, 10);
    assert!(counted.duration_s >= 1.0 - 1e-9, "{}", counted.duration_s);
}

#[test]
fn a_closed_loop_by_time_is_divided_by_the_time_that_its_operations_took() {
    let out = tempfile::tempdir().unwrap();
    let settings = [("latency_us", "300000")];
    let system = system_with("a", "sim-threads", "x".as_ref(), &settings);
    let mut plan = plan(vec![system], &["ycsb-c"], &[1]);
    plan.sweep.operations = None;
    plan.sweep.duration = Some(Duration::from_millis(400));
    run(&plan, out.path()).unwrap();
    // Operations that began before 0.4 s took 0.3 s each.
    let phase = &points(out.path())[0].phase;
    assert!(phase.ops_per_sec() <= 1.0 / 0.3, "{}", phase.ops_per_sec());
}

#[test]
fn operations_that_clients_share_evenly_are_all_done() {
    for (operations, threads) in [(1003, 4), (2, 4)] {
        let out = tempfile::tempdir().unwrap();
        let system = system("a", "null", "x".as_ref());
        let mut plan = plan(vec![system], &["fillseq"], &[threads]);
        plan.sweep.operations = Some(operations);
        run(&plan, out.path()).unwrap();
        assert_eq!(points(out.path())[0].phase.operations, operations);
    }
}

#[test]
fn seconds_of_a_stall_are_in_the_study() {
    let out = tempfile::tempdir().unwrap();
    // The second of three requests takes 3.7 s.
    let settings = [("stall_every", "2"), ("stall_us", "3700000")];
    let system = system_with("a", "sim-threads", "x".as_ref(), &settings);
    let mut plan = plan(vec![system], &["ycsb-c"], &[1]);
    plan.sweep.operations = Some(3);
    run(&plan, out.path()).unwrap();
    let phase = &points(out.path())[0].phase;
    let mut end_s = 0.0;
    for interval in &phase.intervals {
        assert!(
            (interval.start_s - end_s).abs() < 1e-9,
            "a gap at {end_s} s"
        );
        end_s = interval.start_s + interval.length_s;
    }
    assert!((end_s - phase.duration_s).abs() < 1e-9, "{end_s}");
    let empty = phase.intervals.iter().filter(|i| i.operations == 0);
    assert!(empty.count() >= 2);
    assert_eq!(phase.intervals.last().unwrap().operations, 2);
}

#[test]
fn finished_points_are_kept() {
    let out = tempfile::tempdir().unwrap();
    let plan = plan(
        vec![system("a", "null", "x".as_ref())],
        &["ycsb-c"],
        &[1, 2],
    );
    run(&plan, out.path()).unwrap();
    let before = points(out.path())[0].phase.started_ms;
    let summary = run(&plan, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (0, 2));
    assert_eq!(points(out.path())[0].phase.started_ms, before);
}

#[test]
fn a_stopped_sweep_goes_on() {
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(
        vec![system("a", "null", "x".as_ref())],
        &["ycsb-c"],
        &[1, 2, 4],
    );
    plan.sweep.operations = None;
    plan.sweep.duration = Some(Duration::from_millis(300));
    let second = |phase: &PhaseStart<'_>| phase.point.is_some_and(|p| p.threads == 2);
    let (summary, _) = run_until(&plan, out.path(), second);
    assert!(summary.interrupted);
    assert_eq!(points(out.path()).len(), 1);
    let resumed = run(&plan, out.path()).unwrap();
    assert_eq!(
        (
            resumed.points_measured,
            resumed.points_kept,
            resumed.interrupted
        ),
        (2, 1, false)
    );
}

/// Stops a run while it waits, the n-th time, for background work to come to rest.
struct StopsAt(usize, AtomicUsize, Stop);

impl Observer for StopsAt {
    fn step(&self, text: &str) {
        let waits = text.contains("background work to settle");
        if waits && self.1.fetch_add(1, Ordering::Relaxed) + 1 == self.0 {
            self.2.request();
        }
    }
}

#[test]
fn a_stop_ends_the_wait_for_background_work_that_never_ends() {
    let settings = [("never_settles", "true")];
    let system = system_with("a", "sim-threads", "x".as_ref(), &settings);
    let mut plan = plan(vec![system], &["ycsb-c"], &[1, 2]);
    plan.sweep.settle = Duration::from_secs(24 * 3600);
    let out = tempfile::tempdir().unwrap();
    let observer = StopsAt(1, AtomicUsize::new(0), Stop::new());
    let summary = tailmark_runner::run(&plan, out.path(), &observer, &observer.2).unwrap();
    assert!(summary.interrupted && points(out.path()).is_empty());
}

#[test]
fn a_stop_while_a_point_settles_keeps_the_point() {
    let settings = [("never_settles", "true")];
    let system = system_with("a", "sim-threads", "x".as_ref(), &settings);
    let mut plan = plan(vec![system], &["ycsb-c"], &[1, 2]);
    plan.sweep.settle = Duration::from_millis(50);
    let out = tempfile::tempdir().unwrap();
    let observer = StopsAt(2, AtomicUsize::new(0), Stop::new());
    let summary = tailmark_runner::run(&plan, out.path(), &observer, &observer.2).unwrap();
    assert_eq!((summary.points_measured, summary.interrupted), (1, true));
    assert_eq!(points(out.path()).len(), 1);
}

#[test]
fn a_changed_plan_is_refused_with_the_difference() {
    let out = tempfile::tempdir().unwrap();
    let systems = || vec![system("a", "null", "x".as_ref())];
    run(&plan(systems(), &["ycsb-c"], &[1]), out.path()).unwrap();
    let error = run(&plan(systems(), &["ycsb-c"], &[2]), out.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("sweep.threads is `[2]`, was `[1]`"),
        "{error}"
    );
}

#[test]
fn a_directory_in_use_is_refused() {
    struct Again<'a>(&'a Plan, &'a Path, Mutex<Option<String>>);
    impl Observer for Again<'_> {
        fn point_finished(&self, _: &Point) {
            let error = run(self.0, self.1).unwrap_err();
            *self.2.lock().unwrap() = Some(error.to_string());
        }
    }
    let out = tempfile::tempdir().unwrap();
    let plan = plan(vec![system("a", "null", "x".as_ref())], &["ycsb-c"], &[1]);
    let again = Again(&plan, out.path(), Mutex::default());
    tailmark_runner::run(&plan, out.path(), &again, &Stop::new()).unwrap();
    let error = again.2.into_inner().unwrap().unwrap();
    assert!(error.contains("another tailmark run"), "{error}");
}

#[test]
fn a_loaded_data_set_is_recognised() {
    let (place, first, second) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let plan = plan(vec![system("a", "file", place.path())], &["ycsb-c"], &[2]);
    let (_, loads) = run_until(&plan, first.path(), |_| false);
    assert_eq!(loads, [RECORDS]);
    let (_, again) = run_until(&plan, second.path(), |_| false);
    assert!(again.is_empty());
    for out in [first.path(), second.path()] {
        let read = &points(out)[0].phase.kinds[&Kind::Read];
        assert_eq!((read.count, read.not_found, read.errors), (500, 0, 0));
    }
}

#[test]
fn an_interrupted_load_goes_on() {
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut plan = plan(vec![system("a", "file", place.path())], &["ycsb-c"], &[2]);
    plan.systems[0].data.records = 100_000;
    let (summary, loads) = run_until(&plan, out.path(), |phase| phase.kind == PhaseKind::Load);
    assert!(summary.interrupted && loads.is_empty());
    let (resumed, reloaded) = run_until(&plan, out.path(), |_| false);
    assert_eq!(resumed.points_measured, 1);
    assert!(reloaded[0] < 100_000 || reloaded[0] == 100_000 && !resumed.interrupted);
    let read = &points(out.path())[0].phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.not_found), (500, 0));
}

#[test]
fn reload_loads_before_each_point() {
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut plan = plan(
        vec![system("a", "file", place.path())],
        &["ycsb-c", "ycsb-a"],
        &[1, 2],
    );
    plan.dataset.restore.how = Restore::Reload;
    let (_, loads) = run_until(&plan, out.path(), |_| false);
    assert_eq!(loads, [RECORDS; 4]);
    let (moved, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plan.systems[0].location = Location::Directory(moved.path().to_owned());
    plan.dataset.restore.before = RestoreBefore::Workload;
    let (_, by_workload) = run_until(&plan, fresh.path(), |_| false);
    assert_eq!(by_workload, [RECORDS; 2]);
}

#[test]
fn data_that_is_not_ours_is_left_alone() {
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let system = system("a", "file", place.path());
    let theirs = place.path().join(system.driver.entry);
    fs::write(&theirs, "precious").unwrap();
    let error = run(&plan(vec![system], &["ycsb-c"], &[1]), out.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("was not loaded by tailmark"), "{error}");
    assert_eq!(fs::read_to_string(theirs).unwrap(), "precious");
}

#[test]
fn a_data_set_of_other_parameters_is_refused() {
    let (place, out, other) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let mut plan = plan(vec![system("a", "file", place.path())], &["ycsb-c"], &[1]);
    run(&plan, out.path()).unwrap();
    plan.systems[0].data.records = 3000;
    let error = run(&plan, other.path()).unwrap_err().to_string();
    assert!(error.contains("records is `3000`, was `2000`"), "{error}");
}

#[test]
fn a_place_on_a_device_that_is_not_mounted_is_refused() {
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let missing = place.path().join("not-mounted/t");
    let error = run(
        &plan(vec![system("a", "file", &missing)], &["ycsb-c"], &[1]),
        out.path(),
    );
    assert!(matches!(error, Err(Error::MissingPlace { .. })));
    assert!(!missing.exists());
}

#[test]
fn a_place_without_room_is_refused_unless_optional() {
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut large = system("large", "file", place.path());
    large.data.records = 1 << 40;
    let small = system("small", "null", "x".as_ref());
    let error = run(
        &plan(vec![large.clone(), small.clone()], &["ycsb-c"], &[1]),
        out.path(),
    );
    assert!(matches!(error, Err(Error::NoRoom { .. })), "{error:?}");
    large.optional = true;
    let summary = run(&plan(vec![large, small], &["ycsb-c"], &[1]), out.path()).unwrap();
    assert_eq!(summary.points_measured, 1);
}

/// Damages the marker of another system when a point of the first is measured.
struct Damager(std::path::PathBuf);

impl Observer for Damager {
    fn point_finished(&self, _: &Point) {
        fs::write(&self.0, "{").unwrap();
    }
}

#[test]
fn what_is_wrong_after_the_first_point_is_told_from_what_is_wrong_before() {
    let (out, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [first, second] = ["first", "second"].map(|name| data.path().join(name));
    let systems = vec![system("a", "file", &first), system("b", "file", &second)];
    let plan = plan(systems, &["ycsb-c"], &[1]);
    let damager = Damager(second.join("slots.dat.dataset.json"));
    let run = || tailmark_runner::run(&plan, out.path(), &damager, &Stop::new()).unwrap_err();
    let Error::Midway(later) = run() else {
        panic!("a point was measured")
    };
    assert!(matches!(*later, Error::BadMarker { .. }), "{later}");
    assert_eq!(points(out.path()).len(), 1);
    assert!(matches!(run(), Error::BadMarker { .. }));
}
