//! Why a process cannot join its job.

use std::io;

/// Why a process cannot join its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The launcher is not one of this MPI, whose processes do not find each other.
    #[error(
        "{launcher} started {launched} processes, but MPI has {size}: start them with the launcher \
         of the MPI that the program was built with, or with Slurm by `srun --mpi=pmix`"
    )]
    Split {
        /// The command that started them.
        launcher: &'static str,
        /// The number of processes that it started.
        launched: u32,
        /// The number of ranks in MPI.
        size: u32,
    },
    /// MPI was built for programs of one thread.
    #[error("this MPI is only for programs of one thread, but `MPI_THREAD_FUNNELED` is needed")]
    Threads,
    /// The thread of MPI cannot be started.
    #[error("failed to start the thread of MPI")]
    Start {
        /// Why.
        source: io::Error,
    },
    /// MPI was there before, or its thread has ended.
    #[error("MPI cannot be started: it was already, or it has ended")]
    Ended,
}
