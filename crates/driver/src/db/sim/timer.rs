//! A clock that wakes futures of any runtime, with one thread that sleeps until the next is due.

use crate::WakeQueue;
use std::{
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::Instant,
};

/// Wakes waiting futures. Its thread ends when the last owner drops it.
pub(super) struct Timer {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: WakeQueue<Instant>,
    closed: bool,
}

impl Timer {
    pub(super) fn start() -> Arc<Self> {
        let queue = Arc::<Queue>::default();
        let of_thread = Arc::clone(&queue);
        thread::spawn(move || of_thread.run());
        Arc::new(Self { queue })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_one();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now = Instant::now();
            while let Some(waker) = state.waiting.pop_due(now) {
                waker.wake();
            }
            state = match state.waiting.next() {
                Some(due) => {
                    let waited = self.changed.wait_timeout(state, due - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn push(&self, due: Instant, waker: Waker) {
        self.lock().waiting.push(due, waker);
        self.changed.notify_one();
    }
}

/// Is ready at an instant, but never at the first poll, so that every answer is awaited.
pub(super) struct Sleep {
    timer: Arc<Timer>,
    due: Instant,
    polled: bool,
}

impl Sleep {
    pub(super) fn new(timer: &Arc<Timer>, due: Instant) -> Self {
        Self {
            timer: Arc::clone(timer),
            due,
            polled: false,
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let first = !std::mem::replace(&mut self.polled, true);
        if Instant::now() < self.due {
            self.timer.queue.push(self.due, context.waker().clone());
            Poll::Pending
        } else if first {
            context.waker().wake_by_ref();
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}
