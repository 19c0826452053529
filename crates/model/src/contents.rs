//! What a study holds, as plain data: systems, facts, loads, points, series, findings.

use crate::{
    BlockQos, Censored, Failed, Finding, Kind, Latencies, Metric, Packed, PointKey,
    RankedLatencies, Series, StartLag, Summary, TimeBasis, new_latencies, printable,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

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
    /// Response time of those, where it differs.
    pub failed_response: Option<Latencies>,
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
            failed_response: None,
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
            _ => RankedLatencies::with_censored(&self.service, ages)
                .with_failed(self.failures(self.failed.as_ref())),
        }
    }

    /// The requests that failed, and their ages.
    const fn failures<'a>(&self, ages: Option<&'a Latencies>) -> Failed<'a> {
        Failed {
            count: self.errors,
            ages,
        }
    }

    /// What is known of the response time: its own at a fixed rate, otherwise the service time.
    #[must_use]
    pub fn ranked_response(&self) -> RankedLatencies<'_> {
        match (&self.response, &self.response_summary, &self.censored) {
            (None, Some(numbers), _) => self.summed_up(numbers),
            (None, None, None) if self.failed_response.is_none() => self.ranked_service(),
            (_, _, censored) => {
                let ages = censored.as_deref().map(|censored| &censored.response);
                let failed = self.failed_response.as_ref().or(self.failed.as_ref());
                RankedLatencies::with_censored(self.response(), ages)
                    .with_failed(self.failures(failed))
            }
        }
    }

    /// Whether response time differs from service time.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.response.is_some()
            || self.response_summary.is_some()
            || self.censored.is_some()
            || self.failed_response.is_some()
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

impl TimeBasis {
    /// What is known of the latencies of this clock.
    #[must_use]
    pub fn latencies(self, result: &KindResult) -> RankedLatencies<'_> {
        match self {
            Self::Service => result.ranked_service(),
            Self::Response => result.ranked_response(),
        }
    }
}

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

    /// How long all clients together waited for answers, failures included, nanoseconds.
    #[must_use]
    pub fn busy_ns(&self) -> f64 {
        // The halves of a read-modify-write are among reads and updates.
        let kinds = self.kinds.iter();
        let requests = kinds.filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
        let sum = |latencies: &Latencies| latencies.mean() * latencies.len() as f64;
        let busy = requests
            .map(|(_, result)| sum(&result.service) + result.failed.as_ref().map_or(0.0, sum));
        busy.sum()
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

/// A warm-up that was ended by rule: it is kept with the point that it was for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmup {
    /// What was measured in it, on a clock of its own; it has no warm-up itself.
    pub phase: Phase,
    /// From when on it was steady, seconds since its start; none: never.
    pub steady_s: Option<f64>,
    /// Why it was not, where it never was.
    pub reason: Option<String>,
}

impl Warmup {
    /// What lies between it and the measured part, not counted: the clients of the one have ended,
    /// and those of the other are under way when that begins.
    pub const EDGE: Duration = Duration::from_secs(1);

    /// How long it was, seconds.
    #[must_use]
    pub const fn length_s(&self) -> f64 {
        self.phase.duration_s
    }
}

/// A warm-up that was ended by rule, without what was measured in it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptWarmup {
    /// The point that it is of.
    pub key: PointKey,
    /// How long it was, seconds.
    pub length_s: f64,
    /// Whether it was cut off, because the database no longer answered.
    pub is_cut: bool,
}

/// What one process did of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankPart {
    /// The number of the process, from 0.
    pub rank: u32,
    /// The name of its machine.
    pub host: String,
    /// Its clients.
    pub threads: u32,
    /// Operations completed, failures included.
    pub operations: u64,
    /// Of those, the ones that failed.
    pub failed: u64,
    /// Of those that succeeded, the ones done after the end of the measured part.
    #[serde(default)]
    pub drained: u64,
    /// How long its part took, seconds.
    pub duration_s: f64,
    /// By how much it began later than agreed, nanoseconds.
    pub late_ns: u64,
    /// How far its clock was ahead of the clock of rank 0 at the start, nanoseconds. Negative if it was
    /// behind.
    pub clock_ahead_ns: i64,
    /// How far from that it may have been at most, at the start and at the end, nanoseconds.
    pub clock_bound_ns: u64,
    /// How much its clock had come to differ at the end from what was expected of it at the start,
    /// nanoseconds.
    pub clock_drift_ns: i64,
    /// How busy the processors of its machine were, 0 to 1; none where its machine was not watched
    /// by it.
    pub cpu_busy: Option<f64>,
    /// The share of them that the threads of its clients had, 0 to 1; none as above, and in studies of
    /// before.
    #[serde(default)]
    pub cpu_client: Option<f64>,
    /// Quantiles of the response time of all its requests: the share of requests, and nanoseconds.
    pub quantiles: Vec<(f64, u64)>,
}
