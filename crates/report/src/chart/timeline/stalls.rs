//! Times at which a database held back its writers, shaded over ops/s and latency to show their
//! effect.

use crate::style;
use serde_json::{Value, json};
use tailmark_model::{Series, series::DATABASE};

/// The series that show stalled writers, and their thresholds: the share of time, and whether
/// writes are stopped.
const HELD: [(&str, f64); 2] = [("stall_s", 0.01), ("write_stopped", 1.0)];

/// From when until when, seconds, neighbours joined.
pub fn spans(series: &[Series]) -> Vec<(f64, f64)> {
    let told = series.iter().filter(|one| one.probe == DATABASE);
    let held = told.flat_map(|one| {
        let row = HELD.iter().find(|(name, _)| *name == one.name);
        let least = row.map(|(_, least)| *least);
        let spans = least.map_or_else(Vec::new, |_| one.spans()).into_iter();
        spans.filter(move |span| least.is_some_and(|least| span.value >= least))
    });
    let mut all: Vec<(f64, f64)> = held.map(|span| (span.from_s, span.until_s)).collect();
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

/// The areas of these spans. The first has a label, if requested.
pub fn areas(spans: &[(f64, f64)], is_named: bool) -> Vec<Value> {
    let area = |(index, (from, until)): (usize, &(f64, f64))| {
        let name = if index == 0 && is_named {
            "writers held back"
        } else {
            ""
        };
        let style = json!({"color": style::FAULT, "opacity": 0.12});
        json!([{"name": name, "xAxis": from, "itemStyle": style}, {"xAxis": until}])
    };
    spans.iter().enumerate().map(area).collect()
}
