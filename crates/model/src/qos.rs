//! Quality of service as the published studies define it: of every million requests, take the
//! hundred slowest; the fastest of these is the 99.99 % value. Over a whole run that is an ordinary
//! quantile. Here it is computed block by block, so that a bad quarter of an hour is not hidden in
//! a day.
//!
//! A block is the fewest consecutive seconds with at least a million samples. The worst, median and
//! best blocks are computed while a point is measured, before its intervals are merged, because
//! merged intervals of a long run may hold many millions. For data without such blocks, such as an
//! import, they are computed from its intervals when it is committed. Intervals have two
//! significant digits, so values are within 1 %, and lower bounds at most 1 % too low. Failed
//! requests are in the block of the interval in which they failed, and rank above every success in
//! it. Operations that were never done are in no block, nor is what follows the last full block.

use crate::{
    BlockQos, BlockValue, Bounded, Interval, Kind, Latencies, Packed, Phase, QUANTILES, Quantile,
    TimeBasis, histogram, packed::new_interval_latencies, quantile,
};
use std::collections::BTreeMap;

/// The fewest samples of a block.
pub const BLOCK_SAMPLES: u64 = 1_000_000;

/// How many requests per second are at or above the value at a quality, given the requests per
/// second.
pub fn requests_beyond(per_second: f64, quality: f64) -> f64 {
    per_second * (1.0 - quality)
}

/// Every reported quantile of every kind over the blocks of a phase. Kinds without a block are
/// absent. If response time equals service time, only service time is given.
pub fn block_qos(intervals: &[Interval]) -> Vec<BlockQos> {
    let mut blocks = Blocks {
        start_s: intervals.first().map_or(0.0, |first| first.start_s),
        ..Blocks::default()
    };
    intervals.iter().for_each(|interval| blocks.add(interval));
    blocks.finish()
}

/// Collects blocks from intervals as they arrive. Memory does not grow with the length of a run: of
/// full blocks it keeps how many had each value, and there are only a few thousand values.
#[derive(Debug, Default)]
pub struct Blocks {
    kinds: BTreeMap<Kind, KindBlocks>,
    /// When the first block begins, seconds since the start of the phase.
    start_s: f64,
    /// The end of the newest interval.
    end_s: f64,
}

#[derive(Debug)]
struct KindBlocks {
    service: TimeBlocks,
    /// Present from the first interval that has response times.
    response: Option<TimeBlocks>,
}

impl Blocks {
    /// Adds an interval. A late interval is added to the open block.
    pub fn add(&mut self, interval: &Interval) {
        self.end_s = self.end_s.max(interval.start_s + interval.length_s);
        for (&kind, measured) in &interval.kinds {
            let own = self.kinds.entry(kind).or_insert_with(|| KindBlocks {
                service: TimeBlocks::new(self.start_s),
                response: None,
            });
            let response = measured.response.as_ref();
            if response.is_some() && own.response.is_none() {
                own.response = Some(own.service.clone()); // both were the same so far
            }
            let add = |blocks: &mut TimeBlocks, packed| {
                blocks.add(packed, measured.errors, self.end_s);
            };
            if let Some(blocks) = &mut own.response {
                add(blocks, response.unwrap_or(&measured.service));
            }
            add(&mut own.service, &measured.service);
        }
    }

    /// The quantiles of all full blocks.
    pub fn finish(self) -> Vec<BlockQos> {
        let of_kind = |(kind, own): (Kind, KindBlocks)| {
            let service = own.service.finish(kind, TimeBasis::Service);
            let response = own.response.map(|b| b.finish(kind, TimeBasis::Response));
            service.into_iter().chain(response.unwrap_or_default())
        };
        self.kinds.into_iter().flat_map(of_kind).collect()
    }
}

/// How many blocks had a value, and when the first of them began.
#[derive(Debug, Clone, Copy)]
struct ValueCount {
    blocks: u64,
    start_s: f64,
}

/// The blocks of one kind by one clock.
#[derive(Debug, Clone)]
struct TimeBlocks {
    /// When the open block began, seconds since the start of the phase.
    start_s: f64,
    /// Requests completed in it.
    done: Latencies,
    /// Requests that failed in it.
    failed: u64,
    full: u64,
    samples_min: u64,
    /// The values of full blocks for each of [`QUANTILES`], in the order of [`BlockValue::rank`].
    values: [BTreeMap<(bool, u64), ValueCount>; QUANTILES.len()],
}

impl TimeBlocks {
    fn new(start_s: f64) -> Self {
        Self {
            start_s,
            done: new_interval_latencies(),
            failed: 0,
            full: 0,
            samples_min: u64::MAX,
            values: Default::default(),
        }
    }

    /// Adds an interval that ends at `end_s`.
    fn add(&mut self, packed: &Packed, failed: u64, end_s: f64) {
        histogram::add(&mut self.done, &packed.unpack());
        self.failed = self.failed.saturating_add(failed);
        let samples = self.done.len().saturating_add(self.failed);
        if samples < BLOCK_SAMPLES {
            return;
        }
        for (quantile, values) in QUANTILES.iter().zip(&mut self.values) {
            let k = quantile::rank(samples, quantile.value);
            let value = match k.checked_sub(self.failed).filter(|k| *k > 0) {
                Some(k) => (false, quantile::kth_highest(&self.done, k)),
                None => (true, quantile::max(&self.done).unwrap_or(0)),
            };
            let start_s = self.start_s;
            let seen = values
                .entry(value)
                .or_insert(ValueCount { blocks: 0, start_s });
            seen.blocks += 1;
        }
        self.full += 1;
        self.samples_min = self.samples_min.min(samples);
        self.start_s = end_s;
        self.done.reset();
        self.failed = 0;
    }

    fn finish(self, kind: Kind, time: TimeBasis) -> Vec<BlockQos> {
        let (blocks, samples_min) = (self.full, self.samples_min);
        let of_quantile = |(&quantile, values): (&Quantile, BTreeMap<(bool, u64), ValueCount>)| {
            let value = |(&(is_at_least, ns), seen): (&(bool, u64), &ValueCount)| BlockValue {
                ns,
                is_at_least,
                start_s: seen.start_s,
            };
            let highest_exact = values.iter().rfind(|((is_at_least, _), _)| !is_at_least);
            let highest_exact = highest_exact.map(value);
            // The success that a bound is made of lies anywhere in its place, unless a measured value
            // is in that place, too.
            let lowered = |found: BlockValue| {
                let is_highest = highest_exact.is_none_or(|exact| exact.ns < found.ns);
                if found.is_at_least && is_highest {
                    let ns = self.done.lowest_equivalent(found.ns);
                    BlockValue { ns, ..found }
                } else {
                    found
                }
            };
            // The value with that many others before it.
            let after = |mut before: u64| {
                let mut values = values.iter();
                let found = values.find(|(_, seen)| match before.checked_sub(seen.blocks) {
                    Some(left) => {
                        before = left;
                        false
                    }
                    None => true,
                });
                found.map(|found| lowered(value(found).above(highest_exact)))
            };
            Some(BlockQos {
                kind,
                time,
                quantile,
                blocks,
                samples_min,
                worst: after(blocks.checked_sub(1)?)?,
                median: after(blocks / 2)?,
                best: after(0)?,
            })
        };
        let values = QUANTILES.iter().zip(self.values);
        values.filter_map(of_quantile).collect()
    }
}

/// A quantile of one kind of request: over the whole run, and block by block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Qos<'a> {
    /// The quantile.
    pub quantile: Quantile,
    /// The value over the whole run, nanoseconds; `None` if too few samples lie beyond it.
    pub run: Option<Bounded>,
    /// Whether there are enough samples to draw it as certain.
    pub is_solid: bool,
    /// The values block by block; `None` if the run has no block.
    pub blocks: Option<&'a BlockQos>,
}

/// The quantiles of quality of service, rising: the reported ones from 99 % on, and one more nine.
pub fn qualities() -> impl Iterator<Item = Quantile> {
    let reported = QUANTILES.into_iter().filter(|q| q.value >= 0.99);
    reported.chain([quantile::SIX_NINES])
}

impl Phase {
    /// The quality of service of one kind of request; empty if the kind was not requested.
    pub fn qos(&self, kind: Kind, time: TimeBasis) -> Vec<Qos<'_>> {
        let Some(result) = self.kinds.get(&kind) else {
            return Vec::new();
        };
        let known = time.latencies(result);
        // If no response time was kept, it equals service time.
        let has_own = self
            .block_qos
            .iter()
            .any(|b| (b.kind, b.time) == (kind, time));
        let kept = if has_own { time } else { TimeBasis::Service };
        let qos = |quantile: Quantile| Qos {
            quantile,
            run: known.quantile(quantile),
            is_solid: known.is_solid(quantile),
            blocks: self
                .block_qos
                .iter()
                .find(|b| (b.kind, b.time, b.quantile) == (kind, kept, quantile)),
        };
        qualities().map(qos).collect()
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

    fn named<'a>(found: &'a [BlockQos], name: &str) -> &'a BlockQos {
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
        let four_nines = named(&found, "p99.99");
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
        assert_eq!(named(&found, "p50").worst, value(150_527, 3.0));
        assert_eq!(found.len(), QUANTILES.len());
    }

    #[test]
    fn the_hundred_slowest_of_a_million_are_four_nines_of_their_block_alone() {
        let slow =
            |second, slow: u64| interval(second, &[(100_000, 1_000_000 - slow), (9_000_000, slow)]);
        let found = block_qos(&[slow(0, 99), slow(1, 100), slow(2, 0)]);
        let four_nines = named(&found, "p99.99");
        assert_eq!(four_nines.worst.start_s, 1.0);
        assert!((8_900_000..9_100_000).contains(&four_nines.worst.ns));
        assert!(four_nines.median.ns < 101_000 && four_nines.best.ns < 101_000);
        assert!(four_nines.is_solid());
        // Ten samples are beyond five nines of each block: a number, but no certain one.
        assert!(!named(&found, "p99.999").is_solid());
    }

    #[test]
    fn failures_of_a_block_are_its_slowest_requests() {
        let failing = |second, failed| {
            let mut interval = interval(second, &[(100_000, 1_000_000 - failed)]);
            interval.kinds.get_mut(&Kind::Read).unwrap().errors = failed;
            interval
        };
        let found = block_qos(&[failing(0, 99), failing(1, 100), failing(2, 0)]);
        let four_nines = named(&found, "p99.99");
        assert_eq!((four_nines.blocks, four_nines.samples_min), (3, 1_000_000));
        assert_eq!(four_nines.worst.start_s, 1.0);
        let is_at_least = [four_nines.worst, four_nines.median].map(|value| value.is_at_least);
        assert_eq!(is_at_least, [true, false]);
        assert!(named(&found, "p99.999").median.is_at_least);
        assert!(!named(&found, "p99.9").worst.is_at_least);
    }

    /// Milliseconds, to the nearest.
    fn ms(ns: u64) -> u64 {
        (ns + 500_000) / 1_000_000
    }

    #[test]
    fn a_bound_of_a_block_is_not_above_the_highest_success() {
        for ns in [100_000, 1_000_000, 1_234_567] {
            let mut failing = interval(0, &[(ns, 990_000)]);
            failing.kinds.get_mut(&Kind::Read).unwrap().errors = 10_000;
            let worst = named(&block_qos(&[failing]), "p99.9").worst;
            assert!(worst.is_at_least);
            assert!(
                (0.99..=1.0).contains(&(worst.ns as f64 / ns as f64)),
                "{worst:?}"
            );
        }
    }

    #[test]
    fn a_block_that_is_a_bound_is_at_least_the_highest_exact_value_of_the_others() {
        let failing = |second, ns, failed| {
            let mut interval = interval(second, &[(ns, 1_000_000 - failed)]);
            interval.kinds.get_mut(&Kind::Read).unwrap().errors = failed;
            interval
        };
        // Reads of 1 ms, of which half a percent fails, beside reads of 5 ms.
        let fast = |second| failing(second, 1_000_000, 5_000);
        let slow = |second| failing(second, 5_000_000, 0);
        let p99_9 = |intervals: &[Interval]| {
            let found = block_qos(intervals);
            let block = named(&found, "p99.9");
            [block.worst, block.median, block.best].map(|value| (value.is_at_least, ms(value.ns)))
        };
        let one = p99_9(&[slow(0), fast(1), slow(2)]);
        assert_eq!(one, [(true, 5), (false, 5), (false, 5)]);
        let two = p99_9(&[fast(0), fast(1), slow(2)]);
        assert_eq!(two, [(true, 5), (true, 5), (false, 5)]);
        assert_eq!(p99_9(&[fast(0), fast(1)]), [(true, 1); 3]);
    }

    #[test]
    fn a_raised_bound_names_the_block_in_which_its_value_was_measured() {
        // A second of reads of 1 ms, of which half a percent fails, after one of reads of 5 ms.
        let mut failing = interval(1, &[(1_000_000, 995_000)]);
        failing.kinds.get_mut(&Kind::Read).unwrap().errors = 5_000;
        let found = block_qos(&[interval(0, &[(5_000_000, 1_000_000)]), failing]);
        let worst = |name| {
            let worst = named(&found, name).worst;
            (worst.is_at_least, ms(worst.ns), worst.start_s)
        };
        assert_eq!(worst("p99.9"), (true, 5, 0.0));
        assert_eq!(worst("p99"), (false, 5, 0.0));
    }

    #[test]
    fn failures_after_the_last_full_block_are_in_no_block() {
        let mut failing = interval(1, &[(1_000_000, 500_000)]);
        failing.kinds.get_mut(&Kind::Read).unwrap().errors = 499_999;
        let found = block_qos(&[interval(0, &[(1_000_000, 1_000_000)]), failing]);
        let p99 = named(&found, "p99");
        assert_eq!((p99.blocks, p99.worst.is_at_least), (1, false));
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
