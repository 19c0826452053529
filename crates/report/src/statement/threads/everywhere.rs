//! Sentences that one system is ahead at every thread count, or rate.

use super::{Along, along_all};
use crate::{
    axis::Axis,
    block::Text,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, number};

/// ` It is lower than every other system's at every thread count.`: after a sentence about one system
/// under the highest load, if that is so.
pub fn at_every_count<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) -> Option<String> {
    let all = along_all(group, sweep, metric);
    let first = all.first()?;
    let is_whole = |along: &Along<'_>| along.a == first.a && along.at.len() == group.steps.len();
    let measured = sweep.systems.iter().filter(|s| group.has(&s.name)).count();
    if !all.iter().all(is_whole) || all.len() + 1 != measured {
        return None;
    }
    let does = |way: &bool| all.iter().all(|along| along.leads_everywhere(sweep, *way));
    let way = [true, false].into_iter().find(does)?;
    let word = if way == metric.more_is_better() {
        "higher"
    } else {
        "lower"
    };
    let whom = if all.len() > 1 {
        " than every other system's"
    } else {
        ""
    };
    let place = match group.axis {
        Axis::Threads => "thread count",
        Axis::Rates => "offered rate",
    };
    Some(format!(" It is {word}{whom} at every {place}."))
}

/// What is higher, or lower, at every step: of which system, compared with which others.
pub fn everywhere<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
    all: &[Along<'a>],
) -> Vec<Text> {
    let does = |is_first: bool| {
        let is_higher = is_first == metric.more_is_better();
        match (metric, is_higher) {
            (Metric::OPS_PER_SEC, true) => " delivers more ops/s than ".to_owned(),
            (Metric::OPS_PER_SEC, false) => " delivers fewer ops/s than ".to_owned(),
            (metric, true) => format!(" has a higher {} than ", metric.noun()),
            (metric, false) => format!(" has a lower {} than ", metric.noun()),
        }
    };
    let mut said: Vec<(&str, String, String, Vec<&str>)> = Vec::new();
    for along in all {
        let mut ways = [true, false].into_iter();
        let Some(way) = ways.find(|is_first| along.leads_everywhere(sweep, *is_first)) else {
            continue;
        };
        let (words, place) = (does(way), at_every(group, along));
        let same = |(a, w, p, _): &&mut (&str, String, String, Vec<&str>)| {
            *a == along.a && *w == words && *p == place
        };
        match said.iter_mut().find(same) {
            Some((.., others)) => others.push(along.b),
            None => said.push((along.a, words, place, vec![along.b])),
        }
    }
    let measured = sweep.systems.iter().filter(|s| group.has(&s.name)).count();
    let line = |(a, words, place, others): (&str, String, String, Vec<&str>)| {
        let others = match others.len() {
            n if n > 1 && n + 1 == measured => "every other system".to_owned(),
            _ => number::list(&others),
        };
        Text::strong(a).and(format!("{words}{others} {place}."))
    };
    said.into_iter().map(line).collect()
}

/// `at every thread count (4 to 64)`; of the common ones, if one system has more.
pub fn at_every(group: &WorkloadGrid<'_>, along: &Along<'_>) -> String {
    let name = match group.axis {
        Axis::Threads => "thread count",
        Axis::Rates => "offered rate",
    };
    let shared = if along.at.len() == group.steps.len() {
        ""
    } else {
        " that they share"
    };
    let labels = along.at.iter().map(|(step, _)| step.label());
    let labels: Vec<String> = labels.collect();
    let (first, last) = (labels.first(), labels.last());
    let ends = first
        .zip(last)
        .map(|(first, last)| format!(" ({first} to {last})"));
    format!("at every {name}{shared}{}", ends.unwrap_or_default())
}
