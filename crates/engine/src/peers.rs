//! Other processes that carry out a phase together with this one: when all of them start and end.

use crate::{
    Stop,
    clock::{Clock, MonotonicClock, Tick, nanos},
    pacer::End,
};
use std::time::Duration;

/// How long before the agreed instant a process stops sleeping and spins.
const SPIN: Duration = Duration::from_micros(200);

/// The other processes. What is asked here is answered by a thread that no client waits for.
pub trait Peers: Sync {
    /// The time that all agree on, nanoseconds, and how much faster it goes than the clock of this
    /// machine (0.000001: a second more in a million).
    fn now(&self) -> (Tick, f64);

    /// Says that every client of this process is ready, and waits until all are. When the phase
    /// starts, in the time that all agree on; none where it does not.
    fn start(&self) -> Option<Tick>;

    /// The phase starts: how it is ended from elsewhere, and by how much this process was late.
    fn started(&self, end: PhaseEnd, late: Duration);

    /// This process has planned the end of the measured part, which is that of all: so long after
    /// it began.
    fn ends(&self, after: Duration);
}

/// Ends a phase from elsewhere.
#[derive(Debug, Clone)]
pub struct PhaseEnd {
    pub(crate) end: End,
    /// When the measured part begins.
    pub(crate) measure: Tick,
    /// Whether its time is that of a simulation, which each process has of its own.
    pub is_simulated: bool,
}

impl PhaseEnd {
    /// Ends the measured part so long after it began, as if that had been planned, unless it ends
    /// before.
    pub fn after(&self, length: Duration) {
        self.end.plan(self.measure.saturating_add(nanos(length)));
    }

    /// How long after the begin of the measured part an instant is.
    #[must_use]
    pub const fn since(&self, tick: Tick) -> Duration {
        Duration::from_nanos(tick.saturating_sub(self.measure))
    }
}

/// The time that several processes agree on: the machine's clock, moved and made faster or slower.
#[derive(Debug, Clone)]
pub struct AgreedClock {
    own: MonotonicClock,
    /// At the origin of `own`.
    origin: Tick,
    /// How much faster, in parts of 2^64: a multiplication, where one of floating-point numbers
    /// with its conversions would take as long as reading the counter.
    faster: i64,
}

impl AgreedClock {
    /// As `peers` say.
    pub fn start(peers: &dyn Peers) -> Self {
        let own = MonotonicClock::start();
        let (origin, faster) = peers.now();
        Self {
            own,
            origin,
            faster: (faster * 2_f64.powi(64)) as i64,
        }
    }
}

impl Clock for AgreedClock {
    #[inline]
    fn now(&self) -> Tick {
        let own = self.own.now();
        let more = ((i128::from(own) * i128::from(self.faster)) >> 64) as i64;
        (self.origin + own).saturating_add_signed(more)
    }
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

    struct Fixed(Tick, f64);

    impl Peers for Fixed {
        fn now(&self) -> (Tick, f64) {
            (self.0, self.1)
        }
        fn start(&self) -> Option<Tick> {
            None
        }
        fn started(&self, _: PhaseEnd, _: Duration) {}
        fn ends(&self, _: Duration) {}
    }

    #[test]
    fn the_agreed_time_begins_where_the_peers_say_and_goes_faster_by_as_much() {
        const NOW: Tick = 5_000_000_000_000;
        // A hundredth faster, so that a short time shows it.
        let clock = AgreedClock::start(&Fixed(NOW, 0.01));
        std::thread::sleep(Duration::from_millis(50));
        let faster = |own: Tick| NOW + own + (own as f64 * 0.01) as u64;
        let before = clock.own.now();
        let agreed = clock.now();
        let after = clock.own.now();
        // Rounding is of a nanosecond.
        assert!(faster(before) <= agreed + 1 && agreed <= faster(after) + 1);
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
