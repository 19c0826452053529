//! What samples of a phase show about its windows: bytes written, pending compactions, and the
//! length of a cycle of flushes and compactions.

use super::windows::Window;
use tailmark_model::{
    Series, SeriesKind,
    series::{COMPACTIONS, DATABASE, FLUSHES, PENDING_COMPACTION},
    server::leave_out_no_host,
};

/// Bytes written to the disks in a window; `None` unless they were sampled throughout, on each
/// server host.
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

/// The interpolated value of a counter at an instant. Up to two seconds before the first or after
/// the last sample, it has the value of that sample, because sampling is not exactly on time.
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

/// Mean bytes that compactions still had to rewrite in a window; `None` if they were not sampled.
pub fn mean_pending(series: &[Series], window: &Window<'_>) -> Option<f64> {
    let pending = of_database(series, PENDING_COMPACTION)?;
    let samples = pending.at_s.iter().zip(&pending.values);
    let inside = samples.filter(|(at, _)| (window.start_s..window.end_s()).contains(*at));
    let inside: Vec<f64> = inside.map(|(_, value)| *value).collect();
    (!inside.is_empty()).then(|| super::mean(&inside))
}

/// The time in which at least one flush and one compaction complete, seconds: the longest pause of
/// either, from the first sample to the last. `None` if neither ever happened, or if neither is
/// reported.
pub fn longest_cycle_s(series: &[Series]) -> Option<f64> {
    let counters = [FLUSHES, COMPACTIONS];
    let counted = counters.iter().filter_map(|name| of_database(series, name));
    counted.filter_map(longest_pause_s).reduce(f64::max)
}

/// The longest time in which a counter did not change; `None` if it never did.
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
