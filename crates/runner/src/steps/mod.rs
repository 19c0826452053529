//! The run as a list of steps, decided here only. [`crate::run`] executes the steps, the dry run
//! prints and counts them, and progress is counted by them.
//!
//! A step follows from the plan and from what is [`Known`]. After executing it, the caller reports
//! results that decide what is next. A measured point may end a ladder, be the peak that a rate
//! refers to, or have the longest warm-up. Initially the content of the study is known, so a
//! resumed run skips what exists.
//!
//! First come the points of the plan in order, in as many passes as necessary. A later pass has
//! rungs of a ladder that another system has reached since, and points whose peak has become known.
//! Next come points whose warm-up was shorter than that of others, and finally the searches.

mod anatomy;
mod data;
mod known;
mod ladder;
mod open;

pub use anatomy::has_anatomies;
pub use data::{DataState, Make};
pub use known::Known;
pub use ladder::Ladders;

use crate::warmup::WarmupLength;
use std::{collections::VecDeque, time::Duration};
use tailmark_model::{Point, PointKey, ResolvedRate};
use tailmark_plan::{Order, Plan, PlanPoint, SystemPlan, is_searched};

/// The next action of a run. Systems are identified by their indices in [`Steps::systems`].
pub enum Step<'a> {
    /// A part of a peak is this rate from now on.
    Rate {
        system: usize,
        point: PlanPoint<'a>,
        rate: ResolvedRate,
    },
    /// A point is skipped: there is no peak that its rate is a part of.
    Skip { system: usize, point: PlanPoint<'a> },
    /// The turn passes to another system. The service of the previous one stops.
    Switch { from: Option<usize>, to: usize },
    /// Looks at the state of a system; answered by [`Steps::looked`].
    Look { system: usize },
    /// The data set of a system is made for a point; answered by [`Steps::made`].
    Make {
        system: usize,
        point: PlanPoint<'a>,
        make: Make,
    },
    /// Measures a point; answered by [`Steps::measured`].
    Point {
        system: usize,
        point: PlanPoint<'a>,
        /// Without a rate if that is still unknown ([`Outlook::UpTo`]).
        key: PointKey,
        /// The length of its warm-up, if a rule decides.
        warmup: Option<WarmupLength>,
    },
    /// That many points are measured again, because others warmed up for longer.
    EvenOut { points: usize },
    /// Asks for the next rate of a search; answered by [`Steps::searched`].
    Search { system: usize, point: PlanPoint<'a> },
    /// Measures a point and takes its requests apart; answered by [`Steps::taken_apart`].
    Anatomy {
        system: usize,
        point: PlanPoint<'a>,
        key: PointKey,
        /// The length of its warm-up, if a rule decides.
        warmup: Option<WarmupLength>,
    },
    /// Measures a trial of a search.
    Trial {
        system: usize,
        point: PlanPoint<'a>,
        trial: NextTrial,
    },
}

/// The next try of a search.
#[derive(Debug, Clone, Copy)]
pub struct NextTrial {
    /// Operations per second.
    pub rate: f64,
    /// The number of this try at the rate.
    pub attempt: u32,
    /// Whether it is the first of its search.
    pub is_first: bool,
    /// The most that it takes: no longer than there is time for the search.
    pub longest: Duration,
}

/// The steps to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Steps that are due according to current knowledge, which grows with each step.
    Known,
    /// All that may become due, for a list that is not carried out: every rung of a ladder that has
    /// not ended, and points whose peak is not known.
    UpTo,
}

/// The steps of a run.
pub struct Steps<'a> {
    plan: &'a Plan,
    outlook: Outlook,
    order: Order,
    systems: Vec<System<'a>>,
    known: Known,
    ladders: Ladders<'a>,
    stage: Stage<'a>,
    /// The rest of the pass over the points.
    pass: Box<dyn Iterator<Item = (usize, PlanPoint<'a>)> + 'a>,
    /// A point whose rate has just become known.
    again: Option<(usize, PlanPoint<'a>)>,
    /// The system whose turn it is.
    turn: Option<usize>,
    /// The measurement that follows once everything is ready for it.
    next: Option<Measurement<'a>>,
    /// Points that were measured, and how many of them before this pass.
    measured: usize,
    measured_before: usize,
    /// Points that were skipped in this pass.
    skipped: usize,
    /// The number of measured points when the first one was skipped.
    measured_at_first_skip: Option<usize>,
}

/// A system and its state.
struct System<'a> {
    plan: &'a SystemPlan,
    /// None before it was looked at, and where other systems may have changed it since.
    data: Option<DataState>,
    /// The point before.
    before: Option<PlanPoint<'a>>,
}

/// The part of the run that is listed.
enum Stage<'a> {
    Points,
    /// Points whose warm-up was shorter than that of others, with their number before this pass.
    Evening(usize),
    Searches(Searches<'a>),
    /// Points whose requests are taken apart.
    Anatomies(VecDeque<(usize, PlanPoint<'a>)>),
}

/// Groups of searches that take turns, and the next try of the first one if it was asked.
#[derive(Default)]
struct Searches<'a> {
    groups: VecDeque<VecDeque<(usize, PlanPoint<'a>)>>,
    is_asked: bool,
    next: Option<NextTrial>,
}

/// A point or a trial, before it is measured.
struct Measurement<'a> {
    system: usize,
    point: PlanPoint<'a>,
    trial: Option<NextTrial>,
    /// Whether its requests are taken apart.
    is_anatomy: bool,
    /// Whether the data set is as it has to be.
    is_made: bool,
}

impl<'a> Steps<'a> {
    /// The steps of a plan with these systems, in the order of the plan, that take turns so.
    pub fn new(
        plan: &'a Plan,
        mut systems: Vec<&'a SystemPlan>,
        order: Order,
        known: Known,
        outlook: Outlook,
    ) -> Self {
        if order == Order::Systems {
            systems.sort_by_key(|system| !plan.is_first(system));
        }
        let ladders = Ladders::new(plan, &systems, &known, outlook);
        let system = |system_plan| System {
            plan: system_plan,
            data: None,
            before: None,
        };
        Self {
            plan,
            outlook,
            order,
            pass: plan.points_of(order, systems.len()),
            systems: systems.into_iter().map(system).collect(),
            known,
            ladders,
            stage: Stage::Points,
            again: None,
            turn: None,
            next: None,
            measured: 0,
            measured_before: 0,
            skipped: 0,
            measured_at_first_skip: None,
        }
    }

    /// The systems in the order of their first turn.
    pub fn systems(&self) -> impl Iterator<Item = &'a SystemPlan> {
        self.systems.iter().map(|system| system.plan)
    }

    /// The ladders, as far as they have been climbed.
    pub const fn ladders(&self) -> &Ladders<'a> {
        &self.ladders
    }

    /// The same, at the end.
    pub fn into_ladders(self) -> Ladders<'a> {
        self.ladders
    }

    /// The number of points left to measure, as far as known.
    pub fn pending(&self) -> usize {
        let is_pending = |point: &PlanPoint<'_>, system| {
            self.ladders.is_reached(point) && self.known.is_pending(self.plan, point, system)
        };
        let points = self.systems().flat_map(|system| {
            let points = self.plan.points();
            points.filter(move |point| is_pending(point, system))
        });
        points.count()
    }

    /// Points that were skipped because their peak is unknown.
    pub const fn skipped(&self) -> usize {
        self.skipped
    }

    /// Reports the state of a system.
    pub fn looked(&mut self, system: usize, data: DataState) {
        self.systems[system].data = Some(data);
    }

    /// Whether the data set of a system is loaded since it was made.
    pub fn made(&mut self, system: usize, is_loaded: bool) {
        if let Some(data) = &mut self.systems[system].data {
            data.is_loaded = is_loaded;
        }
    }

    /// Takes up a point that was measured.
    pub fn measured(&mut self, point: &Point) {
        self.measured += 1;
        self.known.add(self.plan, point);
        let systems: Vec<_> = self.systems().collect();
        self.ladders = Ladders::new(self.plan, &systems, &self.known, self.outlook);
    }

    /// Takes up a point whose requests were taken apart.
    pub fn taken_apart(&mut self, key: PointKey) {
        self.known.add_anatomy(key);
    }

    /// Reports the next try of the search that was asked; `None`: it is over.
    pub fn searched(&mut self, next: Option<NextTrial>) {
        if let Stage::Searches(searches) = &mut self.stage {
            searches.next = next;
        }
    }

    /// The next measurement, or a step that must come before it can be chosen.
    fn choose(&mut self) -> Option<Result<Measurement<'a>, Step<'a>>> {
        loop {
            if let Stage::Searches(searches) = &mut self.stage {
                let chosen = searches.choose();
                if chosen.is_some() {
                    return chosen;
                }
                let systems: Vec<_> = self.systems().collect();
                let due = anatomy::due(self.plan, &self.known, &systems, self.outlook);
                self.stage = Stage::Anatomies(due);
            }
            if let Stage::Anatomies(due) = &mut self.stage {
                let (system, point) = due.pop_front()?;
                return Some(Ok(Measurement {
                    system,
                    point,
                    trial: None,
                    is_anatomy: true,
                    is_made: false,
                }));
            }
            let chosen = match self.again.take().or_else(|| self.pass.next()) {
                Some((system, point)) => self.due(system, point),
                None => self.end_pass().map(Err),
            };
            if chosen.is_some() {
                return chosen;
            }
        }
    }

    /// A due point, or the consequence of its rate.
    fn due(
        &mut self,
        system: usize,
        point: PlanPoint<'a>,
    ) -> Option<Result<Measurement<'a>, Step<'a>>> {
        let (plan, named) = (self.plan, self.systems[system].plan);
        // A rung above the end that was measured before gets the same repeats as the others.
        let is_evened = match self.stage {
            Stage::Evening(_) => self.known.is_short(plan, &point, named),
            Stage::Points | Stage::Searches(_) | Stage::Anatomies(_) => false,
        };
        if !is_evened && !self.ladders.is_reached(&point) {
            return None;
        }
        let is_resolved =
            self.outlook == Outlook::UpTo || self.known.key(plan, &point, named).is_some();
        if is_resolved {
            let is_due = is_evened || self.known.is_pending(plan, &point, named);
            return is_due.then_some(Ok(Measurement {
                system,
                point,
                trial: None,
                is_anatomy: false,
                is_made: false,
            }));
        }
        Some(Err(match self.known.resolve(plan, &point, named) {
            Some(rate) => {
                self.known.add_rate(rate.clone());
                self.again = Some((system, point));
                Step::Rate {
                    system,
                    point,
                    rate,
                }
            }
            None => {
                self.measured_at_first_skip.get_or_insert(self.measured);
                if matches!(self.stage, Stage::Points) {
                    self.skipped += 1;
                }
                Step::Skip { system, point }
            }
        }))
    }

    /// Starts what comes after a pass.
    fn end_pass(&mut self) -> Option<Step<'a>> {
        let systems: Vec<_> = self.systems().collect();
        let short = self.known.short(self.plan, &systems);
        let again = match self.stage {
            Stage::Evening(before) => short < before,
            _ => self.measured > self.measured_before && self.may_go_on(),
        };
        self.measured_before = self.measured;
        self.pass = self.plan.points_of(self.order, systems.len());
        if again {
            self.stage = Stage::Points;
            self.skipped = 0;
            // Another system may have changed the data, if both share one data set.
            self.systems
                .iter_mut()
                .for_each(|system| system.data = None);
        } else if matches!(self.stage, Stage::Points) && short > 0 && self.outlook == Outlook::Known
        {
            self.stage = Stage::Evening(short);
            return Some(Step::EvenOut { points: short });
        } else {
            self.stage = Stage::Searches(Searches::new(self.plan, self.order, &systems));
        }
        None
    }

    /// Whether a further pass may find points that are due: their peak may have been measured since,
    /// or another system has reached their rung.
    fn may_go_on(&self) -> bool {
        let may_have_peak = self.skipped > 0
            && self
                .measured_at_first_skip
                .is_some_and(|before| self.measured > before);
        may_have_peak || self.pending() > self.skipped
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let mut next = match self.next.take() {
            Some(next) => next,
            None => match self.choose()? {
                Ok(next) => next,
                Err(step) => return Some(step),
            },
        };
        let (plan, index, point) = (self.plan, next.system, next.point);
        let system = &mut self.systems[index];
        if self.turn != Some(index) {
            self.next = Some(next);
            let from = self.turn.replace(index);
            return Some(Step::Switch { from, to: index });
        }
        let Some(data) = &mut system.data else {
            self.next = Some(next);
            return Some(Step::Look { system: index });
        };
        if !next.is_made {
            let before = system.before.replace(point);
            let restore = plan.dataset.restore.for_system(system.plan);
            if let Some(make) = data.make((plan, restore), before.as_ref(), &point) {
                data.made(make, restore, &point);
                next.is_made = true;
                self.next = Some(next);
                return Some(Step::Make {
                    system: index,
                    point,
                    make,
                });
            }
        }
        data.used(&point);
        if let Some(trial) = next.trial {
            return Some(Step::Trial {
                system: index,
                point,
                trial,
            });
        }
        let evens = matches!(self.stage, Stage::Evening(_));
        let (named, known) = (system.plan, &self.known);
        let key = known.key(plan, &point, named);
        let key = key.unwrap_or_else(|| point.key(plan, named, None));
        let warmup = known.warmup_length(plan, &point, named, evens);
        Some(if next.is_anatomy {
            Step::Anatomy {
                system: index,
                point,
                key,
                warmup,
            }
        } else {
            Step::Point {
                system: index,
                point,
                key,
                warmup,
            }
        })
    }
}

impl<'a> Searches<'a> {
    /// The searches of a plan. If interleaved, the systems take turns trial by trial. A ceiling
    /// shows what a device can do, and is not searched.
    fn new(plan: &'a Plan, order: Order, systems: &[&SystemPlan]) -> Self {
        let mut groups = VecDeque::new();
        for point in searched(plan) {
            let compared = (0..systems.len()).filter(|&system| is_compared(systems[system]));
            let searches = compared.map(|system| (system, point));
            match order {
                Order::Interleaved => groups.push_back(searches.collect()),
                Order::Systems => groups.extend(searches.map(|search| [search].into())),
            }
        }
        Self {
            groups,
            ..Self::default()
        }
    }

    fn choose(&mut self) -> Option<Result<Measurement<'a>, Step<'a>>> {
        loop {
            let group = self.groups.front_mut()?;
            let Some(&(system, point)) = group.front() else {
                self.groups.pop_front();
                continue;
            };
            self.is_asked = !self.is_asked;
            if self.is_asked {
                return Some(Err(Step::Search { system, point }));
            }
            let Some(trial) = self.next.take() else {
                group.pop_front();
                continue;
            };
            group.rotate_left(1);
            // If the plan says so, the data set is loaded again before a workload's first point.
            let point = PlanPoint {
                begins_workload: trial.is_first,
                ..point
            };
            return Some(Ok(Measurement {
                system,
                point,
                trial: Some(trial),
                is_anatomy: false,
                is_made: false,
            }));
        }
    }
}

/// Whether the searches of a plan include a system.
pub fn is_compared(system: &SystemPlan) -> bool {
    system.ceiling_for.is_none()
}

/// A point for each workload that a search has anything to judge in. Its data set is that of the last
/// repeat.
pub fn searched(plan: &Plan) -> impl Iterator<Item = PlanPoint<'_>> {
    let settings = plan.slo.iter();
    settings.flat_map(|settings| {
        let workloads = plan.sweep.workloads.iter();
        let searched = workloads.filter(|workload| is_searched(settings, workload));
        searched.map(|workload| PlanPoint {
            workload,
            threads: settings.threads,
            rate: None,
            repeat: plan.sweep.repeats,
            begins_workload: false,
        })
    })
}
