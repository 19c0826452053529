//! Points at a fixed rate on simulated databases whose answers are known beforehand: stalls, queues
//! and what is never done. `docs/METHOD.md` has the tables that these tests print.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, whose tables are looked at"
)]

use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tailmark_driver::{
    Access, Clients, DataSet, Database, Location, Params, Schema, Semantics, Settings, db,
};
use tailmark_engine::{Silent, Spec, Stop};
use tailmark_results::{Arrivals, Kind, Latencies, Phase, PointKey, quantile::value_at};
use tailmark_workload::KeySpace;

const MS: u64 = 1_000_000;

/// A point of reads at a rate.
#[derive(Clone, Copy)]
struct Asked {
    model: &'static str,
    rate: f64,
    arrivals: Arrivals,
    threads: u32,
    warmup_s: u64,
    duration_s: u64,
    operations: Option<u64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            model: "",
            rate: 1_000.0,
            arrivals: Arrivals::Even,
            threads: 64,
            warmup_s: 0,
            duration_s: 10,
            operations: None,
        }
    }
}

fn data() -> DataSet {
    DataSet {
        schema: Schema {
            table: "t".into(),
            fields: vec!["f".into()],
        },
        records: 1_000,
        field_length: 10,
    }
}

fn open(model: &str) -> Box<dyn Database> {
    let driver = db::find("sim").unwrap();
    let given = BTreeMap::from([("model".to_owned(), model.to_owned())]);
    let params = Params {
        location: Location::None,
        data: data(),
        settings: Settings::check(driver, &given, &data(), 1.0).unwrap(),
        semantics: Semantics::default(),
        access: Access::Create,
    };
    (driver.open)(&params).unwrap()
}

fn key(threads: u32) -> PointKey {
    PointKey {
        system: "a".into(),
        workload: "ycsb-c".into(),
        distribution: "zipfian".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    }
}

fn measure(asked: Asked) -> Phase {
    let database = open(asked.model);
    let workload = Arc::new(tailmark_workload::find("ycsb-c").unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let key = key(asked.threads);
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        threads: asked.threads,
        rate: Some(asked.rate),
        arrivals: Some(asked.arrivals),
        warmup: Duration::from_secs(asked.warmup_s),
        duration: Some(Duration::from_secs(asked.duration_s)),
        operations: asked.operations,
        seed: 1,
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap()
}

/// Begins a table of docs/METHOD.md.
fn table(columns: &str) {
    let count = columns.split('|').count();
    println!("\n| {columns} |\n|{}", " --- |".repeat(count));
}

fn response(phase: &Phase) -> &Latencies {
    phase.kinds[&Kind::Read].response()
}

/// Requests whose response took longer.
fn slower(phase: &Phase, than_ms: u64) -> u64 {
    let latencies = response(phase);
    latencies.len() - latencies.count_between(0, than_ms * MS)
}

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
        let slow = phases.each_ref().map(|phase| slower(phase, 1));
        println!("| {threads} | {} | {} | {} |", slow[0], slow[1], slow[2]);
        for (phase, slow, expected) in [
            (&phases[0], slow[0], 1_000),
            (&phases[1], slow[1], 1_000),
            (&phases[2], slow[2], 500),
        ] {
            assert_eq!((phase.operations, phase.censored), (10_000, 0), "{threads}");
            assert!(slow.abs_diff(expected) <= expected / 8, "{threads}: {slow}");
            // Of 1,000 that wait from 0 to 1 s, the 10th slowest of all 10,000 waits 990 ms.
            let longest = response(phase).max() / MS;
            assert!(longest.abs_diff(1_000) <= 2, "{threads}: {longest}");
        }
        assert_eq!(phases[0].drained, 0);
        assert_eq!(phases[2].drained, 500);
    }
}

/// A queue whose mean and 99th percentile are known, milliseconds.
struct Queue {
    name: &'static str,
    model: &'static str,
    servers: u32,
    theory: fn(f64, u32) -> (f64, f64),
}

const MM1: Queue = Queue {
    name: "M/M/1",
    model: "exponential 1ms; servers 1",
    servers: 1,
    theory: |rho, _| mm1(rho),
};

const MD4: Queue = Queue {
    name: "M/D/4",
    model: "constant 1ms; servers 4",
    servers: 4,
    theory: mdc,
};

impl Queue {
    /// At this load, for so many operations; empty at the start.
    fn measure(&self, load: f64, operations: f64, threads: u32) -> Phase {
        let rate = load * f64::from(self.servers) * 1_000.0;
        measure(Asked {
            model: self.model,
            rate,
            arrivals: Arrivals::Poisson,
            threads,
            duration_s: (operations / rate) as u64,
            ..Asked::default()
        })
    }

    /// Of a queue at load rho a mean over n operations is off by about
    /// sqrt(4 / (1 - rho)^2 / n) of itself: half a per cent at the numbers here.
    fn is_as_long_as_theory_says(&self) {
        table("queue | load | mean, ms | theory | p99, ms | theory");
        for (load, operations) in [(0.5, 1e6), (0.8, 5e6), (0.95, 60e6)] {
            let phase = self.measure(load, operations, 8);
            let (mean, p99) = (self.theory)(load, self.servers);
            let latencies = response(&phase);
            let found = (
                latencies.mean() / 1e6,
                value_at(latencies, 0.99) as f64 / 1e6,
            );
            println!(
                "| {} | {:.0} % | {:.3} | {mean:.3} | {:.3} | {p99:.3} |",
                self.name,
                load * 100.0,
                found.0,
                found.1
            );
            assert!(
                (found.0 / mean - 1.0).abs() < 0.02,
                "{} at {load}",
                self.name
            );
            assert!(
                (found.1 / p99 - 1.0).abs() < 0.02,
                "{} at {load}",
                self.name
            );
            assert_eq!(phase.censored, 0);
        }
    }
}

#[test]
fn a_queue_of_random_service_is_as_long_as_theory_says() {
    MM1.is_as_long_as_theory_says();
}

#[test]
fn a_queue_of_constant_service_is_as_long_as_theory_says() {
    MD4.is_as_long_as_theory_says();
}

#[test]
fn the_number_of_clients_changes_no_response_while_it_is_no_less_than_what_is_served_at_a_time() {
    for load in [0.5, 0.8, 0.95] {
        let of = |queue: &Queue, threads| {
            let phase = queue.measure(load, 200_000.0, threads);
            (phase.operations, response(&phase).clone())
        };
        let one = of(&MM1, 1);
        assert!(
            [8, 256].iter().all(|&threads| of(&MM1, threads) == one),
            "{load}"
        );
        assert!(of(&MD4, 8) == of(&MD4, 256), "{load}");
    }
}

#[test]
fn what_a_slow_read_delays_is_what_waits_for_it_alone() {
    // 40,000 a second, 0.1 % of which take 4 to 12 ms: with a schedule for each client the 99th
    // percentile is 8.6, 1.4 and 0.23 ms with 8, 32 and 256 of them.
    table("threads | service p99, ms | response p99, ms | no client was free");
    for threads in [8, 32, 256] {
        let phase = measure(Asked {
            model: "lognormal 100us 0.3; mode 0.1% uniform 4ms 12ms",
            rate: 40_000.0,
            threads,
            duration_s: 20,
            ..Asked::default()
        });
        let kind = &phase.kinds[&Kind::Read];
        let p99 = |latencies| value_at(latencies, 0.99) as f64 / 1e6;
        let (service, found) = (p99(&kind.service), p99(kind.response()));
        let causes = phase.start_lag.unwrap().causes.unwrap();
        let share = causes.no_client.len() as f64 / phase.operations as f64;
        println!(
            "| {threads} | {service:.3} | {found:.3} | {:.2} % |",
            share * 100.0
        );
        if threads >= 32 {
            assert!((found / service - 1.0).abs() < 0.01, "{threads}: {found}");
            assert!(share < 1e-3, "{threads}: {share}");
        }
        // In virtual time nobody is woken late.
        assert_eq!(causes.woken_late.max(), 0);
    }
}

#[test]
fn what_was_due_and_never_done_is_counted_at_its_age() {
    // Of the last 500 operations none is done: 64 are under way, nobody has taken the others.
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

#[test]
fn a_rate_that_is_too_high_is_not_reached_and_what_is_left_is_counted() {
    // A thousand a second can be done. After 30 s 30,000 of 60,000 are, 10,000 more in 10 s.
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
    // 50 of the 1,000 are late; those that are done behind the end are not in its time.
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
    let of = |threads| {
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
    assert_eq!(of(1), of(1_024));
}

#[test]
fn an_hour_of_a_closed_loop_is_counted_as_it_passes() {
    let workload = Arc::new(tailmark_workload::find("ycsb-c").unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(1_000, 1_000)));
    let database = open("constant 10ms; errors 10m 5s 50% timeout");
    let key = key(8);
    let spec = Spec {
        clients: Clients::Tasks,
        system: "a",
        point: Some(&key),
        threads: 8,
        warmup: Duration::from_secs(60),
        duration: Some(Duration::from_secs(3_600)),
        ..Spec::new(database.as_ref(), &workload, &data, &keys)
    };
    let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
    assert_eq!(phase.operations, 8 * 100 * 3_600);
    assert!(phase.failed.abs_diff(2_000) < 200, "{}", phase.failed);
    assert_eq!(phase.errors[0].cause, "timeout");
    assert!((phase.duration_s - 3_600.0).abs() < 1e-9);
    assert!(phase.start_lag.is_none());
}

/// Mean and 99th percentile of the time in an M/M/1 queue that serves one a millisecond: it is
/// exponentially distributed, of mean 1 / (1 - rho).
fn mm1(rho: f64) -> (f64, f64) {
    let mean = 1.0 / (1.0 - rho);
    (mean, mean * f64::ln(100.0))
}

/// The same of an M/D/c queue, service time 1: the number in the system a service time later is
/// what arrived meanwhile, and what was not served (Crommelin 1932); the waiting time follows from
/// it (Franx 2001, "A simple solution for the M/D/c waiting time distribution").
fn mdc(rho: f64, servers: u32) -> (f64, f64) {
    let (c, lambda) = (servers as usize, rho * f64::from(servers));
    const STATES: usize = 1_200;
    let poisson: Vec<f64> = (0..60_u32)
        .scan(f64::exp(-lambda), |term, k| {
            let now = *term;
            *term *= lambda / f64::from(k + 1);
            Some(now)
        })
        .collect();
    let mut p = vec![0.0; STATES];
    p[0] = 1.0;
    loop {
        let mut next = vec![0.0; STATES];
        for (i, probability) in p.iter().enumerate() {
            let left = i.saturating_sub(c);
            for (k, arrived) in poisson.iter().enumerate() {
                if let Some(state) = next.get_mut(left + k) {
                    *state += probability * arrived;
                }
            }
        }
        let change: f64 = p.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        p = next;
        if change < 1e-14 {
            break;
        }
    }
    let queued = |(i, probability): (usize, &f64)| i.saturating_sub(c) as f64 * probability;
    let mean_wait = p.iter().enumerate().map(queued).sum::<f64>() / lambda;
    // Q(m): the probability that no more than m wait.
    let at_most = |m: usize| p[..=(c + m).min(STATES - 1)].iter().sum::<f64>();
    let waits_at_most = |x: f64| {
        let k = x.floor() as usize + 1;
        let y = lambda * (k as f64 - x);
        let (mut sum, mut term) = (0.0, f64::exp(-y));
        for j in 0..k * c {
            sum += at_most(k * c - 1 - j) * term;
            term *= y / (j + 1) as f64;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 400.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match waits_at_most(middle) < 0.99 {
            true => low = middle,
            false => high = middle,
        }
    }
    (1.0 + mean_wait, 1.0 + low)
}
