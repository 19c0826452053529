//! Executes the steps of a run, one after the other.

use super::{MeasuredPoint, Summary, Sweeper, notices::tell_points, turn::SystemState};
use crate::{
    Error, retry,
    steps::{Step, Steps},
};
use tailmark_model::Point;

impl<'a> Sweeper<'a> {
    /// Executes all steps until a stop is requested. Returns a summary of the run.
    pub(super) fn carry_out(
        mut self,
        mut steps: Steps<'a>,
        mut states: Vec<SystemState<'a>>,
    ) -> Result<Summary, Error> {
        // An earlier run may have ended before this step.
        self.say_ends(steps.ladders())?;
        let mut interrupted = false;
        while let Some(step) = steps.next() {
            let taken = self.take(step, &mut steps, &mut states);
            // If the study already holds measurements, the error says so.
            let taken = taken.map_err(|error| {
                if self.has_measured {
                    Error::Midway(Box::new(error))
                } else {
                    error
                }
            });
            if !taken? {
                interrupted = true;
                break;
            }
        }
        Ok(Summary {
            failed: retry::failed_points(self.plan, &self.study)?,
            points_skipped: steps.skipped(),
            interrupted,
            ..self.summary
        })
    }

    /// Executes one step; false if it was stopped. Steps without a database are executed anyway, so
    /// that a run with nothing left to measure does not count as interrupted.
    fn take(
        &mut self,
        step: Step<'a>,
        steps: &mut Steps<'a>,
        states: &mut [SystemState<'a>],
    ) -> Result<bool, Error> {
        match step {
            Step::Rate {
                system,
                point,
                rate,
            } => self.keep_rate(&rate, &point, states[system].system)?,
            Step::Skip { system, point } => self.skip(&point, states[system].system)?,
            Step::Search { system, point } => {
                steps.searched(self.next_trial(states[system].system, &point)?);
            }
            _ if self.stop.requested() => return Ok(false),
            Step::Switch { to, .. } => self.services.switch_to(states[to].system)?,
            Step::Look { system } => match self.look(&mut states[system])? {
                Some(data) => steps.looked(system, data),
                None => return Ok(false),
            },
            Step::Make {
                system,
                point,
                make,
            } => match self.make(&states[system], &point, make)? {
                Some(is_loaded) => steps.made(system, is_loaded),
                None => return Ok(false),
            },
            Step::EvenOut { points } => self.observer.notice(&format!(
                "{} measured again, because other systems warmed up for longer",
                match points {
                    1 => "1 point is".to_owned(),
                    _ => format!("{points} points are"),
                }
            )),
            Step::Point {
                system,
                point,
                key,
                warmup,
            } => {
                self.tell_open(steps.ladders(), key.repeat);
                let state = &mut states[system];
                state.had_turn = true;
                let Some(MeasuredPoint { point, settled }) =
                    self.point(state, point, key, warmup)?
                else {
                    return Ok(false);
                };
                self.commit(&point, steps)?;
                settled?;
            }
            Step::Anatomy {
                system,
                point,
                key,
                warmup,
            } => return self.anatomy(&mut states[system], point, (key, warmup), steps),
            Step::Trial {
                system,
                point,
                trial,
            } => {
                let state = &mut states[system];
                state.had_turn = true;
                return self.trial(state, point, &trial);
            }
        }
        Ok(true)
    }

    fn commit(&mut self, point: &Point, steps: &mut Steps<'a>) -> Result<(), Error> {
        self.study.add_point(point)?;
        self.has_measured = true;
        self.starts.retain(|(key, _)| *key != point.key);
        self.starts.push((point.key.clone(), point.phase.start()));
        self.summary.points_measured += 1;
        self.summary.errors += point.phase.errors();
        steps.measured(point);
        tell_points(self.plan, steps.ladders(), self.observer);
        self.observer.point_finished(point);
        self.say_ends(steps.ladders())
    }
}
