//! Checks for problems of a machine or a plan that would spoil a result. They run before anything
//! is measured, and change nothing.
//!
//! Each check is a row of [`CHECKS`]. It reports a problem and its remedy, no problem, or that it
//! does not apply.

mod machine;
mod places;
mod scene;
#[cfg(test)]
mod tests;

pub use scene::{DiskActivity, PlaceScene, Scene, SystemScene};

use crate::Error;
use std::time::Duration;
use tailmark_plan::Plan;

/// How long the machine's other activity is watched.
pub const WATCHED_FOR: Duration = Duration::from_secs(2);

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It would spoil a result.
    Problem,
    /// It bears on results, and may be meant.
    Remark,
}

impl Severity {
    /// The word in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Remark => "remark",
        }
    }
}

/// A problem and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The observation.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    fn new(evidence: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            evidence: evidence.into(),
            remedy: remedy.into(),
        }
    }
}

/// A row of [`CHECKS`].
#[derive(Debug, Clone, Copy)]
pub struct MachineCheck {
    /// Its name.
    pub name: &'static str,
    /// Its subject, in one line.
    pub about: &'static str,
    /// The severity of its problems.
    pub severity: Severity,
    /// Runs the check; `None` if it does not apply.
    pub run: fn(&Scene) -> Option<Vec<Problem>>,
}

/// Every check, sorted by name.
pub const CHECKS: &[MachineCheck] = &[
    MachineCheck {
        name: "access-times",
        about: "file systems that record when a file was read",
        severity: Severity::Remark,
        run: places::access_times,
    },
    MachineCheck {
        name: "client-host",
        about: "servers that share the machine of their clients, unless the plan says so",
        severity: Severity::Problem,
        run: places::client_host,
    },
    MachineCheck {
        name: "cpu-load",
        about: "other load on the processors",
        severity: Severity::Problem,
        run: machine::cpu_load,
    },
    MachineCheck {
        name: "cpu-quota",
        about: "processors that a control group takes away",
        severity: Severity::Problem,
        run: machine::cpu_quota,
    },
    MachineCheck {
        name: "cpu-throttled",
        about: "processors that are held up by a quota or by their temperature",
        severity: Severity::Problem,
        run: machine::cpu_throttled,
    },
    MachineCheck {
        name: "discard",
        about: "file systems that discard with each deletion",
        severity: Severity::Problem,
        run: places::discard,
    },
    MachineCheck {
        name: "disk-load",
        about: "other load on the disks of the plan",
        severity: Severity::Problem,
        run: places::disk_load,
    },
    MachineCheck {
        name: "expectations",
        about: "what the plan expects of its systems",
        severity: Severity::Problem,
        run: places::expectations,
    },
    MachineCheck {
        name: "file-system-full",
        about: "file systems that are nearly full when the data set is loaded",
        severity: Severity::Problem,
        run: places::nearly_full,
    },
    MachineCheck {
        name: "fits-in-memory",
        about: "data sets that fit in memory or in the database's own cache",
        severity: Severity::Problem,
        run: places::fits_in_memory,
    },
    MachineCheck {
        name: "governor",
        about: "processors that lower their frequency when they are idle",
        severity: Severity::Problem,
        run: machine::governor,
    },
    MachineCheck {
        name: "io-limit",
        about: "limits of control groups on devices",
        severity: Severity::Problem,
        run: machine::io_limit,
    },
    MachineCheck {
        name: "limit",
        about: "memory limits of the plan so low that a run may be killed",
        severity: Severity::Problem,
        run: machine::limit,
    },
    MachineCheck {
        name: "link",
        about: "devices whose PCI Express link is slower than they support",
        severity: Severity::Problem,
        run: places::link,
    },
    MachineCheck {
        name: "settings-left",
        about: "changes of this machine that a killed run left",
        severity: Severity::Problem,
        run: machine::settings_left,
    },
    MachineCheck {
        name: "steal",
        about: "processor time that a hypervisor gives to other guests",
        severity: Severity::Problem,
        run: machine::steal,
    },
    MachineCheck {
        name: "swap",
        about: "memory that is swapped out",
        severity: Severity::Problem,
        run: machine::swap,
    },
    MachineCheck {
        name: "transparent-huge-pages",
        about: "transparent huge pages for all memory",
        severity: Severity::Remark,
        run: machine::huge_pages,
    },
    MachineCheck {
        name: "write-cache",
        about: "devices with a volatile write cache",
        severity: Severity::Remark,
        run: places::write_cache,
    },
];

/// The result of a check.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The row.
    pub check: &'static MachineCheck,
    /// The problems; `None` if the check did not apply.
    pub problems: Option<Vec<Problem>>,
}

/// Checks the machine and, if there is a plan, its places.
///
/// # Errors
/// If the machine's counters cannot be read.
pub fn check(plan: Option<&Plan>) -> Result<Vec<Checked>, Error> {
    let scene = Scene::gather(plan, WATCHED_FOR)?;
    let checked = CHECKS.iter().map(|check| Checked {
        check,
        problems: (check.run)(&scene),
    });
    Ok(checked.collect())
}
