//! The average improvement over all thread counts, or all rates, of a workload.

use super::{ComparedAt, last_common};
use crate::{
    axis::{Axis, Step},
    compared::Comparisons,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Bounded, Metric, Statistic};
use tailmark_stats::comparison;

/// The average of the improvements at all steps.
#[derive(Debug, Clone, Copy)]
pub struct Average {
    /// The arithmetic mean of the improvements, as a ratio. It depends on which of two systems
    /// comes first.
    pub arithmetic: Bounded,
    /// The geometric mean of the ratios, which does not.
    pub geometric: Bounded,
}

impl Average {
    /// The average that everything states. Seen from either system, the arithmetic mean may call it the
    /// better one. The geometric mean cannot, so it is stated where the two disagree.
    #[must_use]
    pub fn stated(self) -> Bounded {
        let is_open = (self.arithmetic.value - 1.0) * (self.geometric.value - 1.0) < 0.0;
        if is_open {
            self.geometric
        } else {
            self.arithmetic
        }
    }
}

/// The average of two systems over the steps of a group. `None` if they are compared at none of them, or
/// bounds of both leave one open.
#[must_use]
pub fn average<'a>(
    group: &WorkloadGrid<'a>,
    comparisons: &Comparisons,
    metric: Metric,
    (a, b): (&'a str, &'a str),
) -> Option<Average> {
    let mut ratios = Vec::new();
    for &step in &group.steps {
        match comparisons.at(group, step, metric, (a, b)) {
            Some(known) => ratios.push(known.ratio),
            None if are_bounds(group, metric, (a, b), step) => return None,
            None => {}
        }
    }
    Some(Average {
        // 1 plus the mean of a / b - 1, or 1 minus that of 1 - a / b, without their rounding.
        arithmetic: Bounded::mean(&ratios)?,
        geometric: comparison::center(&ratios)?,
    })
}

/// Whether both have a value at a step and there is no ratio, because both are bounds.
#[must_use]
pub fn are_bounds<'a>(
    group: &WorkloadGrid<'a>,
    metric: Metric,
    (a, b): (&'a str, &'a str),
    step: Step,
) -> bool {
    [a, b].into_iter().all(|system| {
        let cell = group.valid_cell(system, step);
        let measured = cell.and_then(|cell| cell.value(metric));
        measured.is_some_and(|measured| !measured.middle.is_exact())
    })
}

/// Where headline and cards state a metric: a mean latency that has no verdicts on average over thread
/// counts, as the studies do, and anything else at the highest step that the systems have in common.
#[must_use]
pub fn where_stated(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    metric: Metric,
) -> Option<ComparedAt> {
    let step = last_common(group, sweep, metric)?;
    let is_mean = metric
        .latency()
        .is_some_and(|(_, own)| own == Statistic::MEAN);
    let is_swept = group.axis == Axis::Threads && group.steps.len() > 1;
    let is_averaged = is_mean && is_swept && !sweep.comparisons.has_verdicts();
    Some(if is_averaged {
        ComparedAt::Average(step)
    } else {
        ComparedAt::Step(step)
    })
}
