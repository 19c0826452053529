//! The parameters of one measurement: a point of the sweep or a trial of a search.

use crate::{Error, seeds::PointSeeds, warmup::WarmupLength};
use std::{sync::Arc, time::Duration};
use tailmark_driver::Settled;
use tailmark_engine::{Anatomist, Enough};
use tailmark_model::{Interval, Point};
use tailmark_plan::{Plan, PlanPoint};
use tailmark_stats::steady::{SteadyRule, UntilKnown};
use tailmark_workload::Workload;

/// How a point or a trial is measured. Its threads, rate and arrivals are in its key.
pub(super) struct PointRequest<'a> {
    pub workload: &'a Arc<Workload>,
    pub operations: Option<u64>,
    pub duration: Option<Duration>,
    pub warmup: WarmupRequest,
    /// Ends it before its duration.
    pub enough: Option<&'a dyn Enough>,
    /// Takes its requests apart.
    pub anatomy: Option<&'a Arc<Anatomist>>,
    pub seeds: PointSeeds,
    /// The rule for steadiness.
    pub steady: SteadyRule,
}

/// What runs before it.
#[derive(Clone, Copy)]
pub(super) enum WarmupRequest {
    /// For this time.
    For(Duration),
    /// Until it is steady.
    ByRule(WarmupLength),
}

/// Ends a point once its figures are known.
pub(super) struct UntilFiguresKnown(UntilKnown);

impl UntilFiguresKnown {
    /// `None` if points have a fixed length.
    pub fn from_plan(plan: &Plan) -> Option<Self> {
        let latency = plan.report.metric;
        let rule = |least| Self(UntilKnown { latency, least });
        plan.sweep.until_known.map(rule)
    }
}

impl Enough for UntilFiguresKnown {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        self.0.is_over(so_far)
    }
}

/// The result of a measurement.
pub(super) struct MeasuredPoint {
    pub point: Point,
    /// Whether the database came to rest after it.
    pub settled: Result<Settled, Error>,
}

impl<'a> PointRequest<'a> {
    /// Of a point of a sweep, warmed up for a time.
    pub fn from_point(plan: &Plan, point: PlanPoint<'a>) -> Self {
        let sweep = &plan.sweep;
        Self {
            workload: point.workload,
            operations: sweep.operations,
            duration: sweep.duration,
            warmup: WarmupRequest::For(sweep.warmup.longest()),
            enough: None,
            anatomy: None,
            seeds: PointSeeds::from_point(sweep.seed, &point),
            steady: plan.steady_rule(),
        }
    }
}
