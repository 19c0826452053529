//! What counts as an operation, what counts as a failure, and which points failures invalidate.
//! Defined here only.
//!
//! - An **operation** is one completed item of the workload, whether it succeeded or failed. A
//!   read-modify-write is one item, and so is one request for many records.
//! - It **failed** if any of its requests did: for a read-modify-write, if either half did. A read
//!   that found nothing did not fail.
//! - **Operations per second** always counts successful operations. Failed operations have a rate
//!   of their own.
//! - A point is **valid** unless it has a [`Fault`]. A point with a fault is shown and marked, but
//!   it is never a peak and never a basis of a comparison.

use crate::{
    Interval, IntervalKind, Kind, KindResult, Phase, Sentence,
    finding::{CLIENT_STOPPED, NO_ANSWER, NOTHING_FOUND},
    number::percent,
};
use std::{collections::BTreeMap, fmt};

/// The share of a point's operations that may fail if the plan does not say otherwise.
pub const ALLOW_ERRORS: f64 = 0.001;

/// Why a point cannot be a peak or a basis of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// More operations failed than allowed: this share, 0 to 1.
    Failed(f64),
    /// The database stopped responding.
    NoAnswer,
    /// Every read missed.
    NothingFound,
    /// The process of the clients was suspended.
    Stopped,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(share) => write!(f, "{} failed", percent(*share)),
            Self::NoAnswer => f.write_str("no answer from the database"),
            Self::NothingFound => f.write_str("nothing was found"),
            Self::Stopped => f.write_str("the client was stopped"),
        }
    }
}

impl Phase {
    /// Operations that succeeded.
    pub const fn succeeded(&self) -> u64 {
        self.operations.saturating_sub(self.failed)
    }

    /// The text of the finding `errors`: that requests failed, how many, and the most frequent
    /// cause. `None` if no failure has a cause.
    pub fn failures_in_words(&self) -> Option<Sentence> {
        let first = self.errors.iter().max_by_key(|cause| cause.count)?;
        let cause = format!("{} {} ({})", first.kind.name(), first.cause, first.example);
        let sentence = Sentence::new(
            "{Requests failed} of {Requests} requests failed, most often: {Most often}. Their \
             latencies are kept apart, and ops/s counts only successful operations. Find the cause \
             before using these numbers.",
        );
        let sentence = sentence.count("Requests failed", self.errors());
        let sentence = sentence.count("Requests", self.requests());
        Some(sentence.text("Most often", cause))
    }

    /// Successful operations per second, over the whole duration. Operations done after its end are
    /// excluded.
    pub fn ops_per_sec(&self) -> f64 {
        let in_time = self.succeeded().saturating_sub(self.drained);
        rate(in_time, self.duration_s)
    }

    /// Failed operations per second, defined likewise.
    pub fn errors_per_sec(&self) -> f64 {
        rate(self.failed_in_time(), self.duration_s)
    }

    /// Operations done by the end of the measured part, including failures: devices and processors
    /// had worked for these.
    pub const fn operations_in_time(&self) -> u64 {
        let drained = self.drained.saturating_add(self.drained_failed);
        self.operations.saturating_sub(drained)
    }

    /// Operations among them that failed.
    pub const fn failed_in_time(&self) -> u64 {
        self.failed.saturating_sub(self.drained_failed)
    }

    /// Failed requests over all kinds that are sent. The pair of a read-modify-write is not sent.
    pub fn errors(&self) -> u64 {
        self.errors.iter().map(|e| e.count).sum()
    }

    /// Requests that were answered, including failures and those of background clients.
    pub fn requests(&self) -> u64 {
        Kind::sent(&self.kinds).map(|k| k.count + k.errors).sum()
    }

    /// Requests of background clients, which do not count as operations. A read-modify-write is one
    /// operation and two requests.
    pub fn background_requests(&self) -> u64 {
        let pairs = self.kinds.get(&Kind::ReadModifyWrite);
        let pairs = pairs.map_or(0, |pairs| pairs.count + pairs.errors);
        self.requests().saturating_sub(pairs + self.operations)
    }

    /// The share that failed, 0 to 1: of the operations or, if that is more, of the requests, which
    /// background clients send too.
    pub fn error_share(&self) -> f64 {
        let share = |failed: u64, all: u64| failed as f64 / all.max(1) as f64;
        share(self.failed, self.operations).max(share(self.errors(), self.requests()))
    }

    /// The fault of the phase, if any, when this share of its operations may fail.
    pub fn fault(&self, allow_errors: f64) -> Option<Fault> {
        let share = self.error_share();
        match () {
            () if NO_ANSWER.is_among(&self.findings) => Some(Fault::NoAnswer),
            () if share > allow_errors => Some(Fault::Failed(share)),
            () if NOTHING_FOUND.is_among(&self.findings) => Some(Fault::NothingFound),
            () if CLIENT_STOPPED.is_among(&self.findings) => Some(Fault::Stopped),
            () => None,
        }
    }

    /// Whether every read or every scan found nothing. One in a hundred of them or less does not
    /// count: a few scans may begin at the last key.
    pub fn found_nothing(&self) -> bool {
        let looked = [Kind::Read, Kind::Scan].map(|kind| self.kinds.get(&kind));
        let looked = || looked.into_iter().flatten();
        let all: u64 = looked().map(|kind| kind.count).sum();
        let is_nothing = |kind: &KindResult| kind.count > 0 && kind.count == kind.not_found;
        looked().any(|kind| is_nothing(kind) && kind.count.saturating_mul(100) > all)
    }
}

impl Interval {
    /// Operations that succeeded.
    pub const fn succeeded(&self) -> u64 {
        self.operations.saturating_sub(self.failed)
    }
}

pub(crate) fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// The counts of a kind.
pub trait Counted {
    /// Requests that succeeded, and requests that failed.
    fn counted(&self) -> (u64, u64);
}

impl Counted for KindResult {
    fn counted(&self) -> (u64, u64) {
        (self.count, self.errors)
    }
}

impl Counted for IntervalKind {
    fn counted(&self) -> (u64, u64) {
        (self.count, self.errors)
    }
}

/// How many of these operations failed, as far as requests tell. Imports do not count failed
/// operations.
///
/// Each failed request is a failed operation, except that a read-modify-write whose halves both
/// failed has two. Only bounds are known of how often that happened. The minimum is taken, so that
/// no failure passes for a success. It is exact without read-modify-writes, if only one sort of
/// half failed, and if nothing succeeded.
pub fn failed_operations<T: Counted>(operations: u64, kinds: &BTreeMap<Kind, T>) -> u64 {
    let counted = |kind| kinds.get(&kind).map_or((0, 0), Counted::counted);
    let all = Kind::sent(kinds).map(Counted::counted);
    let (succeeded, failed) = all.fold((0, 0), |sum, k| (sum.0 + k.0, sum.1 + k.1));
    // Requests beyond operations are second halves.
    let pairs = if kinds.contains_key(&Kind::ReadModifyWrite) {
        (succeeded + failed).saturating_sub(operations)
    } else {
        0
    };
    let pairs_failed = pairs.saturating_sub(counted(Kind::ReadModifyWrite).0);
    // A half that is not among the requests that succeeded has failed.
    let halves = [Kind::Read, Kind::Update].map(|kind| pairs.saturating_sub(counted(kind).0));
    let both = (halves[0] + halves[1]).saturating_sub(pairs_failed);
    failed.saturating_sub(both).min(operations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCount;

    fn phase(operations: u64, failed: u64, kinds: &[(Kind, u64, u64)]) -> Phase {
        let result = |&(kind, count, errors): &(Kind, u64, u64)| {
            let result = KindResult {
                count,
                errors,
                ..KindResult::default()
            };
            (kind, result)
        };
        let error = |&(kind, _, count): &(Kind, u64, u64)| ErrorCount {
            kind,
            cause: "io".into(),
            count,
            example: "no space".into(),
        };
        let sent = kinds.iter().filter(|k| k.0 != Kind::ReadModifyWrite);
        Phase {
            duration_s: 2.0,
            operations,
            failed,
            kinds: kinds.iter().map(result).collect(),
            errors: sent.map(error).collect(),
            ..Phase::default()
        }
    }

    #[test]
    fn operations_per_second_are_successes_and_failures_have_their_own_rate() {
        let full = phase(100_159, 82_927, &[(Kind::Update, 17_232, 82_927)]);
        assert_eq!(full.succeeded(), 17_232);
        assert_eq!(
            (full.ops_per_sec(), full.errors_per_sec()),
            (8_616.0, 41_463.5)
        );
        assert!((full.error_share() - 0.828).abs() < 0.001);
        assert_eq!(full.fault(1.0), None);
        let drained = Phase {
            drained: 232,
            ..full.clone()
        };
        assert_eq!(drained.ops_per_sec(), 8_500.0, "not done in time");
        let fault = full.fault(ALLOW_ERRORS).unwrap();
        assert_eq!(fault.to_string(), "82.8% failed");
    }

    #[test]
    fn more_than_what_is_allowed_is_a_fault_and_as_much_is_none() {
        let failing = |failed| phase(1_000, failed, &[(Kind::Read, 1_000 - failed, failed)]);
        assert_eq!(failing(1).fault(ALLOW_ERRORS), None);
        assert_eq!(failing(2).fault(ALLOW_ERRORS), Some(Fault::Failed(0.002)));
        assert_eq!(failing(0).fault(0.0), None);
    }

    #[test]
    fn requests_of_background_clients_count_where_they_fail_more_often() {
        let writer = [(Kind::Read, 1_000, 0), (Kind::Insert, 0, 10)];
        let share = phase(1_000, 0, &writer).error_share();
        assert_eq!(share, 10.0 / 1_010.0);
    }

    #[test]
    fn a_database_that_went_away_or_had_nothing_and_a_stopped_client_are_faults() {
        for (code, fault) in [
            (NO_ANSWER, Fault::NoAnswer),
            (NOTHING_FOUND, Fault::NothingFound),
            (CLIENT_STOPPED, Fault::Stopped),
        ] {
            let mut phase = phase(10, 0, &[(Kind::Read, 10, 0)]);
            phase.findings.push(code.finding(""));
            assert_eq!(phase.fault(ALLOW_ERRORS), Some(fault));
        }
    }

    #[test]
    fn nothing_was_found_where_every_read_missed() {
        let mut phase = phase(10, 0, &[(Kind::Read, 10, 0), (Kind::Update, 10, 0)]);
        assert!(!phase.found_nothing());
        for (missed, nothing) in [(9, false), (10, true)] {
            if let Some(read) = phase.kinds.get_mut(&Kind::Read) {
                read.not_found = missed;
            }
            assert_eq!(phase.found_nothing(), nothing);
        }
        let scan = phase.kinds[&Kind::Update].clone();
        phase.kinds.insert(Kind::Scan, scan);
        assert!(phase.found_nothing(), "scans do not hide reads");
        if let Some(reads) = phase.kinds.get_mut(&Kind::Read) {
            (reads.count, reads.not_found) = (990, 989);
        }
        phase.kinds.get_mut(&Kind::Scan).unwrap().not_found = 10;
        assert!(!phase.found_nothing(), "1 %");
        phase.kinds.retain(|kind, _| *kind == Kind::Update);
        assert!(!phase.found_nothing(), "nothing was looked for");
    }

    #[test]
    fn failures_that_nobody_counted_are_at_least_as_many_as_there_were() {
        let failed = |operations, kinds: &[(Kind, u64, u64)]| {
            failed_operations(operations, &phase(operations, 0, kinds).kinds)
        };
        use Kind::{Read, ReadModifyWrite as Pair, Update};
        // Each request is an operation.
        assert_eq!(failed(100, &[(Read, 40, 10), (Update, 50, 0)]), 10);
        // 100 operations, 50 of them pairs. A full disk: only updates fail.
        assert_eq!(
            failed(100, &[(Read, 100, 0), (Update, 20, 30), (Pair, 20, 0)]),
            30
        );
        // Nothing succeeds: both halves of every pair fail.
        assert_eq!(failed(100, &[(Read, 0, 100), (Update, 0, 50)]), 100);
        // Nothing but one pair and four reads does.
        assert_eq!(
            failed(100, &[(Read, 5, 95), (Update, 1, 49), (Pair, 1, 0)]),
            99
        );
        // Ten operations failed, of them four pairs in both halves, which cannot be known.
        assert_eq!(
            failed(100, &[(Read, 90, 10), (Update, 46, 4), (Pair, 46, 0)]),
            14
        );
    }
}
