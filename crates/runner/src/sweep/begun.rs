//! The study of an earlier run, and the plan as that began it: one that an earlier version began goes
//! on as it was begun, and one of another plan is refused.

use crate::{Error, dataset};
use std::{borrow::Cow, collections::BTreeMap, path::Path};
use tailmark_engine::Observer;
use tailmark_plan::{
    Order, Plan, is_begun_without_order, keys_of_study, shapes_points, shapes_probes,
};
use tailmark_results::{Header, Study};

/// The plan as a study was begun with, and what is said of that: where the study has a rate and
/// says nothing of arrivals, each client has a schedule of its own; where it has repeats and says
/// nothing of an order, its systems are measured one after the other. So all points of the study
/// are measured alike.
pub fn as_begun<'a>(plan: &'a Plan, study: &Header) -> (Cow<'a, Plan>, Vec<&'static str>) {
    let (mut plan, mut notices) = (Cow::Borrowed(plan), Vec::new());
    let keys = &study.plan;
    if keys.contains_key("sweep.rate") && !keys.contains_key("sweep.arrivals") {
        notices.push(
            "an earlier version began this study: at its rate each client has a schedule of its \
             own, and so it goes on; give another -o to have one sequence of arrivals that all \
             clients share",
        );
        plan.to_mut().sweep.arrivals = None;
    }
    if plan.sweep.order == Order::Interleaved && is_begun_without_order(study) {
        notices.push(
            "an earlier version began this study: its systems are measured one after the other, and \
             so it goes on; give another -o to have them interleaved",
        );
        plan = Cow::Owned(plan.into_owned().system_by_system());
    }
    (plan, notices)
}

/// The study of an earlier run of this plan, and the plan as that began.
pub(super) fn known<'a>(
    plan: &'a Plan,
    out: &Path,
    observer: &dyn Observer,
) -> Result<(Cow<'a, Plan>, Option<Study>), Error> {
    if !Study::exists(out) {
        return Ok((Cow::Borrowed(plan), None));
    }
    let begun = Study::open_read_only(out)?.header()?;
    let (plan, notices) = as_begun(plan, &begun);
    let has_probes = Study::open_read_only(out)?.has_probes()?;
    refuse_changed_plan(&plan, &begun, has_probes, out)?;
    notices.iter().for_each(|notice| observer.notice(notice));
    let mut plan = plan;
    plan.to_mut().header.id.clone_from(&begun.id);
    let study = Study::open(out)?;
    let keys = with_report_of(&plan, &begun);
    if keys != begun.plan {
        study.set_plan(&keys)?;
    }
    Ok((plan, Some(study)))
}

/// The keys of a study, with those of a plan that shape no point.
fn with_report_of(plan: &Plan, begun: &Header) -> BTreeMap<String, String> {
    let shaping = begun.plan.iter().filter(|(key, _)| shapes_points(key));
    let own = plan
        .header
        .plan
        .iter()
        .filter(|(key, _)| !shapes_points(key));
    let keys = shaping.chain(own);
    keys.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Refuses a plan that measures something else than what is in the study: points, or probes.
fn refuse_changed_plan(
    plan: &Plan,
    begun: &Header,
    has_probes: bool,
    out: &Path,
) -> Result<(), Error> {
    let (mut is, mut was) = (plan.header.plan.clone(), keys_of_study(begun));
    let counts = |key: &str| shapes_points(key) || (has_probes && shapes_probes(key));
    is.retain(|key, _| counts(key));
    was.retain(|key, _| counts(key));
    let differences = dataset::differences(&is, &was);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Error::ChangedPlan {
            dir: out.to_owned(),
            differences,
        }),
    }
}
