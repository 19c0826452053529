//! Removes a database, and of its log directory only what is its own.

use super::{NAME, facts, is_lock, locked, wal::LogDirectory};
use crate::{Error, Params, error::BoxError};
use rust_rocksdb::{DB, Options};
use std::{collections::BTreeSet, fs, io, path::Path};

/// Removes the database, but only a directory that is one. A symbolic link stays, and what it
/// points to is emptied.
pub(super) fn destroy(params: &Params) -> Result<(), Error> {
    let place = params.path(NAME)?;
    let failed = |source: BoxError| Error::Database {
        action: "remove",
        driver: NAME,
        place: place.display().to_string(),
        source,
    };
    let log = LogDirectory::new(place, &params.settings);
    let logs = || {
        log.as_ref()
            .map_or(Ok(BTreeSet::new()), LogDirectory::removable)
    };
    match facts::is_database(place) {
        Ok(true) => {}
        Ok(false) => return Err(failed("it holds files that are not RocksDB's".into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // Of a database that is gone, what its marker claims is left.
            if let Some(log) = &log
                && let Ok(logs) = log.removable()
            {
                log.remove(&logs).map_err(|e| failed(e.into()))?;
            }
            return Ok(());
        }
        Err(e) => return Err(failed(e.into())),
    }
    let logs = logs().map_err(|e| failed(e.into()))?;
    // RocksDB's own, because it takes the lock. It is not told of a log that lies apart: it would
    // remove every log there, whoever wrote it.
    DB::destroy(&Options::default(), place).map_err(|e| {
        if is_lock(&e) {
            locked(place)
        } else {
            failed(e.into())
        }
    })?;
    if let Some(log) = &log {
        log.remove(&logs).map_err(|e| failed(e.into()))?;
    }
    remove_directory(place).map_err(|e| failed(e.into()))
}

/// Removes a directory with everything in it; the target of a symbolic link is left empty.
fn remove_directory(place: &Path) -> io::Result<()> {
    if place.is_symlink() {
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        return Ok(());
    }
    match fs::remove_dir_all(place) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
