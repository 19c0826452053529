//! Runs for the tests of comparisons, and a comparison turned round.

use super::*;

/// Runs at one thread count, around a value; without validity only the first is not.
pub(super) fn runs(system: &str, threads: u32, ops: f64, is_valid: bool) -> Vec<Run> {
    let run = |(repeat, factor): (u32, f64)| Run {
        key: PointKey {
            system: system.to_owned(),
            workload: "ycsb-a".to_owned(),
            distribution: "uniform".to_owned(),
            threads,
            repeat,
            target_rate: None,
            arrivals: None,
        },
        is_valid: is_valid || repeat > 1,
        is_client_limit: false,
        started_ms: None,
        takes_turns: false,
        values: BTreeMap::from([(Metric::OPS_PER_SEC, Bounded::exact(ops * factor))]),
        is_rate_met: true,
        read_bytes: None,
    };
    (1..).zip([0.99, 1.0, 1.01, 1.0]).map(run).collect()
}

#[test]
fn a_comparison_the_other_way_round_says_the_same() {
    let all = [runs("a", 4, 80.0, true), runs("b", 4, 100.0, true)].concat();
    let one = &comparisons(&all, &all_pairs(&["a", "b"]), 0.03)[0];
    let other = &comparisons(&all, &all_pairs(&["b", "a"]), 0.03)[0];
    let turned = one.reversed();
    assert_eq!(
        (one.verdict, turned.verdict),
        (Verdict::Worse, Verdict::Better)
    );
    assert!((turned.ratio.value - other.ratio.value).abs() < 1e-12);
    let (low, high) = turned
        .interval
        .zip(other.interval)
        .map(|(a, b)| (a.0 - b.0, a.1 - b.1))
        .unwrap();
    assert!(low.abs() < 1e-12 && high.abs() < 1e-12);
    assert_eq!(turned.values, other.values);
}
