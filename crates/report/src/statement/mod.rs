//! Sentences about one workload, modelled on those of the published studies.

mod brief;
mod ended;
mod latency;
mod overlap;
mod peak;
mod shape;
mod threads;

pub use brief::in_brief;
use peak::far;
pub use peak::{also_more, amount, more, range};

use crate::{
    axis::{Axis, Step},
    block::Text,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Fault, Metric, number};

/// The most systems that a sentence names one by one.
pub const NAMED: usize = 3;

/// The level of detail of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// With all figures.
    Full,
    /// Without the figures in the table next to it.
    Terse,
    /// The same of the ends of a range alone: another sentence says who leads everywhere.
    Ends,
}

/// The statements of a workload, the most important first.
#[must_use]
pub fn statements<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<Text> {
    let mut lines: Vec<Text> = without_baseline(group, sweep).into_iter().collect();
    let latency = sweep.latency_metric(group);
    if group.has_peaks() {
        lines.extend(peak::at_peak(group, sweep, Detail::Full));
        lines.extend(threads::over_all(
            group,
            sweep,
            Metric::OPS_PER_SEC,
            Detail::Full,
        ));
        lines.extend(threads::at_the_lowest(group, sweep));
        lines.extend(peak::share(group, sweep));
    }
    if let Some(metric) = sweep.metric(group) {
        lines.extend(latency::at_the_highest(group, sweep, metric, Detail::Full));
        lines.extend(latency::at_the_peaks(group, sweep, metric));
        lines.extend(threads::over_all(group, sweep, metric, Detail::Full));
    }
    if group.axis == Axis::Threads && group.rate.is_none() {
        lines.extend(shape::compared(group, sweep).concat());
        lines.extend(overlap::overlapping(group, sweep));
        let systems = sweep.systems.iter().copied();
        let systems = systems.filter(|system| group.has(&system.name));
        let curves = systems.clone();
        lines.extend(curves.flat_map(|system| shape::of_curve(group, system, latency)));
        lines.extend(shape::still_rising(group, systems, latency));
    }
    lines.extend(ended::ended(group, sweep));
    lines.extend(ended::lengths(group, sweep));
    lines.extend(skipped(group, sweep));
    lines
}

/// A sentence that the baseline was not measured here or is not valid, so that nothing is compared.
fn without_baseline(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let baseline = sweep.baseline()?;
    let is_valid = group.cells_of(baseline).any(|cell| cell.fault.is_none());
    let why = if group.has(baseline) {
        "has no valid point here"
    } else {
        "was not measured here"
    };
    let text = format!(", the baseline, {why}, so nothing is compared.");
    (!is_valid).then(|| Text::strong(baseline).and(text))
}

/// The points that are no peak and in no comparison, and why.
fn skipped(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let mut text = Text::plain("Not compared: ");
    let said = text.0.len();
    let mut have_failed = false;
    for system in sweep.systems.iter().chain(&sweep.ceilings) {
        let cells = group.cells_of(&system.name);
        let points = cells.filter_map(|cell| {
            let place = cell.step.place();
            let fault = cell.fault_text()?;
            have_failed |= matches!(cell.fault, Some(Fault::Failed(_)));
            Some(format!("{place} ({fault})"))
        });
        let points: Vec<String> = points.collect();
        if points.is_empty() {
            continue;
        }
        let joint = if text.0.len() == said { "" } else { "; " };
        let points: Vec<&str> = points.iter().map(String::as_str).collect();
        text = text
            .and(joint)
            .and_strong(&*system.name)
            .and(format!(" at {}", number::list(&points)));
    }
    let rule = if have_failed {
        let allowed = sweep.data.allow_errors_text();
        format!(". A point where more than {allowed} of the operations failed cannot be a peak.")
    } else {
        ".".to_owned()
    };
    (text.0.len() > said).then(|| text.and(rule))
}

/// `p99 read latency`, `Mean read latency`, `Write amplification`: at the beginning of a sentence.
pub fn title(metric: Metric) -> String {
    let text = metric.row().title;
    let is_quantile = metric
        .latency()
        .is_some_and(|(_, statistic)| statistic.quantile.is_some());
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !is_quantile => format!("{}{}", first.to_uppercase(), letters.as_str()),
        _ => text.to_owned(),
    }
}

/// The beginning of a sentence about a step: `At 64 threads, the highest thread count`.
fn place(group: &WorkloadGrid<'_>, step: Step) -> String {
    let place = step.place();
    if group.steps.len() > 1 && group.steps.last() == Some(&step) {
        let what = match group.axis {
            Axis::Threads => "thread count",
            Axis::Rates => "offered rate",
        };
        format!("At {place}, the highest {what}")
    } else {
        format!("At {place}")
    }
}
