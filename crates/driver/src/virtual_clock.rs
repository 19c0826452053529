//! A clock that stands still while anything can be done, then jumps to the next instant that a task
//! waits for. So an hour takes only as long as the work in it.
//!
//! All tasks that wait for it run on one thread, whose executor alone advances the clock.

use crate::WakeQueue;
use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

/// Nanoseconds since the start of a run, shared by all copies.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now: AtomicU64,
    waiting: Mutex<WakeQueue<u64>>,
}

impl VirtualClock {
    /// The instant, nanoseconds since the start of the run.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.now.load(Relaxed)
    }

    /// Is ready at an instant.
    pub fn until(&self, instant: u64) -> impl Future<Output = ()> + use<> {
        Until {
            clock: self.clone(),
            instant,
            has_entered: false,
        }
    }

    /// The earliest instant that a task waits for.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.waiting().next()
    }

    /// Advances to an instant and wakes tasks that are due by then.
    pub fn advance(&self, to: u64) {
        debug_assert!(to >= self.now(), "time does not go back");
        self.0.now.store(to, Relaxed);
        let mut waiting = self.waiting();
        while let Some(waker) = waiting.pop_due(to) {
            waker.wake();
        }
    }

    /// Resets to 0 for a new run, before any client waits.
    pub fn restart(&self) {
        *self.waiting() = WakeQueue::default();
        self.0.now.store(0, Relaxed);
    }

    fn waiting(&self) -> MutexGuard<'_, WakeQueue<u64>> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait of one task.
struct Until {
    clock: VirtualClock,
    instant: u64,
    has_entered: bool,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.instant {
            return Poll::Ready(());
        }
        // Only the clock wakes a task that waits for it, so one entry is enough.
        if !std::mem::replace(&mut self.has_entered, true) {
            let waker = context.waker().clone();
            self.clock.waiting().push(self.instant, waker);
        }
        Poll::Pending
    }
}
