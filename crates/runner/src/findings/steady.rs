//! Whether a point was steady: its warm-up, where a rule ended that, and its measured part.

use super::Evidence;
use std::time::Duration;
use tailmark_results::{Warmup, number};

/// What was not steady, by how much, and the remedy.
pub fn not_steady(e: &Evidence<'_>) -> Option<String> {
    let rule = e.steady?;
    let measured = rule.whole(e.phase).and_then(|found| found.why_not());
    let measured = measured.map(|why| {
        format!(
            "The measured part was not steady: {why}, so its numbers depend on how long it was. \
             Find out what changes meanwhile, warm up until it is steady (sweep.warmup = \
             \"auto\"), or measure for longer."
        )
    });
    let warmup = e.phase.warmup.as_deref().and_then(of_warmup);
    let both: Vec<String> = warmup.into_iter().chain(measured).collect();
    (!both.is_empty()).then(|| both.join(" "))
}

fn of_warmup(warmup: &Warmup) -> Option<String> {
    let why = warmup
        .reason
        .as_deref()
        .filter(|_| warmup.steady_s.is_none())?;
    let length = number::rounded(Duration::from_secs_f64(warmup.length_s()));
    Some(format!(
        "The warm-up ended after {length} and was not steady: {why}. Raise sweep.warmup_most, or \
         find out what changes meanwhile."
    ))
}
