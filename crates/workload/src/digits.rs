//! Fast decimal digits of a number.
//!
//! A library's conversion writes small pieces into its own buffer. Copying the digits out at once
//! reads what was just written in smaller pieces. Processors stall on that, for longer than a
//! conversion takes, depending on how both lie in memory. This code makes eight digits at a time
//! and stores them as one word.

/// The digits that are always written: those of the largest 64-bit number, with leading zeros.
pub const WRITTEN: usize = 24;

/// Digits of a number without leading zeros.
#[inline]
pub const fn count(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// Writes a number with leading zeros.
#[inline]
pub fn write(number: u64, into: &mut [u8; WRITTEN]) {
    const PART: u64 = 100_000_000;
    let (rest, last) = (number / PART, number % PART);
    let parts = [rest / PART, rest % PART, last];
    for (eight, part) in into.as_chunks_mut().0.iter_mut().zip(parts) {
        *eight = eight_digits(part);
    }
}

/// The digits of a number below 10^8, by repeated halving of all parts at once: two numbers of four
/// digits, four of two, eight of one, each in its share of the 64 bits, the first one lowest.
/// Multiplications replace the divisions by 100 and by 10: 10,486 / 2^20 and 103 / 2^10 are precise
/// enough for four and for two digits.
#[inline]
const fn eight_digits(number: u64) -> [u8; 8] {
    let (high, low) = (number / 10_000, number % 10_000);
    let fours = high | (low << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = tens | ((twos - 10 * tens) << 8);
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let mut digits = [0; WRITTEN];
        let mut check = |number: u64| {
            write(number, &mut digits);
            assert_eq!(digits, format!("{number:024}").as_bytes(), "{number}");
            assert_eq!(count(number), number.to_string().len(), "{number}");
        };
        // Every number of four digits in every place of eight.
        for four in 0..10_000 {
            check(four);
            check(four * 10_000);
            check(four * 100_000_000 + four);
        }
        let mut number = 1_u64;
        for bit in 0..64 {
            number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(bit);
            [number, number >> bit, u64::MAX >> bit, 1 << bit]
                .into_iter()
                .for_each(&mut check);
        }
        let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        powers.flat_map(|power| [power - 1, power]).for_each(check);
    }
}
