//! How the systems of a run take turns, and what that costs.

use super::Facts;
use tailmark_plan::{Order, Plan, SystemPlan};
use tailmark_results::number;

/// How often the turn passes from one system to another while the points are measured that are
/// left.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// In all.
    pub all: u64,
    /// Of these, the ones for which a service is stopped.
    pub stops: u64,
}

impl Changes {
    /// Of a run in this order.
    pub fn of(plan: &Plan, facts: &Facts, order: Order) -> Self {
        let systems = systems(plan, order);
        let kept = |index: &usize| {
            facts
                .systems
                .get(*index)
                .map_or(0, |known| known.points_kept)
        };
        let mut kept: Vec<usize> = systems.iter().map(|(index, _)| kept(index)).collect();
        let (mut changes, mut before) = (Self::default(), None);
        for (turn, _) in plan.points_of(order, systems.len()) {
            if kept[turn] > 0 {
                kept[turn] -= 1;
                continue;
            }
            if let Some(before) = before.replace(turn).filter(|before| *before != turn) {
                changes.all += 1;
                changes.stops += u64::from(systems[before].1.service.is_some());
            }
        }
        changes
    }
}

/// The systems in the order of their first turn, each with its place in the plan.
pub fn systems(plan: &Plan, order: Order) -> Vec<(usize, &SystemPlan)> {
    match order {
        Order::Systems => plan.systems_in_order(),
        Order::Interleaved => plan.systems.iter().enumerate().collect(),
    }
}

/// The order of a run and what it costs, where its systems take turns: lines for a person.
pub fn lines(plan: &Plan, facts: &Facts) -> Vec<String> {
    let order = facts.order(plan);
    if plan.systems.len() < 2 || order == Order::Systems {
        return Vec::new();
    }
    let there: Vec<_> = plan.systems.iter().map(|s| s.name.as_str()).collect();
    let back: Vec<_> = there.iter().rev().copied().collect();
    let (changes, otherwise) = (
        Changes::of(plan, facts, order),
        Changes::of(plan, facts, Order::Systems),
    );
    let times = |count| number::plural(count, "time");
    let stops = match changes.stops {
        0 => "; that costs nothing but opening a database".to_owned(),
        stops => format!(
            ", {} with a service to be stopped, {} at most each",
            times(stops),
            number::rounded(plan.sweep.ready_timeout)
        ),
    };
    vec![
        format!(
            "  order: interleaved: a point on {}, the next on {}; while one system is measured the \
             others are closed",
            there.join(", "),
            back.join(", ")
        ),
        format!(
            "  the system changes {} (one after the other: {}){stops}",
            times(changes.all),
            times(otherwise.all)
        ),
    ]
}
