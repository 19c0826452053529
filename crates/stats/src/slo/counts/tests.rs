use super::*;
use std::collections::BTreeMap;
use tailmark_model::{Censored, IntervalKind, Packed, new_latencies};

const MS: u64 = 1_000_000;

fn limit() -> Limit {
    Limit::parse("p99 read < 15ms").unwrap()
}

/// A second of reads: the number that took 1 ms, that took 30 ms, and that failed.
fn second(start: u32, fast: u64, slow: u64, errors: u64) -> Interval {
    let mut service = new_latencies();
    service.record_n(MS, fast + slow).unwrap();
    let mut response = new_latencies();
    response.record_n(MS, fast).unwrap();
    response.record_n(30 * MS, slow).unwrap();
    let kind = IntervalKind {
        count: fast + slow,
        errors,
        service: Packed::pack(&service),
        response: Some(Packed::pack(&response)),
    };
    Interval {
        start_s: start.into(),
        length_s: 1.0,
        operations: fast + slow + errors,
        failed: errors,
        kinds: BTreeMap::from([(Kind::Read, kind)]),
    }
}

fn phase(intervals: Vec<Interval>, duration_s: f64) -> Phase {
    Phase {
        duration_s,
        intervals,
        ..Phase::default()
    }
}

#[test]
fn what_is_slow_or_failed_is_over_the_limit() {
    let phase = phase(vec![second(0, 90, 6, 4), second(1, 100, 0, 0)], 2.0);
    let response = of_phase(&phase, limit(), TimeBasis::Response);
    let expected = |requests, over| (requests, over);
    let counted = |counts: &[Count]| -> Vec<(u64, u64)> {
        counts
            .iter()
            .map(|count| (count.requests, count.over))
            .collect()
    };
    let mean_ms = response[0].latency_ns / 96.0 / MS as f64;
    assert!(
        (mean_ms - (90.0 + 6.0 * 30.0) / 96.0).abs() < 0.03,
        "{mean_ms}"
    );
    assert_eq!(counted(&response), [expected(100, 10), expected(100, 0)]);
    let service = of_phase(&phase, limit(), TimeBasis::Service);
    assert_eq!(counted(&service), [expected(100, 4), expected(100, 0)]);
    let update = Limit::parse("p99 update < 15ms").unwrap();
    assert_eq!(of_phase(&phase, update, TimeBasis::Response)[0].requests, 0);
}

#[test]
fn what_is_done_behind_the_end_belongs_to_the_last_second() {
    let phase = phase(
        vec![second(0, 10, 0, 0), second(1, 10, 1, 0), second(2, 0, 5, 0)],
        2.0,
    );
    let counts = of_phase(&phase, limit(), TimeBasis::Response);
    assert_eq!(counts.len(), 2);
    assert_eq!((counts[1].requests, counts[1].over), (16, 6));
}

#[test]
fn what_was_never_done_is_over_in_the_second_in_which_it_was_due() {
    let mut ages = new_latencies();
    // Due at the end, and 1.5 s before it.
    ages.record_n(10_000 * MS, 3).unwrap();
    ages.record_n(11_500 * MS, 2).unwrap();
    let mut phase = phase((0..4).map(|at| second(at, 10, 0, 0)).collect(), 4.0);
    let reads = KindResult {
        censored: Some(Box::new(Censored {
            service: new_latencies(),
            response: ages,
        })),
        ..KindResult::default()
    };
    phase.kinds.insert(Kind::Read, reads);
    let over = |basis| -> Vec<u64> {
        let counts = of_phase(&phase, limit(), basis);
        counts.iter().map(|count| count.over).collect()
    };
    assert_eq!(over(TimeBasis::Response), [0, 0, 2, 3]);
    assert_eq!(over(TimeBasis::Service), [0, 0, 0, 0]);
}

#[test]
fn blocks_are_as_long_as_asked_for_at_least_and_lose_nothing() {
    let counts: Vec<Count> = (0..207)
        .map(|at| Count {
            seconds: 1.0,
            requests: 10 + at % 3,
            over: u64::from(at == 206),
            latency_ns: 0.0,
        })
        .collect();
    let blocks = blocks(&counts, 10.0);
    assert_eq!(blocks.len(), 20);
    assert!(blocks.iter().all(|block| block.seconds >= 10.0));
    for field in [|c: &Count| c.requests, |c: &Count| c.over] {
        let [in_blocks, in_counts] =
            [&blocks, &counts].map(|all| all.iter().map(field).sum::<u64>());
        assert_eq!(in_blocks, in_counts);
    }
    assert_eq!(blocks[19].over, 1);
    assert!(super::blocks(&counts[..9], 10.0).is_empty());
    assert!(super::blocks(&[], 10.0).is_empty());
}

#[test]
fn the_autocorrelation_time_is_that_of_the_process() {
    // An autoregressive process: its time is (1 + a) / (1 - a).
    for (a, expected) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
        let mut random = Random(7);
        let mut value = 0.0;
        let counts: Vec<Count> = (0..20_000)
            .map(|_| {
                value = a * value + random.normal();
                Count {
                    seconds: 1.0,
                    requests: 1_000_000,
                    over: (500_000.0 + 10_000.0 * value) as u64,
                    latency_ns: 0.0,
                }
            })
            .collect();
        let found = autocorrelation_s(&counts);
        assert!((found / expected - 1.0).abs() < 0.15, "{a}: {found}");
    }
    let still = vec![
        Count {
            seconds: 2.0,
            requests: 5,
            over: 0,
            latency_ns: 0.0,
        };
        30
    ];
    assert_eq!(autocorrelation_s(&still), 2.0);
}

/// A small generator: SplitMix64.
pub(in crate::slo) struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let (a, b) = (self.uniform(), self.uniform());
        (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
    }
}
