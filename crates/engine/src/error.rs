//! What keeps a phase from being measured.

use std::io;

/// An error of the crate. Failures of single requests are counted, not this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A client could not be connected.
    #[error(transparent)]
    Driver(#[from] tailmark_driver::Error),
    /// A workload cannot be drawn.
    #[error(transparent)]
    Workload(#[from] tailmark_workload::Error),
    /// The system has too few threads.
    #[error("failed to start {threads} client threads")]
    Thread {
        /// How many were asked for.
        threads: u32,
        /// Why.
        source: io::Error,
    },
    /// Another of the processes that carry out the phase together is not ready.
    #[error("the phase was not started: another process is not ready for it")]
    NotStarted,
}
