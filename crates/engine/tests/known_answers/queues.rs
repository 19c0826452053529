//! Queues: mean and 99th percentile as theory has them, whatever the number of clients.

use super::*;

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
        let measured = |queue: &Queue, threads| {
            let phase = queue.measure(load, 200_000.0, threads);
            (phase.operations, response(&phase).clone())
        };
        let one = measured(&MM1, 1);
        assert!([8, 256].iter().all(|&n| measured(&MM1, n) == one), "{load}");
        assert!(measured(&MD4, 8) == measured(&MD4, 256), "{load}");
    }
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
        if waits_at_most(middle) < 0.99 {
            low = middle
        } else {
            high = middle
        }
    }
    (1.0 + mean_wait, 1.0 + low)
}
