//! The checked plan: the systems under test and everything that is done to them.
//!
//! [`RawPlan`] is the plan as written (TOML, flags). [`RawPlan::check`] turns it into the effective
//! [`Plan`], with defaults filled in, units resolved, scales applied, and drivers and workloads
//! looked up. The table [`KEYS`] has everything that a plan can contain.

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
mod error;
mod hints;
mod hosts;
mod key;
mod keys;
mod limits;
mod lines;
mod logins;
mod notices;
mod points;
mod rate;
mod raw;
mod reader;
mod requests;
mod shipped;
#[cfg(test)]
mod tests;
pub mod units;
mod warmup;
mod workloads;

pub use accept::Accept;
pub use agent::Agent;
pub use caches::DropCaches;
pub use choices::{Adopt, Order, Restore, RestoreBefore};
pub use effective::file_sums;
pub use error::Error;
pub use key::{DefaultInputs, DefaultValue, KeyFlag, PlanKey};
pub use keys::{
    AbortLimit, AnatomyPlan, Broken, ClientHost, Consent, DataSetPlan, ERASES, Emulate, Expect,
    FILE_SYSTEMS, General, KEYS, Ladder, MachinePlan, MachineSettings, Prepare, RestorePlan,
    SETTING_FLAGS, Service, ServiceControl, Steady, Sweep, SystemPlan, Unexpected, is_searched,
    named_at_rank, report_settings, shown,
};
pub use points::PlanPoint;
pub use rate::AskedRate;
pub use raw::RawPlan;
pub use requests::requests_per_operation;
pub use shipped::{PLANS, ShippedPlan};
pub use warmup::Warmup;

use std::collections::BTreeSet;
use tailmark_driver::DataSet;
use tailmark_model::{Header, ReportSettings, SloSettings};

/// A checked plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The part of the plan that the study stores: title, effective keys, source, assumed keys.
    pub header: Header,
    /// Settings for the whole run.
    pub general: General,
    /// At least one; names are unique.
    pub systems: Vec<SystemPlan>,
    /// The data set, and what may be done to existing data.
    pub dataset: DataSetPlan,
    /// The axes and the budget of the sweep.
    pub sweep: Sweep,
    /// Settings for the machine.
    pub machine: MachinePlan,
    /// Report settings.
    pub report: ReportSettings,
    /// Settings of the search for the highest rate that holds.
    pub slo: Option<SloSettings>,
    /// Points whose requests are taken apart.
    pub anatomy: Option<AnatomyPlan>,
    /// Limits that end the run when they are broken.
    pub abort: Vec<AbortLimit>,
    /// The data set before `scale`, if it differs.
    pub unscaled: Option<DataSet>,
    /// Whether invalid points of the study are measured again.
    pub retry_failed: bool,
    /// The systems on whose servers the resumed study began to create something.
    pub begun_on: BTreeSet<String>,
    /// Settings of the machine while the plan is carried out.
    pub settings: MachineSettings,
    /// The consent of the user who runs it. A plan that was just read has none.
    pub consent: Consent,
    /// Notices about the plan as written; see [`Self::notices`].
    pub own_notices: Vec<String>,
}

impl Plan {
    /// What is accepted but may not be what was meant.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        let own = self.own_notices.iter().cloned();
        own.chain(self.machine.limit_notice())
            .chain(self.machine.too_little())
    }
}

impl Plan {
    /// The plan of one of several processes: `{rank}` and `{host}` in the places of its systems are
    /// replaced by its number and the name of its machine.
    #[must_use]
    pub fn at_rank(mut self, rank: u32, host: &str) -> Self {
        for system in &mut self.systems {
            *system = system.at_rank(rank, host);
        }
        self
    }
}
