//! A phase that several processes carried out together: the part of each, and all parts as one
//! phase.
//!
//! Histograms are added, per interval and in total. Percentiles are never averaged.

use crate::{
    Censored, ErrorCount, Interval, Kind, KindResult, LagCauses, Phase, RankPart, StartLag,
    failure::rate, histogram::add, new_latencies,
};
use std::collections::{BTreeMap, btree_map::Entry};

/// The quantiles that are kept for each process.
const QUANTILES: [f64; 5] = [0.5, 0.99, 0.999, 0.9999, 1.0];

impl RankPart {
    /// Operations that succeeded by the end, per second.
    pub fn ops_per_sec(&self) -> f64 {
        let in_time = self
            .operations
            .saturating_sub(self.failed)
            .saturating_sub(self.drained);
        rate(in_time, self.duration_s)
    }

    /// The response time that this share of requests did not exceed, nanoseconds.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let kept = self.quantiles.iter().find(|(kept, _)| *kept == share);
        kept.map(|(_, ns)| *ns)
    }

    /// The largest difference between its seconds and those of rank 0, nanoseconds.
    pub fn skew_ns(&self) -> u64 {
        self.clock_bound_ns
            .saturating_add(self.clock_drift_ns.unsigned_abs())
            .max(self.late_ns)
    }

    /// The kept quantiles of a process's measurements.
    pub fn quantiles_of(phase: &Phase) -> Vec<(f64, u64)> {
        let mut all = new_latencies();
        for kind in Kind::sent(&phase.kinds) {
            add(&mut all, kind.response());
        }
        if all.is_empty() {
            Vec::new()
        } else {
            QUANTILES
                .map(|share| (share, all.value_at_quantile(share)))
                .to_vec()
        }
    }
}

impl Phase {
    /// Measurements of several simultaneous processes as one phase. Its length is that of the
    /// longest part; its start and warm-up are those of the first. Database counters of the same
    /// name are added, because each process reports its own part.
    pub fn of_parts(parts: Vec<Self>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        let mut rows = vec![std::mem::take(&mut all.intervals)];
        for mut part in parts {
            rows.push(std::mem::take(&mut part.intervals));
            all.duration_s = all.duration_s.max(part.duration_s);
            all.operations += part.operations;
            all.failed += part.failed;
            all.drained += part.drained;
            all.drained_failed += part.drained_failed;
            all.censored += part.censored;
            for (kind, result) in part.kinds {
                match all.kinds.entry(kind) {
                    Entry::Vacant(entry) => _ = entry.insert(result),
                    Entry::Occupied(mut entry) => add_kind(entry.get_mut(), result),
                }
            }
            add_errors(&mut all.errors, part.errors);
            add_lag(&mut all.start_lag, part.start_lag);
            all.series.extend(part.series);
            all.findings.extend(part.findings);
            for (name, count) in part.counters {
                let sum = all.counters.entry(name).or_default();
                *sum = sum.saturating_add(count);
            }
            all.ranks.extend(part.ranks);
        }
        // What was worked out of a part is not that of all.
        all.block_qos.clear();
        all.intervals = same_seconds(rows);
        all
    }
}

/// The intervals of several processes merged into one list. All begin at the same instant. If one
/// process's intervals were coarsened, all are.
fn same_seconds(rows: Vec<Vec<Interval>>) -> Vec<Interval> {
    let lengths = rows.iter().filter_map(|row| Some(row.first()?.length_s));
    let whole = |length: f64| length.max(1.0).log2().ceil().exp2();
    let length_s = lengths.map(whole).fold(1.0, f64::max);
    let mut slots: BTreeMap<u64, Vec<Interval>> = BTreeMap::new();
    for interval in rows.into_iter().flatten() {
        // A little is added, because a start is a sum of lengths.
        let slot = ((interval.start_s + 1e-6) / length_s) as u64;
        slots.entry(slot).or_default().push(interval);
    }
    let mut all: Vec<Interval> = Vec::with_capacity(slots.len());
    for interval in slots.into_values().filter_map(Interval::of_all) {
        match all.last_mut() {
            // A rank that ended before another has added a fraction to its last one.
            Some(last) if last.start_s + last.length_s > interval.start_s + 1e-6 => {
                last.merge(&interval);
            }
            _ => all.push(interval),
        }
    }
    all
}

fn add_kind(into: &mut KindResult, from: KindResult) {
    into.count += from.count;
    into.not_found += from.not_found;
    into.errors += from.errors;
    into.bytes += from.bytes;
    into.drained_bytes += from.drained_bytes;
    if into.response.is_some() || from.response.is_some() {
        // If one of them has none, its response times equal its service times.
        let own = into.service.clone();
        let response = into.response.get_or_insert(own);
        add(response, from.response());
    }
    add(&mut into.service, &from.service);
    let failed = [
        (&mut into.failed, from.failed),
        (&mut into.failed_response, from.failed_response),
    ];
    for (ages, more) in failed {
        if let Some(more) = more {
            add(ages.get_or_insert_with(new_latencies), &more);
        }
    }
    if let Some(from) = from.censored {
        let Censored { service, response } = into.censored.get_or_insert_default().as_mut();
        add(service, &from.service);
        add(response, &from.response);
    }
}

fn add_errors(into: &mut Vec<ErrorCount>, from: Vec<ErrorCount>) {
    for error in from {
        let is_same =
            |known: &&mut ErrorCount| (known.kind, &known.cause) == (error.kind, &error.cause);
        match into.iter_mut().find(is_same) {
            Some(known) => known.count += error.count,
            None => into.push(error),
        }
    }
}

fn add_lag(into: &mut Option<StartLag>, from: Option<StartLag>) {
    let Some(from) = from else { return };
    let Some(into) = into else {
        *into = Some(from);
        return;
    };
    add(&mut into.all, &from.all);
    into.causes = match (into.causes.take(), from.causes) {
        (Some(mut ours), Some(theirs)) => {
            let LagCauses {
                no_client,
                woken_late,
            } = &mut ours;
            add(no_client, &theirs.no_client);
            add(woken_late, &theirs.woken_late);
            Some(ours)
        }
        _ => None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntervalKind, Packed};

    /// Reads of one process: by second, their latencies in nanoseconds.
    fn part(seconds: &[&[u64]], length_s: f64) -> Phase {
        let mut phase = Phase {
            duration_s: seconds.len() as f64 * length_s,
            ..Phase::default()
        };
        let mut total = KindResult::default();
        for (index, second) in seconds.iter().enumerate() {
            let mut service = new_latencies();
            for &ns in *second {
                service.record(ns).unwrap();
            }
            let count = second.len() as u64;
            add(&mut total.service, &service);
            total.count += count;
            phase.operations += count;
            let kind = IntervalKind {
                count,
                errors: 0,
                service: Packed::pack(&service),
                response: None,
            };
            phase.intervals.push(Interval {
                start_s: index as f64 * length_s,
                length_s,
                operations: count,
                failed: 0,
                kinds: [(Kind::Read, kind)].into(),
            });
        }
        phase.kinds.insert(Kind::Read, total);
        phase
    }

    #[test]
    fn quantiles_of_all_are_those_of_all_samples_together() {
        let fast: Vec<u64> = (0..9_000).map(|i| 1_000 + i % 100).collect();
        let slow: Vec<u64> = (0..1_000).map(|i| 5_000_000 + i).collect();
        let all = Phase::of_parts(vec![part(&[&fast], 1.0), part(&[&slow], 1.0)]);
        let together = part(&[&[fast, slow].concat()], 1.0);
        assert_eq!(all.kinds, together.kinds);
        assert_eq!(all.intervals, together.intervals);
        assert_eq!((all.operations, all.duration_s), (10_000, 1.0));
        // The mean of the 95th percentiles of both would be 2.5 ms.
        let p95 = all.kinds[&Kind::Read].service.value_at_quantile(0.95);
        assert!((4_990_000..5_010_000).contains(&p95), "{p95}");
    }

    #[test]
    fn every_second_of_all_is_that_second_of_each() {
        let a = part(&[&[1, 2], &[3], &[]], 1.0);
        let b = part(&[&[4], &[5, 6, 7]], 1.0);
        let all = Phase::of_parts(vec![a, b]);
        let seen: Vec<_> = all
            .intervals
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        assert_eq!(seen, [(0.0, 1.0, 3), (1.0, 1.0, 4), (2.0, 1.0, 0)]);
        assert_eq!(all.duration_s, 3.0);
    }

    #[test]
    fn one_that_was_coarsened_makes_all_as_coarse_and_nothing_is_lost() {
        let fine = part(&[&[1], &[2, 2], &[3], &[4], &[5]], 1.0);
        let coarse = part(&[&[1, 1], &[2], &[7]], 2.0);
        let all = Phase::of_parts(vec![fine, coarse]);
        let seen: Vec<_> = all
            .intervals
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        assert_eq!(seen, [(0.0, 2.0, 5), (2.0, 2.0, 3), (4.0, 2.0, 2)]);
        assert_eq!(all.operations, 10);
    }

    #[test]
    fn intervals_follow_each_other_where_ranks_end_at_different_times() {
        let mut short = part(&[&[1], &[2, 2]], 1.0);
        // A fraction after the last whole second is added to that second.
        short.intervals[1].length_s = 1.3;
        let long = part(&[&[3], &[4], &[5]], 1.0);
        let all = Phase::of_parts(vec![short, long]);
        let seen: Vec<_> = all
            .intervals
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        assert_eq!(seen, [(0.0, 1.0, 2), (1.0, 2.0, 4)]);
    }

    #[test]
    fn failures_and_what_was_never_done_are_added() {
        let error = |count| ErrorCount {
            kind: Kind::Read,
            cause: "timeout".into(),
            count,
            example: "a".into(),
        };
        let mut a = part(&[&[10]], 1.0);
        let mut b = part(&[&[20]], 1.0);
        (a.errors, b.errors) = (vec![error(1)], vec![error(2)]);
        (a.failed, b.failed) = (1, 2);
        let mut ages = Censored::default();
        ages.response.record(9).unwrap();
        let of_b = b.kinds.get_mut(&Kind::Read).unwrap();
        of_b.censored = Some(Box::new(ages));
        let mut response = new_latencies();
        response.record(50).unwrap();
        of_b.response = Some(response);
        (b.censored, b.drained) = (1, 3);
        let all = Phase::of_parts(vec![a, b]);
        assert_eq!(all.errors, [error(3)]);
        assert_eq!((all.failed, all.censored, all.drained), (3, 1, 3));
        let read = &all.kinds[&Kind::Read];
        let values: Vec<u64> = read
            .response()
            .iter_recorded()
            .map(|v| v.value_iterated_to())
            .collect();
        assert_eq!(values, [10, 50], "without a rate it was the service time");
        assert_eq!(read.censored.as_ref().unwrap().response.len(), 1);
    }

    #[test]
    fn what_is_kept_of_a_process_is_its_own() {
        let phase = part(&[&[100; 99], &[900]], 1.0);
        let kept = RankPart::quantiles_of(&phase);
        assert_eq!(kept[0], (0.5, 100));
        assert_eq!(kept.last().unwrap().0, 1.0);
        assert!(kept.last().unwrap().1 >= 900);
        assert!(RankPart::quantiles_of(&Phase::default()).is_empty());
    }
}
