//! What the edges of a point count: stalls in the warm-up, in the middle and over the end, and what
//! is done after the end or never.

use super::*;
use tailmark_model::finding::FEW_OPERATIONS;

#[test]
fn a_stall_of_a_second_at_a_thousand_a_second_shows_a_thousand_slow_responses() {
    table("threads | in the middle | at the start | over the end");
    for threads in [1, 8, 64, 256] {
        let with = |model, warmup_s| {
            measure(Asked {
                model,
                threads,
                warmup_s,
                ..Asked::default()
            })
        };
        let phases = [
            with("constant 100us; stall 5s 1s", 2),
            with("constant 100us; stall 2s 1s", 2),
            with("constant 100us; stall 11500ms 1s", 2),
        ];
        let counts = phases.each_ref().map(|phase| slower(phase, 1));
        println!(
            "| {threads} | {} | {} | {} |",
            counts[0], counts[1], counts[2]
        );
        for ((phase, slow), expected) in phases.iter().zip(counts).zip([1_000, 1_000, 500]) {
            assert_eq!((phase.operations, phase.censored), (10_000, 0), "{threads}");
            assert!(slow.abs_diff(expected) <= expected / 8, "{threads}: {slow}");
            // 1,000 of the 10,000 wait from 0 to 1 s, so the 10th slowest waits 990 ms.
            let longest = response(phase).max() / MS;
            assert!(longest.abs_diff(1_000) <= 2, "{threads}: {longest}");
        }
        assert_eq!(phases[0].drained, 0);
        assert_eq!(phases[2].drained, 500);
    }
}

#[test]
fn what_was_due_and_never_done_is_counted_at_its_age() {
    // None of the last 500 operations is done: 64 are in flight, no client has taken the others.
    let phase = measure(Asked {
        model: "constant 100us; stall 11500ms 1h",
        warmup_s: 2,
        ..Asked::default()
    });
    assert_eq!(
        (phase.operations, phase.censored, phase.drained),
        (9_500, 500, 0)
    );
    assert!((phase.ops_per_sec() - 950.0).abs() < 1e-9);
    let censored = phase.kinds[&Kind::Read].censored.as_ref().unwrap();
    assert_eq!((censored.service.len(), censored.response.len()), (64, 500));
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (youngest, oldest) = (censored.response.min(), censored.response.max());
    assert!((seconds(youngest) - 10.001).abs() < 0.011, "{youngest}");
    assert!((seconds(oldest) - 10.5).abs() < 0.011, "{oldest}");
    let known = phase.kinds[&Kind::Read].response();
    assert!(
        known.max() < MS,
        "what was done was done at once: {}",
        known.max()
    );
}

/// Has enough after this many seconds.
struct AfterSeconds(usize);

impl Enough for AfterSeconds {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        so_far.len() >= self.0
    }
}

#[test]
fn what_has_enough_ends_as_if_that_had_been_planned() {
    let requested = Asked {
        model: "constant 100us; stall 27900ms 200ms",
        warmup_s: 2,
        duration_s: 1_000,
        enough: Some(&AfterSeconds(20)),
        ..Asked::default()
    };
    let found = measure(requested);
    // An interval stays open for 5 s after its end, and the current second is measured too.
    assert_eq!((found.duration_s, found.intervals.len()), (26.0, 26));
    let planned = measure(Asked {
        duration_s: 26,
        enough: None,
        ..requested
    });
    let same = Phase {
        started_ms: planned.started_ms,
        ..found
    };
    assert_eq!(same, planned);
    assert_eq!((same.operations, same.censored), (26_000, 0));
}

#[test]
fn what_has_enough_goes_on_for_the_least_time() {
    for (at_least_s, ended_s) in [(10, 26.0), (60, 60.0), (2_000, 100.0)] {
        let found = measure(Asked {
            model: "constant 100us",
            duration_s: 100,
            enough: Some(&AfterSeconds(20)),
            at_least_s,
            is_warmup: true,
            ..Asked::default()
        });
        assert_eq!(found.duration_s, ended_s, "{at_least_s}");
    }
}

#[test]
fn what_follows_a_warm_up_goes_on_where_that_ended() {
    // A stall 25 s after the start of a warm-up of 20 s; by then, requests take twice as long.
    let requested = Asked {
        model: "constant 100us; stall 25s 1s; drift 100% 20s",
        duration_s: 20,
        ..Asked::default()
    };
    let database = open(requested.model);
    let warmup = measure_on(
        database.as_ref(),
        Asked {
            is_warmup: true,
            ..requested
        },
    );
    let measured = measure_on(
        database.as_ref(),
        Asked {
            warmup_s: 1,
            duration_s: 10,
            continues: true,
            ..requested
        },
    );
    let p50 = |phase: &Phase| value_at(&phase.kinds[&Kind::Read].service, 0.5) / 1_000;
    assert!(warmup.intervals.iter().all(|i| i.operations == 1_000));
    assert!((145..155).contains(&p50(&warmup)), "{}", p50(&warmup));
    let slow: Vec<bool> = measured
        .intervals
        .iter()
        .map(|i| i.operations < 500)
        .collect();
    let stalled: Vec<usize> = (0..slow.len()).filter(|i| slow[*i]).collect();
    assert_eq!(stalled, [4]);
    assert!((225..235).contains(&p50(&measured)), "{}", p50(&measured));
}

#[test]
fn a_rate_that_is_too_high_is_not_reached_and_what_is_left_is_counted() {
    // 1,000 a second are possible. After 30 s, 30,000 of 60,000 are done, and 10,000 more in 10 s.
    let phase = measure(Asked {
        model: "constant 1ms; servers 1",
        rate: 2_000.0,
        duration_s: 30,
        ..Asked::default()
    });
    assert!(
        (phase.ops_per_sec() - 1_000.0).abs() < 1.0,
        "{}",
        phase.ops_per_sec()
    );
    assert!(phase.drained.abs_diff(10_000) <= 1, "{}", phase.drained);
    assert_eq!(phase.operations + phase.censored, 60_000);
    let censored = phase.kinds[&Kind::Read].censored.as_ref().unwrap();
    assert_eq!(censored.response.len(), phase.censored);
    let (youngest, oldest) = (censored.response.min(), censored.response.max());
    assert!(youngest.abs_diff(10_000 * MS) < 20 * MS, "{youngest}");
    assert!(oldest.abs_diff(20_000 * MS) < 30 * MS, "{oldest}");
}

#[test]
fn a_stall_in_the_warm_up_leaves_no_trace_in_what_is_counted() {
    // From 4 to 5 s of a warm-up of 5 s.
    let phase = measure(Asked {
        model: "constant 100us; stall 4s 1s",
        warmup_s: 5,
        ..Asked::default()
    });
    assert_eq!(
        (phase.operations, phase.drained, phase.censored),
        (10_000, 0, 0)
    );
    assert!((phase.ops_per_sec() - 1_000.0).abs() < 1e-9);
    assert!(slower(&phase, 1) <= 7, "{}", slower(&phase, 1));
}

#[test]
fn what_is_reached_of_a_rate_that_is_too_high_does_not_depend_on_the_warm_up() {
    for (warmup_s, arrivals) in [
        (0, Arrivals::Even),
        (6, Arrivals::Even),
        (20, Arrivals::Poisson),
    ] {
        let phase = measure(Asked {
            model: "constant 2ms; servers 4",
            rate: 12_000.0,
            threads: 16,
            arrivals,
            warmup_s,
            duration_s: 30,
            ..Asked::default()
        });
        let reached = phase.ops_per_sec();
        assert!(
            (reached / 2_000.0 - 1.0).abs() < 0.005,
            "{warmup_s}: {reached}"
        );
    }
}

#[test]
fn a_point_of_which_nothing_was_done_has_the_ages_of_all() {
    let phase = measure(Asked {
        model: "constant 1ms; stall 0s 1h",
        warmup_s: 1,
        duration_s: 5,
        ..Asked::default()
    });
    assert_eq!((phase.operations, phase.censored), (0, 5_000));
    let read = &phase.kinds[&Kind::Read];
    let censored = read.censored.as_ref().unwrap();
    assert_eq!((read.count, censored.response.len()), (0, 5_000));
}

#[test]
fn an_end_by_time_is_one_though_the_budget_was_sent() {
    // 50 of the 1,000 are late; those done after the end do not count within its time.
    for model in [
        "constant 1ms; stall 9500ms 5s",
        "constant 1ms; stall 9500ms 30s",
    ] {
        let phase = measure(Asked {
            model,
            rate: 100.0,
            operations: Some(1_000),
            ..Asked::default()
        });
        assert!((phase.ops_per_sec() - 95.0).abs() < 1e-9, "{model}");
        assert_eq!(phase.drained + phase.censored, 50, "{model}");
    }
}

#[test]
fn the_number_of_clients_does_not_move_the_end_of_a_budget() {
    let edges = |threads| {
        let phase = measure(Asked {
            model: "constant 1ms",
            threads,
            arrivals: Arrivals::Poisson,
            rate: 10.0,
            operations: Some(100),
            duration_s: 3_600,
            ..Asked::default()
        });
        (phase.operations, phase.duration_s.to_bits())
    };
    assert_eq!(edges(1), edges(1_024));
}

/// A closed loop, whose edges are other than those of a rate.
fn closed_loop(model: &str, threads: u32, warmup_s: u64, duration_s: u64) -> Phase {
    let workload = Arc::new(tailmark_workload::find("ycsb-c").unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let (database, key) = (open(model), key(threads));
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        terms: Terms {
            threads,
            warmup: Duration::from_secs(warmup_s),
            duration: Some(Duration::from_secs(duration_s)),
            seed: 1,
            ..Terms::default()
        },
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap()
}

#[test]
fn clients_that_queue_without_a_warm_up_are_as_fast_as_the_server_behind_them() {
    // 8 a second for any number of clients: at the end nearly all of them still wait.
    for (threads, duration_s) in [(1, 10), (8, 10), (64, 10), (64, 30), (256, 10)] {
        let phase = closed_loop("constant 125ms; servers 1", threads, 0, duration_s);
        let rate = phase.ops_per_sec();
        assert!(
            (rate / 8.0 - 1.0).abs() < 0.01,
            "{threads}, {duration_s}: {rate}"
        );
    }
    // Operations in flight during a stall at the end do not count as done.
    let stalled = closed_loop("constant 10ms; stall 5s 20s", 8, 0, 10);
    let rate = stalled.ops_per_sec();
    assert!((rate / 400.0 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn clients_that_do_not_wait_for_each_other_are_counted_without_a_warm_up_too() {
    // The operations do not end together with the point, in step or not.
    for (model, threads, expected) in [
        ("constant 5s", 64, 12.8),
        ("lognormal 100ms 0.3", 64, 640.0),
        (
            "constant 1ms; mode 0.1% constant 200ms",
            64,
            64_000.0 / 1.199,
        ),
    ] {
        let phase = closed_loop(model, threads, 0, 16);
        let rate = phase.ops_per_sec();
        assert!(
            (rate / expected - 1.0).abs() < 0.03,
            "{model}: {rate}, {expected}"
        );
    }
}

#[test]
fn a_finding_says_by_how_much_the_edges_of_few_operations_may_be_off() {
    // In step, 64 clients at 12.8 a second send 4 times within 16 s, not 3.2 times.
    let few = closed_loop("constant 5s", 64, 5, 16);
    assert_eq!(few.ops_per_sec(), 16.0);
    let found = few.findings.iter().find(|f| FEW_OPERATIONS.is_of(f));
    let text = found.unwrap().text();
    assert!(
        text.contains("did only 4 operations on average in 16 s"),
        "{text}"
    );
    assert!(text.contains("up to 25 %"), "{text}");
    for phase in [
        closed_loop("constant 100ms", 64, 4, 16),
        measure(Asked {
            model: "constant 100ms",
            rate: 10.0,
            ..Asked::default()
        }),
    ] {
        assert!(!FEW_OPERATIONS.is_among(&phase.findings));
    }
}
