//! What the samples of a phase say of its windows: bytes that were written, compactions that are
//! put off, and how long a cycle of flushes and compactions takes.

use super::windows::Window;
use tailmark_model::{
    Series, SeriesKind,
    series::{COMPACTIONS, DATABASE, FLUSHES, PENDING_COMPACTION},
    server::leave_out_no_host,
};

/// Bytes written to the disks in a window; none where they were not sampled throughout, and on each host
/// of a server.
pub fn bytes_written(series: &[Series], window: &Window<'_>) -> Option<f64> {
    let is_it =
        |s: &&Series| s.probe == "disk" && s.name == "write_bytes" && s.kind == SeriesKind::Counter;
    let disks = || series.iter().filter(is_it);
    disks().next()?;
    let rise =
        |disk: &Series| Some(value_at(disk, window.end_s())? - value_at(disk, window.start_s)?);
    let sum = disks().map(rise).sum::<Option<f64>>();
    sum.filter(|_| leave_out_no_host(disks(), series))
}

/// A counter at an instant, between the samples around it. An instant up to two seconds beyond the
/// first or the last sample has its value: sampling is not on time to the last.
fn value_at(series: &Series, at_s: f64) -> Option<f64> {
    let (times, values) = (&series.at_s, &series.values);
    let next = times.partition_point(|time| *time < at_s);
    let is_near = |i: usize| (times[i] - at_s).abs() <= 2.0;
    match next {
        _ if times.is_empty() || times.len() != values.len() => None,
        0 => is_near(0).then(|| values[0]),
        next if next == times.len() => is_near(next - 1).then(|| values[next - 1]),
        next => {
            let (before, after) = (times[next - 1], times[next]);
            let part = (at_s - before) / (after - before).max(f64::MIN_POSITIVE);
            Some(values[next - 1] + part * (values[next] - values[next - 1]))
        }
    }
}

fn of_database<'a>(series: &'a [Series], name: &str) -> Option<&'a Series> {
    series
        .iter()
        .find(|s| s.probe == DATABASE && s.name == name)
}

/// The mean of what compactions had yet to rewrite in a window, bytes; none where it was not
/// sampled.
pub fn mean_pending(series: &[Series], window: &Window<'_>) -> Option<f64> {
    let pending = of_database(series, PENDING_COMPACTION)?;
    let samples = pending.at_s.iter().zip(&pending.values);
    let inside = samples.filter(|(at, _)| (window.start_s..window.end_s()).contains(*at));
    let inside: Vec<f64> = inside.map(|(_, value)| *value).collect();
    (!inside.is_empty()).then(|| super::mean(&inside))
}

/// In what time a flush and a compaction were done, seconds: the longest in which one of them was
/// not, from the first sample to the last. None where neither ever was, or nobody tells.
pub fn longest_cycle_s(series: &[Series]) -> Option<f64> {
    let counters = [FLUSHES, COMPACTIONS];
    let counted = counters.iter().filter_map(|name| of_database(series, name));
    counted.filter_map(longest_pause_s).reduce(f64::max)
}

/// The longest time in which a counter stood still; none where it always did.
fn longest_pause_s(counter: &Series) -> Option<f64> {
    let (first, last) = (*counter.at_s.first()?, *counter.at_s.last()?);
    let rises = (1..counter.values.len().min(counter.at_s.len()))
        .filter(|&i| counter.values[i] > counter.values[i - 1])
        .map(|i| counter.at_s[i]);
    let (mut before, mut longest, mut any) = (first, 0.0_f64, false);
    for at in rises {
        longest = longest.max(at - before);
        (before, any) = (at, true);
    }
    any.then(|| longest.max(last - before))
}
