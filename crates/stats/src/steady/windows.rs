//! The windows of a phase: the intervals of equal stretches of its time.

use tailmark_model::{Interval, Kind, Latencies, histogram, packed::new_interval_latencies};

/// More intervals than any phase has. An import that exceeds it is not examined.
const SLOTS_MAX: f64 = 100_000.0;

/// The intervals of a phase in slots of equal length, empty where nothing was done.
#[derive(Clone)]
pub struct Slots<'a> {
    length_s: f64,
    slots: Vec<Option<&'a Interval>>,
    /// The start of the first slot, seconds since the start of the phase.
    start_s: f64,
}

impl<'a> Slots<'a> {
    /// Slots from intervals in order of time; `None` if there are none.
    pub fn new(intervals: &[&'a Interval]) -> Option<Self> {
        let (first, last) = (intervals.first()?, intervals.last()?);
        let length_s = first.length_s;
        let place = |interval: &Interval| (interval.start_s / length_s).round();
        if !(length_s > 0.0 && place(first) >= 0.0 && place(last) < SLOTS_MAX) {
            return None;
        }
        let mut slots = vec![None; place(last) as usize + 1];
        for interval in intervals {
            *slots.get_mut(place(interval) as usize)? = Some(*interval);
        }
        Some(Self {
            length_s,
            slots,
            start_s: 0.0,
        })
    }

    /// The slots that begin at an instant or later, seconds since the start of the phase.
    pub fn from(&self, from_s: f64) -> Self {
        let skipped = ((from_s / self.length_s).ceil() as usize).min(self.slots.len());
        Self {
            length_s: self.length_s,
            slots: self.slots[skipped..].to_vec(),
            start_s: self.start_s + skipped as f64 * self.length_s,
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn time_s(&self) -> f64 {
        self.slots.len() as f64 * self.length_s
    }

    /// The number of slots that together last at least this long; at least one.
    pub fn count_of(&self, time_s: f64) -> usize {
        ((time_s / self.length_s).ceil() as usize).max(1)
    }

    /// Requests of a kind that did not fail.
    pub fn count(&self, kind: Kind) -> u64 {
        count(&self.slots, kind)
    }

    /// Whether anything was written.
    pub fn writes(&self) -> bool {
        writes(&self.slots)
    }

    /// The last windows of this many slots each. There must be enough slots.
    pub fn last_windows(&self, count: usize, length: usize) -> Vec<Window<'_>> {
        let skipped = self.slots.len() - count * length;
        let windows = self.slots[skipped..].chunks_exact(length).enumerate();
        windows
            .map(|(index, slots)| Window {
                slots,
                slot_s: self.length_s,
                start_s: self.start_s + (skipped + index * length) as f64 * self.length_s,
            })
            .collect()
    }
}

fn count(slots: &[Option<&Interval>], kind: Kind) -> u64 {
    let kinds = slots.iter().flatten().filter_map(|i| i.kinds.get(&kind));
    kinds.map(|result| result.count).sum()
}

fn writes(slots: &[Option<&Interval>]) -> bool {
    let kinds = [Kind::Update, Kind::Insert, Kind::Delete];
    kinds.into_iter().any(|kind| count(slots, kind) > 0)
}

/// One window.
pub struct Window<'a> {
    slots: &'a [Option<&'a Interval>],
    slot_s: f64,
    /// Seconds since the start of the phase.
    pub start_s: f64,
}

impl Window<'_> {
    pub fn length_s(&self) -> f64 {
        self.slots.len() as f64 * self.slot_s
    }

    pub fn end_s(&self) -> f64 {
        self.start_s + self.length_s()
    }

    pub fn count(&self, kind: Kind) -> u64 {
        count(self.slots, kind)
    }

    pub fn writes(&self) -> bool {
        writes(self.slots)
    }

    /// Successful operations.
    pub fn succeeded(&self) -> u64 {
        self.slots.iter().flatten().map(|i| i.succeeded()).sum()
    }

    pub fn ops_per_sec(&self) -> f64 {
        // The last interval of a phase may be a little longer than the others.
        let length = |slot: &Option<&Interval>| slot.map_or(self.slot_s, |i| i.length_s);
        let time_s: f64 = self.slots.iter().map(length).sum();
        self.succeeded() as f64 / time_s
    }

    /// Failed requests of a kind.
    pub fn failed(&self, kind: Kind) -> u64 {
        let slots = self.slots.iter().flatten();
        slots
            .filter_map(|i| i.kinds.get(&kind))
            .map(|own| own.errors)
            .sum()
    }

    /// Latencies of a kind: response times if they differ from service times.
    pub fn latencies(&self, kind: Kind) -> Latencies {
        let mut all = new_interval_latencies();
        let slots = self.slots.iter().flatten();
        for result in slots.filter_map(|i| i.kinds.get(&kind)) {
            let one = result.response.as_ref().unwrap_or(&result.service).unpack();
            histogram::add(&mut all, &one);
        }
        all
    }
}
