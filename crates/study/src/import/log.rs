//! Logs of HdrHistograms with one group each, as the kinds and intervals of a phase: `READ.hdr`,
//! and `Intended-READ.hdr` with times from when requests were due. Values are microseconds.

use super::{Source, failed, hdr, held::Held, hlog::nanoseconds};
use crate::Error;
use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry, LogIteratorError};
use tailmark_model::{
    Interval, IntervalKind, Kind, Latencies, Packed, Phase, histogram, new_latencies,
};

/// Adds the histograms of a log to the kind whose group ends its name; ignores other groups.
///
/// # Errors
/// If the log is damaged.
pub fn read(
    source: &Source,
    groups: &[(&str, Kind)],
    phase: &mut Phase,
    held: &mut Held,
) -> Result<(), Error> {
    let stem = source
        .path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let of_kind = |(group, _): &&(&str, Kind)| stem.ends_with(group);
    let Some((group, kind)) = groups.iter().rev().find(of_kind) else {
        return Ok(());
    };
    let is_intended = stem.trim_end_matches(group).ends_with("Intended-");
    let Some(result) = phase.kinds.get_mut(kind) else {
        return Ok(());
    };
    let (mut total, mut begin) = (new_latencies(), None);
    for entry in IntervalLogIterator::new(&source.bytes) {
        let entry = entry.map_err(|LogIteratorError::ParseError { offset }| {
            let before = &source.bytes[..offset.min(source.bytes.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            failed(
                source,
                format!("line {line} is not a line of a histogram log"),
            )
        })?;
        let line = match entry {
            LogEntry::Interval(line) => line,
            LogEntry::StartTime(at) => {
                let ms = at.as_millis() as u64;
                phase.started_ms = Some(phase.started_ms.map_or(ms, |known| known.min(ms)));
                continue;
            }
            LogEntry::BaseTime(_) => continue,
        };
        held.add_row().map_err(|reason| failed(source, reason))?;
        let damaged = || failed(source, "a histogram is damaged");
        let bytes = BASE64_STANDARD
            .decode(line.encoded_histogram())
            .map_err(|_| damaged())?;
        let latencies = nanoseconds(hdr::decode(&bytes).ok_or_else(damaged)?, 1000);
        histogram::add(&mut total, &latencies);
        let at = line.start_timestamp();
        let begin = *begin.get_or_insert(at);
        let start_s = at.saturating_sub(begin).as_secs_f64();
        if !is_intended {
            add_interval(
                phase_interval(&mut phase.intervals, start_s, line.duration().as_secs_f64()),
                *kind,
                &latencies,
            );
        }
    }
    if is_intended {
        result.response = Some(total)
    } else {
        result.service = total
    }
    Ok(())
}

/// The interval that begins near an instant, created if missing.
fn phase_interval(intervals: &mut Vec<Interval>, start_s: f64, length_s: f64) -> &mut Interval {
    let near = intervals
        .iter()
        .position(|i| (i.start_s - start_s).abs() < 0.5 * length_s.max(0.1));
    let at = near.unwrap_or_else(|| {
        let at = intervals.partition_point(|i| i.start_s < start_s);
        intervals.insert(at, Interval::empty(start_s, length_s));
        at
    });
    &mut intervals[at]
}

fn add_interval(interval: &mut Interval, kind: Kind, latencies: &Latencies) {
    if latencies.is_empty() {
        return;
    }
    let service = Packed::pack(latencies);
    let measured = IntervalKind {
        count: latencies.len(),
        errors: 0,
        service,
        response: None,
    };
    interval
        .kinds
        .entry(kind)
        .and_modify(|known| known.merge(&measured))
        .or_insert(measured);
}
