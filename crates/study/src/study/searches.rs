//! The searches for the highest rate that holds, from the trials and points of a study.

use super::Study;
use crate::Error;
use tailmark_model::SloSettings;
use tailmark_stats::slo::{Slo, Trial};

/// The searches of a study, in the order of its systems and workloads.
///
/// # Errors
/// As [`Study::header`].
pub fn searches(study: &Study) -> Result<Option<(SloSettings, Vec<Slo>)>, Error> {
    let header = study.header()?;
    let Some(settings) = header.settings.slo.clone() else {
        return Ok(None);
    };
    let mut trials = Vec::new();
    study.each_trial(|point| {
        trials.push(Trial::from_point(&point, &settings));
        Ok(())
    })?;
    let points = study.point_totals()?;
    let mut searches: Vec<Slo> = Vec::new();
    for trial in &trials {
        let named = trial.key.names();
        let is_it = |slo: &Slo| {
            let (workload, distribution) = (slo.workload.as_str(), slo.distribution.as_str());
            (slo.system.as_str(), workload, distribution) == named
        };
        if !searches.iter().any(is_it) {
            let slo = Slo::new(
                named,
                &settings,
                &points,
                &trials,
                header.settings.rules.allow_errors,
            );
            searches.push(slo);
        }
    }
    Ok(Some((settings, searches)))
}
