//! The study of an earlier run in the same directory. A run of the same plan resumes it; a
//! different plan is refused.

use crate::{Error, dataset};
use std::{borrow::Cow, collections::BTreeMap, path::Path};
use tailmark_model::{Header, PlanValue, Role};
use tailmark_plan::Plan;
use tailmark_study::Study;

/// Group and name of the fact that says that something was about to be created on the server of a
/// system.
pub(super) const BEGUN_ON: (&str, &str) = ("data set", "begun on");

/// The study of an earlier run of this plan, and the plan with that study's id.
pub(super) fn known<'a>(
    plan: &'a Plan,
    out: &Path,
) -> Result<(Cow<'a, Plan>, Option<Study>), Error> {
    let Some((study, started)) = study_of(plan, out)? else {
        return Ok((Cow::Borrowed(plan), None));
    };
    let mut plan = plan.clone();
    take_up(&mut plan, &study)?;
    let writable = Study::open(out)?;
    let keys = with_report_of(&plan, &started);
    let settings = &plan.header.settings;
    if keys != started.plan || *settings != started.settings {
        writable.set_plan(&keys, settings)?;
    }
    Ok((Cow::Owned(plan), Some(writable)))
}

/// The study in a run directory, and its header; `None` if there is none.
///
/// # Errors
/// If it cannot be read, or is of another plan.
pub(super) fn study_of(plan: &Plan, out: &Path) -> Result<Option<(Study, Header)>, Error> {
    if !Study::exists(out) {
        return Ok(None);
    }
    let study = Study::open_read_only(out)?;
    let started = study.header()?;
    refuse_changed_plan(plan, &started, study.has_trials()?, out)?;
    Ok(Some((study, started)))
}

/// Makes a plan resume a study: every rank marks its data with the study's id, and objects that it
/// began to create are its own.
///
/// # Errors
/// If the study cannot be read.
pub fn take_up(plan: &mut Plan, study: &Study) -> Result<(), Error> {
    plan.header.id = study.header()?.id;
    let facts = study.facts()?.into_iter();
    let started = facts.filter(|fact| (fact.group.as_str(), fact.name.as_str()) == BEGUN_ON);
    plan.begun_on = started.filter_map(|fact| fact.system).collect();
    Ok(())
}

/// The keys of a study, with those keys of a plan that shape no point.
fn with_report_of(plan: &Plan, started: &Header) -> BTreeMap<String, PlanValue> {
    let shaping = started.plan.iter();
    let shaping = shaping.filter(|(_, given)| given.role.shapes_points());
    let own = plan
        .header
        .plan
        .iter()
        .filter(|(_, given)| !given.role.shapes_points());
    let keys = shaping.chain(own);
    keys.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Refuses a plan whose measurements differ from those in the study: points, or trials.
fn refuse_changed_plan(
    plan: &Plan,
    started: &Header,
    has_trials: bool,
    out: &Path,
) -> Result<(), Error> {
    let counts = |role: Role| role.shapes_points() || (has_trials && role.shapes_trials());
    let [is, was] = [&plan.header, started].map(|header| {
        let shaping = header.plan.iter();
        let shaping = shaping.filter(|(_, given)| counts(given.role));
        let shaping = shaping.map(|(key, given)| (key.clone(), given.value.clone()));
        shaping.collect()
    });
    let differences = dataset::differences(&is, &was);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::ChangedPlan {
        dir: out.to_owned(),
        differences,
    })
}
