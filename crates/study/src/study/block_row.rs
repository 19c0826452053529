//! The column with quantiles over the blocks of a run: a JSON list for each kind of request.

use serde::{Deserialize, Serialize};
use tailmark_model::{BlockQos, BlockValue, Kind, QUANTILES, TimeBasis};

/// One quantile of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockQosRow {
    time: TimeBasis,
    quantile: String,
    blocks: u64,
    samples_min: u64,
    worst: BlockValue,
    median: BlockValue,
    best: BlockValue,
}

impl From<&BlockQos> for BlockQosRow {
    fn from(blocks: &BlockQos) -> Self {
        Self {
            time: blocks.time,
            quantile: blocks.quantile.name.to_owned(),
            blocks: blocks.blocks,
            samples_min: blocks.samples_min,
            worst: blocks.worst,
            median: blocks.median,
            best: blocks.best,
        }
    }
}

impl BlockQosRow {
    /// The row for a kind; `None` if its quantile is unknown.
    pub fn into_qos(self, kind: Kind) -> Option<BlockQos> {
        Some(BlockQos {
            kind,
            time: self.time,
            quantile: QUANTILES.into_iter().find(|q| q.name == self.quantile)?,
            blocks: self.blocks,
            samples_min: self.samples_min,
            worst: self.worst,
            median: self.median,
            best: self.best,
        })
    }
}
