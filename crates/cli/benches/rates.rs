//! What a fixed rate costs, with the null driver: how late operations are sent, against a loop of
//! timers alone, and what an operation takes more than in a closed loop, and with many clients. One
//! interleaved run, medians of pairs. `./dev bench rates [PAIRS] [SECONDS] [THREADS]`; the results
//! are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use hdrhistogram::Histogram;
use std::{
    num::NonZeroU64,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use support::{compare, measured, pair};
use tailmark_driver::{Database, db};
use tailmark_engine::{Clock, MonotonicClock, Silent, Spec, Stop, Terms};
use tailmark_model::{Arrivals, Phase};
use tailmark_workload::KeySpace;

const RECORDS: u64 = 200_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pairs = args.next().and_then(|a| a.parse().ok()).unwrap_or(5);
    let seconds = args.next().and_then(|a| a.parse().ok()).unwrap_or(3.0);
    let threads = args.next().and_then(|a| a.parse().ok()).unwrap_or(64);
    let database = measured::open(db::find("null").unwrap(), Path::new("/"), &[], RECORDS);
    for rate in [1e3, 1e4, 1e5] {
        let operations = (rate * seconds) as u64;
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
            let ours = || {
                let phase = at_rate(database.as_ref(), threads, rate, Arrivals::Even, operations);
                phase.start_lag.unwrap().all.value_at_quantile(quantile) as f64 / 1e3
            };
            let timers =
                || timers(threads, rate, operations).value_at_quantile(quantile) as f64 / 1e3;
            let name = format!("start lag {name}, {rate} a second, {threads} clients");
            compare(&name, "us", pairs, pair(ours, timers));
        }
    }
    let operations = 4_000_000;
    for arrivals in Arrivals::ALL {
        let took = |count| {
            // Each is due long before it can be sent.
            let phase = at_rate(database.as_ref(), count, 1e9, arrivals, operations);
            phase.duration_s * 1e9 / phase.operations as f64
        };
        let name = format!("an operation at a rate, {} arrivals", arrivals.name());
        let closed = || closed(database.as_ref(), operations);
        compare(
            &format!("{name}, to the closed loop"),
            "ns",
            pairs,
            pair(|| took(1), closed),
        );
        compare(
            &format!("{name}, 256 clients to 1"),
            "ns",
            pairs,
            pair(|| took(256), || took(1)),
        );
    }
}

fn at_rate(
    database: &dyn Database,
    threads: u32,
    rate: f64,
    arrivals: Arrivals,
    operations: u64,
) -> Phase {
    measure(database, threads, Some((rate, arrivals)), operations)
}

/// An operation of the closed loop with one client, nanoseconds.
fn closed(database: &dyn Database, operations: u64) -> f64 {
    let phase = measure(database, 1, None, operations);
    phase.duration_s * 1e9 / phase.operations as f64
}

fn measure(
    database: &dyn Database,
    threads: u32,
    rate: Option<(f64, Arrivals)>,
    operations: u64,
) -> Phase {
    let (data, workload) = (measured::data(RECORDS), measured::uniform_reads());
    let keys = Arc::new(KeySpace::new(RECORDS, RECORDS));
    let spec = Spec {
        terms: Terms {
            threads,
            rate: rate.map(|(rate, _)| rate),
            arrivals: rate.map(|(_, arrivals)| arrivals),
            operations: Some(operations),
            ..Terms::default()
        },
        ..Spec::new(database, &workload, &data, &keys)
    };
    let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
    assert_eq!(phase.operations, operations);
    phase
}

/// Threads that share a counter, sleep until their next number is due, spin for the last 20 us
/// where that is little of the machine, and record how late they are.
fn timers(threads: u32, rate: f64, operations: u64) -> Histogram<u64> {
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let spin = if rate * 20e-6 < cores / 10.0 {
        20_000
    } else {
        0
    };
    let (clock, next) = (MonotonicClock::start(), AtomicU64::new(0));
    let start = clock.now() + 10_000_000;
    let all = Mutex::new(Histogram::new(3).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                let mut lags = Histogram::<u64>::new(3).unwrap();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= operations {
                        break;
                    }
                    let due = start + (number as f64 * 1e9 / rate) as u64;
                    let mut now = clock.now();
                    while now < due {
                        match due - now {
                            left if left > spin => {
                                std::thread::sleep(Duration::from_nanos(left - spin));
                            }
                            _ => std::hint::spin_loop(),
                        }
                        now = clock.now();
                    }
                    lags.record(now - due).unwrap();
                }
                all.lock().unwrap().add(lags).unwrap();
            });
        }
    });
    all.into_inner().unwrap()
}
