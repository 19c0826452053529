//! The rows of db_bench's workloads, by the names of its benchmarks.

use super::{MixGraph, Op, Order, filling, group, writer};
use crate::workload::WorkloadRow;
use tailmark_driver::Direction::{Backward, Forward};

const SEEK: Op = Op::Seek {
    nexts: 0,
    direction: Forward,
    distance_max: 0,
};

/// db_bench's workloads, sorted by name.
pub const ROWS: &[WorkloadRow] = &[
    WorkloadRow {
        name: "deleterandom",
        about: "db_bench: remove random keys",
        groups: &[group(Op::Delete(Order::Random))],
    },
    WorkloadRow {
        name: "deleteseq",
        about: "db_bench: remove keys in order",
        groups: &[group(Op::Delete(Order::Sequential))],
    },
    WorkloadRow {
        name: "fillrandom",
        about: "db_bench: write random keys into an empty database",
        groups: &[filling(Order::Random)],
    },
    WorkloadRow {
        name: "fillseq",
        about: "db_bench: write keys in order into an empty database",
        groups: &[filling(Order::Sequential)],
    },
    WorkloadRow {
        name: "filluniquerandom",
        about: "db_bench: write each key once, in random order, into an empty database",
        groups: &[filling(Order::Unique)],
    },
    WorkloadRow {
        name: "mixgraph",
        about: "db_bench: a modelled mix of a social graph",
        groups: &[group(Op::MixGraph(MixGraph::DEFAULT))],
    },
    WorkloadRow {
        name: "multireadrandom",
        about: "db_bench: read random keys, several per request",
        groups: &[group(Op::ReadMany)],
    },
    WorkloadRow {
        name: "overwrite",
        about: "db_bench: write random keys",
        groups: &[group(Op::Write(Order::Random))],
    },
    WorkloadRow {
        name: "readmissing",
        about: "db_bench: read keys that do not exist",
        groups: &[group(Op::ReadMissing)],
    },
    WorkloadRow {
        name: "readrandom",
        about: "db_bench: read random keys",
        groups: &[group(Op::Read)],
    },
    WorkloadRow {
        name: "readrandomwriterandom",
        about: "db_bench: each client does 90 random reads, then 10 random writes",
        groups: &[group(Op::ReadThenWrite { read_percent: 90 })],
    },
    WorkloadRow {
        name: "readreverse",
        about: "db_bench: read record after record, backwards",
        groups: &[group(Op::Walk(Backward))],
    },
    WorkloadRow {
        name: "readseq",
        about: "db_bench: read record after record",
        groups: &[group(Op::Walk(Forward))],
    },
    WorkloadRow {
        name: "readwhilewriting",
        about: "db_bench: read random keys, with one more client that writes",
        groups: &[group(Op::Read), writer()],
    },
    WorkloadRow {
        name: "seekrandom",
        about: "db_bench: find random positions",
        groups: &[group(SEEK)],
    },
    WorkloadRow {
        name: "seekrandomwhilewriting",
        about: "db_bench: find random positions, with one more client that writes",
        groups: &[group(SEEK), writer()],
    },
    WorkloadRow {
        name: "updaterandom",
        about: "db_bench: read and write random keys",
        groups: &[group(Op::Update)],
    },
];
