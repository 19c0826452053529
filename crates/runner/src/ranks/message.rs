//! The messages between the processes of a run, and their encoding as bytes.
//!
//! Rank 0 commands, and each other rank answers. In addition there are the messages of a phase in
//! progress, and a heartbeat once a second in both directions.

use crate::{Error, error::in_one_line};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use tailmark_engine::{Part, Spec, Terms};
use tailmark_model::{Fact, Interval, IntervalKind, Kind, Packed, Phase, PointKey, RankPart};
use tailmark_plan::Consent;
use tailmark_workload::{KeySpace, Turns};

/// From rank 0 to another, and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// A rank is there: its version, its host and what its plan says.
    Hello { version: String, host: String },
    /// What rank 0 wants done; each is answered.
    Command(Command),
    /// The answer to the previous command.
    Answer(Result<Answer, Failure>),
    /// Asks for the time of a rank; answered at once, whatever it does.
    Ping,
    /// The instants of the request: when it was sent, by the clock of rank 0, and when it came.
    Pong([u8; 16]),
    /// A heartbeat once a second. For the phase in progress: how far the inserts of a rank, or of
    /// all, are acknowledged.
    Beat {
        phase: u64,
        inserted: u64,
        live: LiveCounts,
    },
    /// Every client of a rank is ready.
    Ready { phase: u64 },
    /// A rank cannot begin, and why.
    Failed { phase: u64, why: Failure },
    /// The phase begins at this instant of rank 0's clock, nanoseconds; `None`: it does not begin.
    Start { phase: u64, at: Option<u64> },
    /// The measured part ends that long after its start.
    End { phase: u64, after: Duration },
    /// In simulated time: rank 0 has not enough of what ended by then, seconds.
    GoOn { phase: u64, until_s: f64 },
    /// Ends the phase because a stop was requested. Its measurements are dropped.
    Stop { phase: u64 },
    /// Intervals that a rank adds nothing to any more.
    Intervals { phase: u64, closed: Vec<Seconds> },
    /// A rank has done its part.
    Done { phase: u64, part: Box<DonePart> },
}

/// Why a rank could not carry out a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In one line.
    pub why: String,
    /// Whether the request itself was wrong.
    pub is_usage: bool,
}

impl Failure {
    /// An error in the form for another rank.
    pub fn from_error(error: &Error) -> Self {
        Self {
            why: in_one_line(error),
            is_usage: error.is_usage(),
        }
    }
}

/// A rank's report about its phase, once a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCounts {
    pub operations: u64,
    pub ops_per_sec: f64,
    pub errors_per_sec: f64,
    pub p99_ns: u64,
    pub errors: u64,
}

/// An interval of a phase in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    start_s: f64,
    length_s: f64,
    operations: u64,
    failed: u64,
    kinds: BTreeMap<Kind, KindSeconds>,
}

/// One kind of request in it; histograms as bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KindSeconds {
    count: u64,
    errors: u64,
    service: Vec<u8>,
    response: Option<Vec<u8>>,
}

impl Seconds {
    /// The report for an interval.
    pub fn from_interval(interval: &Interval) -> Self {
        let bytes = |packed: &Packed| packed.as_bytes().to_vec();
        let kind = |(kind, counts): (&Kind, &IntervalKind)| {
            let seconds = KindSeconds {
                count: counts.count,
                errors: counts.errors,
                service: bytes(&counts.service),
                response: counts.response.as_ref().map(bytes),
            };
            (*kind, seconds)
        };
        Self {
            start_s: interval.start_s,
            length_s: interval.length_s,
            operations: interval.operations,
            failed: interval.failed,
            kinds: interval.kinds.iter().map(kind).collect(),
        }
    }

    /// The interval; `None` if the report is damaged.
    pub fn interval(self) -> Option<Interval> {
        let packed = |bytes: Vec<u8>| Packed::from_bytes(&bytes).ok();
        let kind = |(kind, counts): (Kind, KindSeconds)| {
            let response = match counts.response {
                None => None,
                Some(bytes) => Some(packed(bytes)?),
            };
            let interval = IntervalKind {
                count: counts.count,
                errors: counts.errors,
                service: packed(counts.service)?,
                response,
            };
            Some((kind, interval))
        };
        Some(Interval {
            start_s: self.start_s,
            length_s: self.length_s,
            operations: self.operations,
            failed: self.failed,
            kinds: self.kinds.into_iter().map(kind).collect::<Option<_>>()?,
        })
    }
}

/// The measurements of a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DonePart {
    /// The phase as bytes, or why there is none.
    pub measured: Result<Vec<u8>, Failure>,
    /// How far its inserts are acknowledged.
    pub inserted: u64,
    /// By how much it began late, nanoseconds.
    pub late_ns: u64,
    /// By how much its time was ahead of the agreed one at the end, nanoseconds.
    pub ahead_ns: i64,
    /// What could not be sampled, and why.
    pub not_sampled: Vec<String>,
    /// Whether it ended before its time, so that the others have nothing to go on for.
    pub has_failed: bool,
}

/// What rank 0 wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Takes the plan: the id of the study, its text, its effective keys, the host of every rank,
    /// and the user's consent.
    Plan {
        study: String,
        source: String,
        keys: BTreeMap<String, String>,
        hosts: Vec<String>,
        consent: Consent,
    },
    /// Checks whether a system can be measured of which each rank has its own. Changes nothing.
    TryOpen { system: String },
    /// Looks whether its data set is there.
    Look { system: String },
    /// Removes its data set.
    Remove { system: String },
    /// Makes an empty one.
    StartEmpty { system: String },
    /// Loads it, as a part of a phase that is measured on all ranks.
    Load { system: String, seed: u64 },
    /// Says that the load of it is in the study.
    Complete { system: String, started: String },
    /// Drops the caches of this machine.
    DropCaches { system: String },
    /// Opens it.
    Open { system: String },
    /// Waits until its background work has settled.
    Settle,
    /// Closes what is open.
    Close,
    /// Carries out its part of a phase.
    Measure(Box<Order>),
    /// Nothing more is wanted.
    Leave,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Done,
    /// Whether the data set is there and complete, and facts about its place.
    Loaded {
        is_loaded: bool,
        facts: Vec<Fact>,
    },
    /// It was done in part, and why.
    But(String),
    /// Facts about the machine, and why its memory is not limited although the plan asks for it.
    Machine {
        facts: Vec<Fact>,
        unlimited: Option<String>,
    },
}

/// A part of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Its number.
    pub phase: u64,
    pub system: String,
    pub point: Option<PointKey>,
    /// The workload's name; `None` for the load.
    pub workload: Option<String>,
    /// Whether each rank has a database of its own.
    pub is_own: bool,
    /// For all ranks together.
    pub terms: Terms,
    /// The records that are there when it begins.
    pub records: u64,
    /// Whether rank 0 decides from the measurements when there is enough.
    pub streams: bool,
    /// Of the rank that it is for: its first client, and how many.
    pub clients: (u32, u32),
    pub own_operations: Option<u64>,
    /// The number of ranks taking part, and the one that it is for.
    pub ranks: u32,
    pub rank: u32,
    /// An instant of its clock, the same of the clock of rank 0, and how much faster the latter
    /// goes.
    pub clock: (u64, u64, f64),
}

impl Order {
    pub fn new(
        spec: &Spec<'_>,
        phase: u64,
        (rank, ranks): (u32, u32),
        is_own: bool,
        clock: (u64, u64, f64),
    ) -> Self {
        let (first, own) = Part::clients(spec.threads.max(ranks), rank, ranks);
        let own_operations = spec.operations.map(|all| match (is_own, spec.point) {
            (true, None) => all,
            // Ranks take turns with the records.
            (false, None) => {
                let (all, rank, ranks) = (all, u64::from(rank), u64::from(ranks));
                all / ranks + u64::from(rank < all % ranks)
            }
            _ => Part::operations(all, (first, own), spec.threads),
        });
        Self {
            phase,
            system: spec.system.to_owned(),
            point: spec.point.cloned(),
            workload: spec.point.map(|_| spec.workload.name.clone()),
            is_own,
            terms: Terms {
                threads: spec.threads.max(ranks),
                ..spec.terms
            },
            records: spec.keys.own_acknowledged() - spec.keys.turns().own,
            streams: spec.enough.is_some() || spec.is_warmup,
            clients: (first, own),
            own_operations,
            ranks,
            rank,
            clock,
        }
    }

    /// The length of a phase of all ranks. In a closed loop it is the mean over all clients, as in
    /// one process. If every rank did in time what was due at a rate, it is the time in which all
    /// of it was due. Otherwise it is that of the longest rank.
    pub fn duration_s(&self, phase: &Phase) -> f64 {
        let threads = |part: &RankPart| f64::from(part.threads);
        let all: f64 = phase.ranks.iter().map(threads).sum();
        match (&self.point, self.terms.rate, self.terms.operations) {
            (Some(_), None, _) if all > 0.0 => {
                let run = phase.ranks.iter().map(|p| threads(p) * p.duration_s);
                run.sum::<f64>() / all
            }
            (Some(_), Some(rate), Some(operations)) => {
                let due_s = |part: &RankPart| {
                    let own = part.operations + u64::from(part.operations == 0);
                    own as f64 / (rate * threads(part) / all)
                };
                let in_time = |part: &RankPart| part.duration_s <= due_s(part) * 1.001;
                if phase.operations == operations && phase.ranks.iter().all(in_time) {
                    operations as f64 / rate
                } else {
                    phase.duration_s
                }
            }
            _ => phase.duration_s,
        }
    }

    /// The key space with which a rank that follows starts.
    pub fn keys(&self) -> KeySpace {
        let turns = if self.is_own {
            Turns::ALONE
        } else {
            Turns {
                own: self.rank.into(),
                processes: self.ranks.into(),
            }
        };
        KeySpace::taking_turns(self.records, turns)
    }
}

impl Answer {
    /// Remarks on commands that were carried out only in part.
    pub fn said(answers: &[Self]) -> impl Iterator<Item = &str> {
        answers.iter().filter_map(|answer| match answer {
            Self::But(said) => Some(said.as_str()),
            _ => None,
        })
    }
}

impl Message {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a message has nothing that cannot be serialized")
    }

    /// Decodes bytes; `None` if they are from another version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::new_latencies;

    #[test]
    fn an_interval_arrives_as_it_was_sent() {
        let mut service = new_latencies();
        service.record(1_234_567).unwrap();
        let kind = IntervalKind {
            count: 1,
            errors: 2,
            service: Packed::pack(&service),
            response: Some(Packed::pack(&service)),
        };
        let interval = Interval {
            start_s: 3.0,
            length_s: 1.0,
            operations: 4,
            failed: 2,
            kinds: [(Kind::Scan, kind)].into(),
        };
        let message = Message::Intervals {
            phase: 7,
            closed: vec![Seconds::from_interval(&interval)],
        };
        let Some(Message::Intervals { mut closed, .. }) = Message::from_bytes(&message.to_bytes())
        else {
            panic!("another message");
        };
        assert_eq!(closed.remove(0).interval(), Some(interval));
        assert_eq!(Message::from_bytes(&[250, 1, 2]), None);
    }
}
