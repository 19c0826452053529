//! A clock that wakes futures, of any runtime: one thread that sleeps until the next is due.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::Instant,
};

/// Wakes what waits; its thread ends when the last owner drops it.
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
    waiting: BinaryHeap<Reverse<Waiting>>,
    closed: bool,
}

struct Waiting {
    due: Instant,
    waker: Waker,
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
            let next = state.waiting.peek().map(|Reverse(entry)| entry.due);
            state = match next {
                Some(due) if due <= now => {
                    if let Some(Reverse(entry)) = state.waiting.pop() {
                        entry.waker.wake();
                    }
                    state
                }
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
        self.lock().waiting.push(Reverse(Waiting { due, waker }));
        self.changed.notify_one();
    }
}

/// Is ready at an instant, and never at the first poll: so every answer is awaited.
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

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}
