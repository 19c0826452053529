//! Every run of every point separately: whether repeats agree, and which one does not.

use super::{axis, categories, narrow_base, quantised::quantised};
use crate::{
    style,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::{Value, json};
use tailmark_model::{Metric, System};

/// Between the marks of two systems at a thread count, pixels.
const APART: f64 = 11.0;
/// Between the marks of the first and the last repeat of a system, pixels.
const REPEATS: f64 = 8.0;

/// A mark for each run of each system by step, repeats from left to right, so that ageing shows; `None` if no run has the metric.
pub fn scatter(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, metric: Metric) -> Option<Value> {
    let systems: &[&System] = &sweep.systems;
    let middle = (systems.len() as f64 - 1.0) / 2.0;
    let last = sweep.repeats().max(2) as f64 - 1.0;
    let series = systems.iter().enumerate().map(|(index, system)| {
        let look = sweep.look(&system.name).unwrap_or(style::look(index));
        let data: Vec<Value> = group
            .cells_of(&system.name)
            .filter(|cell| !cell.points.iter().any(|point| point.key.is_peak()))
            .flat_map(|cell| cell.points.iter().map(move |point| (cell, point)))
            .filter_map(|(cell, point)| {
                let value = metric.value(&point.phase).filter(|value| value.is_exact())?;
                let value = quantised(metric.in_unit(value).value);
                let repeat = f64::from(point.key.repeat) - 1.0;
                let shift = (index as f64 - middle) * APART + (repeat / last - 0.5) * REPEATS;
                let mark = json!({
                    "value": [cell.step.label(), value, point.key.repeat],
                    "symbolOffset": [shift, 0],
                });
                Some(match cell.fault {
                    None => mark,
                    Some(_) => json!({
                        "value": mark["value"],
                        "symbolOffset": mark["symbolOffset"],
                        "itemStyle": {"color": "#fff", "borderColor": style::FAULT, "borderWidth": 2},
                    }),
                })
            })
            .collect();
        json!({
            "type": "scatter", "name": system.name, "symbol": look.symbol, "symbolSize": 8,
            "itemStyle": {"color": look.color, "opacity": 0.8}, "data": data,
        })
    });
    let series: Vec<Value> = series.collect();
    let is_any = series
        .iter()
        .any(|one| one["data"].as_array().is_some_and(|all| !all.is_empty()));
    is_any.then(|| {
        let labels: Vec<String> = group.steps.iter().map(|step| step.label()).collect();
        let mut option = narrow_base();
        option["legend"]["itemWidth"] = 10.into();
        option["xAxis"] = categories(group.axis.noun(), &labels);
        let write = super::writer(metric);
        option["yAxis"] = axis("value", metric.row().title, 62, &format!("@{write}"));
        option["yAxis"]["scale"] = true.into();
        option["tooltip"] = json!({
            "trigger": "item", "formatter": format!("@run {write} {}", metric.row().title),
            "confine": true,
        });
        option["series"] = series.into();
        option
    })
}
