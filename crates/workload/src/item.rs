//! The items of a client's stream, and their sources.

use crate::{KeySpace, Workload};
use std::sync::Arc;
use tailmark_driver::{DataSet, Operation};

/// The next action of a client. Counts as one operation.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// One request.
    One(Operation<'a>),
    /// Two consecutive requests for the same record. As in YCSB, the second does not depend on the
    /// first, and is sent even if that failed.
    ReadModifyWrite {
        /// Sent first.
        read: Operation<'a>,
        /// Sent after the read is answered.
        update: Operation<'a>,
    },
}

/// The sources of a stream.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// The workload.
    pub workload: Arc<Workload>,
    /// The client's group in the workload, from 0.
    pub group: usize,
    /// The data set.
    pub data: DataSet,
    /// The keys, shared with the other clients.
    pub keys: Arc<KeySpace>,
    /// The seed of every random draw, together with `client`.
    pub seed: u64,
    /// The number of the client, from 0.
    pub client: u32,
    /// The expected number of operations of all clients together. Only `zipfian` uses it, like
    /// YCSB. It draws from as many keys as there will be, including twice the expected inserts, and
    /// redraws keys that do not exist yet. Without it (a point that ends by time) no inserts are
    /// expected, as in YCSB with an operation count of 0: loaded records are drawn, but not new
    /// ones.
    pub operations: Option<u64>,
    /// Whether an update writes all fields, or one uniformly chosen.
    pub write_all_fields: bool,
    /// The share of each value that a compressor can remove, from 0 to 1.
    pub compressibility: f64,
}
