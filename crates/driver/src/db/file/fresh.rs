//! Fresh data for the parts of a slot that a write does not name: the other fields of an update,
//! and the padding up to the block. A drive could deduplicate or compress data that already exists
//! elsewhere, and would look faster than it is.

/// The bits of each byte that change. Random bytes could change all bits, but with these the
/// printable bytes of YCSB's values stay within their alphabet and compress as before.
const CHANGED: u32 = 0x1f1f_1f1f;

/// Values shorter than this are not imitated. Fresh data is then random.
const LIKE_BYTES_MIN: usize = 64;

/// A source of fresh data. Each session has its own, seeded by the values that it writes: the same
/// operations write the same bytes.
#[derive(Default)]
pub(super) struct Fresh {
    state: u64,
}

impl Fresh {
    /// Mixes in written values, which no other client writes.
    fn mix(&mut self, values: &[u8]) {
        let mut first = [0; 8];
        let known = values.len().min(first.len());
        first[..known].copy_from_slice(&values[..known]);
        self.state ^= u64::from_le_bytes(first);
    }

    /// The splitmix64 generator (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fills a gap with data that is as compressible as these values and was never written before.
    /// Zeros, which make values compressible, stay zeros.
    pub(super) fn fill(&mut self, gap: &mut [u8], like: &[u8]) {
        self.mix(like);
        if like.len() < LIKE_BYTES_MIN {
            for piece in gap.chunks_mut(8) {
                let word = self.next().to_le_bytes();
                piece.copy_from_slice(&word[..piece.len()]);
            }
            return;
        }
        for piece in gap.chunks_mut(like.len()) {
            let change = self.next() as u32 & CHANGED;
            let (to, to_rest) = piece.as_chunks_mut::<4>();
            let (from, from_rest) = like[..to.len() * 4 + to_rest.len()].as_chunks::<4>();
            for (four, old) in to.iter_mut().zip(from) {
                let word = u32::from_le_bytes(*old);
                *four = (word ^ if word == 0 { 0 } else { change }).to_le_bytes();
            }
            let changes = change.to_le_bytes();
            for ((byte, old), changed) in to_rest.iter_mut().zip(from_rest).zip(changes) {
                *byte = old ^ changed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fresh_is_like_the_values_and_never_the_same() {
        // Printable bytes with a run of zeros, as in compressible values.
        let printable = |i: u32| 0x20 + (i.wrapping_mul(2_654_435_761) >> 27) as u8;
        let mut like: Vec<u8> = (0..1021).map(printable).collect();
        like[256..384].fill(0);
        let mut fresh = Fresh::default();
        let mut gap = vec![0; 3 * 1021 + 500];
        fresh.fill(&mut gap, &like);
        for piece in gap.chunks(1021) {
            assert!(piece[256..384].iter().all(|byte| *byte == 0));
            let others = piece[..256].iter().chain(piece.get(384..).unwrap_or(&[]));
            assert!(others.clone().all(|byte| (0x20..0x40).contains(byte)));
        }
        let pieces = gap.chunks(1021).chain([like.as_slice()]);
        let mut all: Vec<&[u8]> = pieces.flat_map(|piece| piece[..256].chunks(64)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((count, all.len()), (20, 20));
    }

    #[test]
    fn short_values_leave_random_data_beside_them() {
        let mut gap = [0; 4099];
        Fresh::default().fill(&mut gap, b"abc");
        let mut blocks: Vec<_> = gap.chunks_exact(64).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 64);
        let other = &mut [0; 64];
        Fresh::default().fill(other, b"");
        assert!(
            !gap.chunks_exact(64).any(|block| block == other),
            "sessions differ"
        );
    }
}
