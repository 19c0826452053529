//! The plan, checked: the systems under test and what is done to all of them.
//!
//! [`Draft`] is the plan as written (TOML, flags); [`Draft::check`] makes of it the [`Plan`] as it
//! takes effect, with every default filled in, every unit resolved, scales applied and every driver
//! and workload looked up. What a plan can say is the table [`KEYS`].

mod check;
mod db_bench;
mod draft;
mod dry_run;
mod effective;
mod error;
mod keys;
mod section;
mod shipped;
mod systems;
#[cfg(test)]
mod tests;
pub mod units;
mod workloads;

pub use draft::Draft;
pub use dry_run::{Facts, SystemFacts, dry_run};
pub use error::Error;
pub use keys::{Accept, KEYS, Key};
pub use shipped::{PLANS, ShippedPlan};

use bytesize::ByteSize;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tailmark_driver::{DataSet, Driver, Semantics, Settings};
use tailmark_results::Header;
use tailmark_workload::Workload;

/// A checked plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the study keeps of the plan: title, effective keys, source, assumed keys.
    pub header: Header,
    /// At least one; names are unique.
    pub systems: Vec<SystemPlan>,
    /// The axes and the budget of the sweep.
    pub sweep: Sweep,
    /// What is done to the machine.
    pub host: HostPlan,
    /// The factor that records, operations, caches and memory limits were multiplied by.
    pub scale: f64,
    /// The factor that durations were multiplied by.
    pub time_scale: f64,
    /// The data set before `scale`, where it differs.
    pub unscaled: Option<DataSet>,
}

/// One system under test.
#[derive(Debug, Clone)]
pub struct SystemPlan {
    /// Unique.
    pub name: String,
    /// As the plan names it: a directory, a block device, or contact points.
    pub place: PathBuf,
    /// Opens it.
    pub driver: &'static Driver,
    /// The driver's settings, checked.
    pub settings: Settings,
    /// Whose semantics to keep.
    pub semantics: Semantics,
    /// The data set (the same for every system of a plan).
    pub data: DataSet,
    /// The system whose device ceiling this one measures.
    pub ceiling_for: Option<String>,
    /// Left out with a message, instead of an error, where its place lacks room or is missing.
    pub optional: bool,
    /// The directory or block device of a server, where it is on this machine: what is watched.
    pub watch: Option<PathBuf>,
    /// What is stopped and started around its points.
    pub service: Option<Service>,
}

impl SystemPlan {
    /// The directory or device that the probes look at.
    #[must_use]
    pub fn watched(&self) -> &PathBuf {
        self.watch.as_ref().unwrap_or(&self.place)
    }
}

/// The service that a system's database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What starts and stops it.
    pub control: ServiceControl,
    /// A command that succeeds when it is ready; none: the database is asked.
    pub ready: Option<Vec<String>>,
    /// Its log, whose end errors show.
    pub log: Option<PathBuf>,
}

/// What starts and stops a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceControl {
    /// A unit of systemd.
    Systemd(String),
    /// Commands for the shell.
    Commands {
        /// Starts it; ends when it has, or is the server itself.
        start: String,
        /// Stops it; none: what `start` is still running is terminated.
        stop: Option<String>,
    },
}

impl Service {
    /// The words of the command that starts it.
    #[must_use]
    pub fn start(&self) -> Vec<String> {
        match &self.control {
            ServiceControl::Systemd(unit) => words(&["systemctl", "start", unit]),
            ServiceControl::Commands { start, .. } => words(&["sh", "-c", start]),
        }
    }

    /// The words of the command that stops it.
    #[must_use]
    pub fn stop(&self) -> Option<Vec<String>> {
        match &self.control {
            ServiceControl::Systemd(unit) => Some(words(&["systemctl", "stop", unit])),
            ServiceControl::Commands { stop, .. } => {
                stop.as_ref().map(|stop| words(&["sh", "-c", stop]))
            }
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The product of axes, and the budget of each point.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// In this order; each with the distribution that takes effect.
    pub workloads: Vec<Arc<Workload>>,
    /// Client counts, in this order, each from 1 to 1,024.
    pub threads: Vec<u32>,
    /// From 1.
    pub repeats: u32,
    /// Operations per second over all clients; none: a closed loop.
    pub rate: Option<f64>,
    /// Ends a point after so many operations; at least one of this and `duration` is set.
    pub operations: Option<u64>,
    /// Ends a point after this time.
    pub duration: Option<Duration>,
    /// Runs before the measured part, not counted.
    pub warmup: Duration,
    /// Of every random draw.
    pub seed: u64,
    /// When the data set is made anew.
    pub reload: Reload,
    /// Clients that load.
    pub load_threads: u32,
    /// Whether an update writes all fields instead of one.
    pub write_all_fields: bool,
    /// How much of each value is not random: 0 (incompressible) to 1.
    pub compressibility: f64,
    /// How long to wait for background work to come to rest.
    pub settle: Duration,
    /// How long to wait for a server to answer.
    pub ready_timeout: Duration,
}

/// When the data set is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// Loaded once.
    Never,
    /// Before each workload.
    Workload,
    /// Before each point.
    Point,
}

/// What is done to the machine.
#[derive(Debug, Clone, Default)]
pub struct HostPlan {
    /// Bytes of memory that the run may use, page cache included.
    pub memory_limit: Option<u64>,
    /// What `scale` made of it, where that is less than a run needs.
    pub memory_limit_scaled: Option<u64>,
    /// Whether caches are dropped before each point.
    pub drop_caches: bool,
}

impl HostPlan {
    /// What is said where the limit of memory was not scaled as far as the data.
    pub(crate) fn limit_notice(&self) -> Option<String> {
        let (limit, scaled) = self.memory_limit.zip(self.memory_limit_scaled)?;
        Some(format!(
            "host.memory_limit is {} and not {}, as scaled: a run needs so much. A larger part \
             of the data fits in it than at full scale",
            ByteSize(limit),
            ByteSize(scaled)
        ))
    }
}
