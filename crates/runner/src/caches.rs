//! Drops the caches of a system before a point, so that it does not profit from the previous one.
//!
//! Caches of a server are dropped on each host in its `ssh`. Without `ssh`, caches of a server on
//! another machine are left alone. So are those of a server that the plan does not start, unless
//! the plan says `always`, because other programs use it. With a server elsewhere, the clients' own
//! caches are left alone, because nothing reads through them.

use crate::{Error, dataset::Dataset, servers::Servers};
use tailmark_driver::Place;
use tailmark_machine::CacheDrop;
use tailmark_plan::{DropCaches, Plan, SystemPlan};

/// Why caches were not dropped before a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachesKept {
    /// The plan says so.
    AsPlanned,
    /// The machine refused, for this reason.
    Refused(String),
    /// They belong to a server on another machine.
    Elsewhere {
        /// Whether the server was restarted before the point.
        restarted: bool,
    },
    /// They belong to a server that the plan does not start.
    Foreign,
}

impl CachesKept {
    /// Of a server on another machine, whose caches are out of reach.
    pub(crate) fn elsewhere(system: &SystemPlan) -> Option<Self> {
        (!system.is_here() && system.ssh.is_empty()).then(|| Self::Elsewhere {
            restarted: system.service.is_some(),
        })
    }

    /// Of a server that is out of reach, or that the plan does not start.
    pub(crate) fn left_alone(plan: &Plan, system: &SystemPlan) -> Option<Self> {
        let is_foreign = !plan.drops_caches_of(system);
        Self::elsewhere(system).or_else(|| is_foreign.then_some(Self::Foreign))
    }

    /// Why, and what to do about it.
    #[must_use]
    pub fn describe(&self) -> (String, &'static str) {
        match self {
            Self::AsPlanned => (
                "machine.drop_caches is false".to_owned(),
                "Set it to true, or use more data than memory.",
            ),
            Self::Refused(why) => (why.clone(), "Run as root."),
            Self::Foreign => (
                "tailmark did not start this server, so it leaves the page cache of its machine alone"
                    .to_owned(),
                "Set machine.drop_caches to \"always\" if nothing else there needs it, have the plan \
                 start the server (`service`), or use more data than its memory.",
            ),
            Self::Elsewhere { restarted: true } => (
                "they are on the server's machine, where tailmark only runs the commands of its \
                 service: a restart empties the caches of the database, not the page cache of the \
                 machine"
                    .to_owned(),
                "Set the system's `ssh` to that machine, or let those commands drop its page cache \
                 too.",
            ),
            Self::Elsewhere { restarted: false } => (
                "they are on the server's machine, which tailmark does not access".to_owned(),
                "Set the system's `ssh` to that machine, have the commands of a service restart \
                 the server and drop the page cache there before each point, or use more data than \
                 its memory.",
            ),
        }
    }
}

/// Drops the caches of a system, or returns why that was not done.
///
/// # Errors
/// If the database does not open to name its files, or if the connection to a host of its server is
/// lost.
pub(crate) fn drop_caches(
    plan: &Plan,
    dataset: &Dataset<'_>,
    system: &SystemPlan,
    servers: &Servers,
) -> Result<Option<CachesKept>, Error> {
    if plan.machine.drop_caches == DropCaches::Never {
        return Ok(Some(CachesKept::AsPlanned));
    }
    if let Some(kept) = CachesKept::left_alone(plan, system) {
        return Ok(Some(kept));
    }
    if !system.ssh.is_empty() {
        let mut refused = None;
        for server in servers.of(system) {
            match server.drop_caches() {
                Ok(()) => {}
                Err(source) if source.may_pass() => {
                    return Err(Error::Server {
                        system: system.name.clone(),
                        source,
                    });
                }
                Err(error) => refused = Some(CachesKept::Refused(error.to_string())),
            }
        }
        return Ok(refused);
    }
    // The files belong to the server, which may not be running.
    let files = if tailmark_machine::can_drop_caches() || system.driver.place == Place::Hosts {
        Vec::new()
    } else {
        dataset.open()?.files()
    };
    Ok(match tailmark_machine::drop_caches(&files) {
        CacheDrop::Dropped | CacheDrop::Advised(_) => None,
        CacheDrop::Skipped(why) => Some(CachesKept::Refused(why)),
    })
}
