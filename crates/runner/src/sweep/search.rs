//! The search for the highest rate that holds the limits of a plan, trial by trial: each is measured
//! as a point is, and committed to the study, which alone says what is tried next.

use super::{
    Sweeper,
    requested::{Asked, AskedWarmup},
    turn::SystemState,
};
use crate::{Error, seeds::PointSeeds};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tailmark_engine::Enough;
use tailmark_model::{Interval, Limit, PointKey, SloSettings, TimeBasis};
use tailmark_plan::{Order, Plan, Step, SystemPlan, is_searched};
use tailmark_stats::{
    slo::{Next, ShareOver, Slo, Trial, Verdict, counts},
    steady::SteadyRule,
};
use tailmark_study::Study;
use tailmark_workload::Workload;

impl<'a> Sweeper<'a> {
    /// Carries out the searches of a plan; false where that was stopped. Interleaved, the systems
    /// take turns trial by trial.
    pub(super) fn search_all(&mut self, states: &mut [SystemState<'a>]) -> Result<bool, Error> {
        let plan = self.plan;
        for step in searched(plan) {
            let groups: Vec<Vec<usize>> = match self.order {
                Order::Interleaved => vec![(0..states.len()).collect()],
                Order::Systems => (0..states.len()).map(|index| vec![index]).collect(),
            };
            for group in groups {
                loop {
                    let mut has_ended = true;
                    for &index in &group {
                        let state = &mut states[index];
                        let Some(next) = self.next_trial(state.system, &step)? else {
                            continue;
                        };
                        has_ended = false;
                        if !self.trial(state, step, &next)? {
                            return Ok(false);
                        }
                    }
                    if has_ended {
                        break;
                    }
                }
            }
        }
        Ok(true)
    }

    /// What is tried next on a system; none where its search is over.
    fn next_trial(&self, system: &SystemPlan, step: &Step<'_>) -> Result<Option<NextTrial>, Error> {
        let Some(settings) = self.plan.slo.as_ref().filter(|_| is_compared(system)) else {
            return Ok(None);
        };
        let slo = search_of(self.plan, &self.study, settings, system, step.workload)?;
        let Next::Try { rate, to_follow } = slo.next(settings) else {
            return Ok(None);
        };
        // What is to be confirmed behind it has its time too.
        let to_follow = settings.shortest_trial() * u32::try_from(to_follow).unwrap_or(u32::MAX);
        let spent = slo.took() + settings.warmup;
        let left = settings.time.saturating_sub(spent + to_follow);
        let rule = &settings.rule;
        Ok(Some(NextTrial {
            rate,
            attempt: slo.tries_of(rate) + 1,
            is_first: slo.trials.is_empty(),
            longest: left.clamp(rule.shortest(), rule.longest()),
        }))
    }

    /// Measures a trial and commits it; false where that was stopped.
    fn trial(
        &mut self,
        state: &mut SystemState<'a>,
        step: Step<'a>,
        next: &NextTrial,
    ) -> Result<bool, Error> {
        let plan = self.plan;
        let Some(settings) = &plan.slo else {
            return Ok(true);
        };
        // Before the first of a workload its data set is loaded again where the plan wants that.
        let step = Step {
            begins_workload: next.is_first,
            ..step
        };
        let key = PointKey {
            threads: settings.threads,
            repeat: next.attempt,
            arrivals: Some(settings.arrivals),
            ..step.key(plan, state.system, Some(next.rate))
        };
        if !self.make_ready(state, &step)? {
            return Ok(false);
        }
        let judge = Judge::new(settings);
        let requested = Asked {
            operations: None,
            duration: Some(next.longest),
            warmup: AskedWarmup::For(settings.warmup),
            enough: Some(&judge),
            seeds: PointSeeds::of_trial(plan.sweep.seed, &key),
            steady: SteadyRule {
                latency: settings.latency.first().and_then(|limit| limit.metric()),
            },
            ..Asked::of_step(plan, step)
        };
        let Some(measured) = self.measured(state, &requested, key)? else {
            return Ok(false);
        };
        self.study.add_trial(&measured.point)?;
        self.has_measured = true;
        self.summary.trials_measured += 1;
        let slo = search_of(plan, &self.study, settings, state.system, step.workload)?;
        self.observer.trial_finished(&slo, settings);
        measured.settled.map(|_| true)
    }
}

/// What is tried next.
struct NextTrial {
    /// Operations per second.
    rate: f64,
    /// How often it has been tried then.
    attempt: u32,
    /// Whether it is the first of its search.
    is_first: bool,
    /// The most that it takes: no longer than there is time for the search.
    longest: Duration,
}

/// How many searches of a system are to be carried out, whatever the study has.
pub(crate) fn searches(plan: &Plan, system: &SystemPlan) -> usize {
    if is_compared(system) {
        searched(plan).len()
    } else {
        0
    }
}

/// How many of them are over.
pub(crate) fn finished(plan: &Plan, study: &Study, system: &SystemPlan) -> Result<usize, Error> {
    let Some(settings) = plan.slo.as_ref().filter(|_| is_compared(system)) else {
        return Ok(0);
    };
    let mut finished = 0;
    for step in searched(plan) {
        let slo = search_of(plan, study, settings, system, step.workload)?;
        finished += usize::from(matches!(slo.next(settings), Next::Done(_)));
    }
    Ok(finished)
}

/// Whether a search of a system goes on.
pub(super) fn is_pending(plan: &Plan, study: &Study, system: &SystemPlan) -> Result<bool, Error> {
    Ok(finished(plan, study, system)? < searches(plan, system))
}

/// A ceiling is there to say what a device could do, and is not searched.
fn is_compared(system: &SystemPlan) -> bool {
    system.ceiling_for.is_none()
}

/// A step for each workload that a search has anything to judge in. Its data set is that of the last
/// repeat.
fn searched(plan: &Plan) -> Vec<Step<'_>> {
    let settings = plan.slo.as_ref();
    let workloads = plan.sweep.workloads.iter();
    let searched = workloads.filter(|of| settings.is_some_and(|slo| is_searched(slo, of)));
    let step = |workload| Step {
        workload,
        threads: settings.map_or(1, |slo| slo.threads),
        rate: None,
        repeat: plan.sweep.repeats,
        begins_workload: false,
    };
    searched.map(step).collect()
}

/// The search of a system and a workload, as far as the study has it.
fn search_of(
    plan: &Plan,
    study: &Study,
    settings: &SloSettings,
    system: &SystemPlan,
    workload: &Workload,
) -> Result<Slo, Error> {
    let mut trials = Vec::new();
    study.each_trial(|trial| {
        if trial.key.system == system.name && trial.key.workload == workload.name {
            trials.push(Trial::from_point(&trial, settings));
        }
        Ok(())
    })?;
    let named = (
        system.name.as_str(),
        workload.name.as_str(),
        workload.distribution_name(),
    );
    let points = study.point_totals()?;
    let allow_errors = plan.sweep.allow_errors;
    Ok(Slo::new(named, settings, &points, &trials, allow_errors))
}

/// Ends a trial as soon as all of its limits are known to hold, or one not to; asked at a few
/// numbers of blocks.
struct Judge<'a> {
    settings: &'a SloSettings,
    /// How many blocks there were when it was looked at the last time.
    looked: AtomicUsize,
}

impl<'a> Judge<'a> {
    fn new(settings: &'a SloSettings) -> Self {
        Self {
            settings,
            looked: AtomicUsize::new(0),
        }
    }
}

impl Enough for Judge<'_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        let rule = &self.settings.rule;
        let end_s = so_far
            .last()
            .map_or(0.0, |last| last.start_s + last.length_s);
        let blocks = ((end_s + 1e-6) / rule.block.as_secs_f64()) as usize;
        if !rule.is_look(blocks) || self.looked.swap(blocks, Ordering::Relaxed) == blocks {
            return false;
        }
        // None of requests that the workload does not send.
        let verdict = |limit: &Limit| {
            let counts = counts::of_intervals(so_far.iter().copied(), *limit, TimeBasis::Response);
            let (blocks, block_s) = counts::independent_blocks(&counts, rule);
            Some(ShareOver::new(&blocks, block_s)?.verdict(*limit, rule))
        };
        let all: Vec<Verdict> = self.settings.latency.iter().filter_map(verdict).collect();
        Verdict::of_all(&all) != Verdict::Undecided
    }
}
