//! What the leaders of write groups did, by time, so that the wait of those in their groups can be
//! charged to it.
//!
//! RocksDB lets one writer of a group do the work of all: it is the one that is stalled, that writes
//! and syncs the log. The others only wait. Leaders follow one another, so slots of a millisecond
//! with the time that each work took say what went on.

use super::taken::TakenApart;
use tailmark_driver::Part;

/// What a leader does for its group, in this order.
pub const WORK: [Part; 6] = [
    Part::Stall,
    Part::MemtableSwitch,
    Part::LogOther,
    Part::LogWrite,
    Part::LogSync,
    Part::MemtableInsert,
];

/// The shortest work that is noted, nanoseconds.
const NOTED_NS: u64 = 10_000;
/// The length of a slot at first.
const SLOT_NS: u64 = 1_000_000;
/// The most slots; then each becomes twice as long.
const SLOTS_MAX: usize = 1 << 20;

/// What one leader did.
#[derive(Debug, Clone, Copy)]
pub struct Led {
    /// When it was done.
    done: u64,
    /// The time of each work, nanoseconds.
    ns: [u64; WORK.len()],
}

impl Led {
    /// The work of a request, if it led a group and that took a while. One that only inserts is
    /// not known to have led.
    pub fn from_taken(taken: &TakenApart) -> Option<Self> {
        let ns = WORK.map(|part| taken.parts.part_ns(part));
        let sum: u64 = ns.iter().sum();
        let has_led = sum > ns[WORK.len() - 1];
        (has_led && sum >= NOTED_NS).then_some(Self {
            done: taken.done,
            ns,
        })
    }
}

/// The work of all leaders by time.
#[derive(Debug)]
pub struct Leaders {
    slot_ns: u64,
    /// Nanoseconds of each work.
    slots: Vec<[u32; WORK.len()]>,
}

impl Default for Leaders {
    fn default() -> Self {
        Self {
            slot_ns: SLOT_NS,
            slots: Vec::new(),
        }
    }
}

impl Leaders {
    /// Adds what a leader did. Its work ended about when it was done.
    pub fn add(&mut self, led: &Led) {
        let mut end = led.done;
        for (work, ns) in led.ns.iter().enumerate().rev() {
            let start = end.saturating_sub(*ns);
            self.spread(work, start, end);
            end = start;
        }
    }

    fn spread(&mut self, work: usize, start: u64, end: u64) {
        while end / self.slot_ns >= SLOTS_MAX as u64 {
            self.coarsen();
        }
        let last = (end / self.slot_ns) as usize;
        if last >= self.slots.len() && start < end {
            self.slots.resize(last + 1, [0; WORK.len()]);
        }
        for (slot, ns) in overlaps(start, end, self.slot_ns) {
            let sum = &mut self.slots[slot][work];
            *sum = sum.saturating_add(u32::try_from(ns).unwrap_or(u32::MAX));
        }
    }

    fn coarsen(&mut self) {
        self.slot_ns *= 2;
        let pairs = self.slots.chunks(2).map(|pair| {
            let mut both = pair[0];
            if let Some(second) = pair.get(1) {
                for (sum, ns) in both.iter_mut().zip(second) {
                    *sum = sum.saturating_add(*ns);
                }
            }
            both
        });
        self.slots = pairs.collect();
    }

    /// What leaders did while a request waited in groups: of each work, the share of the request's
    /// time, which its wait is taken to have too.
    fn shares(&self, start: u64, end: u64) -> [f64; WORK.len()] {
        let mut sums = [0.0; WORK.len()];
        for (slot, ns) in overlaps(start, end, self.slot_ns) {
            let Some(work) = self.slots.get(slot) else {
                break;
            };
            for (sum, done) in sums.iter_mut().zip(work) {
                *sum += ns as f64 * f64::from(*done) / self.slot_ns as f64;
            }
        }
        let all: f64 = sums.iter().sum();
        let whole = ((end - start) as f64).max(all).max(1.0);
        sums.map(|sum| sum / whole)
    }

    /// Charges the wait of a request in write groups to what leaders did meanwhile. Returns what was
    /// charged to each work, nanoseconds.
    pub fn charge(&self, taken: &mut TakenApart) -> [u64; WORK.len()] {
        let waited = taken.parts.part_ns(Part::WriteGroup);
        if waited == 0 || taken.done <= taken.sent {
            return [0; WORK.len()];
        }
        let shares = self.shares(taken.sent, taken.done);
        let charged = shares.map(|share| (share * waited as f64) as u64);
        for (part, ns) in WORK.iter().zip(charged) {
            let taken_away = taken.parts.take(Part::WriteGroup, ns);
            taken.parts.add(*part, taken_away);
        }
        charged
    }
}

/// The slots that a time overlaps, and by how much.
fn overlaps(start: u64, end: u64, slot_ns: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut at = start;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let slot = at / slot_ns;
        let next = ((slot + 1) * slot_ns).min(end);
        let ns = next - at;
        at = next;
        Some((slot as usize, ns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::Parts;

    const MS: u64 = 1_000_000;

    fn request(sent: u64, done: u64, part: Part, ns: u64) -> TakenApart {
        let mut parts = Parts::default();
        parts.add(part, ns);
        parts.fit(done - sent);
        TakenApart {
            due: sent,
            sent,
            done,
            tag: 0,
            client: 0,
            key: 0,
            parts,
        }
    }

    #[test]
    fn a_wait_in_a_group_is_charged_to_what_its_leader_did_meanwhile() {
        let mut leaders = Leaders::default();
        let leader = request(10 * MS, 40 * MS, Part::Stall, 29 * MS);
        leaders.add(&Led::from_taken(&leader).unwrap());
        let mut follower = request(20 * MS, 40 * MS, Part::WriteGroup, 20 * MS);
        leaders.charge(&mut follower);
        assert_eq!(follower.parts.part_ns(Part::Stall), 20 * MS);
        assert_eq!(follower.parts.part_ns(Part::WriteGroup), 0);
        // Half of its wait was before the stall, while no leader did anything.
        let mut early = request(MS, 21 * MS, Part::WriteGroup, 20 * MS);
        leaders.charge(&mut early);
        assert_eq!(early.parts.part_ns(Part::Stall), 10 * MS);
        assert_eq!(early.parts.part_ns(Part::WriteGroup), 10 * MS);
    }

    #[test]
    fn a_long_phase_has_longer_slots_and_loses_nothing() {
        let mut leaders = Leaders::default();
        leaders.add(&Led::from_taken(&request(0, 4 * MS, Part::LogSync, 4 * MS)).unwrap());
        let late = 3_000_000 * MS;
        leaders
            .add(&Led::from_taken(&request(late, late + 4 * MS, Part::LogSync, 4 * MS)).unwrap());
        assert!(leaders.slots.len() <= SLOTS_MAX);
        let at = WORK.iter().position(|part| *part == Part::LogSync).unwrap();
        let sum: u64 = leaders.slots.iter().map(|slot| u64::from(slot[at])).sum();
        assert_eq!(sum, 8 * MS);
    }

    #[test]
    fn one_that_only_inserts_has_not_led() {
        assert!(Led::from_taken(&request(0, MS, Part::MemtableInsert, MS)).is_none());
        assert!(
            Led::from_taken(&request(0, MS, Part::LogWrite, 5_000)).is_none(),
            "short"
        );
    }
}
