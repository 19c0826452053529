//! How the levels of each workload changed from study to study.

use super::{Entry, Level, systems};
use crate::{
    Cell, TableRow,
    chart::{self, line, quantised},
    statement, style,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tailmark_model::{Better, Bound, Bounded, Metric, number};
use tailmark_stats::statistics::{self, change_points};

/// The subject of a chart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LevelName {
    /// The workload.
    pub workload: String,
    /// Any row of `METRICS`.
    pub metric: Metric,
    /// `at peak`, `at 16 threads`.
    pub at: String,
}

impl LevelName {
    /// `Operations per second at peak`
    pub fn title(&self) -> String {
        let most = if self.metric.is_at_most() {
            " (at most)"
        } else {
            ""
        };
        format!("{}{most} {}", statement::title(self.metric), self.at)
    }

    /// Below the title.
    pub fn hint(&self) -> String {
        let better = match self.metric.row().better {
            Better::Higher => "higher is better; ",
            Better::Lower => "lower is better; ",
            Better::Neither => "",
        };
        format!("{better}large marks are changes")
    }
}

/// The levels of one name: of each system, one for each study.
pub struct Trend {
    /// Of what.
    pub name: LevelName,
    /// The place of each system among all, its name, and its levels.
    systems: Vec<(usize, String, Vec<Option<Bounded>>)>,
}

/// A place at which a level changes.
pub struct Change {
    /// In one line.
    pub words: String,
    /// In the table of changes.
    pub row: TableRow,
}

/// All trends, by workload in the order in which they came.
pub fn trends(entries: &[Entry]) -> Vec<Trend> {
    let levels = entries.iter().flat_map(|entry| &entry.levels);
    let mut seen = BTreeSet::new();
    let mut names: Vec<&LevelName> = levels.map(|level| &level.name).collect();
    names.retain(|name| seen.insert(*name));
    let workloads: Vec<&str> = names.iter().map(|name| name.workload.as_str()).collect();
    names.sort_by_key(|name| workloads.iter().position(|known| *known == name.workload));
    let systems = systems(entries);
    let values = |name: &LevelName, system: &str| {
        let value = |entry: &Entry| {
            let is_it = |level: &&Level| level.name == *name && level.system == system;
            entry.levels.iter().find(is_it).map(|level| level.value)
        };
        entries.iter().map(value).collect::<Vec<_>>()
    };
    let trend = |name: &LevelName| Trend {
        systems: systems
            .iter()
            .enumerate()
            .map(|(i, system)| (i, system.clone(), values(name, system)))
            .filter(|(_, _, values)| values.iter().any(Option::is_some))
            .collect(),
        name: name.clone(),
    };
    names.into_iter().map(trend).collect()
}

/// Where the level of a series changes, as the index of the study and the ratio. Gaps and bounds
/// are skipped, because bounds never enter a ratio.
fn changes_of(values: &[Option<Bounded>]) -> Vec<(usize, f64)> {
    let known = values.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(i, value)| Some((i, value.filter(|value| value.is_exact())?.value)))
        .collect();
    let series: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let points = change_points(&series, statistics::EQUIVALENCE).into_iter();
    points
        .map(|point| (known[point.index].0, point.ratio))
        .collect()
}

/// `12 % higher`, `2.1X lower`.
fn apart(ratio: f64) -> String {
    number::apart(Bounded::exact(ratio), None)
}

/// The label of a study on an axis: its day, with its time if others began on the same day, and
/// numbered if they began in the same minute.
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
        let change = |system: &str, (index, ratio): (usize, f64)| {
            let when = number::instant(entries[index].header.created_ms);
            let dir = entries[index].dir.display().to_string();
            let (LevelName { workload, at, .. }, change) = (&self.name, apart(ratio));
            let what = format!("{} {at}", self.name.metric.noun());
            Change {
                words: format!("{system}, {workload}: {what} {change} from {when} on ({dir})"),
                row: TableRow {
                    cells: vec![
                        Cell::new(system),
                        Cell::new(workload),
                        Cell::new(what),
                        Cell::new(change).with_value(ratio),
                        Cell::new(when),
                        Cell::new(dir),
                    ],
                    total: false,
                },
            }
        };
        let of_system = |(_, system, values): &(usize, String, Vec<Option<Bounded>>)| {
            let changes = changes_of(values).into_iter();
            changes
                .map(|found| change(system, found))
                .collect::<Vec<_>>()
        };
        self.systems.iter().flat_map(of_system).collect()
    }

    /// A line for each system, its changes in large marks with a label.
    pub fn option(&self, entries: &[Entry]) -> Value {
        let metric = self.name.metric;
        let write = chart::writer(metric);
        let tip = match write {
            "rate" => "@bars".to_owned(),
            _ => format!("@bars {write}"),
        };
        let mut option = chart::base();
        option["tooltip"] = json!({
            "trigger": "axis", "axisPointer": {"type": "shadow"}, "formatter": tip, "confine": true,
        });
        option["xAxis"] = chart::categories("study (UTC)", &labels(entries));
        option["xAxis"]["axisLabel"]["interval"] = "auto".into();
        let title = format!("{} {}", metric.row().title, self.name.at);
        option["yAxis"] = chart::axis("value", &title, 62, &format!("@{write}"));
        option["series"] = self.systems.iter().map(series).collect();
        option
    }
}

fn series((index, system, values): &(usize, String, Vec<Option<Bounded>>)) -> Value {
    let look = style::look(*index);
    let changes = changes_of(values);
    let item = |(i, value): (usize, &Option<Bounded>)| {
        let Some(value) = value else {
            return Value::Null;
        };
        let rounded = quantised::rate(value.value);
        let sign = Bound::AtLeast.sign().trim_end();
        match changes.iter().find(|(at, _)| *at == i) {
            None if value.bound == Bound::AtLeast => json!({
                "value": rounded, "atLeast": [true], "label": {"show": true, "formatter": sign},
            }),
            None => rounded,
            Some((_, ratio)) => json!({
                "value": rounded, "symbolSize": 15,
                "itemStyle": {"color": "#fff", "borderColor": look.color, "borderWidth": 3},
                "label": {"show": true, "formatter": apart(*ratio), "position": "top"},
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
    fn changes_are_where_they_are_although_a_study_is_missing_or_a_bound() {
        let mut values: Vec<Option<Bounded>> = [100.0, 101.0, 99.0, 100.5, 80.0, 81.0, 79.5, 80.5]
            .map(|value| Some(Bounded::exact(value)))
            .into();
        values.insert(2, None);
        values.insert(3, Some(Bounded::at_least(1_000.0)));
        let changes = changes_of(&values);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].0, 6);
        assert_eq!(apart(changes[0].1), "20 % lower");
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
}
