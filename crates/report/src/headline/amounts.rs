//! By how much the first of each workload is ahead: the end of a sentence that says which is better.

use super::WorkloadTopic;
use crate::{block::Text, compare, compared::Comparisons, statement::amount};
use tailmark_model::Metric;
use tailmark_stats::Comparison;

/// The first comparison of each workload.
pub fn firsts<'t>(topics: &[&'t WorkloadTopic<'_, '_>]) -> Vec<&'t Comparison> {
    let known = topics.iter().filter_map(|topic| topic.pairs[0].2.as_ref());
    known.collect()
}

/// How much the first of each workload is ahead of its second, at the end of a sentence that says which
/// is better: `, by 11 % (YCSB D) to 50 % (YCSB A and F)`. A ratio is not what something is higher by: `: 1.5X
/// (YCSB A) to 2.6X (YCSB C) those of B`, of a latency `: 3.0X lower`. Over the `nearest` it is said whose.
pub fn amounts(
    text: Text,
    topics: &[&WorkloadTopic<'_, '_>],
    comparisons: &Comparisons,
    other: &str,
) -> Text {
    let comparisons = comparisons.beside(&firsts(topics));
    let said = amount_range(topics, &comparisons);
    let Some(metric) = firsts(topics).first().map(|one| one.metric) else {
        return text;
    };
    let is_nearest = other == NEAREST;
    if !said.contains('X') {
        let text = text.and(", ").and_strong(format!("by {said}"));
        return text.and(if is_nearest {
            format!(" over {NEAREST}")
        } else {
            String::new()
        });
    }
    let of_other = if other.is_empty() {
        String::new()
    } else if metric == Metric::OPS_PER_SEC {
        format!(" those of {other}")
    } else if metric.more_is_better() {
        format!(" that of {other}")
    } else if is_nearest {
        format!(" than that of {other}")
    } else {
        String::new()
    };
    let lower = match firsts(topics).first() {
        Some(_) if metric.more_is_better() => "",
        Some(one) if compare::gain(one).value < 0.0 => " higher",
        _ => " lower",
    };
    text.and(": ")
        .and_strong(format!("{said}{lower}"))
        .and(of_other)
}

/// The second of each workload where it differs from one to another.
pub const NEAREST: &str = "the nearest competitor";

/// `11 % (YCSB D) to 50 % (YCSB A and F)`, `9 %`: the least and the greatest, with their workloads.
pub fn amount_range(topics: &[&WorkloadTopic<'_, '_>], comparisons: &Comparisons) -> String {
    let said: Vec<(f64, String, String)> = topics
        .iter()
        .filter_map(|topic| {
            let (.., comparison) = &topic.pairs[0];
            let comparison = comparison.as_ref()?;
            let gain = compare::gain(comparison).value;
            let text = comparisons.improvement(comparison);
            // The direction is stated before.
            let text = text.trim_end_matches(" lower").trim_end_matches(" higher");
            let title = topic.group.title_with_conditions();
            Some((gain.abs(), amount(text), title))
        })
        .collect();
    let by_gain = |a: &&(f64, String, String), b: &&(f64, String, String)| a.0.total_cmp(&b.0);
    let (Some(low), Some(high)) = (said.iter().min_by(by_gain), said.iter().max_by(by_gain)) else {
        return String::new();
    };
    let end = |(_, text, _): &(f64, String, String)| {
        let same = said.iter().filter(|(_, other, _)| other == text);
        let titles: Vec<&str> = same.map(|(.., title)| title.as_str()).collect();
        format!("{text} ({})", compare::titles(&titles))
    };
    if low.1 == high.1 {
        high.1.clone()
    } else {
        format!("{} to {}", end(low), end(high))
    }
}
