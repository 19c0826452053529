//! When operations are due, and what is left of the budget, without a database.

use super::*;
use crate::{block_on, clock::MonotonicClock, silence::Pulse};
use tailmark_model::Arrivals;

fn pace(clock: &MonotonicClock) -> Pace<MonotonicClock> {
    Pace {
        clock: clock.clone(),
        start: 0,
        measure: 0,
        end: End::at(Tick::MAX),
        budget: None,
        timetable: Timetable::Closed,
        waiter: Waiter::Thread {
            spin: Duration::ZERO,
        },
        stop: Stop::new(),
        pulse: Pulse::shared(),
    }
}

/// When an operation at a rate is due.
fn tick(due: Due) -> Tick {
    match due {
        Due::At { due, .. } => due,
        Due::Now => panic!("it is due at an instant"),
    }
}

/// One that was due before the client was free.
fn late(due: Tick) -> Due {
    let was_free = false;
    Due::At { due, was_free }
}

#[test]
fn a_budget_is_spent_to_the_last_operation() {
    let clock = MonotonicClock::start();
    let budget = Arc::new(Budget::new(1001, 3));
    let mut sent = 0;
    for _ in 0..3 {
        let mut pacer = Pacer::new(Pace {
            budget: Some(Arc::clone(&budget)),
            ..pace(&clock)
        });
        while block_on(pacer.next(0)).is_some() {
            sent += 1;
        }
    }
    assert_eq!(sent, 1001);
}

#[test]
fn the_warm_up_does_not_spend_the_budget() {
    let clock = MonotonicClock::start();
    let budget = Some(Arc::new(Budget::new(2, 1)));
    let mut pacer = Pacer::new(Pace {
        budget,
        measure: 100,
        ..pace(&clock)
    });
    let sent = [0, 50, 99, 100, 101, 102].map(|now| block_on(pacer.next(now)).is_some());
    assert_eq!(sent, [true, true, true, true, true, false]);
}

#[test]
fn what_takes_of_the_budget_is_what_is_measured() {
    // At a rate, a late client begins as soon as its previous operation is done.
    let clock = MonotonicClock::start();
    let mut pacer = Pacer::new(Pace {
        budget: Some(Arc::new(Budget::new(2, 1))),
        measure: 100,
        timetable: Timetable::Own(Schedule::new(1e9 / 40.0, 0, 1)),
        ..pace(&clock)
    });
    let measured = [0, 50, 90, 130, 130].map(|now| {
        let due = block_on(pacer.next(now));
        due.map(|due| (tick(due), pacer.is_measured()))
    });
    let at = |due, is_measured| Some((due, is_measured));
    let warmup = [at(0, false), at(40, false), at(80, false), at(120, true)];
    assert_eq!(measured, [&warmup[..], &[at(160, true)]].concat()[..]);
    assert!(pacer.is_spent());
    let mut late = Pacer::new(Pace {
        budget: Some(Arc::new(Budget::new(1, 1))),
        measure: 100,
        timetable: Timetable::Own(Schedule::new(1e9 / 40.0, 0, 1)),
        ..pace(&clock)
    });
    // Three late operations of the warm-up are neither measured nor charged to the budget.
    let sent =
        [150; 5].map(|now| block_on(late.next(now)).map(|due| (tick(due), late.is_measured())));
    assert_eq!(sent, [&warmup[..], &[None]].concat()[..]);
}

#[test]
fn clients_take_turns_at_a_fixed_rate() {
    let due = |client| {
        let mut schedule = Schedule::new(1e6, client, 4);
        (0..3).map(|_| schedule.next_due(1000)).collect::<Vec<_>>()
    };
    assert_eq!(due(0), [1000, 5000, 9000]);
    assert_eq!(due(3), [4000, 8000, 12000]);
}

#[test]
fn clients_take_turns_at_a_rate_that_swings() {
    // 1,000 a second for one second, then 2,000, then 1,000, then 0.
    let sine = SineRate {
        amplitude: 1000.0,
        speed: std::f64::consts::FRAC_PI_2,
        phase: 0.0,
        step_s: 1.0,
    };
    let due = |client, count| -> Vec<_> {
        let mut schedule = Schedule::sinusoidal(1000.0, sine, client, 2);
        (0..count).map(|_| schedule.next_due(0)).collect()
    };
    let mut all = [due(0, 2000), due(1, 2000)].concat();
    all.sort_unstable();
    let in_second = |second: u64| {
        let range = second * 1_000_000_000..(second + 1) * 1_000_000_000;
        // A due time at a border may be rounded to the nanosecond before it.
        all.iter().filter(|at| range.contains(&(**at + 10))).count()
    };
    assert_eq!([0, 1, 2, 3].map(in_second), [1000, 2000, 1000, 0]);
    assert_eq!(due(1, 1), [1_000_000]);
}

#[test]
fn a_late_client_keeps_the_due_times() {
    let clock = MonotonicClock::start();
    std::thread::sleep(Duration::from_millis(20));
    let mut pacer = Pacer::new(Pace {
        timetable: Timetable::Own(Schedule::new(1000.0, 0, 1)),
        ..pace(&clock)
    });
    let due: Vec<_> = (0..3)
        .filter_map(|_| block_on(pacer.next(clock.now())))
        .collect();
    assert_eq!(due, [late(0), late(1_000_000), late(2_000_000)]);
}

#[test]
fn nothing_is_sent_before_it_is_due() {
    let clock = MonotonicClock::start();
    let spin = Duration::from_micros(20);
    let mut pacer = Pacer::new(Pace {
        timetable: Timetable::Own(Schedule::new(200.0, 0, 1)),
        waiter: Waiter::Thread { spin },
        ..pace(&clock)
    });
    for sent in 0..6 {
        let due = block_on(pacer.next(clock.now()));
        let now = clock.now();
        assert_eq!(due.map(tick), Some(sent * 5_000_000));
        assert!(now >= sent * 5_000_000, "{now}");
    }
}

#[test]
fn nothing_is_sent_that_is_due_after_the_end() {
    let clock = MonotonicClock::start();
    let mut pacer = Pacer::new(Pace {
        timetable: Timetable::Own(Schedule::new(200.0, 0, 1)),
        end: End::at(30_000_000),
        ..pace(&clock)
    });
    // As if each operation were done at once, even if this test itself runs late.
    let sent = std::iter::from_fn(|| block_on(pacer.next(0))).count();
    assert_eq!(sent, 6, "one each 5 ms before 30 ms");
}

#[test]
fn a_stop_ends_a_long_wait() {
    let clock = MonotonicClock::start();
    let mut schedule = Schedule::new(0.01, 0, 1);
    schedule.next_due(0);
    let stop = Stop::new();
    let mut pacer = Pacer::new(Pace {
        timetable: Timetable::Own(schedule),
        stop: stop.clone(),
        ..pace(&clock)
    });
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            stop.request();
        });
        block_on(pacer.next(clock.now()))
    });
    assert_eq!(waited, None);
    assert!(clock.now() < 10_000_000_000);
}

/// A pacer of a point at 1,000 a second, whose measured part begins after 100 ms and ends at
/// `end_ms`.
fn sharing(arrivals: &Arc<ArrivalSequence>, end: &End) -> Pacer<MonotonicClock> {
    Pacer::new(Pace {
        measure: 100_000_000,
        end: end.clone(),
        timetable: Timetable::Shared(Arc::clone(arrivals)),
        ..pace(&MonotonicClock::start())
    })
}

#[test]
fn whoever_is_free_takes_the_next_arrival() {
    let arrivals = ArrivalSequence::new(Arrivals::Even, 1_000.0, 100_000_000, None, 1);
    let (arrivals, end) = (Arc::new(arrivals), End::at(Tick::MAX));
    let mut clients = [sharing(&arrivals, &end), sharing(&arrivals, &end)];
    let order = [0, 0, 1, 0, 1, 1];
    let taken = order.map(|client: usize| block_on(clients[client].next(50_000_000)));
    assert_eq!(
        taken,
        [0, 1, 2, 3, 4, 5].map(|ms| Some(late(ms * 1_000_000)))
    );
    // Operations of the warm-up that no client took by its end are not sent.
    assert!(!clients[0].is_measured());
    assert_eq!(
        block_on(clients[0].next(Tick::MAX / 2)),
        Some(late(100_000_000))
    );
    assert!(clients[0].is_measured());
}

#[test]
fn what_was_due_is_sent_behind_the_end_until_it_is_waited_for_no_longer() {
    let arrivals = ArrivalSequence::new(Arrivals::Even, 1_000.0, 100_000_000, None, 1);
    let (arrivals, end) = (Arc::new(arrivals), End::at(Tick::MAX));
    end.plan(200_000_000);
    let mut client = sharing(&arrivals, &end);
    let drained = 200_000_000 + crate::clock::nanos(DRAIN);
    let taken = (0..60)
        .filter_map(|_| block_on(client.next(drained - 1)))
        .count();
    assert_eq!(taken, 60);
    assert_eq!(block_on(client.next(drained)), None);
    // The operations of the remaining 40 ms, at their age.
    assert_eq!(arrivals.take_left(200_000_000, drained).len(), 40);
    // A phase that is ended early is not waited for.
    let early = End::at(Tick::MAX);
    early.plan(200_000_000);
    early.bring_forward(150_000_000);
    assert_eq!(early.drained(), 150_000_000);
    // It cannot be ended twice.
    early.bring_forward(190_000_000);
    assert_eq!(early.drained(), 150_000_000);
}

#[test]
fn what_was_due_while_a_client_slept_too_long_is_late_for_that() {
    let arrivals = ArrivalSequence::new(Arrivals::Even, 1_000.0, 100_000_000, None, 1);
    let mut client = sharing(&Arc::new(arrivals), &End::at(Tick::MAX));
    // It woke at 2.5 ms, and is free again at 50 ms.
    client.woken = 2_500_000;
    let causes = [(); 5].map(|()| match block_on(client.next(50_000_000)) {
        Some(Due::At { was_free, .. }) => was_free,
        other => panic!("{other:?}"),
    });
    assert_eq!(causes, [true, true, true, false, false]);
}
