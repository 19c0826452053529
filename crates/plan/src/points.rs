//! The points of a plan, in the order in which they are measured.

use crate::{Plan, SystemPlan};
use std::sync::Arc;
use tailmark_results::PointKey;
use tailmark_workload::Workload;

/// One point of every system: a workload at a number of threads.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// What its clients do.
    pub workload: &'a Arc<Workload>,
    /// How many clients.
    pub threads: u32,
    /// From 1.
    pub repeat: u32,
}

impl Step<'_> {
    /// Its name in the study.
    #[must_use]
    pub fn key(&self, plan: &Plan, system: &SystemPlan) -> PointKey {
        PointKey {
            system: system.name.clone(),
            workload: self.workload.name.clone(),
            distribution: self.workload.distribution_name().to_owned(),
            threads: self.threads,
            repeat: self.repeat,
            target_rate: plan.sweep.rate,
            arrivals: None,
        }
    }
}

impl Plan {
    /// The points of one system in the order in which they are measured: workloads in the order of
    /// the plan, each over all thread counts, and all of that again for each repeat.
    pub fn points(&self) -> impl Iterator<Item = Step<'_>> {
        let sweep = &self.sweep;
        (1..=sweep.repeats).flat_map(move |repeat| {
            sweep.workloads.iter().flat_map(move |workload| {
                sweep.threads.iter().map(move |&threads| Step {
                    workload,
                    threads,
                    repeat,
                })
            })
        })
    }
}
