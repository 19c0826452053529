//! How points get the data set as it was loaded, in a dry run: the steps, the space and the time.

use super::{SystemFacts, work::SystemWork};
use crate::dataset::kept_bytes;
use bytesize::ByteSize;
use std::time::Duration;
use tailmark_driver::Place;
use tailmark_model::number;
use tailmark_plan::{Plan, Restore, RestoreBefore, RestorePlan, SystemPlan};

/// The assumed bandwidth of a copy.
const COPY_BYTES_PER_SEC: u64 = 500_000_000;

/// Before what the data set is restored; `None` if it is not.
pub(super) fn when(plan: &Plan) -> Option<&'static str> {
    match plan.dataset.restore.before {
        _ if plan.dataset.restore.how == Restore::None => None,
        RestoreBefore::Repeat if plan.sweep.repeats == 1 => None,
        RestoreBefore::Repeat => Some("before each further repeat"),
        RestoreBefore::Workload => Some("before each further workload"),
        RestoreBefore::Point => Some("before each further point"),
    }
}

/// The steps for one system.
pub(super) fn steps(plan: &Plan, system: &SystemPlan, known: &SystemFacts) -> Vec<String> {
    let restore = &plan.dataset.restore;
    let (Some(when), how) = (when(plan), restore.for_system(system)) else {
        return Vec::new();
    };
    let bytes = ByteSize(kept_bytes(&system.data));
    let (keep, again) = match how {
        Restore::None => return Vec::new(),
        Restore::Reload => (None, "load again"),
        Restore::Checkpoint => (
            Some(format!(
                "keep a checkpoint of the loaded data beside it, with hard links: up to {bytes} \
                 more once points have replaced its tables"
            )),
            "start from the checkpoint",
        ),
        Restore::Copy => (
            Some(format!(
                "keep a copy of the loaded data beside it: {bytes}, or none with clones (reflinks)"
            )),
            "start from the copy",
        ),
        Restore::Snapshot => (
            Some(format!(
                "keep a snapshot of the loaded data with `{}` on each node, by hard links: up to \
                 {bytes} more",
                system.settings.text("nodetool").unwrap_or("nodetool")
            )),
            "TRUNCATE, then import the snapshot",
        ),
        Restore::Command => (
            Some("keep the loaded data: dataset.restore_command with `keep`".to_owned()),
            "dataset.restore_command with `restore`",
        ),
    };
    let mut steps = Vec::new();
    steps.extend(keep.filter(|_| !known.data.has_start));
    let changed = if how.keeps() && restore.before != RestoreBefore::Repeat {
        ", if a point has written since"
    } else {
        ""
    };
    let default = if restore.is_default && how != Restore::None {
        " (the default, because a workload writes and points are repeated; dataset.restore)"
    } else {
        ""
    };
    let trim = if restore.trim && how != Restore::None {
        "; then trim the file system and wait until its device is idle"
    } else {
        ""
    };
    steps.push(format!("{when}{changed}: {again}{default}{trim}"));
    steps
}

/// The bytes that a system needs beside its data set.
pub(super) fn space(plan: &Plan, work: &SystemWork<'_>) -> u64 {
    let keeps = plan.dataset.restore.for_system(work.system).keeps_files();
    if keeps && !work.known.data.has_start {
        kept_bytes(&work.system.data)
    } else {
        0
    }
}

/// The time of keeping and restoring data sets, and a line about it.
pub(super) fn time(plan: &Plan, systems: &[SystemWork<'_>]) -> Option<(String, Duration)> {
    let mut all = Duration::ZERO;
    let (mut keeps, mut restores) = (0, 0);
    for work in systems {
        if matches!(work.system.driver.place, Place::Nowhere) {
            continue;
        }
        let each = match plan.dataset.restore.for_system(work.system) {
            Restore::Checkpoint => RestorePlan::time_of_checkpoint(&work.system.data),
            Restore::Copy => {
                Duration::from_secs(kept_bytes(&work.system.data).div_ceil(COPY_BYTES_PER_SEC))
            }
            Restore::None | Restore::Reload | Restore::Snapshot | Restore::Command => continue,
        };
        let times = u32::try_from(work.keeps + work.restores).unwrap_or(u32::MAX);
        all = all.saturating_add(each.saturating_mul(times));
        keeps += work.keeps;
        restores += work.restores;
    }
    let what = match (keeps, restores) {
        (0, 0) => return None,
        (0, _) => number::plural(restores, "restore"),
        _ => format!(
            "keeping the data and {}",
            number::plural(restores, "restore")
        ),
    };
    let how = match plan.dataset.restore.how {
        Restore::Copy => " at 500 MB/s, less with clones (reflinks)",
        _ => "",
    };
    let line = format!("      {what}: {}{how}", number::rounded(all));
    Some((line, all))
}
