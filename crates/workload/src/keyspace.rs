//! The existing keys, shared by the clients of a point.
//!
//! Inserts take their numbers from one counter and are acknowledged in any order. All numbers below
//! the *watermark* may be read: every insert below it is acknowledged. Numbers acknowledged ahead
//! of it are kept in a window of 2^20 bits, as wide as YCSB's. If one client stalls while others
//! continue, acknowledgements can pass the window. YCSB then throws. Here they are kept as runs of
//! consecutive numbers, so that the watermark is right as soon as the gap closes. A failed insert
//! is never acknowledged, and the watermark stays below it.
//!
//! Several processes that insert into one data set have a key space each, and take turns
//! ([`Turns`]). Each of n processes takes every n-th number, so that all together insert the same
//! numbers as a single process. A process knows its own inserts at once, and those of the others up
//! to a number that it was told. Between that number and its newest insert it reads only its own,
//! so that no read misses.
//!
//! Each written field has its own cache lines. A workload without inserts writes none of them, so
//! its clients share only lines that never change.

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

/// Which inserted numbers belong to one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// The number of this process, from 0.
    pub own: u64,
    /// The number of processes that take turns, at least 1.
    pub processes: u64,
}

impl Turns {
    /// All numbers belong to one process.
    pub const ALONE: Self = Self {
        own: 0,
        processes: 1,
    };
}

/// The numbers of the keys of a load or a point, shared by its clients.
///
/// Internally, a process counts its own inserts without gaps from `first_insert`. With a single
/// process these are the numbers themselves.
#[derive(Debug)]
pub struct KeySpace {
    records: u64,
    first_insert: u64,
    turns: Turns,
    /// Below it, every insert of the other processes is acknowledged; without others, the highest
    /// number.
    others: CachePadded<AtomicU64>,
    next_insert: CachePadded<AtomicU64>,
    next_in_sequence: CachePadded<AtomicU64>,
    /// Written only by the holder of `beyond`.
    watermark: CachePadded<AtomicU64>,
    /// Acknowledged numbers beyond the window, as starts and ends of runs.
    beyond: CachePadded<Mutex<BTreeMap<u64, u64>>>,
    /// Bit n mod 2^20 is set while n is acknowledged and at or above the watermark.
    window: Box<[AtomicU64]>,
}

impl KeySpace {
    /// A key space in which `0..records` exist and inserts start at `first_insert`: `records` for a
    /// point, and the number already loaded for a load.
    pub fn new(first_insert: u64, records: u64) -> Self {
        Self {
            records,
            first_insert,
            turns: Turns::ALONE,
            others: CachePadded::new(AtomicU64::new(u64::MAX)),
            next_insert: CachePadded::new(AtomicU64::new(first_insert)),
            next_in_sequence: CachePadded::new(AtomicU64::new(0)),
            watermark: CachePadded::new(AtomicU64::new(first_insert)),
            beyond: CachePadded::new(Mutex::new(BTreeMap::new())),
            window: (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The key space of one of several processes that insert into one data set, after `records`
    /// existing ones.
    pub fn taking_turns(records: u64, turns: Turns) -> Self {
        let others = match turns.processes {
            1 => u64::MAX,
            _ => records,
        };
        Self {
            turns,
            others: CachePadded::new(AtomicU64::new(others)),
            ..Self::new(records, records)
        }
    }

    /// The numbers of this process.
    pub const fn turns(&self) -> Turns {
        self.turns
    }

    /// The number of the next key to insert.
    #[inline]
    pub fn next_insert(&self) -> u64 {
        self.number(self.next_insert.fetch_add(1, Relaxed))
    }

    /// The number of one of this process's inserts.
    #[inline]
    const fn number(&self, count: u64) -> u64 {
        self.first_insert + (count - self.first_insert) * self.turns.processes + self.turns.own
    }

    /// The next number of the sequence that all clients walk together, from 0. Processes take
    /// turns.
    #[inline]
    pub(crate) fn next_in_sequence(&self) -> u64 {
        let Turns { own, processes } = self.turns;
        self.next_in_sequence.fetch_add(1, Relaxed) * processes + own
    }

    /// The highest key number that may be read. With a single process every key below it exists;
    /// otherwise [`Self::nearest`] gives the existing ones.
    ///
    /// As in YCSB, an acknowledgement that coincides with another may become visible only with the
    /// next one.
    #[inline]
    pub fn last(&self) -> u64 {
        let watermark = self.watermark.load(Acquire);
        let end = if watermark == self.first_insert {
            self.records
        } else {
            self.number(watermark - 1) + 1
        };
        let end = match self.turns.processes {
            1 => end,
            _ => end.max(self.known()),
        };
        end.saturating_sub(1)
    }

    /// The highest number up to `number`, which is not above [`Self::last`], whose key certainly
    /// exists: `number` itself or, if that may be an unknown insert of another process, the last
    /// one of this process before it.
    #[inline]
    pub fn nearest(&self, number: u64) -> u64 {
        let Turns { own, processes } = self.turns;
        if processes == 1 || number < self.known() {
            return number;
        }
        let first = self.first_insert + own;
        match number.checked_sub(first) {
            Some(above) => number - above % processes,
            // Before its own first insert, which is there: else `number` were above the last.
            None => first,
        }
    }

    /// Below it every key exists, as far as this process knows about the others.
    #[inline]
    fn known(&self) -> u64 {
        let own = self.number(self.watermark.load(Acquire));
        own.min(self.others.load(Acquire))
    }

    /// Reports that every insert of the other processes below `number` is acknowledged.
    pub fn others_have(&self, number: u64) {
        self.others.fetch_max(number, Release);
    }

    /// The first unacknowledged number of this process, which the other processes may be told.
    /// Exact, like [`Self::acknowledged`].
    pub fn own_acknowledged(&self) -> u64 {
        self.advance(&mut self.beyond());
        self.number(self.watermark.load(Acquire))
    }

    /// Reports that the insert of `number`, drawn from this key space, succeeded. Never waits
    /// within the window.
    pub fn acknowledge(&self, number: u64) {
        let Some(above) = number.checked_sub(self.first_insert + self.turns.own) else {
            return;
        };
        let insert = self.first_insert + above / self.turns.processes;
        let watermark = self.watermark.load(Acquire);
        if insert < watermark {
            return;
        }
        // The watermark cannot pass `insert` before this, so no other thread has its bit.
        if insert - watermark < WINDOW {
            let (word, bit) = place(insert);
            self.window[word].fetch_or(bit, Release);
            if let Ok(mut beyond) = self.beyond.try_lock() {
                self.advance(&mut beyond);
            }
        } else {
            let mut beyond = self.beyond();
            add(&mut beyond, insert);
            self.advance(&mut beyond);
        }
    }

    /// The watermark: every insert below it is acknowledged, those of other processes as far as
    /// reported. Exact, but it may wait a moment: for the marker of a load, not for every
    /// operation.
    pub fn acknowledged(&self) -> u64 {
        let own = self.own_acknowledged();
        match self.turns.processes {
            1 => own,
            _ => own.min(self.others.load(Acquire)),
        }
    }

    fn beyond(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.beyond.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the watermark up to the first unacknowledged number.
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

/// The word of the window, and its bit, for a number.
#[inline]
const fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

/// Adds one number to runs, joining adjacent ones.
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

    /// Key spaces of this many processes after `records`.
    fn in_turns(records: u64, processes: u64) -> Vec<KeySpace> {
        let turns = (0..processes).map(|own| Turns { own, processes });
        turns.map(|t| KeySpace::taking_turns(records, t)).collect()
    }

    #[test]
    fn processes_that_take_turns_insert_what_one_would() {
        let mut all: Vec<u64> = Vec::new();
        for (keys, n) in in_turns(100, 3).iter().zip([4, 4, 3]) {
            all.extend((0..n).map(|_| keys.next_insert()));
        }
        all.sort_unstable();
        assert_eq!(all, (100..111).collect::<Vec<_>>());
    }

    #[test]
    fn of_others_is_known_what_was_told_and_of_its_own_everything() {
        let keys = &in_turns(100, 4)[1];
        assert_eq!((keys.last(), keys.acknowledged()), (99, 100));
        let own: Vec<u64> = (0..5).map(|_| keys.next_insert()).collect();
        assert_eq!(own, [101, 105, 109, 113, 117]);
        for number in [101, 105, 113] {
            keys.acknowledge(number);
        }
        assert_eq!((keys.own_acknowledged(), keys.last()), (109, 105));
        let exists = |number| [101, 105].contains(&number);
        for number in 100..=105 {
            assert!(exists(keys.nearest(number)), "{number}");
        }
        assert!((0..100).all(|number| keys.nearest(number) == number));
        keys.others_have(103);
        assert_eq!((keys.acknowledged(), keys.nearest(102)), (103, 102));
        assert_eq!((keys.nearest(103), keys.nearest(105)), (101, 105));
        // What others have beyond its own newest is there too, up to its own first gap.
        keys.others_have(130);
        assert_eq!((keys.acknowledged(), keys.last()), (109, 108));
        keys.acknowledge(109);
        keys.acknowledge(117);
        assert_eq!((keys.own_acknowledged(), keys.acknowledged()), (121, 121));
        assert_eq!(keys.last(), 120);
    }

    #[test]
    fn no_process_draws_what_does_not_exist_whatever_it_was_told_when() {
        const RECORDS: u64 = 7;
        let mut random = crate::random::Random::new(1, 0, crate::random::Purpose::Operations);
        for processes in 1..6 {
            let spaces = in_turns(RECORDS, processes);
            let mut exist: std::collections::BTreeSet<u64> = (0..RECORDS).collect();
            let mut open: Vec<Vec<u64>> = vec![Vec::new(); spaces.len()];
            for _ in 0..4_000 {
                let rank = random.below(processes) as usize;
                match random.below(4) {
                    0 => open[rank].push(spaces[rank].next_insert()),
                    1 if !open[rank].is_empty() => {
                        let which = random.below(open[rank].len() as u64) as usize;
                        let number = open[rank].swap_remove(which);
                        exist.insert(number);
                        spaces[rank].acknowledge(number);
                    }
                    2 => {
                        let known = spaces.iter().map(KeySpace::own_acknowledged).min().unwrap();
                        spaces[rank].others_have(known);
                    }
                    _ => {
                        let last = spaces[rank].last();
                        let nearest = spaces[rank].nearest(random.below(last + 1));
                        assert!(exist.contains(&nearest), "{nearest} of {processes}");
                        assert!(exist.contains(&spaces[rank].nearest(last)), "{last}");
                    }
                }
            }
        }
    }
}
