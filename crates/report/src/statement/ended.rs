//! When repeats and points ended, if they end once a verdict is reached and once figures are known.

use crate::{
    axis::Step,
    block::Text,
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tailmark_model::{LengthRange, Metric, PointName, number};
use tailmark_stats::{statistics::RUNS_MIN, steady::KNOWN_WIDTH};

/// `Verdicts on ops/s were decided after 4 to 7 of at most 20 repeats`; where some are not, after how
/// many. `None` where no verdict was sought, and of several studies, whose repeats add up.
pub fn ended(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let (most, judged) = sweep.comparisons.until_decided.as_ref()?;
    let keys = |step: Step| {
        let systems = sweep.systems.iter();
        let cells = systems.flat_map(|system| group.cells_of(&system.name));
        let cells = cells.filter(move |cell| cell.step == step);
        cells.flat_map(|cell| cell.points.iter().map(|point| &point.key))
    };
    let repeats = |step: Step| keys(step).map(|key| key.repeat).max();
    let verdicts = |step: &Step| {
        let own = keys(*step).filter_map(|key| judged.get(&PointName::from(key)));
        let each = own.flat_map(|sought| &sought.0);
        let mut merged: BTreeMap<Metric, bool> = BTreeMap::new();
        each.for_each(|(metric, is_open)| *merged.entry(*metric).or_default() |= is_open);
        merged
    };
    let sought = group.steps.iter().map(|step| (step, verdicts(step)));
    // Runs that are copies of one another count once, so they may be too few for any verdict.
    let has_runs = |step: &Step| repeats(*step) >= Some(RUNS_MIN as u32);
    let sought = sought.filter(|(step, own)| !own.is_empty() && has_runs(step));
    let sought: Vec<_> = sought.collect();
    let is_of_one = sweep.data.headers.len() == 1;
    if !is_of_one || sought.iter().any(|(step, _)| repeats(**step) > Some(*most)) {
        return None;
    }
    let has_open = |own: &BTreeMap<Metric, bool>| own.values().any(|is_open| *is_open);
    let steps = |wanted: bool| -> Vec<&Step> {
        let own = sought.iter().filter(|(_, own)| has_open(own) == wanted);
        own.map(|(step, _)| *step).collect()
    };
    let (open, decided) = (steps(true), steps(false));
    // The metrics of the verdicts that were decided at these points, or that are open.
    let on = |wanted: bool| {
        let own = sought.iter().filter(|(_, own)| has_open(own) == wanted);
        let metrics = own.flat_map(|(_, own)| own);
        let metrics = metrics.filter(|(_, is_open)| **is_open == wanted);
        let metrics: BTreeSet<Metric> = metrics.map(|(metric, _)| *metric).collect();
        let nouns: Vec<&str> = metrics.iter().map(|metric| metric.noun()).collect();
        number::list(&nouns)
    };
    let range = |own: &[&Step]| {
        let counts = || own.iter().filter_map(|step| repeats(**step));
        Some(match (counts().min()?, counts().max()?) {
            (least, highest) if least == highest => least.to_string(),
            (least, highest) => format!("{least} to {highest}"),
        })
    };
    let mut parts = Vec::new();
    if let Some(after) = range(&decided) {
        parts.push(format!(
            "Verdicts on {} were decided after {after} of at most {most} repeats",
            on(false)
        ));
    }
    if let Some(after) = range(&open) {
        let places = compare::places(&open.into_iter().copied().collect::<Vec<_>>());
        parts.push(if parts.is_empty() {
            format!(
                "Verdicts on {} are open after {after} of at most {most} repeats, at {places}",
                on(true)
            )
        } else {
            format!("at {places} those on {} are open after {after}", on(true))
        });
    }
    (!parts.is_empty()).then(|| Text::plain(format!("{}.", parts.join("; "))))
}

/// `Points ended after 25s to 40s of at most 2m, once their figures were known within 5 %`; where some
/// are not, at which places.
pub fn lengths(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let systems = || sweep.systems.iter();
    let mut rules = systems().map(|system| sweep.data.rules(&system.name).lengths);
    let lengths: LengthRange = rules.find_map(|lengths| lengths)?;
    let times = |step: &Step| -> Vec<f64> {
        let cells = systems().flat_map(|system| group.cells_of(&system.name));
        let cells = cells.filter(|cell| cell.step == *step);
        let points = cells.flat_map(|cell| &cell.points);
        points.map(|point| point.phase.duration_s).collect()
    };
    let ended_early = |time_s: &f64| lengths.ended_early(*time_s);
    let is_open = |step: &&Step| !times(step).iter().all(ended_early);
    let open: Vec<Step> = group.steps.iter().filter(is_open).copied().collect();
    let ended = group.steps.iter().flat_map(times);
    let ended: Vec<f64> = ended.filter(ended_early).collect();
    let time = |seconds: f64| number::rounded(Duration::from_secs_f64(seconds));
    let ends = [f64::min, f64::max].map(|end| ended.iter().copied().reduce(end).map(time));
    let most = time(lengths.most_s);
    let within = number::limit(KNOWN_WIDTH);
    let places = compare::places(&open);
    let text = match ends {
        [Some(least), Some(highest)] => {
            let range = if least == highest {
                least
            } else {
                format!("{least} to {highest}")
            };
            let known = format!(
                "Points ended after {range} of at most {most}, once their figures were known within {within}"
            );
            if open.is_empty() {
                format!("{known}.")
            } else {
                format!("{known}; at {places} some were not.")
            }
        }
        _ => format!("After {most} the figures of no point were known within {within}."),
    };
    Some(Text::plain(text))
}
