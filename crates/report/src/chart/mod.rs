//! Charts as Apache ECharts options: their common parts.

pub mod anatomy;
pub mod bars;
pub mod costs;
pub mod curve;
pub mod heat;
pub mod percentiles;
pub mod quantised;
pub mod runs;
pub mod timeline;
pub mod trials;

use crate::style;
use serde_json::{Value, json};
use tailmark_model::Metric;

/// Left of the labels of the y-axis, pixels. ECharts keeps room for labels and not for the name of an
/// axis, which is at its own distance from the axis: this is enough for it beside the shortest labels.
const LEFT: u32 = 48;

/// The option that every chart starts from: type, animation, tooltip and legend.
pub fn base() -> Value {
    json!({
        "animation": false,
        "textStyle": {"color": style::INK, "fontFamily": "inherit", "fontSize": 12},
        "legend": legend(),
        "grid": {"left": LEFT, "right": 28, "top": 44, "bottom": 26, "containLabel": true},
    })
}

/// The option of a chart of half the width: its legend may take two lines.
pub fn narrow_base() -> Value {
    let mut option = base();
    option["legend"]["type"] = "plain".into();
    option["legend"]["itemGap"] = 12.into();
    option["legend"]["textStyle"]["fontSize"] = 11.into();
    option["legend"]["itemWidth"] = 26.into();
    option["grid"]["top"] = 62.into();
    option
}

/// A legend above the plot.
pub fn legend() -> Value {
    json!({
        "type": "scroll", "top": 0, "left": 4, "itemWidth": 34, "itemGap": 18, "formatter": "@name",
        "textStyle": {"color": style::INK, "fontSize": 12},
    })
}

/// An axis with a name in its middle and values written by the renderer's function `write`.
pub fn axis(kind: &str, name: &str, gap: u32, write: &str) -> Value {
    json!({
        "type": kind, "name": name, "nameLocation": "middle", "nameGap": gap,
        "nameTextStyle": {"color": style::MUTED, "fontSize": 12},
        "axisLine": {"lineStyle": {"color": "#aab2bd"}},
        "axisLabel": {"color": style::MUTED, "formatter": write, "hideOverlap": true},
        "splitLine": {"show": true, "lineStyle": {"color": style::GRID}},
    })
}

/// An axis of categories, such as client counts.
pub fn categories(name: &str, labels: &[String]) -> Value {
    json!({
        "type": "category", "name": name, "nameLocation": "middle", "nameGap": 26, "data": labels,
        "nameTextStyle": {"color": style::MUTED, "fontSize": 12},
        "axisLine": {"lineStyle": {"color": "#aab2bd"}}, "axisTick": {"alignWithLabel": true},
        "axisLabel": {"color": style::MUTED, "interval": 0, "hideOverlap": true},
    })
}

/// The ends and ticks of a logarithmic axis around `values`. Ticks are at 1, 2 and 5 times the
/// powers of ten; only at the powers if the values span more than four of them, and at a few more
/// if they span less than one.
pub fn log_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64, Vec<f64>)> {
    let positive = values.filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    if high == 0.0 {
        return None;
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (high / low).log10();
    let steps: &[f64] = match decades {
        d if d <= 1.0 => &[1.0, 2.0, 3.0, 5.0, 7.0],
        d if d <= 4.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| steps.iter().map(move |step| tick(*step, power)))
        .collect();
    let min = all
        .iter()
        .copied()
        .rfind(|t| *t <= low * 0.97)
        .unwrap_or(all[0] / 2.0);
    let max = all
        .iter()
        .copied()
        .find(|t| *t >= high * 1.03)
        .unwrap_or(high * 1.2);
    let ticks = all
        .into_iter()
        .filter(|t| (min..=max).contains(t))
        .collect();
    Some((min, max, ticks))
}

/// The ends and ticks of an axis from 0 on.
pub fn linear_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64, Vec<f64>)> {
    let highest = values.filter(|value| value.is_finite()).reduce(f64::max)?;
    let end = round_up(highest);
    Some((0.0, end, vec![0.0, end / 2.0, end]))
}

/// The next round number from here.
pub fn round_up(highest: f64) -> f64 {
    if highest <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(highest.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let mut ends = steps.into_iter().map(|step| step * power);
    ends.find(|end| *end >= highest).unwrap_or(10.0 * power)
}

/// The function of `functions.js` that writes values of a metric.
pub fn writer(metric: Metric) -> &'static str {
    match metric.row().unit {
        "us" => "latency",
        "%" => "percent",
        "bytes" => "bytes",
        "ops/s" => "rate",
        _ => "figure",
    }
}

/// `step` times a power of ten, exact if possible.
fn tick(step: f64, power: i32) -> f64 {
    if power < 0 {
        step / 10f64.powi(-power)
    } else {
        step * 10f64.powi(power)
    }
}

/// Gives a logarithmic axis the ends and ticks around `values`.
pub fn log_axis(values: impl Iterator<Item = f64>) -> Value {
    match log_range(values) {
        None => json!({"min": 1, "max": 10}),
        Some((min, max, ticks)) => json!({
            "min": min, "max": max,
            "axisTick": {"customValues": ticks}, "axisLabel": {"customValues": ticks},
            "splitLine": {"customValues": ticks},
        }),
    }
}

/// The line style of a dash; solid if it is empty.
pub fn line(color: &str, width: f64, dash: &[u32]) -> Value {
    if dash.is_empty() {
        json!({"color": color, "width": width})
    } else {
        json!({"color": color, "width": width, "type": dash})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_ends_close_to_its_values() {
        let range = |high| log_range([83.0, high].into_iter()).unwrap();
        let ticks = vec![70.0, 100.0, 200.0, 300.0, 500.0, 700.0];
        assert_eq!(range(640.0), (70.0, 700.0, ticks));
        let sparse = vec![50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0];
        assert_eq!(range(1_640.0), (50.0, 2_000.0, sparse));
    }

    #[test]
    fn a_wide_logarithmic_axis_has_powers_of_ten_only() {
        let (min, max, ticks) = log_range([0.5, 2e5].into_iter()).unwrap();
        assert_eq!((min, max), (0.1, 1e6));
        assert_eq!(ticks, [0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn no_values_have_no_range() {
        assert!(log_range(std::iter::empty()).is_none());
    }

    #[test]
    fn values_on_a_tick_keep_a_margin() {
        let (min, max, _) = log_range([1.0, 1.0].into_iter()).unwrap();
        assert!(min < 1.0 && max > 1.0, "{min} {max}");
    }
}
