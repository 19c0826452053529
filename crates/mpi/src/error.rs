//! Why a process cannot join its job.

use std::io;

/// Why a process cannot join its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The launcher is not one of this MPI, whose processes do not find each other.
    #[error(
        "{launcher} started {launched} processes, but MPI reports {size}: use the launcher of the \
         MPI that tailmark was built with or, under Slurm, `srun --mpi=pmix`"
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
    #[error(
        "this MPI only supports single-threaded programs, but tailmark needs \
             `MPI_THREAD_FUNNELED`"
    )]
    Threads,
    /// The thread of MPI cannot be started.
    #[error("failed to start the MPI thread")]
    Start {
        /// Why.
        source: io::Error,
    },
    /// MPI was there before, or its thread has ended.
    #[error("MPI cannot be started, because it is running or has ended already")]
    Ended,
}
