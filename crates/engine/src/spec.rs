//! What a phase does: the arguments of [`crate::run`].

use crate::Peers;
use serde::{Deserialize, Serialize};
use std::{ops::Deref, sync::Arc, time::Duration};
use tailmark_driver::{Clients, DataSet, Database};
use tailmark_model::{Arrivals, Interval, PointKey};
use tailmark_workload::{KeySpace, Workload};

/// What a phase does.
pub struct Spec<'a> {
    /// The open database.
    pub database: &'a dyn Database,
    /// How its clients are run.
    pub clients: Clients,
    /// The system's name.
    pub system: &'a str,
    /// Which point; none for a load.
    pub point: Option<&'a PointKey>,
    /// Which operations.
    pub workload: &'a Arc<Workload>,
    /// On which data.
    pub data: &'a DataSet,
    /// Where inserts go.
    pub keys: &'a Arc<KeySpace>,
    /// What of the phase is this process's; none: all of it.
    pub part: Option<Part<'a>>,
    /// Ends the measured part earlier, as soon as enough was measured; asked every second. Not before
    /// `at_least`.
    pub enough: Option<&'a dyn Enough>,
    /// How it is carried out.
    pub terms: Terms,
}

/// How a phase is carried out, in plain values: the same for every process of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Clients; of all processes, where a part of them is this one's.
    pub threads: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub rate: Option<f64>,
    /// How operations arrive at that rate, in one sequence that all clients share; none: each
    /// client has an even schedule of its own.
    pub arrivals: Option<Arrivals>,
    /// Whether background clients with a rate have a schedule each, too, and end with the point, as
    /// those of db_bench do.
    pub is_background_scheduled: bool,
    /// Ends the phase after this many operations of the measured part.
    pub operations: Option<u64>,
    /// Ends the measured part after this time.
    pub duration: Option<Duration>,
    /// How long the measured part is at least, where it would have enough before.
    pub at_least: Duration,
    /// Whether it is the warm-up of the phase after it: what is measured decides when it ends.
    pub is_warmup: bool,
    /// Whether it follows another phase on the open database, as what is measured follows its
    /// warm-up. A simulated database, and its clock, then go on where they were.
    pub continues: bool,
    /// Runs before the measured part.
    pub warmup: Duration,
    /// Of every random draw of the measured part.
    pub seed: u64,
    /// Of those of the warm-up.
    pub warmup_seed: u64,
    /// Whether an update writes all fields.
    pub write_all_fields: bool,
    /// How much of each value is not random.
    pub compressibility: f64,
    /// Whether it ends soon after the first request that failed.
    pub ends_at_failure: bool,
}

/// The terms of a phase are read as its own.
impl Deref for Spec<'_> {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// What of a phase is carried out by this process, where others carry out the rest at the same time.
///
/// Clients are numbered over all processes, so that no two draw the same; each process has a share of
/// the rate that is that of its clients.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// Which of the processes it is, from 0.
    pub process: u32,
    /// How many there are.
    pub processes: u32,
    /// The number of its first client, from 0.
    pub first: u32,
    /// Clients of its own, at least 1.
    pub threads: u32,
    /// Operations of its own, where those of the phase are bounded.
    pub operations: Option<u64>,
    /// Whether its keys are its own, in a database of its own, and not shared with the others.
    pub has_own_keys: bool,
    /// The other processes.
    pub peers: &'a dyn Peers,
}

impl Part<'_> {
    /// The first client of a process, and how many are its own, of so many over all processes: the
    /// first processes have those that cannot be divided.
    #[must_use]
    pub const fn clients(threads: u32, process: u32, processes: u32) -> (u32, u32) {
        let (each, rest) = (threads / processes, threads % processes);
        let least = if process < rest { process } else { rest };
        (process * each + least, each + (process < rest) as u32)
    }

    /// The operations of that many clients from `first` on, of so many over all clients.
    #[must_use]
    pub fn operations(operations: u64, clients: (u32, u32), threads: u32) -> u64 {
        let (first, own) = clients;
        let shares = (first..first + own).map(|client| share(operations, client, threads));
        shares.sum()
    }
}

/// Says when enough was measured. The measured part then ends with the second that goes on, as if
/// it had been planned so.
pub trait Enough: Sync {
    /// Whether what was measured so far is enough: the intervals that nothing is added to any more,
    /// in order of time; one in which nothing was done may be missing.
    fn is_enough(&self, so_far: &[&Interval]) -> bool;
}

impl<'a> Spec<'a> {
    /// One client thread that goes as fast as it can, without an end of its own, a warm-up or a
    /// name.
    #[must_use]
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
            terms: Terms {
                threads: 1,
                ..Terms::default()
            },
        }
    }

    /// Clients of this process.
    #[must_use]
    pub fn own_threads(&self) -> u32 {
        self.part.map_or(self.threads, |part| part.threads)
    }

    /// Whether a client of the point, by its number among them, is this process's.
    pub(crate) fn is_own(&self, client: u32) -> bool {
        self.part
            .is_none_or(|part| (part.first..part.first + part.threads).contains(&client))
    }

    /// Operations of this process, where they are bounded.
    #[must_use]
    pub fn own_operations(&self) -> Option<u64> {
        self.part.map_or(self.operations, |part| part.operations)
    }

    /// Operations of all that share the keys.
    pub(crate) fn operations_on_keys(&self) -> Option<u64> {
        match self.part {
            Some(part) if part.has_own_keys => part.operations,
            _ => self.operations,
        }
    }
}

/// The operations of one client; the first clients do those that cannot be divided.
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
