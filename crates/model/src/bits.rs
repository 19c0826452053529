//! Whole numbers in few bits: unary, Rice and Elias gamma codes.
//!
//! Small numbers get short codes. Rice's code of order k suits numbers of about 2^k. A much greater
//! number continues in Elias' gamma code, so that no number takes more than a few words.

/// A Rice code whose unary part would be longer continues in gamma code.
const UNARY_MAX: u64 = 24;

/// Collects bits, the highest of each byte first.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// The last `used` bits, fewer than 8, which are not in `bytes` yet.
    pending: u64,
    used: u32,
}

impl BitWriter {
    /// Continues after whole bytes.
    pub fn after(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// All bytes; the last one is padded with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.used > 0 {
            self.push(0, 8 - self.used);
        }
        self.bytes
    }

    /// A number of at least 1.
    pub fn gamma(&mut self, number: u64) {
        let order = number.ilog2();
        self.unary(order);
        self.push(number & low_bits(order), order);
    }

    /// Any number, expected to be about 2^`order`.
    pub fn rice(&mut self, number: u64, order: u32) {
        let high = number >> order;
        self.unary(high.min(UNARY_MAX) as u32);
        if high >= UNARY_MAX {
            self.gamma(high - UNARY_MAX + 1);
        }
        self.push(number & low_bits(order), order);
    }

    /// That many ones, then a zero.
    fn unary(&mut self, ones: u32) {
        self.push(low_bits(ones), ones);
        self.push(0, 1);
    }

    /// The lowest `count` bits of a number; all higher bits are zero.
    fn push(&mut self, number: u64, count: u32) {
        if count > 32 {
            self.push(number >> 32, count - 32);
            return self.push(number & low_bits(32), 32);
        }
        self.pending = self.pending << count | number;
        self.used += count;
        while self.used >= 8 {
            self.used -= 8;
            self.bytes.push((self.pending >> self.used) as u8);
        }
        self.pending &= low_bits(self.used);
    }
}

/// Reads what [`BitWriter`] wrote. Every method returns `None` if the bits end too early.
#[derive(Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// From the first bit.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// See [`BitWriter::gamma`].
    pub fn gamma(&mut self) -> Option<u64> {
        let order = self.unary().filter(|order| *order < u64::BITS)?;
        Some(1 << order | self.take(order)?)
    }

    /// See [`BitWriter::rice`].
    pub fn rice(&mut self, order: u32) -> Option<u64> {
        let mut high = u64::from(self.unary()?);
        if high >= UNARY_MAX {
            high = (self.gamma()? - 1).checked_add(UNARY_MAX)?;
        }
        let fits = high.leading_zeros() >= order;
        fits.then_some(high << order | self.take(order)?)
    }

    fn unary(&mut self) -> Option<u32> {
        let mut ones = 0;
        loop {
            let more = self.window().leading_ones().min(WINDOW);
            ones += more;
            self.at += more as usize;
            if more < WINDOW {
                self.take(1)?;
                return Some(ones);
            }
        }
    }

    fn take(&mut self, count: u32) -> Option<u64> {
        if count > 32 {
            let high = self.take(count - 32)?;
            return Some(high << 32 | self.take(32)?);
        }
        let end = self.at + count as usize;
        let bits = self.window().checked_shr(u64::BITS - count).unwrap_or(0);
        (end <= self.bytes.len() * 8).then(|| {
            self.at = end;
            bits
        })
    }

    /// The next bits, highest first, at least [`WINDOW`] of them; zeros after the end.
    fn window(&self) -> u64 {
        let rest = &self.bytes[(self.at / 8).min(self.bytes.len())..];
        let word = match rest.first_chunk() {
            Some(word) => u64::from_be_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(word)
            }
        };
        word << (self.at % 8)
    }
}

/// The fewest bits in a window, wherever in a byte it begins.
const WINDOW: u32 = 57;

const fn low_bits(count: u32) -> u64 {
    if count == 0 {
        0
    } else {
        u64::MAX >> (u64::BITS - count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_at_every_order() {
        let numbers = (0..64)
            .flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit])
            .chain([u64::MAX - 1]);
        let numbers: Vec<u64> = numbers.collect();
        for order in 0..60 {
            let mut writer = BitWriter::default();
            for &number in &numbers {
                writer.rice(number, order);
                writer.gamma(number + 1);
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for &number in &numbers {
                assert_eq!(reader.rice(order), Some(number), "order {order}");
                assert_eq!(reader.gamma(), Some(number + 1), "order {order}");
            }
        }
    }

    #[test]
    fn bits_that_end_too_early_are_none() {
        let mut writer = BitWriter::default();
        writer.gamma(1 << 40);
        let bytes = writer.finish();
        assert_eq!(BitReader::new(&bytes[..bytes.len() - 1]).gamma(), None);
        assert_eq!(BitReader::new(&[]).rice(3), None);
        assert_eq!(BitReader::new(&[0xff; 40]).rice(3), None);
    }
}
