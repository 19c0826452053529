//! Encoded HdrHistograms in any version found in logs.
//!
//! The `hdrhistogram` crate reads the second encoding. YCSB 0.17 contains HdrHistogram 2.1.4, which
//! writes the first: the counts of all slots up to the highest, in words of one size, most
//! significant byte first.

use crate::encoding::from_v2;
use flate2::read::ZlibDecoder;
use std::io::{BufReader, Read};
use tailmark_model::{Latencies, new_latencies};

/// The number that the first encoding begins with. Bits 4 to 7 are the size of a word in bytes.
const COOKIE: u32 = 0x1c84_9301;
/// The same for compressed content.
const COOKIE_COMPRESSED: u32 = 0x1c84_9302;
/// Bits of a cookie that name the size of a word.
const WORD_BITS: u32 = 0xf0;

/// The same of the second encoding, compressed.
const COOKIE_V2_COMPRESSED: u32 = 0x1c84_9304;

/// Decodes a histogram from the bytes of a log; `None` if they are something else.
pub fn decode(mut bytes: &[u8]) -> Option<Latencies> {
    match be32(bytes, 0)? & !WORD_BITS {
        COOKIE => first(&mut bytes),
        // Unpacked data is read as a stream, because a few bytes can stand for any number of them.
        COOKIE_COMPRESSED => first(&mut BufReader::new(ZlibDecoder::new(bytes.get(8..)?))),
        COOKIE_V2_COMPRESSED => from_v2(&mut ZlibDecoder::new(bytes.get(8..)?)),
        _ => from_v2(&mut bytes),
    }
}

/// Cookie, bytes of the counts, offset, digits (32 bits each), the minimum and the maximum value
/// and a factor (64 bits each), and the counts.
fn first(bytes: &mut dyn Read) -> Option<Latencies> {
    let mut head = [0; 40];
    bytes.read_exact(&mut head).ok()?;
    let cookie = be32(&head, 0).filter(|cookie| cookie & !WORD_BITS == COOKIE)?;
    let word = ((cookie & WORD_BITS) >> 4) as usize;
    let (length, offset, digits) = (be32(&head, 4)?, be32(&head, 8)?, be32(&head, 12)?);
    let lowest = u64::from(be32(&head, 16)?) << 32 | u64::from(be32(&head, 20)?);
    if !matches!(word, 2 | 4 | 8) || offset != 0 || digits > 5 || lowest == 0 {
        return None;
    }
    // Below twice ten to the digits, values have a slot each; every doubling above has half as
    // many.
    let slots = (2 * 10_u64.pow(digits)).next_power_of_two();
    let all = slots / 2 * (u64::from(u64::BITS - slots.ilog2()) + 2);
    let counts = u64::from(length) / word as u64;
    if counts > all {
        return None;
    }
    let mut latencies = new_latencies();
    let mut add = |at: u64, count: u64| {
        let doublings = (at / (slots / 2)).saturating_sub(1);
        let slot = at - doublings * (slots / 2);
        let shift = u32::try_from(doublings).ok()? + lowest.ilog2();
        let value = slot
            .checked_shl(shift)
            .filter(|value| value >> shift == slot)?;
        latencies.record_n(value + (1 << shift) / 2, count).ok()
    };
    // Most of the slots are empty, often millions of them: those are not looked at one by one.
    let mut buffer = [0; CHUNK];
    let mut at = 0;
    while at < counts {
        let words = (counts - at).min((CHUNK / word) as u64);
        let chunk = &mut buffer[..words as usize * word];
        bytes.read_exact(chunk).ok()?;
        if *chunk != EMPTY[..chunk.len()] {
            for (word_bytes, slot) in chunk.chunks_exact(word).zip(at..) {
                let mut count = [0; 8];
                count[8 - word..].copy_from_slice(word_bytes);
                match u64::from_be_bytes(count) {
                    0 => {}
                    count => add(slot, count)?,
                }
            }
        }
        at += words;
    }
    Some(latencies)
}

/// Bytes of counts that are read at a time.
const CHUNK: usize = 4096;
const EMPTY: [u8; CHUNK] = [0; CHUNK];

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, prelude::BASE64_STANDARD};
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    /// 5 three times, 2,047 once, 2,048 twice and 123,456 four times, as HdrHistogram 2.1.4 writes
    /// them in words of 8 and of 4 bytes, and in words of 2 from 1,000 up with two digits. There they
    /// count as the middle of their slot.
    const WRITTEN: [(&str, [u64; 4]); 3] = [
        (
            "HISTggAAAH142u3QMQ2AMABE0StlxQFeQAKWSHCAUQQwMLQKCBN5b/m59ebj3JN7S1N7S1vTulx5owYA\
             AAAAAAAAAAAAAAAAAAD4WukdXAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
             AAAAAADAD40PPksEjg==",
            [5, 2_047, 2_048, 123_456],
        ),
        (
            "HISTQgAAAF942u3asQ1AUAAE0ONrbWCAvwUWU9nAokYQ+WqlRPJec7n26pv2Y022mqY82bU2LvOZNyUA\
             AAAAAAAAwF/cf4DeDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAnxkuXcUDqA==",
            [5, 2_047, 2_048, 123_456],
        ),
        (
            "HISTIgAAACp42pNpmazIwMD4hAECmCAU8wswxe/kYP8BKsMMJhlhKkbBsAMsAL8VBPE=",
            [256, 1_792, 2_304, 123_648],
        ),
    ];

    fn bytes(text: &str) -> Vec<u8> {
        BASE64_STANDARD.decode(text).unwrap()
    }

    #[test]
    fn the_first_encoding_is_read_in_words_of_every_size() {
        for (text, values) in WRITTEN {
            let latencies = decode(&bytes(text)).unwrap();
            let mut expected = new_latencies();
            for (value, count) in values.into_iter().zip([3, 1, 2, 4]) {
                expected.record_n(value, count).unwrap();
            }
            assert_eq!(latencies, expected, "{values:?}");
        }
    }

    #[test]
    fn the_second_encoding_is_read_too() {
        let mut latencies = new_latencies();
        latencies.record_n(77_000, 9).unwrap();
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        serializer.serialize(&latencies, &mut bytes).unwrap();
        assert_eq!(decode(&bytes), Some(latencies));
    }

    #[test]
    fn what_is_damaged_is_none() {
        let whole = bytes(WRITTEN[0].0);
        assert_eq!(decode(&whole[..whole.len() / 2]), None);
        assert_eq!(decode(&whole[..3]), None);
        assert_eq!(decode(b"nothing of the kind"), None);
    }
}
