use super::super::interval_stats::Failures;
use super::*;
use crossbeam_channel::unbounded;
use tailmark_driver::{Cause, Outcome};

const FOUND: Reply = Ok(Outcome {
    records: 1,
    bytes: 10,
});

fn at(sent: Tick, done: Tick) -> Timing {
    Timing {
        was_free: false,
        due: sent,
        sent,
        done,
    }
}

/// Records with `record`, then returns the stats that were handed over.
fn handed_over(keep: Keep, record: impl FnOnce(&mut Recorder)) -> Vec<Snapshot> {
    let (full, received) = unbounded();
    let (_, empty) = unbounded();
    let mut recorder = Recorder::new(1000, keep, None, full, empty);
    record(&mut recorder);
    recorder.hand_over();
    drop(recorder);
    received.iter().collect()
}

#[test]
fn an_operation_belongs_to_the_interval_in_which_it_is_done() {
    let stats = handed_over(Keep::Service, |recorder| {
        for timing in [
            at(1000, 2000),
            at(2000, 1000 + INTERVAL_NS),
            at(1500, 1001 + INTERVAL_NS),
        ] {
            recorder.record(Kind::Read, timing, &FOUND);
            recorder.finish(timing, true);
        }
    });
    let counts: Vec<_> = stats
        .iter()
        .map(|s| (s.interval, s.stats.operations))
        .collect();
    assert_eq!(counts, [(0, 1), (1, 2)]);
}

#[test]
fn response_time_runs_from_when_it_was_due() {
    let stats = handed_over(Keep::Both, |recorder| {
        let timing = Timing {
            was_free: true,
            due: 1_000,
            sent: 6_000,
            done: 8_000,
        };
        recorder.record(Kind::Read, timing, &FOUND);
        recorder.finish(timing, true);
    });
    let kind = stats[0].stats.kinds[Kind::Read as usize].as_ref().unwrap();
    assert_eq!(
        (
            kind.service.latencies().max(),
            kind.response.latencies().max()
        ),
        (2_000, 7_003)
    );
    assert_eq!(
        stats[0]
            .stats
            .lag
            .as_ref()
            .unwrap()
            .woken_late
            .latencies()
            .min(),
        5_000
    );
}

#[test]
fn failures_are_counted_by_cause_and_timed_apart() {
    let failure = |cause| {
        Err(Failure {
            cause,
            message: "no".into(),
        })
    };
    let stats = handed_over(Keep::Service, |recorder| {
        for (cause, done) in [
            (Cause::Timeout, 1100),
            (Cause::Io, 1200),
            (Cause::Timeout, 1150),
        ] {
            recorder.record(Kind::Update, at(1000, done), &failure(cause));
        }
    });
    let kind = stats[0].stats.kinds[Kind::Update as usize]
        .as_ref()
        .unwrap();
    assert_eq!(
        (kind.count, kind.errors(), kind.service.latencies().len()),
        (0, 3, 0)
    );
    let numbers = |failures: &Failures| {
        let latencies = failures.latencies.service.latencies();
        (failures.count, latencies.len(), latencies.max())
    };
    assert_eq!(
        kind.failures.iter().map(numbers).collect::<Vec<_>>(),
        [(2, 2, 150), (1, 1, 200)]
    );
}

#[test]
fn a_failure_is_timed_from_when_it_was_due_too() {
    for (keep, response) in [(Keep::Service, 0), (Keep::Both, 900)] {
        let stats = handed_over(keep, |recorder| {
            let timing = Timing {
                due: 300,
                ..at(1000, 1200)
            };
            let failed = Err(Failure {
                cause: Cause::Timeout,
                message: "no".into(),
            });
            recorder.record(Kind::Read, timing, &failed);
        });
        let kind = stats[0].stats.kinds[0].as_ref().unwrap();
        let ages = &kind.failures[0].latencies;
        let ages = [&ages.service, &ages.response].map(|own| own.latencies().max());
        assert_eq!(ages, [200, response]);
    }
}

#[test]
fn an_operation_that_failed_is_one_of_those_completed() {
    let stats = handed_over(Keep::Service, |recorder| {
        let full = Failure {
            cause: Cause::Io,
            message: "no space".into(),
        };
        for failure in [None, Some(&full), Some(&full)] {
            recorder.record_pair(at(1000, 1100), failure);
            recorder.finish(at(1000, 1100), failure.is_none());
        }
    });
    let stats = &stats[0].stats;
    assert_eq!((stats.operations, stats.failed), (3, 2));
    let pair = stats.kinds[Kind::ReadModifyWrite as usize]
        .as_ref()
        .unwrap();
    assert_eq!((pair.count, pair.errors()), (1, 2));
    assert_eq!(pair.failures[0].latencies.service.latencies().len(), 2);
    assert_eq!(stats.errors(), 0, "the pair is no request");
}

#[test]
fn requests_that_found_nothing_are_timed_twice() {
    let stats = handed_over(Keep::Service, |recorder| {
        recorder.record(Kind::Read, at(1000, 1100), &FOUND);
        recorder.record(Kind::Read, at(1000, 1200), &Ok(Outcome::default()));
    });
    let kind = stats[0].stats.kinds[0].as_ref().unwrap();
    let missed = &kind.missed.as_ref().unwrap().service;
    assert_eq!(
        (kind.count, kind.not_found, kind.service.latencies().len()),
        (2, 1, 2)
    );
    assert_eq!(
        (missed.latencies().len(), missed.latencies().max()),
        (1, 200)
    );
}
