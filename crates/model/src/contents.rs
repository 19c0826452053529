//! What a study holds, as plain data: systems, facts, loads, points, series, findings.

use crate::{
    BlockQos, Bounded, Censored, Failed, Finding, Kind, Latencies, Metric, MoneyBasis, Packed,
    PointKey, RankedLatencies, Series, StartLag, Summary, TimeBasis, new_latencies, printable,
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
    /// The system that it describes; `None` for the machine.
    pub system: Option<String>,
    /// `machine`, `cpu`, `memory`, `kernel`, `device`, `file system`, `database`, `tailmark`, ...
    pub group: String,
    /// What it is, for example `model`.
    pub name: String,
    /// The value, with its unit.
    pub value: String,
}

impl Fact {
    /// The name of the fact with a machine's host name.
    pub const HOSTNAME: &str = "hostname";
    /// The group of facts that say what each workload stands for.
    pub const USE_CASE: &str = "use case";
    /// The group of facts that name the files from which a system's points were imported.
    pub const IMPORTED: &str = "imported from";
    /// The group of facts with the SHA-256 of the contents of those files.
    pub const IMPORTED_CONTENTS: &str = "imported contents";
    /// The group and the name of the fact that says when an earlier run loaded the data set of a system.
    pub const LOADED_EARLIER: (&str, &str) = ("data set", "loaded earlier");
    /// The group of facts about preparing a device, by step.
    pub const PREPARATION: &str = "preparation";

    /// Facts that an open database reports about itself. They come from a server, so each is
    /// reduced to one line.
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

/// How often requests of one kind failed for one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The kind of request.
    pub kind: Kind,
    /// The cause: `timeout`, `io`, ...
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
    /// Reads among them that found nothing.
    pub not_found: u64,
    /// Requests that failed. A read-modify-write failed if either half did.
    pub errors: u64,
    /// Bytes of keys and values read or written.
    pub bytes: u64,
    /// Bytes among them of requests done after the end of the measured part. They are in no rate.
    pub drained_bytes: u64,
    /// Service time of requests that did not fail. Reports state [`KindResult::ranked_service`].
    pub service: Latencies,
    /// Response time of the same requests, if it differs (at a fixed rate).
    pub response: Option<Latencies>,
    /// Service time of requests that failed, if any did.
    pub failed: Option<Latencies>,
    /// Response time of the same requests, if it differs.
    pub failed_response: Option<Latencies>,
    /// Requests that were due and never done, if any; not part of `count`.
    pub censored: Option<Box<Censored>>,
    /// Service time as summarised by another program, if its result was imported without a
    /// histogram.
    pub summary: Option<Summary>,
    /// Response time as summarised by another program, if it differs.
    pub response_summary: Option<Summary>,
}

impl Default for KindResult {
    /// A result without any measurement.
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
    pub const fn bytes_in_time(&self) -> u64 {
        self.bytes.saturating_sub(self.drained_bytes)
    }

    /// Response time of completed requests: its own histogram at a fixed rate, otherwise service
    /// time. Reports state [`KindResult::ranked_response`], which includes requests that were never
    /// done.
    pub fn response(&self) -> &Latencies {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Everything known about service time.
    pub fn ranked_service(&self) -> RankedLatencies<'_> {
        let ages = self.censored.as_deref().map(|censored| &censored.service);
        match &self.summary {
            Some(numbers) if self.service.is_empty() => self.summed_up(numbers),
            _ => RankedLatencies::with_censored(&self.service, ages)
                .with_failed(self.failures(self.failed.as_ref())),
        }
    }

    /// The failed requests with their ages.
    const fn failures<'a>(&self, ages: Option<&'a Latencies>) -> Failed<'a> {
        Failed {
            count: self.errors,
            ages,
        }
    }

    /// Everything known about response time: its own histogram at a fixed rate, otherwise service
    /// time.
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
    /// Everything known about latencies by this clock.
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
    /// Everything known about its unpacked latencies. The interval keeps no ages of failed
    /// requests.
    pub fn known<'a>(&self, unpacked: &'a Latencies) -> RankedLatencies<'a> {
        RankedLatencies::new(unpacked).with_failed(Failed {
            count: self.errors,
            ages: None,
        })
    }
}

/// One interval of a phase: one second, or several if a long phase was coarsened.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Seconds since the start of the phase.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Operations completed (a read-modify-write is one), failures included.
    pub operations: u64,
    /// Operations among them that failed; see [`crate::failure`].
    pub failed: u64,
    /// Results by kind. Kinds without requests in the interval are absent.
    pub kinds: BTreeMap<Kind, IntervalKind>,
}

/// One measured phase: a load or the measured part of a point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    /// When it began, milliseconds since 1970 UTC; `None` if an import does not say.
    pub started_ms: Option<u64>,
    /// The divisor of rates: the planned time if the phase ran that long, otherwise the time until
    /// the last operation ended. At a fixed rate with a budget, the planned time is the time in
    /// which the operations are due.
    pub duration_s: f64,
    /// Operations completed, failures included; a read-modify-write is one.
    pub operations: u64,
    /// Operations among them that failed; see [`crate::failure`].
    pub failed: u64,
    /// Results by kind. Kinds that were never requested are absent.
    pub kinds: BTreeMap<Kind, KindResult>,
    /// Failures by kind and cause.
    pub errors: Vec<ErrorCount>,
    /// Successful operations that were due in time and done after the end of the measured part.
    /// They count in latencies, not in operations per second.
    pub drained: u64,
    /// Failed operations of the same sort.
    pub drained_failed: u64,
    /// Operations that were due and never done; not part of `operations`.
    pub censored: u64,
    /// How late operations were sent; at a fixed rate only.
    pub start_lag: Option<StartLag>,
    /// Quantiles over the blocks of the run, computed when it was committed.
    pub block_qos: Vec<BlockQos>,
    /// Its intervals, without gaps: a second in which nothing was done has one, too.
    pub intervals: Vec<Interval>,
    /// Samples of the machine during the phase.
    pub series: Vec<Series>,
    /// Metrics computed from the samples when the phase was written to a study.
    pub figures: BTreeMap<Metric, Bounded>,
    /// The basis of figures of money. A study keeps neither, because a plan may change its prices.
    pub money: MoneyBasis,
    /// Findings that qualify the numbers.
    pub findings: Vec<Finding>,
    /// The database's own counters at the end (statistics), by name.
    pub counters: BTreeMap<String, u64>,
    /// The warm-up before it, if a rule ended that.
    pub warmup: Option<Box<Warmup>>,
    /// The part of each process, if several carried out the phase together.
    pub ranks: Vec<RankPart>,
}

impl Phase {
    /// Seconds until the last operation was done, or until the planned end if that was later.
    pub fn elapsed_s(&self) -> f64 {
        let last = self.intervals.last();
        last.map_or(0.0, |last| last.start_s + last.length_s)
            .max(self.duration_s)
    }

    /// The total time for which clients waited for answers, including failures, nanoseconds.
    pub fn busy_ns(&self) -> f64 {
        // The halves of a read-modify-write are among reads and updates.
        let sum = |latencies: &Latencies| latencies.mean() * latencies.len() as f64;
        let busy =
            |result: &KindResult| sum(&result.service) + result.failed.as_ref().map_or(0.0, sum);
        Kind::sent(&self.kinds).map(busy).sum()
    }
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub key: PointKey,
    /// What was measured.
    pub phase: Phase,
}

/// The load of one system's data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The system's name.
    pub system: String,
    /// Records loaded by this load. Fewer than the data set has if it resumed an earlier load.
    pub records: u64,
    /// The number of clients that loaded.
    pub threads: u32,
    /// What was measured.
    pub phase: Phase,
}

/// A warm-up that a rule ended. It is kept with its point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmup {
    /// What was measured in it, on its own clock. It has no warm-up itself.
    pub phase: Phase,
    /// When it became steady, seconds since its start; `None` if it never did.
    pub steady_s: Option<f64>,
    /// Why it never became steady.
    pub reason: Option<String>,
}

impl Warmup {
    /// The uncounted time between the warm-up and the measured part. It lets the new clients get
    /// under way before the measured part begins.
    pub const EDGE: Duration = Duration::from_secs(1);

    /// Its length, seconds.
    pub const fn length_s(&self) -> f64 {
        self.phase.duration_s
    }
}

/// A warm-up that a rule ended, without its measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptWarmup {
    /// The point that it belongs to.
    pub key: PointKey,
    /// Its length, seconds.
    pub length_s: f64,
    /// Whether it was cut off because the database no longer answered.
    pub is_cut: bool,
}

/// The part of one process in a phase.
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
    /// Operations among them that failed.
    pub failed: u64,
    /// Successful operations that were done after the end of the measured part.
    pub drained: u64,
    /// How long its part took, seconds.
    pub duration_s: f64,
    /// How much later than agreed it began, nanoseconds.
    pub late_ns: u64,
    /// How far its clock was ahead of the clock of rank 0 at the start, nanoseconds. Negative if it was
    /// behind.
    pub clock_ahead_ns: i64,
    /// The largest possible error of that, at the start and at the end, nanoseconds.
    pub clock_bound_ns: u64,
    /// How far its clock had drifted at the end from the value predicted at the start, nanoseconds.
    pub clock_drift_ns: i64,
    /// How busy the processors of its machine were, 0 to 1; `None` if this process did not watch
    /// its machine.
    pub cpu_busy: Option<f64>,
    /// The share that the threads of its clients had of them, 0 to 1; `None` as above.
    pub cpu_client: Option<f64>,
    /// Quantiles of the response time of all its requests, as pairs of a share of requests and
    /// nanoseconds.
    pub quantiles: Vec<(f64, u64)>,
}
