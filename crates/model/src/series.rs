//! Raw samples of a counter or a gauge, and the rates and values between them.

use serde::{Deserialize, Serialize};

/// The probe of a database's own reports about its background work.
pub const DATABASE: &str = "database";
/// Its counter of completed flushes.
pub const FLUSHES: &str = "flushes";
/// Its counter of completed compactions.
pub const COMPACTIONS: &str = "compactions";
/// Its gauge of bytes that compactions still have to rewrite.
pub const PENDING_COMPACTION: &str = "pending_compaction_bytes";

/// The meaning of a series' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// A counter that only grows. Its rate is the difference over time.
    Counter,
    /// A level at an instant.
    Gauge,
}

impl SeriesKind {
    /// The name in the study and in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// The raw samples of one counter or gauge during a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The probe that took it: `disk`, `cpu`, ...
    pub probe: String,
    /// What was sampled: `nvme0n1`, `machine`, `process`.
    pub subject: String,
    /// The name of the counter, unit last: `read_bytes`, `user_s`.
    pub name: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
    /// Seconds since the start of the phase, on the clock of the intervals; may start before 0.
    pub at_s: Vec<f64>,
    /// The value at each instant.
    pub values: Vec<f64>,
}

/// The value between two samples of a series; see [`Series::spans`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The earlier sample, seconds since the start of the phase.
    pub from_s: f64,
    /// The later one.
    pub until_s: f64,
    /// Per second, or the value of a gauge.
    pub value: f64,
}

/// A pause between samples this many times longer than usual is a gap.
const GAP: f64 = 3.5;

/// The pause between two of these instants, in seconds, from which on samples are missing: a
/// multiple of the usual pause, and at least a second.
pub fn gap_s(at_s: &[f64]) -> f64 {
    let mut steps: Vec<f64> = at_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
    GAP * usual.max(1.0)
}

impl Series {
    /// Change per second of a counter from the start of the phase to `end_s`, if there are two
    /// samples; `None` for a gauge.
    pub fn mean_rate(&self, end_s: f64) -> Option<f64> {
        let (first, last) = self.measured(end_s)?;
        let rise = self.values.get(last)? - self.values.get(first)?;
        let time = self.at_s[last] - self.at_s[first];
        (self.kind == SeriesKind::Counter && time > 0.0).then(|| rise.max(0.0) / time)
    }

    /// The first and the last sample from the start of the phase to `end_s`.
    pub(crate) fn measured(&self, end_s: f64) -> Option<(usize, usize)> {
        // Sampling is not exactly on time: a sample half a second off still belongs to the phase.
        let within = |at: &f64| (-0.5..=end_s + 0.5).contains(at);
        let first = self.at_s.iter().position(within)?;
        Some((first, self.at_s.iter().rposition(within)?))
    }

    /// Mean of the samples from the start of the phase to `end_s`; `None` without one.
    pub fn mean(&self, end_s: f64) -> Option<f64> {
        let samples = self.at_s.iter().zip(&self.values);
        let inside = samples.filter(|(at, _)| (0.0..=end_s).contains(*at));
        let (sum, n) = inside.fold((0.0, 0), |(sum, n), (_, value)| (sum + value, n + 1));
        (n > 0).then(|| sum / f64::from(n))
    }

    /// Mean over the time from the start of the phase to `end_s`; `None` without a sample. Between two
    /// samples the value changes linearly, and it holds before the first and after the last. So a
    /// meter that logs more often while its values are high counts them no more often.
    pub fn mean_over_time(&self, end_s: f64) -> Option<f64> {
        let samples = self.at_s.iter().copied().zip(self.values.iter().copied());
        let inside: Vec<(f64, f64)> = samples
            .filter(|(at, _)| (0.0..=end_s).contains(at))
            .collect();
        let [first, .., last] = inside[..] else {
            return inside.first().map(|(_, only)| *only);
        };
        let between = inside
            .windows(2)
            .map(|two| (two[1].0 - two[0].0) * (two[0].1 + two[1].1) / 2.0);
        let ends = first.0 * first.1 + (end_s - last.0) * last.1;
        Some((between.sum::<f64>() + ends) / end_s)
    }

    /// The value from each sample to the next: for a counter its change per second, for a gauge the
    /// earlier sample.
    ///
    /// The last sample of a phase may follow the previous one at once. Over so short a span the
    /// steps of the kernel's clock exceed what they count, so that sample is left out.
    pub fn spans(&self) -> Vec<Span> {
        let typical_s = match self.at_s.as_slice() {
            [first, .., last] => (last - first) / (self.at_s.len() - 1) as f64,
            _ => 0.0,
        };
        let mut spans: Vec<Span> = Vec::new();
        let mut samples = self.at_s.iter().copied().zip(self.values.iter().copied());
        let Some(mut before) = samples.next() else {
            return spans;
        };
        for (until_s, value) in samples {
            let (from_s, earlier) = before;
            let length_s = until_s - from_s;
            if length_s <= 0.3 * typical_s {
                continue;
            }
            spans.push(Span {
                from_s,
                until_s,
                value: match self.kind {
                    SeriesKind::Counter => (value - earlier) / length_s,
                    SeriesKind::Gauge => earlier,
                },
            });
            before = (until_s, value);
        }
        spans
    }

    /// Change per second between consecutive samples, at the later sample's instant; for a gauge,
    /// the samples themselves.
    pub fn rates(&self) -> Vec<(f64, f64)> {
        match self.kind {
            SeriesKind::Gauge => self
                .at_s
                .iter()
                .copied()
                .zip(self.values.iter().copied())
                .collect(),
            SeriesKind::Counter => (1..self.values.len().min(self.at_s.len()))
                .filter(|&i| self.at_s[i] > self.at_s[i - 1])
                .map(|i| {
                    let rise = self.values[i] - self.values[i - 1];
                    (self.at_s[i], rise / (self.at_s[i] - self.at_s[i - 1]))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(samples: &[(f64, f64)]) -> Series {
        Series {
            probe: "power".to_owned(),
            subject: "server".to_owned(),
            name: "watts".to_owned(),
            kind: SeriesKind::Gauge,
            at_s: samples.iter().map(|(at, _)| *at).collect(),
            values: samples.iter().map(|(_, value)| *value).collect(),
        }
    }

    #[test]
    fn a_meter_that_logs_more_often_while_it_reads_more_is_not_counted_more_often() {
        // 100 W, but for the third second, which has ten samples of 300 W.
        let mut samples = vec![(0.0, 100.0), (1.0, 100.0)];
        samples.extend((0..10).map(|tenth| (2.0 + f64::from(tenth) / 10.0, 300.0)));
        samples.extend([(3.0, 100.0), (4.0, 100.0)]);
        let uneven = gauge(&samples);
        assert!((uneven.mean_over_time(5.0).unwrap() - 158.0).abs() < 1e-9);
        assert!(uneven.mean(5.0).unwrap() > 240.0);
        // Samples of a second each.
        let even = gauge(&[(0.5, 1.0), (1.5, 2.0), (2.5, 6.0)]);
        assert!((even.mean_over_time(3.0).unwrap() - 3.0).abs() < 0.5);
        assert_eq!(gauge(&[(2.0, 4.0)]).mean_over_time(3.0), Some(4.0));
        assert_eq!(gauge(&[(-1.0, 5.0)]).mean_over_time(3.0), None);
    }
}
