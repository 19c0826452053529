//! Requests taken apart: a stacked bar for each band, and the slowest over time.

use super::{axis, base, categories, log_range};
use crate::{
    chart::quantised::quantised,
    style::{self, SystemStyle},
};
use serde_json::{Value, json};
use tailmark_model::{
    Anatomy, AnatomyPart, Phase, Series,
    anatomy::{Band, Request},
    series::DATABASE,
};

/// Colours by group of parts; the parts of a group get lighter one after the other.
const COLORS: &[(&str, [&str; 5])] = &[
    (
        "device",
        ["#004cba", "#3f7fd6", "#7fa9e6", "#a9c6f0", "#cfdff7"],
    ),
    (
        "stall",
        ["#c1121f", "#d9606a", "#e69aa0", "#f0c0c4", "#f7dfe1"],
    ),
    (
        "database",
        ["#407b4d", "#6b9c76", "#96bca0", "#bad5c1", "#d9e9dd"],
    ),
    (
        "processor",
        ["#f2ae0e", "#f5c451", "#f8d98c", "#fbe8bb", "#fdf4dd"],
    ),
    (
        "waiting",
        ["#5d2e58", "#86607f", "#ae93a9", "#cfbfcc", "#e7dfe5"],
    ),
    (
        "client",
        ["#221e1f", "#57534f", "#8a8784", "#b5b3b1", "#dad9d8"],
    ),
    (
        "unexplained",
        ["#8a929e", "#a3aab4", "#bcc1c9", "#d3d7dc", "#e8eaed"],
    ),
];
/// Of the rest.
const REST: &str = "#d5d9df";

/// The colour of each part.
fn colors(parts: &[AnatomyPart]) -> Vec<&'static str> {
    let place = |index: usize| {
        let before = parts[..index].iter();
        let own = before.filter(|part| part.group == parts[index].group);
        own.count()
    };
    let color = |(index, part): (usize, &AnatomyPart)| {
        let row = COLORS.iter().find(|(group, _)| *group == part.group);
        row.map_or(REST, |(_, shades)| shades[place(index).min(4)])
    };
    parts.iter().enumerate().map(color).collect()
}

/// The bands of several points, from the first to the last, one bar each; names of parts are those of
/// the first point that has them.
pub fn bands(bars: &[(String, &Anatomy, &Band)]) -> Value {
    let mut parts: Vec<AnatomyPart> = Vec::new();
    for (_, anatomy, _) in bars {
        for part in &anatomy.parts {
            if !parts.iter().any(|known| known.name == part.name) {
                parts.push(part.clone());
            }
        }
    }
    let mut option = base();
    let labels: Vec<String> = bars.iter().map(|(label, _, _)| label.clone()).collect();
    option["grid"]["top"] = 62.into();
    option["xAxis"] = axis(
        "value",
        "share of the time of these requests",
        28,
        "@percent",
    );
    option["xAxis"]["max"] = 100.into();
    option["yAxis"] = categories("", &labels);
    option["yAxis"]["inverse"] = true.into();
    option["tooltip"] =
        json!({"trigger": "item", "formatter": "{b}<br>{a}: {c} %", "confine": true});
    let series = parts.iter().zip(colors(&parts)).map(|(part, color)| {
        let share = |(_, anatomy, band): &(String, &Anatomy, &Band)| {
            let place = anatomy.parts.iter().position(|own| own.name == part.name);
            let ns = place.map_or(0, |place| band.ns[place]);
            quantised(ns as f64 / band.total_ns().max(1) as f64 * 100.0)
        };
        json!({
            "type": "bar", "stack": "all", "name": part.title, "itemStyle": {"color": color},
            "barMaxWidth": 24, "data": bars.iter().map(share).collect::<Vec<_>>(),
        })
    });
    option["series"] = series.collect();
    option
}

/// What is shaded: the series of a database, its least value, the words and the colour.
const SHADED: [(&str, f64, &str, &str); 3] = [
    ("stall_s", 0.01, "writers held back", style::FAULT),
    ("write_stopped", 1.0, "", style::FAULT),
    ("running_compactions", 1.0, "compactions", style::INK),
];

/// The slowest requests over time, on a logarithmic axis of response time.
pub fn slowest(points: &[(SystemStyle, &str, &Phase, &[Request])]) -> Option<Value> {
    let requests = || {
        points
            .iter()
            .flat_map(|(_, _, _, requests)| requests.iter())
    };
    let times = requests().map(|request| request.response_ns() as f64 / 1e3);
    let (low, high, ticks) = log_range(times)?;
    let mut option = base();
    option["xAxis"] = axis("value", "seconds", 26, "{value}");
    option["xAxis"]["min"] = 0.into();
    let ends = points.iter().map(|(_, _, phase, _)| phase.elapsed_s());
    option["xAxis"]["max"] = quantised(ends.fold(0.1, f64::max));
    option["yAxis"] = axis("log", "response time (log scale)", 62, "@latency");
    option["yAxis"]["min"] = low.into();
    option["yAxis"]["max"] = high.into();
    option["yAxis"]["axisLabel"]["customValues"] = ticks.into();
    option["tooltip"] = json!({"trigger": "item", "formatter": "{a}: {c}", "confine": true});
    let series = points.iter().map(|(look, name, phase, own)| {
        let mark = |request: &Request| {
            let at_s = request.done as f64 / 1e9;
            json!([
                quantised(at_s),
                quantised(request.response_ns() as f64 / 1e3)
            ])
        };
        let areas: Vec<Value> = shaded(&phase.series);
        json!({
            "type": "scatter", "name": name, "symbol": look.symbol, "symbolSize": 5,
            "itemStyle": {"color": look.color, "opacity": 0.6},
            "data": own.iter().map(mark).collect::<Vec<_>>(),
            "markArea": {"silent": true, "data": areas},
        })
    });
    option["series"] = series.collect();
    Some(option)
}

/// The areas in which the database was held back or compacted.
fn shaded(series: &[Series]) -> Vec<Value> {
    let mut areas = Vec::new();
    for (name, least, words, color) in SHADED {
        let own = series
            .iter()
            .filter(|one| one.probe == DATABASE && one.name == name);
        let spans = own.flat_map(Series::spans);
        let mut is_named = !words.is_empty();
        for span in spans.filter(|span| span.value >= least) {
            let label = if is_named { words } else { "" };
            is_named = false;
            let style = json!({"color": color, "opacity": 0.08});
            areas.push(json!([
                {"name": label, "xAxis": quantised(span.from_s.max(0.0)), "itemStyle": style},
                {"xAxis": quantised(span.until_s)},
            ]));
        }
    }
    areas
}
