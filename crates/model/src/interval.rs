//! Intervals of a phase. Neighbours are merged, so that a long phase has a bounded number of
//! intervals. Gaps are filled, so that idle time is visible.

use crate::{Interval, IntervalKind, Packed};
use std::collections::BTreeMap;

impl Interval {
    /// Adds another interval of the same phase. The merged interval covers both and the time
    /// between them.
    pub fn merge(&mut self, other: &Self) {
        let end_s = (self.start_s + self.length_s).max(other.start_s + other.length_s);
        self.start_s = self.start_s.min(other.start_s);
        self.length_s = end_s - self.start_s;
        self.operations += other.operations;
        self.failed += other.failed;
        for (&kind, theirs) in &other.kinds {
            self.kinds
                .entry(kind)
                .and_modify(|ours| ours.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
    }

    /// An interval in which nothing was done.
    pub const fn empty(start_s: f64, length_s: f64) -> Self {
        Self {
            start_s,
            length_s,
            operations: 0,
            failed: 0,
            kinds: BTreeMap::new(),
        }
    }

    /// Several intervals as one, as if [`Self::merge`] had added them one by one; `None` for an
    /// empty list.
    pub fn of_all(mut intervals: Vec<Self>) -> Option<Self> {
        if intervals.len() < 2 {
            return intervals.pop();
        }
        let mut kinds: BTreeMap<_, Vec<&IntervalKind>> = BTreeMap::new();
        for (&kind, part) in intervals.iter().flat_map(|interval| &interval.kinds) {
            kinds.entry(kind).or_default().push(part);
        }
        let of_kind = |(kind, parts): (_, Vec<_>)| Some((kind, IntervalKind::of_all(&parts)?));
        let kinds = kinds.into_iter().filter_map(of_kind).collect();
        let ends = intervals.iter().map(|i| i.start_s + i.length_s);
        let end_s = ends.fold(f64::NEG_INFINITY, f64::max);
        let starts = intervals.iter().map(|i| i.start_s);
        let start_s = starts.fold(f64::INFINITY, f64::min);
        Some(Self {
            start_s,
            length_s: end_s - start_s,
            operations: intervals.iter().map(|i| i.operations).sum(),
            failed: intervals.iter().map(|i| i.failed).sum(),
            kinds,
        })
    }
}

impl IntervalKind {
    /// The results of one kind in several intervals, as [`Self::merge`] would combine them.
    fn of_all(parts: &[&Self]) -> Option<Self> {
        let (first, rest) = parts.split_first()?;
        let has_response = parts.iter().any(|part| part.response.is_some());
        Some(Self {
            count: parts.iter().fold(0, |n, p| n.saturating_add(p.count)),
            errors: parts.iter().fold(0, |n, p| n.saturating_add(p.errors)),
            service: first.service.sum_with(rest.iter().map(|p| &p.service)),
            response: has_response.then(|| {
                let rest = rest.iter().map(|part| part.response_time());
                first.response_time().sum_with(rest)
            }),
        })
    }

    /// Response times; service times if there are no separate ones.
    fn response_time(&self) -> &Packed {
        self.response.as_ref().unwrap_or(&self.service)
    }

    /// Adds the results of the same kind in another interval.
    ///
    /// If only one of the two has a response histogram, the other's response times equal its
    /// service times.
    pub fn merge(&mut self, other: &Self) {
        if self.response.is_some() || other.response.is_some() {
            self.response = Some(self.response_time().sum(other.response_time()));
        }
        self.service = self.service.sum(&other.service);
        self.count = self.count.saturating_add(other.count);
        self.errors = self.errors.saturating_add(other.errors);
    }
}

/// Merges neighbours in pairs until there are at most `max` intervals (at least 1). `intervals` are
/// in order of time.
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

/// Inserts empty intervals before the first interval and into gaps, because nothing was done there.
/// `intervals` are in order of time. A gap shorter than half of the next interval is ignored.
pub fn without_gaps(intervals: Vec<Interval>) -> Vec<Interval> {
    /// The most intervals that fill a gap; they are longer if it is larger.
    const FILL_MAX: f64 = 10_000.0;
    let mut whole: Vec<Interval> = Vec::with_capacity(intervals.len());
    let mut end_s = 0.0;
    for interval in intervals {
        let gap_s = interval.start_s - end_s;
        if interval.length_s > 0.0 && gap_s > interval.length_s / 2.0 {
            let count = (gap_s / interval.length_s).round().clamp(1.0, FILL_MAX);
            let length_s = gap_s / count;
            let start_s = |i: u32| end_s + f64::from(i) * length_s;
            whole.extend((0..count as u32).map(|i| Interval::empty(start_s(i), length_s)));
        }
        end_s = interval.start_s + interval.length_s;
        whole.push(interval);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, new_latencies};

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
            failed: 1,
            kinds: BTreeMap::from([(Kind::Read, kind)]),
        }
    }

    #[test]
    fn several_at_once_are_what_one_after_the_other_makes() {
        let with = |kind: Kind, mut interval: Interval| {
            let read = interval.kinds.remove(&Kind::Read).unwrap();
            interval.kinds.insert(kind, read);
            interval
        };
        let all = vec![
            interval(3, None),
            interval(3, Some(90_000)),
            with(Kind::Update, interval(4, Some(5))),
            interval(2, None),
        ];
        let mut merged = all[0].clone();
        all[1..].iter().for_each(|other| merged.merge(other));
        assert_eq!(Interval::of_all(all), Some(merged));
        assert_eq!(Interval::of_all(Vec::new()), None);
        assert_eq!(
            Interval::of_all(vec![interval(7, None)]),
            Some(interval(7, None))
        );
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
                let (mut operations, mut failed, mut count, mut errors) = (0, 0, 0, 0);
                for interval in intervals {
                    let kind = &interval.kinds[&Kind::Read];
                    operations += interval.operations;
                    failed += interval.failed;
                    count += kind.count;
                    errors += kind.errors;
                    total.add(kind.service.unpack()).unwrap();
                }
                (operations, failed, count, errors, total)
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
    fn gaps_are_filled_with_empty_intervals() {
        let seconds: Vec<_> = [2, 3, 6].map(|second| interval(second, None)).into();
        let seen: Vec<_> = without_gaps(seconds)
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        let expected: Vec<_> = [0, 0, 11, 11, 0, 0, 11]
            .into_iter()
            .zip(0..)
            .map(|(operations, second)| (f64::from(second), 1.0, operations))
            .collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_has_no_gap_stays_as_it_is() {
        let mut whole: Vec<_> = (0..5).map(|second| interval(second, None)).collect();
        whole[3].start_s += 0.02; // an imported log is not that exact
        assert_eq!(without_gaps(whole.clone()), whole);
        assert!(without_gaps(Vec::new()).is_empty());
    }

    #[test]
    fn a_gap_without_end_takes_no_memory() {
        let far = Interval {
            start_s: 1e15,
            ..interval(0, None)
        };
        assert!(without_gaps(vec![far]).len() < 20_000);
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
