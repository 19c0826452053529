//! Searches for the highest rate that holds, in the JSON document.

use super::finding;
use crate::{Error, Study, export::us, searches};
use serde_json::{Value, json};
use tailmark_model::SloSettings;
use tailmark_stats::slo::{Slo, Trial, TrialResult};

/// The searches of a study, one for each system and workload that has trials.
pub fn slo_json(study: &Study) -> Result<Vec<Value>, Error> {
    let Some((settings, searches)) = searches(study)? else {
        return Ok(Vec::new());
    };
    Ok(searches.iter().map(|slo| search(slo, &settings)).collect())
}

fn search(slo: &Slo, settings: &SloSettings) -> Value {
    let answer = slo.answer(settings);
    json!({
        "system": slo.system,
        "workload": slo.workload,
        "distribution": slo.distribution,
        "target": settings.target(),
        "quick": settings.quick,
        "status": answer.status.name(),
        "low": answer.low,
        "high": answer.high,
        "resolution": settings.bounds.resolution,
        "measured_s": slo.took().as_secs_f64(),
        "trials": slo.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}

fn trial(trial: &Trial) -> Value {
    let worst = trial.worst().and_then(|worst| worst.over);
    json!({
        "rate": trial.rate(),
        "attempt": trial.key.repeat,
        "threads": trial.key.threads,
        "arrivals": trial.key.arrivals.map(tailmark_model::Arrivals::name),
        "ops_per_sec": trial.ops_per_sec,
        "took_s": trial.took.as_secs_f64(),
        "verdict": trial.verdict.name(),
        "share_over": worst.map(|over| over.share),
        "interval": worst.map(|over| [over.low, over.high]),
        "evidence": trial.evidence,
        "findings": trial.findings.iter().map(finding).collect::<Vec<_>>(),
        "limits": trial.limits.iter().map(limit).collect::<Vec<_>>(),
    })
}

fn limit(result: &TrialResult) -> Value {
    json!({
        "limit": result.limit.to_string(),
        "allowed": result.limit.allowed(),
        "measured_us": result.value.map(|value| us(value.value)),
        "measured_is_at_least": result.value.is_some_and(|value| !value.is_exact()),
        "requests": result.over.map(|over| over.requests),
        "over": result.over.map(|over| over.over),
        "share_over": result.over.map(|over| over.share),
        "interval": result.over.map(|over| [over.low, over.high]),
        "blocks": result.over.map(|over| over.blocks),
        "block_s": result.over.map(|over| over.block_s),
        "verdict": result.verdict.name(),
    })
}
