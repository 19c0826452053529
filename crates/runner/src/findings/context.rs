//! The input of the rules: a point with the conditions under which it was measured.

use crate::{CachesKept, point::Measured};
use tailmark_driver::{Driver, Params, Place, Settled};
use tailmark_model::{Phase, PointKey, StartState};
use tailmark_plan::{Plan, SystemPlan};
use tailmark_stats::steady::SteadyRule;

/// A measured point, and everything known about it.
#[derive(Clone)]
pub struct PointContext<'a> {
    /// What opened the database.
    pub driver: &'a Driver,
    /// The parameters of its database.
    pub params: &'a Params,
    /// The point.
    pub key: &'a PointKey,
    /// The measurements.
    pub measured: &'a Measured,
    /// The rule for steadiness; `None`: it is not checked.
    pub steady: Option<SteadyRule>,
    /// Bytes of memory that can cache the files of the database; `None` if unknown.
    pub(crate) memory: Option<u64>,
    /// Additional context in a sweep; drop-ins have none.
    pub(crate) sweep: Option<SweepContext<'a>>,
}

/// The context of a point in a sweep.
#[derive(Clone)]
pub(crate) struct SweepContext<'a> {
    pub plan: &'a Plan,
    pub system: &'a SystemPlan,
    /// Facts about a data set that another program loaded.
    pub adopted: Option<&'a str>,
    /// Why the memory of this run is not limited, although the plan says so.
    pub memory_unlimited: Option<&'a str>,
    /// Why caches were not dropped before the point, if they were not.
    pub caches_kept: Option<CachesKept>,
    /// Whether background work settled before the point.
    pub settled_before: Settled,
    /// Whether it did after the point.
    pub settled_after: Settled,
    /// The version of the database, if it reports it.
    pub version: Option<String>,
    /// Devices whose link is slower than they can use, each in a few words.
    pub links: Vec<String>,
    /// Differences of the system from the plan's expectations, in sentences.
    pub unexpected: Vec<String>,
    /// The states from which the points so far started.
    pub starts: &'a [(PointKey, StartState)],
    /// The hosts of its server on which the preparation was undone meanwhile.
    pub put_back: Vec<String>,
}

impl<'a> PointContext<'a> {
    /// A point outside a sweep, whose database can use all memory of this machine if it is here.
    #[must_use]
    pub fn new(
        driver: &'a Driver,
        params: &'a Params,
        key: &'a PointKey,
        measured: &'a Measured,
    ) -> Self {
        let mut point = Self {
            driver,
            params,
            key,
            measured,
            steady: Some(SteadyRule::default()),
            memory: None,
            sweep: None,
        };
        point.memory = point.is_here().then(|| tailmark_machine::memory().total);
        point
    }

    /// Whether the database is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        match &self.sweep {
            Some(sweep) => sweep.system.is_here(),
            None => self.driver.place != Place::Hosts || self.params.location.is_here(),
        }
    }

    /// The measured phase.
    #[must_use]
    pub fn phase(&self) -> &'a Phase {
        &self.measured.phase
    }
}
