//! The run directory, which one run at a time has.

use super::begun::known;
use crate::{
    Error,
    devices::refuse_one_device,
    prepare::{self, Prepared},
};
use std::{fs, path::Path};
use tailmark_driver::LockedFile;
use tailmark_engine::{Observer, Silent, Stop};
use tailmark_plan::Plan;

/// A run that has its directory, and what it is measured on.
pub(super) struct Locked<'a> {
    /// The directory, as long as this lives.
    pub(super) _lock: LockedFile,
    /// What was prepared, put back when it is dropped.
    pub(super) prepared: Prepared<'a>,
    /// What is said of systems on one device.
    pub(super) one_device: Vec<String>,
}

/// Makes the run directory, prepares what the plan asks for, and looks which devices that is.
///
/// # Errors
/// As of each of these. A plan that prepares nothing is refused before anything is made.
pub(super) fn lock_prepared<'a>(
    plan: &Plan,
    out: &Path,
    log: &'a dyn Fn(&str),
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Locked<'a>, Error> {
    // Before the directory of the results is made, which may be on one of them.
    prepare::refuse_places(plan, Some(out))?;
    // Places are looked at when what is to be mounted there is.
    let is_prepared = prepare::is_needed(plan);
    let early = is_prepared.then(|| lock(out)).transpose()?;
    if is_prepared {
        // A study of another plan is refused before anything is lost.
        drop(known(plan, out, &Silent)?);
    }
    let prepared = prepare::prepare(plan, out, log, observer, stop)?;
    let one_device = refuse_one_device(plan)?;
    Ok(Locked {
        _lock: early.map_or_else(|| lock(out), Ok)?,
        prepared,
        one_device,
    })
}

/// Makes the run directory, and holds it until it is dropped.
///
/// # Errors
/// Where it cannot be made, or another run holds it.
fn lock(out: &Path) -> Result<LockedFile, Error> {
    let failed = |action| {
        move |source| Error::Io {
            action,
            path: out.to_owned(),
            source,
        }
    };
    fs::create_dir_all(out).map_err(failed("create"))?;
    let io = failed("lock");
    let busy = || Error::Busy {
        dir: out.to_owned(),
    };
    let directory = fs::File::open(out).map_err(&io)?;
    LockedFile::new(directory).map_err(io)?.ok_or_else(busy)
}
