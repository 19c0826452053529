//! The sentence about when repeats ended, if they end once a verdict is reached.

use crate::{
    axis::Step,
    block::Text,
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::PointName;

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
