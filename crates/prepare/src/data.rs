//! The data of preconditioning: random, so that no drive can compress it, but recognisable as ours
//! anywhere.
//!
//! Every 4 KiB begin with a number, from which the rest follows. So a later look can tell our data
//! after our mark from data that others have written since.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that are known by themselves.
pub(super) const SECTOR: usize = 4096;
/// The constant that marks the numbers at the beginning as ours.
const OWN: u64 = 0x7461_696c_6d61_726b;

/// Sectors of data, each another one, from several threads.
#[derive(Debug, Default)]
pub(super) struct Data {
    next: AtomicU64,
}

impl Data {
    /// Fills a buffer of whole sectors.
    pub(super) fn fill(&self, buffer: &mut [u8]) {
        let sectors = buffer.len() / SECTOR;
        let first = self.next.fetch_add(sectors as u64, Relaxed);
        for (number, sector) in (first..).zip(buffer.chunks_exact_mut(SECTOR)) {
            let mark = mixed(number ^ OWN);
            sector[..8].copy_from_slice(&mark.to_le_bytes());
            write(mark, &mut sector[8..]);
        }
    }
}

/// Whether a sector is one of ours.
pub(super) fn is_ours(sector: &[u8]) -> bool {
    let Some((first, rest)) = sector.split_first_chunk::<8>() else {
        return false;
    };
    let mut state = u64::from_le_bytes(*first);
    rest.len() == SECTOR - 8
        && rest.chunks_exact(8).all(|word| {
            let next = next(&mut state);
            word == next.to_le_bytes()
        })
}

fn write(mut state: u64, bytes: &mut [u8]) {
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&next(&mut state).to_le_bytes());
    }
}

/// The next random number: `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed(*state)
}

fn mixed(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_repeats_and_each_sector_is_known_again_until_a_byte_of_it_is_another() {
        let data = Data::default();
        let mut bytes = vec![0; 32 * SECTOR];
        let (first, second) = bytes.split_at_mut(16 * SECTOR);
        data.fill(first);
        data.fill(second);
        let mut words: Vec<_> = bytes.chunks(8).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert!(bytes.chunks(SECTOR).all(is_ours));
        for at in [0, 8, SECTOR - 1] {
            let mut other = bytes[..SECTOR].to_vec();
            other[at] ^= 1;
            assert!(!is_ours(&other), "{at}");
        }
        assert!(!is_ours(&[0; SECTOR]) && !is_ours(&bytes[..512]) && !is_ours(&[]));
    }
}
