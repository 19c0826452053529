//! Background clients at a rate: what was due of them is counted, also where it is never sent.

use super::{MS, data, key, open};
use std::{sync::Arc, time::Duration};
use tailmark_driver::Clients;
use tailmark_engine::{Silent, Spec, Stop, Terms};
use tailmark_model::{Arrivals, Kind, KindResult, Phase};
use tailmark_workload::KeySpace;

const S: u64 = 1_000 * MS;

/// 10 s of four readers beside a writer of 1,000 operations a second.
fn measure(model: &str, change: impl FnOnce(&mut Terms)) -> Phase {
    let mut workload = tailmark_workload::find("readwhilewriting").unwrap();
    let mut background = workload
        .groups
        .iter_mut()
        .filter(|group| group.is_background());
    background.next().unwrap().rate = Some(1_000.0);
    let workload = Arc::new(workload);
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let (database, key) = (open(model), key(4));
    let mut terms = Terms {
        threads: 4,
        duration: Some(Duration::from_secs(10)),
        seed: 1,
        ..Terms::default()
    };
    change(&mut terms);
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        terms,
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap()
}

fn at_2000(terms: &mut Terms) {
    (terms.rate, terms.arrivals) = (Some(2_000.0), Some(Arrivals::Even));
}

fn writes(phase: &Phase) -> &KindResult {
    &phase.kinds[&Kind::Insert]
}

/// Counts the writes whose response time exceeded `than_ms` milliseconds.
fn slower(phase: &Phase, than_ms: u64) -> u64 {
    let response = writes(phase).response();
    response.len() - response.count_between(0, than_ms * MS)
}

#[test]
fn a_stall_at_the_end_delays_every_write_that_was_due_in_it() {
    // It begins 1 s before the end and takes 5 s: 1,000 writes wait for 4 to 5 s.
    for change in [|_: &mut Terms| {}, at_2000] {
        let phase = measure("constant 100us; stall 9s 5s", change);
        let all = writes(&phase);
        assert_eq!(
            (all.count, slower(&phase, 1), slower(&phase, 3_990)),
            (10_000, 1_000, 1_000)
        );
        assert!(all.response().max().abs_diff(5 * S) < 10 * MS);
        assert!(all.censored.is_none());
        assert_eq!(
            phase.duration_s, 10.0,
            "the end of the point is where it was"
        );
    }
}

#[test]
fn writes_that_are_not_done_10_s_after_the_end_have_their_ages() {
    for change in [|_: &mut Terms| {}, at_2000] {
        let phase = measure("constant 100us; stall 9s 30s", change);
        let all = writes(&phase);
        assert_eq!((all.count, slower(&phase, 1)), (9_000, 0));
        let ages = &all.censored.as_ref().unwrap().response;
        assert_eq!(ages.len(), 1_000);
        assert!(ages.min() > 9_990 * MS && ages.max().abs_diff(11 * S) < 10 * MS);
    }
}

#[test]
fn a_writer_whose_rate_is_never_reached_has_what_it_left() {
    // 250 a second are done, 5,000 until 10 s after the end. The newest open one was due then.
    for change in [|_: &mut Terms| {}, at_2000] {
        let phase = measure("constant 4ms", change);
        let all = writes(&phase);
        let ages = &all.censored.as_ref().unwrap().response;
        assert!(all.count.abs_diff(5_000) <= 1, "{}", all.count);
        assert_eq!(all.count + ages.len(), 10_000);
        assert!(ages.min().abs_diff(10 * S) < 20 * MS && ages.max().abs_diff(15 * S) < 20 * MS);
    }
}

#[test]
fn at_the_end_of_a_budget_the_writes_due_by_then_are_waited_for() {
    // 396,000 reads take 9.9 s; a stall of 2 s comes just before their end.
    let phase = measure("constant 100us; stall 9895ms 2s", |terms| {
        (terms.operations, terms.duration) = (Some(396_000), None);
    });
    let all = writes(&phase);
    assert!(all.count.abs_diff(11_900) <= 2, "{}", all.count);
    assert!(
        slower(&phase, 1).abs_diff(2_000) <= 10,
        "{}",
        slower(&phase, 1)
    );
    assert!(all.censored.is_none());
}

#[test]
fn what_was_due_in_the_warm_up_is_no_write_of_the_point() {
    let phase = measure("constant 100us; stall 1500ms 2s", |terms| {
        terms.warmup = Duration::from_secs(3);
    });
    // Half a second of the stall is in the measured part. While the clients catch up, every
    // tenth write is late too: 500 / 0.9.
    assert_eq!((writes(&phase).count, slower(&phase, 1)), (10_000, 555));
}

#[test]
fn the_writer_of_db_bench_ends_with_its_readers() {
    let phase = measure("constant 100us; stall 9s 5s", |terms| {
        terms.is_background_scheduled = true
    });
    assert!(
        writes(&phase).count.abs_diff(9_001) <= 1,
        "{}",
        writes(&phase).count
    );
}

#[test]
fn in_a_closed_loop_no_operation_is_late_also_beside_a_writer_at_a_rate() {
    assert_eq!(measure("constant 100us", |_| {}).start_lag, None);
    assert!(measure("constant 100us", at_2000).start_lag.is_some());
}
