//! One instant at which the clients of several processes begin.
//!
//! Each client's thread sleeps until shortly before the instant, then yields until it comes. If
//! permitted, it does so at the lowest real-time priority. Otherwise it would wait for other
//! work of the machine, and of two clients on one processor the second would begin only after the
//! first had used its slice of some milliseconds. At the instant its priority is restored.

use crate::{
    Stop,
    clock::{Clock, Tick},
};
use std::{
    mem::MaybeUninit,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

/// How long before the instant a thread stops sleeping. Waking takes some tens of microseconds.
const AWAKE: Duration = Duration::from_micros(200);

/// How often a sleeping thread checks whether a stop was requested.
const LOOK: Duration = Duration::from_millis(50);

/// How much later than agreed clients began, nanoseconds.
#[derive(Debug)]
pub struct Late(AtomicU64);

impl Default for Late {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl Late {
    /// A client began that late.
    pub fn add(&self, late: Duration) {
        let late_ns = crate::clock::nanos(late);
        self.0.fetch_min(late_ns, Ordering::Relaxed);
    }

    /// How late the first of them began; 0 if none did.
    pub fn first(&self) -> Duration {
        match self.0.load(Ordering::Relaxed) {
            u64::MAX => Duration::ZERO,
            ns => Duration::from_nanos(ns),
        }
    }
}

/// Waits until an instant, or until a stop is requested. Returns how late it was.
pub fn wait_until(at: Tick, clock: &impl Clock, stop: &Stop) -> Duration {
    let _priority = Priority::raise();
    loop {
        let now = clock.now();
        if now >= at || stop.requested() {
            return Duration::from_nanos(now.saturating_sub(at));
        }
        match Duration::from_nanos(at - now).checked_sub(AWAKE) {
            Some(sleep) => thread::sleep(sleep.min(LOOK)),
            None => thread::yield_now(),
        }
    }
}

/// The thread's priority before it was raised. Restored on drop.
struct Priority(Option<Scheduling>);

/// A scheduling policy and its parameters.
type Scheduling = (libc::c_int, libc::sched_param);

impl Priority {
    fn raise() -> Self {
        let before = scheduling().filter(|(policy, _)| *policy == libc::SCHED_OTHER);
        let Some((_, mut parameters)) = before else {
            return Self(None);
        };
        parameters.sched_priority = 1;
        Self(before.filter(|_| schedule((libc::SCHED_FIFO, parameters))))
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            schedule(before);
        }
    }
}

/// The scheduling of this thread.
#[expect(unsafe_code, reason = "no crate of ours has a safe form of it")]
fn scheduling() -> Option<Scheduling> {
    let (mut policy, mut parameters) = (0, MaybeUninit::uninit());
    // SAFETY: the call writes to both, and both live until it returns.
    let told = unsafe {
        let thread = libc::pthread_self();
        libc::pthread_getschedparam(thread, &raw mut policy, parameters.as_mut_ptr())
    };
    // SAFETY: the call succeeded, so it has written the value.
    (told == 0).then(|| (policy, unsafe { parameters.assume_init() }))
}

/// Sets the scheduling of this thread; false if that is not permitted.
#[expect(unsafe_code, reason = "no crate of ours has a safe form of it")]
fn schedule((policy, parameters): Scheduling) -> bool {
    // SAFETY: the call reads the parameters, which live until it returns.
    unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MonotonicClock, nanos};

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

    #[test]
    fn a_thread_is_scheduled_as_before_when_it_has_begun() {
        let policy =
            || scheduling().map(|(policy, parameters)| (policy, parameters.sched_priority));
        let before = policy().unwrap();
        let raised = Priority::raise();
        if raised.0.is_some() {
            assert_eq!(policy(), Some((libc::SCHED_FIFO, 1)));
        }
        drop(raised);
        assert_eq!(policy(), Some(before));
    }

    #[test]
    fn a_process_begins_with_the_first_of_its_clients() {
        let late = Late::default();
        assert_eq!(late.first(), Duration::ZERO);
        for us in [30, 2, 700] {
            late.add(Duration::from_micros(us));
        }
        assert_eq!(late.first(), Duration::from_micros(2));
    }
}
