//! Detects a database that no longer answers, by the time since the last successful request.
//!
//! Each client writes when its last request succeeded and failed, and since when it is busy, to its
//! own cache lines. The collector looks once a second. Recordings would come too late, because a
//! client whose request hangs hands nothing over. Only time in which requests are in flight or fail
//! counts as silence, because nothing may be due for long at a low rate. Silence alone does not end
//! a phase: a database that stalls, or whose requests take that long, comes back. It counts as lost
//! only if requests still fail then, or if the phase reaches its end meanwhile. After
//! the end no requests are sent. Silence then counts only if it was already unusually long by then.

use crate::clock::{Clock, Tick, nanos};
use crossbeam_utils::CachePadded;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tailmark_driver::Reply;
use tailmark_model::{Finding, Sentence, Unit, finding::NO_ANSWER};

/// How long no request may succeed before that is reported, seconds.
pub const NO_ANSWER_S: u64 = 10;

/// How recent a failure must be to show that the database does not answer, seconds. A failure at
/// the start of a stall shows nothing.
const RECENT_S: u64 = 3;

/// A silence that lasts beyond the end counts only if it began at least this long before the end, in
/// nanoseconds. It must also be twice the longest silence that the database recovered from.
const BEFORE_END_NS: u64 = 1_000_000_000;

/// The state of one client while it runs. Only the client writes it.
#[derive(Debug)]
pub struct Pulse {
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// `Tick::MAX` while it waits until its next operation is due, and before and after it runs.
    busy_since: AtomicU64,
}

/// A client's pulse on cache lines of its own, shared with the collector.
pub type SharedPulse = Arc<CachePadded<Pulse>>;

impl Pulse {
    /// The pulse of a client that is not running yet.
    pub fn shared() -> SharedPulse {
        Arc::new(CachePadded::new(Self {
            succeeded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            busy_since: AtomicU64::new(Tick::MAX),
        }))
    }

    /// The client resumes sending requests.
    #[inline]
    pub fn busy(&self, now: Tick) {
        self.busy_since.store(now, Relaxed);
    }

    /// The client has nothing to send for now.
    #[inline]
    pub fn idle(&self) {
        self.busy_since.store(Tick::MAX, Relaxed);
    }

    /// A request was answered at `done`.
    #[inline]
    pub fn answered(&self, reply: &Reply, done: Tick) {
        match reply {
            Ok(_) => self.succeeded.store(done, Relaxed),
            Err(_) => self.failed.store(done, Relaxed),
        }
    }
}

/// The pulses of all clients at one instant.
#[derive(Debug, Clone, Copy)]
pub struct PulseReading {
    now: Tick,
    succeeded: Tick,
    failed: Tick,
    busy_since: Tick,
}

impl PulseReading {
    /// Reads all pulses now.
    pub fn at(clock: &impl Clock, pulses: &[SharedPulse]) -> Self {
        let mut look = Self {
            now: 0,
            succeeded: 0,
            failed: 0,
            busy_since: Tick::MAX,
        };
        for pulse in pulses {
            look.succeeded = look.succeeded.max(pulse.succeeded.load(Relaxed));
            look.failed = look.failed.max(pulse.failed.load(Relaxed));
            look.busy_since = look.busy_since.min(pulse.busy_since.load(Relaxed));
        }
        look.now = clock.now();
        look
    }
}

/// How long nothing has succeeded.
#[derive(Debug, Default)]
pub struct Silence {
    /// The newest success and failure seen.
    succeeded: Tick,
    failed: Tick,
    /// When the current silence began: requests were in flight and none succeeded.
    since: Option<Tick>,
    /// The longest silence that ended with a success, nanoseconds.
    longest_ns: u64,
    found: Option<UnexplainedSilence>,
}

/// Silence that a slow database does not explain, with its length in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnexplainedSilence {
    /// Requests failed meanwhile.
    Failing(u64),
    /// The phase ended meanwhile.
    Hanging(u64),
}

impl Silence {
    /// Takes a look; `end` is when clients stop sending operations.
    pub fn look(&mut self, look: &PulseReading, end: Tick) {
        if self.found.is_some() {
            return; // answers to the last requests change nothing
        }
        let fails = look.failed > self.failed;
        self.failed = look.failed;
        if look.succeeded > self.succeeded {
            self.succeeded = look.succeeded;
            if let Some(since) = self.since.take() {
                if look.succeeded >= end && end.saturating_sub(since) >= self.bound_ns() {
                    self.found = Some(UnexplainedSilence::Hanging(end - since));
                }
                self.longest_ns = self.longest_ns.max(look.succeeded.saturating_sub(since));
            }
            return;
        }
        let started = match look.busy_since {
            Tick::MAX if fails => look.failed,
            Tick::MAX => return, // nothing is due
            busy => busy.max(self.succeeded),
        };
        let since = *self.since.get_or_insert(started);
        let silent_ns = look.now.saturating_sub(since);
        if silent_ns < self.bound_ns() {
            return;
        }
        let is_over = look.now >= end;
        let usual_ns = BEFORE_END_NS.max(self.longest_ns.saturating_mul(2));
        if is_over && end.saturating_sub(since) < usual_ns {
            return;
        }
        let recent_ns = nanos(Duration::from_secs(RECENT_S));
        let is_failing = look.failed > since && look.now.saturating_sub(look.failed) <= recent_ns;
        if is_over {
            self.found = Some(UnexplainedSilence::Hanging(silent_ns));
        } else if is_failing {
            self.found = Some(UnexplainedSilence::Failing(silent_ns));
        }
    }

    /// Whether to end the phase, because requests fail and none has succeeded for too long.
    pub const fn ends_phase(&self) -> bool {
        matches!(self.found, Some(UnexplainedSilence::Failing(_)))
    }

    /// The finding, if any.
    pub fn finding(&self) -> Option<Finding> {
        let (ns, what) = match self.found? {
            UnexplainedSilence::Failing(ns) => {
                (ns, "while others failed, so this point was ended early")
            }
            UnexplainedSilence::Hanging(ns) => (
                ns,
                "and requests in flight had no answer, or failed, when this point should have ended",
            ),
        };
        let from = if self.succeeded == 0 {
            "the beginning"
        } else {
            "the last success"
        };
        let sentence = Sentence::new(format!(
            "No request succeeded for {{Time without success}} after {from}, {what}. The database \
             stopped responding, so these numbers do not describe it. Find out why, and measure \
             the point again."
        ));
        let seconds = seconds(ns) as f64;
        Some(NO_ANSWER.finding(sentence.number("Time without success", seconds, Unit::Seconds)))
    }

    /// [`NO_ANSWER_S`], or twice the longest silence that the database has recovered from.
    fn bound_ns(&self) -> u64 {
        let min_ns = nanos(Duration::from_secs(NO_ANSWER_S));
        min_ns.max(self.longest_ns.saturating_mul(2))
    }
}

const fn seconds(ns: u64) -> u64 {
    ns / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Looks each second from 1 s on. `tell` gives the state of the clients in tenths of a second:
    /// last success, last failure, busy since.
    fn looked(end_s: u64, until_s: u64, tell: impl Fn(u64) -> (u64, u64, Option<u64>)) -> Silence {
        let mut silence = Silence::default();
        for second in 1..=until_s {
            let (succeeded, failed, busy) = tell(second);
            let look = PulseReading {
                now: second * S,
                succeeded: succeeded * S / 10,
                failed: failed * S / 10,
                busy_since: busy.map_or(Tick::MAX, |busy| busy * S / 10),
            };
            silence.look(&look, end_s * S);
        }
        silence
    }

    fn text(silence: &Silence) -> String {
        silence
            .finding()
            .map_or_else(String::new, |found| found.text())
    }

    #[test]
    fn where_nothing_ever_succeeded_it_is_counted_from_the_beginning() {
        let never = looked(120, 10, |second| (0, second * 10, Some(0)));
        assert!(text(&never).contains("after the beginning"));
        let once = looked(120, 15, |second| (second.min(5) * 10, second * 10, Some(0)));
        assert!(text(&once).contains("after the last success"));
    }

    #[test]
    fn failures_end_the_phase_ten_seconds_after_the_last_success() {
        let tell = |second: u64| (second.min(5) * 10, second * 10, Some(0));
        assert!(!looked(120, 14, tell).ends_phase());
        let silence = looked(120, 15, tell);
        assert!(silence.ends_phase() && text(&silence).contains("for 10 s"));
    }

    #[test]
    fn requests_that_hang_for_long_and_fail_at_last_end_it_at_once() {
        let tell = |second: u64| (50, if second < 35 { 0 } else { 350 }, Some(0));
        assert!(!looked(120, 34, tell).ends_phase());
        assert!(looked(120, 35, tell).ends_phase());
    }

    #[test]
    fn a_failure_at_the_start_of_a_stall_does_not_end_the_phase() {
        let tell = |second: u64| match second {
            5..25 => (50, 55, Some(0)),
            _ => (second * 10, 55, Some(0)),
        };
        let silence = looked(60, 60, tell);
        assert!(!silence.ends_phase() && text(&silence).is_empty());
    }

    #[test]
    fn requests_that_hang_until_the_end_are_told() {
        let tell = |_| (50, 0, Some(0));
        assert_eq!(text(&looked(30, 29, tell)), "");
        let silence = looked(30, 30, tell);
        assert!(!silence.ends_phase() && text(&silence).contains("for 25 s"));
    }

    #[test]
    fn the_count_goes_on_beyond_the_end() {
        let tell = |_| (50, 0, Some(0));
        assert_eq!(text(&looked(8, 14, tell)), "");
        assert!(text(&looked(8, 15, tell)).contains("for 10 s"));
    }

    #[test]
    fn an_answer_after_the_end_does_not_undo_the_silence_until_then() {
        let tell = |second| (if second < 30 { 50 } else { 301 }, 0, Some(0));
        assert!(text(&looked(30, 31, tell)).contains("for 25 s"));
    }

    #[test]
    fn silence_beyond_the_end_is_none_if_it_was_usual_before() {
        // A success every 5 s, the last one 3 s before the end.
        let tell = |second: u64| (second.min(45) / 5 * 50, 0, Some(0));
        assert_eq!(text(&looked(48, 120, tell)), "");
    }

    #[test]
    fn silence_beyond_the_end_is_one_if_it_was_unusual_before() {
        // A success every second, the last one 3 s before the end.
        let tell = |second: u64| (second.min(45) * 10, 0, Some(0));
        assert!(text(&looked(48, 55, tell)).contains("for 10 s"));
    }

    #[test]
    fn one_request_that_hangs_or_fails_beyond_the_end_is_no_silence_of_all() {
        for failed in [0, 590] {
            let tell = |second: u64| {
                let failed = if second < 59 { 0 } else { failed };
                (second.min(30) * 10, failed, Some(5))
            };
            assert_eq!(text(&looked(30, 60, tell)), "");
        }
    }

    #[test]
    fn what_was_found_stays() {
        let tell = |second: u64| {
            (
                if second < 20 { 0 } else { second * 10 },
                second * 10,
                Some(0),
            )
        };
        assert!(looked(120, 25, tell).ends_phase());
    }

    #[test]
    fn a_stall_that_ends_is_none() {
        let tell = |second: u64| match second {
            5..25 => (50, 0, Some(0)),
            _ => (second * 10, 0, Some(0)),
        };
        assert_eq!(text(&looked(60, 60, tell)), "");
    }

    #[test]
    fn requests_that_take_longer_than_the_bound_and_succeed_are_none() {
        let tell = |second: u64| (second / 15 * 150, 0, Some(0));
        assert_eq!(text(&looked(55, 60, tell)), "");
    }

    #[test]
    fn time_in_which_nothing_is_due_is_no_silence() {
        // One operation every 20 s, done at once.
        let done = |second: u64| (second / 20 * 200 + 1, 0, None);
        assert_eq!(text(&looked(30, 60, done)), "");
        // One of them fails.
        let failing = |second: u64| match second {
            ..20 => done(second),
            20..40 => (1, 201, None),
            _ => (second / 20 * 200 + 1, 201, None),
        };
        assert_eq!(text(&looked(100, 100, failing)), "");
        // The one sent at 20 s hangs.
        let hanging = |second: u64| (1, 0, (second >= 20).then_some(200));
        assert_eq!(text(&looked(25, 29, hanging)), "");
        assert!(text(&looked(25, 30, hanging)).contains("for 10 s"));
    }
}
