//! Latencies of one interval, counted in the slots of an `HdrHistogram` of three digits.
//!
//! Every client has its own counts, and the collector reads all of them once a second. The counts
//! of latencies up to a second take 84 KB. Reading those of hundreds of clients as a whole would
//! flush the processor's caches. So counts are in bucket groups, one per power of two. A client
//! fills only a few, and only those are read.

use tailmark_model::{Latencies, histogram, new_latencies};

/// Counts in a bucket group. The first group has one count for each value below 1,024. Group `s`
/// has the values from 2^(9 + s) on, 2^(s - 1) of them per count: at most one part in 1,024.
const GROUP: usize = 1 << GROUP_BITS;
const GROUP_BITS: u32 = 10;

/// How often each latency was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    counts: Vec<u32>,
    /// The bucket groups in use, one bit each.
    used: u64,
}

impl LatencyCounts {
    /// With memory for latencies up to this one, nanoseconds.
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

    /// Counts `n` requests of a latency, nanoseconds.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u32) {
        let group = (value | (GROUP as u64 - 1)).ilog2() - (GROUP_BITS - 1);
        let within = (value >> group.saturating_sub(1)) as usize & (GROUP - 1);
        let place = ((group as usize) << GROUP_BITS) + within;
        self.used |= 1 << group;
        if place >= self.counts.len() {
            self.grow(group);
        }
        let count = &mut self.counts[place];
        *count = count.saturating_add(n);
    }

    /// Makes room for bucket groups up to this one.
    #[cold]
    fn grow(&mut self, group: u32) {
        let needed = (group as usize + 1) << GROUP_BITS;
        if self.counts.len() < needed {
            self.counts.resize(needed, 0);
        }
    }

    /// Whether nothing was counted.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        for group in groups(self.used) {
            self.counts[range(group)].fill(0);
        }
        self.used = 0;
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, u32::saturating_add);
    }

    /// Subtracts other counts, all of which are included in these.
    pub fn subtract(&mut self, part: &Self) {
        self.combine(part, u32::saturating_sub);
    }

    fn combine(&mut self, other: &Self, combined: impl Fn(u32, u32) -> u32) {
        if other.is_empty() {
            return;
        }
        self.grow(other.used.ilog2());
        self.used |= other.used;
        for group in groups(other.used) {
            let others = &other.counts[range(group)];
            for (mine, theirs) in self.counts[range(group)].iter_mut().zip(others) {
                *mine = combined(*mine, *theirs);
            }
        }
    }

    /// Adds these counts to a histogram with 64-bit counts.
    pub fn add_to(&self, latencies: &mut Latencies) {
        for group in groups(self.used) {
            let counted = self.counts[range(group)].iter().zip(0_u64..);
            for (&count, within) in counted.filter(|(count, _)| **count > 0) {
                histogram::record(latencies, value(group, within), count.into());
            }
        }
    }

    /// As a histogram with 64-bit counts.
    pub fn latencies(&self) -> Latencies {
        let mut latencies = new_latencies();
        self.add_to(&mut latencies);
        latencies
    }
}

/// The bucket groups of these bits.
fn groups(used: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |group| used >> group & 1 == 1)
}

/// Where the counts of a bucket group are.
const fn range(group: u32) -> std::ops::Range<usize> {
    let start = (group as usize) << GROUP_BITS;
    start..start + GROUP
}

/// The lowest value of a slot.
const fn value(group: u32, within: u64) -> u64 {
    match group {
        0 => within,
        _ => (GROUP as u64 + within) << (group - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around every power of two, and some between.
    fn values() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            let between = power.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (63 - bit);
            [power - 1, power, power + 1, between, power | power >> 3]
        })
    }

    fn recorded(values: impl Iterator<Item = u64>) -> (LatencyCounts, Latencies) {
        let (mut counts, mut latencies) = (LatencyCounts::default(), new_latencies());
        for (value, n) in values.zip(1..) {
            counts.record_n(value, n);
            latencies.record_n(value, n.into()).unwrap();
        }
        (counts, latencies)
    }

    #[test]
    fn counts_are_in_the_places_of_an_hdr_histogram() {
        let (all, all_latencies) = recorded(values());
        assert_eq!(all.latencies(), all_latencies);
        // Each one alone as well, so that none hides the error of another.
        for value in values() {
            let (counts, latencies) = recorded([value].into_iter());
            assert_eq!(counts.latencies(), latencies, "{value}");
        }
    }

    #[test]
    fn what_was_added_and_taken_away_again_is_gone() {
        let (some, some_latencies) = recorded(values().step_by(3));
        let (others, other_latencies) = recorded(values().skip(7).step_by(2));
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
        let (mut counts, _) = recorded(values());
        let room = counts.counts.len();
        counts.clear();
        assert!(counts.is_empty() && counts.counts.iter().all(|count| *count == 0));
        assert_eq!(counts.latencies(), new_latencies());
        assert_eq!(counts.counts.len(), room);
        assert_eq!(LatencyCounts::with_room(u64::MAX), counts);
        assert!(!recorded([0].into_iter()).0.is_empty());
    }

    #[test]
    fn a_count_that_is_full_stays_full() {
        let mut counts = LatencyCounts::default();
        counts.record_n(5, u32::MAX);
        counts.record(5);
        assert_eq!(counts.latencies().len(), u64::from(u32::MAX));
    }
}
