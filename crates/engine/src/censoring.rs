//! Operations of a phase at a rate that were due and never sent. Each counts at its age when
//! waiting for it ended, so that a stall at the end appears in the latencies that it caused.

use crate::{client::recorded_as, clock::Tick, pacer::End, roles::Roles};
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
        for (kind, share) in shares(&workload.groups[group]) {
            let part = scaled(&ages, share);
            if !part.is_empty() {
                let result = phase.kinds.entry(kind).or_default();
                let censored = result.censored.get_or_insert_default();
                histogram::add(&mut censored.response, &part);
            }
        }
    }
}

/// The number of requests of each kind per operation of a group.
fn shares(group: &ClientGroup) -> Vec<(Kind, f64)> {
    let Some(own) = group.mix() else {
        let kinds = OperationKind::ALL.iter().filter(|kind| group.sends(**kind));
        return kinds.map(|kind| (recorded_as(*kind), 1.0)).collect();
    };
    let (mix, sum) = (&own.mix, own.mix.sum());
    let pairs = mix.read_modify_write;
    [
        (Kind::Read, mix.read + pairs),
        (Kind::Update, mix.update + pairs),
        (Kind::Insert, mix.insert),
        (Kind::Scan, mix.scan),
        (Kind::ReadModifyWrite, pairs),
    ]
    .map(|(kind, weight)| (kind, weight / sum))
    .to_vec()
}

/// A share (0 or more) of every latency, rounded so that the total is right.
fn scaled(latencies: &Latencies, share: f64) -> Latencies {
    let mut part = new_latencies();
    let (mut seen, mut given) = (0, 0);
    for bucket in latencies.iter_recorded() {
        seen += bucket.count_at_value();
        let due = (seen as f64 * share).round() as u64;
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
        let part = scaled(&all, 0.25);
        assert_eq!(part.len(), 250);
        assert!((part.mean() / all.mean() - 1.0).abs() < 0.01);
        assert!(scaled(&all, 0.0).is_empty());
        assert_eq!(scaled(&all, 1.0), all);
    }
}
