//! Randomly damages valid inputs as real files are damaged: bits and bytes, numbers out of range,
//! misplaced words, lost, doubled and swapped lines, truncated files.

use arbtest::{arbitrary::Unstructured, arbtest};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

/// Numbers as text that parsers trip over.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "00",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "-9223372036854775809",
    "0.0",
    "1e-320",
    "1e19",
    "1e308",
    "1e309",
    "-1e309",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "infinity",
    "0x10",
    "1_000",
    ".5",
    "5.",
    "+5",
    "1e",
    "",
    "\u{663}",
];

/// Bytes with a meaning somewhere.
const BYTES: &[u8] = b"\0\x01\x7f\x80\xff \t\n\r\"'\\=:;,.#[]{}()<>-+_%/0129aAeEkK\xc3";

/// Words of binary formats: lengths and counts, in both orders of bytes.
const COUNTS: [u64; 8] = [
    0,
    1,
    0x7f,
    0x80,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
];

/// An input does not grow beyond this many times the longest sample, and a little.
const GROWTH: usize = 4;

/// Random bytes of one input. A change takes a few dozen.
const ENTROPY: u64 = 4096;

/// Calls `property` once, with the random bytes that belong to `what`: always the same ones.
///
/// # Panics
/// If `property` does.
pub fn draw(what: &(impl Hash + ?Sized), mut property: impl FnMut(Mutator<'_, '_>)) {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(what);
    // In arbtest's seeds the lower half is the number of random bytes.
    let seed = hash << 32 | ENTROPY;
    arbtest(|bytes| {
        property(Mutator(bytes));
        Ok(())
    })
    .seed(seed)
    .run();
}

/// Draws mutated inputs, from random bytes or those of a fuzzer.
#[derive(Debug)]
pub struct Mutator<'a, 'b>(pub &'a mut Unstructured<'b>);

impl Mutator<'_, '_> {
    /// Any number below `end`, which is at least 1; 0 if no random bytes are left.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.int_in_range(0..=end - 1).unwrap_or(0)
    }

    /// One of several.
    pub fn one<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A sample with a few changes, most often one or two.
    pub fn mutate(&mut self, samples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let mut input = self.one(samples).clone();
        let longest = samples.iter().map(Vec::len).max().unwrap_or(0);
        loop {
            self.change(&mut input, samples, words);
            input.truncate(longest * GROWTH + 1024);
            if self.below(2) == 0 {
                return input;
            }
        }
    }

    fn change(&mut self, input: &mut Vec<u8>, samples: &[Vec<u8>], words: &[&str]) {
        let at = self.below(input.len() + 1);
        let piece = self.piece(input.len());
        match self.below(14) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = *self.one(BYTES),
            2 if at < input.len() => input[at] = self.below(256) as u8,
            3 => input.insert(at, *self.one(BYTES)),
            4 => drop(input.drain(piece)),
            5 => {
                let copy = input[piece].to_vec();
                drop(input.splice(at..at, copy));
            }
            6 => {
                let other = self.one(samples);
                let theirs = self.piece(other.len());
                drop(input.splice(piece, other[theirs].iter().copied()));
            }
            7 if self.below(4) == 0 => input.truncate(at),
            8 | 9 => {
                let number = self.number(input, at);
                let by = self.one(NUMBERS).bytes();
                drop(input.splice(number, by));
            }
            10 if !words.is_empty() => {
                let word = self.one(words).bytes();
                let over = if self.below(2) == 0 { piece } else { at..at };
                drop(input.splice(over, word));
            }
            11 => self.count(input, at),
            _ => self.lines(input, at),
        }
    }

    /// A stretch of these bytes, most often a short one.
    fn piece(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let most = if self.below(8) == 0 { length } else { 16 };
        let long = self.below((length - from).min(most) + 1);
        from..from + long
    }

    /// The nearest digits after a place; if there are none, the place itself.
    fn number(&mut self, input: &[u8], at: usize) -> std::ops::Range<usize> {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let Some(from) = input[at..].iter().position(is_digit) else {
            return at..at;
        };
        let from = at + from;
        let long = input[from..]
            .iter()
            .take_while(|byte| is_digit(byte))
            .count();
        from..from + long
    }

    /// Writes a count of one to eight bytes.
    fn count(&mut self, input: &mut [u8], at: usize) {
        let count = *self.one(&COUNTS);
        let width = 1 << self.below(4);
        let (little, big) = (count.to_le_bytes(), count.to_be_bytes());
        let bytes = if self.below(2) == 0 {
            &little[..width]
        } else {
            &big[8 - width..]
        };
        for (to, from) in input[at..].iter_mut().zip(bytes) {
            *to = *from;
        }
    }

    /// Takes the line at a place away, doubles it or puts it elsewhere.
    fn lines(&mut self, input: &mut Vec<u8>, at: usize) {
        let start_of = |before: &[u8]| {
            let newline = before.iter().rposition(|byte| *byte == b'\n');
            newline.map_or(0, |newline| newline + 1)
        };
        let end = input[at..].iter().position(|byte| *byte == b'\n');
        let line = start_of(&input[..at])..end.map_or(input.len(), |end| at + end + 1);
        let text = input[line.clone()].to_vec();
        let what = self.below(3);
        if what > 0 {
            input.drain(line.clone());
        }
        if what < 2 {
            let place = self.below(input.len() + 1);
            let to = start_of(&input[..place]);
            drop(input.splice(to..to, text));
        }
    }
}
