//! The run directory, which only one run at a time may use.

use super::resume;
use crate::{
    Error, claimed::check_writable, dataset::Dataset, devices::refuse_one_device, prepare,
    servers::Servers, service::refuse_foreign_logs,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tailmark_driver::LockedFile;
use tailmark_plan::{Adopt, Plan};
use tailmark_study::left_drafts;

/// A run directory that no other run can use until this is dropped.
#[derive(Debug)]
pub(super) struct LockedDirectory {
    /// The directories that were created for it, the innermost first. Those that are still empty are
    /// removed with this.
    made: Vec<PathBuf>,
    lock: Option<LockedFile>,
}

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        let mut made = self.made.iter();
        // One that holds something stays, and so do those above it.
        let _ = made.try_for_each(fs::remove_dir);
    }
}

/// Creates the run directory, and holds it until it is dropped. Removes drafts that a killed run
/// left in it and in places of data. Returns notices about systems on one device, if their places
/// already exist.
///
/// # Errors
/// If it cannot be created, or another run holds it. If the plan prepares nothing, it is refused
/// before anything is created. Otherwise places are checked once their file systems are mounted.
pub(super) fn lock(
    plan: &Plan,
    out: &Path,
) -> Result<(LockedDirectory, Option<Vec<String>>), Error> {
    prepare::refuse_places(plan, Some(out))?;
    refuse_inside_data(plan, out)?;
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

/// Checks by looking that this plan can use a run directory. Nothing is created or locked.
///
/// # Errors
/// If it cannot be written, or holds a study of another plan or foreign files.
pub(crate) fn check_directory(plan: &Plan, out: &Path) -> Result<(), Error> {
    let usable = match fs::metadata(out) {
        Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        _ => check_writable(out),
    };
    usable.map_err(|source| unwritable("write", out, source))?;
    refuse_inside_data(plan, out)?;
    resume::study_of(plan, out)?;
    refuse_foreign_logs(plan, out, &Servers::default())
}

/// Refuses a run directory in the place of a database.
fn refuse_inside_data(plan: &Plan, out: &Path) -> Result<(), Error> {
    let mut systems = plan.systems.iter();
    systems.try_for_each(|system| Dataset::new(plan, system).refuse_results(out))
}

fn lock_directory(out: &Path) -> Result<LockedDirectory, Error> {
    let create = |source| unwritable("create", out, source);
    let missing = out.ancestors().take_while(|above| {
        // The last ancestor of a relative path is empty.
        !above.as_os_str().is_empty() && fs::symlink_metadata(above).is_err()
    });
    let mut held = LockedDirectory {
        made: missing.map(Path::to_owned).collect(),
        lock: None,
    };
    tailmark_study::owner::create_dir_all(out).map_err(create)?;
    held.lock = Some(lock_existing(out)?);
    Ok(held)
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
