//! Interval histograms as bytes: a long study has a quarter of a million of them.
//!
//! Every count is kept, and values keep two significant digits (HdrHistogram's slots of two digits:
//! within 1 %). Counts of neighbouring slots differ only by chance, and their level says by how
//! much. So each count is stored as its difference from a running mean of earlier counts, in a Rice
//! code whose order follows those differences. A run of empty slots is stored as its length. The
//! result is within a quarter of the theoretical minimum, and half the size of HdrHistogram's V2
//! encoding compressed by Zstandard (`tests/size.rs` measures a whole study).
//!
//! The bytes: [`FORM`]; then in gamma code the number of slots from the first to the last that is
//! not empty, plus one; the first of them, plus one; then their counts.

use crate::{
    Damaged, Latencies,
    bits::{BitReader, BitWriter},
    histogram,
};
use hdrhistogram::Histogram;

/// Significant digits of the histograms of intervals.
pub const DIGITS: u8 = 2;

/// The first byte.
const FORM: u8 = 1;

/// Slots for each doubling of values, at two digits.
const SLOTS_PER_OCTAVE: u64 = 128;

/// Slots of all 64-bit values.
const SLOTS: usize = 58 * SLOTS_PER_OCTAVE as usize;

/// An interval's histogram, packed: a long sweep holds a hundred thousand of them, in memory as on
/// disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed(Vec<u8>);

/// An empty histogram of two digits, to add unpacked ones to. With three digits, each value would
/// count as the lowest of its slot.
pub fn new_interval_latencies() -> Latencies {
    Histogram::new(DIGITS).expect("two digits are accepted")
}

impl Packed {
    /// Packs a histogram at two digits, with every count.
    pub fn pack(latencies: &Latencies) -> Self {
        let mut slots = Slots::default();
        for bucket in latencies.iter_recorded() {
            slots.add(slot_of(bucket.value_iterated_to()), bucket.count_at_value());
        }
        slots.pack()
    }

    /// Unpacks the histogram, at two digits.
    pub fn unpack(&self) -> Latencies {
        self.slots().latencies()
    }

    /// All of these in one unpacked histogram of two digits, which is faster than adding unpacked
    /// ones.
    pub fn unpack_sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Latencies {
        let mut all = all.into_iter();
        let mut slots = all.next().map_or_else(Slots::default, Self::slots);
        all.for_each(|packed| slots.add_all(&packed.slots()));
        slots.latencies()
    }

    /// Both histograms in one, with every count.
    pub fn sum(&self, other: &Self) -> Self {
        self.sum_with([other])
    }

    /// This histogram and all others in one, packed once, because packing takes longer than adding.
    pub(crate) fn sum_with<'a>(&self, others: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut slots = self.slots();
        for other in others {
            slots.add_all(&other.slots());
        }
        slots.pack()
    }

    /// The stored bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// From bytes that [`Packed::as_bytes`] returned.
    ///
    /// # Errors
    /// If the bytes are not a packed histogram.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        match Slots::unpack(bytes) {
            Some(_) => Ok(Self(bytes.to_vec())),
            None => Err(Damaged {
                what: "an interval histogram",
            }),
        }
    }

    fn slots(&self) -> Slots {
        Slots::unpack(&self.0).expect("bytes are checked where they come from")
    }
}

/// The slot of a value. Values below 256 have their own slot; above, each octave has 128.
const fn slot_of(value: u64) -> usize {
    let shift = (u64::BITS - 8).saturating_sub((value | 0xff).leading_zeros());
    (shift as u64 * SLOTS_PER_OCTAVE + (value >> shift)) as usize
}

/// The lowest value of a slot.
const fn value_of(slot: usize) -> u64 {
    let slot = slot as u64;
    let shift = (slot / SLOTS_PER_OCTAVE).saturating_sub(1);
    (slot - shift * SLOTS_PER_OCTAVE) << shift
}

/// Counts by slot.
#[derive(Debug, Default)]
struct Slots {
    first: usize,
    /// Neither the first nor the last is 0.
    counts: Vec<u64>,
}

impl Slots {
    /// Adds at least 1 to a slot.
    fn add(&mut self, slot: usize, count: u64) {
        if self.counts.is_empty() {
            self.first = slot;
        }
        if let Some(missing) = self.first.checked_sub(slot) {
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = slot;
        }
        let at = slot - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] = self.counts[at].saturating_add(count);
    }

    fn add_all(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            self.first = other.first;
        }
        let missing = self.first.saturating_sub(other.first);
        self.counts.splice(0..0, std::iter::repeat_n(0, missing));
        self.first -= missing;
        let from = other.first - self.first;
        let length = self.counts.len().max(from + other.counts.len());
        self.counts.resize(length, 0);
        for (sum, count) in self.counts[from..].iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
    }

    fn latencies(&self) -> Latencies {
        let mut latencies = new_interval_latencies();
        // From the highest, so that the histogram grows only once.
        for (slot, count) in self.iter().rev() {
            histogram::record(&mut latencies, value_of(slot), count);
        }
        latencies
    }

    /// Every slot that is not empty, with its count.
    fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> {
        let used = |(at, &count): (usize, &u64)| (count > 0).then_some((self.first + at, count));
        self.counts.iter().enumerate().filter_map(used)
    }

    fn pack(&self) -> Packed {
        let mut bits = BitWriter::after(vec![FORM]);
        bits.gamma(self.counts.len() as u64 + 1);
        bits.gamma(self.first as u64 + 1);
        let (mut model, mut empty) = (Model::default(), 0);
        for &count in &self.counts {
            if !model.expects_none() {
                let coded = model.fold(count);
                bits.rice(coded, model.order());
                model.learn(count, coded);
            } else if count == 0 {
                empty += 1;
                model.learn_none();
            } else {
                bits.gamma(empty + 1);
                bits.gamma(count);
                model.learn(count, count);
                empty = 0;
            }
        }
        Packed(bits.finish())
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(bytes.strip_prefix(&[FORM])?);
        let length = usize::try_from(bits.gamma()? - 1).ok()?;
        let first = usize::try_from(bits.gamma()? - 1).ok()?;
        if first.checked_add(length)? > SLOTS {
            return None;
        }
        let (mut model, mut counts) = (Model::default(), Vec::with_capacity(length));
        while counts.len() < length {
            let count = if model.expects_none() {
                let empty = usize::try_from(bits.gamma()? - 1).ok()?;
                if empty >= length - counts.len() {
                    return None;
                }
                counts.resize(counts.len() + empty, 0);
                model.learn_run_of_none(empty);
                let count = bits.gamma()?;
                model.learn(count, count);
                count
            } else {
                let coded = bits.rice(model.order())?;
                let count = model.unfold(coded)?;
                model.learn(count, coded);
                count
            };
            counts.push(count);
        }
        Some(Self { first, counts })
    }
}

/// The expected next count, given those so far. Encoder and decoder keep the same state.
#[derive(Debug, Default)]
struct Model {
    /// The running mean of counts, in 256ths.
    level: u64,
    /// The running mean of coded differences, in 256ths.
    spread: u64,
}

impl Model {
    const ONE: u64 = 256;
    /// Greater counts are replaced by this one, which is more than an interval can hold.
    const COUNT_MAX: u64 = 1 << 48;

    /// Whether the next slot is probably empty, so that runs are counted.
    const fn expects_none(&self) -> bool {
        self.level < Self::ONE / 4
    }

    const fn expected(&self) -> u64 {
        (self.level + Self::ONE / 2) / Self::ONE
    }

    /// The order of the Rice code of the next difference.
    const fn order(&self) -> u32 {
        let spread = self.spread / Self::ONE;
        if spread == 0 { 0 } else { spread.ilog2() }
    }

    /// A count as its difference from the expected one, with small differences first: 0, -1, 1, -2,
    /// 2, ... down to the count 0; after that only greater counts remain.
    const fn fold(&self, count: u64) -> u64 {
        let expected = self.expected();
        if count > 2 * expected {
            count
        } else if count < expected {
            2 * (expected - count) - 1
        } else {
            2 * (count - expected)
        }
    }

    /// Inverts [`Self::fold`]; `None` for a code that it never produces.
    const fn unfold(&self, coded: u64) -> Option<u64> {
        let expected = self.expected();
        if coded > 2 * expected {
            Some(coded)
        } else if coded % 2 == 1 {
            expected.checked_sub(coded / 2 + 1)
        } else {
            Some(expected + coded / 2)
        }
    }

    fn learn(&mut self, count: u64, coded: u64) {
        let (count, coded) = (count.min(Self::COUNT_MAX), coded.min(Self::COUNT_MAX));
        self.level = (11 * self.level + 5 * Self::ONE * count) / 16;
        self.spread = (7 * self.spread + Self::ONE * coded) / 8;
    }

    const fn learn_none(&mut self) {
        self.level = 11 * self.level / 16;
    }

    /// Calls [`Self::learn_none`] `count` times. After a few calls nothing changes.
    fn learn_run_of_none(&mut self, count: usize) {
        for _ in 0..count {
            if self.level == 0 {
                break;
            }
            self.learn_none();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new_latencies;

    /// Every slot with its count, of any histogram.
    fn recorded(latencies: &Latencies) -> Vec<(u64, u64)> {
        latencies
            .iter_recorded()
            .map(|b| (b.value_iterated_to(), b.count_at_value()))
            .collect()
    }

    fn comes_back(samples: impl IntoIterator<Item = (u64, u64)>) {
        let (mut exact, mut lowered) = (new_latencies(), new_interval_latencies());
        for (value, count) in samples {
            exact.record_n(value, count).unwrap();
            lowered.record_n(value, count).unwrap();
        }
        let packed = Packed::pack(&exact);
        assert_eq!(recorded(&packed.unpack()), recorded(&lowered));
        assert_eq!(Packed::from_bytes(packed.as_bytes()).unwrap(), packed);
        assert_eq!(
            Packed::pack(&packed.unpack()),
            packed,
            "packing again changes nothing"
        );
    }

    #[test]
    fn a_histogram_comes_back_with_two_digits_and_every_count() {
        comes_back([]);
        comes_back([(0, 1)]);
        comes_back([(1, 1), (u64::MAX, 1)]);
        comes_back([(250_000, 3), (251_000, 4), (90_000_000_000, 1)]);
        comes_back((0..64).map(|bit| (1 << bit, 1 << (bit % 50))));
        comes_back((0..3000).map(|i| (i * i * 17, 1 + i % 400)));
        comes_back((100..600).map(|i| (i, if i % 100 == 0 { 1 << 40 } else { i % 3 })));
    }

    #[test]
    fn slots_are_those_of_hdr_histogram() {
        let histogram = new_interval_latencies();
        for value in (0..64).flat_map(|bit| [1_u64 << bit, (3 << bit >> 1) + 1, (1 << bit) - 1]) {
            let lowest = value_of(slot_of(value));
            assert_eq!(lowest, histogram.lowest_equivalent(value), "{value}");
            assert!(slot_of(value) < SLOTS);
        }
    }

    #[test]
    fn a_sum_has_the_counts_of_both() {
        let packed = |samples: &[(u64, u64)]| {
            let mut latencies = new_latencies();
            samples
                .iter()
                .for_each(|&(v, n)| latencies.record_n(v, n).unwrap());
            Packed::pack(&latencies)
        };
        let (a, b) = (
            packed(&[(9_000, 2), (70_000, 5)]),
            packed(&[(300, 1), (70_010, 3), (2_000_000, 4)]),
        );
        let both = packed(&[(9_000, 2), (70_000, 8), (300, 1), (2_000_000, 4)]);
        assert_eq!(a.sum(&b), both);
        assert_eq!(b.sum(&a), both);
        assert_eq!(
            recorded(&Packed::unpack_sum([&b, &a])),
            recorded(&both.unpack())
        );
        assert_eq!(Packed::unpack_sum([]).len(), 0);
        assert_eq!(a.sum(&packed(&[])), a);
    }

    #[test]
    fn counts_beyond_every_number_add_up_to_the_greatest() {
        let packed = |value| {
            let mut latencies = new_latencies();
            latencies.record_n(value, u64::MAX).unwrap();
            Packed::pack(&latencies)
        };
        let sum = packed(9_000).sum(&packed(70_000)).sum(&packed(9_000));
        assert_eq!(sum.unpack().len(), u64::MAX);
        assert_eq!(sum.unpack().count_at(9_000), u64::MAX);
        assert_eq!(Packed::from_bytes(sum.as_bytes()), Ok(sum));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let mut latencies = new_latencies();
        (1..500).for_each(|i| latencies.record(i * 1000).unwrap());
        let bytes = Packed::pack(&latencies).0;
        assert!(Packed::from_bytes(&bytes[..bytes.len() / 2]).is_err());
        assert!(Packed::from_bytes(&bytes[1..]).is_err());
        assert!(Packed::from_bytes(&[]).is_err());
        for seed in 0..2000_u32 {
            // Whatever the bytes are, they are refused or unpacked, never a panic.
            let mut broken = bytes.clone();
            let at = seed as usize * 7 % broken.len();
            broken[at] ^= (seed % 255 + 1) as u8;
            if let Ok(packed) = Packed::from_bytes(&broken) {
                let _ = packed.unpack().len();
            }
        }
    }
}
