//! What is counted and timed in one interval, by kind of request.

use super::counts::Counts;
use tailmark_driver::Cause;
use tailmark_results::Kind;

/// Latencies up to this one, nanoseconds, find their place in a sheet that was made ready: a client that
/// shares its processor with hundreds is often interrupted for a second.
const READY_NS: u64 = 2_000_000_000;

/// What is kept of response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Service time only: a closed loop, where both are equal.
    Service,
    /// Both: a fixed rate.
    Both,
}

/// Failures of one cause.
#[derive(Debug, Clone)]
pub struct Failures {
    /// Why.
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// The first message.
    pub example: String,
}

/// What was recorded of one kind in one interval.
#[derive(Debug, Default)]
pub struct KindSheet {
    /// Requests that did not fail.
    pub count: u64,
    /// Of those, the ones that found nothing.
    pub not_found: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Service time of those that did not fail, nanoseconds.
    pub service: Counts,
    /// Response time of those; empty in a closed loop.
    pub response: Counts,
    /// Service time of those that failed.
    pub failed: Counts,
    /// Of the requests that found nothing, which are part of the above, their latencies once more.
    pub missed: Option<Box<Missed>>,
    /// Failures by cause.
    pub failures: Vec<Failures>,
}

/// Latencies of requests that found nothing.
#[derive(Debug, Default)]
pub struct Missed {
    /// Service time, nanoseconds.
    pub service: Counts,
    /// Response time; empty in a closed loop.
    pub response: Counts,
}

impl KindSheet {
    /// Requests that failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.failures.iter().map(|f| f.count).sum()
    }

    /// Adds what another sheet has.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.not_found += other.not_found;
        self.bytes += other.bytes;
        self.service.add(&other.service);
        self.response.add(&other.response);
        self.failed.add(&other.failed);
        if let Some(theirs) = &other.missed {
            let mine = self.missed.get_or_insert_default();
            mine.service.add(&theirs.service);
            mine.response.add(&theirs.response);
        }
        for failures in &other.failures {
            self.count_failures(failures.cause, failures.count, &failures.example);
        }
    }

    pub(super) fn count_failures(&mut self, cause: Cause, count: u64, example: &str) {
        match self.failures.iter_mut().find(|f| f.cause == cause) {
            Some(failures) => failures.count += count,
            None => self.failures.push(Failures {
                cause,
                count,
                example: example.to_owned(),
            }),
        }
    }

    fn clear(&mut self) {
        (self.count, self.not_found, self.bytes) = (0, 0, 0);
        self.service.clear();
        self.response.clear();
        self.failed.clear();
        self.missed = None;
        self.failures.clear();
    }
}

/// What was recorded in one interval.
#[derive(Debug, Default)]
pub struct Sheet {
    /// Operations completed: a read-modify-write is one.
    pub operations: u64,
    /// By [`Kind`]; none where a kind was never asked for.
    pub kinds: [Option<Box<KindSheet>>; Kind::ALL.len()],
    /// How much later than due operations were sent, nanoseconds; at a fixed rate only.
    pub lag: Option<Counts>,
}

impl Sheet {
    /// An empty one that has memory for requests of these kinds, and for their response time and lag
    /// where those are kept: taking it on the measured path would cost the first operations of each
    /// client some microseconds.
    #[must_use]
    pub fn ready(kinds: &[Kind], keep: Keep) -> Self {
        let mut sheet = Self::default();
        let room = || Counts::with_room(READY_NS);
        for &kind in kinds {
            let kind = sheet.kinds[kind as usize].get_or_insert_default();
            kind.service = room();
            if keep == Keep::Both {
                kind.response = room();
            }
        }
        sheet.lag = (keep == Keep::Both).then(room);
        sheet
    }

    /// Whether nothing was recorded in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut kinds = self.kinds.iter().flatten();
        self.operations == 0 && kinds.all(|kind| kind.count == 0 && kind.failures.is_empty())
    }

    /// Adds what another sheet has.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().add(theirs);
            }
        }
        if let Some(lag) = &other.lag {
            self.lag.get_or_insert_default().add(lag);
        }
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.operations = 0;
        self.kinds
            .iter_mut()
            .flatten()
            .for_each(|kind| kind.clear());
        self.lag.iter_mut().for_each(Counts::clear);
    }
}
