//! The printable bytes of YCSB's values.
//!
//! YCSB's `RandomByteIterator` makes six bytes of one random 32-bit number: parts of it, each plus
//! 32. Without the 32 the bytes are a linear function of the number's bits, so that the exclusive or
//! of two such groups is the group of another random number. That allows the same economy as for
//! random bytes. Groups of a pool, each xored with the group of a fresh number, have exactly the
//! bytes of YCSB's generator, at the cost of writing them.

use crate::random::{Purpose, Random};
use std::sync::LazyLock;

/// Bytes made from one number.
const GROUP: usize = 6;
/// Words of a block: 48 bytes, eight groups. Groups and vector registers align at its ends.
const BLOCK_WORDS: usize = 6;
/// Bytes of a block.
pub const BLOCK: usize = 8 * BLOCK_WORDS;
/// Blocks of the pool: about 64 KiB.
const POOL_BLOCKS: usize = 1365;
/// The most blocks made from one draw: 4,080 bytes.
const DRAW_BLOCKS: usize = 85;
/// The constant added to every byte.
const RAISE: u64 = 0x2020_2020_2020_2020;

/// Groups without the constant, shared by all clients and only read.
static POOL: LazyLock<Box<[Block]>> = LazyLock::new(|| {
    let mut random = Random::new(0x7965_6c6c_6f77_5f70, 0, Purpose::Values);
    let mut block = || {
        let halves = [groups(&mut random), groups(&mut random)];
        std::array::from_fn(|i| halves[i / 3][i % 3])
    };
    (0..POOL_BLOCKS).map(|_| block()).collect()
});

/// Eight groups.
type Block = [u64; BLOCK_WORDS];

/// The six bytes of a number without the constant, lowest first.
const fn group(number: u32) -> u64 {
    let n = number as u64;
    (n & 31)
        | (n >> 5 & 63) << 8
        | (n >> 10 & 95) << 16
        | (n >> 15 & 31) << 24
        | (n >> 20 & 63) << 32
        | (n >> 25 & 95) << 40
}

/// Four groups of fresh numbers as three words.
fn groups(random: &mut Random) -> [u64; BLOCK_WORDS / 2] {
    let (one, two) = (random.bits(), random.bits());
    let [a, b, c, d] = [one, one >> 32, two, two >> 32].map(|bits| group(bits as u32));
    [a | b << 48, b >> 16 | c << 32, c >> 32 | d << 16]
}

/// Makes consecutive values of these lengths. The first byte of each begins a group, as in YCSB.
/// Whole blocks are written, so `bytes` has room for one more than the values need.
pub fn fill(random: &mut Random, lengths: &[u32], bytes: &mut [u8]) {
    let pool = &**POOL;
    let (mut start, mut drawn, mut fresh) = (0, &[][..], [0; BLOCK_WORDS]);
    for length in lengths {
        let end = start + *length as usize;
        let mut at = start;
        while at < end {
            if drawn.is_empty() {
                let first = random.below((POOL_BLOCKS - DRAW_BLOCKS) as u64) as usize;
                drawn = &pool[first..first + DRAW_BLOCKS];
                let groups = groups(random);
                fresh = std::array::from_fn(|i| groups[i % groups.len()]);
            }
            let blocks;
            (blocks, drawn) = drawn.split_at((end - at).div_ceil(BLOCK).min(drawn.len()));
            write(blocks, &fresh, &mut bytes[at..at + blocks.len() * BLOCK]);
            at += blocks.len() * BLOCK;
        }
        start = end;
    }
}

/// Writes blocks, each xored with `fresh`, with the constant added.
#[inline]
fn write(blocks: &[Block], fresh: &Block, bytes: &mut [u8]) {
    const { assert!(GROUP * 8 == BLOCK) };
    for (chunk, block) in bytes.as_chunks_mut::<BLOCK>().0.iter_mut().zip(blocks) {
        let words = chunk.as_chunks_mut::<8>().0.iter_mut();
        for (eight, (word, mask)) in words.zip(block.iter().zip(fresh)) {
            *eight = ((word ^ mask) + RAISE).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that YCSB makes from one number, according to its documentation of the bits.
    fn plain(r: u32) -> [u8; GROUP] {
        let part = |shift: u32, mask: u32| ((r >> shift & mask) + 32) as u8;
        [
            part(0, 31),
            part(5, 63),
            part(10, 95),
            part(15, 31),
            part(20, 63),
            part(25, 95),
        ]
    }

    #[test]
    fn the_exclusive_or_of_two_groups_is_the_group_of_another_number() {
        let mut random = Random::new(5, 0, Purpose::Values);
        for _ in 0..10_000 {
            let (a, b) = (random.bits() as u32, random.bits() as u32);
            let made = ((group(a) ^ group(b)) + (RAISE & 0xffff_ffff_ffff)).to_le_bytes();
            assert_eq!(made[..GROUP], plain(a ^ b));
        }
    }

    /// The number whose group these bytes are, if there is one. Bit 30 has no effect.
    fn number_of(bytes: &[u8]) -> Option<u32> {
        let b: Vec<u32> = bytes
            .iter()
            .map(|&b| u32::from(b).wrapping_sub(32))
            .collect();
        let n = b[0] | b[1] << 5 | (b[2] & 95) << 10 | b[3] << 15 | b[4] << 20 | (b[5] & 95) << 25;
        (plain(n) == bytes[..GROUP]).then_some(n)
    }

    /// A value of this length.
    fn value(random: &mut Random, length: usize) -> Vec<u8> {
        let mut value = vec![0; length + BLOCK];
        fill(random, &[length as u32], &mut value);
        value.truncate(length);
        value
    }

    #[test]
    fn every_six_bytes_are_a_group_and_begin_with_the_value() {
        let mut random = Random::new(6, 0, Purpose::Values);
        for length in [6, 24, 96, 100, 1_024, 4_080, 4_098, 10_000] {
            let value = value(&mut random, length);
            for (at, bytes) in value.chunks_exact(GROUP).enumerate() {
                assert!(
                    number_of(bytes).is_some(),
                    "group {at} of {length}: {bytes:?}"
                );
            }
            assert!(value.iter().all(|byte| (0x20..0x80).contains(byte)));
        }
    }

    #[test]
    fn every_value_of_a_record_begins_with_a_group() {
        let mut random = Random::new(9, 0, Purpose::Values);
        let lengths = [100, 0, 7, 48, 5_000, 1, 6];
        let total: usize = lengths.iter().map(|l| *l as usize).sum();
        let mut bytes = vec![0; total + BLOCK];
        fill(&mut random, &lengths, &mut bytes);
        let mut rest = &bytes[..total];
        for length in lengths {
            let (value, others) = rest.split_at(length as usize);
            assert!(value.chunks_exact(GROUP).all(|g| number_of(g).is_some()));
            assert!(value.iter().all(|byte| (0x20..0x80).contains(byte)));
            rest = others;
        }
    }

    #[test]
    fn no_value_repeats_another() {
        let mut random = Random::new(10, 0, Purpose::Values);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..50_000 {
            let mut record = vec![0; 200 + BLOCK];
            fill(&mut random, &[100, 100], &mut record);
            assert!(record[..200].chunks(100).all(|v| seen.insert(v.to_vec())));
        }
    }

    #[test]
    fn every_bit_of_the_numbers_is_as_often_set_as_not() {
        let mut random = Random::new(7, 0, Purpose::Values);
        let mut set = [0_u32; 32];
        let values = 20_000;
        for _ in 0..values {
            let number = number_of(&value(&mut random, 6)).expect("a group");
            (0..32).for_each(|bit| set[bit] += number >> bit & 1);
        }
        for (bit, count) in set.into_iter().enumerate().filter(|(bit, _)| *bit != 30) {
            // Standard deviation is 71.
            assert!(count.abs_diff(values / 2) < 500, "bit {bit}: {count}");
        }
    }

    #[test]
    fn an_entropy_coder_saves_about_a_third() {
        let mut random = Random::new(8, 0, Purpose::Values);
        let mut value = vec![0; (1 << 20) + BLOCK];
        fill(&mut random, &[128; 1 << 13], &mut value);
        value.truncate(1 << 20);
        let packed = zstd::bulk::compress(&value, 3).unwrap().len() as f64;
        let share = packed / value.len() as f64;
        assert!((0.6..0.85).contains(&share), "{share}");
    }
}
