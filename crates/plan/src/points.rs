//! The points of a plan, in the order in which they are measured.

use crate::{AskedRate, Order, Plan, Sweep, SystemPlan};
use std::sync::Arc;
use tailmark_model::PointKey;
use tailmark_workload::Workload;

/// One point of every system: a workload at a number of threads or at a rate.
#[derive(Debug, Clone, Copy)]
pub struct PlanPoint<'a> {
    /// Its workload.
    pub workload: &'a Arc<Workload>,
    /// Its clients. At a rate of the axis, the most operations in flight.
    pub threads: u32,
    /// Its rate; `None`: as fast as the clients can.
    pub rate: Option<AskedRate>,
    /// The repeat, from 1.
    pub repeat: u32,
    /// Whether it is the first point of its workload in this repeat.
    pub begins_workload: bool,
}

impl PlanPoint<'_> {
    /// The rate in operations per second, if it does not depend on a peak; `None` in a closed loop,
    /// too.
    #[must_use]
    pub fn fixed_rate(&self) -> Option<f64> {
        match self.rate {
            Some(AskedRate::Fixed(rate)) => Some(rate),
            Some(AskedRate::OfPeak(_)) | None => None,
        }
    }

    /// Its name in the study, at this rate.
    #[must_use]
    pub fn key(&self, plan: &Plan, system: &SystemPlan, rate: Option<f64>) -> PointKey {
        PointKey {
            system: system.name.clone(),
            workload: self.workload.name.clone(),
            distribution: self.workload.distribution_name().to_owned(),
            threads: self.threads,
            repeat: self.repeat,
            target_rate: rate,
            arrivals: rate.and(plan.sweep.arrivals),
        }
    }
}

impl Sweep {
    /// The axis of each workload: thread counts in the order of the plan, then rates.
    pub fn axis(&self) -> impl Iterator<Item = (u32, Option<AskedRate>)> {
        let rate = self.rate.map(AskedRate::Fixed);
        let threads = self.threads.iter().map(move |&threads| (threads, rate));
        let rates = self
            .rates
            .iter()
            .map(|&asked| (self.rate_threads, Some(asked)));
        threads.chain(rates)
    }

    /// The system whose peak a percentage refers to, at a point of `system`.
    #[must_use]
    pub fn peak_of<'a>(&'a self, system: &'a SystemPlan) -> &'a str {
        self.rates_of.as_deref().unwrap_or(&system.name)
    }
}

impl Plan {
    /// The points of one system in the order in which they are measured: for each repeat, the
    /// workloads in the order of the plan, each over all thread counts and then all rates. On a
    /// ladder, all repeats of a rung come before the next, because they decide whether there is a
    /// next. All rungs are points here, wherever the ladder ends.
    pub fn points(&self) -> impl Iterator<Item = PlanPoint<'_>> {
        self.numbered_points().map(|(_, point)| point)
    }

    /// The points of one system without repeats: each in its first.
    pub fn grid(&self) -> impl Iterator<Item = PlanPoint<'_>> {
        self.sweep.workloads.iter().flat_map(move |workload| {
            let points = self.sweep.axis().enumerate();
            points.map(move |(index, (threads, rate))| PlanPoint {
                workload,
                threads,
                rate,
                repeat: 1,
                begins_workload: index == 0,
            })
        })
    }

    /// The points of one system in order, each with its place in [`Self::grid`].
    fn numbered_points(&self) -> Box<dyn Iterator<Item = (usize, PlanPoint<'_>)> + '_> {
        let repeats = 1..=self.sweep.repeats;
        let at = |point, repeat| PlanPoint { repeat, ..point };
        if self.sweep.ladder.is_none() {
            return Box::new(repeats.flat_map(move |repeat| {
                let points = self.grid().enumerate();
                points.map(move |(index, point)| (index, at(point, repeat)))
            }));
        }
        Box::new(self.grid().enumerate().flat_map(move |(index, point)| {
            repeats.clone().map(move |repeat| {
                let begins_workload = point.begins_workload && repeat == 1;
                let point = at(point, repeat);
                (
                    index,
                    PlanPoint {
                        begins_workload,
                        ..point
                    },
                )
            })
        }))
    }

    /// The points of several systems in the order in which they are measured, each with the index
    /// of its system. Every system has its points in the order of [`Self::points`].
    ///
    /// If interleaved, each point goes over all systems, forward or backward. The direction changes
    /// from point to point, and for one point from repeat to repeat, so that no system always comes
    /// first. All systems have measured the thread counts of a workload before its first rate, so
    /// that every peak is known.
    #[must_use]
    pub fn points_of(
        &self,
        order: Order,
        systems: usize,
    ) -> Box<dyn Iterator<Item = (usize, PlanPoint<'_>)> + '_> {
        match order {
            Order::Systems => Box::new(
                (0..systems)
                    .flat_map(move |system| self.points().map(move |point| (system, point))),
            ),
            Order::Interleaved => {
                Box::new(self.numbered_points().flat_map(move |(index, point)| {
                    let is_forwards = (index + point.repeat as usize) % 2 == 1;
                    (0..systems).map(move |turn| {
                        if is_forwards {
                            (turn, point)
                        } else {
                            (systems - 1 - turn, point)
                        }
                    })
                }))
            }
        }
    }

    /// The systems in the order in which they are measured one after the other: the order of the
    /// plan, except that the system whose peak the rates of all refer to comes first. Each has its
    /// index in the plan.
    #[must_use]
    pub fn systems_in_order(&self) -> Vec<(usize, &SystemPlan)> {
        let mut systems: Vec<_> = self.systems.iter().enumerate().collect();
        systems.sort_by_key(|(_, system)| !self.is_first(system));
        systems
    }

    /// Whether a system is measured first, because the rates of all refer to its peak.
    #[must_use]
    pub fn is_first(&self, system: &SystemPlan) -> bool {
        self.sweep.rates_of.as_ref() == Some(&system.name)
    }
}
