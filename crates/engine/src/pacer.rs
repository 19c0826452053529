//! When each operation of a client is due: the rate, the budget and the end of a phase.
//!
//! Only the pacer knows these three, and only the pacer waits. At a fixed rate a client takes the
//! next arrival from a sequence that all clients share ([`ArrivalSequence`]). In drop-ins each
//! client has its own schedule: client `c` of `n` is due at `start + (k n + c) / rate` for k = 0,
//! 1, 2, ... At a sinusoidal rate, a mean plus a sine, they also take turns. A late client sends at
//! once, and its operation keeps its due time.

use super::{arrivals::ArrivalSequence, silence::SharedPulse, timer::RuntimeTimer};
use crate::{
    Stop,
    clock::{Clock, Tick},
};
use crossbeam_utils::CachePadded;
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tailmark_driver::VirtualClock;
use tailmark_workload::SineRate;

/// When an operation is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As soon as the previous one is done (a closed loop).
    Now,
    /// At this instant, or as soon as possible afterwards (a fixed rate).
    At {
        /// The instant.
        due: Tick,
        /// Whether a client was free by then: this one waited for it, or overslept.
        was_free: bool,
    },
}

/// How many operations all clients together may still send.
#[derive(Debug)]
pub struct Budget {
    left: CachePadded<AtomicU64>,
    batch: u64,
}

impl Budget {
    /// A budget for `clients` clients, which take from it in batches, so that the counter is
    /// rarely touched and the clients still end together.
    pub fn new(operations: u64, clients: u32) -> Self {
        let batch = (operations / (u64::from(clients) * 100)).clamp(1, 1024);
        Self {
            left: CachePadded::new(AtomicU64::new(operations)),
            batch,
        }
    }

    /// Takes up to a batch; 0 when the budget is used up.
    fn take(&self) -> u64 {
        let take = |left: u64| (left > 0).then(|| left - left.min(self.batch));
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        {
            Ok(before) => before.min(self.batch),
            Err(_) => 0,
        }
    }

    fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// When the operations of a client are due.
#[derive(Debug)]
pub enum Timetable {
    /// Each as soon as the previous one is done.
    Closed,
    /// By a schedule of the client's own.
    Own(Schedule),
    /// With the next arrival of the sequence that all clients of the point share.
    Shared(Arc<ArrivalSequence>),
}

/// When one client's operations are due, if it has a schedule of its own.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// Evenly spaced.
    Even {
        /// Nanoseconds between two operations of this client.
        period_ns: f64,
        /// When the first is due, after the start.
        offset_ns: f64,
        /// Operations so far.
        count: u64,
    },
    /// At a sinusoidal rate: each follows from the previous one.
    Sinusoidal {
        /// Operations per second over all clients, on average.
        mean: f64,
        /// The sine that is added to the mean.
        sine: SineRate,
        /// The number of clients that take turns.
        clients: f64,
        /// When the next one is due, in seconds after the start.
        at_s: f64,
    },
}

impl Schedule {
    /// The schedule of client `client` of `clients` at `rate` operations per second over all.
    pub fn new(rate: f64, client: u32, clients: u32) -> Self {
        let step_ns = 1e9 / rate;
        Self::Even {
            period_ns: step_ns * f64::from(clients),
            offset_ns: step_ns * f64::from(client),
            count: 0,
        }
    }

    /// The same at a sinusoidal rate with this mean.
    pub fn sinusoidal(mean: f64, sine: SineRate, client: u32, clients: u32) -> Self {
        Self::Sinusoidal {
            mean,
            sine,
            clients: clients.into(),
            at_s: sine.after(mean, 0.0, client.into()),
        }
    }

    /// When the next operation is due.
    fn next_due(&mut self, start: Tick) -> Tick {
        let after_ns = match self {
            Self::Even {
                period_ns,
                offset_ns,
                count,
            } => {
                let after_ns = *offset_ns + *count as f64 * *period_ns;
                *count += 1;
                after_ns
            }
            Self::Sinusoidal {
                mean,
                sine,
                clients,
                at_s,
            } => {
                let after_ns = *at_s * 1e9;
                *at_s = sine.after(*mean, *at_s, *clients);
                after_ns
            }
        };
        start.saturating_add(after_ns as u64)
    }
}

/// How long after the end of a phase at a rate its due operations may still be completed.
pub const DRAIN: Duration = Duration::from_secs(10);

/// When a phase ends. Nothing is due after it. It can be brought forward while the phase runs.
#[derive(Debug, Clone)]
pub struct End(Arc<CachePadded<Instants>>);

#[derive(Debug)]
struct Instants {
    end: AtomicU64,
    planned: AtomicU64,
    drained: AtomicU64,
}

impl End {
    /// At this instant; `Tick::MAX` for never.
    pub fn at(tick: Tick) -> Self {
        let instants = Instants {
            end: AtomicU64::new(tick),
            planned: AtomicU64::new(tick),
            drained: AtomicU64::new(tick),
        };
        Self(Arc::new(CachePadded::new(instants)))
    }

    /// Plans the end. Operations due by then have [`DRAIN`] longer to complete.
    pub fn plan(&self, tick: Tick) {
        let drained = tick.saturating_add(crate::clock::nanos(DRAIN));
        self.0.end.fetch_min(tick, Ordering::Relaxed);
        self.0.planned.fetch_min(tick, Ordering::Relaxed);
        self.0.drained.fetch_min(drained, Ordering::Relaxed);
    }

    /// Ends it at `tick` if that is earlier than its end so far. Operations that are not done by
    /// then are not waited for.
    pub fn bring_forward(&self, tick: Tick) {
        if self.0.end.fetch_min(tick, Ordering::Relaxed) > tick {
            self.0.drained.fetch_min(tick, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn tick(&self) -> Tick {
        self.0.end.load(Ordering::Relaxed)
    }

    /// The planned end; `Tick::MAX` if there is none.
    pub(super) fn planned(&self) -> Tick {
        self.0.planned.load(Ordering::Relaxed)
    }

    /// Whether it was brought forward, so that operations due earlier are not waited for.
    pub(super) fn is_cut(&self) -> bool {
        self.drained() == self.tick() && self.tick() < Tick::MAX
    }

    /// When waiting for operations that were due before the end stops.
    #[inline]
    pub(super) fn drained(&self) -> Tick {
        self.0.drained.load(Ordering::Relaxed)
    }
}

/// How a client waits for its due time.
#[derive(Debug, Clone)]
pub enum Waiter {
    /// A client with its own thread sleeps; a task waits for the timer of its thread.
    Thread {
        /// How long before the instant to stop sleeping and spin.
        spin: Duration,
    },
    /// A task, one of many on its thread.
    Task {
        /// Wakes it.
        timer: Rc<RuntimeTimer>,
        /// How long before the instant to stop waiting and spin, while other tasks run.
        spin: Duration,
    },
    /// A task on the single thread that advances this clock.
    Virtual(VirtualClock),
}

/// The parts of a pacer.
#[derive(Debug)]
pub struct Pace<C> {
    /// The phase's clock.
    pub clock: C,
    /// When clients start.
    pub start: Tick,
    /// When the measured part starts; operations due before do not count against the budget.
    pub measure: Tick,
    /// When no further operation is sent.
    pub end: End,
    /// How many operations may be sent, if bounded.
    pub budget: Option<Arc<Budget>>,
    /// When operations are due.
    pub timetable: Timetable,
    /// How to wait.
    pub waiter: Waiter,
    /// Ends the phase early.
    pub stop: Stop,
    /// Notified when the client waits.
    pub pulse: SharedPulse,
}

/// Yields the instant at which each operation is due, until the phase ends.
#[derive(Debug)]
pub struct Pacer<C> {
    pace: Pace<C>,
    /// When it last woke, which may have been late.
    woken: Tick,
    left: u64,
    is_measured: bool,
}

impl<C: Clock> Pacer<C> {
    /// A pacer for one client.
    pub fn new(pace: Pace<C>) -> Self {
        Self {
            pace,
            woken: 0,
            left: 0,
            is_measured: false,
        }
    }

    /// Waits until the next operation is due; `None` when the phase has ended. `now` is when the
    /// previous operation was done.
    #[inline]
    pub async fn next(&mut self, now: Tick) -> Option<Due> {
        if self.pace.stop.requested() {
            return None;
        }
        match &self.pace.timetable {
            Timetable::Closed => {
                let continues = now < self.pace.end.tick() && self.reserve(now);
                continues.then_some(Due::Now)
            }
            Timetable::Own(_) => self.next_scheduled(now).await,
            Timetable::Shared(_) => self.next_arrival(now).await,
        }
    }

    /// Whether the last due operation belongs to the measured part as a whole. Decided when it was
    /// due, together with the budget, so that exactly the budget is measured.
    #[inline]
    pub const fn is_measured(&self) -> bool {
        self.is_measured
    }

    /// Whether the budget has nothing left for this client.
    pub fn is_spent(&self) -> bool {
        match &self.pace.timetable {
            Timetable::Shared(arrivals) => arrivals.is_spent(),
            _ => self.left == 0 && self.pace.budget.as_ref().is_some_and(|b| b.is_spent()),
        }
    }

    /// Takes one operation from the budget, unless the operation due at this instant belongs to the
    /// warm-up.
    #[inline]
    fn reserve(&mut self, due: Tick) -> bool {
        self.is_measured = due >= self.pace.measure;
        let Some(budget) = self.pace.budget.as_ref().filter(|_| self.is_measured) else {
            return true;
        };
        if self.left == 0 {
            self.left = budget.take();
        }
        self.left > 0 && {
            self.left -= 1;
            true
        }
    }

    async fn next_scheduled(&mut self, now: Tick) -> Option<Due> {
        let Timetable::Own(schedule) = &mut self.pace.timetable else {
            return None;
        };
        let due = schedule.next_due(self.pace.start);
        let end = self.pace.end.tick();
        let was_free = due > now;
        if now >= end || due >= end || (was_free && !self.wait(due).await) {
            return None;
        }
        // A late operation of the warm-up belongs to the warm-up, whenever it starts.
        let due = self.reserve(due).then_some(due)?;
        Some(Due::At { due, was_free })
    }

    /// The next arrival of the point. Arrivals of the warm-up are not sent after it. Arrivals due
    /// before the end are sent until waiting for them stops.
    async fn next_arrival(&mut self, now: Tick) -> Option<Due> {
        let Timetable::Shared(arrivals) = &self.pace.timetable else {
            return None;
        };
        if now >= self.pace.end.drained() {
            return None;
        }
        let due = loop {
            let due = self.pace.start.saturating_add(arrivals.next()?);
            if due >= self.pace.measure || now < self.pace.measure {
                break due;
            }
            arrivals.skip_warmup();
        };
        let waits = due > now;
        if due >= self.pace.end.tick() || (waits && !self.wait(due).await) {
            return None;
        }
        // Operations that came due while it overslept are late by that much.
        let was_free = waits || due < self.woken;
        if waits {
            self.woken = self.pace.clock.now();
        }
        self.is_measured = due >= self.pace.measure;
        Some(Due::At { due, was_free })
    }

    /// Waits, then spins, until `due`; false if the phase ended meanwhile.
    async fn wait(&self, due: Tick) -> bool {
        const NAP: u64 = 100_000_000;
        let Pace {
            clock,
            waiter,
            end,
            stop,
            ..
        } = &self.pace;
        let spin = crate::clock::nanos(match waiter {
            Waiter::Thread { spin } | Waiter::Task { spin, .. } => *spin,
            Waiter::Virtual(_) => Duration::ZERO,
        });
        self.pace.pulse.idle();
        loop {
            let now = clock.now();
            let left = due.saturating_sub(now);
            if left == 0 {
                self.pace.pulse.busy(now);
                return true;
            }
            if left <= spin {
                match waiter {
                    Waiter::Thread { .. } => std::hint::spin_loop(),
                    Waiter::Task { .. } | Waiter::Virtual(_) => tokio::task::yield_now().await,
                }
                continue;
            }
            let nap = (left - spin).min(NAP);
            match waiter {
                Waiter::Thread { .. } => std::thread::sleep(Duration::from_nanos(nap)),
                Waiter::Task { timer, .. } => timer.until(now + nap).await,
                Waiter::Virtual(virtual_clock) => virtual_clock.until(now + nap).await,
            }
            if stop.requested() || due >= end.tick() {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests;
