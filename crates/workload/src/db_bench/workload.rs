//! Groups of clients with db_bench's work, and workloads made of them.

use super::{DbBenchWorkload, Op, Order, RecordLayout};
use crate::{ClientGroup, GroupClients, GroupOperations, Workload};
use tailmark_driver::Semantics;

/// All clients of a point that no other group names.
pub const fn group(op: Op) -> ClientGroup {
    with_operations(op, false)
}

/// All clients of a point, which start with an empty database.
pub const fn filling(order: Order) -> ClientGroup {
    with_operations(Op::Write(order), true)
}

/// A background client that writes until the point's clients have ended.
pub const fn writer() -> ClientGroup {
    ClientGroup {
        clients: GroupClients::Background(1),
        ..group(Op::Write(Order::Random))
    }
}

const fn with_operations(op: Op, starts_empty: bool) -> ClientGroup {
    ClientGroup::from_operations(GroupOperations::DbBench(DbBenchWorkload {
        op,
        layout: RecordLayout::DEFAULT,
        starts_empty,
    }))
}

impl Workload {
    /// The same with other records and draws, in every group with db_bench's work.
    #[must_use]
    pub fn with_layout(mut self, layout: RecordLayout) -> Self {
        for workload in self.groups.iter_mut().filter_map(ClientGroup::db_bench_mut) {
            workload.layout = layout;
        }
        self
    }

    /// The same with these semantics, if there is a choice (mixgraph).
    #[must_use]
    pub fn with_semantics(mut self, semantics: Semantics) -> Self {
        for workload in self.groups.iter_mut().filter_map(ClientGroup::db_bench_mut) {
            if let Op::MixGraph(graph) = &mut workload.op {
                graph.semantics = semantics;
            }
        }
        self
    }

    /// Whether it reads and writes db_bench's records.
    pub fn is_db_bench(&self) -> bool {
        self.db_bench().next().is_some()
    }

    /// Whether it starts with an empty database.
    pub fn starts_empty(&self) -> bool {
        self.db_bench().any(|workload| workload.starts_empty)
    }

    /// The layout of db_bench's records, if it reads and writes those.
    pub fn record_layout(&self) -> Option<RecordLayout> {
        self.db_bench().next().map(|workload| workload.layout)
    }

    /// The db_bench work of its groups.
    pub fn db_bench(&self) -> impl Iterator<Item = &DbBenchWorkload> {
        self.groups.iter().filter_map(ClientGroup::db_bench)
    }

    /// The workload that loads its data set: each record once, in the order of their numbers.
    pub fn loader(&self) -> Self {
        match self.record_layout() {
            Some(layout) => {
                let group = group(Op::Write(Order::Insert));
                Self::new("load", "100 % insert", group).with_layout(layout)
            }
            None => Self::load(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantics_reach_the_model_of_the_mix() {
        for semantics in [Semantics::Faithful, Semantics::Correct] {
            let workload = crate::find("mixgraph").unwrap().with_semantics(semantics);
            let db_bench = workload.groups[0].db_bench().unwrap();
            let Op::MixGraph(graph) = db_bench.op else {
                panic!("{db_bench:?}");
            };
            assert_eq!(graph.semantics, semantics);
        }
    }
}
