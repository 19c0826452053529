//! Clients that are tasks: nothing they do differs from what threads do but the cost.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::time::{Duration, Instant};
use support::{plan, points, run, system_with};
use tailmark_results::{Kind, Point};

/// Runs one point with tasks that wait for each answer.
fn point(
    settings: &[(&str, &str)],
    threads: u32,
    change: impl FnOnce(&mut tailmark_runner::plan::Sweep),
) -> Point {
    let out = tempfile::tempdir().unwrap();
    let system = system_with("a", "scripted-tasks", "nowhere".as_ref(), settings);
    let mut plan = plan(vec![system], &["ycsb-c"], &[threads]);
    change(&mut plan.sweep);
    run(&plan, out.path()).unwrap();
    points(out.path()).remove(0)
}

#[test]
fn every_operation_of_many_tasks_is_counted_once() {
    let point = point(&[("latency_us", "500")], 200, |sweep| {
        sweep.operations = Some(20_000)
    });
    let read = &point.phase.kinds[&Kind::Read];
    assert_eq!(
        (point.phase.operations, read.count, read.service.len()),
        (20_000, 20_000, 20_000)
    );
    assert_eq!(point.phase.errors(), 0);
    assert!(read.service.min() >= 500_000, "{}", read.service.min());
}

#[test]
fn tasks_keep_one_operation_in_flight_each() {
    let began = Instant::now();
    let point = point(&[("latency_us", "100000")], 64, |sweep| {
        sweep.operations = Some(640)
    });
    // Ten rounds of 64 that take 100 ms each; one at a time, 64 s.
    assert!(point.phase.duration_s >= 0.95, "{}", point.phase.duration_s);
    assert!(began.elapsed() < Duration::from_secs(40));
}

#[test]
fn tasks_hold_a_rate_and_keep_how_late_they_start() {
    let point = point(&[("latency_us", "2000")], 40, |sweep| {
        sweep.operations = Some(6000);
        sweep.rate = Some(2000.0);
    });
    let phase = &point.phase;
    let lag = phase.start_lag.as_ref().unwrap();
    assert_eq!((phase.operations, lag.len()), (6000, 6000));
    // None is sent before it is due, the last 2,999.5 ms after the start; one after the other
    // they take 12 s.
    assert!(
        (2.99..9.0).contains(&phase.duration_s),
        "{}",
        phase.duration_s
    );
    assert!(lag.min() < 1_000_000, "all start {} ns late", lag.min());
}

#[test]
fn failures_without_end_end_the_point_with_a_finding() {
    let settings = [
        ("error_every", "1"),
        ("cause", "connection"),
        ("latency_us", "10000"),
    ];
    let began = Instant::now();
    let point = point(&settings, 8, |sweep| {
        sweep.operations = None;
        sweep.duration = Some(Duration::from_secs(120));
    });
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(point.phase.kinds[&Kind::Read].count, 0);
    assert!(point.phase.errors() > 1000);
    let codes: Vec<_> = point
        .phase
        .findings
        .iter()
        .map(|finding| &*finding.code)
        .collect();
    assert!(
        codes.contains(&"no-answer") && codes.contains(&"errors"),
        "{codes:?}"
    );
}
