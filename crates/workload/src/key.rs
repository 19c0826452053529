//! Keys as YCSB names them: `user` and the hash of the number.
//!
//! Hashed names scatter consecutive numbers over the store. Their lengths differ, because the hash
//! is printed without padding and has 15 to 19 digits. A data set may use other names
//! ([`KeyFormat`]): plain numbers, more digits, another prefix.

use crate::digits;
use std::borrow::Cow;
use tailmark_driver::Key;

/// The prefix of every name.
const PREFIX: &str = "user";

/// YCSB's hash of a number (`Utils.fnvhash64`): FNV-1a over its eight bytes, lowest first, then the
/// absolute value as a signed number. Below 2^63, except for a hash of exactly 2^63.
#[inline]
pub const fn hash(number: u64) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    const PRIME_4: u64 = PRIME.wrapping_pow(4);
    const HALF: u32 = 4;

    let (mut hash, mut rest, mut byte) = (OFFSET, number, 0);
    while byte < HALF {
        hash = (hash ^ (rest & 0xff)).wrapping_mul(PRIME);
        rest >>= 8;
        byte += 1;
    }
    if rest == 0 {
        // A zero byte only multiplies; four of them at once save three multiplications in a row.
        return hash.wrapping_mul(PRIME_4).cast_signed().unsigned_abs();
    }
    while byte < 2 * HALF {
        hash = (hash ^ (rest & 0xff)).wrapping_mul(PRIME);
        rest >>= 8;
        byte += 1;
    }
    hash.cast_signed().unsigned_abs()
}

/// How numbers become names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFormat {
    /// The prefix of every name.
    pub prefix: Cow<'static, str>,
    /// The order of consecutive numbers in the store.
    pub order: KeyOrder,
    /// The least number of digits in a name; shorter numbers get leading zeros. At most 1,000.
    pub digits_min: u16,
}

/// The order of consecutive numbers in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrder {
    /// Scattered: a name has the digits of the number's hash.
    Hashed,
    /// A name has the digits of the number itself.
    Ordered,
}

impl KeyFormat {
    /// YCSB's default: `user` and the digits of the hash.
    pub const YCSB: Self = Self {
        prefix: Cow::Borrowed(PREFIX),
        order: KeyOrder::Hashed,
        digits_min: 1,
    };
}

impl Default for KeyFormat {
    fn default() -> Self {
        Self::YCSB
    }
}

/// A buffer for one name at a time.
#[derive(Debug, Clone)]
pub struct KeyName {
    number: u64,
    order: KeyOrder,
    digits_min: usize,
    prefix: Box<[u8]>,
    /// The start of the name in `bytes`.
    start: usize,
    /// The end of every name: the end of a cache line, so that short names fit into one.
    end: usize,
    bytes: Box<[u8]>,
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl KeyName {
    /// The name of key 0, as YCSB names it.
    pub fn new() -> Self {
        Self::with_format(&KeyFormat::YCSB)
    }

    /// The name of key 0, in this format.
    pub fn with_format(format: &KeyFormat) -> Self {
        let prefix: Box<[u8]> = format.prefix.as_bytes().into();
        let digits_min = usize::from(format.digits_min);
        let longest = prefix.len() + digits_min.max(digits::WRITTEN);
        let bytes = vec![b'0'; longest + LINE - 1].into_boxed_slice();
        let end = longest + (LINE - (bytes.as_ptr().addr() + longest) % LINE) % LINE;
        let mut name = Self {
            number: 0,
            order: format.order,
            digits_min,
            prefix,
            start: end,
            end,
            bytes,
        };
        name.set(0);
        name
    }

    /// Writes the name of another number.
    #[inline]
    pub fn set(&mut self, number: u64) {
        let printed = match self.order {
            KeyOrder::Hashed => hash(number),
            KeyOrder::Ordered => number,
        };
        let name = &mut self.bytes[..self.end];
        if let Some(last) = name.last_chunk_mut() {
            digits::write(printed, last);
        }
        let first_digit = name.len() - digits::count(printed).max(self.digits_min);
        self.start = first_digit - self.prefix.len();
        let prefix = &mut name[self.start..first_digit];
        match (prefix.as_mut_array(), self.prefix.as_array::<4>()) {
            (Some(four), Some(user)) => *four = *user, // without a call
            _ => prefix.copy_from_slice(&self.prefix),
        }
        self.number = number;
    }

    /// The number and its name.
    #[inline]
    pub fn key(&self) -> Key<'_> {
        Key {
            number: self.number,
            name: &self.bytes[self.start..self.end],
        }
    }
}

impl Default for KeyName {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_ycsb() {
        for (number, expected) in [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
            (3, 4_052_466_453_699_787_802),
            (10, 2_408_371_864_701_034_737),
            (999, 2_071_219_101_098_386_137),
            (1_000, 5_952_875_239_596_136_740),
            (999_999, 2_744_965_632_448_235_251),
            (1 << 31, 5_860_980_763_039_959_109),
            (10_000_000_000, 1_201_321_332_300_452_516),
        ] {
            assert_eq!(hash(number), expected, "of {number}");
        }
    }

    #[test]
    fn both_ways_through_the_hash_agree_with_the_plain_one() {
        let plain = |number: u64| {
            let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(1_099_511_628_211);
            let start = 0xcbf2_9ce4_8422_2325;
            number
                .to_le_bytes()
                .into_iter()
                .fold(start, step)
                .cast_signed()
                .unsigned_abs()
        };
        let mut number = 1_u64;
        for i in 0..64 {
            number = number.wrapping_mul(3).rotate_left(i);
            for n in [number, number >> 32, number >> 40, 1 << i] {
                assert_eq!(hash(n), plain(n));
            }
        }
    }

    #[test]
    fn names_are_the_prefix_and_the_digits_of_the_hash() {
        let mut name = KeyName::new();
        assert_eq!(name.key().name, b"user6284781860667377211");
        for number in (0..1_000).chain([1 << 31, 10_000_000_000, u64::MAX]) {
            name.set(number);
            assert_eq!(name.key().number, number);
            assert_eq!(name.key().name, format!("user{}", hash(number)).as_bytes());
        }
    }

    #[test]
    fn ordered_names_are_padded_to_their_digits() {
        let format = KeyFormat {
            order: KeyOrder::Ordered,
            digits_min: 12,
            ..KeyFormat::YCSB
        };
        let mut name = KeyName::with_format(&format);
        for (number, expected) in [
            (0, "user000000000000"),
            (10_000_000_000, "user010000000000"),
            (7, "user000000000007"),
            (u64::MAX, "user18446744073709551615"),
            (42, "user000000000042"),
        ] {
            name.set(number);
            assert_eq!(name.key().name, expected.as_bytes());
        }
        let wide = KeyFormat {
            prefix: "k".into(),
            digits_min: 24,
            ..KeyFormat::YCSB
        };
        assert_eq!(
            KeyName::with_format(&wide).key().name,
            b"k000006284781860667377211"
        );
    }
}
