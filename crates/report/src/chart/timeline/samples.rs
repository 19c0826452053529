//! Combines neighbouring intervals and samples, so that no line has more points than can be seen.

use super::{LineData, POINTS_MAX};
use std::collections::BTreeMap;
use tailmark_model::{
    Failed, Interval, Kind, Latencies, Packed, RankedLatencies, Series, SeriesKind, Span, gap_s,
};

/// Neighbouring intervals taken together, exactly: histograms are added.
pub struct Bucket {
    pub at_s: f64,
    pub ops_per_sec: f64,
    pub errors_per_sec: f64,
    pub kinds: BTreeMap<Kind, BucketKind>,
}

/// The measurements of one kind in a bucket.
pub struct BucketKind {
    latencies: Latencies,
    errors: u64,
}

impl BucketKind {
    /// Everything known about its latencies.
    pub fn known(&self) -> RankedLatencies<'_> {
        RankedLatencies::new(&self.latencies).with_failed(Failed {
            count: self.errors,
            ages: None,
        })
    }
}

impl Bucket {
    pub fn from_intervals(intervals: &[Interval]) -> Self {
        let start = intervals.first().map_or(0.0, |i| i.start_s);
        let end = intervals.last().map_or(start, |i| i.start_s + i.length_s);
        let succeeded: u64 = intervals.iter().map(Interval::succeeded).sum();
        let failed: u64 = intervals.iter().map(|i| i.failed).sum();
        let length = end - start;
        let mut packed: BTreeMap<Kind, (Vec<&Packed>, u64)> = BTreeMap::new();
        for (kind, result) in intervals.iter().flat_map(|interval| &interval.kinds) {
            let (all, errors) = packed.entry(*kind).or_default();
            all.push(result.response.as_ref().unwrap_or(&result.service));
            *errors += result.errors;
        }
        let kinds = packed.into_iter().map(|(kind, (all, errors))| {
            let latencies = Packed::unpack_sum(all);
            (kind, BucketKind { latencies, errors })
        });
        let rate = |count: u64| {
            if length > 0.0 {
                count as f64 / length
            } else {
                0.0
            }
        };
        Self {
            at_s: f64::midpoint(start, end),
            ops_per_sec: rate(succeeded),
            errors_per_sec: rate(failed),
            kinds: kinds.collect(),
        }
    }
}

/// How many neighbours are combined into one point of a line.
pub fn chunk_length(count: usize) -> usize {
    count.div_ceil(POINTS_MAX).max(1)
}

/// The step between samples from which on there is a gap, for example because the connection to a
/// server was lost. A warm-up, which lies before 0, may be thinned differently from its point.
struct Gaps {
    before_s: f64,
    within_s: f64,
}

impl Gaps {
    fn from_instants(at_s: &[f64]) -> Self {
        let (before, within) = at_s.split_at(at_s.partition_point(|at| *at < 0.0));
        // Of two samples it cannot be told how far apart they usually are.
        let gap = |part: &[f64]| gap_s(if part.len() > 2 { part } else { at_s });
        Self {
            before_s: gap(before),
            within_s: gap(within),
        }
    }

    fn is_gap(&self, from_s: f64, until_s: f64) -> bool {
        let gap_s = match (from_s < 0.0, until_s < 0.0) {
            (true, true) => self.before_s,
            (false, _) => self.within_s,
            (true, false) => self.before_s.max(self.within_s),
        };
        until_s - from_s > gap_s
    }
}

/// Means of neighbours, at most [`POINTS_MAX`] of them and one more around each gap, from an instant on.
/// No line bridges a gap.
pub fn thinned(start_s: f64, samples: &[(f64, f64)]) -> LineData {
    let samples = samples.iter().copied();
    let inside: Vec<(f64, f64)> = samples
        .filter(|(t, v)| *t >= start_s && !v.is_nan())
        .collect();
    let at_s: Vec<f64> = inside.iter().map(|(t, _)| *t).collect();
    let gaps = Gaps::from_instants(&at_s);
    let mut line = LineData::new();
    let mut before_s = None;
    for part in inside.chunk_by(|a, b| !gaps.is_gap(a.0, b.0)) {
        let hole = before_s.map(|before_s| (f64::midpoint(before_s, part[0].0), None));
        line.extend(hole);
        let means = part.chunks(chunk_length(inside.len())).map(|chunk| {
            let n = chunk.len() as f64;
            let (t, v) = chunk
                .iter()
                .fold((0.0, 0.0), |(t, v), s| (t + s.0, v + s.1));
            (t / n, Some(v / n))
        });
        line.extend(means);
        before_s = part.last().map(|(t, _)| *t);
    }
    line
}

/// Changes per second at the middle of each span, like those of intervals; for a gauge, its
/// samples. A change over a gap is not a number, because only its average is known.
pub fn spans(series: &Series) -> Vec<(f64, f64)> {
    let gaps = Gaps::from_instants(&series.at_s);
    let middle = |span: Span| {
        let value = if gaps.is_gap(span.from_s, span.until_s) {
            f64::NAN
        } else {
            span.value
        };
        (f64::midpoint(span.from_s, span.until_s), value)
    };
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
