//! What a study holds, as plain data: systems, facts, loads, points, series, findings.

use crate::{
    Arrivals, BlockQos, Censored, Finding, Metric, PlanValue, Series, StartLag, StudySettings,
    histogram::new_latencies,
    new_study_id, printable,
    ranked_latencies::{Failed, RankedLatencies},
    ranks::RankPart,
    summary::Summary,
    warmup::Warmup,
};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// What tells the study from every other: 32 hexadecimal digits. Markers of data that a run of it
    /// made have the same. Empty in a study of before there were any.
    pub id: String,
    /// The title of the plan.
    pub title: String,
    /// The version of tailmark that made the study.
    pub tailmark: String,
    /// When the study was made, milliseconds since 1970 UTC.
    pub created_ms: u64,
    /// The plan as it takes effect: dotted keys, their values as text and their roles. Compared when
    /// a directory is run again.
    pub plan: BTreeMap<String, PlanValue>,
    /// What the plan says to those who read the study.
    pub settings: StudySettings,
    /// The plan file as it was given, or one that says the same as the flags.
    pub source: String,
    /// Dotted keys whose values the described study does not publish and the user did not give: as
    /// the plan names them, and those of `plan` that they become.
    pub assumed: Vec<String>,
}

impl Header {
    /// The header of results that come without a plan, made now: by a call of a program, or
    /// imported.
    #[must_use]
    pub fn without_plan(title: impl Into<String>, source: String) -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            id: new_study_id(),
            title: title.into(),
            tailmark: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            plan: BTreeMap::new(),
            settings: StudySettings::default(),
            source,
            assumed: Vec::new(),
        }
    }

    /// The plan as it takes effect: dotted keys and their values as text.
    #[must_use]
    pub fn plan_texts(&self) -> BTreeMap<String, String> {
        let plan = self.plan.iter();
        plan.map(|(key, given)| (key.clone(), given.value.clone()))
            .collect()
    }

    /// Bytes of the values in the data set, without keys; none if no plan says.
    #[must_use]
    pub fn value_bytes(&self) -> Option<f64> {
        self.settings.data.map(|data| data.value_bytes)
    }
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

impl Fact {
    /// The name of the fact that is a machine's name.
    pub const HOSTNAME: &str = "hostname";
    /// The group of what workloads stand for: their names, and for each a few words.
    pub const USE_CASE: &str = "use case";
    /// The group of the facts that name the files which a system's points were imported from.
    pub const IMPORTED: &str = "imported from";
    /// The group of the facts that name the contents of those files, by their SHA-256.
    pub const IMPORTED_CONTENTS: &str = "imported contents";
    /// The group of what was done to a device before it was measured, by step.
    pub const PREPARATION: &str = "preparation";

    /// What an open database reports of itself. It comes from a server, so that each is one line.
    pub fn of_database(system: &str, reported: BTreeMap<String, String>) -> Vec<Self> {
        let shown = |text: String| printable(&text).into_owned();
        let fact = |(name, value)| Self {
            system: Some(system.to_owned()),
            group: "database".to_owned(),
            name: shown(name),
            value: shown(value),
        };
        reported.into_iter().map(fact).collect()
    }
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
    /// Clients with one operation in flight each; [`PointKey::PEAK`] where only the peak is known.
    pub threads: u32,
    /// From 1.
    pub repeat: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub target_rate: Option<f64>,
    /// How operations arrive at that rate; none in a closed loop, and where each client has a
    /// schedule of its own (drop-ins).
    pub arrivals: Option<Arrivals>,
}

impl PointKey {
    /// In [`PointKey::threads`]: only the peak of the workload is known, not the thread count that
    /// it was reached at. No run has so many clients, so nothing that was measured is mistaken for
    /// it.
    pub const PEAK: u32 = 0;

    /// Whether the point is the peak of its workload at an unknown thread count. It is in
    /// comparisons of peaks, and in none at a thread count.
    #[must_use]
    pub const fn is_peak(&self) -> bool {
        self.threads == Self::PEAK
    }

    /// Clients, where their number is known.
    #[must_use]
    pub fn clients(&self) -> Option<u32> {
        (!self.is_peak()).then_some(self.threads)
    }
}

/// What was measured of one kind over a whole phase.
#[derive(Debug, Clone, PartialEq)]
pub struct KindResult {
    /// Requests that did not fail, misses included.
    pub count: u64,
    /// Of those, reads that found nothing.
    pub not_found: u64,
    /// Requests that failed; of a read-modify-write, the pairs of which either half did.
    pub errors: u64,
    /// Bytes of keys and values read or written.
    pub bytes: u64,
    /// Of those, the ones of requests done after the end of the measured part: they are in no rate.
    pub drained_bytes: u64,
    /// Service time of those that did not fail. What is stated comes from
    /// [`KindResult::ranked_service`].
    pub service: Latencies,
    /// Response time of those, where it differs (a fixed rate).
    pub response: Option<Latencies>,
    /// Service time of those that failed, where any did.
    pub failed: Option<Latencies>,
    /// Those that were due and never done, where there are any; not among `count`.
    pub censored: Option<Box<Censored>>,
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
            drained_bytes: 0,
            service: new_latencies(),
            response: None,
            failed: None,
            censored: None,
            summary: None,
            response_summary: None,
        }
    }
}

impl KindResult {
    /// Bytes of requests done by the end of the measured part.
    #[must_use]
    pub const fn bytes_in_time(&self) -> u64 {
        self.bytes.saturating_sub(self.drained_bytes)
    }

    /// Response time of what was done: its own histogram at a fixed rate, otherwise service time.
    /// What is stated comes from [`KindResult::ranked_response`], which has what was not done too.
    #[must_use]
    pub fn response(&self) -> &Latencies {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// What is known of the service time.
    #[must_use]
    pub fn ranked_service(&self) -> RankedLatencies<'_> {
        let ages = self.censored.as_deref().map(|censored| &censored.service);
        match &self.summary {
            Some(numbers) if self.service.is_empty() => self.summed_up(numbers),
            _ => RankedLatencies::with_censored(&self.service, ages).with_failed(self.failures()),
        }
    }

    /// The requests that failed.
    fn failures(&self) -> Failed<'_> {
        Failed {
            count: self.errors,
            ages: self.failed.as_ref(),
        }
    }

    /// What is known of the response time: its own at a fixed rate, otherwise the service time.
    #[must_use]
    pub fn ranked_response(&self) -> RankedLatencies<'_> {
        match (&self.response, &self.response_summary, &self.censored) {
            (None, Some(numbers), _) => self.summed_up(numbers),
            (None, None, None) => self.ranked_service(),
            (_, _, censored) => {
                let ages = censored.as_deref().map(|censored| &censored.response);
                RankedLatencies::with_censored(self.response(), ages).with_failed(self.failures())
            }
        }
    }

    /// Whether response time differs from service time.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.response.is_some() || self.response_summary.is_some() || self.censored.is_some()
    }

    fn summed_up<'a>(&self, numbers: &'a Summary) -> RankedLatencies<'a> {
        RankedLatencies::Summary {
            numbers,
            // Of a count that is not known, nothing is known with the failures either.
            samples: match self.count {
                0 => 0,
                count => count.saturating_add(self.errors),
            },
            failed: self.errors,
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

impl IntervalKind {
    /// What is known of latencies of it that were unpacked: the interval keeps no ages of requests
    /// that failed.
    #[must_use]
    pub fn known<'a>(&self, unpacked: &'a Latencies) -> RankedLatencies<'a> {
        RankedLatencies::new(unpacked).with_failed(Failed {
            count: self.errors,
            ages: None,
        })
    }
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
    /// Of those, the ones that failed; see [`crate::failure`].
    pub failed: u64,
    /// By kind; a kind that did nothing in it is absent.
    pub kinds: BTreeMap<Kind, IntervalKind>,
}

/// One measured phase: a load or the measured part of a point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    /// When it began, milliseconds since 1970 UTC; none where what was imported does not say.
    pub started_ms: Option<u64>,
    /// What rates are divided by: the planned time where it ran to that, otherwise how long it
    /// took to the end of the last operation. At a fixed rate so many operations are planned to
    /// take as long as they are due in.
    pub duration_s: f64,
    /// Operations completed, failures included; a read-modify-write is one.
    pub operations: u64,
    /// Of those, the ones that failed; see [`crate::failure`].
    pub failed: u64,
    /// By kind; a kind that was never asked for is absent.
    pub kinds: BTreeMap<Kind, KindResult>,
    /// Failures by kind and cause.
    pub errors: Vec<ErrorCount>,
    /// Of those that succeeded, the ones that were due in time and done after the end of the
    /// measured part: they count in latencies, not in operations per second.
    pub drained: u64,
    /// Of those that failed, likewise.
    pub drained_failed: u64,
    /// Operations that were due and never done; not among `operations`.
    pub censored: u64,
    /// How much later than due operations were sent; at a fixed rate only.
    pub start_lag: Option<StartLag>,
    /// Quantiles over the blocks of the run, worked out when it was committed.
    pub block_qos: Vec<BlockQos>,
    /// What it was like over time, without a gap: a second in which nothing was done is one too.
    pub intervals: Vec<Interval>,
    /// What the machine did meanwhile.
    pub series: Vec<Series>,
    /// What the samples came to, worked out when it was written to a study: the metrics that are
    /// sampled.
    pub figures: BTreeMap<Metric, f64>,
    /// What qualifies the numbers.
    pub findings: Vec<Finding>,
    /// The database's own counters at the end (statistics), by name.
    pub counters: BTreeMap<String, u64>,
    /// The warm-up before it, where that was ended by rule.
    pub warmup: Option<Box<Warmup>>,
    /// What each process did of it, where several carried it out together; else none.
    pub ranks: Vec<RankPart>,
}

impl Phase {
    /// Seconds until the last operation was done, or until the planned end where that was later.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        let last = self.intervals.last();
        last.map_or(0.0, |last| last.start_s + last.length_s)
            .max(self.duration_s)
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
