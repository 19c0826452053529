//! The bytes of field values: random, fresh, and as compressible as requested.
//!
//! A value is a stretch of a pool of random words, each xored with the same fresh 64 random bits. A
//! new stretch and new bits are drawn at least every 4 KiB, so that no value repeats another.
//! Neither compression nor deduplication finds anything, and making a value costs little more than
//! writing it. The compressible share is zeros, spread evenly in pieces of at most 128 bytes, so
//! that every block that a database or a device compresses shrinks alike.

mod checked;
mod formatted;
mod printable;

pub use checked::append as append_checked;

use crate::{
    key::KeyName,
    random::{Purpose, Random},
    record_format::RecordFormat,
};
use formatted::Formatted;
use std::sync::LazyLock;
use tailmark_driver::Values;

/// Words of the pool: 64 KiB, small enough for a second-level cache.
const POOL_WORDS: usize = 8 << 10;
/// The most bytes made from one draw.
const DRAW_BYTES: usize = 4 << 10;
/// Words of the pool that one draw may use: those for its bytes, and the rest of words in which
/// pieces end.
const DRAW_WORDS: usize = DRAW_BYTES / 4;
/// Every stretch of this many bytes has the requested random and compressible shares.
const PIECE_BYTES: usize = 128;

/// Random words, shared by all clients and only read.
static POOL: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut random = Random::new(0x7461_696c_6d61_726b, 0, Purpose::Values);
    (0..POOL_WORDS).map(|_| random.bits()).collect()
});

/// Makes the values of one client's writes.
#[derive(Debug, Clone)]
pub(crate) struct ValueMaker {
    random: Random,
    pool: &'static [u64],
    field_length: usize,
    pieces: Pieces,
    /// Bytes that are divided together: a field, or all fields if nothing is zeros.
    value_bytes: usize,
    /// The length of every field of the schema.
    lengths: Box<[u32]>,
    /// All fields of one record. The zeros are never written again.
    bytes: Box<[u8]>,
    /// Makes all values if they are not random bytes of one length.
    formatted: Option<Box<Formatted>>,
}

/// The division of a value: every piece begins with random bytes and ends with zeros.
#[derive(Debug, Clone)]
struct Pieces {
    /// The length of a piece, at least 1; the last one may be shorter.
    piece: usize,
    /// The random bytes of a whole piece.
    random: usize,
    /// The same as a share.
    share: f64,
}

impl ValueMaker {
    /// Values of `fields` fields of `field_length` bytes; `compressibility` is from 0 to 1.
    pub fn new(fields: usize, field_length: u32, compressibility: f64, random: Random) -> Self {
        let length = field_length as usize;
        let value_bytes = if compressibility == 0.0 {
            fields * length
        } else {
            length
        };
        Self {
            random,
            pool: &POOL,
            field_length: length,
            pieces: Pieces::new(value_bytes, compressibility),
            // A field of no bytes leaves nothing to divide.
            value_bytes: value_bytes.max(1),
            lengths: vec![field_length; fields].into(),
            bytes: vec![0; fields * length].into(),
            formatted: None,
        }
    }

    /// The same with values of another format. `names` are the names of all fields.
    pub fn with_format(mut self, format: &RecordFormat, names: &[String]) -> Self {
        let (longest, random) = (self.field_length as u32, self.random.clone());
        self.formatted = Formatted::new(format, names, longest, random).map(Box::new);
        self
    }

    /// Makes fresh values of `count` consecutive fields from `first` of the record of this key.
    #[inline]
    pub fn make_for(&mut self, first: u32, count: usize, key: &KeyName) {
        match self.formatted.take() {
            None => self.make(count),
            Some(mut formatted) => {
                formatted.make(first, count, key.key().name, &mut |bytes| {
                    self.pieces.fill(&mut self.random, self.pool, bytes);
                });
                self.formatted = Some(formatted);
            }
        }
    }

    /// Makes fresh values of `count` consecutive fields.
    #[inline]
    pub fn make(&mut self, count: usize) {
        let bytes = &mut self.bytes[..count * self.field_length];
        for value in bytes.chunks_mut(self.value_bytes) {
            self.pieces.fill(&mut self.random, self.pool, value);
        }
    }

    /// The last values, as those of `count` fields from `first`.
    #[inline]
    pub fn values(&self, first: u32, count: usize) -> Values<'_> {
        if let Some(formatted) = &self.formatted {
            return formatted.values(first);
        }
        Values {
            first,
            lengths: &self.lengths[..count],
            bytes: &self.bytes[..count * self.field_length],
        }
    }
}

impl Pieces {
    /// Values of `length` bytes, in pieces of nearly equal length.
    fn new(length: usize, compressibility: f64) -> Self {
        let most = if compressibility == 0.0 {
            DRAW_BYTES
        } else {
            PIECE_BYTES
        };
        let piece = length.div_ceil(length.div_ceil(most).max(1)).max(1);
        let share = 1.0 - compressibility;
        Self {
            piece,
            random: part(piece, share),
            share,
        }
    }

    /// Makes the random bytes of a value.
    #[inline]
    fn fill(&self, random: &mut Random, pool: &[u64], value: &mut [u8]) {
        for bytes in value.chunks_mut(DRAW_BYTES / self.piece * self.piece) {
            let start = random.below((POOL_WORDS - DRAW_WORDS) as u64) as usize;
            let fresh = random.bits();
            let words = pool[start..start + DRAW_WORDS].chunks_exact(self.piece.div_ceil(8));
            for (piece, drawn) in bytes.chunks_mut(self.piece).zip(words) {
                let length = if piece.len() == self.piece {
                    self.random
                } else {
                    part(piece.len(), self.share)
                };
                write(&mut piece[..length], drawn, fresh);
            }
        }
    }
}

/// A share of a length, rounded to whole bytes.
fn part(length: usize, share: f64) -> usize {
    ((length as f64 * share + 0.5) as usize).min(length)
}

/// Writes words, each xored with `fresh`, until the bytes are full.
#[inline]
fn write(bytes: &mut [u8], words: &[u64], fresh: u64) {
    let mut whole = bytes.chunks_exact_mut(8);
    for (eight, word) in whole.by_ref().zip(words) {
        eight.copy_from_slice(&(word ^ fresh).to_le_bytes());
    }
    let rest = whole.into_remainder();
    if let (false, Some(word)) = (rest.is_empty(), words.last()) {
        rest.copy_from_slice(&(word ^ fresh).to_le_bytes()[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn maker(fields: usize, length: u32, compressibility: f64) -> ValueMaker {
        let random = Random::new(11, 0, Purpose::Values);
        ValueMaker::new(fields, length, compressibility, random)
    }

    fn made(fields: usize, length: u32, compressibility: f64, records: usize) -> Vec<u8> {
        let mut maker = maker(fields, length, compressibility);
        (0..records)
            .flat_map(|_| {
                maker.make(fields);
                maker.values(0, fields).bytes.to_vec()
            })
            .collect()
    }

    /// The compressed size of `bytes` as a share, in blocks of `block` bytes.
    fn compressed(bytes: &[u8], block: usize, level: i32) -> f64 {
        let compress = |part| zstd::bulk::compress(part, level).expect("memory suffices");
        let sizes = bytes.chunks(block).map(|part| compress(part).len());
        sizes.sum::<usize>() as f64 / bytes.len() as f64
    }

    #[test]
    fn incompressible_values_stay_so_alone_and_together() {
        for (fields, length) in [(4, 1024), (10, 100), (1, 4096), (1, 400)] {
            let bytes = made(fields, length, 0.0, (4 << 20) / (fields * length as usize));
            for (block, level) in [(4 << 10, 1), (4 << 20, 1), (4 << 20, 12)] {
                let share = compressed(&bytes, block, level);
                assert!(share > 0.999, "{fields} x {length} in {block}: {share}");
            }
        }
    }

    #[test]
    fn compressibility_is_the_share_that_a_compressor_removes() {
        for compressibility in [0.25, 0.5, 0.75] {
            for (fields, length) in [(4, 1024), (10, 100)] {
                let bytes = made(fields, length, compressibility, 256);
                let share = compressed(&bytes, 4 << 10, 1);
                let expected = 1.0 - compressibility;
                assert!(
                    (expected - 0.01..expected + 0.06).contains(&share),
                    "{share}"
                );
            }
        }
    }

    #[test]
    fn every_block_shrinks_alike() {
        let bytes = made(1, 64 << 10, 0.5, 16);
        let shares = bytes
            .chunks(4 << 10)
            .map(|block| compressed(block, 4 << 10, 1));
        let (min, most) = shares.fold((1.0_f64, 0.0_f64), |(min, most), s| {
            (min.min(s), most.max(s))
        });
        assert!(most - min < 0.02, "{min} to {most}");
    }

    #[test]
    fn no_value_repeats_another() {
        let mut seen = HashSet::new();
        for client in 0..4 {
            let random = Random::new(11, client, Purpose::Values);
            let mut maker = ValueMaker::new(1, 100, 0.0, random);
            for _ in 0..50_000 {
                maker.make(1);
                assert!(seen.insert(maker.values(0, 1).bytes.to_vec()));
            }
        }
    }

    #[test]
    fn bytes_take_every_value_alike() {
        let bytes = made(4, 1024, 0.0, 256);
        let mut counts = [0_u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        // 4,096 of each expected; standard deviation 64, a little more for the shared pool.
        assert!(counts.iter().all(|c| c.abs_diff(4_096) < 500), "{counts:?}");
    }

    #[test]
    fn lengths_that_are_no_multiple_of_a_word_are_filled_to_the_end() {
        for length in [1, 7, 9, 100, 4_095, 4_097, 10_001] {
            let ends: HashSet<u8> = (0..64)
                .scan(maker(1, length, 0.0), |maker, _| {
                    maker.make(1);
                    maker.values(0, 1).bytes.last().copied()
                })
                .collect();
            assert!(ends.len() > 16, "the last byte of {length} does not vary");
        }
    }

    #[test]
    fn wholly_compressible_values_are_zeros_and_empty_ones_are_empty() {
        assert!(made(2, 100, 1.0, 3).iter().all(|byte| *byte == 0));
        assert!(made(3, 0, 0.5, 3).is_empty());
    }
}
