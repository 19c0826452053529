//! When repeats and points ended, if they end once a verdict is reached and once figures are known.

use crate::{
    axis::Step,
    block::Text,
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use std::time::Duration;
use tailmark_model::{LengthRange, PointName, number};
use tailmark_stats::steady::KNOWN_WIDTH;

/// `All verdicts were decided after 4 to 7 of at most 20 repeats`; where some are not, after how many.
pub fn ended(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let (most, undecided) = sweep.comparisons.until_decided.as_ref()?;
    let cells = || {
        let systems = sweep.systems.iter();
        systems.flat_map(|system| group.cells_of(&system.name))
    };
    let repeats = |step: Step| {
        let own = cells().filter(|cell| cell.step == step);
        own.map(|cell| cell.points.len()).max()
    };
    let is_open = |step: &&Step| {
        let mut own = cells().filter(|cell| cell.step == **step);
        own.any(|cell| {
            cell.points
                .iter()
                .any(|point| undecided.contains(&PointName::from(&point.key)))
        })
    };
    let (open, decided): (Vec<&Step>, Vec<&Step>) = group.steps.iter().partition(is_open);
    let range = |steps: &[&Step]| {
        let counts = || steps.iter().filter_map(|step| repeats(**step));
        Some(match (counts().min()?, counts().max()?) {
            (least, highest) if least == highest => least.to_string(),
            (least, highest) => format!("{least} to {highest}"),
        })
    };
    let mut parts = Vec::new();
    if let Some(after) = range(&decided) {
        let which = if open.is_empty() {
            "All verdicts"
        } else {
            "Verdicts"
        };
        parts.push(format!(
            "{which} were decided after {after} of at most {most} repeats"
        ));
    }
    if let Some(after) = range(&open) {
        let places = compare::places(&open.into_iter().copied().collect::<Vec<_>>());
        parts.push(if parts.is_empty() {
            format!("Verdicts are open after {after} of at most {most} repeats, at {places}")
        } else {
            format!("at {places} they are open after {after}")
        });
    }
    (!parts.is_empty()).then(|| Text::plain(format!("{}.", parts.join("; "))))
}

/// `Points ended after 25s to 40s of at most 2m, once their figures were known within 5 %`; where some
/// are not, at which places.
pub fn lengths(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let systems = || sweep.systems.iter();
    let mut rules = systems().map(|system| sweep.data.rules(&system.name).lengths);
    let LengthRange { most_s, .. } = rules.find_map(|lengths| lengths)?;
    let times = |step: &Step| -> Vec<f64> {
        let cells = systems().flat_map(|system| group.cells_of(&system.name));
        let cells = cells.filter(|cell| cell.step == *step);
        let points = cells.flat_map(|cell| &cell.points);
        points.map(|point| point.phase.duration_s).collect()
    };
    let is_open = |step: &&Step| times(step).iter().any(|time_s| *time_s > 0.99 * most_s);
    let open: Vec<Step> = group.steps.iter().filter(is_open).copied().collect();
    let ended = group.steps.iter().flat_map(times);
    let ended: Vec<f64> = ended.filter(|time_s| *time_s <= 0.99 * most_s).collect();
    let time = |seconds: f64| number::rounded(Duration::from_secs_f64(seconds));
    let ends = [f64::min, f64::max].map(|end| ended.iter().copied().reduce(end).map(time));
    let most = time(most_s);
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
