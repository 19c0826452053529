//! Other processes that carry out a phase together with this one: when all of them start and end.

use crate::{
    Stop,
    clock::{Clock, MonotonicClock, Tick},
    pacer::End,
};
use std::time::Duration;

/// How long before the agreed instant a process stops sleeping and spins.
const SPIN: Duration = Duration::from_micros(200);

/// The other processes. What is asked here is answered by a thread that no client waits for.
pub trait Peers: Sync {
    /// How far the time that all agree on is ahead of the monotonic clock of this machine now, as
    /// nanoseconds, and how much faster it goes (0.000001: a second more in a million).
    fn clock(&self) -> (i64, f64);

    /// Says that every client of this process is ready, and waits until all are. When the phase
    /// starts, in the time that all agree on; none where it does not.
    fn start(&self) -> Option<Tick>;

    /// The phase starts: how it is ended from elsewhere, and by how much this process was late.
    fn started(&self, end: PhaseEnd, late: Duration);

    /// This process has planned the end of the measured part, which is that of all.
    fn ends(&self, at: Tick);
}

/// Ends a phase from elsewhere.
#[derive(Debug, Clone)]
pub struct PhaseEnd(pub(crate) End);

impl PhaseEnd {
    /// Ends it at this instant, as if that had been planned, unless it ends before.
    pub fn at(&self, tick: Tick) {
        self.0.plan(tick);
    }
}

/// The time that several processes agree on: the machine's monotonic clock, moved and made faster or
/// slower.
#[derive(Debug, Clone)]
pub struct AgreedClock {
    own: MonotonicClock,
    /// At the origin of `own`.
    origin: i64,
    faster: f64,
}

impl AgreedClock {
    /// As `peers` say.
    pub fn start(peers: &dyn Peers) -> Self {
        let own = MonotonicClock::start();
        let (ahead, faster) = peers.clock();
        Self {
            own,
            origin: monotonic_ns() + ahead,
            faster,
        }
    }
}

impl Clock for AgreedClock {
    #[inline]
    fn now(&self) -> Tick {
        let own = self.own.now();
        let more = own as f64 * self.faster;
        (self.origin + own.cast_signed() + more as i64)
            .max(0)
            .cast_unsigned()
    }
}

/// The monotonic clock of this machine, nanoseconds since an instant of its own.
#[must_use]
pub fn monotonic_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Waits until an instant, or until a stop is requested; by how much it was late.
pub fn wait_until(at: Tick, clock: &impl Clock, stop: &Stop) -> Duration {
    const LOOK: Duration = Duration::from_millis(50);
    loop {
        let now = clock.now();
        if now >= at || stop.requested() {
            return Duration::from_nanos(now.saturating_sub(at));
        }
        let left = Duration::from_nanos(at - now);
        match left.checked_sub(SPIN) {
            Some(sleep) => std::thread::sleep(sleep.min(LOOK)),
            None => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::nanos;

    struct Fixed(i64, f64);

    impl Peers for Fixed {
        fn clock(&self) -> (i64, f64) {
            (self.0, self.1)
        }
        fn start(&self) -> Option<Tick> {
            None
        }
        fn started(&self, _: PhaseEnd, _: Duration) {}
        fn ends(&self, _: Tick) {}
    }

    #[test]
    fn the_agreed_time_is_ahead_and_goes_faster_by_what_the_peers_say() {
        const AHEAD: i64 = 5_000_000_000_000;
        let before = monotonic_ns();
        // A hundredth faster, so that a short time shows it.
        let clock = AgreedClock::start(&Fixed(AHEAD, 0.01));
        let after = monotonic_ns();
        let (first, own_first) = (clock.now().cast_signed(), clock.own.now().cast_signed());
        assert!(first >= before + AHEAD && first - own_first * 101 / 100 <= after + AHEAD);
        std::thread::sleep(Duration::from_millis(50));
        let own = clock.own.now();
        let agreed = clock.now().cast_signed() - clock.origin;
        let expected = own.cast_signed() + (own as f64 * 0.01) as i64;
        // Time goes on between the two readings, but never back.
        assert!(agreed >= expected, "{agreed} {expected}");
        let own_later = clock.own.now();
        assert!(agreed <= own_later.cast_signed() + (own_later as f64 * 0.01) as i64);
    }

    #[test]
    fn waiting_ends_at_the_instant_and_never_before() {
        let clock = MonotonicClock::start();
        let at = clock.now() + nanos(Duration::from_millis(3));
        let late = wait_until(at, &clock, &Stop::new());
        assert!(clock.now() >= at + nanos(late));
        let stop = Stop::new();
        stop.request();
        wait_until(u64::MAX, &clock, &stop);
    }
}
