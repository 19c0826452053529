//! Runs for the tests of comparisons, and a comparison turned round.

use super::*;
use tailmark_model::PointKey;

/// Runs at one thread count, around a value; without validity only the first is not.
pub(super) fn runs(system: &str, threads: u32, ops: f64, is_valid: bool) -> Vec<Run> {
    let run = |(repeat, factor): (u32, f64)| {
        let key = PointKey {
            system: system.to_owned(),
            workload: "ycsb-a".to_owned(),
            distribution: "uniform".to_owned(),
            threads,
            repeat,
            target_rate: None,
            arrivals: None,
        };
        let values = BTreeMap::from([(Metric::OPS_PER_SEC, Bounded::exact(ops * factor))]);
        Run {
            is_valid: is_valid || repeat > 1,
            ..Run::new(key, values)
        }
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

/// p99 of runs at a rate, milliseconds; those of the first as bounds.
fn bounded(a: [f64; 4], b: [f64; 4]) -> Comparison {
    let metric = Metric::from_name("p99 read").unwrap();
    let with = |system: &str, ms: [f64; 4], bound: fn(f64) -> Bounded| {
        let mut all = runs(system, 4, 1_000.0, true);
        for (run, p99) in all.iter_mut().zip(ms) {
            run.values = [(metric, bound(p99 * 1e6))].into();
        }
        all
    };
    let all = [
        with("a", a, Bounded::at_least),
        with("b", b, Bounded::exact),
    ]
    .concat();
    comparisons(&all, &all_pairs(&["a", "b"]), 0.03)[0].clone()
}

#[test]
fn a_bound_is_worse_only_where_its_values_as_they_stand_are_shown_to_be() {
    let shown = bounded([50.0, 52.0, 49.0, 51.0], [10.0, 11.0, 9.0, 10.0]);
    assert_eq!(
        (shown.verdict, shown.ratio.bound),
        (Verdict::Worse, Bound::AtLeast)
    );
    assert!(shown.p_adjusted.is_some() && shown.interval.is_none());
    assert_eq!(shown.diagnostics(), None);
    let (at_least, at_most) = shown.one_sided.unwrap();
    assert!(
        4.0 < at_least && at_least < 5.1 && at_most.is_infinite(),
        "{shown:?}"
    );
    assert_eq!(shown.reversed().one_sided, Some((0.0, 1.0 / at_least)));
    // 14 % apart in runs that differ by 30 %, lower than the other, and the same within the band.
    let noisy = [8.0, 14.0, 9.0, 13.0];
    let equal = [10.0, 10.1, 9.9, 10.0];
    for (a, b) in [
        (noisy.map(|ms| ms * 1.14), noisy),
        ([5.0, 5.1, 4.9, 5.0], equal),
        (equal, equal),
    ] {
        let open = bounded(a, b);
        assert_eq!(
            (open.verdict, open.p, open.p_adjusted),
            (Verdict::NotTestable, None, None)
        );
        assert_eq!(open.interval, None);
        // The true ratio is not far below that of the bounds, whatever lies beyond them.
        let ends = open.one_sided.unwrap();
        assert!(
            ends.0 < open.ratio.value && ends.1.is_infinite(),
            "{open:?}"
        );
        assert_eq!(open.ratio.bound, Bound::AtLeast);
    }
}

#[test]
fn the_documentation_names_the_findings_that_make_a_gate_unsure() {
    let document = include_str!("../../../../docs/CLI.md");
    let (_, named) = document
        .split_once("Findings that may be the cause")
        .unwrap();
    let (named, _) = named.split_once("[A gate for").unwrap();
    let documented: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    let names: Vec<&str> = DISTURBANCES.iter().map(|code| code.name).collect();
    assert!(names.is_sorted());
    assert_eq!(documented, names);
}
