//! How points get the data set as it was loaded: the keys `restore...` of `dataset`.
//!
//! Workloads that write age the database and its drive. A point that starts from what the points
//! before it have left measures them, too.

use super::{
    roles::{COMMAND, EVERY_POINT},
    service::shown,
};
use crate::{
    Accept::{Choice, Flag, Text},
    Adopt, Error, Plan, PlanKey, Restore, RestoreBefore, Sweep, SystemPlan,
    reader::TableReader,
};
use std::time::Duration;
use tailmark_driver::{DataSet, Location, Place};

/// The keys.
pub(super) const RESTORE_KEYS: &[PlanKey] = &[
    PlanKey::new("dataset", "restore", EVERY_POINT, Choice(Restore::NAMES))
        .about("how points get the data set as loaded (without it: docs/METHOD.md, Equal starts)")
        .sets(|plan| Some(plan.dataset.restore.how.name().to_owned())),
    PlanKey::new(
        "dataset",
        "restore_before",
        EVERY_POINT,
        Choice(RestoreBefore::NAMES),
    )
    .about("restore before each point, workload or further repeat")
    .or(RestoreBefore::Point.name())
    .sets(|plan| of_restored(plan, |restore| restore.before.name().to_owned())),
    PlanKey::new("dataset", "restore_command", COMMAND, Text)
        .about("for restore = \"command\": keeps ($1 = keep) or restores ($1 = restore) the data")
        .sets(|plan| Some(shown(&plan.dataset.restore.words("")?))),
    PlanKey::new("dataset", "restore_trim", EVERY_POINT, Flag)
        .about("after a restore, trim the file system and wait until its device is idle")
        .or("false")
        .sets(|plan| of_restored(plan, |restore| restore.trim.to_string())),
];

/// What a restore from links is expected to take by itself, seconds: closing, opening and settling.
const RESTORE_S: f64 = 1.0;
/// The same for each table of the database that a point has replaced. Measured on ext4 with
/// `discard`: a link takes 0.01 ms, the removal of a table of 64 MB 14.5 ms.
const TABLE_S: f64 = 0.015;
/// Bytes of a table of RocksDB.
const TABLE_BYTES: f64 = 64e6;
/// The part of the time of a point that a restore may take to be the default.
const RESTORE_PART_MAX: f64 = 0.05;

/// How points get the data set as it was loaded.
#[derive(Debug, Clone, Default)]
pub struct RestorePlan {
    /// How.
    pub how: Restore,
    /// Before what.
    pub before: RestoreBefore,
    /// The command for the shell that keeps and restores it.
    pub command: Option<String>,
    /// Whether the file system is trimmed afterwards.
    pub trim: bool,
    /// Whether the plan leaves `how` to the default.
    pub is_default: bool,
}

impl RestorePlan {
    /// Reads the keys.
    ///
    /// # Errors
    /// If a system cannot be restored so, or the command and its use do not match.
    pub(crate) fn read(
        keys: &TableReader<'_>,
        (adopt, sweep): (Adopt, &Sweep),
        systems: &[SystemPlan],
    ) -> Result<Self, Error> {
        let how: Option<Restore> = keys.optional("restore")?;
        let restore = Self {
            how: how.unwrap_or_else(|| default(adopt, sweep, systems)),
            before: keys.get("restore_before")?,
            command: keys.optional("restore_command")?,
            trim: keys.get("restore_trim")?,
            is_default: how.is_none(),
        };
        if (restore.how == Restore::Command) != restore.command.is_some() {
            let accepted = match restore.command {
                None => "another one without dataset.restore_command",
                Some(_) => "`command` with dataset.restore_command",
            };
            return Err(refused(keys, restore.how, accepted));
        }
        let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
        for system in compared {
            if let Some(why) = restore.refusal(system) {
                let accepted = format!("another one for system `{}`: {why}", system.name);
                return Err(refused(keys, restore.how, &accepted));
            }
        }
        if restore.before == RestoreBefore::Repeat
            && sweep.ladder.is_some()
            && restore.how != Restore::None
        {
            let accepted = "point or workload if sweep.threads climb until there is no gain, \
                            because all repeats of a thread count run before the next one";
            return Err(Error::BadValue {
                key: keys.label("restore_before"),
                value: restore.before.name().to_owned(),
                accepted: accepted.to_owned(),
            });
        }
        Ok(restore)
    }

    /// The words of the command, with what it is to do.
    #[must_use]
    pub fn words(&self, does: &str) -> Option<Vec<String>> {
        let command = self.command.as_deref()?;
        let words = ["sh", "-c", command, "sh", does];
        let given = words.into_iter().take(if does.is_empty() { 3 } else { 5 });
        Some(given.map(str::to_owned).collect())
    }

    /// How the data set of a system is restored: not at all if its files cannot be kept, as those
    /// of a ceiling.
    #[must_use]
    pub fn for_system(&self, system: &SystemPlan) -> Restore {
        match self.refusal(system) {
            None => self.how,
            Some(_) => Restore::None,
        }
    }

    /// The expected time of a restore from links, if a point has replaced all tables.
    #[must_use]
    pub fn time_of_checkpoint(data: &DataSet) -> Duration {
        Duration::from_secs_f64(RESTORE_S + TABLE_S * data.bytes() as f64 / TABLE_BYTES)
    }

    /// Why a system cannot be restored so.
    fn refusal(&self, system: &SystemPlan) -> Option<String> {
        let driver = system.driver;
        if self.how == Restore::Snapshot && driver.snapshot.is_none() {
            let why = "driver `{}` has no snapshots; use \"checkpoint\", \"reload\" or \"command\"";
            return Some(why.replace("{}", driver.name));
        }
        if !self.how.keeps_files() {
            return None;
        }
        let is_directory = matches!(driver.place, Place::Directory | Place::DirectoryOrDevice)
            && !matches!(system.location, Location::Device(_));
        if !is_directory {
            let why = "its data is not in a directory here; use \"reload\" or \"command\"";
            return Some(why.to_owned());
        }
        if self.how == Restore::Checkpoint && driver.files.is_final.is_none() {
            return Some(format!(
                "driver `{}` changes its files in place, so links do not keep them; use \"copy\", \
                 \"reload\" or \"command\"",
                driver.name
            ));
        }
        if ["{rank}", "{host}"]
            .iter()
            .any(|own| system.place.contains(own))
        {
            let why = "each process has a data set of its own; use \"reload\"";
            return Some(why.to_owned());
        }
        let apart = system.directories().next()?;
        Some(format!(
            "part of its data is in `{}`; use \"reload\", or leave that setting out",
            apart.display()
        ))
    }
}

fn refused(keys: &TableReader<'_>, how: Restore, accepted: &str) -> Error {
    Error::BadValue {
        key: keys.label("restore"),
        value: how.name().to_owned(),
        accepted: accepted.to_owned(),
    }
}

/// A value that counts only if the data set is restored.
fn of_restored(plan: &Plan, value: impl Fn(&RestorePlan) -> String) -> Option<String> {
    let restore = &plan.dataset.restore;
    (restore.how != Restore::None).then(|| value(restore))
}

/// A checkpoint if points are repeated, a workload writes, every system can be restored so, and
/// that takes little of the time of a point.
fn default(adopt: Adopt, sweep: &Sweep, systems: &[SystemPlan]) -> Restore {
    let checkpoint = RestorePlan {
        how: Restore::Checkpoint,
        ..RestorePlan::default()
    };
    let mut compared = systems.iter().filter(|system| system.ceiling_for.is_none());
    let can_be = compared.all(|system| checkpoint.refusal(system).is_none());
    let writes = sweep.workloads.iter().any(|workload| workload.writes());
    let data = systems.first().map(|system| &system.data);
    let takes = data.map_or(Duration::ZERO, RestorePlan::time_of_checkpoint);
    // With a number of operations, the time of a point is not known.
    let time = sweep.duration.filter(|_| sweep.operations.is_none());
    let time = time.map(|time| time.saturating_add(sweep.warmup.least()));
    let is_cheap = time.is_some_and(|time| takes <= time.mul_f64(RESTORE_PART_MAX));
    if adopt == Adopt::No && sweep.repeats > 1 && writes && can_be && is_cheap {
        Restore::Checkpoint
    } else {
        Restore::None
    }
}
