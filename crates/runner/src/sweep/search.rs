//! The search for the highest rate that holds a plan's limits, trial by trial. Each trial is
//! measured like a point and committed to the study, which alone decides the next rate.

use super::{
    Sweeper,
    requested::{PointRequest, WarmupRequest},
    turn::SystemState,
};
use crate::{
    Error,
    seeds::PointSeeds,
    steps::{NextTrial, is_compared, searched},
};
use std::sync::atomic::{AtomicUsize, Ordering};
use tailmark_engine::Enough;
use tailmark_model::{Interval, Limit, PointKey, SloSettings, TimeBasis};
use tailmark_plan::{Plan, PlanPoint, SystemPlan};
use tailmark_stats::{
    slo::{Next, ShareOver, Slo, Trial, Verdict, counts},
    steady::SteadyRule,
};
use tailmark_study::Study;
use tailmark_workload::Workload;

impl Sweeper<'_> {
    /// The next try on a system; `None` if its search is over.
    pub(super) fn next_trial(
        &self,
        system: &SystemPlan,
        point: &PlanPoint<'_>,
    ) -> Result<Option<NextTrial>, Error> {
        let Some(settings) = self.plan.slo.as_ref().filter(|_| is_compared(system)) else {
            return Ok(None);
        };
        let slo = search_of(self.plan, &self.study, settings, system, point.workload)?;
        let Next::Try { rate, to_follow } = slo.next(settings) else {
            return Ok(None);
        };
        // Later confirmations need time too.
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

    /// Measures a trial and commits it; false if it was stopped.
    pub(super) fn trial(
        &mut self,
        state: &SystemState<'_>,
        point: PlanPoint<'_>,
        next: &NextTrial,
    ) -> Result<bool, Error> {
        let plan = self.plan;
        let Some(settings) = &plan.slo else {
            return Ok(true);
        };
        let key = PointKey {
            threads: settings.threads,
            repeat: next.attempt,
            arrivals: Some(settings.arrivals),
            ..point.key(plan, state.system, Some(next.rate))
        };
        let judge = Judge::new(settings);
        let requested = PointRequest {
            operations: None,
            duration: Some(next.longest),
            warmup: WarmupRequest::For(settings.warmup),
            enough: Some(&judge),
            seeds: PointSeeds::of_trial(plan.sweep.seed, &key),
            steady: SteadyRule {
                latency: settings.latency.first().and_then(|limit| limit.metric()),
            },
            ..PointRequest::from_point(plan, point)
        };
        let Some(measured) = self.measured(state, &requested, key)? else {
            return Ok(false);
        };
        self.study.add_trial(&measured.point)?;
        self.has_measured = true;
        self.summary.trials_measured += 1;
        let slo = search_of(plan, &self.study, settings, state.system, point.workload)?;
        self.observer.trial_finished(&slo, settings);
        measured.settled.map(|_| true)
    }
}

/// The workloads whose search on a system is over.
pub(crate) fn finished<'a>(
    plan: &'a Plan,
    study: &Study,
    system: &SystemPlan,
) -> Result<Vec<&'a str>, Error> {
    let Some(settings) = plan.slo.as_ref().filter(|_| is_compared(system)) else {
        return Ok(Vec::new());
    };
    let mut finished = Vec::new();
    for point in searched(plan) {
        let slo = search_of(plan, study, settings, system, point.workload)?;
        if matches!(slo.next(settings), Next::Done(_)) {
            finished.push(point.workload.name.as_str());
        }
    }
    Ok(finished)
}

/// Whether a search of a system is unfinished.
pub(super) fn is_pending(plan: &Plan, study: &Study, system: &SystemPlan) -> Result<bool, Error> {
    let is_searched = is_compared(system) && searched(plan).next().is_some();
    Ok(is_searched && finished(plan, study, system)?.len() < searched(plan).count())
}

/// The search of a system and a workload so far, from the study.
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

/// Ends a trial as soon as all of its limits are known to hold, or one is known not to. Checked at
/// a few numbers of blocks.
struct Judge<'a> {
    settings: &'a SloSettings,
    /// The number of blocks at the last check.
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
        let count = ((end_s + 1e-6) / rule.block.as_secs_f64()) as usize;
        if !rule.is_look(count) || self.looked.swap(count, Ordering::Relaxed) == count {
            return false;
        }
        // No limits for kinds of request that the workload does not send.
        let verdict = |limit: &Limit| {
            let counts = counts::of_intervals(so_far.iter().copied(), *limit, TimeBasis::Response);
            let (blocks, block_s) = counts::independent_blocks(&counts, rule);
            Some(ShareOver::new(&blocks, block_s)?.verdict(*limit, rule))
        };
        let all: Vec<Verdict> = self.settings.latency.iter().filter_map(verdict).collect();
        Verdict::of_all(&all) != Verdict::Undecided
    }
}
