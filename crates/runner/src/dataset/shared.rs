//! Detects directories that two systems of a plan would share, under any names.

use super::wal::{directories, own_log, refuse};
use crate::Error;
use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};
use tailmark_driver::Place;
use tailmark_plan::{Plan, SystemPlan};
use tailmark_prepare::real_path;

/// The target of a path, the same for all of its names: the inode of the last part that exists, and
/// the missing parts below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RealPlace {
    /// Device and inode, or the number of a block device.
    number: (Option<u64>, u64),
    missing: PathBuf,
}

impl RealPlace {
    /// The target of a path.
    pub(crate) fn new(path: &Path) -> Self {
        Self::from_real(&real_path(path))
    }

    fn from_real(path: &Path) -> Self {
        let found = path
            .ancestors()
            .find_map(|above| Some((above, fs::metadata(above).ok()?)));
        let (above, number) = match found {
            Some((above, is)) if is.file_type().is_block_device() => (above, (None, is.rdev())),
            Some((above, is)) => (above, (Some(is.dev()), is.ino())),
            None => (Path::new(""), (None, 0)),
        };
        let missing = path.strip_prefix(above).unwrap_or(path).to_owned();
        Self { number, missing }
    }
}

/// Whether one path equals the other or is below it.
fn is_in(path: &Path, other: &Path) -> bool {
    let other = RealPlace::new(other);
    let path = real_path(path);
    path.ancestors()
        .any(|above| RealPlace::from_real(above) == other)
}

/// Refuses two systems if one would keep its data or its log where the other keeps its own.
///
/// # Errors
/// Names both systems and the directory.
pub(crate) fn refuse_shared(plan: &Plan) -> Result<(), Error> {
    for system in &plan.systems {
        let others = || {
            let others = plan.systems.iter();
            others.filter(|other| other.name != system.name)
        };
        let refuse_in =
            |name, directory: &Path, kept: &dyn Fn(&SystemPlan) -> Option<&'static str>| {
                let shared = others().find_map(|other| Some((other, kept(other)?)));
                let Some((other, what)) = shared else {
                    return Ok(());
                };
                let why = format!(
                    "system `{}` keeps {what} there too; give each system its own directory",
                    other.name
                );
                Err(refuse(system, name, directory, why))
            };
        for (name, directory) in directories(system) {
            refuse_in(name, &directory, &|other| kept_in(other, &directory, None))?;
        }
        if let Some(data) = data(system) {
            let driver = Some(system.driver.name);
            refuse_in("path", data, &|other| kept_in(other, data, driver))?;
        }
    }
    Ok(())
}

/// The place of a system's data on this machine.
fn data(system: &SystemPlan) -> Option<&Path> {
    let is_embedded = matches!(
        system.driver.place,
        Place::Directory | Place::DirectoryOrDevice
    );
    system.location.path().filter(|_| is_embedded)
}

/// What a system keeps in a directory that another one uses for its log, or for data of this
/// driver.
fn kept_in(system: &SystemPlan, directory: &Path, driver: Option<&str>) -> Option<&'static str> {
    let place = RealPlace::new(directory);
    let holds_data = data(system).is_some_and(|data| {
        let is_one = RealPlace::new(data) == place;
        is_one && driver.is_none_or(|driver| driver == system.driver.name)
            || is_in(directory, &data.join(system.driver.entry))
    });
    if holds_data {
        return Some("its data");
    }
    let holds_log = directories(system).any(|(_, log)| {
        let is_one = driver.is_none() && RealPlace::new(&log) == place;
        is_one || is_in(directory, &own_log(system, &log))
    });
    holds_log.then_some("its log")
}
