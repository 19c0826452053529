//! Which keys exist: what the clients of a point share.
//!
//! Inserts take their numbers from one counter and are acknowledged in any order. What may be read
//! is all below the *watermark*, the number below which every insert is acknowledged. Numbers that
//! are acknowledged ahead of it wait in a window of 2^20 bits, as wide as YCSB's. Where YCSB throws
//! when the window is passed (one client stalls while the others go on), the rest is kept as runs
//! of consecutive numbers, so that the watermark is right as soon as the gap closes. An insert that
//! failed is never acknowledged, and the watermark stays below it.
//!
//! Each thing that is written has cache lines of its own. A workload without inserts writes none of
//! them, so that its clients share only lines that stay as they are.

use crossbeam_utils::CachePadded;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// How far ahead of the watermark acknowledgements are kept as bits.
const WINDOW: u64 = 1 << 20;

/// The numbers of the keys of a load or a point; shared by its clients.
#[derive(Debug)]
pub struct KeySpace {
    records: u64,
    first_insert: u64,
    next_insert: CachePadded<AtomicU64>,
    next_in_sequence: CachePadded<AtomicU64>,
    /// Written only by the holder of `beyond`.
    watermark: CachePadded<AtomicU64>,
    /// Acknowledged at or above the watermark and beyond the window: starts and ends of runs.
    beyond: CachePadded<Mutex<BTreeMap<u64, u64>>>,
    /// Bit n mod 2^20 is set while n is acknowledged and at or above the watermark.
    window: Box<[AtomicU64]>,
}

impl KeySpace {
    /// A key space in which `0..records` exist and inserts start at `first_insert`: `records` for a
    /// point, what is loaded already for a load.
    #[must_use]
    pub fn new(first_insert: u64, records: u64) -> Self {
        Self {
            records,
            first_insert,
            next_insert: CachePadded::new(AtomicU64::new(first_insert)),
            next_in_sequence: CachePadded::new(AtomicU64::new(0)),
            watermark: CachePadded::new(AtomicU64::new(first_insert)),
            beyond: CachePadded::new(Mutex::new(BTreeMap::new())),
            window: (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The number of the next key to insert.
    #[inline]
    pub fn next_insert(&self) -> u64 {
        self.next_insert.fetch_add(1, Relaxed)
    }

    /// The next number of the sequence that all clients walk together, from 0.
    #[inline]
    pub(crate) fn next_in_sequence(&self) -> u64 {
        self.next_in_sequence.fetch_add(1, Relaxed)
    }

    /// The highest number of a key that may be read: below it, every one exists.
    ///
    /// As in YCSB, an acknowledgement that meets another one at work may show only with the next.
    #[inline]
    #[must_use]
    pub fn last(&self) -> u64 {
        let watermark = self.watermark.load(Acquire);
        let end = if watermark == self.first_insert {
            self.records
        } else {
            watermark
        };
        end.saturating_sub(1)
    }

    /// Says that the insert of `number`, drawn from this key space, succeeded. Never waits within
    /// the window.
    pub fn acknowledge(&self, number: u64) {
        let watermark = self.watermark.load(Acquire);
        if number < watermark {
            return;
        }
        // The watermark cannot pass `number` before this, so its bit is nobody else's.
        if number - watermark < WINDOW {
            let (word, bit) = place(number);
            self.window[word].fetch_or(bit, Release);
            if let Ok(mut beyond) = self.beyond.try_lock() {
                self.advance(&mut beyond);
            }
        } else {
            let mut beyond = self.beyond();
            add(&mut beyond, number);
            self.advance(&mut beyond);
        }
    }

    /// The watermark: every insert below it is acknowledged. Exact, and may wait for a moment: for
    /// the marker of a load, not for every operation.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.advance(&mut self.beyond());
        self.watermark.load(Acquire)
    }

    fn beyond(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.beyond.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the watermark up to the first number that is not acknowledged.
    fn advance(&self, beyond: &mut BTreeMap<u64, u64>) {
        let mut watermark = self.watermark.load(Relaxed);
        loop {
            let (word, bit) = place(watermark);
            let offset = bit.trailing_zeros();
            let set = (self.window[word].load(Acquire) >> offset).trailing_ones();
            if set > 0 {
                // Cleared before the watermark moves, which is when the bits get a new meaning.
                let mask = (u64::MAX >> (64 - set)) << offset;
                self.window[word].fetch_and(!mask, Relaxed);
                watermark += u64::from(set);
                self.watermark.store(watermark, Release);
            } else if let Some(end) = beyond.remove(&watermark) {
                watermark = end;
                self.watermark.store(watermark, Release);
            } else {
                return;
            }
        }
    }
}

/// The word of the window and the bit in it that stand for a number.
#[inline]
const fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

/// Adds one number to runs, joining those that it touches.
fn add(runs: &mut BTreeMap<u64, u64>, number: u64) {
    let end = runs.remove(&(number + 1)).unwrap_or(number + 1);
    match runs.range_mut(..number).next_back() {
        Some((_, before)) if *before == number => *before = end,
        _ => {
            runs.insert(number, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_last_key_is_that_of_the_loaded_records_until_inserts_are_acknowledged() {
        let keys = KeySpace::new(100, 100);
        assert_eq!(keys.last(), 99);
        assert_eq!(keys.next_insert(), 100);
        assert_eq!(keys.last(), 99);
        keys.acknowledge(100);
        assert_eq!(keys.last(), 100);
    }

    #[test]
    fn the_watermark_waits_for_the_lowest_insert() {
        let keys = KeySpace::new(0, 0);
        for number in (1..200).rev() {
            keys.acknowledge(number);
            assert_eq!(keys.acknowledged(), 0);
        }
        keys.acknowledge(0);
        assert_eq!(keys.acknowledged(), 200);
    }

    #[test]
    fn a_failed_insert_holds_the_watermark_but_no_client() {
        let keys = KeySpace::new(10, 10);
        for number in 11..10 + 3 * WINDOW {
            keys.acknowledge(number);
        }
        assert_eq!(keys.last(), 9);
        assert!(keys.beyond().len() <= 1, "consecutive numbers are one run");
    }

    #[test]
    fn nothing_is_lost_when_a_stalled_insert_comes_back_beyond_the_window() {
        let keys = KeySpace::new(5, 5);
        let end = 5 + 5 * WINDOW / 2;
        for number in (6..end).filter(|n| *n != 6 + WINDOW) {
            keys.acknowledge(number);
        }
        keys.acknowledge(5);
        assert_eq!(keys.acknowledged(), 6 + WINDOW);
        keys.acknowledge(6 + WINDOW);
        assert_eq!(keys.acknowledged(), end);
        // The window is clean: what follows is not taken for acknowledged.
        keys.acknowledge(end + 1);
        assert_eq!(keys.acknowledged(), end);
        keys.acknowledge(end);
        assert_eq!(keys.acknowledged(), end + 2);
    }

    #[test]
    fn numbers_beyond_32_bits_are_as_good_as_others() {
        let first = 10_000_000_000;
        let keys = KeySpace::new(first, first);
        for number in [first + 2, first + 1, first] {
            keys.acknowledge(number);
        }
        assert_eq!(keys.last(), first + 2);
    }

    #[test]
    fn an_acknowledgement_below_the_watermark_changes_nothing() {
        let keys = KeySpace::new(3, 3);
        keys.acknowledge(3);
        keys.acknowledge(3);
        keys.acknowledge(0);
        assert_eq!(keys.acknowledged(), 4);
        assert_eq!(keys.last(), 3);
    }

    #[test]
    fn clients_at_once_take_every_number_once_and_none_shows_before_it_is_acknowledged() {
        const CLIENTS: u64 = 8;
        const EACH: u64 = 100_000;
        let keys = KeySpace::new(1_000, 1_000);
        let exists: Vec<AtomicBool> = (0..CLIENTS * EACH)
            .map(|_| AtomicBool::new(false))
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let number = keys.next_insert();
                        let taken = exists[(number - 1_000) as usize].swap(true, Relaxed);
                        assert!(!taken, "{number} was given twice");
                        keys.acknowledge(number);
                        let last = keys.last();
                        assert!(last < 1_000 || exists[(last - 1_000) as usize].load(Relaxed));
                    }
                });
            }
        });
        assert_eq!(keys.acknowledged(), 1_000 + CLIENTS * EACH);
    }
}
