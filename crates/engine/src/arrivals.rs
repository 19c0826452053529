//! One sequence of arrivals for all clients of a point at a fixed rate. Any free client takes the
//! next one, so that a slow operation delays no other while a client is free.

use crate::{clock::Tick, deal::Deal};
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tailmark_model::{Arrivals, Latencies, histogram, new_latencies};
use tailmark_workload::Poisson;

/// If more operations than these were not taken, only a sample of them is examined.
const SAMPLES: u64 = 1_000_000;

/// The instants at which operations are due, in nanoseconds after the start of the warm-up. Each is
/// given out once.
#[derive(Debug)]
pub struct ArrivalSequence {
    /// Arrivals per second that are given out here.
    rate: f64,
    /// When the measured part starts.
    measure: Tick,
    /// How many arrivals of the measured part are given out, if that is bounded. If several
    /// processes share an even sequence, the total of all.
    operations: Option<u64>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The number of the next arrival, and the first number that is no longer given out.
    Even {
        next: CachePadded<AtomicU64>,
        spacing: Spacing,
        /// Which arrivals belong to this process, if several share the sequence.
        deal: Option<Deal>,
        first_measured: u64,
        end: u64,
    },
    /// The last arrival given out, from which the next follows; and how many of the measured part
    /// were given out, if that is bounded.
    Poisson {
        process: Poisson,
        last: CachePadded<AtomicU64>,
        measured: AtomicU64,
        /// The last arrival of the measured part, if their number is bounded.
        last_measured: AtomicU64,
    },
}

/// When even arrivals are due. A whole rate is exact: each second has exactly that many.
#[derive(Debug, Clone, Copy)]
enum Spacing {
    /// 10^9 = rate times nanoseconds + rest.
    Whole {
        rate: u64,
        step_ns: u64,
        rest: u64,
    },
    Fraction {
        rate: f64,
    },
}

impl Spacing {
    fn new(rate: f64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        let whole = rate as u64;
        if whole as f64 == rate && whole <= SECOND {
            Self::Whole {
                rate: whole,
                step_ns: SECOND / whole,
                rest: SECOND % whole,
            }
        } else {
            Self::Fraction { rate }
        }
    }

    #[inline]
    const fn due(self, number: u64) -> Tick {
        match self {
            Self::Whole {
                rate,
                step_ns,
                rest,
            } => {
                let rests = number.saturating_mul(rest) / rate;
                number.saturating_mul(step_ns).saturating_add(rests)
            }
            Self::Fraction { rate } => (number as f64 * 1e9 / rate) as Tick,
        }
    }

    /// Arrivals per second.
    const fn rate(self) -> f64 {
        match self {
            Self::Whole { rate, .. } => rate as f64,
            Self::Fraction { rate } => rate,
        }
    }

    /// The number of the first arrival that is due at `from` or later.
    fn first_from(self, from: Tick) -> u64 {
        let mut number = (from as f64 / 1e9 * self.rate()) as u64;
        while number > 0 && self.due(number - 1) >= from {
            number -= 1;
        }
        while self.due(number) < from {
            number += 1;
        }
        number
    }
}

impl ArrivalSequence {
    /// A sequence of `rate` operations per second. If they are even, the first is due at 0. It ends
    /// after `operations` that are due at `measure` or later.
    pub fn new(
        arrivals: Arrivals,
        rate: f64,
        measure: Tick,
        operations: Option<u64>,
        seed: u64,
    ) -> Self {
        let source = match arrivals {
            Arrivals::Even => {
                let spacing = Spacing::new(rate);
                let first_measured = spacing.first_from(measure);
                Source::Even {
                    next: CachePadded::default(),
                    spacing,
                    deal: None,
                    first_measured,
                    end: operations.map_or(u64::MAX, |n| first_measured.saturating_add(n)),
                }
            }
            Arrivals::Poisson => Source::Poisson {
                process: Poisson::new(rate, seed),
                last: CachePadded::default(),
                measured: AtomicU64::new(0),
                last_measured: AtomicU64::new(0),
            },
        };
        Self {
            rate,
            measure,
            operations,
            source,
        }
    }

    /// The arrivals of an even sequence that are dealt to one of several processes.
    #[must_use]
    pub fn dealt(mut self, dealt: Deal, part: f64) -> Self {
        if let Source::Even {
            deal,
            first_measured,
            end,
            ..
        } = &mut self.source
        {
            *first_measured = dealt.before(*first_measured);
            *end = self.operations.map_or(u64::MAX, |_| dealt.before(*end));
            *deal = Some(dealt);
            self.rate *= part;
        }
        self
    }

    /// Takes the next arrival; `None` when all have been given out.
    #[inline]
    pub fn next(&self) -> Option<Tick> {
        match &self.source {
            Source::Even {
                next,
                spacing,
                deal,
                end,
                ..
            } => {
                let number = next.fetch_add(1, Relaxed);
                let of_all = || deal.as_ref().map_or(number, |deal| deal.number(number));
                (number < *end).then(|| spacing.due(of_all()))
            }
            Source::Poisson {
                process,
                last,
                measured,
                last_measured,
            } => {
                let mut before = last.load(Relaxed);
                let due = loop {
                    let due = process.after(before);
                    match last.compare_exchange_weak(before, due, Relaxed, Relaxed) {
                        Ok(_) => break due,
                        Err(newer) => before = newer,
                    }
                };
                if let Some(operations) = self.operations.filter(|_| due >= self.measure) {
                    if measured.fetch_add(1, Relaxed) >= operations {
                        return None;
                    }
                    last_measured.fetch_max(due, Relaxed);
                }
                Some(due)
            }
        }
    }

    /// Gives out nothing more that is due in the warm-up, if there is a shortcut past it.
    pub fn skip_warmup(&self) {
        if let Source::Even {
            next,
            first_measured,
            ..
        } = &self.source
        {
            next.fetch_max(*first_measured, Relaxed);
        }
    }

    /// Whether all have been given out.
    pub fn is_spent(&self) -> bool {
        self.left() == 0
    }

    /// How many are left to give out, at most.
    fn left(&self) -> u64 {
        match &self.source {
            Source::Even { next, end, .. } => end.saturating_sub(next.load(Relaxed)),
            Source::Poisson { measured, .. } => {
                let left = |n: u64| n.saturating_sub(measured.load(Relaxed));
                self.operations.map_or(u64::MAX, left)
            }
        }
    }

    /// When the last operation of a bounded sequence is due and, on average, the next one would be;
    /// `None` until it has been given out.
    pub fn end(&self) -> Option<Tick> {
        let operations = self.operations.filter(|_| self.is_spent())?;
        match &self.source {
            Source::Even { spacing, .. } => {
                let planned = operations as f64 / spacing.rate() * 1e9;
                Some(self.measure + planned as u64)
            }
            Source::Poisson { last_measured, .. } => {
                let planned = self.measure + (operations as f64 / self.rate * 1e9) as u64;
                Some(planned.max(last_measured.load(Relaxed)))
            }
        }
    }

    /// Takes all remaining arrivals that are due before `end`. Returns the ages at `now` of those
    /// in the measured part. If there are very many, the ages are those of [`SAMPLES`] of them,
    /// evenly spaced.
    pub fn take_left(&self, end: Tick, now: Tick) -> Latencies {
        self.skip_warmup();
        let mut ages = new_latencies();
        let mut add = |due: Tick, n: u64| {
            let age = now.saturating_sub(due);
            if due >= self.measure && n > 0 {
                histogram::record(&mut ages, age, n);
            }
        };
        for _ in 0..SAMPLES {
            match self.next().filter(|due| *due < end) {
                Some(due) => add(due, 1),
                None => return ages,
            }
        }
        // The rest of a Poisson process is counted at its average, and spaced evenly.
        let Some(from) = self.next().filter(|due| *due < end) else {
            return ages;
        };
        let from = from.max(self.measure).min(end);
        let expected = ((end - from) as f64 * self.rate / 1e9) as u64;
        let left = expected.min(self.left());
        let length = left as f64 / self.rate * 1e9;
        let part = |i: u64| (left as f64 * i as f64 / SAMPLES as f64) as u64;
        for i in 0..SAMPLES {
            // The last of each part is the youngest, so all are at least that old.
            let due = from + (length * (i + 1) as f64 / SAMPLES as f64) as u64;
            add(due.min(end), part(i + 1) - part(i));
        }
        ages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Tick = 1_000_000_000;

    fn all(sequence: &ArrivalSequence) -> Vec<Tick> {
        std::iter::from_fn(|| sequence.next()).collect()
    }

    #[test]
    fn even_arrivals_are_evenly_spaced_and_as_many_as_are_to_be_measured() {
        let sequence = ArrivalSequence::new(Arrivals::Even, 4.0, S, Some(3), 1);
        let expected = [0, 250, 500, 750, 1_000, 1_250, 1_500].map(|ms| ms * 1_000_000);
        assert_eq!(all(&sequence), expected);
        assert!(sequence.is_spent());
        assert_eq!(sequence.end(), Some(S + 3 * S / 4));
    }

    #[test]
    fn the_first_measured_arrival_is_the_first_that_is_due_in_the_measured_part() {
        for rate in [0.3, 3.0, 7.0, 999.0, 33_333.3, 1e6] {
            for from in [0, 1, S / 3, S, 7 * S + 1, 3_600 * S] {
                let spacing = Spacing::new(rate);
                let first = spacing.first_from(from);
                assert!(spacing.due(first) >= from, "{rate} {from}");
                assert!(first == 0 || spacing.due(first - 1) < from, "{rate} {from}");
            }
        }
    }

    #[test]
    fn a_whole_rate_has_as_many_arrivals_in_each_second() {
        for rate in [1_u32, 3, 7, 29, 999, 12_000, 33_333, 1_000_000] {
            let spacing = Spacing::new(f64::from(rate));
            for second in [1, 6, 60, 66, 3_600, 86_400] {
                let expected = u64::from(rate) * second;
                assert_eq!(spacing.first_from(second * S), expected, "{rate} {second}");
            }
        }
    }

    #[test]
    fn what_is_dealt_to_processes_is_the_sequence_itself() {
        let clients = [6, 5, 5];
        for (rate, operations) in [
            (3_000.0, Some(15_001)),
            (333.3, Some(1_000)),
            (3_000.0, None),
        ] {
            let whole = || ArrivalSequence::new(Arrivals::Even, rate, S / 3, operations, 1);
            let upto = |sequence: &ArrivalSequence| -> Vec<Tick> {
                let due = std::iter::from_fn(|| sequence.next());
                due.take_while(|due| *due < 6 * S).collect()
            };
            let mut dealt = Vec::new();
            for process in 0..clients.len() {
                let part = clients[process] as f64 / 16.0;
                let own = whole().dealt(Deal::new(process, &clients), part);
                dealt.extend(upto(&own));
                assert_eq!(own.end(), whole_end(&whole(), operations), "{rate}");
            }
            dealt.sort_unstable();
            assert_eq!(dealt, upto(&whole()), "{rate}");
        }
    }

    /// When a sequence ends after all of it was given out.
    fn whole_end(sequence: &ArrivalSequence, operations: Option<u64>) -> Option<Tick> {
        operations?;
        all(sequence);
        sequence.end()
    }

    #[test]
    fn of_what_was_dealt_to_a_process_its_part_is_left() {
        let whole = ArrivalSequence::new(Arrivals::Even, 1e7, 0, Some(5_000_000), 1);
        let own = whole.dealt(Deal::new(1, &[3, 1]), 0.25);
        assert!(own.take_left(S, S).len().abs_diff(1_250_000) <= 1);
    }

    #[test]
    fn a_bounded_poisson_sequence_ends_with_the_last_that_was_given_out() {
        let end = |asked_behind: usize| {
            let sequence = ArrivalSequence::new(Arrivals::Poisson, 10.0, 0, Some(100), 1);
            let last = all(&sequence).last().copied();
            (0..asked_behind).for_each(|_| _ = sequence.next());
            (sequence.end(), last)
        };
        let (first, last) = end(0);
        assert_eq!(first, Some(last.unwrap().max(10 * S)));
        assert_eq!(end(1_000).0, first);
    }

    #[test]
    fn no_more_is_left_than_was_to_be_measured() {
        // 1,000,000 are due in the warm-up; no client took any.
        for arrivals in Arrivals::ALL {
            let sequence = ArrivalSequence::new(arrivals, 1e6, S, Some(2_500_000), 1);
            let left = sequence.take_left(10 * S, 10 * S).len();
            assert!(left.abs_diff(2_500_000) <= 1, "{arrivals:?}: {left}");
        }
    }

    #[test]
    fn a_poisson_sequence_ends_after_as_many_as_are_to_be_measured() {
        let sequence = ArrivalSequence::new(Arrivals::Poisson, 1_000.0, S, Some(5_000), 1);
        let due = all(&sequence);
        assert!(due.is_sorted());
        assert_eq!(due.iter().filter(|due| **due >= S).count(), 5_000);
        assert!(sequence.is_spent());
    }

    #[test]
    fn what_nobody_took_is_counted_at_its_age() {
        let sequence = || ArrivalSequence::new(Arrivals::Even, 1_000.0, S, None, 1);
        let taken = sequence();
        (0..1_500).for_each(|_| _ = taken.next());
        // Due from 1,500 ms to 2,000 ms.
        let ages = taken.take_left(2 * S, 12 * S);
        assert_eq!(ages.len(), 500);
        let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 1_000;
        assert!(near(ages.min(), 10_001_000_000) && near(ages.max(), 10_500_000_000));
        // Operations due in the warm-up do not count.
        assert_eq!(sequence().take_left(2 * S, 2 * S).len(), 1_000);
    }

    #[test]
    fn of_very_many_that_nobody_took_number_and_ages_are_right() {
        for arrivals in Arrivals::ALL {
            let sequence = ArrivalSequence::new(arrivals, 1e7, 0, None, 1);
            let ages = sequence.take_left(S, S);
            let n = ages.len() as f64;
            assert!((n / 1e7 - 1.0).abs() < 2e-3, "{arrivals:?}: {n}");
            assert!((ages.mean() / 5e8 - 1.0).abs() < 2e-3, "{}", ages.mean());
        }
        let sequence = ArrivalSequence::new(Arrivals::Even, 1e7, 0, Some(5_000_000), 1);
        assert!(sequence.take_left(S, S).len().abs_diff(5_000_000) <= 1);
    }
}
