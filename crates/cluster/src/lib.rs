//! Processes of one job, possibly on several machines: their identities, messages, clocks, and
//! common end.
//!
//! The program knows only the trait [`Cluster`]. An ordinary start is a cluster of one ([`Alone`]).
//! Under `mpirun` or `srun`, MPI carries the messages (the crate `tailmark-mpi`). Tests run several
//! ranks in one process ([`channels`]).

mod alone;
pub mod channels;
mod clock;
mod launcher;

pub use alone::Alone;
pub use clock::{At, ClockLine, DRIFT_PPM_MAX, Exchange, Measurement};
pub use launcher::{Launched, is_first, launched, let_first_speak};

use std::time::Duration;

/// The processes (ranks) of one job, as seen by one of them.
///
/// Its owner must drop it when its part is done, before the process exits. The drop waits until all
/// messages are sent and, under MPI, until every rank has done the same.
pub trait Cluster: Send + Sync {
    /// The number of this rank, from 0. Rank 0 leads.
    fn rank(&self) -> u32;

    /// The number of ranks, at least 1.
    fn size(&self) -> u32;

    /// The name of this rank's host.
    fn host(&self) -> String;

    /// Sends to a rank, which may be this one, and returns at once. Messages from one rank to
    /// another arrive in order.
    ///
    /// # Panics
    /// If there is no such rank.
    fn send(&self, to: u32, body: Vec<u8>);

    /// The next message from any rank. Waits this long for one.
    fn receive(&self, timeout: Duration) -> Option<Message>;

    /// The reading of this rank's clock, in ns: `CLOCK_MONOTONIC`. Clocks of two hosts are
    /// unrelated; [`ClockLine`] converts between them.
    fn now_ns(&self) -> u64;

    /// Says something on standard error, with the rank and its host.
    fn warn(&self, what: &str);

    /// Ends all processes of the job, this one within 2 s whatever happens, and says why on standard
    /// error with the rank and its host. The code, from 1 to 255, is that of the job.
    fn abort(&self, code: i32, why: &str) -> !;
}

/// A message from one rank to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The rank that sent it.
    pub from: u32,
    /// Its content.
    pub body: Vec<u8>,
    /// When it was sent, in ns of the sender's clock.
    pub sent_ns: u64,
    /// When it arrived, in ns of the receiver's clock.
    pub received_ns: u64,
}

/// `CLOCK_MONOTONIC` of this host, in ns.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// The name of this host.
pub fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
