//! Detects that this process was suspended while it measured: by a signal (SIGSTOP), a frozen
//! control group, a paused or a suspended virtual machine.
//!
//! Such a point has wrong numbers. Operations that were due were not sent, and rates include time
//! in which nothing ran. A separate thread, away from the measured path, looks at the clocks ten
//! times a second. A late look alone proves little, because a busy machine delays it too. The
//! process was suspended if the thread was late without having waited for a processor, and no other
//! thread of the process ran meanwhile. A database that stalls does not delay the looks.

use crate::clock::{Clock, Tick, nanos};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tailmark_model::{Finding, Sentence, Unit, finding::CLIENT_STOPPED};

/// How often the thread looks at the clocks.
const LOOK: Duration = Duration::from_millis(100);

/// How late a look has to be, nanoseconds: 1 s. Shorter stops are hard to tell from a busy machine.
const LATE_NS: u64 = 1_000_000_000;

/// The readings of one look, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct ClockReadings {
    /// The clock of the phase, which may run on while a virtual machine is paused.
    tick: Tick,
    /// The kernel's clock, which stops while the machine sleeps.
    monotonic: u64,
    /// The kernel's clock including time asleep.
    boot: u64,
    /// CPU time of all threads of this process.
    ran: u64,
    /// How long this thread has waited for a processor; `None` if the kernel does not say.
    waited: Option<u64>,
}

impl ClockReadings {
    fn now(clock: &impl Clock) -> Self {
        Self {
            tick: clock.now(),
            monotonic: read(ClockId::Monotonic),
            boot: read(ClockId::Boottime),
            ran: read(ClockId::ProcessCPUTime),
            waited: waited(),
        }
    }

    /// How long the process was suspended since the previous look; 0 if it was not.
    fn stopped_since(&self, before: &Self, cpus: u64) -> u64 {
        let look = nanos(LOOK);
        let monotonic = self.monotonic.saturating_sub(before.monotonic);
        let boot = self.boot.saturating_sub(before.boot);
        let tick = self.tick.saturating_sub(before.tick);
        // The kernel's clock stood still: the machine was suspended or paused.
        let asleep = boot.max(tick).saturating_sub(monotonic);
        if asleep >= LATE_NS {
            return asleep;
        }
        let late = monotonic.saturating_sub(look);
        let waited = self.waited.zip(before.waited);
        let waited = waited.map_or(0, |(now, then)| now.saturating_sub(then));
        let ran = self.ran.saturating_sub(before.ran);
        // Before and after the stop, every processor may have been in use.
        let is_idle = ran <= 2 * cpus * look;
        if late >= LATE_NS && waited < late / 2 && is_idle {
            late
        } else {
            0
        }
    }
}

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    let [seconds, ns] = [tv_sec, tv_nsec].map(|part| u64::try_from(part).unwrap_or_default());
    seconds * 1_000_000_000 + ns
}

/// How long this thread has waited for a processor, nanoseconds: the second word of its `schedstat`.
fn waited() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// When the process was suspended, on the clock of the phase.
#[derive(Debug, Default)]
pub struct Stops {
    /// For each suspension, the next look and the length, nanoseconds.
    found: Vec<(Tick, u64)>,
}

impl Stops {
    /// Looks until the phase is done, and calls `beside` at each look. The caller unparks the thread
    /// when the phase is done.
    pub fn watch(clock: &impl Clock, done: &AtomicBool, mut beside: impl FnMut()) -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from) as u64;
        let mut stops = Self::default();
        let mut before = ClockReadings::now(clock);
        loop {
            let is_done = done.load(Ordering::Relaxed);
            let now = ClockReadings::now(clock);
            let stopped = now.stopped_since(&before, cpus);
            if stopped > 0 {
                stops.found.push((now.tick, stopped));
            }
            if is_done {
                return stops;
            }
            before = now;
            beside();
            thread::park_timeout(LOOK);
        }
    }

    /// The finding about suspensions between the start and the end of the measured part.
    pub fn finding(&self, measure: Tick, end: Tick) -> Option<Finding> {
        let is_inside =
            |(until, ns): &&(Tick, u64)| *until > measure && until.saturating_sub(*ns) < end;
        let (count, ns) = self
            .found
            .iter()
            .filter(is_inside)
            .fold((0_u64, 0), |(count, all), (_, ns)| (count + 1, all + ns));
        (count > 0).then(|| {
            let times = if count == 1 { "" } else { " in {Stops} stops" };
            let sentence = Sentence::new(format!(
                "tailmark itself did not run for {{Time stopped}}{times} during the measurement: a \
                 signal or a frozen control group stopped it, or its machine was paused or \
                 suspended. The point is excluded from peaks and comparisons. Keep the process \
                 running, and measure it again (--retry-failed)."
            ));
            let sentence = sentence.number("Time stopped", ns as f64 / 1e9, Unit::Seconds);
            CLIENT_STOPPED.finding(sentence.count("Stops", count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// The look that long after the one at 0, when the process had run and the thread had waited
    /// for that long.
    fn look(after: u64, ran: u64, waited: Option<u64>) -> ClockReadings {
        ClockReadings {
            tick: after,
            monotonic: after,
            boot: after,
            ran,
            waited,
        }
    }

    fn stopped(now: ClockReadings) -> u64 {
        let waited = now.waited.map(|_| 0);
        now.stopped_since(&look(0, 0, waited), 4)
    }

    #[test]
    fn a_late_look_without_work_is_a_stop() {
        assert_eq!(stopped(look(3 * S + S / 10, S / 5, Some(0))), 3 * S);
        assert_eq!(stopped(look(3 * S + S / 10, 0, None)), 3 * S);
        assert_eq!(stopped(look(S, 0, Some(0))), 0, "less than a second late");
    }

    #[test]
    fn a_busy_machine_is_no_stop() {
        // The thread waited for a processor, or other threads of the process ran.
        assert_eq!(stopped(look(3 * S, 0, Some(2 * S))), 0);
        assert_eq!(stopped(look(3 * S, 3 * S, Some(0))), 0);
        assert_eq!(stopped(look(3 * S, 3 * S, None)), 0);
    }

    #[test]
    fn a_machine_that_slept_or_was_paused_is_a_stop() {
        let slept = ClockReadings {
            boot: 10 * S,
            ..look(S / 10, S / 10, Some(0))
        };
        assert_eq!(stopped(slept), 10 * S - S / 10);
        let paused = ClockReadings {
            tick: 5 * S,
            ..look(S / 10, S / 10, Some(0))
        };
        assert_eq!(stopped(paused), 5 * S - S / 10);
    }

    #[test]
    fn stops_count_where_they_touch_the_measured_part() {
        let stops = Stops {
            found: vec![(5 * S, 2 * S), (20 * S, 3 * S), (40 * S, 2 * S)],
        };
        let text = |measure, end| stops.finding(measure, end).map(|found| found.text());
        assert!(text(10 * S, 30 * S).unwrap().contains("for 3 s during"));
        assert!(text(4 * S, 18 * S).unwrap().contains("for 5 s in 2 stops"));
        assert_eq!(text(21 * S, 38 * S), None);
        assert_eq!(text(41 * S, Tick::MAX), None);
    }

    #[test]
    fn this_process_is_not_stopped_while_its_clients_wait() {
        let clock = crate::MonotonicClock::start();
        let done = AtomicBool::new(false);
        let stops = thread::scope(|scope| {
            let watch = scope.spawn(|| Stops::watch(&clock, &done, || ()));
            // Clients do the same when a database stalls.
            thread::sleep(Duration::from_millis(1500));
            done.store(true, Ordering::Relaxed);
            watch.thread().unpark();
            watch.join().unwrap()
        });
        assert!(stops.found.is_empty(), "{stops:?}");
        assert!(
            waited().is_some(),
            "the kernel tells how long a thread waits"
        );
    }
}
