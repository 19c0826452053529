//! The comparisons of a study in JSON, the same in exports and in `tailmark compare`.

use serde_json::{Value, json};
use tailmark_model::{Arrivals, Bound, Header, PointKey, System};
use tailmark_stats::{
    Comparison, Run,
    comparison::{Place, all_pairs, comparisons, equivalence},
};

/// Each system with each later one, in the order of the plan.
pub(super) fn pairs_of(systems: &[System]) -> Vec<(String, String)> {
    let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
    let names: Vec<&str> = compared.map(|system| system.name.as_str()).collect();
    all_pairs(&names)
}

/// How the systems of a study compare.
pub(super) fn comparisons_of(runs: &[Run], systems: &[System], header: &Header) -> Vec<Comparison> {
    comparisons(runs, &pairs_of(systems), equivalence(header))
}

/// A comparison as one object. Unknown members, and those that do not apply to a point or a peak,
/// are null.
///
/// `ratio` is that of `a` to `b`, `low` and `high` are its 95 % interval, and `ratio_bound` says
/// whether it is exact. `rate` is in operations per second, and null in a closed loop.
pub fn comparison_json(comparison: &Comparison) -> Value {
    let (mut threads, mut rate, mut how, mut peaks) = (None, None, None, None);
    match comparison.place {
        Place::Point {
            threads: at,
            target_rate,
            arrivals,
        } => (threads, rate, how) = (Some(at), target_rate, arrivals),
        Place::Peak {
            threads_a,
            threads_b,
            ..
        } => peaks = Some([threads_a, threads_b].map(|n| Some(n).filter(|n| *n != PointKey::PEAK))),
    }
    let diagnostics = comparison.diagnostics();
    let bootstrap = diagnostics.map(|diagnostics| diagnostics.bootstrap);
    json!({
        "workload": comparison.workload,
        "distribution": comparison.distribution,
        "threads": threads,
        "rate": rate,
        "arrivals": how.map(Arrivals::name),
        "place": if peaks.is_some() { "peak" } else { "point" },
        "threads_a": peaks.and_then(|[a, _]| a),
        "threads_b": peaks.and_then(|[_, b]| b),
        "metric": comparison.metric.to_string(),
        "a": comparison.a,
        "b": comparison.b,
        "ratio": comparison.ratio.value,
        "ratio_bound": bound_name(comparison.ratio.bound),
        "low": comparison.interval.map(|(low, _)| low),
        "high": comparison.interval.map(|(_, high)| high),
        "runs_a": comparison.runs_a,
        "runs_b": comparison.runs_b,
        "runs_most": comparison.runs_most,
        "p": comparison.p,
        "p_adjusted": comparison.p_adjusted,
        "verdict": comparison.verdict.name(),
        "bootstrap_low": bootstrap.map(|ratio| ratio.low),
        "bootstrap_high": bootstrap.map(|ratio| ratio.high),
        "rank_sum_p": diagnostics.map(|diagnostics| diagnostics.rank_sum_p),
        "paired_p": diagnostics.and_then(|diagnostics| diagnostics.paired_p),
        "test": comparison.test.name(),
    })
}

/// How a number is bounded, in documents: `at least`.
#[must_use]
pub const fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Exact => "exact",
        Bound::Between(..) => "between",
        Bound::AtLeast => "at least",
        Bound::AtMost => "at most",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tailmark_model::{Bounded, Metric};
    use tailmark_stats::Verdict;

    fn runs(system: &str, threads: u32, ops: &[f64]) -> Vec<Run> {
        let run = |(repeat, value): (u32, &f64)| {
            let key = PointKey {
                system: system.to_owned(),
                workload: "ycsb-a".to_owned(),
                distribution: "uniform".to_owned(),
                threads,
                repeat,
                target_rate: None,
                arrivals: None,
            };
            Run::new(
                key,
                BTreeMap::from([(Metric::OPS_PER_SEC, Bounded::exact(*value))]),
            )
        };
        (1..).zip(ops).map(run).collect()
    }

    #[test]
    fn points_and_peaks_have_the_same_members_and_say_where_they_are() {
        let a = runs("a", 4, &[80.0, 81.0, 79.0, 80.5]);
        let b = runs("b", 4, &[100.0, 101.0, 99.0, 100.5]);
        let pair = [("a".to_owned(), "b".to_owned())];
        let found = comparisons(&[a, b].concat(), &pair, 0.03);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].verdict, Verdict::Worse);
        let (point, peak) = (comparison_json(&found[0]), comparison_json(&found[1]));
        let names =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(names(&point), names(&peak));
        assert_eq!(
            (&point["place"], &point["threads"]),
            (&json!("point"), &json!(4))
        );
        assert_eq!(
            (&point["threads_a"], &point["rate"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&peak["place"], &peak["threads"]),
            (&json!("peak"), &Value::Null)
        );
        assert_eq!(
            (&peak["threads_a"], &peak["threads_b"]),
            (&json!(4), &json!(4))
        );
        assert_eq!(
            (&point["verdict"], &point["ratio_bound"]),
            (&json!("worse"), &json!("exact"))
        );
        let number = |name: &str| point[name].as_f64().unwrap();
        assert!(number("low") < number("ratio") && number("ratio") < number("high"));
        assert!(number("bootstrap_low") < 0.8 + 0.01 && number("rank_sum_p") < 0.05);
    }
}
