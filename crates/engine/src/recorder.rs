//! Measurements of one OS thread: histograms and counts that no other thread touches.
//!
//! A recorder fills an [`IntervalStats`]. When an operation ends in a later interval, the stats are
//! handed over as a whole to the collector, which merges them off the measured path, empties them
//! and returns them.

use super::{
    interval_stats::{IntervalStats, Keep, KindStats},
    pacer::End,
};
use crate::clock::Tick;
use crossbeam_channel::{Receiver, Sender};
use std::{cell::RefCell, rc::Rc};
use tailmark_driver::{Failure, OperationKind, Reply};
use tailmark_model::Kind;

/// The length of an interval, nanoseconds.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// The instants of one operation; `due <= sent <= done`.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// When it was due. In a closed loop, when it was sent.
    pub due: Tick,
    /// When it was sent.
    pub sent: Tick,
    /// When it was answered.
    pub done: Tick,
    /// Whether a client was free when it was due.
    pub was_free: bool,
}

/// The stats of one interval on their way to the collector.
#[derive(Debug)]
pub struct Snapshot {
    /// The interval since the start of the measured part.
    pub interval: u32,
    /// What was recorded in it.
    pub stats: Box<IntervalStats>,
    /// When the last of its operations was done.
    pub last_done: Tick,
}

/// The channels of a thread's recorder.
#[derive(Clone)]
pub struct RecorderChannels {
    /// Takes filled stats.
    pub full: Sender<Snapshot>,
    /// Returns emptied stats.
    pub empty: Receiver<Box<IntervalStats>>,
}

/// The recorder of a client: its thread's own, or shared with the thread's other clients. It
/// records the measured part only.
pub trait Record {
    /// Records one request.
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply);
    /// Records the pair of a read-modify-write, whose requests were already recorded, with the
    /// failure of the first half that failed.
    fn record_pair(&mut self, timing: Timing, failure: Option<&Failure>);
    /// Counts one operation of the budget as completed, whether it succeeded or failed.
    fn finish(&mut self, timing: Timing, succeeded: bool);
    /// Hands over everything recorded since the last time.
    fn hand_over(&mut self);
}

/// The end of a point whose clients share their arrivals. Operations done after it are counted
/// separately.
#[derive(Debug, Clone)]
pub struct Edge {
    /// When the measured part ends.
    pub end: End,
    /// For the recorder of background clients: when nothing more is due for them.
    pub own_end: Option<End>,
    /// Whether these clients have due times and are waited for after the end.
    pub waits: bool,
}

impl Edge {
    /// The end that applies to these clients.
    #[inline]
    fn own(&self) -> &End {
        self.own_end.as_ref().unwrap_or(&self.end)
    }

    #[inline]
    fn has_ended(&self, done: Tick) -> bool {
        done >= self.end.tick() || done >= self.own().tick()
    }
}

/// Records one OS thread's operations.
#[derive(Debug)]
pub struct Recorder {
    stats: Box<IntervalStats>,
    interval: u32,
    /// The end of the current interval.
    boundary: Tick,
    measure: Tick,
    last_done: Tick,
    keep: Keep,
    edge: Option<Edge>,
    full: Sender<Snapshot>,
    empty: Receiver<Box<IntervalStats>>,
}

impl Recorder {
    /// A recorder whose measured part starts at `measure`. It hands stats to `full` and takes empty
    /// ones from `empty`, or creates them if there are none.
    pub fn new(
        measure: Tick,
        keep: Keep,
        edge: Option<Edge>,
        full: Sender<Snapshot>,
        empty: Receiver<Box<IntervalStats>>,
    ) -> Self {
        let (interval, boundary, last_done) = (0, measure + INTERVAL_NS, 0);
        Self {
            stats: empty.try_recv().unwrap_or_default(),
            interval,
            boundary,
            measure,
            last_done,
            keep,
            edge,
            full,
            empty,
        }
    }

    #[inline]
    fn time(stats: &mut KindStats, keep: Keep, timing: Timing) {
        stats.service.record(timing.done - timing.sent);
        if keep == Keep::Both {
            stats.response.record(timing.done - timing.due);
        }
    }

    #[cold]
    fn miss(stats: &mut KindStats, keep: Keep, timing: Timing) {
        stats.not_found += 1;
        let missed = stats.missed.get_or_insert_default();
        missed.service.record(timing.done - timing.sent);
        if keep == Keep::Both {
            missed.response.record(timing.done - timing.due);
        }
    }

    fn fail(stats: &mut KindStats, keep: Keep, failure: &Failure, timing: Timing) {
        let failures = stats.failures_of(failure.cause, &failure.message);
        failures.count += 1;
        failures.latencies.service.record(timing.done - timing.sent);
        if keep == Keep::Both {
            failures.latencies.response.record(timing.done - timing.due);
        }
    }

    /// Whether a request was done after the end of the measured part. In a closed loop this does
    /// not matter, because operations in flight at the start balance it.
    #[inline]
    fn is_drained(&self, timing: Timing) -> bool {
        let ended = |edge: &Edge| edge.has_ended(timing.done);
        self.keep == Keep::Both && self.edge.as_ref().is_some_and(ended)
    }

    /// Whether it was done after waiting had ended.
    #[cold]
    fn is_censored(&self, timing: Timing) -> bool {
        let ended = |edge: &Edge| edge.waits && timing.done >= edge.own().drained();
        self.edge.as_ref().is_some_and(ended)
    }

    /// Counts a request at its age when waiting ended. It belongs to no interval. The update of a
    /// read-modify-write may not even have been due by then.
    #[cold]
    fn censor(&mut self, kind: Kind, timing: Timing) {
        let edge = self.edge.as_ref();
        let now = edge.map_or(timing.done, |edge| edge.own().drained());
        if timing.due >= now {
            return;
        }
        let stats = self.stats.kinds[kind as usize].get_or_insert_default();
        let censored = stats.censored.get_or_insert_default();
        if timing.sent < now {
            censored.service.record(now - timing.sent);
        }
        censored.response.record(now.saturating_sub(timing.due));
    }

    /// Counts an operation that may have been sent late or done too late. In a closed loop neither
    /// happens, so this code is out of its way.
    #[inline(never)]
    fn finish_at_rate(&mut self, timing: Timing, succeeded: bool) {
        let (end, drained) = match &self.edge {
            Some(edge) => (edge.end.tick(), edge.end.drained()),
            None => (Tick::MAX, Tick::MAX),
        };
        let is_censored = timing.done >= drained;
        let stats = if is_censored {
            &mut self.stats
        } else {
            self.stats_at(timing.done)
        };
        if timing.sent < drained {
            let lag = stats.lag.get_or_insert_default();
            let cause = if timing.was_free {
                &mut lag.woken_late
            } else {
                &mut lag.no_client
            };
            cause.record(timing.sent - timing.due);
        }
        if is_censored {
            stats.censored += 1;
            return;
        }
        stats.operations += 1;
        stats.failed += u64::from(!succeeded);
        let count = if succeeded {
            &mut stats.drained
        } else {
            &mut stats.drained_failed
        };
        *count += u64::from(timing.done >= end);
        self.last_done = timing.done;
    }

    /// The stats of the interval in which an operation is done. Starts a new interval if necessary.
    #[inline]
    fn stats_at(&mut self, done: Tick) -> &mut IntervalStats {
        if done >= self.boundary {
            self.turn(done);
        }
        &mut self.stats
    }

    #[cold]
    fn turn(&mut self, done: Tick) {
        self.hand_over();
        let interval = (done - self.measure) / INTERVAL_NS;
        self.interval = u32::try_from(interval).expect("a phase takes less than 136 years");
        self.boundary = self.measure + (interval + 1) * INTERVAL_NS;
    }
}

impl Record for Recorder {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        let (keep, is_drained) = (self.keep, self.is_drained(timing));
        if is_drained && self.is_censored(timing) {
            return self.censor(kind, timing);
        }
        let stats = self.stats_at(timing.done).kinds[kind as usize].get_or_insert_default();
        match reply {
            Ok(outcome) => {
                stats.count += 1;
                stats.bytes += outcome.bytes;
                if is_drained {
                    stats.drained_bytes += outcome.bytes;
                }
                Self::time(stats, keep, timing);
                if outcome.records == 0 {
                    Self::miss(stats, keep, timing);
                }
            }
            Err(failure) => Self::fail(stats, keep, failure, timing),
        }
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, failure: Option<&Failure>) {
        let keep = self.keep;
        if self.is_drained(timing) && self.is_censored(timing) {
            return self.censor(Kind::ReadModifyWrite, timing);
        }
        let kinds = &mut self.stats_at(timing.done).kinds;
        let stats = kinds[Kind::ReadModifyWrite as usize].get_or_insert_default();
        match failure {
            None => {
                stats.count += 1;
                Self::time(stats, keep, timing);
            }
            Some(failure) => Self::fail(stats, keep, failure, timing),
        }
    }

    #[inline]
    fn finish(&mut self, timing: Timing, succeeded: bool) {
        if self.keep == Keep::Both {
            return self.finish_at_rate(timing, succeeded);
        }
        let stats = self.stats_at(timing.done);
        stats.operations += 1;
        stats.failed += u64::from(!succeeded);
        self.last_done = timing.done;
    }

    fn hand_over(&mut self) {
        if self.stats.is_empty() {
            return;
        }
        let empty = self.empty.try_recv().unwrap_or_default();
        let stats = std::mem::replace(&mut self.stats, empty);
        let (interval, last_done) = (self.interval, self.last_done);
        // The collector outlives every client. If it is gone, the phase has already failed.
        let _ = self.full.send(Snapshot {
            interval,
            stats,
            last_done,
        });
    }
}

/// Tasks of one thread take turns, so two borrows never overlap.
impl Record for Rc<RefCell<Recorder>> {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        self.borrow_mut().record(kind, timing, reply);
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, failure: Option<&Failure>) {
        self.borrow_mut().record_pair(timing, failure);
    }

    #[inline]
    fn finish(&mut self, timing: Timing, succeeded: bool) {
        self.borrow_mut().finish(timing, succeeded);
    }

    fn hand_over(&mut self) {
        self.borrow_mut().hand_over();
    }
}

/// The kind of result for a request.
#[inline]
pub const fn recorded_as(requested: OperationKind) -> Kind {
    match requested {
        OperationKind::Read => Kind::Read,
        OperationKind::Update => Kind::Update,
        OperationKind::Insert => Kind::Insert,
        OperationKind::Scan => Kind::Scan,
        OperationKind::Delete => Kind::Delete,
    }
}

#[cfg(test)]
mod tests;
