//! The run directory, which only one run at a time may use.

use crate::{Error, devices::refuse_one_device, prepare};
use std::{fs, path::Path};
use tailmark_driver::LockedFile;
use tailmark_plan::{Adopt, Plan};
use tailmark_study::left_drafts;

/// Creates the run directory, and holds it until it is dropped. Removes drafts that a killed run
/// left in it and in places of data. Returns notices about systems on one device, if their places
/// already exist.
///
/// # Errors
/// If it cannot be created, or another run holds it. If the plan prepares nothing, it is refused
/// before anything is created. Otherwise places are checked once their file systems are mounted.
pub(super) fn lock(plan: &Plan, out: &Path) -> Result<(LockedFile, Option<Vec<String>>), Error> {
    prepare::refuse_places(plan, Some(out))?;
    let is_there = !prepare::is_needed(plan);
    let one_device = is_there.then(|| refuse_one_device(plan)).transpose()?;
    let lock = lock_directory(out)?;
    let data = plan
        .systems
        .iter()
        .filter(|_| plan.dataset.adopt == Adopt::No);
    let data = data.filter_map(|system| system.location.path());
    for draft in data.chain([out]).flat_map(left_drafts) {
        // A lock file that stays does no harm.
        let _ = fs::remove_file(draft);
    }
    Ok((lock, one_device))
}

fn lock_directory(out: &Path) -> Result<LockedFile, Error> {
    let create = |source| unwritable("create", out, source);
    tailmark_study::owner::create_dir_all(out).map_err(create)?;
    lock_existing(out)
}

fn unwritable(action: &'static str, out: &Path, source: std::io::Error) -> Error {
    Error::Unwritable(Box::new(Error::Io {
        action,
        path: out.to_owned(),
        source,
    }))
}

/// Holds an existing run directory until it is dropped.
///
/// # Errors
/// If another run holds it.
pub(crate) fn lock_existing(out: &Path) -> Result<LockedFile, Error> {
    let io = |source| unwritable("lock", out, source);
    let busy = || Error::Busy {
        dir: out.to_owned(),
    };
    let directory = fs::File::open(out).map_err(&io)?;
    LockedFile::new(directory).map_err(io)?.ok_or_else(busy)
}
