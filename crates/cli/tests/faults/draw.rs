//! Seeded random choices: the same seed, round and purpose choose the same. Each purpose has draws
//! of its own, so that nothing that depends on the machine's speed shifts the choices after it.

/// A stream of choices (SplitMix64: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
/// generators").
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64, round: u64, purpose: u64) -> Self {
        let mut draw = Self(seed);
        for part in [round, purpose] {
            draw.0 = draw.next() ^ part;
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From `low` to `high`, with both.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
