//! The simulated databases in real time do what the script says, whether its answers are awaited or not.

use crate::support::*;
use std::time::{Duration, Instant};
use tailmark_driver::{Cause, Clients, Completion, Fields, Key, Operation, Stage, db};
use tailmark_testing::test;

const DRIVERS: [&str; 2] = ["sim-threads", "sim-tasks"];

#[test]
fn failures_come_on_cue_and_for_the_cause() {
    for driver in DRIVERS {
        let bench = Bench::with(driver, &[("error_every", "4"), ("cause", "timeout")]);
        let mut session = bench.open().session().unwrap();
        let failed: Vec<_> = (1..=12)
            .filter_map(|n| Some((n, insert(&mut *session, n).err()?.cause)))
            .collect();
        let expected = [4, 8, 12].map(|n| (n, Cause::Timeout));
        assert_eq!(failed, expected, "{driver}");
    }
}

#[test]
fn reads_miss_on_cue_and_writes_do_not() {
    for driver in DRIVERS {
        let bench = Bench::with(driver, &[("miss_every", "3")]);
        let mut session = bench.open().session().unwrap();
        let mut missed = 0;
        for n in 0..9 {
            assert_eq!(insert(&mut *session, n).unwrap().records, 1);
            missed += 1 - read(&mut *session, n, Fields::All).unwrap().records;
        }
        assert_eq!(missed, 3, "{driver}");
    }
}

#[test]
fn a_request_takes_its_time_and_a_stall_takes_longer() {
    let script = [
        ("latency_us", "300"),
        ("stall_every", "5"),
        ("stall_us", "20000"),
    ];
    for driver in DRIVERS {
        let bench = Bench::with(driver, &script);
        let mut session = bench.open().session().unwrap();
        for n in 1..=10 {
            let began = Instant::now();
            read(&mut *session, n, Fields::All).unwrap();
            let at_least = if n % 5 == 0 { 20_000 } else { 300 };
            assert!(
                began.elapsed() >= Duration::from_micros(at_least),
                "{driver} {n}"
            );
        }
    }
}

#[test]
fn clients_that_are_tasks_get_answers_that_are_awaited() {
    let setting = &[("pending", "true")];
    for bench in [Bench::new("sim-tasks"), Bench::with("sim-threads", setting)] {
        let mut session = bench.open().session().unwrap();
        let key = Key {
            number: 0,
            name: b"user0",
        };
        let completion = session.execute(Operation::Delete { key });
        assert!(matches!(completion, Completion::Pending(_)));
    }
    assert_eq!(db::find("sim-tasks").unwrap().clients, Clients::Tasks);
    assert_eq!(db::find("sim-threads").unwrap().clients, Clients::Threads);
}

#[test]
fn the_model_is_of_what_a_workload_inserts_and_not_of_a_load() {
    for driver in DRIVERS {
        let bench = Bench::with(driver, &[("model", "errors 0s 1h 100% timeout")]);
        let database = bench.open();
        let fails = |stage| {
            database.begin_phase(stage, 1);
            let mut session = database.session().unwrap();
            insert(&mut *session, 1).err().map(|failure| failure.cause)
        };
        assert_eq!(fails(Stage::Load), None, "{driver}");
        assert_eq!(fails(Stage::Run), Some(Cause::Timeout), "{driver}");
    }
}
