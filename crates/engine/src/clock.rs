//! The clock of a phase: nanoseconds since one origin. The machine's is the processor's cycle
//! counter where that is stable (about 20 ns a reading), else the kernel's monotonic clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tailmark_driver::VirtualClock;

/// Nanoseconds since the clock's origin.
pub type Tick = u64;

/// What tells the time: a type parameter of the measured path, so that reading it is no call.
pub trait Clock: Clone + Send + Sync {
    /// Nanoseconds since the origin; never less than before.
    fn now(&self) -> Tick;
}

/// The machine's monotonic clock, cheap to copy to every client.
#[derive(Debug, Clone)]
pub struct MonotonicClock {
    counter: quanta::Clock,
    origin: u64,
}

impl MonotonicClock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        let counter = quanta::Clock::new();
        let origin = counter.raw();
        Self { counter, origin }
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Tick {
        self.counter.delta_as_nanos(self.origin, self.counter.raw())
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Tick {
        Self::now(self)
    }
}

/// A duration as nanoseconds; one beyond 584 years is that long.
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// How far the wall clock was set forwards (backwards where negative) between two readings of it
/// that were so long apart, milliseconds.
#[must_use]
pub fn clock_step_ms(before_ms: u64, after_ms: u64, elapsed: Duration) -> i64 {
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    after_ms
        .wrapping_sub(before_ms)
        .wrapping_sub(elapsed_ms)
        .cast_signed()
}

/// Milliseconds since 1970, UTC.
#[must_use]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_has_a_direction() {
        let minute = Duration::from_secs(60);
        for (after_ms, step_ms) in [
            (160_000, 0),
            (163_000, 3_000),
            (60_000, -100_000),
            (0, -160_000),
        ] {
            assert_eq!(clock_step_ms(100_000, after_ms, minute), step_ms);
        }
    }

    #[test]
    fn a_sleep_takes_as_long_as_it_says() {
        let clock = MonotonicClock::start();
        let around = std::time::Instant::now();
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(50));
        let slept = clock.now() - before;
        let at_most = nanos(around.elapsed()) + 1_000_000;
        assert!((50_000_000..=at_most).contains(&slept), "{slept}");
    }
}
