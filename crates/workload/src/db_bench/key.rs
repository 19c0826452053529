//! Keys as db_bench names them: numbers in binary, so that the store keeps them in numeric order.
//!
//! An optional prefix (the number's place among the prefixes, big endian), then at most eight of
//! the number's lowest bytes, big endian, then the digit 0 up to the length of the key.

use super::RecordLayout;
use tailmark_driver::{Key, Keys};

/// The fill byte of a key.
const FILL: u8 = b'0';

/// How a number becomes a key name.
#[derive(Debug, Clone, Copy)]
struct KeyLayout {
    key_bytes: usize,
    prefix_bytes: usize,
    /// The number of prefixes; `None`: keys have no prefix.
    prefixes: Option<u64>,
}

/// A buffer for the names of a request's keys.
#[derive(Debug, Clone)]
pub(crate) struct KeyNames {
    layout: KeyLayout,
    number: u64,
    bytes: Box<[u8]>,
}

impl KeyNames {
    /// Room for `count` keys of `records` records.
    pub fn new(layout: &RecordLayout, records: u64, count: usize) -> Self {
        let key_bytes = layout.key_bytes as usize;
        let per_prefix = layout.keys_per_prefix;
        let prefixes = (per_prefix > 0).then(|| (records / per_prefix).max(1));
        let layout = KeyLayout {
            key_bytes,
            prefix_bytes: (layout.prefix_bytes as usize).min(key_bytes),
            prefixes,
        };
        Self {
            layout,
            number: 0,
            bytes: vec![FILL; key_bytes * count].into(),
        }
    }

    /// Writes the name of a number into the place of key `index`.
    #[inline]
    pub fn set(&mut self, index: usize, number: u64) {
        let KeyLayout {
            key_bytes,
            prefix_bytes,
            prefixes,
        } = self.layout;
        let mut name = &mut self.bytes[index * key_bytes..(index + 1) * key_bytes];
        self.number = number;
        if let Some(prefixes) = prefixes {
            let (prefix, rest) = name.split_at_mut(prefix_bytes);
            write(prefix, number % prefixes);
            name = rest;
        }
        write(name, number);
    }

    /// The first key.
    #[inline]
    pub fn key(&self) -> Key<'_> {
        Key {
            number: self.number,
            name: &self.bytes[..self.layout.key_bytes],
        }
    }

    /// The name of key `index`.
    pub fn name(&self, index: usize) -> &[u8] {
        let length = self.layout.key_bytes;
        &self.bytes[index * length..(index + 1) * length]
    }

    /// The first `count` keys.
    #[inline]
    pub fn keys(&self, count: usize) -> Keys<'_> {
        let length = self.layout.key_bytes;
        Keys {
            names: &self.bytes[..count * length],
            length: length as u32,
        }
    }
}

/// Writes the lowest bytes of a number, big endian, to the front, and fills the rest.
#[inline]
fn write(place: &mut [u8], number: u64) {
    let length = place.len().min(8);
    let (digits, rest) = place.split_at_mut(length);
    digits.copy_from_slice(&number.to_be_bytes()[8 - length..]);
    rest.fill(FILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(layout: RecordLayout, number: u64) -> Vec<u8> {
        let mut names = KeyNames::new(&layout, 100, 2);
        names.set(1, number);
        names.name(1).to_vec()
    }

    #[test]
    fn a_key_is_eight_bytes_of_the_number_and_zeros() {
        assert_eq!(
            name(RecordLayout::DEFAULT, 0x0102),
            b"\0\0\0\0\0\0\x01\x0200000000"
        );
        let short = RecordLayout {
            key_bytes: 3,
            ..RecordLayout::DEFAULT
        };
        assert_eq!(name(short, 0x0a0b_0c0d), b"\x0b\x0c\x0d");
    }

    #[test]
    fn a_prefix_is_the_number_among_the_prefixes() {
        let layout = RecordLayout {
            key_bytes: 12,
            prefix_bytes: 10,
            keys_per_prefix: 10,
            ..RecordLayout::DEFAULT
        };
        // 100 records of 10 a prefix are 10 prefixes; 47 is in prefix 7.
        assert_eq!(name(layout, 47), b"\0\0\0\0\0\0\0\x0700\0\x2f");
    }
}
