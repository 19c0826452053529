//! Other processes that carry out a phase together with this one, and when all start and end.

use crate::{
    clock::{Clock, MonotonicClock, Reading, Tick, nanos, quickest},
    pacer::End,
};
use std::time::Duration;

/// The shortest time over which the counter and the machine's clock are compared before the first
/// phase. With readings wrong by 50 ns each, the time is then wrong by one part in a million. The
/// error falls with the age of the first reading.
const COMPARE: Duration = Duration::from_millis(100);

/// The other processes. Their answers come from a thread that no client waits for.
pub trait Peers: Sync {
    /// The reading of this machine's clock, nanoseconds.
    fn own_ns(&self) -> u64;

    /// The same instant in the common time.
    fn agreed(&self, own_ns: u64) -> Tick;

    /// An earlier reading of this machine's clock with the counter's value at that time. The older
    /// it is the better, unless clocks are set.
    fn reading(&self) -> Reading;

    /// Reports that every client of this process is ready, and waits until all processes are.
    /// Returns the start of the phase in the common time, or `None` if it does not start.
    fn start(&self) -> Option<Tick>;

    /// The phase is about to start. `end` ends it from elsewhere.
    fn starts(&self, end: PhaseEnd);

    /// This process has planned the common end of the measured part, that long after its start.
    fn ends(&self, after: Duration);

    /// The phase has ended here: how late the first client began, and how far the phase's clock was
    /// then ahead of the common time, nanoseconds.
    fn ended(&self, late: Duration, ahead_ns: i64);
}

/// Ends a phase from elsewhere.
#[derive(Debug, Clone)]
pub struct PhaseEnd {
    pub(crate) end: End,
    /// When the measured part begins.
    pub(crate) measure: Tick,
    /// Whether its time is simulated. Each process then has its own.
    pub is_simulated: bool,
}

impl PhaseEnd {
    /// Ends the measured part that long after its start, as if planned, unless it ends earlier.
    pub fn after(&self, length: Duration) {
        self.end.plan(self.measure.saturating_add(nanos(length)));
    }

    /// How long after the start of the measured part an instant is.
    pub const fn since(&self, tick: Tick) -> Duration {
        Duration::from_nanos(tick.saturating_sub(self.measure))
    }
}

/// The common time of several processes, derived from the processor's counter.
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

/// How far a clock is ahead of the common time, nanoseconds.
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

    /// A machine whose clock began with this reading, and common time that is an hour ahead and
    /// runs that much faster.
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
        // Its clock missed nine seconds in which the counter ran.
        let slept = reading.with(reading.ns - 9_000_000_000);
        is_as_fast(&Machine(began, slept, 0.0));
    }

    /// For 300 ms that is a few parts in a million, less than half the error of a calibration of
    /// one millisecond.
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
