//! Points of the file driver with several requests in flight for each thread.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use support::{loads, plan, points, run, system_with};
use tempfile::TempDir;

#[test]
fn every_operation_through_io_uring_is_counted_once_with_its_own_latency() {
    measure(None);
}

#[test]
fn at_a_rate_clients_wait_for_the_ring_and_for_the_time_of_the_next_operation() {
    measure(Some(5_000.0));
}

fn measure(rate: Option<f64>) {
    let (place, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let settings = [("direct", "false"), ("io", "uring"), ("depth", "8")];
    let system = system_with("a", "file", &place.path().join("slots"), &settings);
    let records = system.data.records;
    let mut plan = plan(vec![system], &["ycsb-a"], &[2]);
    plan.sweep.operations = Some(3_000);
    plan.sweep.rate = rate;
    run(&plan, out.path()).unwrap();
    let load = &loads(out.path())[0];
    // 2 threads with 8 requests each.
    assert_eq!((load.threads, load.phase.operations), (16, records));
    let point = &points(out.path())[0];
    assert_eq!(point.key.threads, 2);
    assert_eq!((point.phase.operations, point.phase.failed), (3_000, 0));
    let kinds = point.phase.kinds.values();
    assert_eq!(kinds.clone().map(|kind| kind.count).sum::<u64>(), 3_000);
    assert_eq!(
        kinds.clone().map(|kind| kind.service.len()).sum::<u64>(),
        3_000
    );
    assert_eq!(kinds.clone().map(|kind| kind.not_found).sum::<u64>(), 0);
    // No request is timed while another of the same client is: 16 clients have no more time.
    let busy_ns: f64 = kinds
        .map(|kind| kind.service.mean() * kind.count as f64)
        .sum();
    let all_ns = 16.0 * point.phase.duration_s * 1e9;
    assert!(busy_ns <= all_ns * 1.001, "{busy_ns} of {all_ns}");
}
