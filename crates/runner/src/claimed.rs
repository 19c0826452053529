//! The places of data that a run has for itself: no other run creates, loads or removes anything
//! there until it ends.
//!
//! A database has its own lock, but only while it is open. The directory is also locked between two
//! points, and while two runs begin at the same time.

use crate::Error;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tailmark_driver::{Location, LockedFile};
use tailmark_plan::SystemPlan;
use tailmark_study::owner::create_dir;

/// The extension of directories that keep the start of a data set.
pub(crate) const KEPT_START: &str = "tailmark-start";

/// How long another run may take to create and lock a directory, and how often it is checked.
const MOMENT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// The places of a run. The directories that it made and that are still empty go again with this.
#[derive(Debug, Default)]
pub(crate) struct ClaimedPlaces {
    /// Directories that were made.
    pub made: Vec<PathBuf>,
    /// Held until they are dropped.
    pub locks: Vec<LockedFile>,
    /// The run directory, which this run has locked already.
    out: Option<(u64, u64)>,
}

impl ClaimedPlaces {
    /// Of a run with this run directory.
    pub fn new(out: &Path) -> Self {
        let mut places = Self::default();
        places.out = fs::metadata(out).ok().map(|found| number(&found));
        places
    }

    /// Claims the place of a system. Creates its last component if it is missing.
    ///
    /// # Errors
    /// If another run has it, or it cannot be created.
    pub fn claim(&mut self, system: &SystemPlan) -> Result<(), Error> {
        refuse_bad_place(system)?;
        let Some(place) = system.location.path() else {
            return Ok(());
        };
        let failed = |source| Error::Io {
            action: "create",
            path: place.to_owned(),
            source,
        };
        // If two runs start at once, the one that creates the directory gets it.
        let _above = self.hold_for_a_moment(parent(place));
        if !place.exists() {
            create_dir(place)
                .and_then(|()| File::open(parent(place))?.sync_all())
                .map_err(failed)?;
            self.made.push(place.to_owned());
        }
        if place.is_dir() && !self.lock(place).map_err(failed)? {
            return Err(Error::PlaceInUse {
                system: system.name.clone(),
                place: place.to_owned(),
            });
        }
        Ok(())
    }

    /// Locks a directory; false if another run holds it.
    fn lock(&mut self, directory: &Path) -> io::Result<bool> {
        let file = File::open(directory)?;
        if self.has(&file.metadata()?) {
            return Ok(true);
        }
        match LockedFile::new(file) {
            Ok(Some(lock)) => self.locks.push(lock),
            Ok(None) => return Ok(false),
            // The file system does not support locks.
            Err(_) => {}
        }
        Ok(true)
    }

    fn has(&self, found: &fs::Metadata) -> bool {
        let held = self.locks.iter().flat_map(|lock| lock.metadata());
        let mut held = held.map(|lock| number(&lock)).chain(self.out);
        held.any(|held| held == number(found))
    }

    /// Waits for other runs that are creating a directory in this one; `None` if it cannot be
    /// locked.
    fn hold_for_a_moment(&self, directory: &Path) -> Option<LockedFile> {
        let end = Instant::now() + MOMENT;
        loop {
            let file = File::open(directory).ok()?;
            if self.has(&file.metadata().ok()?) {
                return None;
            }
            match LockedFile::new(file) {
                Ok(None) if Instant::now() < end => thread::sleep(POLL),
                locked => return locked.ok().flatten(),
            }
        }
    }
}

impl Drop for ClaimedPlaces {
    fn drop(&mut self) {
        for made in self.made.iter().rev() {
            let _ = fs::remove_dir(made);
        }
    }
}

/// Device and inode.
fn number(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// The directory that contains a place.
pub(crate) fn parent(place: &Path) -> &Path {
    let named = place.parent().filter(|p| !p.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// Refuses a place in a kept start, and one that is missing with its parent: that is a device that
/// was not mounted, and must not be made on the disk below. A device that is missing is not made
/// either.
///
/// # Errors
/// Names the system and its place.
pub(crate) fn refuse_bad_place(system: &SystemPlan) -> Result<(), Error> {
    let Some(place) = system.location.path() else {
        return Ok(());
    };
    let is_kept = |above: &&Path| above.extension().is_some_and(|end| end == KEPT_START);
    if let Some(kept) = place.ancestors().find(is_kept) {
        return Err(Error::BadDirectory {
            system: system.name.clone(),
            setting: "path".to_owned(),
            directory: place.to_owned(),
            why: format!(
                "`{}` keeps the start of a data set; give another path",
                kept.display()
            ),
        });
    }
    let is_device = matches!(system.location, Location::Device(_));
    let found = fs::metadata(place).ok();
    let lacks_device = match &found {
        Some(found) => is_device && !found.file_type().is_block_device(),
        // A missing path below /dev is a device, even if `path` or --system names it.
        None => is_device || (place.starts_with("/dev") && !place.starts_with("/dev/shm")),
    };
    if lacks_device {
        return Err(Error::NoDevice {
            system: system.name.clone(),
            place: place.to_owned(),
        });
    }
    if found.is_some() {
        return Ok(());
    }
    if parent(place).is_dir() {
        Ok(())
    } else {
        Err(Error::MissingPlace {
            system: system.name.clone(),
            place: place.to_owned(),
        })
    }
}

/// Checks that this process may write to a file or directory or, if it is missing, create it in the
/// last directory of its path that exists.
///
/// # Errors
/// Why not.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    let named = path
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty());
    let mut named = named.chain([Path::new(".")]);
    let there = named.find(|above| above.exists());
    let there = there.ok_or(io::ErrorKind::NotFound)?;
    if there != path && !there.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(accessat(CWD, there, Access::WRITE_OK, AtFlags::EACCESS)?)
}
