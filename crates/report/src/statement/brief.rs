//! The statements of a workload that a brief has room for.

use super::{Detail, NAMED, latency, overlap, peak, shape, skipped, threads, without_baseline};
use crate::{
    axis::Axis,
    block::Text,
    compare::{self, ComparedAt},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::Metric;

/// How much a sentence matters: the first are kept where there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// What qualifies all others.
    Caveat,
    /// How the systems compare at the peaks and under the highest load; in mean latencies on average.
    Result,
    /// Where that is so: at the lowest load, at every load, where the lead changes; who falls short of
    /// the others, and who cannot be told apart.
    Where,
    /// How curves rise.
    Shape,
    /// What the table next to it shows as well.
    Detail,
}

/// Sentences in reading order, each with its weight.
#[derive(Debug, Default)]
struct Weighted(Vec<(Weight, Text)>);

impl Weighted {
    /// Adds at most `most` of these.
    fn add(&mut self, weight: Weight, most: usize, texts: impl IntoIterator<Item = Text>) {
        let texts = texts.into_iter().take(most);
        self.0.extend(texts.map(|text| (weight, text)));
    }

    /// The weightiest, at most `most`; of those that weigh the same the first.
    fn weightiest(self, most: usize) -> Vec<Text> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|at| self.0[*at].0);
        order.truncate(most);
        let all = self.0.into_iter().enumerate();
        let kept = all.filter(|(at, _)| order.contains(at));
        kept.map(|(_, (_, text))| text).collect()
    }
}

/// The most important statements in reading order, at most `most`.
#[must_use]
pub fn in_brief<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>, most: usize) -> Vec<Text> {
    let mut lines = Weighted::default();
    lines.add(Weight::Caveat, 1, without_baseline(group, sweep));
    lines.add(Weight::Caveat, 1, skipped(group, sweep));
    if group.has_peaks() {
        add_peaks(&mut lines, group, sweep);
    }
    if let Some(metric) = sweep.metric(group) {
        add_metric(&mut lines, group, sweep, metric);
    }
    if is_swept(group) {
        lines.add(Weight::Where, 1, overlap::overlapping(group, sweep));
    }
    lines.weightiest(most)
}

fn is_swept(group: &WorkloadGrid<'_>) -> bool {
    group.axis == Axis::Threads && group.rate.is_none()
}

/// Against a baseline there is a sentence for each system.
fn sentences(sweep: &SweepTable<'_>) -> usize {
    if sweep.baseline().is_some() { NAMED } else { 1 }
}

fn add_peaks<'a>(lines: &mut Weighted, group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) {
    let (terse, metric) = (Detail::Terse, Metric::OPS_PER_SEC);
    let peaks = peak::at_peak(group, sweep, terse);
    lines.add(Weight::Result, sentences(sweep), peaks);
    let over_all = threads::over_all(group, sweep, metric, terse);
    lines.add(Weight::Detail, 1, over_all);
    let changes = threads::changes_of_lead(group, sweep, metric);
    lines.add(Weight::Where, 1, changes);
    if is_swept(group) {
        let lowest = threads::at_the_lowest(group, sweep);
        lines.add(Weight::Where, 1, lowest);
    }
    lines.add(Weight::Where, 1, peak::share(group, sweep));
}

fn add_metric<'a>(
    lines: &mut Weighted,
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) {
    let spot = compare::where_stated(group, sweep, metric);
    let is_average = matches!(spot, Some(ComparedAt::Average(_)));
    let everywhere = threads::at_every_count(group, sweep, metric);
    let everywhere = everywhere.filter(|_| !is_average);
    if !is_average {
        let mut highest = latency::at_the_highest(group, sweep, metric, Detail::Terse);
        if let (Some(text), [one]) = (&everywhere, &mut highest[..]) {
            *one = std::mem::take(one).and(text);
        }
        lines.add(Weight::Result, sentences(sweep), highest);
    }
    let changes = threads::changes_of_lead(group, sweep, metric);
    lines.add(Weight::Where, 1, changes);
    if is_swept(group) {
        for mut shapes in shape::compared(group, sweep) {
            let others = shapes.split_off(shapes.len().min(1));
            lines.add(Weight::Shape, 1, shapes);
            lines.add(Weight::Detail, others.len(), others);
        }
    }
    let detail = if everywhere.is_some() {
        Detail::Ends
    } else {
        Detail::Terse
    };
    let weight = if is_average {
        Weight::Result
    } else {
        Weight::Detail
    };
    let over_all = threads::over_all(group, sweep, metric, detail);
    lines.add(weight, 1, over_all);
}
