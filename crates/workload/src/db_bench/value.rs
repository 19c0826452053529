//! Values as in db_bench: consecutive slices of one pool with the requested compressibility.
//!
//! The pool has at least 1 MiB of pieces of 100 bytes. Each piece begins with random printable
//! bytes and repeats them. All clients of a phase share one pool, made from the phase's seed, and
//! each walks through it separately. So values repeat within a phase, as in db_bench, but never
//! between phases.

use super::{RecordLayout, Sizes};
use crate::{
    Seed,
    random::{Purpose, Random},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tailmark_driver::Values;

const POOL_BYTES: usize = 1 << 20;
const PIECE_BYTES: usize = 100;

/// The pools in use. All clients share each of them.
static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());

/// By seed, compressibility (its bits) and size.
type Pools = BTreeMap<(u64, u64, usize), Weak<[u8]>>;

/// Makes one client's values.
#[derive(Debug)]
pub(crate) struct ValuePool {
    pool: Arc<[u8]>,
    at: usize,
    sizes: Sizes,
    fixed: u32,
    random: Random,
    lengths: Vec<u32>,
}

impl ValuePool {
    /// Values of `bytes` bytes, unless `layout` says otherwise; `compressibility` is from 0 to 1.
    pub fn new(
        layout: &RecordLayout,
        bytes: u32,
        compressibility: f64,
        seed: u64,
        client: u32,
    ) -> Self {
        let longest = match layout.sizes {
            Sizes::Fixed => bytes,
            Sizes::Uniform { max, .. } | Sizes::Normal { max, .. } => max,
        };
        let size = POOL_BYTES.max(longest as usize * layout.batch as usize);
        Self {
            pool: pool(seed, compressibility, size),
            at: 0,
            sizes: layout.sizes,
            fixed: bytes,
            random: Random::new(seed, client, Purpose::Values),
            lengths: Vec::with_capacity(layout.batch as usize),
        }
    }

    /// The next `count` values.
    #[inline]
    pub fn next(&mut self, count: usize) -> Values<'_> {
        self.lengths.clear();
        let mut total = 0;
        for _ in 0..count {
            let length = self.draw_length();
            self.lengths.push(length);
            total += length as usize;
        }
        self.slice(total)
    }

    /// The next value, of this length.
    #[inline]
    pub fn next_of(&mut self, length: u32) -> Values<'_> {
        self.lengths.clear();
        self.lengths.push(length);
        self.slice(length as usize)
    }

    #[inline]
    fn slice(&mut self, total: usize) -> Values<'_> {
        if self.at + total > self.pool.len() {
            self.at = 0;
        }
        let start = self.at;
        self.at += total;
        Values {
            first: 0,
            lengths: &self.lengths,
            bytes: &self.pool[start..start + total],
        }
    }

    #[inline]
    fn draw_length(&mut self) -> u32 {
        match self.sizes {
            Sizes::Fixed => self.fixed,
            Sizes::Uniform { min, max } => {
                min + self.random.below(u64::from(max.saturating_sub(min)) + 1) as u32
            }
            Sizes::Normal { min, max } => {
                let (low, high) = (f64::from(min), f64::from(max));
                // Box, Muller: A note on the generation of random normal deviates (1958).
                let radius = (-2.0 * (1.0 - self.random.unit()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * self.random.unit()).cos();
                let length = f64::midpoint(low, high) + normal * (high - low) / 6.0;
                length.clamp(low, high) as u32
            }
        }
    }
}

fn pool(seed: u64, compressibility: f64, size: usize) -> Arc<[u8]> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (seed, compressibility.to_bits(), size);
    if let Some(made) = pools.get(&key).and_then(Weak::upgrade) {
        return made;
    }
    pools.retain(|_, pool| pool.strong_count() > 0);
    let made = make(seed, compressibility, size);
    pools.insert(key, Arc::downgrade(&made));
    made
}

fn make(seed: u64, compressibility: f64, size: usize) -> Arc<[u8]> {
    let seed = Seed::new(seed).with("values of db_bench", "pool").value();
    let mut random = Random::new(seed, 0, Purpose::Values);
    let distinct = ((PIECE_BYTES as f64 * (1.0 - compressibility)) as usize).max(1);
    let mut bytes = Vec::with_capacity(size + PIECE_BYTES);
    while bytes.len() < size {
        let start = bytes.len();
        bytes.extend((0..distinct).map(|_| b' ' + random.below(95) as u8));
        for i in distinct..PIECE_BYTES {
            bytes.push(bytes[start + i - distinct]);
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_each_other_and_wrap() {
        let mut values = ValuePool::new(&RecordLayout::DEFAULT, 1000, 0.5, 1, 0);
        let size = values.pool.len();
        let first = values.next(1).bytes.to_vec();
        assert_eq!(values.next(2).lengths, [1000, 1000]);
        for _ in 3..size / 1000 {
            values.next(1);
        }
        assert_eq!(
            values.next(1).bytes,
            first,
            "the end of the pool has no room for another"
        );
    }

    #[test]
    fn half_of_a_piece_repeats_the_other_half() {
        let mut values = ValuePool::new(&RecordLayout::DEFAULT, 100, 0.5, 1, 0);
        let piece = values.next(1).bytes.to_vec();
        assert_eq!(piece[..50], piece[50..]);
        assert!(piece[..50].iter().any(|byte| *byte != piece[0]));
    }

    #[test]
    fn drawn_lengths_stay_in_their_range() {
        for sizes in [
            Sizes::Uniform { min: 10, max: 20 },
            Sizes::Normal { min: 10, max: 20 },
        ] {
            let layout = RecordLayout {
                sizes,
                ..RecordLayout::DEFAULT
            };
            let mut values = ValuePool::new(&layout, 100, 0.5, 1, 0);
            let lengths: Vec<_> = (0..10_000).map(|_| values.next(1).lengths[0]).collect();
            assert!(lengths.iter().all(|length| (10..=20).contains(length)));
            let mean = lengths.iter().sum::<u32>() as f64 / 1e4;
            assert!((mean - 15.0).abs() < 0.6, "{mean}");
        }
    }
}
