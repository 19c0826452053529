//! What lines are made of: neighbouring intervals and samples taken together, so that no line has more
//! points than can be seen.

use super::{LineData, POINTS_MAX};
use std::collections::BTreeMap;
use tailmark_results::{Interval, Kind, Latencies, Packed, Series, SeriesKind, Span};

/// Neighbouring intervals taken together, exactly: histograms are added.
pub struct Bucket {
    pub at_s: f64,
    pub ops_per_sec: f64,
    pub errors_per_sec: f64,
    pub kinds: BTreeMap<Kind, Latencies>,
}

impl Bucket {
    pub fn of(intervals: &[Interval]) -> Self {
        let start = intervals.first().map_or(0.0, |i| i.start_s);
        let end = intervals.last().map_or(start, |i| i.start_s + i.length_s);
        let succeeded: u64 = intervals.iter().map(Interval::succeeded).sum();
        let failed: u64 = intervals.iter().map(|i| i.failed).sum();
        let length = end - start;
        let mut packed: BTreeMap<Kind, Vec<&Packed>> = BTreeMap::new();
        for (kind, of) in intervals.iter().flat_map(|interval| &interval.kinds) {
            let latencies = of.response.as_ref().unwrap_or(&of.service);
            packed.entry(*kind).or_default().push(latencies);
        }
        let packed = packed.into_iter();
        let kinds = packed.map(|(kind, all)| (kind, Packed::unpack_sum(all)));
        let rate = |count: u64| match length > 0.0 {
            true => count as f64 / length,
            false => 0.0,
        };
        Self {
            at_s: f64::midpoint(start, end),
            ops_per_sec: rate(succeeded),
            errors_per_sec: rate(failed),
            kinds: kinds.collect(),
        }
    }
}

/// How many of so many neighbours are one point of a line.
pub fn chunk_length(count: usize) -> usize {
    count.div_ceil(POINTS_MAX).max(1)
}

/// Means of neighbours, at most [`POINTS_MAX`] of them, from an instant on.
pub fn thinned(start_s: f64, samples: &[(f64, f64)]) -> LineData {
    let samples = samples.iter().copied();
    let inside: Vec<(f64, f64)> = samples.filter(|(t, _)| *t >= start_s).collect();
    inside
        .chunks(chunk_length(inside.len()))
        .map(|chunk| {
            let n = chunk.len() as f64;
            let (t, v) = chunk
                .iter()
                .fold((0.0, 0.0), |(t, v), s| (t + s.0, v + s.1));
            (t / n, Some(v / n))
        })
        .collect()
}

/// Changes per second at the middle of each span, as intervals have it; of a gauge, its samples.
pub fn spans(series: &Series) -> Vec<(f64, f64)> {
    let middle = |span: Span| (f64::midpoint(span.from_s, span.until_s), span.value);
    match series.kind {
        SeriesKind::Gauge => series.rates(),
        SeriesKind::Counter => series.spans().into_iter().map(middle).collect(),
    }
}

/// The sum of rates of series that were sampled together.
pub fn sum<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<(f64, f64)> {
    let mut sum: Vec<(f64, f64)> = Vec::new();
    for rates in series.map(spans) {
        if sum.is_empty() {
            sum = rates;
        } else {
            for (total, (_, value)) in sum.iter_mut().zip(rates) {
                total.1 += value;
            }
        }
    }
    sum
}
