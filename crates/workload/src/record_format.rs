//! The format of a data set's records: the names of their keys, and the lengths and bytes of their
//! values.

use crate::{Error, key::KeyFormat};
use std::sync::Arc;

/// The format of a data set's records. The default has YCSB's names, fields of one length, and
/// random bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFormat {
    /// The names of the keys.
    pub keys: KeyFormat,
    /// The lengths of the values; the longest is the data set's field length.
    pub lengths: FieldLengths,
    /// The bytes of the values.
    pub bytes: ValueBytes,
}

/// The length of a field's value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FieldLengths {
    /// All have the data set's field length.
    #[default]
    Constant,
    /// From `min` to the field length, inclusive, with equal probability.
    Uniform {
        /// The minimum length in bytes.
        min: u32,
    },
    /// From `min` to the field length, Zipfian with exponent 0.99: the minimum length is the most
    /// frequent.
    Zipfian {
        /// The minimum length in bytes.
        min: u32,
    },
    /// According to a histogram. The field length is at least its longest.
    Histogram(Arc<LengthHistogram>),
}

/// The content of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueBytes {
    /// Random bytes, of which a share can be compressed according to the stream's configuration.
    #[default]
    Random,
    /// The printable bytes of YCSB's generator: at most 5.33 random bits each, so that an entropy
    /// coder saves about a third.
    Printable,
    /// YCSB's values that can be verified on reading: a function of key and field.
    Checked,
}

/// How often each length occurs: YCSB's file of field lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LengthHistogram {
    /// Bytes per bucket, at least 1.
    block: u32,
    /// The count of each bucket.
    buckets: Vec<u64>,
}

impl LengthHistogram {
    /// Parses a histogram: `BlockSize`, a tab and a number of bytes; then a line for each bucket
    /// from 0 up with its number, a tab and its count.
    ///
    /// # Errors
    /// Names the first line that is none of these.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |line: usize, accepted| Error::BadHistogram {
            line: line + 1,
            accepted,
        };
        let mut lines = text.lines().enumerate();
        let pair = |line: &str| {
            let (name, number) = line.trim_end().split_once('\t')?;
            Some((name.to_owned(), number.trim().parse::<u64>().ok()?))
        };
        let head = lines.next().and_then(|(_, line)| pair(line));
        let block = head
            .filter(|(name, _)| name == "BlockSize")
            .and_then(|(_, bytes)| u32::try_from(bytes).ok().filter(|&bytes| bytes > 0))
            .ok_or_else(|| bad(0, "`BlockSize`, a tab and a number of bytes"))?;
        let mut buckets = Vec::new();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let count = pair(line)
                .filter(|(name, _)| *name == buckets.len().to_string())
                .map(|(_, count)| count)
                .ok_or_else(|| bad(at, "the next bucket's number, a tab and its count"))?;
            buckets.push(count);
        }
        if buckets.iter().sum::<u64>() == 0 {
            return Err(bad(1, "a bucket with a count above 0"));
        }
        Ok(Self { block, buckets })
    }

    /// The longest possible length, bytes.
    pub fn longest(&self) -> u32 {
        let longest = (self.buckets.len() as u32).saturating_sub(1).max(1);
        longest.saturating_mul(self.block)
    }

    /// The sum of all counts.
    pub(crate) fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The length for the draw `number`, below the total.
    ///
    /// As in YCSB's `HistogramGenerator`, a bucket stands for its upper edge, except the last one,
    /// which stands for its lower edge. A draw that exactly uses up the counts so far still belongs
    /// to the bucket.
    pub(crate) fn length(&self, number: u64) -> u32 {
        let mut left = number;
        let last = self.buckets.len() - 1;
        for (bucket, count) in self.buckets[..last].iter().enumerate() {
            match left.checked_sub(*count) {
                Some(rest) if rest > 0 => left = rest,
                _ => return (bucket as u32 + 1).saturating_mul(self.block),
            }
        }
        (last as u32).saturating_mul(self.block)
    }
}

impl FieldLengths {
    /// The shortest length in bytes.
    pub(crate) fn min(&self, field_length: u32) -> u32 {
        match self {
            Self::Constant => field_length,
            Self::Uniform { min } | Self::Zipfian { min } => (*min).min(field_length),
            Self::Histogram(histogram) => histogram.block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_stands_for_its_upper_edge_and_the_last_for_its_lower() {
        let histogram = LengthHistogram::parse("BlockSize\t10\n0\t2\n1\t3\n2\t5\n").unwrap();
        let lengths: Vec<_> = (0..10).map(|n| histogram.length(n)).collect();
        assert_eq!(lengths, [10, 10, 10, 20, 20, 20, 20, 20, 20, 20]);
        assert_eq!((histogram.total(), histogram.longest()), (10, 20));
    }

    #[test]
    fn a_file_that_is_no_histogram_is_refused_with_its_line() {
        for (text, line) in [
            ("", "line 1"),
            ("Blocksize\t10", "line 1"),
            ("BlockSize\t0", "line 1"),
            ("BlockSize\t10\n0\t1\n2\t1", "line 3"),
            ("BlockSize\t10\n0 1", "line 2"),
            ("BlockSize\t10\n0\t0", "line 2"),
        ] {
            let error = LengthHistogram::parse(text).expect_err(text).to_string();
            assert!(error.contains(line), "{text:?}: {error}");
        }
    }
}
