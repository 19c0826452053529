//! The passes over the points of a plan: each in its order, again those that may have become
//! possible or that have to be evened out, and the searches at the end.

use super::{Summary, Sweeper, search, turn::SystemState, warmups::all_short};
use crate::{Error, retry};
use tailmark_plan::SystemPlan;

impl<'a> Sweeper<'a> {
    /// Measures everything; what the run did.
    pub(super) fn carry_out(mut self, systems: &[&'a SystemPlan]) -> Result<Summary, Error> {
        // A run that ended may not have come to it.
        self.say_ends()?;
        self.measure_all(systems)?;
        self.conclude(systems)
    }

    /// Measures all points, and then carries out the searches.
    fn measure_all(&mut self, systems: &[&'a SystemPlan]) -> Result<(), Error> {
        let states = systems.iter();
        let mut states: Vec<_> = states
            .map(|system| SystemState::new(self.plan, system).with_made(&self.made))
            .collect();
        // With what is evened out a ladder may go on, and with its rungs there is more to even out.
        loop {
            self.measure_points(&mut states)?;
            if !self.even_out(systems, &mut states)? {
                break;
            }
            states.iter_mut().for_each(SystemState::look_again);
        }
        if self.stop.requested() {
            Ok(())
        } else {
            self.midway(|sweep| sweep.search_all(&mut states)).map(drop)
        }
    }

    /// Measures the points of all systems in their order, until a stop is requested; and again those
    /// that were left out for want of a peak, where that may have been measured since, and the rungs
    /// that a system behind has reached.
    fn measure_points(&mut self, states: &mut [SystemState<'a>]) -> Result<(), Error> {
        loop {
            let before = self.summary.points_measured;
            self.measure_each(states)?;
            let Summary {
                points_skipped: skipped,
                points_measured: measured,
                ..
            } = self.summary;
            let may_have_peak = skipped > 0 && measured > self.measured_at_skipped;
            let has_rungs =
                self.ladders.are_there() && self.summary.points_done() < self.ladders.points();
            if self.stop.requested() || measured == before || !(may_have_peak || has_rungs) {
                return Ok(());
            }
            self.summary.points_skipped = 0;
            states.iter_mut().for_each(SystemState::look_again);
        }
    }

    /// What goes wrong when something is in the study already says so.
    pub(super) fn midway<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        act(self).map_err(|error| {
            if self.has_measured {
                Error::Midway(Box::new(error))
            } else {
                error
            }
        })
    }

    /// What the run did.
    fn conclude(self, systems: &[&SystemPlan]) -> Result<Summary, Error> {
        let is_done = self.ladders.have_ended()
            && self.summary.points_done() >= self.ladders.points()
            && all_short(self.plan, &self.study, systems)? == 0
            && self.searches_are_done(systems)?;
        Ok(Summary {
            failed: retry::failed_points(self.plan, &self.study)?,
            interrupted: self.stop.requested() && !is_done,
            ..self.summary
        })
    }

    fn searches_are_done(&self, systems: &[&SystemPlan]) -> Result<bool, Error> {
        for system in systems {
            if search::is_pending(self.plan, &self.study, system)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn measure_each(&mut self, states: &mut [SystemState<'a>]) -> Result<(), Error> {
        let plan = self.plan;
        for (system, step) in plan.points_of(self.order, states.len()) {
            if !self.midway(|sweep| sweep.turn(&mut states[system], step))? {
                break;
            }
        }
        Ok(())
    }
}
