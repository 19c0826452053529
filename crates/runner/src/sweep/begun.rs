//! The plan of a study that an earlier version began, which goes on as it was begun.

use std::borrow::Cow;
use tailmark_plan::{Order, Plan, is_begun_without_order};
use tailmark_results::Header;

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
