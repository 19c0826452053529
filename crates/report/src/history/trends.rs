//! How the peaks of each workload went from study to study, and where their level changed.

use super::{Entry, Peak, systems};
use crate::{
    Cell, TableRow,
    chart::{self, line},
    style,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tailmark_model::number;
use tailmark_stats::statistics::{self, change_points};

/// The peaks of a workload: of each system, one for each study.
pub struct Trend {
    /// Its name.
    pub workload: String,
    /// The place of each system among all, its name, and its peaks in ops/s.
    systems: Vec<(usize, String, Vec<Option<f64>>)>,
}

/// A place at which the level of a peak changes.
pub struct Change {
    /// In one line.
    pub words: String,
    /// In the table of changes.
    pub row: TableRow,
}

/// The trends of all workloads, in the order in which they came.
pub fn trends(entries: &[Entry]) -> Vec<Trend> {
    let mut seen = BTreeSet::new();
    let peaks = entries.iter().flat_map(|entry| &entry.peaks);
    let workloads = peaks.filter(|peak| seen.insert(peak.workload.clone()));
    let workloads: Vec<String> = workloads.map(|peak| peak.workload.clone()).collect();
    let systems = systems(entries);
    let of = |workload: &str, system: &str| {
        let value = |entry: &Entry| {
            let is_it = |peak: &&Peak| peak.workload == workload && peak.system == system;
            entry.peaks.iter().find(is_it).map(|peak| peak.ops)
        };
        entries.iter().map(value).collect::<Vec<_>>()
    };
    let trend = |workload: String| Trend {
        systems: systems
            .iter()
            .enumerate()
            .map(|(i, system)| (i, system.clone(), of(&workload, system)))
            .filter(|(_, _, values)| values.iter().flatten().count() > 0)
            .collect(),
        workload,
    };
    workloads.into_iter().map(trend).collect()
}

/// Where the level of a series changes, as the place of the study and the ratio; gaps are passed over.
fn changes_of(values: &[Option<f64>]) -> Vec<(usize, f64)> {
    let known = values.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(i, value)| Some((i, (*value)?)))
        .collect();
    let series: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let points = change_points(&series, statistics::EQUIVALENCE).into_iter();
    points.map(|of| (known[of.index].0, of.ratio)).collect()
}

/// `+12 %`, `−7.3 %`.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let text = if percent.abs() < 9.95 {
        format!("{percent:+.1} %")
    } else {
        format!("{percent:+.0} %")
    };
    text.replace('-', "\u{2212}")
}

/// What a study is called on an axis: its day, with its time where others began on that day too, and numbered
/// where they began in the same minute.
fn labels(entries: &[Entry]) -> Vec<String> {
    let instants = entries
        .iter()
        .map(|entry| number::instant(entry.header.created_ms));
    days(&instants.collect::<Vec<_>>())
}

/// As [`labels`], of instants as [`number::instant`] writes them, in order.
fn days(instants: &[String]) -> Vec<String> {
    let parts = |instant: &String| {
        let mut words = instant.split(' ').map(str::to_owned);
        (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        )
    };
    let parts: Vec<(String, String)> = instants.iter().map(parts).collect();
    let label = |(i, (day, time)): (usize, &(String, String))| {
        let on_day = parts.iter().filter(|(other, _)| other == day).count();
        let before = parts[..i]
            .iter()
            .filter(|other| **other == parts[i])
            .count();
        match (on_day, before) {
            (1, _) => day.clone(),
            (_, 0) => format!("{day} {time}"),
            (_, n) => format!("{day} {time} ({})", n + 1),
        }
    };
    parts.iter().enumerate().map(label).collect()
}

impl Trend {
    /// Where its level changes.
    pub fn changes(&self, entries: &[Entry]) -> Vec<Change> {
        let change = |system: &str, (at, ratio): (usize, f64)| {
            let when = number::instant(entries[at].header.created_ms);
            let dir = entries[at].dir.display().to_string();
            let (workload, percent) = (&self.workload, percent(ratio));
            Change {
                words: format!(
                    "{system}, {workload}: {percent} ops/s at peak from {when} on ({dir})"
                ),
                row: TableRow {
                    cells: vec![
                        Cell::new(system),
                        Cell::new(workload),
                        Cell::new(percent).with_value(ratio),
                        Cell::new(when),
                        Cell::new(dir),
                    ],
                    total: false,
                },
            }
        };
        let of_system = |(_, system, values): &(usize, String, Vec<Option<f64>>)| {
            let changes = changes_of(values).into_iter();
            changes.map(|of| change(system, of)).collect::<Vec<_>>()
        };
        self.systems.iter().flat_map(of_system).collect()
    }

    /// A line for each system, its changes in large marks with a label.
    pub fn option(&self, entries: &[Entry]) -> Value {
        let mut option = chart::base();
        option["tooltip"] = json!({
            "trigger": "axis", "axisPointer": {"type": "shadow"}, "formatter": "@bars", "confine": true,
        });
        option["xAxis"] = chart::categories("study (UTC)", &labels(entries));
        option["xAxis"]["axisLabel"]["interval"] = "auto".into();
        option["yAxis"] = chart::axis("value", "operations per second at peak", 44, "@rate");
        option["series"] = self.systems.iter().map(series).collect();
        option
    }
}

fn series((index, system, values): &(usize, String, Vec<Option<f64>>)) -> Value {
    let look = style::look(*index);
    let changes = changes_of(values);
    let item = |(i, value): (usize, &Option<f64>)| {
        let Some(value) = value else {
            return Value::Null;
        };
        let rounded = json!(value.round());
        match changes.iter().find(|(at, _)| *at == i) {
            None => rounded,
            Some((_, ratio)) => json!({
                "value": rounded, "symbolSize": 15,
                "itemStyle": {"color": "#fff", "borderColor": look.color, "borderWidth": 3},
                "label": {"show": true, "formatter": percent(*ratio), "position": "top"},
            }),
        }
    };
    json!({
        "type": "line", "name": system, "symbol": look.symbol, "symbolSize": 8,
        "lineStyle": line(look.color, 2.0, look.dash), "itemStyle": {"color": look.color},
        "label": {"color": look.color, "fontSize": 11, "fontWeight": "bold"}, "labelLayout": "@mark",
        "data": values.iter().enumerate().map(item).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_where_they_are_although_a_study_is_missing() {
        let mut values: Vec<Option<f64>> = [100.0, 101.0, 99.0, 100.5, 80.0, 81.0, 79.5, 80.5]
            .map(Some)
            .into();
        values.insert(2, None);
        let changes = changes_of(&values);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].0, 5);
        assert_eq!(percent(changes[0].1), "−20 %");
    }

    #[test]
    fn a_study_is_known_by_its_day_and_by_its_time_where_there_are_several() {
        let instants = [
            "2026-11-21 10:00 UTC",
            "2026-11-22 10:00 UTC",
            "2026-11-22 18:30 UTC",
            "2026-11-22 18:30 UTC",
        ];
        let labels = days(&instants.map(String::from));
        let expected = [
            "2026-11-21",
            "2026-11-22 10:00",
            "2026-11-22 18:30",
            "2026-11-22 18:30 (2)",
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn percents_have_a_sign() {
        assert_eq!(
            [percent(1.05), percent(0.5), percent(2.0)],
            ["+5.0 %", "−50 %", "+100 %"]
        );
    }
}
