//! One request that was taken apart.

use crate::clock::Tick;
use tailmark_driver::Parts;

/// A request with its parts, which add up to its response time.
#[derive(Debug, Clone, Copy)]
pub struct TakenApart {
    /// When it was due; all instants are nanoseconds since the start of the measured part.
    pub due: Tick,
    /// When it was sent.
    pub sent: Tick,
    /// When it was done.
    pub done: Tick,
    /// Drawn at random, for the sample.
    pub tag: u64,
    /// The number of its client.
    pub client: u32,
    /// The number of its key.
    pub key: u64,
    /// Its parts.
    pub parts: Parts,
}

impl TakenApart {
    /// From due to done, nanoseconds.
    pub const fn response(&self) -> u64 {
        self.done - self.due
    }
}
