//! Latency histograms as bytes: HdrHistogram's own V2 encoding, compressed by Zstandard.

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use std::io::Read;
use tailmark_model::{Damaged, Latencies};

const ZSTD_LEVEL: i32 = 9;

/// No histogram of 64-bit values takes more bytes than this, uncompressed.
const ENCODED_BYTES_MAX: usize = 1 << 20;

/// A histogram as bytes; every count is kept.
pub fn encode(latencies: &Latencies) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(latencies, &mut bytes)
        .expect("counts are below 2^63, and memory takes all bytes");
    zstd::bulk::compress(&bytes, ZSTD_LEVEL).expect("memory takes all bytes")
}

/// Decodes the bytes of [`encode`].
///
/// # Errors
/// If the bytes are not such a histogram.
pub fn decode(bytes: &[u8]) -> Result<Latencies, Damaged> {
    let damaged = Damaged {
        what: "a histogram",
    };
    let bytes = decompress(bytes, ENCODED_BYTES_MAX).ok_or(damaged)?;
    let mut latencies = from_v2(&mut bytes.as_slice()).ok_or(damaged)?;
    latencies.auto(true);
    Ok(latencies)
}

/// Decompresses bytes of Zstandard as a whole; `None` if they are damaged or claim to exceed
/// `bytes_max`, because a few bytes can stand for terabytes.
pub(crate) fn decompress(bytes: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(bytes).ok()??;
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size <= bytes_max)?;
    zstd::bulk::decompress(bytes, size).ok()
}

/// The histogram in HdrHistogram's V2 encoding, uncompressed. Its head is looked at first: memory
/// for as many bytes as it names is taken before there is one of them.
pub(crate) fn from_v2(bytes: &mut dyn Read) -> Option<Latencies> {
    let mut head = [0; 8];
    bytes.read_exact(&mut head).ok()?;
    let (_, length) = head.split_at(4);
    let length = u32::from_be_bytes(length.try_into().ok()?);
    if length as usize > ENCODED_BYTES_MAX {
        return None;
    }
    let mut whole = head.as_slice().chain(bytes);
    Deserializer::new().deserialize(&mut whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::new_latencies;

    #[test]
    fn a_histogram_comes_back_whole_and_goes_on_growing() {
        let mut latencies = new_latencies();
        (0..10_000).for_each(|i| latencies.record(i * i).unwrap());
        let mut again = decode(&encode(&latencies)).unwrap();
        assert_eq!(again, latencies);
        again.record(u64::MAX / 2).unwrap();
        assert_eq!(decode(&encode(&new_latencies())).unwrap().len(), 0);
    }

    #[test]
    fn the_largest_histogram_comes_back() {
        let mut latencies = new_latencies();
        for bit in 0..64 {
            (0..1024).for_each(|i| {
                latencies
                    .record_n((1 << bit) + (i << bit >> 10), 1 << 50)
                    .unwrap()
            });
        }
        assert_eq!(decode(&encode(&latencies)).unwrap(), latencies);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = encode(&new_latencies());
        assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode(&[]).is_err());
        assert!(decode(&zstd::bulk::compress(b"nothing of the kind", 1).unwrap()).is_err());
    }
}
