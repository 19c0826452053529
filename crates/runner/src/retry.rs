//! The failed points of a study, which `--retry-failed` measures again.

use crate::Error;
use tailmark_model::{Fault, PointKey};
use tailmark_plan::Plan;
use tailmark_study::Study;

/// Points that are neither a peak nor a basis of a comparison, and why, according to the plan.
pub fn failed_points(plan: &Plan, study: &Study) -> Result<Vec<(PointKey, Fault)>, Error> {
    let points = study.point_totals()?.into_iter();
    let failed = points.filter_map(|point| {
        let fault = point.phase.fault(plan.sweep.allow_errors)?;
        Some((point.key, fault))
    });
    Ok(failed.collect())
}

/// Points of the study that are measured again.
pub fn retried(plan: &Plan, study: &Study) -> Result<Vec<PointKey>, Error> {
    Ok(if plan.retry_failed {
        failed_points(plan, study)?
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    } else {
        Vec::new()
    })
}
