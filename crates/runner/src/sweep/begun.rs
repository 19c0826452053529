//! The plan of a study that an earlier version began, which goes on as it was begun.

use crate::Error;
use std::borrow::Cow;
use tailmark_engine::Observer;
use tailmark_plan::Plan;
use tailmark_results::Study;

/// The plan as the study was begun with: where that has a rate and says nothing of arrivals, each
/// client has a schedule of its own, so that all points of the study are measured alike.
pub fn as_begun<'a>(
    plan: &'a Plan,
    study: Option<&Study>,
    observer: &dyn Observer,
) -> Result<Cow<'a, Plan>, Error> {
    let Some(study) = study else {
        return Ok(Cow::Borrowed(plan));
    };
    let keys = study.header()?.plan;
    if !keys.contains_key("sweep.rate") || keys.contains_key("sweep.arrivals") {
        return Ok(Cow::Borrowed(plan));
    }
    observer.notice(
        "an earlier version began this study: at its rate each client has a schedule of its own, \
         and so it goes on; give another -o to have one sequence of arrivals that all clients share",
    );
    let mut plan = plan.clone();
    plan.sweep.arrivals = None;
    Ok(Cow::Owned(plan))
}
