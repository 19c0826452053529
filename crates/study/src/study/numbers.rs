//! Series of numbers as bytes, without loss.
//!
//! Samples are counters, sizes and instants: whole numbers, or decimals with few places, that
//! change little. They are stored as whole multiples of a power of ten, each as its difference from
//! the previous one in a variable number of bytes. All others are stored unchanged. Zstandard
//! compresses both.

use crate::encoding;
use tailmark_model::Damaged;

/// The first byte of the form that keeps every number as its eight bytes.
const RAW: u8 = 255;
/// The most decimal places of the other form, whose first byte is their number.
const PLACES_MAX: u8 = 9;
/// Beyond, a 64-bit float does not hold every whole number.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
const ZSTD_LEVEL: i32 = 9;
/// More bytes than any series has, uncompressed: a million numbers.
const BYTES_MAX: usize = 8 << 20;

/// The numbers as bytes.
pub fn encode(numbers: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * 2);
    match (0..=PLACES_MAX).find_map(|places| multiples(numbers, places).map(|m| (places, m))) {
        Some((places, multiples)) => {
            bytes.push(places);
            let mut before = 0;
            for multiple in multiples {
                push_signed(&mut bytes, multiple - before);
                before = multiple;
            }
        }
        None => {
            bytes.push(RAW);
            bytes.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        }
    }
    zstd::bulk::compress(&bytes, ZSTD_LEVEL).expect("memory takes all bytes")
}

/// The numbers that [`encode`] made bytes of.
pub fn decode(bytes: &[u8]) -> Result<Vec<f64>, Damaged> {
    let damaged = Damaged { what: "a series" };
    let bytes = encoding::decompress(bytes, BYTES_MAX).ok_or(damaged)?;
    let (&form, mut rest) = bytes.split_first().ok_or(damaged)?;
    if form == RAW {
        let (numbers, []) = rest.as_chunks() else {
            return Err(damaged);
        };
        return Ok(numbers.iter().map(|n| f64::from_le_bytes(*n)).collect());
    }
    if form > PLACES_MAX {
        return Err(damaged);
    }
    let unit = 10_f64.powi(form.into());
    let (mut numbers, mut multiple) = (Vec::new(), 0_i64);
    while !rest.is_empty() {
        multiple = multiple
            .checked_add(take_signed(&mut rest).ok_or(damaged)?)
            .ok_or(damaged)?;
        numbers.push(multiple as f64 / unit);
    }
    Ok(numbers)
}

/// Each number times ten to the `places`, if all results are whole and convert back exactly.
fn multiples(numbers: &[f64], places: u8) -> Option<Vec<i64>> {
    let unit = 10_f64.powi(places.into());
    let multiple = |&number: &f64| {
        let whole = (number * unit).round();
        let exact =
            whole.abs() < WHOLE_MAX && (whole as i64 as f64 / unit).to_bits() == number.to_bits();
        exact.then_some(whole as i64)
    };
    numbers.iter().map(multiple).collect()
}

/// Seven bits a byte, lowest first; the sign is the lowest bit.
fn push_signed(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let mut rest = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, behind) = bytes.split_first()?;
        *bytes = behind;
        rest |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((rest >> 1).cast_signed() ^ -(rest & 1).cast_signed());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back(numbers: &[f64]) -> usize {
        let bytes = encode(numbers);
        let bits = |n: &[f64]| n.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&decode(&bytes).unwrap()), bits(numbers));
        bytes.len()
    }

    #[test]
    fn every_number_comes_back_to_the_bit() {
        comes_back(&[]);
        comes_back(&[-0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, -1e300]);
        comes_back(&[WHOLE_MAX, 1.0, -WHOLE_MAX]);
        comes_back(&[1.0 / 3.0, 0.1 + 0.2]);
        comes_back(&[-1.25, 0.0, 12.345_678_9, 3_600.000_000_001]);
    }

    #[test]
    fn a_counter_takes_few_bytes() {
        let bytes: Vec<f64> = (0..1200_u32)
            .map(|i| f64::from(i) * 4096.0 * f64::from(1 + i % 7))
            .collect();
        assert!(comes_back(&bytes) < 1200 * 3);
        let cpu_s: Vec<f64> = (0..1200_u32)
            .map(|i| f64::from(i * 3 + i % 2) / 100.0)
            .collect();
        assert!(comes_back(&cpu_s) < 1200);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        assert!(decode(b"neither").is_err());
        assert!(decode(&zstd::bulk::compress(&[12, 0], 1).unwrap()).is_err());
        assert!(decode(&zstd::bulk::compress(&[0, 0x80], 1).unwrap()).is_err());
        assert!(decode(&zstd::bulk::compress(&[RAW, 1, 2], 1).unwrap()).is_err());
    }
}
