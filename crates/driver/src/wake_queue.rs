//! Futures that wait for an instant and are woken in order.

use std::{cmp::Ordering, collections::BinaryHeap, task::Waker};

/// The waiting futures, each with its instant. Those of the same instant are woken in order of
/// arrival.
#[derive(Debug)]
pub struct WakeQueue<T> {
    waiting: BinaryHeap<Waiting<T>>,
    entered: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    until: T,
    number: u64,
    waker: Waker,
}

impl<T: Ord + Copy> WakeQueue<T> {
    /// Adds a waiting future.
    pub fn push(&mut self, until: T, waker: Waker) {
        let number = self.entered;
        self.entered += 1;
        self.waiting.push(Waiting {
            until,
            number,
            waker,
        });
    }

    /// The earliest instant that is waited for.
    #[must_use]
    pub fn next(&self) -> Option<T> {
        self.waiting.peek().map(|first| first.until)
    }

    /// Removes a future that is due by `now`, one at a time.
    pub fn pop_due(&mut self, now: T) -> Option<Waker> {
        self.next().filter(|next| *next <= now)?;
        self.waiting.pop().map(|first| first.waker)
    }
}

impl<T> Default for WakeQueue<T>
where
    T: Ord,
{
    fn default() -> Self {
        Self {
            waiting: BinaryHeap::new(),
            entered: 0,
        }
    }
}

impl<T: Ord> Waiting<T> {
    fn rank(&self) -> (&T, u64) {
        (&self.until, self.number)
    }
}

impl<T: Ord> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for Waiting<T> {}

impl<T: Ord> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Waiting<T> {
    /// The heap has its greatest element on top, so the first to be woken must be the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank().cmp(&self.rank())
    }
}
