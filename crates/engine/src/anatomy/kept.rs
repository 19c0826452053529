//! The requests of highest rank: by response time the slowest, by a random number a uniform sample.

use super::taken::TakenApart;
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// What requests are kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The slowest.
    Response,
    /// A uniform sample.
    Chance,
}

impl By {
    /// The rank of a request. Of those with one rank, the tag decides.
    pub const fn rank(self, taken: &TakenApart) -> u64 {
        match self {
            Self::Response => taken.response(),
            Self::Chance => taken.tag,
        }
    }
}

/// A request, ordered by its rank.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    rank: (u64, u64),
    taken: TakenApart,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// The requests of highest rank, at most this many.
#[derive(Debug)]
pub struct Kept {
    by: By,
    most: usize,
    heap: BinaryHeap<Reverse<Ranked>>,
}

impl Kept {
    /// Keeps up to that many.
    pub fn new(by: By, most: usize) -> Self {
        Self {
            by,
            most,
            heap: BinaryHeap::new(),
        }
    }

    /// Adds a request, and drops the lowest one if there are too many.
    pub fn add(&mut self, taken: &TakenApart) {
        let rank = (self.by.rank(taken), taken.tag);
        let taken = *taken;
        if self.heap.len() < self.most {
            self.heap.push(Reverse(Ranked { rank, taken }));
        } else if let Some(mut lowest) = self.heap.peek_mut()
            && lowest.0.rank < rank
        {
            *lowest = Reverse(Ranked { rank, taken });
        }
    }

    /// The lowest rank that is still kept.
    pub fn least(&self) -> u64 {
        match self.heap.peek() {
            Some(Reverse(lowest)) if self.heap.len() >= self.most => lowest.rank.0,
            _ => 0,
        }
    }

    /// All of them, highest rank first.
    pub fn sorted(&self) -> Vec<TakenApart> {
        let mut all: Vec<_> = self.heap.iter().map(|ranked| ranked.0).collect();
        all.sort_by(|a, b| b.cmp(a));
        all.into_iter().map(|ranked| ranked.taken).collect()
    }
}
