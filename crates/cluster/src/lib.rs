//! Processes of one job, maybe on several machines: who they are, messages between them, what
//! each one's clock says, and one end for all of them.
//!
//! The program knows the trait [`Cluster`] alone. A program that was started plainly is a cluster
//! of one ([`Alone`]); started by `mpirun` or `srun`, MPI carries the messages (feature `mpi`).
//! Tests have several ranks in one process ([`channels`]).

mod alone;
pub mod channels;
mod clock;
mod error;
mod launcher;
#[cfg(feature = "mpi")]
mod mpi;

pub use alone::Alone;
pub use clock::{At, ClockLine, DRIFT_PPM_MAX, Exchange, Measurement};
pub use error::Error;
pub use launcher::{is_first, let_first_speak};

use std::time::Duration;

/// The processes (ranks) of one job, as one of them sees it.
///
/// Whoever holds it lets go of it when its part is done, before the process exits: that waits until
/// all messages are gone, and under MPI until every rank has let go.
pub trait Cluster: Send + Sync {
    /// Which of them this one is, from 0. Rank 0 leads.
    fn rank(&self) -> u32;

    /// How many there are, at least 1.
    fn size(&self) -> u32;

    /// The name of this rank's host.
    fn host(&self) -> String;

    /// Sends to a rank, which may be this one, and returns at once. What one rank sends to another
    /// arrives in that order.
    ///
    /// # Panics
    /// Where there is no such rank.
    fn send(&self, to: u32, body: Vec<u8>);

    /// The next message that came, from any rank; waits for one for so long.
    fn receive(&self, timeout: Duration) -> Option<Message>;

    /// What this rank's clock says, in ns: `CLOCK_MONOTONIC`. Clocks of two hosts have nothing to do
    /// with each other; [`ClockLine`] tells one from the other.
    fn now_ns(&self) -> u64;

    /// Says something on standard error, with the rank and its host.
    fn warn(&self, what: &str);

    /// Ends all processes of the job, this one within 2 s whatever happens, and says why on standard
    /// error with the rank and its host. The code, from 1 to 255, is that of the job.
    fn abort(&self, code: i32, why: &str) -> !;
}

/// What one rank sent to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The rank that sent it.
    pub from: u32,
    /// What it sent.
    pub body: Vec<u8>,
    /// When it was sent, in ns of the sender's clock.
    pub sent_ns: u64,
    /// When it came, in ns of the receiver's clock.
    pub received_ns: u64,
}

/// Joins the job that this process was started for: under `mpirun` or `srun` with several processes
/// that of MPI, else [`Alone`]. Under MPI, from then on a panic of any thread ends the job.
///
/// # Errors
/// Where this is one of several processes and MPI is not to be had, or has another number of them.
pub fn join() -> Result<Box<dyn Cluster>, Error> {
    let launched = launcher::launched(|name| std::env::var(name).ok());
    match launched {
        Some(launched) if launched.size > 1 => several(launched),
        _ => Ok(Box::new(Alone::new())),
    }
}

#[cfg(feature = "mpi")]
fn several(launched: launcher::Launched) -> Result<Box<dyn Cluster>, Error> {
    Ok(Box::new(mpi::Mpi::join(launched)?))
}

#[cfg(not(feature = "mpi"))]
fn several(launched: launcher::Launched) -> Result<Box<dyn Cluster>, Error> {
    Err(Error::NotBuilt {
        launcher: launched.launcher,
        size: launched.size,
    })
}

/// `CLOCK_MONOTONIC` of this host, in ns.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// The name of this host.
fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
