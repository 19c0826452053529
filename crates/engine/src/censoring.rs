//! Operations of a phase at a rate that were due and never sent. Each counts at its age when
//! waiting for it ended, so that a stall at the end appears in the latencies that it caused.

use crate::{clock::Tick, pacer::End, recorder::recorded_as, roles::Roles};
use tailmark_driver::OperationKind;
use tailmark_model::{Kind, Latencies, Phase, histogram, new_latencies};
use tailmark_workload::{ClientGroup, Workload};

/// Adds to a phase the arrivals that clients of the point, or background clients, left unsent: due
/// before `end`. Those of background clients are not operations of the point.
///
/// No client drew these operations, so each kind of request gets its share in the mix of their
/// group.
pub fn add_left(
    phase: &mut Phase,
    workload: &Workload,
    (roles, is_background): (&Roles, bool),
    end: &End,
    start: Tick,
) {
    if end.tick() == Tick::MAX {
        return;
    }
    for (group, arrivals) in roles.arrivals_of(workload, is_background) {
        let ages = arrivals.take_left(
            end.tick().saturating_sub(start),
            end.drained().saturating_sub(start),
        );
        if !is_background {
            phase.censored += ages.len();
        }
        for (kind, (from, to)) in shares(&workload.groups[group]) {
            let part = part(&ages, from, to);
            if !part.is_empty() {
                let result = phase.kinds.entry(kind).or_default();
                let censored = result.censored.get_or_insert_default();
                histogram::add(&mut censored.response, &part);
            }
        }
    }
}

/// The requests of each kind in the mix of a group, from which to which part of all operations. The
/// two halves of a read-modify-write are in those of reads and updates as well.
fn shares(group: &ClientGroup) -> Vec<(Kind, (f64, f64))> {
    let Some(own) = group.mix() else {
        let kinds = OperationKind::ALL.iter().filter(|kind| group.sends(**kind));
        return kinds.map(|kind| (recorded_as(*kind), (0.0, 1.0))).collect();
    };
    let (mix, sum) = (&own.mix, own.mix.sum());
    let reads = mix.read;
    let pairs = reads + mix.read_modify_write;
    let updates = pairs + mix.update;
    let inserts = updates + mix.insert;
    [
        (Kind::Read, (0.0, pairs)),
        (Kind::Update, (reads, updates)),
        (Kind::Insert, (updates, inserts)),
        (Kind::Scan, (inserts, inserts + mix.scan)),
        (Kind::ReadModifyWrite, (reads, pairs)),
    ]
    .map(|(kind, (from, to))| (kind, (from / sum, to / sum)))
    .to_vec()
}

/// A part of every latency, rounded so that the parts of all make the whole.
fn part(latencies: &Latencies, from: f64, to: f64) -> Latencies {
    let mut part = new_latencies();
    let (mut seen, mut given) = (0, 0);
    for bucket in latencies.iter_recorded() {
        seen += bucket.count_at_value();
        let up_to = |share: f64| (seen as f64 * share).round() as u64;
        let due = (up_to(to) - up_to(from)).max(given);
        histogram::record(&mut part, bucket.value_iterated_to(), due - given);
        given = due;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_latencies_is_as_large_and_as_old_as_all() {
        let mut all = new_latencies();
        (1..=1_000).for_each(|ms| all.record(ms * 1_000_000).unwrap());
        let quarter = part(&all, 0.0, 0.25);
        assert_eq!(quarter.len(), 250);
        assert!((quarter.mean() / all.mean() - 1.0).abs() < 0.01);
        assert!(part(&all, 0.5, 0.5).is_empty());
        assert_eq!(part(&all, 0.0, 1.0), all);
        // Halves of an odd number are not both rounded up.
        let mut odd = new_latencies();
        odd.record_n(1_000_000, 437).unwrap();
        let halves = [(0.0, 0.5), (0.5, 1.0)].map(|(from, to)| part(&odd, from, to).len());
        assert_eq!(halves, [219, 218]);
    }
}
