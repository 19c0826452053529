//! Repeats that end once a verdict is reached: which points get which repeat.
//!
//! Whether a point gets a repeat follows from the runs of the repeats before, of all systems. So a
//! resumed run decides as an uninterrupted one, and no point is looked at between two repeats.

use std::collections::BTreeSet;
use tailmark_model::{Metric, Point, PointName, RepeatRange};
use tailmark_plan::{Plan, PlanPoint, SystemPlan};
use tailmark_stats::{
    Run,
    comparison::{Sought, equivalence, judged_points},
};

/// For each repeat after the fewest, as far as the repeat before was begun, the places in the plan's
/// grid of the points that get it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Open(Vec<BTreeSet<usize>>);

impl Open {
    /// The same with what is known of the runs of this repeat and earlier ones. A point has a name on
    /// each system that knows its rate.
    pub fn after(
        mut self,
        plan: &Plan,
        runs: &[Run],
        name: impl Fn(&PlanPoint<'_>, &SystemPlan) -> Option<PointName>,
        repeat: u32,
    ) -> Self {
        let Some(RepeatRange { least, most }) = plan.sweep.until_decided else {
            return self;
        };
        let highest = runs.iter().map(|run| run.key.repeat).max();
        let last = (highest.unwrap_or(0) + 1).min(most);
        let compared = plan.systems.iter();
        let compared = compared.filter(|system| system.ceiling_for.is_none());
        let systems: Vec<&SystemPlan> = compared.collect();
        let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
        for next in repeat.max(least) + 1..=last {
            let before = runs.iter().filter(|run| run.key.repeat < next);
            let before: Vec<Run> = before.cloned().collect();
            let of_points = judged_points(&before, &names, &plan.report, equivalence(&plan.header));
            let is_open = |point: &PlanPoint<'_>| {
                let mut own = systems.iter().filter_map(|system| name(point, system));
                own.any(|named| of_points.get(&named).is_some_and(Sought::is_open))
            };
            self.0.truncate((next - least - 1) as usize);
            let places = plan.grid().enumerate();
            let places = places.filter(|(place, point)| {
                let was_open = self
                    .0
                    .last()
                    .is_none_or(|last_open| last_open.contains(place));
                was_open && is_open(point)
            });
            let places = places.map(|(place, _)| place).collect();
            self.0.push(places);
        }
        self
    }

    /// Whether a point gets its repeat, as far as known.
    pub fn is_due(&self, plan: &Plan, point: &PlanPoint<'_>) -> bool {
        let range = plan.sweep.until_decided;
        let Some(index) = range.and_then(|range| point.repeat.checked_sub(range.least + 1)) else {
            return true;
        };
        let is_same = |other: PlanPoint<'_>| {
            other.workload.name == point.workload.name
                && (other.threads, other.rate) == (point.threads, point.rate)
        };
        let open = self.0.get(index as usize).or(self.0.last());
        let place = plan.grid().position(is_same);
        open.zip(place)
            .is_some_and(|(open, place)| open.contains(&place))
    }

    /// Whether no point may get another repeat.
    pub fn is_over(&self, plan: &Plan) -> bool {
        plan.sweep.until_decided.is_none_or(|range| {
            let is_last = self.0.len() as u32 == range.most - range.least;
            is_last || self.0.last().is_some_and(BTreeSet::is_empty)
        })
    }
}

/// The numbers by which a run is judged, if repeats end once a verdict is reached.
pub fn judged(plan: &Plan, point: &Point) -> Option<Run> {
    plan.sweep.until_decided?;
    let mut run = Run::from_point(point, plan.header.settings.rules);
    // Other statistics of the same requests count where a family of tests is sized.
    let kind = |metric: Metric| metric.latency().map(|(kind, _)| kind);
    let is_judged = |metric: Metric| {
        let of_report =
            |own: Metric| own == metric || (kind(own).is_some() && kind(own) == kind(metric));
        metric == Metric::OPS_PER_SEC || plan.report.metric.is_some_and(of_report)
    };
    run.values.retain(|metric, _| is_judged(*metric));
    Some(run)
}
