//! Wakes the clients of one runtime thread when they are due, with one kernel timer for all.
//!
//! The runtime's own timer counts whole milliseconds, so a client that uses it starts up to one
//! millisecond late. A timerfd is as precise as the kernel's high-resolution timers, and wakes the
//! runtime like any other descriptor.

use crate::clock::{Clock, Tick};
use rustix::{
    fd::OwnedFd,
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec},
};
use std::{
    cell::{Cell, RefCell},
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};
use tailmark_driver::WakeQueue;
use tokio::io::unix::AsyncFd;

/// The timer of one runtime thread.
pub struct RuntimeTimer {
    /// Reads the clock of the phase. The indirect call is cheap compared with a system call.
    now: Box<dyn Fn() -> Tick>,
    timer: AsyncFd<OwnedFd>,
    waiting: RefCell<WakeQueue<Tick>>,
    /// When the timer fires; `Tick::MAX` for never.
    armed: Cell<Tick>,
}

impl std::fmt::Debug for RuntimeTimer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeTimer").finish_non_exhaustive()
    }
}

impl RuntimeTimer {
    /// A timer of the calling runtime.
    ///
    /// # Errors
    /// If the process has too many descriptors.
    pub fn new<C: Clock + 'static>(clock: &C) -> io::Result<Rc<Self>> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            unsafe_code,
            reason = "the descriptor must stay the same: it is owned, and never replaced"
        )]
        // SAFETY: an `OwnedFd` always names the same open descriptor, and closes it after the
        // `AsyncFd` that owns it has deregistered it.
        let timer = unsafe { AsyncFd::register(timer)? };
        let clock = clock.clone();
        Ok(Rc::new(Self {
            now: Box::new(move || clock.now()),
            timer,
            waiting: RefCell::default(),
            armed: Cell::new(Tick::MAX),
        }))
    }

    /// Wakes due clients, forever. Runs as a task next to the clients.
    pub async fn run(&self) {
        loop {
            // It fails only if the runtime is gone.
            let Ok(mut ready) = self.timer.readable().await else {
                return;
            };
            let mut expirations = [0; 8];
            let read = rustix::io::read(self.timer.get_ref(), &mut expirations);
            if read == Err(rustix::io::Errno::AGAIN) {
                ready.clear_ready();
                continue;
            }
            self.wake();
        }
    }

    /// Waits until `at`, or a little longer.
    pub fn until(&self, at: Tick) -> impl Future<Output = ()> {
        Until {
            timer: self,
            at,
            entered: false,
        }
    }

    fn wake(&self) {
        self.armed.set(Tick::MAX);
        let now = (self.now)();
        let mut waiting = self.waiting.borrow_mut();
        while let Some(waker) = waiting.pop_due(now) {
            waker.wake();
        }
        if let Some(next) = waiting.next() {
            self.arm(next, now);
        }
    }

    fn enter(&self, at: Tick, waker: Waker) {
        self.waiting.borrow_mut().push(at, waker);
        if at < self.armed.get() {
            self.arm(at, (self.now)());
        }
    }

    fn arm(&self, at: Tick, now: Tick) {
        // A time of zero would disarm it.
        let left = at.saturating_sub(now).max(1);
        let it_value = Timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as _,
        };
        let it_interval = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval,
            it_value,
        };
        let set =
            rustix::time::timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once);
        set.expect("a timer takes any time that a clock can tell");
        self.armed.set(at);
    }
}

/// A wait of one client.
struct Until<'a> {
    timer: &'a RuntimeTimer,
    at: Tick,
    entered: bool,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if (self.timer.now)() >= self.at {
            return Poll::Ready(());
        }
        // Only the timer wakes a waiting client, so one entry is enough.
        if !std::mem::replace(&mut self.entered, true) {
            self.timer.enter(self.at, context.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonotonicClock;
    use std::{cell::RefCell, rc::Rc};

    #[test]
    fn whoever_waits_is_woken_when_due_and_in_order() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let clock = MonotonicClock::start();
        let woken = Rc::new(RefCell::new(Vec::new()));
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let timer = RuntimeTimer::new(&clock).unwrap();
            let running = Rc::clone(&timer);
            tokio::task::spawn_local(async move { running.run().await });
            // Late enough for all of them to be waiting.
            let start = clock.now() + 500_000_000;
            let wait = |ms: u64| {
                let (timer, woken, clock) = (Rc::clone(&timer), Rc::clone(&woken), clock.clone());
                tokio::task::spawn_local(async move {
                    let at = start + ms * 1_000_000;
                    timer.until(at).await;
                    assert!(clock.now() >= at, "woken before it was due");
                    woken.borrow_mut().push(ms);
                })
            };
            for task in [wait(30), wait(5), wait(12), wait(0)] {
                task.await.unwrap();
            }
        });
        assert_eq!(*woken.borrow(), [0, 5, 12, 30]);
    }
}
