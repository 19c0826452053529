//! Points that failed: what is counted, that they are told until they were measured again, and a
//! real file system that fills up in mid-sweep.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use rustix::fs::FallocateFlags;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};
use support::{plan, points, run, system, system_with};
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::{Fault, Kind, Point};
use tailmark_plan::Plan;
use tailmark_runner::Summary;
use tailmark_testing::{Tmpfs, test};

fn scripted(workload: &str, settings: &[(&str, &str)]) -> Plan {
    let system = system_with("a", "sim-threads", Path::new("x"), settings);
    let mut plan = plan(vec![system], &[workload], &[1]);
    plan.sweep.operations = Some(10_000);
    plan
}

/// The only point of a plan, and what the run said of it.
fn measured(plan: &Plan) -> (Point, Summary) {
    let out = tempfile::tempdir().unwrap();
    let summary = run(plan, out.path()).unwrap();
    (points(out.path()).remove(0), summary)
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn what_failed_is_counted_apart_from_operations_per_second() {
    let (point, summary) = measured(&scripted("ycsb-a", &[("error_every", "4")]));
    let phase = &point.phase;
    assert_eq!((phase.operations, phase.failed), (10_000, 2_500));
    let rates = phase.ops_per_sec() + phase.errors_per_sec();
    assert!((phase.ops_per_sec() / rates - 0.75).abs() < 1e-9);
    let sum = |count: fn(&tailmark_model::Interval) -> u64| phase.intervals.iter().map(count).sum();
    let (operations, failed): (u64, u64) = (sum(|i| i.operations), sum(|i| i.failed));
    assert_eq!((operations, failed), (10_000, 2_500));
    assert_eq!(summary.failed, [(point.key, Fault::Failed(0.25))]);
}

/// Every third request fails: of a stream of pairs, which half it is takes turns, and of F's reads
/// and pairs too.
#[test]
fn a_read_modify_write_failed_where_either_half_did() {
    let (point, _) = measured(&scripted("ycsb-f", &[("error_every", "3")]));
    let phase = &point.phase;
    let pairs = &phase.kinds[&Kind::ReadModifyWrite];
    let requests = phase.requests();
    assert_eq!(requests, 10_000 + pairs.count + pairs.errors);
    assert_eq!(phase.errors(), requests / 3);
    // Two halves in a row never both fail, so every failure belongs to another operation.
    assert_eq!(phase.failed, phase.errors());
    let halves = &phase.kinds[&Kind::Update];
    assert_eq!(pairs.count + pairs.errors, halves.count + halves.errors);
    assert!(pairs.errors > halves.errors, "reads of pairs failed too");
    // Failed pairs are timed as pairs; their causes come from the halves.
    assert_eq!(pairs.failed.as_ref().map(|f| f.len()), Some(pairs.errors));
    assert!(phase.errors.iter().all(|e| e.kind != Kind::ReadModifyWrite));
}

#[test]
fn a_read_modify_write_whose_halves_both_fail_is_one_failure() {
    let (point, _) = measured(&scripted("ycsb-f", &[("error_every", "1")]));
    let phase = &point.phase;
    assert_eq!((phase.operations, phase.failed), (10_000, 10_000));
    assert!(phase.errors() > 14_000, "{}", phase.errors());
    assert_eq!(phase.ops_per_sec(), 0.0);
}

#[test]
fn as_many_failures_as_are_allowed_are_no_fault() {
    // 10 of 10,000.
    let mut plan = scripted("ycsb-c", &[("error_every", "1000")]);
    let (point, summary) = measured(&plan);
    assert_eq!((point.phase.failed, summary.errors), (10, 10));
    assert!(summary.failed.is_empty(), "{:?}", summary.failed);
    plan.sweep.allow_errors = 0.000_9;
    let (_, strict) = measured(&plan);
    assert_eq!(strict.failed.len(), 1);
}

#[test]
fn a_point_that_found_nothing_is_told() {
    let (point, summary) = measured(&scripted("ycsb-a", &[("miss_every", "1")]));
    assert_eq!(summary.failed, [(point.key, Fault::NothingFound)]);
    let codes: Vec<_> = point
        .phase
        .findings
        .iter()
        .map(|f| f.code.as_str())
        .collect();
    assert!(codes.contains(&"nothing-found") && !codes.contains(&"misses"));
    let (_, half) = measured(&scripted("ycsb-a", &[("miss_every", "2")]));
    assert!(half.failed.is_empty(), "{:?}", half.failed);
    // A workload that reads missing keys should find nothing.
    let (missing, on_purpose) = measured(&scripted("readmissing", &[("miss_every", "1")]));
    assert_eq!(missing.phase.kinds[&Kind::Read].not_found, 10_000);
    let (some, _) = measured(&scripted("readmissing", &[("miss_every", "100")]));
    let mut findings = some.phase.findings.iter();
    assert!(some.phase.kinds[&Kind::Read].not_found > 0 && findings.all(|f| f.code != "misses"));
    assert!(on_purpose.failed.is_empty(), "{:?}", on_purpose.failed);
}

#[test]
fn a_point_that_failed_is_told_by_every_run_until_it_was_measured_again() {
    let out = tempfile::tempdir().unwrap();
    let mut bad = scripted("ycsb-c", &[("error_every", "4")]);
    bad.sweep.threads = vec![1, 2];
    run(&bad, out.path()).unwrap();
    let was = points(out.path());
    // Nothing is measured, but the study still holds them.
    let again = run(&bad, out.path()).unwrap();
    assert_eq!((again.points_measured, again.failed.len()), (0, 2));
    bad.retry_failed = true;
    let retried = run(&bad, out.path()).unwrap();
    assert_eq!(
        (
            retried.points_measured,
            retried.points_kept,
            retried.failed.len()
        ),
        (2, 0, 2)
    );
    let is = points(out.path());
    let keys = |points: &[Point]| points.iter().map(|p| p.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&is), keys(&was));
    assert_ne!(is, was, "each was replaced");
    // The database works again. This is a setting of the script, which the plan does not store.
    let mut good = scripted("ycsb-c", &[]);
    (good.sweep.threads, good.retry_failed) = (vec![1, 2], true);
    let well = run(&good, out.path()).unwrap();
    assert_eq!((well.points_measured, well.failed.len()), (2, 0));
    let kept = run(&good, out.path()).unwrap();
    assert_eq!((kept.points_measured, kept.points_kept), (0, 2));
}

#[test]
fn a_stop_while_points_are_measured_again_loses_none() {
    struct Stopper(Stop);
    impl Observer for Stopper {
        fn phase_started(&self, phase: &PhaseStart<'_>) {
            if phase.point.is_some_and(|point| point.threads == 2) {
                self.0.request();
            }
        }
    }
    let out = tempfile::tempdir().unwrap();
    let mut bad = scripted("ycsb-c", &[("error_every", "4")]);
    bad.sweep.threads = vec![1, 2, 3];
    run(&bad, out.path()).unwrap();
    let mut good = scripted("ycsb-c", &[]);
    (good.sweep.threads, good.retry_failed) = (vec![1, 2, 3], true);
    let stop = Stop::new();
    let stopped = tailmark_runner::run(&good, out.path(), &Stopper(stop.clone()), &stop).unwrap();
    assert!(stopped.interrupted);
    assert_eq!((stopped.points_measured, stopped.failed.len()), (1, 2));
    assert_eq!(points(out.path()).len(), 3);
    let rest = run(&good, out.path()).unwrap();
    assert_eq!((rest.points_measured, rest.failed.len()), (2, 0));
}

/// Fills the disk before the first point, and frees it when that has ended.
///
/// The driver reserves its room before the load. Here the room for inserts is taken away again
/// first: behind a disk that promises more than it has there is none either.
struct Filler<'a> {
    disk: &'a Tmpfs,
    data: PathBuf,
    filled: Mutex<bool>,
}

impl Observer for Filler<'_> {
    fn step(&self, text: &str) {
        let mut filled = self.filled.lock().unwrap();
        if *filled || text != "opening the database" {
            return;
        }
        let data = fs::File::options().write(true).open(&self.data).unwrap();
        let bytes = data.metadata().unwrap().len();
        // A tenth of the records' space follows them.
        let from = (bytes * 10 / 11).next_multiple_of(4096);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&data, hole, from, bytes - from).unwrap();
        self.disk.fill(0);
        *filled = true;
    }
    fn point_finished(&self, _: &Point) {
        let _ = fs::remove_file(self.disk.filler());
    }
}

#[test]
fn a_disk_that_fills_up_in_mid_sweep_makes_no_peak_and_is_measured_again() {
    let disk = Tmpfs::new(32 << 20);
    let place = disk.path().join("t");
    fs::create_dir(&place).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(
        vec![system_with("a", "file", &place, &[("direct", "false")])],
        &["ycsb-d"],
        &[2, 1, 4],
    );
    plan.sweep.operations = Some(20_000);
    let filler = Filler {
        disk: &disk,
        data: place.join(plan.systems[0].driver.entry),
        filled: Mutex::new(false),
    };
    let summary = tailmark_runner::run(&plan, out.path(), &filler, &Stop::new()).unwrap();
    assert!(*filler.filled.lock().unwrap());
    assert_eq!(summary.failed.len(), 1, "{:?}", summary.failed);
    assert_eq!(summary.failed[0].0.threads, 2);
    let failed = points(out.path()).remove(0).phase;
    assert!(
        failed.failed > 20 && failed.succeeded() < 20_000,
        "{}",
        failed.failed
    );
    assert!(
        failed.errors[0].example.contains("space"),
        "{:?}",
        failed.errors
    );
    plan.retry_failed = true;
    let resumed = run(&plan, out.path()).unwrap();
    assert_eq!((resumed.points_measured, resumed.points_kept), (1, 2));
    assert!(resumed.failed.is_empty(), "{:?}", resumed.failed);
    let threads: Vec<_> = points(out.path()).iter().map(|p| p.key.threads).collect();
    assert_eq!(
        threads,
        [1, 4, 2],
        "the new one took its place in one commit"
    );
}

#[test]
fn a_point_without_a_failure_has_none() {
    let (point, summary) = {
        let out = tempfile::tempdir().unwrap();
        let plan = plan(vec![system("a", "null", "x".as_ref())], &["ycsb-f"], &[2]);
        let summary = run(&plan, out.path()).unwrap();
        (points(out.path()).remove(0), summary)
    };
    assert_eq!((point.phase.failed, point.phase.error_share()), (0, 0.0));
    assert!(summary.failed.is_empty());
}
