//! How the clients of a phase ended, and what follows from it: the time that rates are divided by,
//! and how much of it the last ones took alone.

use crate::{
    Spec,
    arrivals::ArrivalSequence,
    clock::{Tick, nanos},
    roles::Roles,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tailmark_results::{Finding, Phase, finding::STRAGGLER, number};
use tailmark_workload::ClientGroup;

/// From which share of idle time on it is said.
const SHARE: f64 = 0.01;

/// The ends of the clients of the point; background clients do not count.
#[derive(Debug, Default)]
pub struct Ending(Mutex<Vec<Left>>);

/// How one client ended.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// When its last operation was done.
    pub done: Tick,
    /// Whether it ended because the budget was used up.
    pub is_spent: bool,
}

/// What ended the measured part of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// It was ended before its time.
    Cut,
    /// Its time: there was more to do.
    Time,
    /// Its time or its budget.
    Plan,
}

/// The measured part of a phase, nanoseconds since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// When the last operation was done.
    pub done: u64,
    /// What rates are divided by: the planned time where it ran to that, else the time until the
    /// last operation was done. In a closed loop by time without a warm-up it is that until a
    /// client was done, in the mean.
    pub divisor: u64,
}

impl Length {
    /// Until nothing happens any more.
    pub fn whole(&self) -> u64 {
        self.done.max(self.divisor)
    }
}

impl Ending {
    /// Takes the end of a client.
    pub fn add(&self, left: Left) {
        self.left().push(left);
    }

    fn left(&self) -> MutexGuard<'_, Vec<Left>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the measured part was; `planned` is how long it was to be, where it was to end by
    /// time, and `times` are when its last operation was done and when its budget was due.
    pub fn length(
        &self,
        spec: &Spec<'_>,
        measure: Tick,
        planned: Option<u64>,
        times: (u64, u64),
        by: EndedBy,
    ) -> Length {
        let (done, due) = times;
        let is_spent = self.left().iter().all(|left| left.is_spent) && by != EndedBy::Time;
        let divisor = match (by, is_spent, planned) {
            (EndedBy::Cut, ..) | (_, false, None) => done,
            (_, true, _) => done.max(due),
            (_, false, Some(planned)) if has_open_start(spec) => self.mean_ns(measure).max(planned),
            (_, false, Some(planned)) => planned,
        };
        Length { done, divisor }
    }

    /// How long a client ran, in the mean. What was begun before the end counts whole, though it
    /// was done behind it; behind a warm-up as much is left out at the start.
    fn mean_ns(&self, measure: Tick) -> u64 {
        let left = self.left();
        let run = |left: &Left| u128::from(left.done.saturating_sub(measure));
        let sum: u128 = left.iter().map(run).sum();
        u64::try_from(sum / left.len().max(1) as u128).unwrap_or(u64::MAX)
    }

    /// What to say where clients had nothing left to do before the last one was done. Only the
    /// end of a budget is waited for so: one by time does not count what lies behind it.
    pub fn straggler(&self, due: Tick, measure: Tick, phase: &Phase) -> Option<Finding> {
        let left = self.left();
        let last = left.iter().map(|left| left.done).max()?;
        let whole = last.saturating_sub(measure);
        if whole <= due || left.iter().any(|left| !left.is_spent) {
            return None;
        }
        let idle = |left: &Left| whole - left.done.saturating_sub(measure).max(due);
        let sum: f64 = left.iter().map(|left| idle(left) as f64).sum();
        let share = sum / (whole as f64 * left.len() as f64);
        let longest = left.iter().map(idle).max()?;
        (share >= SHARE).then(|| {
            STRAGGLER.finding(format!(
                "The last client was done {:.1} s after the first had nothing left to send: \
                 clients were idle for {:.1} % of the time, and ops/s is lower by as much ({} \
                 instead of {}). More operations make it less; a duration instead of them has \
                 no such end.",
                longest as f64 / 1e9,
                share * 100.0,
                number::rate(phase.ops_per_sec()),
                number::rate(phase.ops_per_sec() / (1.0 - share)),
            ))
        })
    }
}

/// When the budget is due, nanoseconds after the start of the measured part: at one fixed rate of
/// all clients; otherwise 0.
pub fn due_ns(spec: &Spec<'_>, roles: &Roles) -> u64 {
    let ends = roles.arrivals().filter_map(ArrivalSequence::end);
    let end = ends.max().unwrap_or(0).saturating_sub(nanos(spec.warmup));
    match (spec.rate, spec.operations) {
        (Some(rate), Some(operations)) if !has_own_rate(spec) => {
            end.max((operations as f64 / rate * 1e9) as u64)
        }
        _ => end,
    }
}

/// Whether what is under way at the end is not made up for at the start: in a closed loop without a
/// warm-up. One that is a warm-up itself is as long as it was planned.
fn has_open_start(spec: &Spec<'_>) -> bool {
    is_closed(spec) && spec.warmup.is_zero() && !spec.is_warmup
}

/// Whether each operation of the point is sent as soon as the one before is done.
fn is_closed(spec: &Spec<'_>) -> bool {
    spec.rate.is_none() && !has_own_rate(spec)
}

/// Whether any clients of the point have a rate that is not the point's.
fn has_own_rate(spec: &Spec<'_>) -> bool {
    let own = |group: &ClientGroup| {
        !group.is_background() && (group.rate.is_some() || group.sine.is_some())
    };
    spec.workload.groups.iter().any(own)
}
