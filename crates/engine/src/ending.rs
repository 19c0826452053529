//! How the clients of a phase ended, and the consequences: the divisor of rates, and how long the
//! last clients ran alone.

use crate::{Spec, clock::Tick};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tailmark_model::{
    Finding, Phase, Sentence, Unit,
    finding::{FEW_OPERATIONS, STRAGGLER},
};
use tailmark_workload::ClientGroup;

/// The share of idle time above which there is a finding.
const SHARE: f64 = 0.01;

/// With fewer operations per client, one more or less changes ops/s by over 5 %.
const OPERATIONS_MIN: f64 = 20.0;

/// The ends of the point's clients. Background clients do not count.
#[derive(Debug, Default)]
pub struct Ending(Mutex<Vec<ClientEnd>>);

/// How one client ended.
#[derive(Debug, Clone, Copy)]
pub struct ClientEnd {
    /// When its last operation was done.
    pub done: Tick,
    /// Whether it ended because the budget was used up.
    pub is_spent: bool,
}

/// The reason why the measured part of a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// It was cut short.
    Cut,
    /// Its time was over; more work was left.
    Time,
    /// Its time or its budget was used up.
    Plan,
}

/// The measured part of a phase, nanoseconds since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// When the last operation was done.
    pub done: u64,
    /// The divisor of rates: the planned time if the phase ran that long, otherwise the time until
    /// the last operation was done.
    pub divisor: u64,
    /// Operations of a closed loop that were done after its end and count in no rate.
    pub late: u64,
}

impl Length {
    /// The time until everything had ended.
    pub fn whole(&self) -> u64 {
        self.done.max(self.divisor)
    }
}

impl Ending {
    /// Takes the end of a client.
    pub fn add(&self, left: ClientEnd) {
        self.left().push(left);
    }

    /// When the point ended, given its `planned` end: then, or when its last client was done if
    /// nothing was left to do or there was no planned end.
    pub fn end(&self, planned: Tick) -> Tick {
        let left = self.left();
        let done = left.iter().map(|left| left.done).max().unwrap_or(0);
        if planned == Tick::MAX || left.iter().all(|left| left.is_spent) {
            done.min(planned)
        } else {
            planned
        }
    }

    fn left(&self) -> MutexGuard<'_, Vec<ClientEnd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length of the measured part with that many operations. `planned` is its planned length
    /// if it ends by time. `times` are when its last operation was done and when its budget was
    /// due.
    pub fn length(
        &self,
        spec: &Spec<'_>,
        measure: Tick,
        planned: Option<u64>,
        (times, operations): ((u64, u64), u64),
        by: EndedBy,
    ) -> Length {
        let (done, due) = times;
        let is_spent = self.left().iter().all(|left| left.is_spent) && by != EndedBy::Time;
        let divisor = match (by, is_spent, planned) {
            (EndedBy::Cut, ..) | (_, false, None) => done,
            (_, true, _) => done.max(due),
            (_, false, Some(planned)) if has_open_start(spec) => {
                return self.with_open_start(measure, planned, done, operations);
            }
            (_, false, Some(planned)) => planned,
        };
        Length {
            done,
            divisor,
            late: 0,
        }
    }

    /// For a closed loop by time without a warm-up. Operations in flight at its end are not
    /// balanced by others at its start, so the rate would be too high if clients wait for each
    /// other: of 64 clients that queue for a server of 8 operations a second, 63 more are done
    /// after 10 s. There are two honest rates: operations done by the end divided by the planned
    /// time, or all operations divided by the time until the last. The first cuts off the last
    /// operations; the second includes time with fewer and fewer clients. The higher one is closer
    /// to what the system can do.
    fn with_open_start(&self, measure: Tick, planned: u64, done: u64, operations: u64) -> Length {
        let is_late = |left: &&ClientEnd| left.done.saturating_sub(measure) > planned;
        // Each client had at most one operation in flight.
        let late = self.left().iter().filter(is_late).count() as u64;
        let late = late.min(operations);
        let whole = done.max(planned);
        let [in_time, all] = [(operations - late, planned), (operations, whole)]
            .map(|(count, ns)| count as f64 / ns.max(1) as f64);
        let (divisor, late) = if all >= in_time {
            (whole, 0)
        } else {
            (planned, late)
        };
        Length {
            done,
            divisor,
            late,
        }
    }

    /// The finding for a closed loop by time whose clients did so few operations that cut-off
    /// operations at its edges matter.
    pub fn few_operations(
        &self,
        spec: &Spec<'_>,
        length: &Length,
        phase: &Phase,
    ) -> Option<Finding> {
        let left = self.left();
        let each = phase.operations as f64 / left.len() as f64;
        let ends_by_time = spec.duration.is_some() && !left.iter().all(|left| left.is_spent);
        let is_few = is_closed(spec) && ends_by_time && each > 0.0 && each < OPERATIONS_MIN;
        (is_few && !spec.is_warmup).then(|| {
            let sentence = Sentence::new(
                "Each client did only {Operations of a client} operations on average in {Measured \
                 time}, and the measured time began and ended in the middle of one. If clients \
                 wait for each other, ops/s is too high or too low by up to {Off by up to}. \
                 Measure longer, or with fewer clients.",
            );
            let sentence = sentence
                .number("Operations of a client", each, Unit::Count)
                .number("Measured time", length.divisor as f64 / 1e9, Unit::Seconds)
                .number("Off by up to", 100.0 / each.max(1.0), Unit::Percent);
            FEW_OPERATIONS.finding(sentence)
        })
    }

    /// The finding if clients had nothing left to do before the last one ended. Only a budget makes
    /// a point wait for its last client; a point by time does not count what comes later.
    pub fn straggler(&self, due: Tick, measure: Tick, phase: &Phase) -> Option<Finding> {
        let clients = self.left();
        let last = clients.iter().map(|left| left.done).max()?;
        let whole = last.saturating_sub(measure);
        if whole <= due || clients.iter().any(|left| !left.is_spent) {
            return None;
        }
        let idle = |left: &ClientEnd| whole - left.done.saturating_sub(measure).max(due);
        let sum: f64 = clients.iter().map(|left| idle(left) as f64).sum();
        let share = sum / (whole as f64 * clients.len() as f64);
        let longest = clients.iter().map(idle).max()?;
        (share >= SHARE).then(|| {
            let sentence = Sentence::new(
                "The last client finished {Last client later by} after the first one had nothing \
                 left to send. Clients were idle for {Clients idle} of the time, which lowers \
                 ops/s by as much ({Rate} instead of {Rate without}). Use more operations, or a \
                 duration instead.",
            );
            let rate = phase.ops_per_sec();
            let sentence = sentence
                .number("Last client later by", longest as f64 / 1e9, Unit::Seconds)
                .number("Clients idle", share * 100.0, Unit::Percent)
                .number("Rate", rate, Unit::OpsPerSecond)
                .number("Rate without", rate / (1.0 - share), Unit::OpsPerSecond);
            STRAGGLER.finding(sentence)
        })
    }
}

/// Whether operations in flight at the end are not balanced at the start: a closed loop without a
/// warm-up. A phase that is itself a warm-up is as long as planned.
fn has_open_start(spec: &Spec<'_>) -> bool {
    is_closed(spec) && spec.warmup.is_zero() && !spec.is_warmup
}

/// Whether each operation of the point is sent as soon as the previous one is done.
fn is_closed(spec: &Spec<'_>) -> bool {
    spec.rate.is_none() && !has_own_rate(spec)
}

/// Whether some clients of the point have a rate other than the point's.
pub fn has_own_rate(spec: &Spec<'_>) -> bool {
    let own = |group: &ClientGroup| {
        !group.is_background() && (group.rate.is_some() || group.sine.is_some())
    };
    spec.workload.groups.iter().any(own)
}
