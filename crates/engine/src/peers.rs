//! Other processes that carry out a phase together with this one: when all of them start and end.

use crate::{
    clock::{Clock, MonotonicClock, Reading, Tick, nanos, quickest},
    pacer::End,
};
use std::time::Duration;

/// For how long the counter and the machine's clock are compared before the first phase, at least: of
/// readings that are wrong by 50 ns each the time is then wrong by a part in a million, and by less
/// the longer ago the first of them was.
const COMPARE: Duration = Duration::from_millis(100);

/// The other processes. What is asked here is answered by a thread that no client waits for.
pub trait Peers: Sync {
    /// What the clock of this machine says, nanoseconds.
    fn own_ns(&self) -> u64;

    /// The same instant in the time that all agree on.
    fn agreed(&self, own_ns: u64) -> Tick;

    /// What the clock of this machine once said, when the processor's counter was at some value; the
    /// longer ago the better, while clocks are not set.
    fn reading(&self) -> Reading;

    /// Says that every client of this process is ready, and waits until all are. When the phase
    /// starts, in the time that all agree on; none where it does not.
    fn start(&self) -> Option<Tick>;

    /// The phase is about to start: how it is ended from elsewhere.
    fn starts(&self, end: PhaseEnd);

    /// This process has planned the end of the measured part, which is that of all: so long after
    /// it began.
    fn ends(&self, after: Duration);

    /// The phase has ended here: by how much the first client began late, and by how much the time
    /// of the phase then was ahead of what all agree on, nanoseconds.
    fn ended(&self, late: Duration, ahead_ns: i64);
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

/// The time that several processes agree on, by the processor's counter.
pub fn agreed_clock(peers: &dyn Peers) -> MonotonicClock {
    let mut from = peers.reading();
    let mut attempts = 0..2;
    let to = loop {
        let compared = peers.own_ns().saturating_sub(from.ns);
        std::thread::sleep(COMPARE.saturating_sub(Duration::from_nanos(compared)));
        let to = Reading::new(|| peers.own_ns());
        let is_plausible = MonotonicClock::through(from, to).is_plausible();
        if is_plausible || attempts.next().is_none() {
            break to;
        }
        from = to;
    };
    let agreed = |reading: Reading| reading.with(peers.agreed(reading.ns));
    MonotonicClock::through(agreed(from), agreed(to))
}

/// By how much a clock is ahead of what all agree on, nanoseconds.
pub fn ahead_ns(clock: &impl Clock, peers: &dyn Peers) -> i64 {
    quickest(|| {
        let before = clock.now();
        let agreed = peers.agreed(peers.own_ns());
        let took = clock.now() - before;
        (took, (before + took / 2).wrapping_sub(agreed).cast_signed())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A machine whose clock began with this, and agreed time that is an hour ahead of it and goes
    /// faster by so much.
    struct Machine(Instant, Reading, f64);

    impl Machine {
        fn new(faster: f64) -> Self {
            let began = Instant::now();
            Self(began, Reading::new(|| nanos(began.elapsed())), faster)
        }
    }

    impl Peers for Machine {
        fn own_ns(&self) -> u64 {
            nanos(self.0.elapsed())
        }
        fn agreed(&self, own_ns: u64) -> Tick {
            3_600_000_000_000 + own_ns + (own_ns as f64 * self.2) as u64
        }
        fn reading(&self) -> Reading {
            self.1
        }
        fn start(&self) -> Option<Tick> {
            None
        }
        fn starts(&self, _: PhaseEnd) {}
        fn ends(&self, _: Duration) {}
        fn ended(&self, _: Duration, _: i64) {}
    }

    #[test]
    fn the_agreed_time_is_the_peers_and_goes_as_fast() {
        is_as_fast(&Machine::new(0.0));
        is_as_fast(&Machine::new(0.01));
    }

    #[test]
    fn a_machine_that_slept_since_the_beginning_is_compared_again() {
        let began = Instant::now() - Duration::from_secs(10);
        let reading = Reading::new(|| nanos(began.elapsed()));
        // Of nine seconds in which the counter went on its clock knows nothing.
        let slept = reading.with(reading.ns - 9_000_000_000);
        is_as_fast(&Machine(began, slept, 0.0));
    }

    /// Of 300 ms that is some parts in a million, and less than half of what a calibration of a
    /// millisecond is wrong by.
    fn is_as_fast(machine: &Machine) {
        let clock = agreed_clock(machine);
        let at_first = ahead_ns(&clock, machine);
        std::thread::sleep(Duration::from_millis(200));
        let later = ahead_ns(&clock, machine);
        assert!(
            at_first.abs() < 2_000 && later.abs() < 2_000,
            "{at_first} {later}"
        );
    }
}
