//! What the stream of a client draws, and from what.

use crate::{KeySpace, Workload};
use std::sync::Arc;
use tailmark_driver::{DataSet, Operation};

/// What a client does next; counts as one operation.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// One request.
    One(Operation<'a>),
    /// Two requests for the same record, one after the other. As in YCSB, the second does not
    /// depend on the first, and is sent even where that failed.
    ReadModifyWrite {
        /// Sent first.
        read: Operation<'a>,
        /// Sent when the read is answered.
        update: Operation<'a>,
    },
}

/// What a stream is made of.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// What is done.
    pub workload: Arc<Workload>,
    /// Which group of the workload the client is in, from 0.
    pub group: usize,
    /// The data set that it is done to.
    pub data: DataSet,
    /// The keys, shared with the other clients.
    pub keys: Arc<KeySpace>,
    /// Of every random draw, with `client`.
    pub seed: u64,
    /// The number of the client, from 0.
    pub client: u32,
    /// Operations expected of all clients together. Only `zipfian` uses it, as YCSB does: it draws
    /// from as many keys as there will be, twice the expected inserts included, and redraws those
    /// that are not there yet. With none (a point that ends by time) no inserts are expected, as in
    /// YCSB with an operation count of 0: the loaded records are drawn from, not the new ones.
    pub operations: Option<u64>,
    /// Whether an update writes all fields, or one uniformly chosen.
    pub write_all_fields: bool,
    /// The share of each value that a compressor can remove, from 0 to 1.
    pub compressibility: f64,
}
