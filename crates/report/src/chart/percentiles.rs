//! Latency by percentile, and the frequency of each latency, which a single quantile hides.
//!
//! Percentiles are drawn like HdrHistogram plots: each additional nine takes equal space. A line
//! ends where fewer than ten requests lie beyond the value, and where the value is a bound because
//! requests failed or were never done.

use super::{axis, base, line, log_axis, narrow_base, quantised::quantised};
use crate::{grid_cell::GridCell, measure::Quantity, style::SystemStyle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tailmark_model::{Kind, Quantile, TimeBasis};

/// Points of a line in one nine.
const POINTS: u32 = 10;
/// No line is longer, in nines.
const NINES_MAX: u32 = 7;
/// Buckets of a histogram in a power of ten.
const BUCKETS: f64 = 10.0;

/// Nanoseconds in the unit of latency axes.
const UNIT_NS: f64 = 1e3;

/// A system at one point, and how it looks.
pub struct SystemCurve<'s, 'a> {
    /// Its name.
    pub name: &'a str,
    /// Its runs.
    pub cell: &'s GridCell<'a>,
    /// Its colour and dash.
    pub look: SystemStyle,
}

/// What all variants of a chart of percentiles share.
pub fn percentiles_option() -> Value {
    let mut option = narrow_base();
    option["xAxis"] = axis("value", "percentile", 28, "@nines");
    option["xAxis"]["min"] = 0.into();
    option["yAxis"] = axis("log", "latency (log scale)", 62, "@latency");
    option["tooltip"] = json!({"trigger": "item", "formatter": "@percentile", "confine": true});
    option
}

/// The lines of all systems that have any; null if none has.
pub fn percentiles(systems: &[SystemCurve<'_, '_>], kind: Kind, clock: TimeBasis) -> Value {
    let lines = systems
        .iter()
        .map(|drawn| (drawn, points(drawn.cell, kind, clock)));
    let lines: Vec<_> = lines.filter(|(_, points)| !points.is_empty()).collect();
    if lines.is_empty() {
        return Value::Null;
    }
    let values = lines
        .iter()
        .flat_map(|(_, points)| points.iter().map(|(_, us)| *us));
    let mut y = log_axis(values);
    y["name"] = format!("{} {} (log scale)", kind.name(), clock.name()).into();
    let series = lines.iter().map(|(drawn, points)| {
        let data = points
            .iter()
            .map(|(nines, us)| json!([nines, quantised(*us)]));
        series(drawn, data.collect())
    });
    // A label for the median and for each nine, as far as a line goes.
    let ends = lines.iter().filter_map(|(_, points)| points.last());
    let end = ends.map(|(nines, _)| nines.ceil()).fold(1.0, f64::max);
    let nines = (1..=NINES_MAX)
        .map(f64::from)
        .take_while(|nines| *nines <= end);
    let ticks: Vec<f64> = std::iter::once(2f64.log10()).chain(nines).collect();
    let x = json!({
        "max": end, "axisLabel": {"customValues": ticks}, "axisTick": {"customValues": ticks},
        "splitLine": {"customValues": ticks},
    });
    json!({"xAxis": x, "yAxis": y, "series": series.collect::<Vec<_>>()})
}

fn series(drawn: &SystemCurve<'_, '_>, data: Vec<Value>) -> Value {
    let SystemStyle { color, dash, .. } = drawn.look;
    json!({
        "type": "line", "name": drawn.name, "symbol": "circle", "symbolSize": 4, "showSymbol": false,
        "lineStyle": line(color, 2.0, dash), "itemStyle": {"color": color}, "data": data,
    })
}

/// Nines and microseconds, as far as every run has an exact value.
fn points(cell: &GridCell<'_>, kind: Kind, clock: TimeBasis) -> Vec<(f64, f64)> {
    let value = |step: u32| {
        let nines = f64::from(step) / f64::from(POINTS);
        let quantile = Quantile {
            name: "",
            value: 1.0 - 10f64.powf(-nines),
        };
        let of_run = |point: &&tailmark_model::Point| {
            clock
                .latencies(point.phase.kinds.get(&kind)?)
                .quantile(quantile)
        };
        let runs = cell.points.iter().map(of_run).collect::<Option<Vec<_>>>()?;
        let middle = Quantity::new(&runs, true)?.middle;
        middle.is_exact().then_some((nines, middle.value / UNIT_NS))
    };
    (0..=POINTS * NINES_MAX).map_while(value).collect()
}

/// What all variants of a histogram share.
pub fn histogram_option() -> Value {
    let mut option = base();
    option["grid"]["top"] = 62.into();
    option["legend"] = narrow_base()["legend"].take();
    option["xAxis"] = axis("log", "latency (log scale)", 28, "@latency");
    option["yAxis"] = axis("value", "share of requests", 48, "@percent");
    option["tooltip"] = json!({"trigger": "item", "formatter": "@share", "confine": true});
    option
}

/// The shares of all systems that did any request; null if none did.
pub fn histogram(systems: &[SystemCurve<'_, '_>], kind: Kind, clock: TimeBasis) -> Value {
    let shares = systems
        .iter()
        .map(|drawn| (drawn, shares(drawn.cell, kind, clock)));
    let shares: Vec<_> = shares.filter(|(_, shares)| !shares.is_empty()).collect();
    if shares.is_empty() {
        return Value::Null;
    }
    let ends = shares.iter().flat_map(|(_, shares)| shares.keys());
    let (first, last) = ends.fold((i32::MAX, i32::MIN), |(a, b), i| (a.min(*i), b.max(*i)));
    let edge = |index: i32| 10f64.powf(f64::from(index) / BUCKETS) / UNIT_NS;
    let mut x = log_axis([edge(first), edge(last + 1)].into_iter());
    x["name"] = format!("{} {} (log scale)", kind.name(), clock.name()).into();
    let series = shares.iter().map(|(drawn, shares)| {
        let bucket = |index: i32| {
            let share = shares.get(&index).copied().unwrap_or(0.0);
            json!([
                quantised(edge(index)),
                quantised(100.0 * share),
                quantised(edge(index + 1))
            ])
        };
        let mut series = series(drawn, (first..=last + 1).map(bucket).collect());
        series["step"] = "end".into();
        series["areaStyle"] = json!({"opacity": 0.1});
        series
    });
    json!({"xAxis": x, "series": series.collect::<Vec<_>>()})
}

/// The part of all requests that each bucket has, over all runs; what failed or was never done is in
/// none.
fn shares(cell: &GridCell<'_>, kind: Kind, clock: TimeBasis) -> BTreeMap<i32, f64> {
    let mut counts: BTreeMap<i32, f64> = BTreeMap::new();
    let mut all = 0.0;
    for result in cell
        .points
        .iter()
        .filter_map(|point| point.phase.kinds.get(&kind))
    {
        all += clock.latencies(result).samples() as f64;
        let done = match clock {
            TimeBasis::Service => &result.service,
            TimeBasis::Response => result.response(),
        };
        for value in done.iter_recorded() {
            let ns = value.value_iterated_to().max(1) as f64;
            let index = (ns.log10() * BUCKETS).floor() as i32;
            *counts.entry(index).or_default() += value.count_at_value() as f64;
        }
    }
    counts.values_mut().for_each(|count| *count /= all);
    counts
}
