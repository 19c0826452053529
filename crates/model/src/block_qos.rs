//! Quantiles over the blocks of a run, as a phase keeps them; `qos.rs` works them out.

use crate::{
    Bounded, Kind, Quantile, TimeBasis,
    quantile::{SAMPLES_SOLID, samples_beyond},
};
use serde::{Deserialize, Serialize};

/// One quantile of one kind of request over the blocks of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockQos {
    /// Of which requests.
    pub kind: Kind,
    /// From which instant they are timed.
    pub time: TimeBasis,
    /// Which quantile.
    pub quantile: Quantile,
    /// How many blocks there were. What is left at the end, too little for one, is in none.
    pub blocks: u64,
    /// Samples of the block that has the fewest, at least [`BLOCK_SAMPLES`](crate::qos::BLOCK_SAMPLES).
    pub samples_min: u64,
    /// The highest value of a block.
    pub worst: BlockValue,
    /// The value that is in the middle, the higher one of two.
    pub median: BlockValue,
    /// The lowest value.
    pub best: BlockValue,
}

/// The value of one block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockValue {
    /// Nanoseconds.
    pub ns: u64,
    /// Whether it is a lower bound: as many requests of the block failed as lie beyond it.
    #[serde(default)]
    pub is_at_least: bool,
    /// When the block began, seconds since the start of the phase.
    pub start_s: f64,
}

impl BlockValue {
    /// The value, nanoseconds.
    #[must_use]
    pub const fn bounded(self) -> Bounded {
        if self.is_at_least {
            Bounded::at_least(self.ns as f64)
        } else {
            Bounded::exact(self.ns as f64)
        }
    }

    /// By which blocks are put in order: a lower bound is above every value that is known.
    #[must_use]
    pub const fn rank(self) -> (bool, u64) {
        (self.is_at_least, self.ns)
    }

    /// The same beside blocks of which this is the highest exact value, nanoseconds. A lower bound is
    /// that of a request that failed, which ranks above every success: it is at least as high.
    #[must_use]
    pub fn above(self, highest_exact: u64) -> Self {
        let ns = if self.is_at_least {
            self.ns.max(highest_exact)
        } else {
            self.ns
        };
        Self { ns, ..self }
    }
}

impl BlockQos {
    /// Whether each block has enough samples to draw its value as certain.
    #[must_use]
    pub fn is_solid(&self) -> bool {
        let beyond = samples_beyond(self.samples_min, self.quantile.value);
        beyond >= SAMPLES_SOLID
    }
}
