//! How long the points of a sweep warm up where a rule says when that is enough: systems that are
//! compared equally long, as long as the one that took longest. What is not so yet is measured
//! again in a second pass. All of it follows from the study.

use super::{Sweeper, rates::KnownRates, turn::SystemState};
use crate::{Error, warmup::WarmupLength};
use std::time::Duration;
use tailmark_model::{KeptWarmup, PointKey};
use tailmark_plan::{Plan, Step, SystemPlan};
use tailmark_study::Study;

/// What a length may differ by and still be the same, seconds.
const SAME_S: f64 = 0.5;

/// The warm-ups of a study that were ended by rule.
pub(super) struct KnownWarmups {
    kept: Vec<KeptWarmup>,
    rates: KnownRates,
}

impl KnownWarmups {
    /// As the study has them. One that was cut off, because its database went away, says nothing of
    /// how long a warm-up has to be.
    pub fn from_study(study: &Study) -> Result<Self, Error> {
        let kept = study.warmups()?.into_iter();
        Ok(Self {
            kept: kept.filter(|warmup| !warmup.is_cut).collect(),
            rates: KnownRates::from_study(study)?,
        })
    }

    /// The longest of a step, in any repeat, on the systems that are compared with this one.
    pub fn longest(&self, plan: &Plan, step: &Step<'_>, system: &SystemPlan) -> Option<Duration> {
        let peers = plan
            .systems
            .iter()
            .filter(|peer| are_compared(peer, system));
        let keys = peers.filter_map(|peer| self.rates.key(plan, step, peer));
        let lengths = keys.flat_map(|key| {
            let of_step = self.kept.iter().filter(move |kept| {
                let any_repeat = PointKey {
                    repeat: kept.key.repeat,
                    ..key.clone()
                };
                kept.key == any_repeat
            });
            of_step.map(|kept| kept.length_s)
        });
        lengths.reduce(f64::max).map(Duration::from_secs_f64)
    }

    fn length_s(&self, key: &PointKey) -> Option<f64> {
        let mut kept = self.kept.iter();
        kept.find(|kept| kept.key == *key).map(|kept| kept.length_s)
    }

    /// Whether a point was warmed up for less time than what it is compared with.
    pub fn is_short(&self, plan: &Plan, step: &Step<'_>, system: &SystemPlan) -> bool {
        let key = self.rates.key(plan, step, system);
        let own = key.and_then(|key| self.length_s(&key));
        let longest = self.longest(plan, step, system);
        own.zip(longest)
            .is_some_and(|(own, longest)| own + SAME_S < longest.as_secs_f64())
    }
}

/// A ceiling is no system that is compared: it has its own warm-up.
fn are_compared(a: &SystemPlan, b: &SystemPlan) -> bool {
    a.name == b.name || (a.ceiling_for.is_none() && b.ceiling_for.is_none())
}

/// How many points of these systems were warmed up for less time than what they are compared with.
pub(super) fn all_short(
    plan: &Plan,
    study: &Study,
    systems: &[&SystemPlan],
) -> Result<usize, Error> {
    let of = systems
        .iter()
        .map(|system| short_points(plan, study, system));
    of.sum()
}

fn short_points(plan: &Plan, study: &Study, system: &SystemPlan) -> Result<usize, Error> {
    if !plan.sweep.warmup.is_auto() {
        return Ok(0);
    }
    let known = KnownWarmups::from_study(study)?;
    let short = plan
        .points()
        .filter(|step| known.is_short(plan, step, system));
    Ok(short.count())
}

impl<'a> Sweeper<'a> {
    /// Measures those points again whose warm-up was shorter than that of what they are compared
    /// with, where a rule said when it was enough; false where there are none, or nothing came of it.
    pub(super) fn even_out(
        &mut self,
        systems: &[&'a SystemPlan],
        states: &mut [SystemState<'a>],
    ) -> Result<bool, Error> {
        let short = all_short(self.plan, &self.study, systems)?;
        if short == 0 || self.stop.requested() {
            return Ok(false);
        }
        self.observer.notice(&format!(
            "{} measured again: other systems warmed up for longer",
            match short {
                1 => "1 point is".to_owned(),
                _ => format!("{short} points are"),
            }
        ));
        self.evens = true;
        // Those that are left out stay so, and are counted already.
        let skipped = self.summary.points_skipped;
        let measured = self.measure_each(states);
        self.summary.points_skipped = skipped;
        self.evens = false;
        measured?;
        Ok(all_short(self.plan, &self.study, systems)? < short)
    }

    /// Whether a point that is in the study is measured again now, for an equal warm-up.
    pub(super) fn is_evened(&self, step: &Step<'_>, system: &SystemPlan) -> Result<bool, Error> {
        Ok(self.evens && KnownWarmups::from_study(&self.study)?.is_short(self.plan, step, system))
    }

    /// How long the warm-up of a point is to be; none where that is not left to a rule. The first
    /// repeat finds out, and goes on as long as others did; further ones, and points that are
    /// measured again, take the longest.
    pub(super) fn warmup_length(
        &self,
        step: &Step<'_>,
        system: &SystemPlan,
        key: &PointKey,
    ) -> Result<Option<WarmupLength>, Error> {
        let Some((least, most)) = self.plan.sweep.warmup.limits() else {
            return Ok(None);
        };
        let known = KnownWarmups::from_study(&self.study)?;
        let longest = known.longest(self.plan, step, system);
        let is_again = self.evens && known.length_s(key).is_some();
        let at_least = longest.unwrap_or_default();
        let most = match longest {
            Some(longest) if is_again || step.repeat > 1 => longest,
            _ => most.max(at_least),
        };
        Ok(Some(WarmupLength {
            least,
            at_least,
            most,
        }))
    }
}
