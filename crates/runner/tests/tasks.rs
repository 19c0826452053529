//! Clients that are tasks: nothing they do differs from what threads do but the cost.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use support::{plan, points, run, system_with};
use tailmark_driver::{
    Clients, Completion, DataSet, Database, Error, Operation, Outcome, Schema, Session,
};
use tailmark_engine::{self as engine, Observer, Spec, Stop, Terms};
use tailmark_model::{Kind, Point};
use tailmark_workload::KeySpace;

/// Runs one point with tasks that wait for each answer.
fn point(
    settings: &[(&str, &str)],
    threads: u32,
    change: impl FnOnce(&mut tailmark_plan::Sweep),
) -> Point {
    let out = tempfile::tempdir().unwrap();
    let system = system_with("a", "sim-tasks", "nowhere".as_ref(), settings);
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
    // Ten rounds of 64 requests take 100 ms each. One at a time, they would take 64 s.
    assert!(point.phase.duration_s >= 0.95, "{}", point.phase.duration_s);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn tasks_hold_a_rate_and_start_on_time() {
    let once = || {
        let point = point(&[("latency_us", "2000")], 40, |sweep| {
            sweep.operations = Some(6000);
            sweep.rate = Some(2000.0);
        });
        let lag = point.phase.start_lag.as_ref().map(|lag| &lag.all).unwrap();
        assert_eq!((point.phase.operations, lag.len()), (6000, 6000));
        // None is sent before it is due; the last is due 2,999.5 ms after the start.
        assert!(point.phase.duration_s >= 2.99, "{}", point.phase.duration_s);
        (point.phase.ops_per_sec(), lag.value_at_quantile(0.5))
    };
    let on_time =
        |(reached, lag_ns): (f64, u64)| (reached / 2000.0 - 1.0).abs() < 0.02 && lag_ns < 500_000;
    // One of several tries: a busy machine may be late at any of them.
    let mut runs = std::iter::repeat_with(once).take(5);
    assert!(runs.any(on_time));
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
        began.elapsed() < Duration::from_secs(20),
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

/// What a session takes to close.
const CLOSING: Duration = Duration::from_millis(20);

struct SlowToClose;

impl Database for SlowToClose {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(SlowSession { used: false }))
    }
}

struct SlowSession {
    used: bool,
}

impl Session for SlowSession {
    fn execute<'a>(&'a mut self, _: Operation<'a>) -> Completion<'a> {
        self.used = true;
        Completion::Ready(Ok(Outcome {
            records: 1,
            bytes: 0,
        }))
    }
}

impl Drop for SlowSession {
    fn drop(&mut self) {
        if self.used {
            std::thread::sleep(CLOSING);
        }
    }
}

#[derive(Default)]
struct Closings(Mutex<Vec<Duration>>);

impl Observer for Closings {
    fn session_closed(&self, took: Duration) {
        self.0.lock().unwrap().push(took);
    }
}

#[test]
fn the_closing_of_each_session_that_worked_is_timed() {
    for clients in [Clients::Threads, Clients::Tasks] {
        let closings = Closings::default();
        let workload = tailmark_workload::find("fillseq").unwrap();
        let spec = Spec {
            database: &SlowToClose,
            clients,
            system: "a",
            point: None,
            workload: &Arc::new(workload),
            data: &DataSet {
                schema: Schema {
                    table: "default".into(),
                    fields: vec!["value".into()],
                },
                records: 100,
                field_length: 10,
            },
            keys: &Arc::new(KeySpace::new(0, 100)),
            part: None,
            enough: None,
            anatomy: None,
            terms: Terms {
                threads: 3,
                operations: Some(300),
                seed: 1,
                warmup_seed: 2,
                ..Terms::default()
            },
        };
        engine::run(&spec, &mut (), &closings, &Stop::new()).unwrap();
        // fillseq has each client do its share.
        let closings = closings.0.into_inner().unwrap();
        assert_eq!(closings.len(), 3, "{clients:?}");
        assert!(closings.iter().all(|took| *took >= CLOSING), "{closings:?}");
    }
}
