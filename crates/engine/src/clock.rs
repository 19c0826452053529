//! The clock of a phase: nanoseconds since an origin. The machine's clock is the cycle counter of
//! the processor if that is stable (about 20 ns per reading), else the kernel's monotonic clock.
//!
//! A reading takes the counter and one multiplication. What several processes agree on (the origin
//! of their time and its rate) is in the factors, so that they run the same instructions as a
//! single process.

use std::time::Duration;
use tailmark_driver::VirtualClock;

/// Nanoseconds since the clock's origin.
pub type Tick = u64;

/// A source of time. It is a type parameter of the measured path, so that a reading can be inlined.
pub trait Clock: Clone + Send + Sync {
    /// Nanoseconds since the origin; never less than before.
    fn now(&self) -> Tick;
}

/// The machine's monotonic clock, cheap to copy to every client.
#[derive(Debug, Clone)]
pub struct MonotonicClock {
    counter: quanta::Clock,
    /// The counter's value at `origin`.
    counted: u64,
    origin: Tick,
    factor: Factor,
}

/// Nanoseconds per count, in units of 2^-64, so that a product needs no shift. If a count is as
/// long as a nanosecond or longer, counts are shifted.
#[derive(Debug, Clone, Copy)]
struct Factor {
    shift: u32,
    parts: u64,
}

impl Factor {
    /// The factor of that many nanoseconds for that many counts.
    fn new(ns: u64, counts: u64) -> Self {
        let counts = u128::from(counts.max(1));
        let mut shift = 0;
        while u128::from(ns) >= counts << shift {
            shift += 1;
        }
        // Less than 1, so that it fits.
        let parts = (u128::from(ns) << 64) / (counts << shift);
        Self {
            shift,
            parts: parts as u64,
        }
    }

    #[inline]
    fn ns(self, counts: u64) -> u64 {
        ((u128::from(counts << self.shift) * u128::from(self.parts)) >> 64) as u64
    }
}

impl MonotonicClock {
    /// A clock that starts now, at 0.
    pub fn start() -> Self {
        let counter = quanta::Clock::new();
        // The rate found by calibration.
        const MANY: u64 = 1 << 52;
        Self {
            counted: counter.raw(),
            origin: 0,
            factor: Factor::new(counter.delta_as_nanos(0, MANY), MANY),
            counter,
        }
    }

    /// A clock through two known pairs of counter value and time in nanoseconds.
    pub fn through(from: Reading, to: Reading) -> Self {
        let counts = to.counted.saturating_sub(from.counted);
        Self {
            counter: quanta::Clock::new(),
            counted: to.counted,
            origin: to.ns,
            factor: Factor::new(to.ns.saturating_sub(from.ns), counts),
        }
    }

    /// Whether it runs at about the speed that the calibration of the counter gives. A clock
    /// through two readings does not if the machine slept between them, because it stood still
    /// meanwhile.
    pub fn is_plausible(&self) -> bool {
        // Allows for errors of calibration, and for a time service that changes the rate.
        const APART: f64 = 0.001;
        let ns_per_count = |clock: &Self| {
            let shift = f64::from(clock.factor.shift).exp2();
            clock.factor.parts as f64 * shift
        };
        let calibrated = ns_per_count(&Self::start());
        (ns_per_count(self) / calibrated - 1.0).abs() < APART
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Tick {
        // The counters of two processors may differ slightly.
        let counts = self.counter.raw().saturating_sub(self.counted);
        self.origin + self.factor.ns(counts)
    }
}

/// The result of the quickest attempt; each attempt returns how long it took.
pub fn quickest<T>(attempt: impl Fn() -> (u64, T)) -> T {
    const ATTEMPTS: u32 = 20;
    let attempts = (0..ATTEMPTS).map(|_| attempt());
    let best = attempts.min_by_key(|(took, _)| *took);
    best.expect("there are some").1
}

/// The reading of another clock at a value of the counter.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    counted: u64,
    /// The reading of the other clock, nanoseconds.
    pub ns: u64,
}

impl Reading {
    /// Reads both clocks at once, as the quickest of several attempts. The error is half of the
    /// time that it took (some tens of nanoseconds).
    pub fn new(now_ns: impl Fn() -> u64) -> Self {
        let counter = quanta::Clock::new();
        quickest(|| {
            let before = counter.raw();
            let ns = now_ns();
            let took = counter.raw().saturating_sub(before);
            let counted = before + took / 2;
            (took, Self { counted, ns })
        })
    }

    /// The same counter value with the reading of a third clock.
    #[must_use]
    pub const fn with(self, ns: u64) -> Self {
        Self { ns, ..self }
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Tick {
        Self::now(self)
    }
}

/// A duration as nanoseconds, at most 584 years.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// How far the wall clock was set forward between two readings that far apart, milliseconds;
/// negative if it was set back.
pub fn clock_step_ms(before_ms: u64, after_ms: u64, elapsed: Duration) -> i64 {
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    after_ms
        .wrapping_sub(before_ms)
        .wrapping_sub(elapsed_ms)
        .cast_signed()
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
    fn counts_of_any_length_are_nanoseconds() {
        // 5 GHz, 1 GHz (the kernel's clock), 24 MHz and 1 MHz.
        for (ns, counts) in [(1, 5), (1, 1), (125, 3), (1_000, 1)] {
            let factor = Factor::new(ns, counts);
            // A year in counts is exact to a few nanoseconds.
            let year = 31_536_000_000_000_000 / ns * counts;
            let expected = u128::from(year) * u128::from(ns) / u128::from(counts);
            let off = u128::from(factor.ns(year)).abs_diff(expected);
            assert!(off <= 4, "{ns} to {counts}: {off}");
            assert_eq!(factor.ns(0), 0);
        }
    }

    #[test]
    fn a_clock_goes_through_what_was_read_of_another() {
        // The other clock shows hours, and runs twice as fast.
        let machine = MonotonicClock::start();
        let other = || 7_200_000_000_000 + 2 * machine.now();
        let from = Reading::new(other);
        std::thread::sleep(Duration::from_millis(50));
        let clock = MonotonicClock::through(from, Reading::new(other));
        std::thread::sleep(Duration::from_millis(50));
        // 2 us in 50 ms are 40 parts per million, far more than the error of readings.
        let (before, now, after) = (other(), clock.now(), other());
        assert!(
            before <= now + 2_000 && now <= after + 2_000,
            "{before} {now} {after}"
        );
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
