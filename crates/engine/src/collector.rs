//! Merges what the recorders hand over: totals of the phase at full precision, and its intervals.
//!
//! A second stays open for a few more seconds, so that late clients can add to it. Then it is
//! packed and counted in the blocks of a million. Long phases are coarsened while they run:
//! intervals are merged in pairs.

use super::{
    interval_stats::{IntervalStats, KindStats},
    latency_counts::LatencyCounts,
    recorder::{INTERVAL_NS, Snapshot},
};
use crate::clock::Tick;
use std::collections::{BTreeMap, VecDeque};
use tailmark_model::{
    ErrorCount, Interval, IntervalKind, Kind, LagCauses, Packed, Phase, StartLag, histogram::add,
    new_latencies, printable, qos::Blocks,
};

/// The most intervals kept of a phase.
pub const INTERVALS_MAX: usize = 1200;

/// For how many seconds an interval stays open.
const OPEN: u32 = 4;

/// What a phase measured, merged over all clients.
#[derive(Debug, Default)]
pub struct Collector {
    /// How many seconds an interval of this phase covers: a power of two.
    seconds: u32,
    /// Stats by second, not yet packed.
    open: VecDeque<(u32, IntervalStats)>,
    closed: BTreeMap<u32, Interval>,
    /// Blocks of the packed seconds. Intervals may be longer.
    blocks: Blocks,
    /// The newest second.
    newest: u32,
    last_done: Tick,
    /// Totals so far. Open stats are not included, except for operations.
    totals: Phase,
    errors: u64,
    lag: Option<LagCauses>,
}

impl Collector {
    /// An empty collector.
    pub fn new() -> Self {
        Self {
            seconds: 1,
            ..Self::default()
        }
    }

    /// Takes a recorder's stats and returns them emptied.
    pub fn take(&mut self, mut snapshot: Snapshot) -> Box<IntervalStats> {
        let stats = &snapshot.stats;
        self.totals.operations += stats.operations;
        self.totals.failed += stats.failed;
        self.totals.drained += stats.drained;
        self.totals.drained_failed += stats.drained_failed;
        self.totals.censored += stats.censored;
        self.errors += stats.errors();
        self.last_done = self.last_done.max(snapshot.last_done);
        self.newest = self.newest.max(snapshot.interval);
        self.close_old();
        self.merge(snapshot.interval, stats);
        snapshot.stats.clear();
        snapshot.stats
    }

    /// Operations so far, failed operations among them, and failed requests.
    pub const fn counts(&self) -> (u64, u64, u64) {
        (self.totals.operations, self.totals.failed, self.errors)
    }

    /// Whether operations were done, or given up, after the planned end.
    pub const fn has_overrun(&self) -> bool {
        self.totals.drained + self.totals.drained_failed + self.totals.censored > 0
    }

    /// When the last operation was done, nanoseconds after `measure`.
    pub const fn done_ns(&self, measure: Tick) -> u64 {
        self.last_done.saturating_sub(measure)
    }

    /// The 99th percentile over all kinds that are sent, of the newest interval that all clients
    /// have probably passed; nanoseconds.
    pub fn recent_p99(&self) -> u64 {
        let Some((_, stats)) = self.open.iter().rev().nth(usize::from(self.open.len() > 1)) else {
            return 0;
        };
        let mut all = LatencyCounts::default();
        for kind in Kind::ALL
            .into_iter()
            .filter(|k| *k != Kind::ReadModifyWrite)
        {
            if let Some(kind) = &stats.kinds[kind as usize] {
                let latencies = if kind.response.is_empty() {
                    &kind.service
                } else {
                    &kind.response
                };
                all.add(latencies);
            }
        }
        all.latencies().value_at_quantile(0.99)
    }

    /// All intervals that are no longer open.
    pub fn closed(&self) -> Vec<&Interval> {
        let is_whole = |slot: u32| self.is_old((slot + 1) * self.seconds - 1);
        let whole = self.closed.iter().filter(|(slot, _)| is_whole(**slot));
        whole.map(|(_, interval)| interval).collect()
    }

    /// Whether a second is no longer open.
    const fn is_old(&self, second: u32) -> bool {
        second + OPEN < self.newest
    }

    fn merge(&mut self, second: u32, stats: &IntervalStats) {
        if self.is_old(second) {
            // A client was stalled for longer than seconds stay open.
            self.pack(second, stats);
        } else if let Some((_, open)) = self.open.iter_mut().find(|(open, _)| *open == second) {
            open.add(stats);
        } else {
            let mut opened = IntervalStats::default();
            opened.add(stats);
            let at = self.open.partition_point(|(open, _)| *open < second);
            self.open.insert(at, (second, opened));
        }
    }

    fn close_old(&mut self) {
        while self
            .open
            .front()
            .is_some_and(|(second, _)| self.is_old(*second))
        {
            let (second, stats) = self.open.pop_front().expect("there is a front");
            self.pack(second, &stats);
        }
        while (self.newest / self.seconds) as usize >= INTERVALS_MAX {
            self.coarsen();
        }
    }

    /// Adds the stats of a second to the totals, to the blocks and to a packed interval.
    fn pack(&mut self, second: u32, stats: &IntervalStats) {
        if let Some(lag) = &stats.lag {
            let total = self.lag.get_or_insert_default();
            lag.no_client.add_to(&mut total.no_client);
            lag.woken_late.add_to(&mut total.woken_late);
        }
        let mut interval = empty(second, 1);
        (interval.operations, interval.failed) = (stats.operations, stats.failed);
        for kind in Kind::ALL {
            let Some(recorded) = &stats.kinds[kind as usize] else {
                continue;
            };
            if let Some(ages) = &recorded.censored {
                let total = self.totals.kinds.entry(kind).or_default();
                let total = total.censored.get_or_insert_default();
                ages.service.add_to(&mut total.service);
                ages.response.add_to(&mut total.response);
            }
            if recorded.count + recorded.errors() > 0 {
                interval.kinds.insert(kind, self.total(kind, recorded));
            }
        }
        self.blocks.add(&interval);
        self.add_to_slot(&interval, second / self.seconds);
    }

    /// Adds to an interval that covers this one.
    fn add_to_slot(&mut self, interval: &Interval, slot: u32) {
        let nothing = || empty(slot, self.seconds);
        let whole = self.closed.entry(slot).or_insert_with(nothing);
        whole.merge(interval);
    }

    /// Adds one kind's stats to its totals. Returns the stats for the interval.
    fn total(&mut self, kind: Kind, stats: &KindStats) -> IntervalKind {
        let errors = stats.errors();
        let service = stats.service.latencies();
        let response = (!stats.response.is_empty()).then(|| stats.response.latencies());
        let total = self.totals.kinds.entry(kind).or_default();
        total.count += stats.count;
        total.not_found += stats.not_found;
        total.errors += errors;
        total.bytes += stats.bytes;
        total.drained_bytes += stats.drained_bytes;
        add(&mut total.service, &service);
        if let Some(response) = &response {
            add(total.response.get_or_insert_with(new_latencies), response);
        }
        for failures in &stats.failures {
            let ages = &failures.latencies;
            ages.service
                .add_to(total.failed.get_or_insert_with(new_latencies));
            if !ages.response.is_empty() {
                let failed = total.failed_response.get_or_insert_with(new_latencies);
                ages.response.add_to(failed);
            }
            if kind == Kind::ReadModifyWrite {
                continue; // the halves of a pair are counted already
            }
            let cause = failures.cause.name();
            let counts = &mut self.totals.errors;
            let mut known = counts.iter_mut();
            match known.find(|count| count.kind == kind && count.cause == cause) {
                Some(known) => known.count += failures.count,
                None => counts.push(ErrorCount {
                    kind,
                    cause: cause.to_owned(),
                    count: failures.count,
                    // The text of a server.
                    example: printable(&failures.example).into_owned(),
                }),
            }
        }
        IntervalKind {
            count: stats.count,
            errors,
            service: Packed::pack(&service),
            response: response.as_ref().map(Packed::pack),
        }
    }

    /// Merges intervals in pairs; from now on each covers twice the time.
    fn coarsen(&mut self) {
        self.seconds *= 2;
        for (slot, interval) in std::mem::take(&mut self.closed) {
            self.add_to_slot(&interval, slot / 2);
        }
    }

    /// Finishes a phase whose measured part was that long, nanoseconds. Seconds without completed
    /// operations become intervals too, also before the first completion and after the last one.
    pub fn finish(mut self, length_ns: u64) -> Phase {
        let slots = |seconds: u32| length_ns.div_ceil(u64::from(seconds) * INTERVAL_NS) as usize;
        while slots(self.seconds) > INTERVALS_MAX {
            self.coarsen();
        }
        while let Some((second, stats)) = self.open.pop_front() {
            self.pack(second, &stats);
        }
        for slot in 0..slots(self.seconds) as u32 {
            let nothing = || empty(slot, self.seconds);
            self.closed.entry(slot).or_insert_with(nothing);
        }
        let end_s = length_ns as f64 / 1e9;
        let mut intervals: Vec<Interval> = Vec::with_capacity(self.closed.len());
        for mut interval in self.closed.into_values() {
            let whole_s = interval.length_s;
            interval.length_s = (end_s - interval.start_s).clamp(0.0, whole_s);
            match intervals.last_mut() {
                // A fraction of an interval shows no rate. It is added to the previous one, with
                // the work of background clients after its end.
                Some(before) if interval.length_s < whole_s / 2.0 => {
                    let length_s = before.length_s + interval.length_s;
                    before.merge(&interval);
                    before.length_s = length_s;
                }
                _ => intervals.push(interval),
            }
        }
        let start_lag = self.lag.map(|causes| {
            let mut all = causes.no_client.clone();
            add(&mut all, &causes.woken_late);
            StartLag {
                all,
                causes: Some(causes),
            }
        });
        Phase {
            start_lag,
            block_qos: self.blocks.finish(),
            intervals,
            ..self.totals
        }
    }
}

fn empty(slot: u32, seconds: u32) -> Interval {
    let length_s = f64::from(seconds) * (INTERVAL_NS as f64 / 1e9);
    let start_s = f64::from(slot) * length_s;
    Interval::empty(start_s, length_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The snapshot of a client that did `n` reads of `value` ns in an interval.
    fn reads(interval: u32, n: u32, value: u64) -> Snapshot {
        let mut service = LatencyCounts::default();
        service.record_n(value, n);
        let kind = KindStats {
            count: n.into(),
            service,
            ..KindStats::default()
        };
        let mut stats = Box::new(IntervalStats {
            operations: n.into(),
            ..IntervalStats::default()
        });
        stats.kinds[Kind::Read as usize] = Some(Box::new(kind));
        let last_done = (u64::from(interval) + 1) * INTERVAL_NS - 1;
        Snapshot {
            interval,
            stats,
            last_done,
        }
    }

    #[test]
    fn every_operation_is_counted_once() {
        let mut collector = Collector::new();
        for interval in 0..20 {
            for client in 0..3 {
                collector.take(reads(interval, 10 + client, 1_000));
            }
        }
        collector.take(reads(0, 7, 90_000)); // a client that stalled for a long time
        let collected = collector.finish(20 * INTERVAL_NS);
        assert_eq!(collected.operations, 20 * 33 + 7);
        assert_eq!(collected.kinds[&Kind::Read].service.len(), 20 * 33 + 7);
        let sum = |i: &Interval| i.kinds[&Kind::Read].service.unpack().len();
        assert_eq!(
            collected.intervals.iter().map(sum).sum::<u64>(),
            20 * 33 + 7
        );
        assert_eq!(sum(&collected.intervals[0]), 40);
    }

    #[test]
    fn a_long_phase_is_coarsened_and_loses_nothing() {
        let mut collector = Collector::new();
        for interval in 0..5000 {
            collector.take(reads(interval, 2, 1_000 + u64::from(interval)));
        }
        let collected = collector.finish(5000 * INTERVAL_NS - 1);
        assert!(
            collected.intervals.len() <= INTERVALS_MAX,
            "{}",
            collected.intervals.len()
        );
        assert_eq!(
            collected
                .intervals
                .iter()
                .map(|i| i.operations)
                .sum::<u64>(),
            10_000
        );
        assert_eq!(collected.kinds[&Kind::Read].count, 10_000);
        let mut end = 0.0;
        for interval in &collected.intervals {
            assert!(
                (interval.start_s - end).abs() < 1e-9,
                "intervals follow each other"
            );
            end = interval.start_s + interval.length_s;
        }
        assert!((end - 5000.0).abs() < 0.01, "{end}");
    }

    #[test]
    fn blocks_are_of_a_million_however_long_the_phase_is() {
        let mut collector = Collector::new();
        for second in 0..5_000 {
            let slow = if (3_000..3_002).contains(&second) {
                100_000_000
            } else {
                1_000_000
            };
            collector.take(reads(second, 500_000, slow));
        }
        let phase = collector.finish(5_000 * INTERVAL_NS);
        assert_eq!(phase.intervals[0].length_s, 8.0, "4 million reads");
        let mut blocks = phase.block_qos.iter();
        let p50 = blocks.find(|block| block.quantile.name == "p50").unwrap();
        let p99 = blocks.find(|block| block.quantile.name == "p99").unwrap();
        assert_eq!((p99.blocks, p99.samples_min), (2_500, 1_000_000));
        // Two seconds are one block; they would be a quarter of an interval of 8.
        assert!(
            p50.worst.ns.abs_diff(100_000_000) < 1_000_000,
            "{}",
            p50.worst.ns
        );
        assert_eq!(p50.worst.start_s, 3_000.0);
    }

    #[test]
    fn seconds_without_a_completion_are_intervals() {
        // The first completion after 2 s, a stall of 4 s, and 3 s after the last completion.
        let mut collector = Collector::new();
        for interval in [2, 3, 8] {
            collector.take(reads(interval, 5, 1_000));
        }
        let collected = collector.finish(12 * INTERVAL_NS);
        let seen: Vec<_> = collected
            .intervals
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        let expected: Vec<_> = [0, 0, 5, 5, 0, 0, 0, 0, 5, 0, 0, 0]
            .into_iter()
            .zip(0..)
            .map(|(operations, second)| (f64::from(second), 1.0, operations))
            .collect();
        assert_eq!(seen, expected);
        assert!(collected.intervals[0].kinds.is_empty());
    }

    #[test]
    fn a_stall_makes_coarser_intervals_no_shorter() {
        let mut collector = Collector::new();
        for interval in (0..4000).filter(|second| !(500..1500).contains(second)) {
            collector.take(reads(interval, 2, 1_000));
        }
        let intervals = collector.finish(6000 * INTERVAL_NS).intervals;
        assert!(intervals.len() <= INTERVALS_MAX, "{}", intervals.len());
        assert!(intervals.iter().all(|i| (i.length_s - 8.0).abs() < 1e-9));
        let operations = |from: f64, to: f64| -> u64 {
            let inside = intervals.iter().filter(|i| (from..to).contains(&i.start_s));
            inside.map(|i| i.operations).sum()
        };
        assert_eq!(operations(0.0, 500.0), 1_000);
        assert_eq!(
            (operations(504.0, 1496.0), operations(4000.0, 6000.0)),
            (0, 0)
        );
        assert_eq!(operations(0.0, 6000.0), 6_000);
    }

    #[test]
    fn what_is_done_beside_the_point_after_its_end_is_in_its_last_interval() {
        let mut collector = Collector::new();
        for interval in [0, 1, 2, 4] {
            collector.take(reads(interval, 5, 1_000));
        }
        let collected = collector.finish(2 * INTERVAL_NS + INTERVAL_NS / 4);
        let seen: Vec<_> = collected
            .intervals
            .iter()
            .map(|i| (i.start_s, i.length_s, i.operations))
            .collect();
        assert_eq!(seen, [(0.0, 1.0, 5), (1.0, 1.25, 15)]);
    }

    #[test]
    fn a_phase_in_which_nothing_is_completed_has_its_intervals() {
        let intervals = Collector::new().finish(5 * INTERVAL_NS).intervals;
        assert_eq!(intervals.len(), 5);
        assert!(intervals.iter().all(|interval| interval.operations == 0));
        assert!(Collector::new().finish(0).intervals.is_empty());
    }

    #[test]
    fn totals_keep_three_digits() {
        let mut collector = Collector::new();
        collector.take(reads(0, 1, 123_456));
        let max = collector.finish(0).kinds[&Kind::Read].service.max();
        assert!(max.abs_diff(123_456) <= 123, "{max}");
    }
}
