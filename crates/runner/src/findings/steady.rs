//! Whether a point was steady: its warm-up, if a rule ended that, and its measured part.

use super::PointContext;
use tailmark_model::{Sentence, Unit, Warmup};

/// What was not steady, by how much, and the remedy.
pub fn not_steady(point: &PointContext<'_>) -> Option<Sentence> {
    let rule = point.steady?;
    let measured = rule.whole(point.phase()).and_then(|found| found.why_not());
    let measured = measured.map(|why| {
        Sentence::new(
            "The measured part was not steady: {Measured part}, so its numbers depend on its \
             length. Find out what changes during it, warm up until it is steady (sweep.warmup = \
             \"auto\"), or measure for longer.",
        )
        .text("Measured part", why)
    });
    let warmup = point.phase().warmup.as_deref().and_then(of_warmup);
    warmup.into_iter().chain(measured).reduce(Sentence::and)
}

fn of_warmup(warmup: &Warmup) -> Option<Sentence> {
    let why = warmup
        .reason
        .as_deref()
        .filter(|_| warmup.steady_s.is_none())?;
    let sentence = Sentence::new(
        "The warm-up ended after {Length of warm-up} but was not steady: {Warm-up}. Raise \
         sweep.warmup_most, or find out what changes during it.",
    );
    let sentence = sentence.number("Length of warm-up", warmup.length_s(), Unit::Seconds);
    Some(sentence.text("Warm-up", why))
}
