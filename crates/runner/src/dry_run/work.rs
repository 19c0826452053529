//! The remaining work of a plan: its steps, counted for each system.

use super::{Facts, SystemFacts};
use crate::steps::{Ladders, Make, Outlook, Step, Steps};
use std::borrow::Cow;
use tailmark_driver::Place;
use tailmark_plan::{Order, Plan, PlanPoint, SystemPlan, Unexpected};

/// The remaining work, as far as it is known.
pub struct Work<'a> {
    /// In the order of their first turn.
    pub systems: Vec<SystemWork<'a>>,
    pub ladders: Ladders<'a>,
    /// How often the turn passes from one system to another.
    pub changes: u64,
    /// Of these, the ones for which a service is stopped.
    pub stops: u64,
}

/// The remaining work of one system.
pub struct SystemWork<'a> {
    pub system: &'a SystemPlan,
    /// Its index in the plan.
    pub place: usize,
    pub known: Cow<'a, SystemFacts>,
    /// Points to measure.
    pub points: Vec<PlanPoint<'a>>,
    /// What its data set needs first.
    pub first_make: Option<Make>,
    /// How often its data set is loaded for its points.
    pub loads: u64,
    /// How often it is kept as it was loaded.
    pub keeps: u64,
    /// How often it is restored.
    pub restores: u64,
    /// Searches that are not over.
    pub searches: u64,
}

impl<'a> Work<'a> {
    /// Of a run whose systems take turns so.
    pub fn new(plan: &'a Plan, facts: &'a Facts, order: Order) -> Self {
        let all = plan.systems.iter().collect();
        let measured = facts.known.clone();
        let mut steps = Steps::new(plan, all, order, measured, Outlook::UpTo);
        let work = |system: &'a SystemPlan| {
            let mut others = plan.systems.iter();
            let place = others.position(|other| other.name == system.name);
            let place = place.expect("it is a system of the plan");
            let known = facts.systems.get(place);
            SystemWork {
                system,
                place,
                known: known.map_or_else(Cow::default, Cow::Borrowed),
                points: Vec::new(),
                first_make: None,
                loads: 0,
                keeps: 0,
                restores: 0,
                searches: 0,
            }
        };
        let mut systems: Vec<_> = steps.systems().map(work).collect();
        let (mut changes, mut stops) = (0, 0);
        while let Some(step) = steps.next() {
            match step {
                Step::Look { system } => steps.looked(system, systems[system].known.data),
                Step::Point { system, point, .. } => systems[system].points.push(point),
                Step::Make { system, make, .. } => systems[system].add(plan, make),
                Step::Switch { from, .. } => {
                    let from = from.map(|from| systems[from].system);
                    changes += u64::from(from.is_some());
                    stops += u64::from(from.is_some_and(|from| from.service.is_some()));
                }
                Step::Search { system, point } => {
                    let SystemWork {
                        known, searches, ..
                    } = &mut systems[system];
                    let is_over = known.searches_over.contains(&point.workload.name);
                    *searches += u64::from(!is_over);
                }
                Step::Rate { .. }
                | Step::Skip { .. }
                | Step::EvenOut { .. }
                | Step::Trial { .. }
                | Step::Anatomy { .. } => {}
            }
        }
        Self {
            systems,
            ladders: steps.into_ladders(),
            changes,
            stops,
        }
    }

    /// `up to ` if there may be fewer points.
    pub fn up_to(&self) -> &'static str {
        if self.ladders.have_ended() {
            ""
        } else {
            "up to "
        }
    }

    /// A sum over all systems.
    pub fn sum(&self, count: impl Fn(&SystemWork<'a>) -> u64) -> u64 {
        self.systems.iter().map(count).fold(0, u64::saturating_add)
    }
}

impl SystemWork<'_> {
    /// Whether it can be measured, or may be left out.
    pub fn can_run(&self, plan: &Plan) -> bool {
        let is_other = plan.general.unexpected == Unexpected::Error;
        let is_other = is_other && !self.known.unexpected.is_empty();
        let is_refused = self.known.refusal.is_some() && !self.system.optional;
        self.is_over() || !(is_other || is_refused)
    }

    /// Whether nothing of it is left to measure.
    pub fn is_over(&self) -> bool {
        self.points.is_empty() && self.searches == 0
    }

    fn add(&mut self, plan: &Plan, make: Make) {
        if self.points.is_empty() {
            self.first_make.get_or_insert(make);
        }
        // Adopted data is never overwritten by a load.
        let is_loaded = self.system.driver.place != Place::Nowhere && !self.known.adopted;
        let loads = matches!(make, Make::Load | Make::LoadAgain);
        self.loads += u64::from(is_loaded && loads);
        let keeps = loads && plan.dataset.restore.for_system(self.system).keeps();
        self.keeps += u64::from(keeps || make == Make::Keep);
        self.restores += u64::from(make == Make::Restore);
    }
}
