//! The ladders of a sweep, and which of their rungs and repeats are measured.
//!
//! Each system climbs until its own rungs end the ladder (`stats::ladder`). All systems are
//! measured at every rung that any of them reached, so that they can be compared there.

use super::{Known, Outlook, open::Open};
use std::{collections::BTreeMap, sync::Arc};
use tailmark_plan::{Plan, PlanPoint, SystemPlan};
use tailmark_stats::ladder::{Climb, End, Rung, beginning, climb};
use tailmark_workload::Workload;

/// The ladders of a plan, one for each system and workload; empty for lists of client counts.
pub struct Ladders<'a> {
    plan: &'a Plan,
    /// Which points get a further repeat; `None`: all of them.
    open: Option<Open>,
    /// Systems that can be measured.
    systems: usize,
    /// Of each workload, the clients of the highest rung that is measured.
    highest: Vec<u32>,
    /// Each ladder of those systems, and its end if it has ended.
    ends: Vec<(&'a SystemPlan, &'a Workload, Option<End>)>,
}

impl<'a> Ladders<'a> {
    /// The ladders as far as they have been climbed; `systems` are the measurable ones.
    pub fn new(
        plan: &'a Plan,
        systems: &[&'a SystemPlan],
        known: &Known,
        outlook: Outlook,
    ) -> Self {
        let mut ladders = Self {
            plan,
            open: match outlook {
                Outlook::Known => Some(known.open.clone()),
                Outlook::UpTo => Some(known.open.clone()).filter(|open| open.is_over(plan)),
            },
            systems: systems.len(),
            highest: Vec::new(),
            ends: Vec::new(),
        };
        if plan.sweep.ladder.is_none() {
            return ladders;
        }
        let mut reached = vec![0; plan.sweep.workloads.len()];
        for system in &plan.systems {
            for (workload, highest) in plan.sweep.workloads.iter().zip(&mut reached) {
                let (rung, end) = place(plan, known, system, workload);
                *highest = rung.max(*highest);
                if systems.iter().any(|can| can.name == system.name) {
                    ladders.ends.push((system, workload, end));
                }
            }
        }
        let threads = &plan.sweep.threads;
        for (workload, rung) in plan.sweep.workloads.iter().zip(reached) {
            let highest = match outlook {
                Outlook::UpTo if !ladders.has_ended(workload) => threads.last(),
                _ => threads.get(rung),
            };
            ladders.highest.push(highest.copied().unwrap_or(0));
        }
        ladders
    }

    /// Whether all ladders of a workload have ended.
    fn has_ended(&self, workload: &Workload) -> bool {
        let mut own = self
            .ends
            .iter()
            .filter(|(_, climbed, _)| climbed.name == workload.name);
        own.all(|(_, _, end)| end.is_some())
    }

    /// Whether a point is measured, as far as known: a verdict is open before its repeat, and it is not
    /// a rung, or a system has reached it.
    pub fn is_reached(&self, point: &PlanPoint<'_>) -> bool {
        let mut open = self.open.iter();
        if !open.all(|open| open.is_due(self.plan, point)) {
            return false;
        }
        if self.highest.is_empty() || point.rate.is_some() {
            return true;
        }
        let mut workloads = self.plan.sweep.workloads.iter();
        let workload = workloads.position(|workload| workload.name == point.workload.name);
        workload.is_none_or(|workload| point.threads <= self.highest[workload])
    }

    /// The number of points of the systems, as far as known.
    pub fn points(&self) -> usize {
        self.systems * self.plan.points().filter(|p| self.is_reached(p)).count()
    }

    /// Whether that is known: every ladder has ended, and no point may get another repeat.
    pub fn have_ended(&self) -> bool {
        let mut open = self.open.iter();
        let are_repeats_known = match self.plan.sweep.until_decided {
            None => true,
            Some(_) => self.open.is_some() && open.all(|open| open.is_over(self.plan)),
        };
        are_repeats_known && self.ends.iter().all(|(_, _, end)| end.is_some())
    }

    /// The clients of the highest rung of each workload whose ladders have ended.
    pub fn highest(&self) -> BTreeMap<&str, u32> {
        let workloads = self.plan.sweep.workloads.iter().zip(&self.highest);
        let ended = workloads.filter(|(workload, _)| self.has_ended(workload));
        ended
            .map(|(workload, threads)| (workload.name.as_str(), *threads))
            .collect()
    }

    /// For each ladder, the start of the sentence about its end, and the sentence if it has ended.
    pub fn said(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.ends.iter().map(|(system, workload, end)| {
            let beginning = beginning(&system.name, &workload.name);
            let whole = end.as_ref().map(|end| format!("{beginning}{end}"));
            (beginning, whole)
        })
    }
}

/// The rung that a system is at, and where and why its ladder has ended if it has.
fn place(
    plan: &Plan,
    known: &Known,
    system: &SystemPlan,
    workload: &Arc<Workload>,
) -> (usize, Option<End>) {
    let threads = &plan.sweep.threads;
    let rungs = threads.iter().map_while(|&threads| {
        let measured = |repeat| {
            let point = PlanPoint {
                workload,
                threads,
                rate: None,
                repeat,
                begins_workload: false,
            };
            known.run(&point.key(plan, system, None))
        };
        let runs = (1..=plan.sweep.repeats).map(measured);
        let runs: Vec<_> = runs.collect::<Option<_>>()?;
        Some(Rung {
            threads,
            ops_per_sec: runs.iter().map(|run| run.ops_per_sec).collect(),
            is_client_saturated: runs.iter().any(|run| run.is_client_saturated),
            fault: runs.iter().find_map(|run| run.fault),
        })
    });
    let rungs: Vec<Rung> = rungs.collect();
    match climb(&rungs, threads.last().copied().unwrap_or(0)) {
        Climb::Ended(end) => (end.rung, Some(end)),
        Climb::GoesOn => (rungs.len(), None),
    }
}
