//! What of a plan is still to be measured.

use super::{ladder::Ladders, rates::KnownRates, search, warmups::all_short};
use crate::{Error, retry};
use tailmark_model::PointKey;
use tailmark_plan::{Plan, SystemPlan};
use tailmark_study::Study;

/// How many points of these systems are not in the study, or are measured again.
pub fn all_pending(
    plan: &Plan,
    study: &Study,
    retried: &[PointKey],
    ladders: &Ladders<'_>,
    systems: &[&SystemPlan],
) -> Result<usize, Error> {
    let of = systems
        .iter()
        .map(|system| pending(plan, study, retried, ladders, system));
    of.sum()
}

/// How many points of a system are not in the study, or are measured again; of a ladder those of the
/// rungs that are reached by now.
fn pending(
    plan: &Plan,
    study: &Study,
    retried: &[PointKey],
    ladders: &Ladders<'_>,
    system: &SystemPlan,
) -> Result<usize, Error> {
    let rates = KnownRates::from_study(study)?;
    let mut pending = 0;
    for step in plan.points().filter(|step| ladders.is_reached(step)) {
        let is_pending = match rates.key(plan, &step, system) {
            Some(key) => !study.has_point(&key)? || retried.contains(&key),
            // Its peak is not known yet.
            None => true,
        };
        pending += usize::from(is_pending);
    }
    Ok(pending)
}

/// The systems of which there is nothing to measure; without a study there is of each. While a ladder is
/// climbed there may be of each, too.
pub fn measured<'a>(plan: &'a Plan, study: Option<&Study>) -> Result<Vec<&'a str>, Error> {
    let Some(study) = study else {
        return Ok(Vec::new());
    };
    let retried = retry::retried(plan, study)?;
    let systems: Vec<_> = plan.systems.iter().collect();
    let ladders = Ladders::new(plan, &systems, Some(study), &retried)?;
    let mut measured = Vec::new();
    for system in systems.iter().filter(|_| ladders.have_ended()) {
        let points = pending(plan, study, &retried, &ladders, system)?;
        let short = all_short(plan, study, &[*system])?;
        if points + short == 0 && !search::is_pending(plan, study, system)? {
            measured.push(system.name.as_str());
        }
    }
    // A warm-up of one may yet be longer than those of the others, which are measured again then.
    if plan.sweep.warmup.is_auto() && measured.len() < plan.systems.len() {
        measured.clear();
    }
    Ok(measured)
}
