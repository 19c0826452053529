//! What a phase does: the arguments of [`crate::run`].

use std::{sync::Arc, time::Duration};
use tailmark_driver::{Clients, DataSet, Database};
use tailmark_results::{Arrivals, Interval, PointKey};
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
    /// Clients.
    pub threads: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub rate: Option<f64>,
    /// How operations arrive at that rate, in one sequence that all clients share; none: each
    /// client has an even schedule of its own.
    pub arrivals: Option<Arrivals>,
    /// Ends the phase after so many operations of the measured part.
    pub operations: Option<u64>,
    /// Ends the measured part after this time.
    pub duration: Option<Duration>,
    /// Ends it earlier, as soon as enough was measured; asked every second. Not before `at_least`.
    pub enough: Option<&'a dyn Enough>,
    /// How long the measured part is at least, where it would have enough before.
    pub at_least: Duration,
    /// Whether it is the warm-up of the phase after it: what is measured decides when it ends.
    pub is_warmup: bool,
    /// Whether it follows another phase on the open database, as what is measured follows its
    /// warm-up. A simulated database, and its clock, then go on where they were.
    pub goes_on: bool,
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
            threads: 1,
            rate: None,
            arrivals: None,
            operations: None,
            duration: None,
            enough: None,
            at_least: Duration::ZERO,
            is_warmup: false,
            goes_on: false,
            warmup: Duration::ZERO,
            seed: 0,
            warmup_seed: 0,
            write_all_fields: false,
            compressibility: 0.0,
            ends_at_failure: false,
        }
    }
}
