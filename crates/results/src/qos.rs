//! Quality of service as the studies define it: of every million requests the hundred slowest are
//! looked at, and the fastest of these is 99.99 %. Over a whole run it is a quantile like any other;
//! here it is block by block, so that a bad quarter of an hour does not hide in the day.
//!
//! A block is the fewest consecutive intervals that hold at least a million samples. The worst, the
//! median and the best block are worked out when a point is committed and kept with it, so that no
//! interval has to be unpacked to state them. Intervals have two significant digits: values are
//! within 1 %. Requests that failed are in the block of the interval in which they did, and rank
//! above every success of it; operations that were never done are in no block.

use crate::{
    Interval, Kind, Latencies, Packed, Phase, QUANTILES, Quantile, Stated, TimeBasis,
    packed::new_interval_latencies, quantile,
};

use serde::{Deserialize, Serialize};

/// A block of a run holds at least so many samples.
pub const BLOCK_SAMPLES: u64 = 1_000_000;

/// One quantile of one kind of request over the blocks of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockQos {
    /// Of which requests.
    pub kind: Kind,
    /// From which instant they are timed.
    pub time: TimeBasis,
    /// Which quantile.
    pub quantile: Quantile,
    /// How many blocks there were. What is left at the end, too little for one, is in none.
    pub blocks: u64,
    /// Samples of the block that has the fewest, at least [`BLOCK_SAMPLES`].
    pub samples_min: u64,
    /// The highest value of a block.
    pub worst: BlockValue,
    /// The value that is in the middle, the higher one of two.
    pub median: BlockValue,
    /// The lowest value.
    pub best: BlockValue,
}

/// The value of one block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockValue {
    /// Nanoseconds.
    pub ns: u64,
    /// Whether it is a lower bound: as many requests of the block failed as lie beyond it.
    #[serde(default)]
    pub is_at_least: bool,
    /// When the block began, seconds since the start of the phase.
    pub start_s: f64,
}

impl BlockValue {
    /// The value, nanoseconds.
    #[must_use]
    pub const fn stated(self) -> Stated {
        if self.is_at_least {
            Stated::at_least(self.ns as f64)
        } else {
            Stated::exact(self.ns as f64)
        }
    }

    /// By which blocks are put in order: a lower bound is above every value that is known.
    #[must_use]
    pub const fn rank(self) -> (bool, u64) {
        (self.is_at_least, self.ns)
    }
}

impl BlockQos {
    /// Whether enough samples are behind the value of each block to draw it as certain.
    #[must_use]
    pub fn is_solid(&self) -> bool {
        let beyond = quantile::samples_beyond(self.samples_min, self.quantile.value);
        beyond >= quantile::SAMPLES_SOLID
    }
}

/// How many requests a second are at or above the value at a quality, of so many a second.
#[must_use]
pub fn requests_beyond(per_second: f64, quality: f64) -> f64 {
    per_second * (1.0 - quality)
}

/// Every reported quantile of every kind over the blocks of a phase; nothing of a kind that has no
/// block. Where response time is service time it is given as such alone.
#[must_use]
pub fn block_qos(intervals: &[Interval]) -> Vec<BlockQos> {
    let mut kinds: Vec<Kind> = intervals
        .iter()
        .flat_map(|interval| interval.kinds.keys().copied())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let all = kinds.into_iter().flat_map(|kind| {
        let has_response = |interval: &Interval| {
            let measured = interval.kinds.get(&kind);
            measured.is_some_and(|measured| measured.response.is_some())
        };
        let times: &[TimeBasis] = match intervals.iter().any(has_response) {
            true => &[TimeBasis::Service, TimeBasis::Response],
            false => &[TimeBasis::Service],
        };
        times
            .iter()
            .flat_map(move |&time| of(intervals, kind, time))
    });
    all.collect()
}

/// The quantiles of one kind.
fn of(intervals: &[Interval], kind: Kind, time: TimeBasis) -> Vec<BlockQos> {
    let blocks = blocks(intervals, |interval| {
        let measured = interval.kinds.get(&kind)?;
        let latencies = match (time, &measured.response) {
            (TimeBasis::Response, Some(response)) => response,
            _ => &measured.service,
        };
        Some((latencies, measured.errors))
    });
    let Some(samples_min) = blocks.iter().map(|block| block.samples).min() else {
        return Vec::new();
    };
    let over_blocks = |(index, &quantile): (usize, &Quantile)| {
        let value = |block: &SampleBlock| BlockValue {
            ns: block.values[index].0,
            is_at_least: block.values[index].1,
            start_s: block.start_s,
        };
        let mut values: Vec<BlockValue> = blocks.iter().map(value).collect();
        values.sort_by_key(|value| value.rank());
        BlockQos {
            kind,
            time,
            quantile,
            blocks: values.len() as u64,
            samples_min,
            worst: values[values.len() - 1],
            median: values[values.len() / 2],
            best: values[0],
        }
    };
    QUANTILES.iter().enumerate().map(over_blocks).collect()
}

/// One block of a run.
#[derive(Debug, Clone, PartialEq)]
struct SampleBlock {
    start_s: f64,
    samples: u64,
    /// Of each of [`QUANTILES`], nanoseconds, and whether that is a lower bound.
    values: [(u64, bool); QUANTILES.len()],
}

/// The blocks of a phase; `pick` names the histogram of an interval, and how many failed beside it.
fn blocks<'a>(
    intervals: &'a [Interval],
    pick: impl Fn(&'a Interval) -> Option<(&'a Packed, u64)>,
) -> Vec<SampleBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<(f64, Latencies, u64)> = None;
    for interval in intervals {
        let (start_s, samples, failed) =
            open.get_or_insert_with(|| (interval.start_s, new_interval_latencies(), 0));
        if let Some((packed, errors)) = pick(interval) {
            samples
                .add(packed.unpack())
                .expect("a histogram that grows takes any other");
            *failed = errors.saturating_add(*failed);
        }
        if samples.len().saturating_add(*failed) >= BLOCK_SAMPLES {
            blocks.push(SampleBlock::new(*start_s, samples, *failed));
            open = None;
        }
    }
    blocks
}

impl SampleBlock {
    fn new(start_s: f64, done: &Latencies, failed: u64) -> Self {
        let count = done.len().saturating_add(failed);
        let value = |quantile: Quantile| {
            let k = quantile::rank(count, quantile.value);
            match k.checked_sub(failed).filter(|k| *k > 0) {
                Some(k) => (quantile::kth_highest(done, k), false),
                None => (quantile::max(done).unwrap_or(0), true),
            }
        };
        Self {
            start_s,
            samples: count,
            values: QUANTILES.map(value),
        }
    }
}

/// A quantile of one kind of request: over the whole run, and block by block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Qos<'a> {
    /// Which quantile.
    pub quantile: Quantile,
    /// Over the whole run, nanoseconds; none with too few samples beyond it.
    pub run: Option<Stated>,
    /// Whether enough samples are behind that to draw it as certain.
    pub is_solid: bool,
    /// Block by block; none where the run has no block.
    pub blocks: Option<&'a BlockQos>,
}

/// The quantiles of a quality of service, rising: those that are reported from 99 % on, and one more
/// nine.
pub fn qualities() -> impl Iterator<Item = Quantile> {
    let reported = QUANTILES.into_iter().filter(|q| q.value >= 0.99);
    reported.chain([quantile::SIX_NINES])
}

impl Phase {
    /// The quality of service of one kind of request; nothing of a kind that was not asked for.
    #[must_use]
    pub fn qos(&self, kind: Kind, time: TimeBasis) -> Vec<Qos<'_>> {
        let Some(result) = self.kinds.get(&kind) else {
            return Vec::new();
        };
        let known = time.of(result);
        // Where no response time was kept, it is service time.
        let has_own = self
            .block_qos
            .iter()
            .any(|b| (b.kind, b.time) == (kind, time));
        let kept = if has_own { time } else { TimeBasis::Service };
        let of = |quantile: Quantile| Qos {
            quantile,
            run: known.quantile(quantile),
            is_solid: known.is_solid(quantile),
            blocks: self
                .block_qos
                .iter()
                .find(|b| (b.kind, b.time, b.quantile) == (kind, kept, quantile)),
        };
        qualities().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntervalKind, KindResult, new_latencies};
    use std::collections::BTreeMap;

    fn latencies(samples: &[(u64, u64)]) -> Latencies {
        let mut latencies = new_latencies();
        for &(value, count) in samples {
            latencies.record_n(value, count).unwrap();
        }
        latencies
    }

    fn interval(second: u32, samples: &[(u64, u64)]) -> Interval {
        let service = latencies(samples);
        let kind = IntervalKind {
            count: service.len(),
            errors: 0,
            service: Packed::pack(&service),
            response: None,
        };
        Interval {
            start_s: second.into(),
            length_s: 1.0,
            operations: service.len(),
            failed: 0,
            kinds: BTreeMap::from([(Kind::Read, kind)]),
        }
    }

    fn of<'a>(found: &'a [BlockQos], name: &str) -> &'a BlockQos {
        let found = found.iter().find(|block| block.quantile.name == name);
        found.unwrap()
    }

    #[test]
    fn a_block_is_the_fewest_intervals_that_hold_a_million() {
        let intervals = [
            interval(0, &[(100_000, 400_000)]),
            interval(1, &[(100_000, 599_999)]),
            interval(2, &[(200_000, 400_000)]),
            interval(3, &[(150_000, 1_000_000)]),
            interval(4, &[(100_000, 999_999)]),
        ];
        let found = block_qos(&intervals);
        let four_nines = of(&found, "p99.99");
        assert_eq!((four_nines.blocks, four_nines.samples_min), (2, 1_000_000));
        let value = |ns, start_s| BlockValue {
            ns,
            is_at_least: false,
            start_s,
        };
        // At two digits 200,000 is in the place that ends at 200,703, 150,000 in that up to 150,527.
        assert_eq!(four_nines.worst, value(200_703, 0.0));
        assert_eq!(four_nines.median, value(200_703, 0.0));
        assert_eq!(four_nines.best, value(150_527, 3.0));
        assert_eq!(of(&found, "p50").worst, value(150_527, 3.0));
        assert_eq!(found.len(), QUANTILES.len());
    }

    #[test]
    fn the_hundred_slowest_of_a_million_are_four_nines_of_their_block_alone() {
        let slow =
            |second, slow: u64| interval(second, &[(100_000, 1_000_000 - slow), (9_000_000, slow)]);
        let found = block_qos(&[slow(0, 99), slow(1, 100), slow(2, 0)]);
        let four_nines = of(&found, "p99.99");
        assert_eq!(four_nines.worst.start_s, 1.0);
        assert!((8_900_000..9_100_000).contains(&four_nines.worst.ns));
        assert!(four_nines.median.ns < 101_000 && four_nines.best.ns < 101_000);
        assert!(four_nines.is_solid());
        // Ten samples are beyond five nines of each block: a number, but no certain one.
        assert!(!of(&found, "p99.999").is_solid());
    }

    #[test]
    fn failures_of_a_block_are_its_slowest_requests() {
        let failing = |second, failed| {
            let mut interval = interval(second, &[(100_000, 1_000_000 - failed)]);
            interval.kinds.get_mut(&Kind::Read).unwrap().errors = failed;
            interval
        };
        let found = block_qos(&[failing(0, 99), failing(1, 100), failing(2, 0)]);
        let four_nines = of(&found, "p99.99");
        assert_eq!((four_nines.blocks, four_nines.samples_min), (3, 1_000_000));
        assert_eq!(four_nines.worst.start_s, 1.0);
        let is_at_least = [four_nines.worst, four_nines.median].map(|value| value.is_at_least);
        assert_eq!(is_at_least, [true, false]);
        assert!(of(&found, "p99.999").median.is_at_least);
        assert!(!of(&found, "p99.9").worst.is_at_least);
    }

    #[test]
    fn a_run_of_less_than_a_million_has_no_block_and_still_a_quality() {
        let samples = [(100_000, 999_000), (5_000_000, 999)];
        let intervals = vec![interval(0, &samples)];
        assert_eq!(block_qos(&intervals), []);
        let read = KindResult {
            count: 999_999,
            service: latencies(&samples),
            ..KindResult::default()
        };
        let phase = Phase {
            kinds: BTreeMap::from([(Kind::Read, read)]),
            block_qos: block_qos(&intervals),
            intervals,
            ..Phase::default()
        };
        let qos = phase.qos(Kind::Read, TimeBasis::Response);
        let said: Vec<_> = qos
            .iter()
            .map(|q| (q.quantile.name, q.run.is_some(), q.is_solid, q.blocks))
            .collect();
        assert_eq!(
            said,
            [
                ("p99", true, true, None),
                ("p99.9", true, true, None),
                ("p99.99", true, false, None),
                ("p99.999", false, false, None),
                ("p99.9999", false, false, None),
            ]
        );
        assert!(phase.qos(Kind::Scan, TimeBasis::Response).is_empty());
    }

    #[test]
    fn response_time_has_blocks_of_its_own_where_it_was_kept() {
        let mut late = interval(0, &[(100_000, 1_000_000)]);
        let read = late.kinds.get_mut(&Kind::Read).unwrap();
        read.response = Some(Packed::pack(&latencies(&[(700_000, 1_000_000)])));
        let found = block_qos(&[late]);
        let times: Vec<_> = found
            .iter()
            .filter(|block| block.quantile.name == "p99")
            .map(|block| (block.time, block.worst.ns > 600_000))
            .collect();
        assert_eq!(
            times,
            [(TimeBasis::Service, false), (TimeBasis::Response, true)]
        );
    }

    #[test]
    fn what_a_quality_leaves_of_a_million_a_second() {
        // The 7450 study: 1 million reads a second at five nines leave 10 a second.
        let beyond = requests_beyond(1e6, 0.999_99);
        assert!((beyond - 10.0).abs() < 1e-6);
    }
}
