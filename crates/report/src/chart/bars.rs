//! Bars: operations per second against client counts, as in the 7400 study, the peaks of all
//! workloads, and MB/s.

use super::{axis, base, categories, line, narrow_base};
use crate::{
    Plot, PlotAxes, PlotMark, PlotSeries,
    chart::curve::ceilings_in_sight,
    chart::quantised::rate,
    measure::Spread,
    style,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::{Value, json};
use tailmark_model::{System, number};

/// Operations per second of each system against client counts; ceilings as dashed lines.
pub fn by_threads(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> (Value, Plot) {
    let labels: Vec<String> = group.steps.iter().map(|step| step.label()).collect();
    let at = |system: &System, step| group.cell(&system.name, step)?.ops();
    let mut bars = Bars::new(sweep, |system| {
        group.steps.iter().map(|&s| at(system, s)).collect()
    });
    mark_faults(&mut bars, group, sweep);
    let mut selected = serde_json::Map::new();
    for ceiling in sweep.ceilings.iter().filter(|c| group.has(&c.name)) {
        if !ceilings_in_sight(group, sweep) {
            selected.insert(ceiling.name.clone(), false.into());
        }
        let data: Vec<Value> = group
            .steps
            .iter()
            .map(|&s| at(ceiling, s).map(|ops| rate(ops.middle)).into())
            .collect();
        bars.series.push(ceiling_line(&ceiling.name, &data));
    }
    let mut option = option(narrow_base(), categories("threads", &labels), bars.series);
    option["legend"]["selected"] = selected.into();
    (option, plot(labels, bars.plotted))
}

fn plot(categories: Vec<String>, series: Vec<PlotSeries>) -> Plot {
    Plot {
        axes: PlotAxes::Categories(categories),
        series,
    }
}

/// Draws invalid values faintly, with a dashed frame.
fn mark_faults(bars: &mut Bars, group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) {
    // The bars of the systems come first.
    let drawn = bars.series.iter_mut().zip(&mut bars.plotted);
    for ((series, plotted), system) in drawn.zip(&sweep.systems) {
        for (i, &step) in group.steps.iter().enumerate() {
            let cell = group.cell(&system.name, step);
            if cell.is_some_and(|cell| cell.fault.is_some()) {
                if let Some(mark) = &mut plotted.marks[i] {
                    mark.is_invalid = true;
                }
                let value = series["data"][i].take();
                series["data"][i] = json!({
                    "value": value,
                    "itemStyle": {
                        "opacity": 0.35, "borderColor": style::FAULT, "borderType": "dashed",
                        "borderWidth": 2,
                    },
                });
            }
        }
    }
}

/// The peaks of all workloads in a closed loop; one that is a lower bound has `≥` before its number.
pub fn peaks(sweep: &SweepTable<'_>) -> (Value, Plot) {
    let (mut option, mut plot) = by_workload(sweep, |group, system| {
        let peak = group.peak(&system.name).filter(|_| group.has_peaks());
        peak.map(|known| known.ops)
    });
    // The bars of the systems come first.
    let drawn = option["series"].as_array_mut().into_iter().flatten();
    for ((series, plotted), system) in drawn.zip(&mut plot.series).zip(&sweep.systems) {
        for (i, group) in sweep.groups.iter().enumerate() {
            let peak = group.peak(&system.name).filter(|_| group.has_peaks());
            let bounded = peak.map(|known| known.bounded());
            let Some(bound) = bounded.filter(|known| !known.is_exact()) else {
                continue;
            };
            if let Some(mark) = &mut plotted.marks[i] {
                mark.is_at_least = true;
            }
            let value = series["data"][i].take();
            series["data"][i] = json!({
                "value": value,
                "atLeast": [true],
                "label": {"formatter": number::bounded_rate(bound)},
            });
        }
    }
    (option, plot)
}

/// MB/s of all workloads.
pub fn bandwidth<'a>(
    sweep: &SweepTable<'a>,
    value: impl Fn(&WorkloadGrid<'a>, &'a System) -> Option<Spread>,
) -> (Value, Plot) {
    let (mut option, plot) = by_workload(sweep, value);
    option["yAxis"]["name"] = "MB/s".into();
    option["yAxis"]["axisLabel"]["formatter"] = "@whole".into();
    for series in option["series"].as_array_mut().into_iter().flatten() {
        if series["type"] == "bar" {
            series["label"]["formatter"] = "@whole".into();
        }
    }
    (option, plot)
}

/// With more bars than these, the labels do not fit.
const BARS_WIDE: usize = 15;

/// A value of every workload and system.
fn by_workload<'a>(
    sweep: &SweepTable<'a>,
    value: impl Fn(&WorkloadGrid<'a>, &'a System) -> Option<Spread>,
) -> (Value, Plot) {
    let labels: Vec<String> = sweep
        .groups
        .iter()
        .map(WorkloadGrid::title_with_conditions)
        .collect();
    let bars = Bars::new(sweep, |system| {
        sweep.groups.iter().map(|g| value(g, system)).collect()
    });
    let mut option = option(base(), categories("", &labels), bars.series);
    option["grid"]["bottom"] = 8.into();
    // Room for the numbers over the bars; where bars are many, they stand upright.
    let is_upright = sweep.systems.len() * sweep.groups.len() > BARS_WIDE;
    option["yAxis"]["boundaryGap"] = json!([0, if is_upright { "14%" } else { "6%" }]);
    for series in option["series"].as_array_mut().into_iter().flatten() {
        if series["type"] == "bar" {
            series["label"] = json!({
                "show": true, "position": "top", "formatter": "@rate", "fontSize": 11,
                "color": style::INK, "textBorderColor": "#fff", "textBorderWidth": 3,
            });
            series["labelLayout"] = "@bar".into();
        }
    }
    (option, plot(labels, bars.plotted))
}

fn option(base: Value, categories: Value, series: Vec<Value>) -> Value {
    let mut option = of_rates(base);
    option["tooltip"] = json!({
        "trigger": "axis", "axisPointer": {"type": "shadow"}, "formatter": "@bars", "confine": true,
    });
    option["legend"]["itemWidth"] = 18.into();
    option["xAxis"] = categories;
    option["series"] = series.into();
    option
}

/// Bars of rates without their categories.
pub fn of_rates(mut base: Value) -> Value {
    base["yAxis"] = axis("value", "operations per second", 44, "@rate");
    base
}

fn ceiling_line(name: &str, data: &[Value]) -> Value {
    json!({
        "type": "line", "name": name, "symbol": "none", "data": data,
        "lineStyle": line(style::CEILING, 1.5, style::CEILING_DASH),
        "itemStyle": {"color": style::CEILING},
    })
}

struct Bars {
    series: Vec<Value>,
    plotted: Vec<PlotSeries>,
}

impl Bars {
    fn new<'a>(sweep: &SweepTable<'a>, values: impl Fn(&'a System) -> Vec<Option<Spread>>) -> Self {
        let mut series = Vec::new();
        let (mut spreads, mut plotted) = (Vec::new(), Vec::new());
        for (i, system) in sweep.systems.iter().enumerate() {
            let values = values(system);
            let data = values
                .iter()
                .map(|value| value.map(|value| rate(value.middle)).into());
            let data: Vec<Value> = data.collect();
            let color = sweep.color(&system.name);
            series.push(json!({
                "type": "bar", "name": system.name, "itemStyle": {"color": color},
                "barMaxWidth": 46, "barGap": "12%", "barCategoryGap": "28%", "data": data,
            }));
            let mark = |value: Spread| PlotMark {
                y: value.middle,
                ..PlotMark::default()
            };
            plotted.push(PlotSeries {
                name: system.name.clone(),
                color,
                marks: values.iter().map(|value| value.map(mark)).collect(),
            });
            spreads.extend(spread(&values, i, sweep.systems.len(), &system.name));
        }
        series.extend(spreads);
        Self { series, plotted }
    }
}

/// Bars over the interval or the runs, on the `index`-th of `count` bars.
fn spread(values: &[Option<Spread>], index: usize, count: usize, name: &str) -> Option<Value> {
    let data: Vec<Value> = values
        .iter()
        .enumerate()
        .filter_map(|(category, value)| {
            let v = value.filter(|v| v.repeats > 1)?;
            Some(json!([category, rate(v.low), rate(v.high), index, count]))
        })
        .collect();
    (!data.is_empty()).then(|| {
        json!({
            "type": "custom", "name": name, "renderItem": "@bar_spread", "silent": true, "z": 5,
            "itemStyle": {"color": style::INK}, "encode": {"x": 0, "y": [1, 2]}, "data": data,
        })
    })
}
