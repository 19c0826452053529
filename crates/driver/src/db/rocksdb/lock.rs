//! Detects whether a database is in use, without changing its directory.
//!
//! RocksDB replaces its `LOG` before it tries its lock. So the lock is checked first, and a refused
//! database stays as it is. Two programs that open or remove one database at once take turns.

use super::{NAME, holder, overlay::overlay_above};
use crate::{Error, LockedFile};
use rustix::{
    fs::OFlags,
    process::{Flock, FlockOffsetType, FlockType, fcntl_getlk},
};
use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long to wait for another program that opens or removes the database. After an opening it
/// holds RocksDB's lock, which ends the wait earlier.
const TURN: Duration = Duration::from_secs(10);

/// Waits for the turn to open or remove the database in a directory: a lock of the directory, which
/// is to be held until RocksDB has its own. `None` if the directory is missing or has no locks.
/// Refuses a database that is open for writing.
pub(super) fn turn(place: &Path) -> Result<Option<LockedFile>, Error> {
    let end = Instant::now() + TURN;
    loop {
        refuse_held(place)?;
        // To open a pipe would be to wait for its writer.
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let directory = match File::options().read(true).custom_flags(flags).open(place) {
            Err(e) if is_no_directory(&e) => return Ok(None),
            opened => opened.map_err(|e| Error::Open {
                driver: NAME,
                place: place.display().to_string(),
                source: e.into(),
            })?,
        };
        match LockedFile::new(directory) {
            // The lock of a directory that was removed meanwhile is worth nothing.
            Ok(Some(turn)) if is_at(&turn, place) => {
                refuse_held(place)?;
                return Ok(Some(turn));
            }
            Err(_) => return Ok(None),
            Ok(_) if Instant::now() >= end => return Err(locked(place)),
            Ok(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn is_no_directory(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotADirectory | NotFound)
}

/// Whether an open directory still has this name.
fn is_at(directory: &File, place: &Path) -> bool {
    let id = |found: Metadata| (found.dev(), found.ino());
    let held = directory.metadata().map(id);
    matches!((held, fs::metadata(place).map(id)), (Ok(held), Ok(named)) if held == named)
}

/// Refuses a database that is open for writing, in another process or in this one.
pub(super) fn refuse_held(place: &Path) -> Result<(), Error> {
    let lock = place.join("LOCK");
    match fs::metadata(&lock) {
        Ok(found) if found.is_file() && is_held(&lock, &found) => Err(locked(place)),
        _ => Ok(()),
    }
}

/// Refuses a directory below an overlay, because locks of programs on the overlay, as in a
/// container, are invisible here.
pub(super) fn refuse_hidden(place: &Path) -> Result<(), String> {
    match overlay_above(place) {
        None => Ok(()),
        Some(mounted) => Err(format!(
            "`{}` is a layer of the overlay that is mounted at `{}`, for example by a container: \
             tailmark cannot see whether a program there uses it; use the path in the overlay",
            place.display(),
            mounted.display()
        )),
    }
}

pub(super) fn locked(place: &Path) -> Error {
    Error::Locked {
        driver: NAME,
        place: place.display().to_string(),
        holder: holder(&place.join("LOCK")),
    }
}

/// Whether the error means that another process, or another handle of this one, has the database.
pub(super) fn is_lock(error: &rust_rocksdb::Error) -> bool {
    let says = error.as_ref();
    says.contains("While lock file") || says.contains("lock hold by current process")
}

/// Whether RocksDB would not get this lock. A lock of this process is not opened, because closing
/// it again would release it.
fn is_held(lock: &Path, found: &Metadata) -> bool {
    if is_open_here(found) {
        return true;
    }
    // RocksDB cannot open it either.
    File::open(lock).is_ok_and(|file| {
        let whole = Flock {
            start: 0,
            length: 0,
            pid: None,
            typ: FlockType::WriteLock,
            offset_type: FlockOffsetType::Set,
        };
        matches!(fcntl_getlk(&file, &whole), Ok(Some(_)))
    })
}

/// Whether this process has a file open.
fn is_open_here(found: &Metadata) -> bool {
    let descriptors = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let mut open = descriptors.filter_map(|entry| fs::metadata(entry.path()).ok());
    open.any(|open| (open.dev(), open.ino()) == (found.dev(), found.ino()))
}
