//! Latencies of one interval, counted in the places of an `HdrHistogram` of three digits.
//!
//! Every client has its own, and the collector goes over all of them once a second. The counts of
//! latencies up to a second are 84 KB; those of hundreds of clients, gone over whole, would push
//! everything else out of the processor's caches. So counts are in slabs, one for each power of
//! two, of which a client fills a few, and only those are looked at.

use tailmark_results::{Latencies, new_latencies};

/// Counts in a slab. The first holds values below 1,024, each on its own; slab `s` the next ones from
/// 2^(9 + s), 2^(s - 1) values to a count: at most a part in 1,024 of the value.
const SLAB: usize = 1 << SLAB_BITS;
const SLAB_BITS: u32 = 10;

/// How often each latency was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    counts: Vec<u32>,
    /// The slabs with something in them, a bit each.
    used: u64,
}

impl Counts {
    /// With memory for latencies up to this one, nanoseconds.
    #[must_use]
    pub fn with_room(largest: u64) -> Self {
        let mut counts = Self::default();
        counts.record(largest);
        counts.clear();
        counts
    }

    /// Counts a latency, nanoseconds.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts so many of a latency, nanoseconds.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u32) {
        let slab = (value | (SLAB as u64 - 1)).ilog2() - (SLAB_BITS - 1);
        let within = (value >> slab.saturating_sub(1)) as usize & (SLAB - 1);
        let place = ((slab as usize) << SLAB_BITS) + within;
        self.used |= 1 << slab;
        if place >= self.counts.len() {
            self.grow(slab);
        }
        let count = &mut self.counts[place];
        *count = count.saturating_add(n);
    }

    /// Makes room for slabs up to this one.
    #[cold]
    fn grow(&mut self, slab: u32) {
        let needed = (slab as usize + 1) << SLAB_BITS;
        if self.counts.len() < needed {
            self.counts.resize(needed, 0);
        }
    }

    /// Whether nothing was counted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Forgets everything, keeping its memory.
    pub fn clear(&mut self) {
        for slab in slabs(self.used) {
            self.counts[range(slab)].fill(0);
        }
        self.used = 0;
    }

    /// Adds what another has.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, u32::saturating_add);
    }

    /// Takes away what another has, all of which is in this one.
    pub fn subtract(&mut self, part: &Self) {
        self.combine(part, u32::saturating_sub);
    }

    fn combine(&mut self, other: &Self, combined: impl Fn(u32, u32) -> u32) {
        if other.is_empty() {
            return;
        }
        self.grow(other.used.ilog2());
        self.used |= other.used;
        for slab in slabs(other.used) {
            let theirs = &other.counts[range(slab)];
            for (mine, theirs) in self.counts[range(slab)].iter_mut().zip(theirs) {
                *mine = combined(*mine, *theirs);
            }
        }
    }

    /// Adds them to a histogram with 64-bit counts.
    pub fn add_to(&self, latencies: &mut Latencies) {
        for slab in slabs(self.used) {
            let counted = self.counts[range(slab)].iter().zip(0_u64..);
            for (&count, within) in counted.filter(|(count, _)| **count > 0) {
                latencies
                    .record_n(value(slab, within), count.into())
                    .expect("a histogram that grows takes any value");
            }
        }
    }

    /// As a histogram with 64-bit counts.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        let mut latencies = new_latencies();
        self.add_to(&mut latencies);
        latencies
    }
}

/// The slabs of these bits.
fn slabs(used: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |slab| used >> slab & 1 == 1)
}

/// Where the counts of a slab are.
const fn range(slab: u32) -> std::ops::Range<usize> {
    let start = (slab as usize) << SLAB_BITS;
    start..start + SLAB
}

/// The least value of a place.
const fn value(slab: u32, within: u64) -> u64 {
    match slab {
        0 => within,
        _ => (SLAB as u64 + within) << (slab - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around every power of two, and some between.
    fn values() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            let between = power.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (63 - bit);
            [power - 1, power, power + 1, between, power | power >> 3]
        })
    }

    fn of(values: impl Iterator<Item = u64>) -> (Counts, Latencies) {
        let (mut counts, mut latencies) = (Counts::default(), new_latencies());
        for (value, n) in values.zip(1..) {
            counts.record_n(value, n);
            latencies.record_n(value, n.into()).unwrap();
        }
        (counts, latencies)
    }

    #[test]
    fn counts_are_in_the_places_of_an_hdr_histogram() {
        let (counts, latencies) = of(values());
        assert_eq!(counts.latencies(), latencies);
        // Each on its own, too: none may lend another its place.
        for value in values() {
            let (counts, latencies) = of([value].into_iter());
            assert_eq!(counts.latencies(), latencies, "{value}");
        }
    }

    #[test]
    fn what_was_added_and_taken_away_again_is_gone() {
        let (some, some_latencies) = of(values().step_by(3));
        let (others, other_latencies) = of(values().skip(7).step_by(2));
        let mut all = some.clone();
        all.add(&others);
        let mut sum = some_latencies.clone();
        sum.add(&other_latencies).unwrap();
        assert_eq!(all.latencies(), sum);
        all.subtract(&others);
        assert_eq!(all.latencies(), some_latencies);
    }

    #[test]
    fn cleared_ones_keep_their_memory_and_nothing_else() {
        let (mut counts, _) = of(values());
        let room = counts.counts.len();
        counts.clear();
        assert!(counts.is_empty() && counts.counts.iter().all(|count| *count == 0));
        assert_eq!(counts.latencies(), new_latencies());
        assert_eq!(counts.counts.len(), room);
        assert_eq!(Counts::with_room(u64::MAX), counts);
        assert!(!of([0].into_iter()).0.is_empty());
    }

    #[test]
    fn a_count_that_is_full_stays_full() {
        let mut counts = Counts::default();
        counts.record_n(5, u32::MAX);
        counts.record(5);
        assert_eq!(counts.latencies().len(), u64::from(u32::MAX));
    }
}
