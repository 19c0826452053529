//! Counts and times of one interval, by kind of request.

use super::latency_counts::LatencyCounts;
use tailmark_driver::Cause;
use tailmark_model::Kind;

/// Latencies up to this one, nanoseconds, need no allocation in prepared stats. A client that
/// shares its processor with hundreds of others is often interrupted for a second.
const READY_NS: u64 = 2_000_000_000;

/// Which clocks are kept.
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
    /// Service and response time of them, nanoseconds; the latter is empty in a closed loop.
    pub latencies: LatencyPair,
}

/// Recordings of one kind in one interval. It has its own cache lines, because each client counts
/// in its own and several are allocated next to each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct KindStats {
    /// Requests that did not fail.
    pub count: u64,
    /// Requests among them that found nothing.
    pub not_found: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Bytes among them of requests done after the end of the measured part.
    pub drained_bytes: u64,
    /// Service time of requests that did not fail, nanoseconds.
    pub service: LatencyCounts,
    /// Response time of the same requests; empty in a closed loop.
    pub response: LatencyCounts,
    /// Latencies of requests that found nothing, which are also part of the above.
    pub missed: Option<Box<LatencyPair>>,
    /// Ages, when waiting ended, of requests that were never done. They are not part of the above.
    pub censored: Option<Box<LatencyPair>>,
    /// Failures by cause. A pair counts with the first half that failed.
    pub failures: Vec<Failures>,
}

/// Latencies of the same requests by both clocks.
#[derive(Debug, Default, Clone)]
pub struct LatencyPair {
    /// Service time, nanoseconds.
    pub service: LatencyCounts,
    /// Response time; empty in a closed loop.
    pub response: LatencyCounts,
}

impl LatencyPair {
    fn add(&mut self, other: &Self) {
        self.service.add(&other.service);
        self.response.add(&other.response);
    }
}

/// How late operations were sent, by cause, nanoseconds.
#[derive(Debug, Default)]
pub struct LagCounts {
    /// No client was free when they were due.
    pub no_client: LatencyCounts,
    /// A client waited but was woken late.
    pub woken_late: LatencyCounts,
}

impl KindStats {
    /// Requests that failed; for a read-modify-write, pairs.
    pub fn errors(&self) -> u64 {
        self.failures.iter().map(|f| f.count).sum()
    }

    /// Adds other stats.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.not_found += other.not_found;
        self.bytes += other.bytes;
        self.drained_bytes += other.drained_bytes;
        self.service.add(&other.service);
        self.response.add(&other.response);
        if let Some(theirs) = &other.missed {
            self.missed.get_or_insert_default().add(theirs);
        }
        if let Some(theirs) = &other.censored {
            self.censored.get_or_insert_default().add(theirs);
        }
        for theirs in &other.failures {
            let mine = self.failures_of(theirs.cause, &theirs.example);
            mine.count += theirs.count;
            mine.latencies.add(&theirs.latencies);
        }
    }

    /// The failures of a cause. If there are none yet, they start with this message.
    pub(super) fn failures_of(&mut self, cause: Cause, example: &str) -> &mut Failures {
        let known = self.failures.iter().position(|f| f.cause == cause);
        let at = known.unwrap_or_else(|| {
            self.failures.push(Failures {
                cause,
                count: 0,
                example: example.to_owned(),
                latencies: LatencyPair::default(),
            });
            self.failures.len() - 1
        });
        &mut self.failures[at]
    }

    fn clear(&mut self) {
        (self.count, self.not_found) = (0, 0);
        (self.bytes, self.drained_bytes) = (0, 0);
        self.service.clear();
        self.response.clear();
        (self.missed, self.censored) = (None, None);
        self.failures.clear();
    }
}

/// Recordings of one interval. It has its own cache lines, like [`KindStats`].
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct IntervalStats {
    /// Operations completed: a read-modify-write is one.
    pub operations: u64,
    /// Operations among them that failed.
    pub failed: u64,
    /// Stats by [`Kind`]; `None` for a kind that was never requested.
    pub kinds: [Option<Box<KindStats>>; Kind::ALL.len()],
    /// Successful operations among them that were done after the end of the measured part.
    pub drained: u64,
    /// Failed operations of the same sort.
    pub drained_failed: u64,
    /// Operations that were not done when waiting ended; not part of `operations`.
    pub censored: u64,
    /// How late operations were sent; at a fixed rate only.
    pub lag: Option<Box<LagCounts>>,
}

impl IntervalStats {
    /// Empty stats with memory for requests of these kinds, and for response time and lag if these
    /// are kept. Allocating on the measured path would cost each client's first operations some
    /// microseconds.
    pub fn ready(kinds: &[Kind], keep: Keep) -> Self {
        let mut stats = Self::default();
        let room = || LatencyCounts::with_room(READY_NS);
        for &kind in kinds {
            let kind = stats.kinds[kind as usize].get_or_insert_default();
            kind.service = room();
            if keep == Keep::Both {
                kind.response = room();
            }
        }
        stats.lag = (keep == Keep::Both).then(|| {
            Box::new(LagCounts {
                no_client: room(),
                woken_late: room(),
            })
        });
        stats
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        let mut kinds = self.kinds.iter().flatten();
        // Operations of background clients are counted only by kind.
        let is_empty =
            |kind: &KindStats| kind.count + kind.errors() == 0 && kind.censored.is_none();
        self.operations + self.censored == 0 && kinds.all(|kind| is_empty(kind))
    }

    /// Requests that failed. Pairs do not count.
    pub fn errors(&self) -> u64 {
        let is_sent = |kind: &Kind| *kind != Kind::ReadModifyWrite;
        let sent = Kind::ALL.into_iter().filter(is_sent);
        let stats = sent.filter_map(|kind| self.kinds[kind as usize].as_deref());
        stats.map(KindStats::errors).sum()
    }

    /// Adds other stats.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.failed += other.failed;
        self.drained += other.drained;
        self.drained_failed += other.drained_failed;
        self.censored += other.censored;
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().add(theirs);
            }
        }
        if let Some(lag) = &other.lag {
            let mine = self.lag.get_or_insert_default();
            mine.no_client.add(&lag.no_client);
            mine.woken_late.add(&lag.woken_late);
        }
    }

    /// Empties the stats but keeps their memory.
    pub fn clear(&mut self) {
        (self.operations, self.failed, self.censored) = (0, 0, 0);
        (self.drained, self.drained_failed) = (0, 0);
        self.kinds
            .iter_mut()
            .flatten()
            .for_each(|kind| kind.clear());
        if let Some(lag) = &mut self.lag {
            lag.no_client.clear();
            lag.woken_late.clear();
        }
    }
}
