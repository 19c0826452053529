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
use tailmark_stats::statistics::{self, ChangePoint, SIDE_MIN, change_points};

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

/// A known value of a series, with the index of its study.
type Known = (usize, Bounded);

/// Where the level of a series changes, as the index of the study and the ratio. Gaps are skipped,
/// and so are bounds, unless they are all that is known on one side of a change.
fn changes_of(values: &[Option<Bounded>]) -> Vec<Known> {
    let known = values.iter().enumerate();
    let known: Vec<Known> = known
        .filter_map(|(i, value)| Some((i, (*value)?)))
        .collect();
    let exact = known.iter().copied().filter(|(_, value)| value.is_exact());
    let exact: Vec<Known> = exact.collect();
    let points = points_of(&exact).into_iter();
    let mut found: Vec<Known> = points
        .map(|point| (exact[point.index].0, Bounded::exact(point.ratio)))
        .collect();
    found.extend(changes_at_bounds(&known));
    found.sort_by_key(|(index, _)| *index);
    found
}

fn points_of(known: &[Known]) -> Vec<ChangePoint> {
    let series: Vec<f64> = known.iter().map(|(_, value)| value.value).collect();
    change_points(&series, statistics::EQUIVALENCE)
}

/// Changes of which one side is known by bounds alone, and is certainly beyond the other: from 100
/// to at least 200. The ratio is a bound, too.
fn changes_at_bounds(known: &[Known]) -> Vec<Known> {
    let bounds = known.iter().filter(|(_, value)| !value.is_exact());
    let mut sides = bounds.map(|(_, value)| value.bound);
    let Some(side) = sides
        .next()
        .filter(|side| sides.all(|other| other == *side))
    else {
        return Vec::new();
    };
    let is_above = match side {
        Bound::AtLeast => true,
        Bound::AtMost => false,
        Bound::Exact | Bound::Between(..) => return Vec::new(),
    };
    let points = points_of(known);
    let cuts = points.iter().map(|point| point.index);
    let ends: Vec<usize> = std::iter::once(0)
        .chain(cuts)
        .chain([known.len()])
        .collect();
    let change = |(point, edges): (&ChangePoint, &[usize])| {
        let (before, after) = known[edges[0]..edges[2]].split_at(point.index - edges[0]);
        let is_rise = point.ratio > 1.0;
        let (open, closed) = if is_rise == is_above {
            (after, before)
        } else {
            (before, after)
        };
        let count = |part: &[Known]| part.iter().filter(|(_, value)| value.is_exact()).count();
        let is_certain = count(closed) == closed.len() && count(open) < SIDE_MIN;
        let ratio = if is_rise {
            Bounded::at_least(point.ratio)
        } else {
            Bounded::at_most(point.ratio)
        };
        is_certain.then_some((known[point.index].0, ratio))
    };
    points
        .iter()
        .zip(ends.windows(3))
        .filter_map(change)
        .collect()
}

/// `12 % higher`, `2.1X lower`, `≥ 2.0X higher`.
fn apart(ratio: Bounded) -> String {
    number::apart(ratio, None)
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
        let change = |system: &str, (index, ratio): Known| {
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
                        Cell::new(change).with_bounded(ratio),
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
                "value": rounded, "symbolSize": 15, "atLeast": [value.bound == Bound::AtLeast],
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
    fn a_change_to_bounds_beyond_the_other_side_is_one_and_its_ratio_a_bound() {
        let exact = [100.0, 101.0, 99.0, 100.5].map(Bounded::exact);
        let series = |bounds: [Bounded; 3], are_last: bool| {
            let mut all: Vec<Option<Bounded>> = exact.map(Some).into();
            let place = if are_last { all.len() } else { 0 };
            all.splice(place..place, bounds.map(Some));
            let changes = changes_of(&all).into_iter();
            changes
                .map(|(at, ratio)| (at, apart(ratio)))
                .collect::<Vec<_>>()
        };
        let higher = [200.0, 210.0, 190.0].map(Bounded::at_least);
        let lower = [50.0, 51.0, 49.0].map(Bounded::at_least);
        assert_eq!(series(higher, true), [(4, "≥ 1.9X higher".to_owned())]);
        assert_eq!(series(higher, false), [(3, "≥ 1.9X lower".to_owned())]);
        // At least 50 may be 100.
        assert_eq!(series(lower, true), []);
        assert_eq!(series(lower, false), []);
        let most = [50.0, 51.0, 49.0].map(Bounded::at_most);
        assert_eq!(series(most, true), [(4, "≥ 2.0X lower".to_owned())]);
        assert_eq!(series([400.0; 3].map(Bounded::at_most), true), []);
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
