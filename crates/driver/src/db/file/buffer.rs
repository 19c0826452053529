//! A page-aligned buffer for O_DIRECT, whatever the allocator returns.

/// The strictest alignment of any device, bytes.
const ALIGNMENT: usize = 4096;

/// A buffer that grows to the longest piece asked for.
#[derive(Default)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    /// The first aligned byte.
    start: usize,
}

impl Buffer {
    pub(super) fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start }
    }

    /// The first `bytes` of the buffer. Allocates only if it was never that long.
    pub(super) fn first(&mut self, bytes: usize) -> &mut [u8] {
        if self.start + bytes > self.memory.len() {
            *self = Self::new(bytes);
        }
        &mut self.memory[self.start..self.start + bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_aligned_and_as_long_as_asked() {
        let mut buffer = Buffer::new(512);
        for bytes in [512, 1, 4096, 100_000, 512] {
            let piece = buffer.first(bytes);
            assert_eq!(piece.len(), bytes);
            assert_eq!(piece.as_ptr().align_offset(ALIGNMENT), 0);
        }
    }
}
