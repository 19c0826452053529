//! The printable bytes of YCSB's values.
//!
//! YCSB's `RandomByteIterator` makes six bytes of one random 32-bit number: parts of it, each plus
//! 32. Without the 32 the bytes are a linear function of the number's bits, so that the exclusive or
//! of two such groups is the group of another random number. That allows the same economy as for
//! random bytes: groups of a pool, each xored with the group of a fresh number, have exactly the
//! bytes that YCSB's generator makes, at the cost of writing them down.

use crate::random::{Purpose, Random};
use std::sync::LazyLock;

/// Bytes made of one number.
const GROUP: usize = 6;
/// Words after which groups begin at a word again: 24 bytes, four groups.
const PERIOD: usize = 3;
/// Words of the pool: about 64 KiB.
const POOL_WORDS: usize = PERIOD * 2730;
/// Words made from one draw, at most: 4,080 bytes.
const DRAW_WORDS: usize = PERIOD * 170;
/// What every byte is raised by.
const RAISE: u64 = 0x2020_2020_2020_2020;

/// Groups, not yet raised, that all clients share; only read.
static POOL: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut random = Random::new(0x7965_6c6c_6f77_5f70, 0, Purpose::Values);
    (0..POOL_WORDS / PERIOD)
        .flat_map(|_| groups(&mut random))
        .collect()
});

/// The six bytes of a number, not yet raised, lowest first.
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
fn groups(random: &mut Random) -> [u64; PERIOD] {
    let (one, two) = (random.bits(), random.bits());
    let [a, b, c, d] = [
        one as u32,
        (one >> 32) as u32,
        two as u32,
        (two >> 32) as u32,
    ]
    .map(group);
    [a | b << 48, b >> 16 | c << 32, c >> 32 | d << 16]
}

/// Fills a value; its first byte begins a group, as in YCSB.
pub fn fill(random: &mut Random, value: &mut [u8]) {
    let pool = &**POOL;
    for bytes in value.chunks_mut(DRAW_WORDS * 8) {
        let starts = (POOL_WORDS - DRAW_WORDS) / PERIOD;
        let start = random.below(starts as u64) as usize * PERIOD;
        let fresh = groups(random);
        let words = &pool[start..start + DRAW_WORDS];
        for (bytes, words) in bytes.chunks_mut(8 * PERIOD).zip(words.chunks_exact(PERIOD)) {
            let made: [u64; PERIOD] = std::array::from_fn(|i| (words[i] ^ fresh[i]) + RAISE);
            if let Ok(whole) = <&mut [u8; 8 * PERIOD]>::try_from(&mut *bytes) {
                for (i, word) in made.iter().enumerate() {
                    whole[8 * i..8 * (i + 1)].copy_from_slice(&word.to_le_bytes());
                }
            } else {
                for (byte, i) in bytes.iter_mut().zip(0..) {
                    *byte = made[i / 8].to_le_bytes()[i % 8];
                }
            }
        }
    }
    const { assert!(GROUP * 4 == PERIOD * 8) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What YCSB makes of one number, as its documentation of the bits has it.
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

    /// The number whose group these bytes are, if they are one. Bit 30 takes no part.
    fn number_of(bytes: &[u8]) -> Option<u32> {
        let b: Vec<u32> = bytes
            .iter()
            .map(|&b| u32::from(b).wrapping_sub(32))
            .collect();
        let n = b[0] | b[1] << 5 | (b[2] & 95) << 10 | b[3] << 15 | b[4] << 20 | (b[5] & 95) << 25;
        (plain(n) == bytes[..GROUP]).then_some(n)
    }

    #[test]
    fn every_six_bytes_are_a_group_and_begin_with_the_value() {
        let mut random = Random::new(6, 0, Purpose::Values);
        for length in [6, 24, 96, 100, 1_024, 4_080, 4_098, 10_000] {
            let mut value = vec![0; length];
            fill(&mut random, &mut value);
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
    fn every_bit_of_the_numbers_is_as_often_set_as_not() {
        let mut random = Random::new(7, 0, Purpose::Values);
        let mut set = [0_u32; 32];
        let values = 20_000;
        for _ in 0..values {
            let mut value = [0; 6];
            fill(&mut random, &mut value);
            let number = number_of(&value).expect("a group");
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
        let mut value = vec![0; 1 << 20];
        value
            .chunks_mut(100)
            .for_each(|field| fill(&mut random, field));
        let packed = zstd::bulk::compress(&value, 3).unwrap().len() as f64;
        let share = packed / value.len() as f64;
        assert!((0.6..0.85).contains(&share), "{share}");
    }
}
