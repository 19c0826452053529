//! The ladder of client counts of a sweep: which of its rungs are measured. That is a function of
//! what is in the study alone, so that a run which goes on has the same points as one that was not
//! interrupted.
//!
//! Each system climbs until its own rungs say that it ends (`stats::ladder`); all are measured at
//! every rung that any of them has reached, so that they can be compared there.

use super::Sweeper;
use crate::Error;
use std::collections::BTreeMap;
use tailmark_engine::Observer;
use tailmark_model::{Fault, Point, PointKey, finding::CLIENT_SATURATED};
use tailmark_plan::{Plan, Step, SystemPlan};
use tailmark_stats::ladder::{Climb, End, Rung, beginning, climb};
use tailmark_study::Study;

/// System and workload by their places in the plan, clients and repeat.
type RunName = (usize, usize, u32, u32);

/// What is known of one run of a rung.
#[derive(Debug, Clone, Copy)]
struct Run {
    ops_per_sec: f64,
    is_client_saturated: bool,
    fault: Option<Fault>,
}

/// The ladders of a plan, one for each system and workload; none where it has lists of client
/// counts.
pub struct Ladders<'a> {
    plan: &'a Plan,
    /// Those that can be measured.
    systems: Vec<&'a SystemPlan>,
    runs: BTreeMap<RunName, Run>,
    /// Of each workload, the clients of the highest rung that is reached.
    reached: Vec<u32>,
}

impl<'a> Ladders<'a> {
    /// As a study has them, of whose points some are measured again; without one, at their
    /// beginning.
    pub fn new(
        plan: &'a Plan,
        systems: &[&'a SystemPlan],
        study: Option<&Study>,
        retried: &[PointKey],
    ) -> Result<Self, Error> {
        let mut ladders = Self {
            plan,
            systems: systems.to_vec(),
            runs: BTreeMap::new(),
            reached: Vec::new(),
        };
        if let Some(study) = study.filter(|_| plan.sweep.ladder.is_some()) {
            study.each_point_total(|point| {
                if !retried.contains(&point.key) {
                    ladders.put(&point);
                }
            })?;
        }
        ladders.look();
        Ok(ladders)
    }

    /// Whether there are any.
    pub const fn are_there(&self) -> bool {
        self.plan.sweep.ladder.is_some()
    }

    /// Takes up a point that was measured.
    pub fn add(&mut self, point: &Point) {
        self.put(point);
        self.look();
    }

    fn put(&mut self, point: &Point) {
        let Point { key, phase } = point;
        let mut systems = self.plan.systems.iter();
        let mut workloads = self.plan.sweep.workloads.iter();
        let system = systems.position(|system| system.name == key.system);
        let workload = workloads.position(|workload| {
            workload.name == key.workload && workload.distribution_name() == key.distribution
        });
        let (Some(system), Some(workload), None) = (system, workload, key.target_rate) else {
            return;
        };
        let run = Run {
            ops_per_sec: phase.ops_per_sec(),
            is_client_saturated: CLIENT_SATURATED.is_among(&phase.findings),
            fault: phase.fault(self.plan.sweep.allow_errors),
        };
        let name = (system, workload, key.threads, key.repeat);
        self.runs.insert(name, run);
    }

    fn look(&mut self) {
        let reached = |workload| {
            let systems = 0..self.plan.systems.len();
            let each = systems.map(|system| self.place(system, workload).0);
            let rung = each.max().unwrap_or(0);
            self.plan.sweep.threads.get(rung).copied().unwrap_or(0)
        };
        let workloads = 0..self.plan.sweep.workloads.len();
        self.reached = workloads.map(reached).collect();
    }

    /// The rung that a system is at, and where and why its ladder has ended if it has.
    fn place(&self, system: usize, workload: usize) -> (usize, Option<End>) {
        let threads = &self.plan.sweep.threads;
        let rungs = threads.iter().map_while(|&threads| {
            let run = |repeat| self.runs.get(&(system, workload, threads, repeat));
            let runs: Option<Vec<&Run>> = (1..=self.plan.sweep.repeats).map(run).collect();
            let runs = runs?;
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

    /// Whether a step is measured, as far as is known by now: it is no rung, or one that a system has
    /// reached.
    pub fn is_reached(&self, step: &Step<'_>) -> bool {
        if !self.are_there() || step.rate.is_some() {
            return true;
        }
        let mut workloads = self.plan.sweep.workloads.iter();
        let workload = workloads.position(|workload| workload.name == step.workload.name);
        workload.is_none_or(|workload| step.threads <= self.reached[workload])
    }

    /// How many points the systems have, as far as is known by now.
    pub fn points(&self) -> usize {
        let steps = self.plan.points().filter(|step| self.is_reached(step));
        self.systems.len() * steps.count()
    }

    /// Whether that is known: every ladder has ended.
    pub fn have_ended(&self) -> bool {
        !self.are_there() || self.ends().all(|(_, end)| end.is_some())
    }

    /// Of each workload the clients of its highest rung, where its ladders have ended.
    pub fn highest(&self) -> BTreeMap<String, u32> {
        let workloads = self.plan.sweep.workloads.iter().enumerate();
        let ended = workloads.filter(|(index, _)| {
            let mut ends = self.ends().filter(|((_, workload), _)| workload == index);
            self.are_there() && ends.all(|(_, end)| end.is_some())
        });
        ended
            .map(|(index, workload)| (workload.name.clone(), self.reached[index]))
            .collect()
    }

    /// System and workload of each ladder, and where it has ended if it has.
    fn ends(&self) -> impl Iterator<Item = ((usize, usize), Option<End>)> {
        let is_there = |system: &SystemPlan| self.systems.iter().any(|is| is.name == system.name);
        let systems = self.plan.systems.iter().enumerate();
        let systems = systems.filter(move |(_, system)| is_there(system));
        systems.flat_map(move |(system, _)| {
            let workloads = 0..self.plan.sweep.workloads.len();
            workloads.map(move |workload| ((system, workload), self.place(system, workload).1))
        })
    }

    /// What is said of each ladder, and how it begins, wherever it may end.
    fn said(&self) -> Vec<(String, Option<String>)> {
        let said = self.ends().map(|((system, workload), end)| {
            let (system, workload) = (
                &self.plan.systems[system].name,
                &self.plan.sweep.workloads[workload].name,
            );
            let beginning = beginning(system, workload);
            let whole = end.map(|end| format!("{beginning}{end}"));
            (beginning, whole)
        });
        said.collect()
    }
}

impl Sweeper<'_> {
    /// Says of each ladder that has ended where and why, once, and keeps that in the study. A rung that
    /// is measured again may have taken that back.
    pub(super) fn say_ends(&self) -> Result<(), Error> {
        if !self.ladders.are_there() {
            return Ok(());
        }
        let known = self.study.notices()?;
        for (beginning, said) in self.ladders.said() {
            let others = known.iter().filter(|notice| notice.starts_with(&beginning));
            for outdated in others.filter(|notice| said.as_ref() != Some(notice)) {
                self.study.remove_notice(outdated)?;
            }
            if let Some(said) = said.filter(|said| !known.contains(said)) {
                self.observer.notice(&said);
                self.study.add_notice(&said)?;
            }
        }
        Ok(())
    }
}

/// Tells how many points there are, where that changes while ladders are climbed.
pub(super) fn tell_points(ladders: &Ladders<'_>, observer: &dyn Observer) {
    if ladders.are_there() {
        observer.points_known(ladders.points(), ladders.have_ended());
    }
}
