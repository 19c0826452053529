//! The other ranks of a phase, from the measured path's view: when all start and end.

use super::{
    link::Link,
    message::{Message, Seconds},
};
use std::{sync::Mutex, time::Duration};
use tailmark_engine::{Enough, Peers, PhaseEnd, Reading};
use tailmark_model::Interval;

/// How far ahead the start is agreed upon, and the additional time for each rank.
const AHEAD: Duration = Duration::from_millis(100);
const AHEAD_EACH: Duration = Duration::from_micros(200);

/// The other ranks of one phase.
pub struct PhasePeers<'a> {
    pub link: &'a Link,
    pub number: u64,
    /// Of a rank that follows: an instant of its own clock, the same of that of rank 0, and how much
    /// faster the latter goes.
    pub clock: (u64, u64, f64),
    /// From the start to the planned end of the measured part.
    pub planned: Option<Duration>,
}

impl PhasePeers<'_> {
    /// Waits until every rank is ready, and returns the start; `None` if one is not, or if a stop
    /// was requested.
    fn give_start(&self) -> Option<u64> {
        let link = self.link;
        let is_ready = link.wait(|state| {
            let told = state.inbox.front().is_some();
            let phase = state.phase.as_mut()?;
            // A rank answers before it was asked for its part: it has failed.
            if phase.failed.is_some() || told || link.stop.requested() || phase.stop.requested() {
                return Some(false);
            }
            (phase.ready.len() + 1 >= phase.ranks as usize).then_some(true)
        });
        let ahead = AHEAD + AHEAD_EACH * link.cluster.size();
        let at = is_ready.then(|| link.cluster.now_ns() + ahead.as_nanos() as u64);
        link.in_phase(self.number, |phase| {
            let start = Message::Start {
                phase: self.number,
                at,
            };
            link.send_each(phase.ranks, &start);
        });
        at
    }

    /// Says that this rank is ready, and waits for the start.
    fn await_start(&self) -> Option<u64> {
        self.link.send(0, &Message::Ready { phase: self.number });
        self.link.wait(|state| {
            let phase = state.phase.as_mut()?;
            if phase.stop.requested() {
                Some(None)
            } else {
                phase.start
            }
        })
    }
}

impl Peers for PhasePeers<'_> {
    fn own_ns(&self) -> u64 {
        self.link.cluster.now_ns()
    }

    fn agreed(&self, own_ns: u64) -> u64 {
        let (own, leader, faster) = self.clock;
        let since = own_ns.wrapping_sub(own).cast_signed();
        leader.saturating_add_signed(since + (since as f64 * faster) as i64)
    }

    fn reading(&self) -> Reading {
        self.link.reading
    }

    fn start(&self) -> Option<u64> {
        if self.link.is_leader() {
            self.give_start()
        } else {
            self.await_start()
        }
    }

    fn starts(&self, end: PhaseEnd) {
        self.link.in_phase(self.number, |phase| {
            // The duration of a simulation is unknown.
            if let Some(planned) = self.planned.filter(|_| !end.is_simulated) {
                phase.ends_within(planned);
            }
            phase.end = Some(end);
        });
    }

    fn ends(&self, after: Duration) {
        let now = self.link.cluster.now_ns();
        self.link.in_phase(self.number, |phase| {
            let gone = phase.end.as_ref().map(|end| end.since(now));
            phase.ends_within(after.saturating_sub(gone.unwrap_or_default()));
            let end = Message::End {
                phase: self.number,
                after,
            };
            self.link.send_each(phase.ranks, &end);
        });
    }

    fn ended(&self, late: Duration, ahead_ns: i64) {
        self.link.in_phase(self.number, |phase| {
            (phase.late, phase.ahead_ns) = (late, ahead_ns);
        });
    }
}

/// Reports each closed interval of this rank to rank 0.
pub struct Streamer<'a> {
    link: &'a Link,
    number: u64,
    /// The end of the intervals reported so far, seconds.
    told_s: Mutex<f64>,
}

impl<'a> Streamer<'a> {
    pub const fn new(link: &'a Link, number: u64) -> Self {
        Self {
            link,
            number,
            told_s: Mutex::new(0.0),
        }
    }
}

impl Enough for Streamer<'_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        let mut told_s = self
            .told_s
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let new = so_far.iter().filter(|i| i.start_s > *told_s - 1e-6);
        let closed: Vec<Seconds> = new
            .map(|interval| Seconds::from_interval(interval))
            .collect();
        if let Some(last) = so_far.last()
            && !closed.is_empty()
        {
            *told_s = last.start_s + last.length_s;
            let phase = self.number;
            self.link.send(0, &Message::Intervals { phase, closed });
            self.await_verdict(*told_s);
        }
        false
    }
}

impl Streamer<'_> {
    /// In simulated time nothing continues before rank 0 has decided whether that was enough.
    fn await_verdict(&self, told_s: f64) {
        self.link.wait(|state| {
            let phase = state.phase.as_ref().filter(|p| p.number == self.number);
            let Some(phase) = phase.filter(|phase| phase.is_simulated()) else {
                return Some(());
            };
            let is_said = phase.continues_until_s >= told_s - 1e-6 || phase.has_end;
            (is_said || phase.stop.requested()).then_some(())
        });
    }
}

/// Asks whether there is enough of all ranks together.
pub struct OfAll<'a> {
    pub link: &'a Link,
    pub number: u64,
    pub asked: &'a dyn Enough,
    /// What all have added to each interval of this rank.
    merged: Mutex<Vec<Interval>>,
}

impl<'a> OfAll<'a> {
    pub const fn new(link: &'a Link, number: u64, asked: &'a dyn Enough) -> Self {
        Self {
            link,
            number,
            asked,
            merged: Mutex::new(Vec::new()),
        }
    }

    /// In simulated time nothing continues before all have reported an interval.
    fn await_others(&self, own: &Interval) {
        self.link.wait(|state| {
            let phase = state.phase.as_ref().filter(|p| p.number == self.number);
            let Some(phase) = phase.filter(|phase| phase.is_simulated()) else {
                return Some(());
            };
            let end_s = own.start_s + own.length_s;
            let is_told = (1..phase.ranks).all(|rank| phase.has_told(rank, end_s));
            (is_told || phase.stop.requested() || phase.failed.is_some()).then_some(())
        });
    }

    /// An interval of this rank combined with those of the others; `None` before all have reported.
    fn with_others(&self, own: &Interval) -> Option<Interval> {
        let mut all = own.clone();
        let end_s = own.start_s + own.length_s;
        let added = self.link.in_phase(self.number, |phase| {
            for rank in 1..phase.ranks {
                if !phase.has_told(rank, end_s) {
                    return None;
                }
                let told = phase.closed.get(&rank).map_or(&[][..], Vec::as_slice);
                let from = told.partition_point(|i| i.start_s < own.start_s - 1e-6);
                let within = told[from..].iter().take_while(|i| i.start_s < end_s - 1e-6);
                within.for_each(|interval| all.merge(interval));
            }
            Some(())
        });
        added??;
        (all.start_s, all.length_s) = (own.start_s, own.length_s);
        Some(all)
    }
}

impl Enough for OfAll<'_> {
    fn is_enough(&self, so_far: &[&Interval]) -> bool {
        let mut merged = self
            .merged
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_same =
            |(a, b): (&Interval, &&Interval)| a.start_s == b.start_s && a.length_s == b.length_s;
        let kept = merged
            .iter()
            .zip(so_far)
            .take_while(|pair| is_same(*pair))
            .count();
        merged.truncate(kept);
        for own in &so_far[kept..] {
            self.await_others(own);
            match self.with_others(own) {
                Some(all) => merged.push(all),
                None => break,
            }
        }
        let is_enough = self.asked.is_enough(&merged.iter().collect::<Vec<_>>());
        if let Some(last) = so_far.last()
            && !is_enough
        {
            self.link.go_on(self.number, last.start_s + last.length_s);
        }
        is_enough
    }
}
