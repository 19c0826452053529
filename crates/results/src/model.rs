//! What a study holds, as plain data: systems, facts, loads, points, series, findings.

use crate::{
    histogram::new_latencies,
    summary::{Known, Summary},
};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies in nanoseconds, three significant digits, growing as needed.
pub type Latencies = Histogram<u64>;

/// What is recorded together: the kinds of request, and the pair of a read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Fetch one record.
    Read,
    /// Change fields of a record.
    Update,
    /// Write a whole record.
    Insert,
    /// Fetch consecutive records.
    Scan,
    /// Remove a record.
    Delete,
    /// A read and an update of the same record, both recorded also on their own.
    ReadModifyWrite,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::Delete,
        Self::ReadModifyWrite,
    ];

    /// The name in exports and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::Delete => "delete",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// What a study is of; written once, when the study is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The title of the plan.
    pub title: String,
    /// The version of tailmark that made the study.
    pub tailmark: String,
    /// When the study was made, milliseconds since 1970 UTC.
    pub created_ms: u64,
    /// The plan as it takes effect: dotted keys (`sweep.threads`) and their values as text.
    /// Compared when a directory is run again.
    pub plan: BTreeMap<String, String>,
    /// The plan file as it was given, or one that says the same as the flags.
    pub source: String,
    /// Dotted keys whose values the described study does not publish.
    pub assumed: Vec<String>,
}

/// One system under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Its name in the plan; unique.
    pub name: String,
    /// The driver's name.
    pub driver: String,
    /// The directory, device or contact points.
    pub place: String,
    /// `faithful` or `correct`.
    pub semantics: String,
    /// The driver's settings as they take effect.
    pub settings: BTreeMap<String, String>,
    /// The system whose device ceiling this one measures, if it does.
    pub ceiling_for: Option<String>,
}

/// Something known of the machine or of a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The system it is of; of the machine, where none.
    pub system: Option<String>,
    /// `machine`, `cpu`, `memory`, `kernel`, `device`, `file system`, `database`, `tailmark`, ...
    pub group: String,
    /// What it is, for example `model`.
    pub name: String,
    /// The value, with its unit.
    pub value: String,
}

/// Something that qualifies a number, shown beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable word to find it by, for example `client-saturated`.
    pub code: String,
    /// The evidence and the remedy, in one or two sentences.
    pub text: String,
}

/// How often one kind of request failed for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The kind of request.
    pub kind: Kind,
    /// `timeout`, `io`, ...
    pub cause: String,
    /// How often.
    pub count: u64,
    /// The first message of this kind and cause.
    pub example: String,
}

/// The name of a load or a point within a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointKey {
    /// The system's name.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn: `uniform`, `zipfian`, ...
    pub distribution: String,
    /// Clients with one operation in flight each.
    pub threads: u32,
    /// From 1.
    pub repeat: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub target_rate: Option<f64>,
}

/// What was measured of one kind over a whole phase.
#[derive(Debug, Clone, PartialEq)]
pub struct KindResult {
    /// Requests that did not fail, misses included.
    pub count: u64,
    /// Of those, reads that found nothing.
    pub not_found: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Bytes of keys and values read or written.
    pub bytes: u64,
    /// Service time of those that did not fail.
    pub service: Latencies,
    /// Response time of those, where it differs (a fixed rate).
    pub response: Option<Latencies>,
    /// Service time of those that failed, where any did.
    pub failed: Option<Latencies>,
    /// Service time as another program summed it up, where its result was imported without a
    /// histogram.
    pub summary: Option<Summary>,
    /// Response time likewise, where it differs.
    pub response_summary: Option<Summary>,
}

impl Default for KindResult {
    /// Nothing was measured.
    fn default() -> Self {
        Self {
            count: 0,
            not_found: 0,
            errors: 0,
            bytes: 0,
            service: new_latencies(),
            response: None,
            failed: None,
            summary: None,
            response_summary: None,
        }
    }
}

impl KindResult {
    /// Response time: its own histogram at a fixed rate, otherwise service time.
    #[must_use]
    pub fn response(&self) -> &Latencies {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// What is known of the service time.
    #[must_use]
    pub fn known_service(&self) -> Known<'_> {
        match &self.summary {
            Some(numbers) if self.service.is_empty() => self.summed_up(numbers),
            _ => Known::Histogram(&self.service),
        }
    }

    /// What is known of the response time: its own at a fixed rate, otherwise the service time.
    #[must_use]
    pub fn known_response(&self) -> Known<'_> {
        match (&self.response, &self.response_summary) {
            (Some(latencies), _) => Known::Histogram(latencies),
            (None, Some(numbers)) => self.summed_up(numbers),
            (None, None) => self.known_service(),
        }
    }

    /// Whether response time differs from service time.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.response.is_some() || self.response_summary.is_some()
    }

    fn summed_up<'a>(&self, numbers: &'a Summary) -> Known<'a> {
        Known::Summary {
            numbers,
            samples: self.count,
        }
    }
}

/// An interval's histogram, packed: a long sweep holds a hundred thousand of them, in memory as on
/// disk. `Packed::pack` and `Packed::unpack` are in `packed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed(pub(crate) Vec<u8>);

/// What was measured of one kind in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalKind {
    /// Requests that did not fail.
    pub count: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Service time.
    pub service: Packed,
    /// Response time, where it differs.
    pub response: Option<Packed>,
}

/// One interval of a phase: one second, or several where a long phase was coarsened.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Seconds since the start of the phase.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Operations completed (a read-modify-write is one), failures included.
    pub operations: u64,
    /// By kind; a kind that did nothing in it is absent.
    pub kinds: BTreeMap<Kind, IntervalKind>,
}

/// What a series' values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// A counter that only grows; a rate is the difference over time.
    Counter,
    /// A level at an instant.
    Gauge,
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
    /// The value at each.
    pub values: Vec<f64>,
}

impl Series {
    /// Change per second over the samples from the start of the phase to `end_s`, where there are
    /// two; of a gauge, none.
    #[must_use]
    pub fn mean_rate(&self, end_s: f64) -> Option<f64> {
        // Sampling is not on time to the last: what is half a second off still belongs to the phase.
        let within = |at: &f64| (-0.5..=end_s + 0.5).contains(at);
        let first = self.at_s.iter().position(within)?;
        let last = self.at_s.iter().rposition(within)?;
        let rise = self.values.get(last)? - self.values.get(first)?;
        let time = self.at_s[last] - self.at_s[first];
        (self.kind == SeriesKind::Counter && time > 0.0).then(|| rise.max(0.0) / time)
    }

    /// Change per second between consecutive samples, at the later one's instant; of a gauge, the
    /// samples themselves.
    #[must_use]
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

/// One measured phase: a load or the measured part of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// When it began, milliseconds since 1970 UTC; none where what was imported does not tell.
    pub started_ms: Option<u64>,
    /// How long it took, to the end of the last operation.
    pub duration_s: f64,
    /// Operations completed, failures included; a read-modify-write is one.
    pub operations: u64,
    /// By kind; a kind that was never asked for is absent.
    pub kinds: BTreeMap<Kind, KindResult>,
    /// Failures by kind and cause.
    pub errors: Vec<ErrorCount>,
    /// How much later than due operations were sent, nanoseconds; at a fixed rate only.
    pub start_lag: Option<Latencies>,
    /// What it was like over time.
    pub intervals: Vec<Interval>,
    /// What the machine did meanwhile.
    pub series: Vec<Series>,
    /// What qualifies the numbers.
    pub findings: Vec<Finding>,
    /// The database's own counters at the end (statistics), by name.
    pub counters: BTreeMap<String, u64>,
}

impl Phase {
    /// Operations per second, failures included, over the whole duration.
    #[must_use]
    pub fn ops_per_sec(&self) -> f64 {
        if self.duration_s > 0.0 {
            self.operations as f64 / self.duration_s
        } else {
            0.0
        }
    }

    /// Requests that failed, over all kinds that are sent (the pair of a read-modify-write is not).
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which one.
    pub key: PointKey,
    /// What was measured.
    pub phase: Phase,
}

/// The load of one system's data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The system's name.
    pub system: String,
    /// Records loaded in this load (fewer than the data set where it went on from an earlier one).
    pub records: u64,
    /// Clients that loaded.
    pub threads: u32,
    /// What was measured.
    pub phase: Phase,
}
