//! Values other than random bytes of one length.

use super::{checked, printable};
use crate::{
    LengthChoice, ScanLength, ValueBytes,
    distribution::Lengths,
    random::Random,
    record_format::{FieldLengths, LengthHistogram, RecordFormat},
};
use std::sync::Arc;
use tailmark_driver::Values;

/// Makes one client's values of another format.
#[derive(Debug, Clone)]
pub struct Formatted {
    random: Random,
    draw: DrawLength,
    bytes_are: ValueBytes,
    names: Box<[String]>,
    lengths: Vec<u32>,
    /// The values in sequence, with room for one more block.
    bytes: Vec<u8>,
}

/// How lengths are chosen.
#[derive(Debug, Clone)]
enum DrawLength {
    Constant(u32),
    Range(Lengths),
    Histogram(Arc<LengthHistogram>),
}

impl Formatted {
    /// `None` if the format needs only random bytes of one length.
    pub fn new(
        format: &RecordFormat,
        names: &[String],
        longest: u32,
        random: Random,
    ) -> Option<Self> {
        if format.bytes == ValueBytes::Random && format.lengths == FieldLengths::Constant {
            return None;
        }
        let range = |choice| {
            let min = format.lengths.min(longest);
            DrawLength::Range(Lengths::new(ScanLength {
                min,
                max: longest,
                choice,
            }))
        };
        let draw = match &format.lengths {
            FieldLengths::Constant => DrawLength::Constant(longest),
            FieldLengths::Uniform { .. } => range(LengthChoice::Uniform),
            FieldLengths::Zipfian { .. } => range(LengthChoice::Zipfian),
            FieldLengths::Histogram(histogram) => DrawLength::Histogram(Arc::clone(histogram)),
        };
        Some(Self {
            // Lengths are drawn by a generator of their own: the bytes do not change them.
            random: random.fork(),
            draw,
            bytes_are: format.bytes,
            names: names.into(),
            lengths: Vec::with_capacity(names.len()),
            bytes: vec![0; names.len() * longest as usize + printable::BLOCK],
        })
    }

    /// Makes values of `count` consecutive fields from `first`. `fill` makes random bytes.
    pub fn make(&mut self, first: u32, count: usize, key: &[u8], fill: &mut dyn FnMut(&mut [u8])) {
        let Self {
            random,
            draw,
            bytes_are,
            names,
            lengths,
            bytes,
        } = self;
        let names = &names[first as usize..first as usize + count];
        lengths.clear();
        lengths.extend(names.iter().map(|_| draw.draw(random)));
        match bytes_are {
            ValueBytes::Printable => printable::fill(random, lengths, bytes),
            ValueBytes::Random => {
                let mut rest = &mut bytes[..];
                for length in &*lengths {
                    let value;
                    (value, rest) = rest.split_at_mut(*length as usize);
                    fill(value);
                }
            }
            ValueBytes::Checked => {
                bytes.clear();
                for (name, length) in names.iter().zip(&*lengths) {
                    checked::append(key, name.as_bytes(), *length as usize, bytes);
                }
            }
        }
    }

    /// The last values, as those of fields from `first`.
    pub fn values(&self, first: u32) -> Values<'_> {
        Values {
            first,
            lengths: &self.lengths,
            bytes: &self.bytes[..self.lengths.iter().map(|l| *l as usize).sum()],
        }
    }
}

impl DrawLength {
    fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Self::Constant(length) => *length,
            Self::Range(lengths) => lengths.draw(random),
            Self::Histogram(histogram) => histogram.length(random.below(histogram.total())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn formatted(format: &RecordFormat, longest: u32) -> Formatted {
        let names: Vec<_> = (0..3).map(|i| format!("field{i}")).collect();
        let random = Random::new(1, 0, Purpose::Values);
        Formatted::new(format, &names, longest, random).expect("another format")
    }

    fn counts(lengths: FieldLengths, longest: u32) -> Vec<u32> {
        let format = RecordFormat {
            lengths,
            bytes: ValueBytes::Printable,
            ..RecordFormat::default()
        };
        let mut formatted = formatted(&format, longest);
        let mut counts = vec![0; longest as usize + 1];
        for _ in 0..100_000 {
            formatted.make(0, 3, b"user1", &mut |_| {});
            let values = formatted.values(0);
            assert_eq!(
                values.lengths.iter().sum::<u32>() as usize,
                values.bytes.len()
            );
            values
                .lengths
                .iter()
                .for_each(|&length| counts[length as usize] += 1);
        }
        counts
    }

    #[test]
    fn uniform_lengths_reach_both_ends_alike() {
        let counts = counts(FieldLengths::Uniform { min: 2 }, 11);
        assert_eq!(counts[..2], [0, 0]);
        assert!(
            counts[2..].iter().all(|c| c.abs_diff(30_000) < 900),
            "{counts:?}"
        );
    }

    #[test]
    fn the_least_zipfian_length_is_the_most_frequent() {
        let counts = counts(FieldLengths::Zipfian { min: 1 }, 3);
        let sum: f64 = (1..=3).map(|i| f64::from(i).powf(-0.99)).sum();
        for (length, count) in (1..).zip(&counts[1..3]) {
            let expected = 300_000.0 * f64::from(length).powf(-0.99) / sum;
            assert!((f64::from(*count) - expected).abs() < 1_500.0, "{counts:?}");
        }
    }

    #[test]
    fn lengths_of_a_histogram_have_its_shares() {
        let histogram = LengthHistogram::parse("BlockSize\t2\n0\t100\n1\t300\n2\t600").unwrap();
        let counts = counts(FieldLengths::Histogram(Arc::new(histogram)), 4);
        // 101 of 1,000 draws belong to the first bucket, all others to the edge of the other two.
        assert!(
            counts[2].abs_diff(30_300) < 900 && counts[4].abs_diff(269_700) < 900,
            "{counts:?}"
        );
    }

    #[test]
    fn checked_values_are_those_of_their_key_and_field() {
        let format = RecordFormat {
            bytes: ValueBytes::Checked,
            ..RecordFormat::default()
        };
        let mut formatted = formatted(&format, 20);
        formatted.make(1, 2, b"user7", &mut |_| {});
        let values: Vec<_> = formatted.values(1).iter().collect();
        assert!(values[0].0 == 1 && values[0].1.starts_with(b"user7:field1:"));
        assert!(values[1].0 == 2 && values[1].1.starts_with(b"user7:field2:"));
    }

    #[test]
    fn random_values_of_one_length_take_the_short_way() {
        let names = ["field0".to_owned()];
        let random = Random::new(1, 0, Purpose::Values);
        assert!(Formatted::new(&RecordFormat::default(), &names, 10, random).is_none());
    }
}
