//! The clock of a phase: nanoseconds since one origin, from the processor's cycle counter where it
//! is stable (about 20 ns a reading), else from the kernel's monotonic clock.

use std::time::Duration;

/// Nanoseconds since the clock's origin.
pub type Tick = u64;

/// A monotonic clock, cheap to copy to every client.
#[derive(Debug, Clone)]
pub struct Clock {
    counter: quanta::Clock,
    origin: u64,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        let counter = quanta::Clock::new();
        let origin = counter.raw();
        Self { counter, origin }
    }

    /// Nanoseconds since the start.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Tick {
        self.counter.delta_as_nanos(self.origin, self.counter.raw())
    }
}

/// A duration as nanoseconds; one beyond 584 years is that long.
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_takes_as_long_as_it_says() {
        let clock = Clock::start();
        let around = std::time::Instant::now();
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(50));
        let slept = clock.now() - before;
        let at_most = nanos(around.elapsed()) + 1_000_000;
        assert!((50_000_000..=at_most).contains(&slept), "{slept}");
    }
}
