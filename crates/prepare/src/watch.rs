//! The observer of a step: it learns of the progress and of waits, and can request a stop.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The interval of checks for a stop.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// A wait that is over sooner than this is not worth a line.
const TELL_AFTER: Duration = Duration::from_secs(1);

/// Told of each step before and after it.
pub type Log<'a> = &'a dyn Fn(&str);

/// Told how far a long step is; and asked whether to stop.
pub trait Watch {
    /// A step begins that may be long: "system `A`: erase".
    fn begins(&self, _what: &str) {}
    /// `done` of `total` is done, bytes or parts.
    fn progress(&self, done: u64, total: u64);
    /// The step waits until something else has happened: "waiting until ...".
    fn waits(&self, _what: &str) {}
    /// Whether to stop.
    fn is_stopped(&self) -> bool;
}

/// No one watches, and nothing stops it.
#[derive(Debug, Clone, Copy)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// A log receives messages about waits but never stops anything: restoring is always completed.
pub(super) struct Logged<'a>(pub Log<'a>);

impl Watch for Logged<'_> {
    fn progress(&self, _: u64, _: u64) {}

    fn waits(&self, what: &str) {
        (self.0)(what);
    }

    fn is_stopped(&self) -> bool {
        false
    }
}

/// The outcome of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// The condition holds.
    Done,
    /// The time is up.
    TimedOut,
    /// A stop was requested.
    Stopped,
}

/// Waits until a condition holds, up to a time limit, and reports the reason if it takes a second.
pub(super) fn wait_until(
    what: &str,
    at_most: Duration,
    watch: &dyn Watch,
    mut is_so: impl FnMut() -> bool,
) -> Waited {
    let began = Instant::now();
    let mut is_told = false;
    while !is_so() {
        if watch.is_stopped() {
            return Waited::Stopped;
        }
        if began.elapsed() >= at_most {
            return Waited::TimedOut;
        }
        if !is_told && began.elapsed() >= TELL_AFTER {
            watch.waits(&format!("waiting until {what}"));
            is_told = true;
        }
        thread::sleep(LOOK);
    }
    Waited::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Stops after this many looks.
    struct Stops(Cell<u32>, RefCell<Vec<String>>);

    impl Watch for Stops {
        fn progress(&self, _: u64, _: u64) {}

        fn waits(&self, what: &str) {
            self.1.borrow_mut().push(what.to_owned());
        }

        fn is_stopped(&self) -> bool {
            self.0.set(self.0.get().saturating_sub(1));
            self.0.get() == 0
        }
    }

    #[test]
    fn a_wait_ends_soon_after_a_stop_and_says_what_it_waits_for() {
        let watch = Stops(Cell::new(u32::MAX), RefCell::default());
        let wait = |at_most, is_so: &dyn Fn() -> bool| {
            wait_until("it is so", Duration::from_secs(at_most), &watch, is_so)
        };
        assert_eq!(wait(0, &|| true), Waited::Done);
        assert_eq!(wait(0, &|| false), Waited::TimedOut);
        assert!(watch.1.borrow().is_empty());
        let began = Instant::now();
        assert_eq!(wait(2, &|| false), Waited::TimedOut);
        assert_eq!(*watch.1.borrow(), ["waiting until it is so"]);
        assert!(began.elapsed() >= Duration::from_secs(2));
        let began_to_stop = Instant::now();
        watch.0.set(2);
        assert_eq!(wait(60, &|| false), Waited::Stopped);
        assert!(began_to_stop.elapsed() < Duration::from_secs(1));
    }
}
