//! Intervals of a phase: merging neighbours, so that a long phase keeps a bounded number of them.

use crate::{Interval, IntervalKind};

impl Interval {
    /// Adds another interval of the same phase: the merged one covers both, and what lies between.
    pub fn merge(&mut self, other: &Self) {
        let end_s = (self.start_s + self.length_s).max(other.start_s + other.length_s);
        self.start_s = self.start_s.min(other.start_s);
        self.length_s = end_s - self.start_s;
        self.operations += other.operations;
        for (&kind, theirs) in &other.kinds {
            self.kinds
                .entry(kind)
                .and_modify(|ours| ours.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
    }
}

impl IntervalKind {
    /// Adds what was measured of the same kind in another interval.
    ///
    /// Where only one of the two has a response histogram, the other's response times were its
    /// service times.
    pub fn merge(&mut self, other: &Self) {
        if self.response.is_some() || other.response.is_some() {
            let ours = self.response.as_ref().unwrap_or(&self.service);
            let theirs = other.response.as_ref().unwrap_or(&other.service);
            self.response = Some(ours.sum(theirs));
        }
        self.service = self.service.sum(&other.service);
        self.count += other.count;
        self.errors += other.errors;
    }
}

/// Merges neighbours until there are at most `max` intervals (at least 1): as often as needed, every
/// two that follow each other become one. `intervals` are in order of time.
#[must_use]
pub fn coarsen(mut intervals: Vec<Interval>, max: usize) -> Vec<Interval> {
    while intervals.len() > max.max(1) {
        let mut rest = intervals.into_iter();
        let mut merged = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(mut interval) = rest.next() {
            if let Some(next) = rest.next() {
                interval.merge(&next);
            }
            merged.push(interval);
        }
        intervals = merged;
    }
    intervals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Packed, new_latencies};
    use std::collections::BTreeMap;

    fn packed(value: u64, count: u64) -> Packed {
        let mut latencies = new_latencies();
        latencies.record_n(value, count).unwrap();
        Packed::pack(&latencies)
    }

    fn interval(second: u32, response: Option<u64>) -> Interval {
        let kind = IntervalKind {
            count: 10,
            errors: 1,
            service: packed(1000 + u64::from(second), 10),
            response: response.map(|value| packed(value, 10)),
        };
        Interval {
            start_s: second.into(),
            length_s: 1.0,
            operations: 11,
            kinds: BTreeMap::from([(Kind::Read, kind)]),
        }
    }

    #[test]
    fn coarsening_keeps_every_count_and_the_whole_time() {
        for n in [0_u32, 1, 2, 7, 8, 9, 1200, 1201] {
            let fine: Vec<Interval> = (0..n).map(|second| interval(second, None)).collect();
            let coarse = coarsen(fine.clone(), 8);
            assert!(
                coarse.len() <= 8 && coarse.len() >= (n as usize).min(4),
                "{n}"
            );
            let sum = |intervals: &[Interval]| {
                let mut total = new_latencies();
                let (mut operations, mut count, mut errors) = (0, 0, 0);
                for interval in intervals {
                    let kind = &interval.kinds[&Kind::Read];
                    operations += interval.operations;
                    count += kind.count;
                    errors += kind.errors;
                    total.add(kind.service.unpack()).unwrap();
                }
                (operations, count, errors, total)
            };
            assert_eq!(sum(&coarse), sum(&fine));
            let mut end_s = 0.0;
            for interval in &coarse {
                assert_eq!(interval.start_s, end_s);
                end_s += interval.length_s;
            }
            assert_eq!(end_s, f64::from(n));
        }
    }

    #[test]
    fn few_intervals_stay_as_they_are() {
        let fine: Vec<Interval> = (0..8).map(|second| interval(second, Some(5000))).collect();
        assert_eq!(coarsen(fine.clone(), 8), fine);
    }

    #[test]
    fn response_times_merge_with_service_times_where_both_were_equal() {
        let mut merged = interval(0, None);
        merged.merge(&interval(1, Some(90_000)));
        let kind = &merged.kinds[&Kind::Read];
        assert_eq!(kind.service, packed(1000, 10).sum(&packed(1001, 10)));
        assert_eq!(
            kind.response,
            Some(packed(1000, 10).sum(&packed(90_000, 10)))
        );
    }

    #[test]
    fn a_kind_of_one_interval_only_is_kept() {
        let mut merged = interval(3, None);
        let mut other = interval(4, None);
        let kind = other.kinds.remove(&Kind::Read).unwrap();
        other.kinds.insert(Kind::Scan, kind.clone());
        merged.merge(&other);
        assert_eq!(merged.kinds[&Kind::Scan], kind);
        assert_eq!(merged.kinds.len(), 2);
        assert_eq!(
            (merged.start_s, merged.length_s, merged.operations),
            (3.0, 2.0, 22)
        );
    }
}
