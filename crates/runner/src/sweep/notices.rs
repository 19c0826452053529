//! Notices about the steps of a run, also kept in the study.

use super::Sweeper;
use crate::{Error, steps::Ladders};
use tailmark_engine::Observer;
use tailmark_model::{ResolvedRate, number};
use tailmark_plan::{AskedRate, Plan, PlanPoint, SystemPlan};

impl Sweeper<'_> {
    /// Writes a resolved rate to the study before anything is measured at it, so that a kill, later
    /// repeats and other systems cannot change it.
    pub(super) fn keep_rate(
        &self,
        rate: &ResolvedRate,
        point: &PlanPoint<'_>,
        system: &SystemPlan,
    ) -> Result<(), Error> {
        self.study.add_resolved_rate(rate)?;
        self.observer.notice(&format!(
            "system `{}`, workload `{}`: {} of the peak of {} ({}) is {}",
            rate.system,
            rate.workload,
            rate.requested,
            rate.of_system,
            number::ops(rate.peak_ops_per_sec),
            number::ops(rate.rate)
        ));
        // An earlier run may have found no peak for it.
        Ok(self
            .study
            .remove_notice(&skipped(self.plan, point, system))?)
    }

    /// Says once of a workload that its points at parts of a peak are left out.
    pub(super) fn skip(&mut self, point: &PlanPoint<'_>, system: &SystemPlan) -> Result<(), Error> {
        let notice = skipped(self.plan, point, system);
        if !self.skipped.contains(&notice) {
            self.observer.notice(&notice);
            self.study.add_notice(&notice)?;
            self.skipped.push(notice);
        }
        Ok(())
    }

    /// Says of each ladder that has ended where and why, once, and keeps that in the study. A rung
    /// that is measured again may have taken that back.
    pub(super) fn say_ends(&self, ladders: &Ladders<'_>) -> Result<(), Error> {
        if self.plan.sweep.ladder.is_none() {
            return Ok(());
        }
        let known = self.study.notices()?;
        for (beginning, said) in ladders.said() {
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

impl Sweeper<'_> {
    /// Reports the points that are open before a repeat that only they get, once.
    pub(super) fn tell_open(&mut self, ladders: &Ladders<'_>, repeat: u32) {
        let range = self.plan.sweep.until_decided;
        let Some(range) = range.filter(|range| repeat > range.least.max(self.repeat)) else {
            return;
        };
        self.repeat = repeat;
        let grid = self.plan.grid();
        let again = grid.map(|point| PlanPoint { repeat, ..point });
        let open: Vec<_> = again.filter(|point| ladders.is_reached(point)).collect();
        let name = |point: &PlanPoint<'_>| {
            let threads = number::threads(point.threads);
            let place = match point.rate {
                Some(AskedRate::Fixed(rate)) => format!("{rate} ops/s and {threads}"),
                Some(AskedRate::OfPeak(_)) => format!("a part of the peak and {threads}"),
                None => threads,
            };
            format!("{} at {place}", point.workload.name)
        };
        let named: Vec<_> = open.iter().take(OPEN_NAMED).map(name).collect();
        let more = if open.len() > named.len() {
            ", ..."
        } else {
            ""
        };
        let verb = if open.len() == 1 { "is" } else { "are" };
        self.observer.notice(&format!(
            "repeat {repeat} of at most {}: {} of {} {verb} open ({}{more})",
            range.most,
            open.len(),
            number::plural(self.plan.grid().count() as u64, "point"),
            named.join(", ")
        ));
    }
}

/// The most open points that are named.
const OPEN_NAMED: usize = 3;

/// Reports the number of points, if it changes while ladders are climbed and verdicts are reached.
pub(super) fn tell_points(plan: &Plan, ladders: &Ladders<'_>, observer: &dyn Observer) {
    if plan.sweep.ladder.is_some() || plan.sweep.until_decided.is_some() {
        observer.points_known(ladders.points(), ladders.have_ended());
    }
}

/// Why the points of a workload at percentages are left out, and what to do.
fn skipped(plan: &Plan, point: &PlanPoint<'_>, system: &SystemPlan) -> String {
    let (name, workload) = (&system.name, &point.workload.name);
    let peak = plan.sweep.peak_of(system);
    let own = if peak == name {
        "it".to_owned()
    } else {
        format!("system `{peak}`")
    };
    format!(
        "system `{name}`: the points of workload `{workload}` at percentages of a peak were left \
         out, because {own} had no valid point of the workload at any thread count, so there was \
         no peak. Find out why and measure again (--retry-failed), or give rates in operations per \
         second"
    )
}
