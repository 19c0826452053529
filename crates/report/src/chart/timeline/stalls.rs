//! When a database held its writers back: shaded over ops/s and latency, so that one sees what it did
//! to both.

use crate::style;
use serde_json::{Value, json};
use tailmark_results::{Series, SeriesKind, steady::DATABASE};

/// From this part of a span of time on writers count as held back in it.
const PART: f64 = 0.01;

/// From when until when, seconds, neighbours joined.
pub fn spans(series: &[Series]) -> Vec<(f64, f64)> {
    let of_database = |name: &'static str, kind: SeriesKind| {
        series
            .iter()
            .filter(move |of| of.probe == DATABASE && of.name == name && of.kind == kind)
    };
    let held = of_database("stall_s", SeriesKind::Counter).flat_map(|of| {
        let each = (1..of.values.len().min(of.at_s.len())).map(|i| (i - 1, i));
        each.filter(|&(a, b)| of.values[b] - of.values[a] >= PART * (of.at_s[b] - of.at_s[a]))
            .map(|(a, b)| (of.at_s[a], of.at_s[b]))
    });
    let stopped = of_database("write_stopped", SeriesKind::Gauge).flat_map(|of| {
        let each = (1..of.values.len().min(of.at_s.len())).map(|i| (i - 1, i));
        each.filter(|&(a, _)| of.values[a] > 0.0)
            .map(|(a, b)| (of.at_s[a], of.at_s[b]))
    });
    let mut all: Vec<(f64, f64)> = held.chain(stopped).filter(|(a, b)| b > a).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, until) in all {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => joined.push((from, until)),
        }
    }
    joined
}

/// The areas of these spans; the first says what they are, where that is to be said.
pub fn areas(spans: &[(f64, f64)], is_named: bool) -> Vec<Value> {
    let area = |(index, (from, until)): (usize, &(f64, f64))| {
        let name = match index == 0 && is_named {
            true => "writers held back",
            false => "",
        };
        let style = json!({"color": style::FAULT, "opacity": 0.12});
        json!([{"name": name, "xAxis": from, "itemStyle": style}, {"xAxis": until}])
    };
    spans.iter().enumerate().map(area).collect()
}
