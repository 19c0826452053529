//! Errors that prevent a phase from being measured.

use std::io;

/// An error of this crate. Failures of single requests are counted instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A client could not be connected.
    #[error(transparent)]
    Driver(#[from] tailmark_driver::Error),
    /// A workload cannot be drawn.
    #[error(transparent)]
    Workload(#[from] tailmark_workload::Error),
    /// The system cannot start that many threads.
    #[error("failed to start {threads} client threads")]
    Thread {
        /// The number of threads.
        threads: u32,
        /// The reason.
        source: io::Error,
    },
    /// Another process of the same phase is not ready.
    #[error("the phase did not start, because another process is not ready for it")]
    NotStarted,
}
