//! The parts that clients play: those of the point, and those beside them.
//!
//! A client beside the point (the writer of db_bench's readwhilewriting) runs the same loop. What it
//! does is recorded by kind but is no operation of the point, it spends no budget, and it ends when
//! the last client of the point has ended.

use super::{
    pacer::{End, Schedule},
    recorder::{Record, Timing},
};
use crate::clock::Tick;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tailmark_driver::Reply;
use tailmark_results::Kind;
use tailmark_workload::{Wave, Workload, assign_groups};

/// The clients of a phase: which group each is in, and who is left.
pub struct Parts {
    parts: Vec<Part>,
    running: Arc<AtomicU32>,
    beside_end: End,
}

/// What one client does its part by.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The group of the workload.
    pub group: usize,
    /// Whether it is beside those of the point.
    pub is_beside: bool,
    /// Operations per second over its fellows, if it does not go as fast as it can.
    pub rate: Option<f64>,
    /// What the rate swings by.
    pub wave: Option<Wave>,
    /// Its place among those that share the rate, and how many these are.
    place: (u32, u32),
}

impl Parts {
    /// The parts in a phase of so many clients and this rate.
    pub fn new(workload: &Workload, clients: u32, rate: Option<f64>) -> Self {
        let assigned = assign_groups(workload, clients);
        let group = |index: usize| &workload.groups[index];
        // Those without a rate of their own share that of the point.
        let fellows = |a: usize, b: usize| {
            a == b
                || [a, b]
                    .iter()
                    .all(|g| group(*g).rate.is_none() && !group(*g).is_beside())
        };
        let count = |slice: &[usize], index| slice.iter().filter(|g| fellows(**g, index)).count();
        let part = |(client, &index): (usize, &usize)| Part {
            group: index,
            is_beside: group(index).is_beside(),
            rate: group(index)
                .rate
                .or(rate.filter(|_| !group(index).is_beside())),
            wave: group(index).wave,
            place: (
                count(&assigned[..client], index) as u32,
                count(&assigned, index) as u32,
            ),
        };
        let parts = assigned.iter().enumerate().map(part).collect();
        let (running, beside_end) = (Arc::new(AtomicU32::new(clients)), End::at(Tick::MAX));
        Self {
            parts,
            running,
            beside_end,
        }
    }

    /// Every client's number with its part.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Part)> + '_ {
        (0..).zip(self.parts.iter().copied())
    }

    /// The part of client `index`.
    pub fn of(&self, index: u32) -> Part {
        self.parts[index as usize]
    }

    /// Whether any client has a rate.
    pub fn have_rate(&self) -> bool {
        self.parts.iter().any(|part| part.rate.is_some())
    }

    /// When a client ends: one of the point at `end`, one beside it after the last of those.
    pub fn end(&self, part: Part, end: &End) -> End {
        if part.is_beside {
            self.beside_end.clone()
        } else {
            end.clone()
        }
    }

    /// What a client keeps while it runs.
    pub fn presence(&self, part: Part) -> Option<Presence> {
        // Made only where it is kept: one that is dropped counts as a client that has ended.
        (!part.is_beside).then(|| Presence {
            running: Arc::clone(&self.running),
            end: self.beside_end.clone(),
        })
    }
}

impl Part {
    /// When its operations are due, at a rate.
    pub fn schedule(&self) -> Option<Schedule> {
        let (client, clients) = self.place;
        self.rate.map(|rate| match self.wave {
            None => Schedule::new(rate, client, clients),
            Some(wave) => Schedule::swinging(rate, wave, client, clients),
        })
    }
}

/// A client of the point that runs. The last one to be dropped ends those beside the point.
pub struct Presence {
    running: Arc<AtomicU32>,
    end: End,
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.end.bring_forward(0);
        }
    }
}

/// Records what a client beside the point does, without counting it as operations of the point.
pub struct Beside<R>(pub R);

impl<R: Record> Record for Beside<R> {
    #[inline]
    fn record(&mut self, kind: Kind, timing: Timing, reply: &Reply) {
        self.0.record(kind, timing, reply);
    }

    #[inline]
    fn record_pair(&mut self, timing: Timing, succeeded: bool) {
        self.0.record_pair(timing, succeeded);
    }

    #[inline]
    fn finish(&mut self, _: Timing) {}

    fn hand_over(&mut self) {
        self.0.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_of_the_point_share_its_rate() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        let parts = Parts::new(&workload, 3, Some(300.0));
        let places: Vec<_> = parts
            .iter()
            .map(|(_, p)| (p.is_beside, p.rate, p.place))
            .collect();
        let reader = |place| (false, Some(300.0), (place, 3));
        assert_eq!(
            places,
            [(true, None, (0, 1)), reader(0), reader(1), reader(2)]
        );
    }

    #[test]
    fn those_beside_the_point_end_with_the_last_of_it() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        let parts = Parts::new(&workload, 2, None);
        let (writer, reader) = (parts.of(0), parts.of(1));
        assert!(parts.presence(writer).is_none());
        let end = parts.end(writer, &End::at(7));
        let (first, second) = (parts.presence(reader), parts.presence(reader));
        drop(first);
        assert_eq!(end.tick(), Tick::MAX);
        drop(second);
        assert_eq!(end.tick(), 0);
    }
}
