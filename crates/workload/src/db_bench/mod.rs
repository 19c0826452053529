//! The workloads of RocksDB's db_bench: the work of each of its benchmarks, as data.
//!
//! A [`DbBenchWorkload`] replaces the mix of a [`crate::ClientGroup`]. Keys, values and random
//! numbers are db_bench's, so that its data sets can be read and its seeds draw the same keys.
//! Semantics follow tools/db_bench_tool.cc of RocksDB 11.

mod generator;
mod key;
mod mix_graph;
mod permutation;
mod rows;
mod twister;
mod value;
mod workload;

pub(crate) use generator::Generator;
pub use mix_graph::{Exponential, MixGraph, Pareto, Power};
pub use rows::ROWS;
pub use workload::{filling, group, writer};

use crate::{Distribution, Error};
use tailmark_driver::{Direction, OperationKind};

/// The work of a client in one of db_bench's benchmarks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DbBenchWorkload {
    /// The requests.
    pub op: Op,
    /// The layout of records and the draw of keys.
    pub layout: RecordLayout,
    /// Whether it starts with an empty database.
    pub starts_empty: bool,
}

/// The requests of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// Writes whole records.
    Write(Order),
    /// Removes records.
    Delete(Order),
    /// Reads one record at a time.
    Read,
    /// Reads missing keys: each has one byte more than a record's key.
    ReadMissing,
    /// Reads several records in one request.
    ReadMany,
    /// Reads record after record.
    Walk(Direction),
    /// Cycles of a hundred requests: first this percentage of reads, then writes.
    ReadThenWrite {
        /// From 0 to 100.
        read_percent: u8,
    },
    /// Reads a record and writes it.
    Update,
    /// Finds a position and walks from it.
    Seek {
        /// Records to walk.
        nexts: u32,
        /// The direction.
        direction: Direction,
        /// The largest range of key numbers in a walk; 0: unlimited.
        distance_max: u64,
    },
    /// The modelled mix of a social graph.
    MixGraph(MixGraph),
}

/// The order in which keys are written or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Every client from 0 up.
    Sequential,
    /// Any keys, with repetition.
    Random,
    /// Any keys, each once.
    Unique,
    /// From the start of the point's inserts, each once over all clients. This loads a data set.
    Insert,
}

/// The layout of records and the draw of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordLayout {
    /// Bytes of a key, at least 1.
    pub key_bytes: u32,
    /// Bytes of the prefix of a key.
    pub prefix_bytes: u32,
    /// Keys that share a prefix; 0: keys have none.
    pub keys_per_prefix: u64,
    /// The sizes of values.
    pub sizes: Sizes,
    /// Records in one request, at least 1.
    pub batch: u32,
    /// Skew of random reads: 0 for none, see `GetRandomKey` in db_bench.
    pub exp_range: f64,
    /// The distance between the keys of a batch of reads; 0: each is random.
    pub stride: u64,
    /// The key numbers that writers draw from, if not the records; 0: the records.
    pub writes_over: u64,
}

/// The sizes of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// The data set's field length for all.
    Fixed,
    /// Uniform.
    Uniform {
        /// Minimum, bytes.
        min: u32,
        /// Maximum, bytes.
        max: u32,
    },
    /// Normal around the middle, with a sixth of the range as standard deviation.
    Normal {
        /// Minimum, bytes.
        min: u32,
        /// Maximum, bytes.
        max: u32,
    },
}

impl RecordLayout {
    /// db_bench's own defaults: keys of 16 bytes, one record per request, no skew.
    pub const DEFAULT: Self = Self {
        key_bytes: 16,
        prefix_bytes: 0,
        keys_per_prefix: 0,
        sizes: Sizes::Fixed,
        batch: 1,
        exp_range: 0.0,
        stride: 0,
        writes_over: 0,
    };
}

impl Op {
    /// The kinds of request, in order of declaration.
    pub fn kinds(&self) -> &'static [OperationKind] {
        match self {
            Self::Write(_) => &[OperationKind::Insert],
            Self::Delete(_) => &[OperationKind::Delete],
            Self::Read | Self::ReadMissing | Self::ReadMany | Self::Walk(_) => {
                &[OperationKind::Read]
            }
            Self::ReadThenWrite { .. } => &[OperationKind::Read, OperationKind::Insert],
            Self::Update => &[OperationKind::Read, OperationKind::Update],
            Self::Seek { .. } => &[OperationKind::Scan],
            Self::MixGraph(_) => &[
                OperationKind::Read,
                OperationKind::Insert,
                OperationKind::Scan,
            ],
        }
    }

    /// Whether it sends requests of db_bench's own: several records in one, or a step of an iterator.
    pub(crate) const fn is_special(&self, batch: u32) -> bool {
        match self {
            Self::Write(_) | Self::Delete(_) => batch > 1,
            Self::ReadMany | Self::Walk(_) | Self::Seek { .. } | Self::MixGraph(_) => true,
            Self::Read | Self::ReadMissing | Self::ReadThenWrite { .. } | Self::Update => false,
        }
    }

    /// How the keys are drawn, in the words of reports.
    pub(crate) const fn distribution(&self) -> Distribution {
        match self {
            Self::Write(Order::Sequential | Order::Insert)
            | Self::Delete(Order::Sequential)
            | Self::Walk(_) => Distribution::Sequential,
            _ => Distribution::Uniform,
        }
    }
}

impl DbBenchWorkload {
    /// Checks that requests can be drawn from it.
    pub(crate) fn validate(&self, workload: &str) -> Result<(), Error> {
        let bad = |what, got: f64, accepted| {
            let workload = workload.to_owned();
            Err(Error::BadNumber {
                workload,
                what,
                got,
                accepted,
            })
        };
        let RecordLayout {
            key_bytes,
            batch,
            exp_range,
            ..
        } = self.layout;
        match self.op {
            _ if key_bytes == 0 => bad("length of a key", 0.0, "1 or more"),
            _ if batch == 0 => bad("size of a batch", 0.0, "1 or more"),
            _ if !(exp_range.is_finite() && exp_range >= 0.0) => {
                bad("exponential range of reads", exp_range, "0 or more")
            }
            Op::ReadThenWrite { read_percent } if read_percent > 100 => {
                bad("percentage of reads", read_percent.into(), "from 0 to 100")
            }
            Op::MixGraph(graph) => graph.validate(workload),
            _ => Ok(()),
        }
    }
}
