//! The rows of db_bench's workloads, by the names of its benchmarks.

use super::{Job, MixGraph, Order, filling, group, writer};
use crate::table::Row;
use tailmark_driver::Direction::{Backward, Forward};

const SEEK: Job = Job::Seek {
    nexts: 0,
    direction: Forward,
    distance_max: 0,
};

/// db_bench's workloads, sorted by name.
pub const ROWS: &[Row] = &[
    Row {
        name: "deleterandom",
        about: "db_bench: remove random keys",
        groups: &[group(Job::Delete(Order::Random))],
    },
    Row {
        name: "deleteseq",
        about: "db_bench: remove keys in their order",
        groups: &[group(Job::Delete(Order::Sequential))],
    },
    Row {
        name: "fillrandom",
        about: "db_bench: write random keys into an empty database",
        groups: &[filling(Order::Random)],
    },
    Row {
        name: "fillseq",
        about: "db_bench: write keys in their order into an empty database",
        groups: &[filling(Order::Sequential)],
    },
    Row {
        name: "filluniquerandom",
        about: "db_bench: write each key once, in random order, into an empty database",
        groups: &[filling(Order::Unique)],
    },
    Row {
        name: "mixgraph",
        about: "db_bench: the modelled mix of a social graph",
        groups: &[group(Job::MixGraph(MixGraph::DEFAULT))],
    },
    Row {
        name: "multireadrandom",
        about: "db_bench: read random keys, several in a request",
        groups: &[group(Job::ReadMany)],
    },
    Row {
        name: "overwrite",
        about: "db_bench: write random keys",
        groups: &[group(Job::Write(Order::Random))],
    },
    Row {
        name: "readmissing",
        about: "db_bench: read keys that are not there",
        groups: &[group(Job::ReadMissing)],
    },
    Row {
        name: "readrandom",
        about: "db_bench: read random keys",
        groups: &[group(Job::Read)],
    },
    Row {
        name: "readrandomwriterandom",
        about: "db_bench: each client 90 random reads, then 10 random writes",
        groups: &[group(Job::ReadThenWrite { read_percent: 90 })],
    },
    Row {
        name: "readreverse",
        about: "db_bench: read record after record, backwards",
        groups: &[group(Job::Walk(Backward))],
    },
    Row {
        name: "readseq",
        about: "db_bench: read record after record",
        groups: &[group(Job::Walk(Forward))],
    },
    Row {
        name: "readwhilewriting",
        about: "db_bench: read random keys, with one more client that writes",
        groups: &[group(Job::Read), writer()],
    },
    Row {
        name: "seekrandom",
        about: "db_bench: find random positions",
        groups: &[group(SEEK)],
    },
    Row {
        name: "seekrandomwhilewriting",
        about: "db_bench: find random positions, with one more client that writes",
        groups: &[group(SEEK), writer()],
    },
    Row {
        name: "updaterandom",
        about: "db_bench: read and write random keys",
        groups: &[group(Job::Update)],
    },
];
