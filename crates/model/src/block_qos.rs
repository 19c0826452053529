//! Quantiles over the blocks of a run, as a phase keeps them. `qos.rs` computes them.

use crate::{
    Bounded, Kind, Quantile, TimeBasis,
    quantile::{SAMPLES_SOLID, samples_beyond},
};
use serde::{Deserialize, Serialize};

/// One quantile of one kind of request over the blocks of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockQos {
    /// The kind of requests.
    pub kind: Kind,
    /// The instant from which they are timed.
    pub time: TimeBasis,
    /// The quantile.
    pub quantile: Quantile,
    /// The number of blocks. A remainder too small for a block is in none.
    pub blocks: u64,
    /// Samples of the smallest block, at least [`BLOCK_SAMPLES`](crate::qos::BLOCK_SAMPLES).
    pub samples_min: u64,
    /// The highest value of a block.
    pub worst: BlockValue,
    /// The median value; the higher of the two in the middle.
    pub median: BlockValue,
    /// The lowest value.
    pub best: BlockValue,
}

/// The value of one block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockValue {
    /// Nanoseconds.
    pub ns: u64,
    /// Whether it is a lower bound, because too many requests of the block failed.
    pub is_at_least: bool,
    /// When the block began, seconds since the start of the phase.
    pub start_s: f64,
}

impl BlockValue {
    /// The value, nanoseconds.
    pub const fn bounded(self) -> Bounded {
        if self.is_at_least {
            Bounded::at_least(self.ns as f64)
        } else {
            Bounded::exact(self.ns as f64)
        }
    }

    /// The order of blocks: a lower bound is above every known value.
    pub const fn rank(self) -> (bool, u64) {
        (self.is_at_least, self.ns)
    }

    /// The value next to blocks of which `highest` has the highest exact value. A lower bound stands
    /// for a failed request, which ranks above every success: it is at least as high. If that raises
    /// it, it names the block of `highest`, where the value was measured.
    #[must_use]
    pub fn above(self, highest: Option<Self>) -> Self {
        match highest {
            Some(highest) if self.is_at_least && highest.ns > self.ns => Self {
                is_at_least: true,
                ..highest
            },
            _ => self,
        }
    }
}

impl BlockQos {
    /// Whether each block has enough samples to draw its value as certain.
    pub fn is_solid(&self) -> bool {
        let beyond = samples_beyond(self.samples_min, self.quantile.value);
        beyond >= SAMPLES_SOLID
    }
}
