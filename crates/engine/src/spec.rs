//! The definition of a phase: the arguments of [`crate::run`].

use crate::{Peers, anatomy::Anatomist};
use serde::{Deserialize, Serialize};
use std::{ops::Deref, sync::Arc, time::Duration};
use tailmark_driver::{Clients, DataSet, Database};
use tailmark_model::{Arrivals, Interval, PointKey};
use tailmark_workload::{KeySpace, Workload};

/// The definition of a phase.
pub struct Spec<'a> {
    /// The open database.
    pub database: &'a dyn Database,
    /// How its clients are run.
    pub clients: Clients,
    /// The system's name.
    pub system: &'a str,
    /// The point; `None` for a load.
    pub point: Option<&'a PointKey>,
    /// The operations.
    pub workload: &'a Arc<Workload>,
    /// The data set.
    pub data: &'a DataSet,
    /// The key space for inserts.
    pub keys: &'a Arc<KeySpace>,
    /// The part of this process; `None`: the whole phase.
    pub part: Option<Part<'a>>,
    /// Ends the measured part as soon as enough was measured, but not before `at_least`. Asked
    /// every second.
    pub enough: Option<&'a dyn Enough>,
    /// Takes the requests of the clients of this process apart, background clients excluded.
    pub anatomy: Option<&'a Arc<Anatomist>>,
    /// Plain values that say how it is carried out.
    pub terms: Terms,
}

/// How a phase is carried out, in plain values that are the same for every process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Clients; over all processes if this process has only a part of them.
    pub threads: u32,
    /// Operations per second over all clients; `None` for a closed loop.
    pub rate: Option<f64>,
    /// How operations arrive at that rate, in one sequence that all clients share; `None`: each
    /// client has its own even schedule.
    pub arrivals: Option<Arrivals>,
    /// Whether background clients with a rate also have a schedule each and end with the point, as
    /// in db_bench.
    pub is_background_scheduled: bool,
    /// Ends the phase after this many operations of the measured part.
    pub operations: Option<u64>,
    /// Ends the measured part after this time.
    pub duration: Option<Duration>,
    /// The shortest length of the measured part, even if enough was measured earlier.
    pub at_least: Duration,
    /// Whether it is the warm-up of the next phase, so that measurements decide when it ends.
    pub is_warmup: bool,
    /// Whether it follows another phase on the open database, such as a measured part after its
    /// warm-up. A simulated database and its clock then continue.
    pub continues: bool,
    /// Time before the measured part.
    pub warmup: Duration,
    /// The seed of every random draw in the measured part.
    pub seed: u64,
    /// The seed of the draws in the warm-up.
    pub warmup_seed: u64,
    /// Whether an update writes all fields.
    pub write_all_fields: bool,
    /// The fraction of each value that is not random.
    pub compressibility: f64,
    /// Whether it ends soon after the first failed request.
    pub ends_at_failure: bool,
}

/// The terms of a phase can be read like its own fields.
impl Deref for Spec<'_> {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// The part of this process in a phase that several carry out at the same time.
///
/// Clients are numbered over all processes, so that no two draw the same. The share of a process in
/// the rate is that of its clients.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The number of this process, from 0.
    pub process: u32,
    /// The number of processes.
    pub processes: u32,
    /// The number of its first client, from 0.
    pub first: u32,
    /// Its number of clients, at least 1.
    pub threads: u32,
    /// Its operations, if those of the phase are bounded.
    pub operations: Option<u64>,
    /// Whether it has its own keys, in its own database, instead of sharing them with the others.
    pub has_own_keys: bool,
    /// The other processes.
    pub peers: &'a dyn Peers,
}

impl Part<'_> {
    /// The first client of a process, and how many clients it has, of that many over all processes.
    /// The first processes take the remainder.
    pub const fn clients(threads: u32, process: u32, processes: u32) -> (u32, u32) {
        let (each, rest) = (threads / processes, threads % processes);
        let least = if process < rest { process } else { rest };
        (process * each + least, each + (process < rest) as u32)
    }

    /// The operations of that many clients from `first` on, of that many over all clients.
    pub fn operations(operations: u64, clients: (u32, u32), threads: u32) -> u64 {
        let (first, own) = clients;
        let shares = (first..first + own).map(|client| share(operations, client, threads));
        shares.sum()
    }
}

/// Decides when enough was measured. The measured part then ends with the current second, as if
/// planned.
pub trait Enough: Sync {
    /// Whether the measurements so far are enough: all closed intervals in order of time. Intervals
    /// in which nothing was done may be missing.
    fn is_enough(&self, so_far: &[&Interval]) -> bool;
}

impl<'a> Spec<'a> {
    /// One client thread in a closed loop, without an end, a warm-up or a name.
    pub fn new(
        database: &'a dyn Database,
        workload: &'a Arc<Workload>,
        data: &'a DataSet,
        keys: &'a Arc<KeySpace>,
    ) -> Self {
        Self {
            database,
            clients: Clients::Threads,
            system: "",
            point: None,
            workload,
            data,
            keys,
            part: None,
            enough: None,
            anatomy: None,
            terms: Terms {
                threads: 1,
                ..Terms::default()
            },
        }
    }

    /// The number of clients of this process.
    pub fn own_threads(&self) -> u32 {
        self.part.map_or(self.threads, |part| part.threads)
    }

    /// Whether a client of the point, by its number, belongs to this process.
    pub(crate) fn is_own(&self, client: u32) -> bool {
        self.part
            .is_none_or(|part| (part.first..part.first + part.threads).contains(&client))
    }

    /// The operations of this process, if they are bounded.
    pub fn own_operations(&self) -> Option<u64> {
        self.part.map_or(self.operations, |part| part.operations)
    }

    /// The operations of all processes that share the keys.
    pub(crate) fn operations_on_keys(&self) -> Option<u64> {
        match self.part {
            Some(part) if part.has_own_keys => part.operations,
            _ => self.operations,
        }
    }
}

/// The operations of one client. The first clients take the remainder.
pub(crate) const fn share(operations: u64, client: u32, clients: u32) -> u64 {
    let (client, clients) = (client as u64, clients as u64);
    operations / clients + (client < operations % clients) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_and_every_operation_is_one_processs() {
        for threads in [1, 2, 3, 5, 64, 67] {
            for processes in (1..6).filter(|n| *n <= threads) {
                let parts = (0..processes).map(|p| Part::clients(threads, p, processes));
                let (mut next, mut done) = (0, 0);
                for (first, own) in parts {
                    assert_eq!(first, next, "{threads} over {processes}");
                    assert!(own >= 1 && own >= threads / processes);
                    next += own;
                    done += Part::operations(1_003, (first, own), threads);
                }
                assert_eq!((next, done), (threads, 1_003));
            }
        }
        assert_eq!(Part::clients(64, 3, 4), (48, 16));
        assert_eq!([0, 1, 2].map(|p| Part::clients(5, p, 3).1), [2, 2, 1]);
    }
}
