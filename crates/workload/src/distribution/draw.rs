//! The next key number, by any distribution.

use super::{
    Distribution, exponential::Exponential, hotspot::Hotspot, latest::Latest, scrambled::Scrambled,
    true_zipfian::TrueZipfian,
};
use crate::{KeyRange, KeySpace, random::Random};

/// The key space when a client starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    /// Loaded records, at least 1 if anything is drawn.
    pub records: u64,
    /// Inserts that YCSB's zipfian allows for.
    pub inserts_expected: u64,
    /// The keys to draw from, if not all loaded ones. As in YCSB, distributions that count back
    /// from the newest record ignore it.
    pub range: Option<KeyRange>,
}

/// One client's draws. Its size does not depend on the number of records.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    /// The first number of the range.
    first: u64,
    by: By,
}

#[derive(Debug, Clone)]
enum By {
    Uniform { records: u64 },
    Scrambled(Scrambled),
    TrueZipfian(TrueZipfian),
    Latest(Latest),
    Hotspot(Hotspot),
    Exponential(Exponential),
    Sequential { records: u64 },
}

impl Draw {
    /// Prepares draws, in a few microseconds for any number of records.
    pub fn new(distribution: Distribution, space: Space) -> Self {
        let all = space.records.max(1);
        let range = space.range.unwrap_or(KeyRange {
            first: 0,
            count: all,
        });
        let (first, records) = (range.first, range.count.max(1));
        let by = match distribution {
            Distribution::Uniform => By::Uniform { records },
            Distribution::Zipfian => {
                // As in YCSB, one more than the records: its upper bound is inclusive.
                let items = records
                    .saturating_add(space.inserts_expected)
                    .saturating_add(1);
                By::Scrambled(Scrambled::new(items))
            }
            Distribution::TrueZipfian { theta } => {
                By::TrueZipfian(TrueZipfian::new(records, theta))
            }
            Distribution::Latest => By::Latest(Latest::new(all - 1)),
            Distribution::Hotspot {
                data_fraction,
                operation_fraction,
            } => By::Hotspot(Hotspot::new(records, data_fraction, operation_fraction)),
            Distribution::Exponential {
                percentile,
                fraction,
            } => By::Exponential(Exponential::new(all, percentile, fraction)),
            Distribution::Sequential => By::Sequential { records },
        };
        Self { first, by }
    }

    /// The number of an existing key. Draws beyond the last key are repeated, as in YCSB.
    #[inline]
    pub fn draw(&mut self, random: &mut Random, keys: &KeySpace) -> u64 {
        let last = keys.last();
        let first = self.first;
        loop {
            let number = match &mut self.by {
                By::Uniform { records } => first + random.below(*records),
                By::Scrambled(scrambled) => first + scrambled.draw(random),
                By::TrueZipfian(zipfian) => first + zipfian.draw(random),
                By::Latest(latest) => latest.draw(random, last),
                By::Hotspot(hotspot) => first + hotspot.draw(random),
                By::Exponential(exponential) => exponential.draw(random, last),
                By::Sequential { records } => first + keys.next_in_sequence() % *records,
            };
            if number <= last {
                return keys.nearest(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DISTRIBUTIONS, testing::*};
    use super::*;
    use std::time::{Duration, Instant};

    const ALL: u64 = 10_000_000_000;

    fn space(records: u64, inserts_expected: u64) -> Space {
        Space {
            records,
            inserts_expected,
            range: None,
        }
    }

    #[test]
    fn ten_thousand_million_records_start_at_once_in_constant_memory() {
        let keys = KeySpace::new(ALL, ALL);
        for row in DISTRIBUTIONS {
            let once = |_| {
                let start = Instant::now();
                let mut draw = Draw::new(row.default, space(ALL, 0));
                assert!(draw.draw(&mut random(), &keys) < ALL);
                start.elapsed()
            };
            // The best of some: a busy machine may take a while over any of them.
            let took = (0..5).map(once).min().expect("five");
            assert!(took < Duration::from_millis(100), "{} {took:?}", row.name);
        }
        assert!(size_of::<Draw>() <= 128);
    }

    #[test]
    fn every_distribution_draws_only_keys_that_exist() {
        for records in [1, 2, 3, 10, 1_000] {
            let keys = KeySpace::new(records, records);
            for row in DISTRIBUTIONS {
                let (mut draw, mut random) = (Draw::new(row.default, space(records, 50)), random());
                for _ in 0..2_000 {
                    assert!(draw.draw(&mut random, &keys) < records, "{}", row.name);
                }
            }
        }
    }

    #[test]
    fn uniform_draws_every_loaded_record_alike_and_no_new_one() {
        for records in [1_000, 1_000_000, ALL] {
            let keys = KeySpace::new(records, records);
            let inserted = keys.next_insert();
            keys.acknowledge(inserted);
            let (mut draw, mut random) = (
                Draw::new(Distribution::Uniform, space(records, 0)),
                random(),
            );
            let bin = || {
                let number = draw.draw(&mut random, &keys);
                assert!(number < records);
                (number * 50 / records) as usize
            };
            assert_shares(1_000_000, &[0.02; 50], bin);
        }
    }

    #[test]
    fn a_range_holds_the_draws_of_those_that_do_not_count_back() {
        let keys = KeySpace::new(1_000, 1_000);
        let range = Some(KeyRange {
            first: 300,
            count: 100,
        });
        for row in DISTRIBUTIONS {
            let mut draw = Draw::new(
                row.default,
                Space {
                    range,
                    ..space(1_000, 0)
                },
            );
            let mut random = random();
            let numbers: Vec<_> = (0..5_000).map(|_| draw.draw(&mut random, &keys)).collect();
            // YCSB's zipfian has one key more than the range.
            let within = numbers.iter().all(|n| (300..=400).contains(n));
            assert_eq!(
                within,
                !matches!(row.name, "latest" | "exponential"),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn sequential_draws_each_record_in_turn_for_all_clients_together() {
        let keys = KeySpace::new(5, 5);
        let new = || Draw::new(Distribution::Sequential, space(5, 0));
        let (mut one, mut other, mut random) = (new(), new(), random());
        let drawn: Vec<_> = (0..6)
            .flat_map(|_| [one.draw(&mut random, &keys), other.draw(&mut random, &keys)])
            .collect();
        assert_eq!(drawn, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    }

    #[test]
    fn zipfian_draws_new_records_only_once_they_are_acknowledged() {
        let keys = KeySpace::new(100, 100);
        let (mut draw, mut random) = (Draw::new(Distribution::Zipfian, space(100, 100)), random());
        let mut reaches = |end| {
            (0..20_000)
                .map(|_| draw.draw(&mut random, &keys))
                .filter(|n| *n >= end)
                .count()
        };
        assert_eq!(reaches(100), 0);
        for _ in 0..50 {
            keys.acknowledge(keys.next_insert());
        }
        assert!(reaches(100) > 1_000);
        assert_eq!(reaches(150), 0);
    }
}
