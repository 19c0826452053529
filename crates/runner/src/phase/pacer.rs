//! When each operation of a client is due: the rate, the budget and the end of a phase.
//!
//! The pacer alone knows all three, and alone waits. At a fixed rate the operations of all clients
//! are evenly spaced: client `c` of `n` is due at `start + (k n + c) / rate` for k = 0, 1, 2, ...
//! A client that is late sends at once until it has caught up; its operations keep their due time.
//! A rate that swings is its mean and a wave; the clients take turns as at any other.

use super::alarm::Alarm;
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
use tailmark_workload::Wave;

/// When an operation is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// As soon as the one before is done (a closed loop).
    Now,
    /// At this instant, or as soon after as can be (a fixed rate).
    At(Tick),
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
    #[must_use]
    pub fn new(operations: u64, clients: u32) -> Self {
        let batch = (operations / (u64::from(clients) * 100)).clamp(1, 1024);
        Self {
            left: CachePadded::new(AtomicU64::new(operations)),
            batch,
        }
    }

    /// Takes up to a batch; 0 when it is used up.
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
}

/// When one client's operations are due.
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
    /// At a rate that swings: each follows from the one before.
    Swinging {
        /// Operations per second over all clients, in the mean.
        mean: f64,
        /// What the rate swings by.
        wave: Wave,
        /// Clients that take turns.
        clients: f64,
        /// When the next is due, in seconds after the start.
        at_s: f64,
    },
}

impl Schedule {
    /// The schedule of client `client` of `clients` at `rate` operations per second over all.
    #[must_use]
    pub fn new(rate: f64, client: u32, clients: u32) -> Self {
        let step_ns = 1e9 / rate;
        Self::Even {
            period_ns: step_ns * f64::from(clients),
            offset_ns: step_ns * f64::from(client),
            count: 0,
        }
    }

    /// The same at a rate that swings about this mean.
    #[must_use]
    pub fn swinging(mean: f64, wave: Wave, client: u32, clients: u32) -> Self {
        Self::Swinging {
            mean,
            wave,
            clients: clients.into(),
            at_s: wave.after(mean, 0.0, client.into()),
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
            Self::Swinging {
                mean,
                wave,
                clients,
                at_s,
            } => {
                let after_ns = *at_s * 1e9;
                *at_s = wave.after(*mean, *at_s, *clients);
                after_ns
            }
        };
        start.saturating_add(after_ns as u64)
    }
}

/// When no further operation of a phase is sent; it can be brought forward while it runs.
#[derive(Debug, Clone)]
pub struct End(Arc<AtomicU64>);

impl End {
    /// At this instant; `Tick::MAX` for never.
    #[must_use]
    pub fn at(tick: Tick) -> Self {
        Self(Arc::new(AtomicU64::new(tick)))
    }

    /// Ends it at `tick`, if that is earlier.
    pub fn bring_forward(&self, tick: Tick) {
        self.0.fetch_min(tick, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn tick(&self) -> Tick {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a client waits until it is due.
#[derive(Debug, Clone)]
pub enum Waiter {
    /// A thread of its own sleeps; a task waits for the alarm of its thread.
    Thread {
        /// How long before the instant to stop sleeping and spin.
        spin: Duration,
    },
    /// A task, one of many of its thread.
    Task {
        /// Wakes it.
        alarm: Rc<Alarm>,
        /// How long before the instant to stop waiting and spin, letting the others run.
        spin: Duration,
    },
}

/// What a pacer is made of.
#[derive(Debug)]
pub struct Pace {
    /// The phase's clock.
    pub clock: Clock,
    /// When clients start.
    pub start: Tick,
    /// When the measured part starts; operations sent before do not count against the budget.
    pub measure: Tick,
    /// When no further operation is sent.
    pub end: End,
    /// How many operations may be sent, if bounded.
    pub budget: Option<Arc<Budget>>,
    /// When operations are due; none: a closed loop.
    pub schedule: Option<Schedule>,
    /// How to wait.
    pub waiter: Waiter,
    /// Ends the phase early.
    pub stop: Stop,
}

/// Yields the instant at which each operation is due, until the phase ends.
#[derive(Debug)]
pub struct Pacer {
    pace: Pace,
    left: u64,
}

impl Pacer {
    /// A pacer for one client.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { pace, left: 0 }
    }

    /// Waits until the next operation is due; none when the phase has ended. `now` is the instant
    /// at which the operation before was done.
    #[inline]
    pub async fn next(&mut self, now: Tick) -> Option<Due> {
        if now >= self.pace.end.tick() || self.pace.stop.requested() {
            return None;
        }
        match self.pace.schedule.is_some() {
            false => self.reserve(now).then_some(Due::Now),
            true => self.next_scheduled(now).await,
        }
    }

    /// Takes one operation of the budget, unless the warm-up is still on.
    #[inline]
    fn reserve(&mut self, now: Tick) -> bool {
        let Some(budget) = &self.pace.budget else {
            return true;
        };
        if now < self.pace.measure {
            return true;
        }
        if self.left == 0 {
            self.left = budget.take();
        }
        self.left > 0 && {
            self.left -= 1;
            true
        }
    }

    async fn next_scheduled(&mut self, now: Tick) -> Option<Due> {
        let schedule = self.pace.schedule.as_mut()?;
        let due = schedule.next_due(self.pace.start);
        if due >= self.pace.end.tick() || (due > now && !self.wait(due).await) {
            return None;
        }
        self.reserve(due).then_some(Due::At(due))
    }

    /// Waits, then spins, until `due`; false when the phase ended meanwhile.
    async fn wait(&self, due: Tick) -> bool {
        const NAP: u64 = 100_000_000;
        let Pace {
            clock,
            waiter,
            end,
            stop,
            ..
        } = &self.pace;
        let (Waiter::Thread { spin } | Waiter::Task { spin, .. }) = waiter;
        let spin = crate::clock::nanos(*spin);
        loop {
            let now = clock.now();
            let left = due.saturating_sub(now);
            if left == 0 {
                return true;
            }
            if left <= spin {
                match waiter {
                    Waiter::Thread { .. } => std::hint::spin_loop(),
                    Waiter::Task { .. } => tokio::task::yield_now().await,
                }
                continue;
            }
            let nap = (left - spin).min(NAP);
            match waiter {
                Waiter::Thread { .. } => std::thread::sleep(Duration::from_nanos(nap)),
                Waiter::Task { alarm, .. } => alarm.until(now + nap).await,
            }
            if stop.requested() || due >= end.tick() {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::block_on;

    fn pace(clock: &Clock) -> Pace {
        Pace {
            clock: clock.clone(),
            start: 0,
            measure: 0,
            end: End::at(Tick::MAX),
            budget: None,
            schedule: None,
            waiter: Waiter::Thread {
                spin: Duration::ZERO,
            },
            stop: Stop::new(),
        }
    }

    #[test]
    fn a_budget_is_spent_to_the_last_operation() {
        let clock = Clock::start();
        let budget = Arc::new(Budget::new(1001, 3));
        let mut sent = 0;
        for _ in 0..3 {
            let mut pacer = Pacer::new(Pace {
                budget: Some(Arc::clone(&budget)),
                ..pace(&clock)
            });
            while block_on(pacer.next(0)).is_some() {
                sent += 1;
            }
        }
        assert_eq!(sent, 1001);
    }

    #[test]
    fn the_warm_up_does_not_spend_the_budget() {
        let clock = Clock::start();
        let budget = Some(Arc::new(Budget::new(2, 1)));
        let mut pacer = Pacer::new(Pace {
            budget,
            measure: 100,
            ..pace(&clock)
        });
        let sent = [0, 50, 99, 100, 101, 102].map(|now| block_on(pacer.next(now)).is_some());
        assert_eq!(sent, [true, true, true, true, true, false]);
    }

    #[test]
    fn clients_take_turns_at_a_fixed_rate() {
        let due = |client| {
            let mut schedule = Schedule::new(1e6, client, 4);
            (0..3).map(|_| schedule.next_due(1000)).collect::<Vec<_>>()
        };
        assert_eq!(due(0), [1000, 5000, 9000]);
        assert_eq!(due(3), [4000, 8000, 12000]);
    }

    #[test]
    fn clients_take_turns_at_a_rate_that_swings() {
        // 1,000 a second for a second, then 2,000, then 1,000, then none.
        let wave = Wave {
            amplitude: 1000.0,
            speed: std::f64::consts::FRAC_PI_2,
            phase: 0.0,
            step_s: 1.0,
        };
        let due = |client, count| -> Vec<_> {
            let mut schedule = Schedule::swinging(1000.0, wave, client, 2);
            (0..count).map(|_| schedule.next_due(0)).collect()
        };
        let mut all = [due(0, 2000), due(1, 2000)].concat();
        all.sort_unstable();
        let in_second = |second: u64| {
            let range = second * 1_000_000_000..(second + 1) * 1_000_000_000;
            // A due time at a border may be rounded to the nanosecond before it.
            all.iter()
                .filter(|due| range.contains(&(**due + 10)))
                .count()
        };
        assert_eq!([0, 1, 2, 3].map(in_second), [1000, 2000, 1000, 0]);
        assert_eq!(due(1, 1), [1_000_000]);
    }

    #[test]
    fn a_late_client_keeps_the_due_times() {
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(20));
        let schedule = Some(Schedule::new(1000.0, 0, 1));
        let mut pacer = Pacer::new(Pace {
            schedule,
            ..pace(&clock)
        });
        let due: Vec<_> = (0..3)
            .filter_map(|_| block_on(pacer.next(clock.now())))
            .collect();
        assert_eq!(due, [Due::At(0), Due::At(1_000_000), Due::At(2_000_000)]);
    }

    #[test]
    fn nothing_is_sent_before_it_is_due() {
        let clock = Clock::start();
        let schedule = Some(Schedule::new(200.0, 0, 1));
        let spin = Duration::from_micros(20);
        let mut pacer = Pacer::new(Pace {
            schedule,
            waiter: Waiter::Thread { spin },
            ..pace(&clock)
        });
        for sent in 0..6 {
            let due = block_on(pacer.next(clock.now()));
            let now = clock.now();
            assert_eq!(due, Some(Due::At(sent * 5_000_000)));
            assert!(now >= sent * 5_000_000, "{now}");
        }
    }

    #[test]
    fn nothing_is_sent_that_is_due_after_the_end() {
        let clock = Clock::start();
        let mut pacer = Pacer::new(Pace {
            schedule: Some(Schedule::new(200.0, 0, 1)),
            end: End::at(30_000_000),
            ..pace(&clock)
        });
        // As if each operation were done at once, however late this test itself runs.
        let sent = std::iter::from_fn(|| block_on(pacer.next(0))).count();
        assert_eq!(sent, 6, "one each 5 ms before 30 ms");
    }

    #[test]
    fn a_stop_ends_a_long_wait() {
        let clock = Clock::start();
        let mut schedule = Schedule::new(0.01, 0, 1);
        schedule.next_due(0);
        let stop = Stop::new();
        let mut pacer = Pacer::new(Pace {
            schedule: Some(schedule),
            stop: stop.clone(),
            ..pace(&clock)
        });
        let waited = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                stop.request();
            });
            block_on(pacer.next(clock.now()))
        });
        assert_eq!(waited, None);
        assert!(clock.now() < 10_000_000_000);
    }
}
