//! Merges what the recorders hand over: totals of the phase at full precision, and its intervals.
//!
//! An interval stays open for a few seconds, so that clients that were late can add to it; then it
//! is packed. A long phase is coarsened as it goes: intervals are merged in pairs.

use super::{
    counts::Counts,
    recorder::{Handover, INTERVAL_NS},
    sheet::{KindSheet, Sheet},
};
use crate::clock::Tick;
use std::collections::{BTreeMap, VecDeque};
use tailmark_results::{
    ErrorCount, Interval, IntervalKind, Kind, KindResult, Latencies, Packed, new_latencies,
};

/// The most intervals that are kept of a phase.
pub const INTERVALS_MAX: usize = 1200;

/// A phase whose requests fail, and none has succeeded for so many seconds, is ended.
pub const NO_ANSWER_S: u32 = 10;

/// For how many intervals one stays open.
const OPEN: u32 = 4;

/// What a phase measured, merged over all clients.
#[derive(Debug, Default)]
pub struct Collector {
    /// How many seconds an interval of this phase covers: a power of two.
    seconds: u32,
    /// Sheets by interval, not yet packed.
    open: VecDeque<(u32, Sheet)>,
    closed: BTreeMap<u32, Interval>,
    newest: u32,
    last_done: Tick,
    operations: u64,
    errors: u64,
    succeeded: u64,
    silence: Silence,
    kinds: BTreeMap<Kind, KindResult>,
    causes: Vec<ErrorCount>,
    lag: Option<Latencies>,
}

/// How long nothing has succeeded.
#[derive(Debug, Default)]
struct Silence {
    /// Successes when there was one last.
    succeeded: u64,
    /// Failures at that time.
    failed: u64,
    /// Looks since then that found failures.
    looks: u32,
}

impl Silence {
    const fn is_final(&self) -> bool {
        self.looks >= NO_ANSWER_S
    }
}

/// What a phase measured.
#[derive(Debug)]
pub struct Collected {
    /// When its last operation was done.
    pub last_done: Tick,
    /// Whether it was ended because nothing succeeded any more.
    pub no_answer: bool,
    /// Operations completed.
    pub operations: u64,
    /// Totals by kind.
    pub kinds: BTreeMap<Kind, KindResult>,
    /// Failures by kind and cause.
    pub errors: Vec<ErrorCount>,
    /// How much later than due operations were sent.
    pub start_lag: Option<Latencies>,
    /// At most [`INTERVALS_MAX`].
    pub intervals: Vec<Interval>,
}

impl Collector {
    /// One that has nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            seconds: 1,
            ..Self::default()
        }
    }

    /// Takes what a recorder handed over; gives back the emptied sheet.
    pub fn take(&mut self, mut handover: Handover) -> Box<Sheet> {
        if let Some(interval) = handover.interval {
            self.operations += handover.sheet.operations;
            self.errors += handover
                .sheet
                .kinds
                .iter()
                .flatten()
                .map(|k| k.errors())
                .sum::<u64>();
            self.last_done = self.last_done.max(handover.last_done);
            self.succeeded += handover
                .sheet
                .kinds
                .iter()
                .flatten()
                .map(|k| k.count)
                .sum::<u64>();
            self.newest = self.newest.max(interval);
            self.merge(interval / self.seconds, &handover.sheet);
            self.close_old();
        }
        handover.sheet.clear();
        handover.sheet
    }

    /// Operations and failures so far.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.operations, self.errors)
    }

    /// Whether requests have failed and none succeeded for [`NO_ANSWER_S`]. Asked once a second.
    pub fn has_no_answer(&mut self) -> bool {
        let silence = &mut self.silence;
        if silence.is_final() {
            // What is answered while the last requests come in does not make the phase longer.
        } else if self.succeeded > silence.succeeded {
            *silence = Silence {
                succeeded: self.succeeded,
                failed: self.errors,
                looks: 0,
            };
        } else if self.errors > silence.failed {
            silence.looks += 1;
        }
        silence.is_final()
    }

    /// The 99th percentile over all kinds that are sent, of the newest interval that all clients
    /// are likely to have passed; nanoseconds.
    #[must_use]
    pub fn recent_p99(&self) -> u64 {
        let Some((_, sheet)) = self.open.iter().rev().nth(usize::from(self.open.len() > 1)) else {
            return 0;
        };
        let mut all = Counts::default();
        for kind in Kind::ALL
            .into_iter()
            .filter(|k| *k != Kind::ReadModifyWrite)
        {
            if let Some(kind) = &sheet.kinds[kind as usize] {
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

    fn merge(&mut self, slot: u32, sheet: &Sheet) {
        if self.closed.contains_key(&slot) {
            // A client was stalled for longer than intervals stay open.
            self.pack(slot, sheet);
        } else if let Some((_, open)) = self.open.iter_mut().find(|(open, _)| *open == slot) {
            open.add(sheet);
        } else {
            let mut opened = Sheet::default();
            opened.add(sheet);
            let at = self.open.partition_point(|(open, _)| *open < slot);
            self.open.insert(at, (slot, opened));
        }
    }

    fn close_old(&mut self) {
        while let Some((slot, _)) = self.open.front()
            && (slot + 1) * self.seconds + OPEN <= self.newest
        {
            let (slot, sheet) = self.open.pop_front().expect("there is a front");
            self.pack(slot, &sheet);
        }
        if self.closed.len() + self.open.len() > INTERVALS_MAX {
            self.coarsen();
        }
    }

    /// Adds a sheet to the totals and to a packed interval.
    fn pack(&mut self, slot: u32, sheet: &Sheet) {
        if let Some(lag) = &sheet.lag {
            lag.add_to(self.lag.get_or_insert_with(new_latencies));
        }
        let mut interval = empty(slot, self.seconds);
        interval.operations = sheet.operations;
        for kind in Kind::ALL {
            if let Some(recorded) = &sheet.kinds[kind as usize]
                && recorded.count + recorded.errors() > 0
            {
                interval.kinds.insert(kind, self.total(kind, recorded));
            }
        }
        self.closed
            .entry(slot)
            .and_modify(|before| before.merge(&interval))
            .or_insert(interval);
    }

    /// Adds one kind's sheet to its totals; returns it as of its interval.
    fn total(&mut self, kind: Kind, sheet: &KindSheet) -> IntervalKind {
        let errors = sheet.errors();
        let service = sheet.service.latencies();
        let response = (!sheet.response.is_empty()).then(|| sheet.response.latencies());
        let total = self.kinds.entry(kind).or_default();
        total.count += sheet.count;
        total.not_found += sheet.not_found;
        total.errors += errors;
        total.bytes += sheet.bytes;
        add(&mut total.service, &service);
        if let Some(response) = &response {
            add(total.response.get_or_insert_with(new_latencies), response);
        }
        if !sheet.failed.is_empty() {
            let failed = total.failed.get_or_insert_with(new_latencies);
            sheet.failed.add_to(failed);
        }
        for failures in &sheet.failures {
            let cause = failures.cause.name();
            match self
                .causes
                .iter_mut()
                .find(|c| c.kind == kind && c.cause == cause)
            {
                Some(known) => known.count += failures.count,
                None => self.causes.push(ErrorCount {
                    kind,
                    cause: cause.to_owned(),
                    count: failures.count,
                    example: failures.example.clone(),
                }),
            }
        }
        IntervalKind {
            count: sheet.count,
            errors,
            service: Packed::pack(&service),
            response: response.as_ref().map(Packed::pack),
        }
    }

    /// Merges intervals in pairs: each covers twice the time from now on.
    fn coarsen(&mut self) {
        self.seconds *= 2;
        for (slot, interval) in std::mem::take(&mut self.closed) {
            let pair = || empty(slot / 2, self.seconds);
            self.closed
                .entry(slot / 2)
                .or_insert_with(pair)
                .merge(&interval);
        }
        for (slot, sheet) in std::mem::take(&mut self.open) {
            self.merge(slot / 2, &sheet);
        }
    }

    /// The end of a phase whose measured part started at `measure`.
    #[must_use]
    pub fn finish(mut self, measure: Tick) -> Collected {
        while let Some((slot, sheet)) = self.open.pop_front() {
            self.pack(slot, &sheet);
        }
        let last_done = self.last_done.max(measure);
        let end_s = (last_done - measure) as f64 / 1e9;
        let no_answer = self.silence.is_final();
        let mut intervals: Vec<_> = self.closed.into_values().collect();
        if let Some(mut last) = intervals.pop() {
            last.length_s = (end_s - last.start_s).clamp(0.0, last.length_s);
            // A fraction of an interval tells no rate: it is added to the one before.
            match intervals.last_mut() {
                Some(before) if last.length_s < before.length_s / 2.0 => before.merge(&last),
                _ => intervals.push(last),
            }
        }
        Collected {
            last_done,
            no_answer,
            operations: self.operations,
            kinds: self.kinds,
            errors: self.causes,
            start_lag: self.lag,
            intervals,
        }
    }
}

fn empty(slot: u32, seconds: u32) -> Interval {
    let length_s = f64::from(seconds) * (INTERVAL_NS as f64 / 1e9);
    let start_s = f64::from(slot) * length_s;
    Interval {
        start_s,
        length_s,
        operations: 0,
        kinds: BTreeMap::new(),
    }
}

fn add(into: &mut Latencies, from: &Latencies) {
    into.add(from)
        .expect("a histogram that grows takes any other");
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::Cause;

    /// What a client hands over that did `n` reads of `value` ns in an interval.
    fn reads(interval: u32, n: u32, value: u64) -> Handover {
        let mut service = Counts::default();
        service.record_n(value, n);
        let kind = KindSheet {
            count: n.into(),
            service,
            ..KindSheet::default()
        };
        let mut sheet = Box::new(Sheet {
            operations: n.into(),
            ..Sheet::default()
        });
        sheet.kinds[Kind::Read as usize] = Some(Box::new(kind));
        let last_done = (u64::from(interval) + 1) * INTERVAL_NS - 1;
        Handover {
            interval: Some(interval),
            sheet,
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
        collector.take(reads(0, 7, 90_000)); // a client that was stalled for long
        let collected = collector.finish(0);
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
        let collected = collector.finish(0);
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
    fn a_phase_that_was_ended_for_want_of_answers_stays_so() {
        let failed = |interval| {
            let mut failed = reads(interval, 1, 1_000);
            let kind = failed.sheet.kinds[Kind::Read as usize].as_mut().unwrap();
            kind.count = 0;
            kind.count_failures(Cause::Timeout, 1, "no answer");
            failed
        };
        let mut collector = Collector::new();
        collector.take(reads(0, 1, 1_000));
        assert!(!collector.has_no_answer());
        for look in 1..NO_ANSWER_S {
            collector.take(failed(look));
            assert!(!collector.has_no_answer(), "{look}");
        }
        collector.take(failed(NO_ANSWER_S));
        assert!(collector.has_no_answer());
        // The answer to a request that was in flight.
        collector.take(reads(NO_ANSWER_S + 1, 1, 1_000));
        assert!(collector.has_no_answer());
        assert!(collector.finish(0).no_answer);
    }

    #[test]
    fn the_warm_up_is_dropped() {
        let mut collector = Collector::new();
        collector.take(Handover {
            interval: None,
            ..reads(0, 5, 1_000)
        });
        assert_eq!(collector.finish(0).operations, 0);
    }

    #[test]
    fn totals_keep_three_digits() {
        let mut collector = Collector::new();
        collector.take(reads(0, 1, 123_456));
        let max = collector.finish(0).kinds[&Kind::Read].service.max();
        assert!(max.abs_diff(123_456) <= 123, "{max}");
    }
}
