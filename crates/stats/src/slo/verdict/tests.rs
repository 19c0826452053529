use super::*;
use crate::slo::counts::{independent_blocks, tests::Random};
use std::time::Duration;

fn rule() -> Rule {
    Rule::with_block(Duration::from_secs(10))
}

fn limit() -> Limit {
    Limit::parse("p99 read < 15ms").unwrap()
}

fn counts(seconds: usize, requests: u64, over: impl Fn(usize) -> u64) -> Vec<Count> {
    let count = |at| Count {
        seconds: 1.0,
        requests,
        over: over(at),
        latency_ns: requests as f64 * 1e6,
    };
    (0..seconds).map(count).collect()
}

fn share(counts: &[Count]) -> Option<ShareOver> {
    let (blocks, block_s) = independent_blocks(counts, &rule());
    ShareOver::new(&blocks, block_s)
}

fn verdict(counts: &[Count]) -> Verdict {
    let over = share(counts);
    over.map_or(Verdict::Undecided, |over| over.verdict(limit(), &rule()))
}

#[test]
fn a_share_far_from_the_limit_is_decided_and_one_at_it_is_not() {
    assert_eq!(verdict(&counts(200, 1_000, |_| 1)), Verdict::Pass);
    assert_eq!(verdict(&counts(200, 1_000, |_| 30)), Verdict::Fail);
    assert_eq!(
        verdict(&counts(200, 1_000, |at| 9 + 2 * (at as u64 % 2))),
        Verdict::Undecided
    );
}

#[test]
fn fewer_than_twenty_blocks_decide_nothing() {
    assert_eq!(verdict(&counts(199, 1_000, |_| 0)), Verdict::Undecided);
    assert_eq!(verdict(&counts(200, 1_000, |_| 0)), Verdict::Pass);
}

#[test]
fn none_of_few_requests_is_not_none_ever() {
    // Of 20 reads at 99 % none is late: one in five such trials would say so at twice the limit.
    let few = counts(200, 1, |_| 0);
    assert_eq!(verdict(&few), Verdict::Undecided);
    let over = share(&few).unwrap();
    // The exact upper end for none of a Poisson count is -ln(0.025).
    assert!((over.high * 200.0 - 3.688_879).abs() < 1e-3, "{over:?}");
    assert_eq!(verdict(&counts(400, 1, |_| 0)), Verdict::Pass);
}

#[test]
fn a_queue_that_grows_without_end_fails_and_one_long_stall_does_not() {
    // Nothing is late for 20 s, then nearly everything.
    let grows = counts(200, 1_000, |at| u64::from(at >= 20) * 900);
    assert!(share(&grows).unwrap().blocks < 20);
    assert_eq!(verdict(&grows), Verdict::Fail);
    let stall = counts(200, 1_000, |at| u64::from((100..140).contains(&at)) * 900);
    assert_eq!(verdict(&stall), Verdict::Undecided);
}

#[test]
fn poisson_intervals_are_those_of_the_tables() {
    for (count, low, high) in [
        (0, 0.0, 3.688_9),
        (1, 0.025_3, 5.571_6),
        (10, 4.795_4, 18.390_4),
        (100, 81.363_6, 121.627_0),
    ] {
        let found = poisson_interval(count);
        assert!(
            (found.0 - low).abs() < 1e-3 && (found.1 - high).abs() < 1e-3,
            "{found:?}"
        );
    }
    let (low, high) = poisson_interval(10_001);
    assert!((low - 9_805.0).abs() < 3.0 && (high - 10_198.0).abs() < 3.0);
}

#[test]
fn late_requests_that_come_together_make_the_interval_wide() {
    let apart = share(&counts(200, 1_000, |at| u64::from(at % 2 == 0) * 10));
    let together = share(&counts(200, 1_000, |at| u64::from(at < 20) * 50));
    let (apart, together) = (apart.unwrap(), together.unwrap());
    assert_eq!(apart.over, together.over);
    assert!(together.high - together.low > 3.0 * (apart.high - apart.low));
}

#[test]
fn blocks_are_at_least_as_long_as_what_is_late_together() {
    // Half a minute of every minute is late: of 200 s there are not 20 independent blocks.
    let over = share(&counts(200, 1_000, |at| u64::from(at % 60 < 30) * 5));
    let over = over.unwrap();
    assert!(over.block_s > 10.0 && over.blocks < 20, "{over:?}");
    assert_eq!(over.verdict(limit(), &rule()), Verdict::Undecided);
}

#[test]
fn a_verdict_at_the_limit_is_wrong_as_seldom_as_it_says() {
    // Independent requests whose true share is the limit: either verdict is wrong.
    let mut random = Random(3);
    let trials = 2_000;
    let mut wrong = 0;
    for _ in 0..trials {
        let counts: Vec<Count> = (0..200)
            .map(|_| {
                let mean = 10.0_f64;
                let over = (mean + mean.sqrt() * random.normal()).round().max(0.0);
                Count {
                    seconds: 1.0,
                    requests: 1_000,
                    over: over as u64,
                    latency_ns: 0.0,
                }
            })
            .collect();
        wrong += u32::from(verdict(&counts) != Verdict::Undecided);
    }
    let share = f64::from(wrong) / f64::from(trials);
    assert!((0.01..0.06).contains(&share), "{share}");
}

/// Blocks whose mean latencies are these, milliseconds.
fn taking(means: impl Iterator<Item = f64>) -> Vec<Count> {
    let block = |ms| Count {
        seconds: 10.0,
        requests: 1_000,
        over: 0,
        latency_ns: ms * 1e9,
    };
    means.map(block).collect()
}

#[test]
fn latencies_that_rise_are_not_steady_and_noise_is() {
    let mut random = Random(5);
    let mut is_found = |rise: f64| {
        let means: Vec<f64> = (0..20)
            .map(|at| (1.0 + rise * f64::from(at) / 19.0) * (0.1 * random.normal()).exp())
            .collect();
        is_rising(&taking(means.into_iter()))
    };
    let mut rising = |rise: f64| (0..1_000).filter(|_| is_found(rise)).count();
    // At a noise of 10 %, a block.
    assert!(rising(0.0) <= 20);
    assert!(rising(-0.5) == 0);
    assert!(rising(0.5) >= 990);
    // A rise that is certain and small is none that matters.
    assert!(!is_rising(&taking(
        (0..20).map(|at| 1.0 + 0.004 * f64::from(at))
    )));
    assert!(!is_rising(&taking([1.0, 2.0].into_iter())));
}
