//! How many requests of a kind a workload's operations send. They decide whether a plan is long
//! enough for a quantile of their latencies.

use tailmark_model::Kind;
use tailmark_workload::{
    ClientGroup, GroupOperations, Mix, Workload, assign_groups,
    db_bench::{MixGraph, Op},
};

/// Mean requests of a kind per operation of a point with that many clients, from 0 to 1. Background
/// clients are left out, because their requests are not operations. `None` if it is unknown in
/// advance: groups of clients with different work are not equally fast.
///
/// A read-modify-write is one operation, and one request of each of its three kinds.
#[must_use]
pub fn requests_per_operation(workload: &Workload, kind: Kind, clients: u32) -> Option<f64> {
    let groups = assign_groups(workload, clients).into_iter();
    let groups = groups.map(|index| &workload.groups[index]);
    let mut shares = groups
        .filter(|group| !group.is_background())
        .map(|group| of_group(group, kind));
    let first = shares.next()??;
    shares.all(|share| share == Some(first)).then_some(first)
}

/// Whether any client of a workload sends requests of a kind.
pub(super) fn sends(workload: &Workload, kind: Kind) -> bool {
    let mut groups = workload.groups.iter();
    groups.any(|group| of_group(group, kind) != Some(0.0))
}

/// Whether background clients of a workload send requests of a kind, and no other client does.
pub(super) fn is_of_background(workload: &Workload, kind: Kind) -> bool {
    let sends = |is_background: bool| {
        let mut groups = workload.groups.iter();
        groups.any(|group| {
            group.is_background() == is_background && of_group(group, kind) != Some(0.0)
        })
    };
    sends(true) && !sends(false)
}

fn of_group(group: &ClientGroup, kind: Kind) -> Option<f64> {
    match &group.operations {
        GroupOperations::Mix(mixed) => Some(of_mix(&mixed.mix, kind)),
        GroupOperations::DbBench(workload) => of_op(&workload.op, kind),
    }
}

fn of_mix(mix: &Mix, kind: Kind) -> f64 {
    let weight = match kind {
        Kind::Read => mix.read + mix.read_modify_write,
        Kind::Update => mix.update + mix.read_modify_write,
        Kind::Insert => mix.insert,
        Kind::Scan => mix.scan,
        Kind::Delete => 0.0,
        Kind::ReadModifyWrite => mix.read_modify_write,
    };
    weight / mix.sum()
}

/// The same for one of db_bench's benchmarks.
fn of_op(op: &Op, kind: Kind) -> Option<f64> {
    let all = |own: Kind| if kind == own { 1.0 } else { 0.0 };
    Some(match op {
        Op::Write(_) => all(Kind::Insert),
        Op::Delete(_) => all(Kind::Delete),
        Op::Read | Op::ReadMissing | Op::ReadMany | Op::Walk(_) => all(Kind::Read),
        Op::ReadThenWrite { read_percent } => {
            let reads = f64::from(*read_percent) / 100.0;
            reads * all(Kind::Read) + (1.0 - reads) * all(Kind::Insert)
        }
        Op::Update => all(Kind::Read) + all(Kind::Update) + all(Kind::ReadModifyWrite),
        Op::Seek { .. } => all(Kind::Scan),
        Op::MixGraph(graph) => return of_mix_graph(graph, kind),
    })
}

/// The weights hold if the request does not depend on the key, because some keys are drawn more
/// often than others.
fn of_mix_graph(graph: &MixGraph, kind: Kind) -> Option<f64> {
    let sum: f64 = graph.weights.iter().sum();
    let share = match kind {
        Kind::Read => graph.weights[0] / sum,
        Kind::Insert => graph.weights[1] / sum,
        Kind::Scan => graph.weights[2] / sum,
        Kind::Update | Kind::Delete | Kind::ReadModifyWrite => 0.0,
    };
    let is_known = graph.semantics == tailmark_driver::Semantics::Correct;
    (is_known || share == 0.0 || share == 1.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(workload: &str, kind: Kind) -> Option<f64> {
        let workload = tailmark_workload::find(workload).unwrap();
        requests_per_operation(&workload, kind, 4)
    }

    #[test]
    fn shares_are_those_of_the_mix() {
        for (workload, kind, expected) in [
            ("ycsb-a", Kind::Read, 0.5),
            ("ycsb-a", Kind::Update, 0.5),
            ("ycsb-b", Kind::Update, 0.05),
            ("ycsb-c", Kind::Read, 1.0),
            ("ycsb-c", Kind::Update, 0.0),
            ("ycsb-d", Kind::Insert, 0.05),
            ("ycsb-e", Kind::Scan, 0.95),
            // A read-modify-write is a read and an update too.
            ("ycsb-f", Kind::Read, 1.0),
            ("ycsb-f", Kind::Update, 0.5),
            ("ycsb-f", Kind::ReadModifyWrite, 0.5),
            ("readrandom", Kind::Read, 1.0),
            ("seekrandom", Kind::Scan, 1.0),
            ("readrandomwriterandom", Kind::Insert, 0.1),
        ] {
            let share = share(workload, kind).unwrap();
            assert!(
                (share - expected).abs() < 1e-9,
                "{workload} {kind:?}: {share}"
            );
        }
    }

    #[test]
    fn background_clients_send_requests_and_no_operations() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        assert_eq!(requests_per_operation(&workload, Kind::Read, 4), Some(1.0));
        assert_eq!(
            requests_per_operation(&workload, Kind::Insert, 4),
            Some(0.0)
        );
        assert!(sends(&workload, Kind::Insert) && !sends(&workload, Kind::Scan));
    }

    #[test]
    fn groups_that_do_different_things_have_no_share() {
        let mix = |read, update| Mix {
            read,
            update,
            ..Mix::NONE
        };
        let group = |requests| ClientGroup::new(requests, tailmark_workload::Distribution::Uniform);
        let groups = vec![group(mix(1.0, 0.0)), group(mix(1.0, 1.0))];
        let workload = Workload::of_groups("own", "", groups);
        assert_eq!(requests_per_operation(&workload, Kind::Read, 4), None);
        assert_eq!(requests_per_operation(&workload, Kind::Scan, 4), Some(0.0));
        // A single client belongs to the first group.
        assert_eq!(requests_per_operation(&workload, Kind::Read, 1), Some(1.0));
    }
}
