//! Ratios and intervals in words.

use tailmark_model::{Bounded, Metric, Ratios, number};
use tailmark_stats::Comparison;

/// How a ratio and its interval are written.
pub(super) fn form(comparison: &Comparison) -> Option<Ratios> {
    let ends = comparison.interval.into_iter();
    let ends = ends.flat_map(|(low, high)| [low, high]);
    let figures: Vec<f64> = ends.chain([comparison.ratio.value]).collect();
    comparison.metric.together(&figures, None)
}

/// A ratio as reports say it, but that small percentages have a decimal.
pub(super) fn improvement(metric: Metric, ratio: Bounded, ratios: Option<Ratios>) -> String {
    let said = metric.improvement(ratio, ratios);
    if said.contains('X') || !ratio.is_exact() {
        return said;
    }
    if metric.more_is_better() {
        return change(metric.gain(ratio).value);
    }
    let (share, side) = if ratio.value > 1.0 {
        (ratio.value - 1.0, "higher")
    } else {
        (1.0 - ratio.value, "lower")
    };
    match change(share).trim_start_matches(['+', '±']) {
        "0 %" => said,
        percent => format!("{percent} {side}"),
    }
}

/// An interval in the order of reports.
pub fn interval_text(metric: Metric, (low, high): (f64, f64), ratios: Option<Ratios>) -> String {
    let end = |ratio| improvement(metric, Bounded::exact(ratio), ratios);
    if metric.more_is_better() {
        format!("{} to {}", end(low), end(high))
    } else {
        number::ends_in_words((low, high), end)
    }
}

/// A signed percentage, with one decimal below ten, because judged values are often a few percent.
fn change(share: f64) -> String {
    let tenths = (share * 1000.0).round();
    match tenths.abs() {
        0.5..99.5 => {
            let sign = if tenths > 0.0 { '+' } else { '\u{2212}' };
            format!("{sign}{:.1} %", tenths.abs() / 10.0)
        }
        _ => number::change(share),
    }
}
