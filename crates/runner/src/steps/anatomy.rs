//! The points whose requests are taken apart, after all others.

use super::{Known, Outlook, is_compared};
use std::collections::{BTreeMap, VecDeque};
use tailmark_plan::{AnatomyPlan, Plan, PlanPoint, SystemPlan};

/// Those that are due: of each workload of a system, its peak so far and its points at a rate. One
/// that is not measured itself shows nothing to compare with, and is left out.
pub fn due<'a>(
    plan: &'a Plan,
    known: &Known,
    systems: &[&'a SystemPlan],
    outlook: Outlook,
) -> VecDeque<(usize, PlanPoint<'a>)> {
    let Some(settings) = plan.anatomy else {
        return VecDeque::new();
    };
    let mut due = VecDeque::new();
    for (index, system) in systems
        .iter()
        .enumerate()
        .filter(|(_, own)| is_compared(own))
    {
        for point in chosen(plan, known, system, settings, outlook) {
            let key = known.key(plan, &point, system);
            if !key.is_some_and(|key| known.is_taken_apart(&key)) {
                due.push_back((index, point));
            }
        }
    }
    due
}

/// Whether any is due of a system.
pub fn has_anatomies(plan: &Plan, known: &Known, system: &SystemPlan) -> bool {
    !due(plan, known, &[system], Outlook::Known).is_empty()
}

/// The points of a system, also those that were taken apart before.
fn chosen<'a>(
    plan: &'a Plan,
    known: &Known,
    system: &SystemPlan,
    settings: AnatomyPlan,
    outlook: Outlook,
) -> Vec<PlanPoint<'a>> {
    let ops = |point: &PlanPoint<'_>| match known.ops_per_sec(plan, point, system) {
        None if outlook == Outlook::UpTo => Some(0.0),
        ops => ops,
    };
    let mut chosen = Vec::new();
    let mut peaks: BTreeMap<&str, (f64, PlanPoint<'a>)> = BTreeMap::new();
    for point in plan.grid() {
        let Some(ops) = ops(&point) else {
            continue;
        };
        if point.rate.is_some() {
            chosen.extend(settings.rates.then_some(point));
        } else if settings.peaks {
            let workload = point.workload.name.as_str();
            let best = peaks.entry(workload).or_insert((ops, point));
            if ops > best.0 {
                *best = (ops, point);
            }
        }
    }
    let peaks = peaks.into_values().map(|(_, point)| point);
    let mut all: Vec<_> = peaks.chain(chosen).collect();
    let place = |point: &PlanPoint<'_>| {
        let mut workloads = plan.sweep.workloads.iter();
        workloads.position(|workload| workload.name == point.workload.name)
    };
    all.sort_by_key(place);
    all
}
