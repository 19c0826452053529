//! The plan, checked: the systems under test and what is done to all of them.
//!
//! [`RawPlan`] is the plan as written (TOML, flags); [`RawPlan::check`] makes of it the [`Plan`] as
//! it takes effect, with every default filled in, every unit resolved, scales applied and every
//! driver and workload looked up. What a plan can say is the table [`KEYS`].

mod abort;
mod accept;
mod agent;
mod assumed;
mod caches;
mod check;
mod choices;
mod db_bench;
mod db_bench_text;
mod device_options;
mod effective;
mod emulate;
mod error;
mod expect;
mod hosts;
mod key;
mod keys;
mod limits;
mod logins;
mod points;
mod prepare;
mod rate;
mod raw;
mod reader;
mod requests;
mod service;
mod shipped;
mod systems;
#[cfg(test)]
mod tests;
mod threads;
pub mod units;
mod warmup;
mod workloads;

pub use abort::{AbortLimit, Broken};
pub use accept::Accept;
pub use agent::Agent;
pub use caches::DropCaches;
pub use choices::{Adopt, Order, Reload};
pub use effective::file_sums;
pub use emulate::Emulate;
pub use error::Error;
pub use expect::{ClientHost, Expect, Unexpected};
pub use key::{DefaultInputs, DefaultValue, KeyFlag, PlanKey};
pub use keys::{DataSetPlan, KEYS, MachinePlan, Sweep, is_searched};
pub use points::PlanPoint;
pub use prepare::{Consent, ERASES, FILE_SYSTEMS, MachineSettings, Prepare, Steady};
pub use rate::AskedRate;
pub use raw::RawPlan;
pub use requests::requests_per_operation;
pub use service::{Service, ServiceControl, shown};
pub use shipped::{PLANS, ShippedPlan};
pub use threads::Ladder;
pub use warmup::Warmup;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tailmark_driver::{DataSet, Driver, Location, Place, Semantics, SettingKind, Settings};
use tailmark_model::{Header, ReportSettings, SloSettings};

/// A checked plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the study keeps of the plan: title, effective keys, source, assumed keys.
    pub header: Header,
    /// At least one; names are unique.
    pub systems: Vec<SystemPlan>,
    /// What is loaded, and what may be done to data that is there.
    pub dataset: DataSetPlan,
    /// The axes and the budget of the sweep.
    pub sweep: Sweep,
    /// What is done to the machine.
    pub machine: MachinePlan,
    /// What the report is about.
    pub report: ReportSettings,
    /// What the highest rate that holds is searched for.
    pub slo: Option<SloSettings>,
    /// Limits that end the run when they are broken.
    pub abort: Vec<AbortLimit>,
    /// Whether systems may share one physical device: their settings are compared, not devices.
    pub same_device: bool,
    /// What is done where a system is not as the plan expects.
    pub unexpected: Unexpected,
    /// The factor that records, operations, caches and memory limits were multiplied by.
    pub scale: f64,
    /// The factor that durations were multiplied by.
    pub time_scale: f64,
    /// The data set before `scale`, where it differs.
    pub unscaled: Option<DataSet>,
    /// Whether points of the study that are not valid are measured again.
    pub retry_failed: bool,
    /// The systems on whose servers the study that is resumed began to create something.
    pub begun_on: BTreeSet<String>,
    /// Settings of the machine while the plan is carried out.
    pub settings: MachineSettings,
    /// What whoever runs it agrees to: nothing, as a plan is read.
    pub consent: Consent,
}

/// One system under test.
#[derive(Debug, Clone)]
pub struct SystemPlan {
    /// Unique.
    pub name: String,
    /// As the plan names it, `{rank}` and `{host}` included.
    pub place: String,
    /// Where it is. A directory may turn out to be a block device; a device must be one.
    pub location: Location,
    /// Whether the location is an example, to be replaced before anything is measured.
    pub placeholder: bool,
    /// Opens it.
    pub driver: &'static Driver,
    /// The driver's settings, checked.
    pub settings: Settings,
    /// Whose semantics to keep.
    pub semantics: Semantics,
    /// The version of the embedded database that the plan speaks of, such as `8.1`.
    pub version: Option<String>,
    /// The data set (the same for every system of a plan).
    pub data: DataSet,
    /// The system whose device ceiling this one measures.
    pub ceiling_for: Option<String>,
    /// Left out with a message, instead of an error, where its place lacks room or is missing.
    pub optional: bool,
    /// The directories, block devices and NVMe controllers of a server, where it is on this machine:
    /// what is watched.
    pub watch: Vec<PathBuf>,
    /// Where its server runs, as `ssh` takes it; none: what is done to it is done on this machine.
    pub ssh: Vec<String>,
    /// Which agent may be copied there.
    pub agent: Agent,
    /// What the plan expects of its place.
    pub expect: Expect,
    /// What is stopped and started around its points.
    pub service: Option<Service>,
    /// What is done to its devices before.
    pub prepare: Prepare,
    /// The device that is emulated for it.
    pub emulate: Option<Emulate>,
}

impl Plan {
    /// The plan of one of several processes: `{rank}` and `{host}` in the places of its systems are
    /// its number and the name of its machine.
    #[must_use]
    pub fn at_rank(mut self, rank: u32, host: &str) -> Self {
        for system in &mut self.systems {
            *system = system.at_rank(rank, host);
        }
        self
    }
}

/// A place as one of several processes has it; see [`Plan::at_rank`].
#[must_use]
pub fn named_at_rank(place: &str, rank: u32, host: &str) -> String {
    let place = place.replace("{rank}", &rank.to_string());
    place.replace("{host}", host)
}

impl SystemPlan {
    /// The system of one of several processes; see [`Plan::at_rank`].
    #[must_use]
    pub fn at_rank(&self, rank: u32, host: &str) -> Self {
        let named = |text: &str| named_at_rank(text, rank, host);
        let path = |path: &Path| PathBuf::from(named(&path.to_string_lossy()));
        Self {
            location: match &self.location {
                Location::Directory(place) => Location::Directory(path(place)),
                Location::Device(place) => Location::Device(path(place)),
                other => other.clone(),
            },
            watch: self.watch.iter().map(|place| path(place)).collect(),
            settings: self.settings.renamed(named),
            ..self.clone()
        }
    }

    /// The directories, devices and controllers that the probes look at, where some are known.
    #[must_use]
    pub fn watched(&self) -> Vec<&Path> {
        if self.watch.is_empty() {
            self.location.path().into_iter().collect()
        } else {
            self.watch.iter().map(PathBuf::as_path).collect()
        }
    }

    /// Further directories that its settings name, in which the database keeps a part of what it stores.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let settings = self.driver.settings.iter();
        let named = settings.filter(|row| row.kind == SettingKind::Directory);
        let given = named.filter_map(|row| self.settings.text(row.name));
        given.filter(|text| !text.is_empty()).map(Path::new)
    }

    /// Whether its data is on this machine: it has no server, the plan names what is watched of the
    /// server here, or the server is asked over the loopback.
    #[must_use]
    pub fn is_here(&self) -> bool {
        let is_here =
            self.driver.place != Place::Hosts || !self.watch.is_empty() || self.location.is_here();
        is_here && self.ssh.is_empty()
    }
}
