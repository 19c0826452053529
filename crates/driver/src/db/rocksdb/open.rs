//! Checks, claims and creates everything needed before a database is opened.

use super::{
    NAME,
    capi::{Db, Opening},
    files, identity,
    load::Loaded,
    lock, version,
    wal::{Claim, LogDirectory},
};
use crate::{
    Access, Error, LockedFile, Params, db::HAS_APPEARED, error::BoxError, of_another_user,
};
use std::{fs, os::unix::fs::DirBuilderExt, path::Path};

/// The error that a database cannot be opened.
pub(super) fn failed(place: &Path, source: BoxError) -> Error {
    Error::Open {
        driver: NAME,
        place: place.display().to_string(),
        source,
    }
}

pub(super) fn open_families(
    place: &Path,
    access: Access,
    loaded: &Loaded,
    table: &str,
) -> Result<Db, Error> {
    let opening = match access {
        Access::Read => Opening::Read,
        _ => Opening::Write,
    };
    let (options, families) = (&loaded.database, &loaded.families);
    Db::open(options, place, families, table, opening).map_err(|e| {
        if lock::is_lock(&e) {
            lock::locked(place)
        } else {
            failed(place, e.into())
        }
    })
}

/// How an existing database is opened.
pub(super) fn access(place: &Path, params: &Params, opener: &str) -> Result<Access, Error> {
    let access = version::access(place, params.access, &params.settings, opener);
    access.map_err(|writer| Error::Upgrade {
        driver: NAME,
        place: place.display().to_string(),
        writer,
        change: format!("writes to it with RocksDB {opener}"),
    })
}

/// The turn to open a database for writing. Refuses one that another program has opened or created
/// since it was examined.
pub(super) fn turn(
    place: &Path,
    access: Access,
    exists: bool,
) -> Result<Option<LockedFile>, Error> {
    if access == Access::Read {
        return Ok(None);
    }
    let turn = lock::turn(place)?;
    if !exists && place.join("CURRENT").exists() {
        return Err(failed(place, HAS_APPEARED.into()));
    }
    Ok(turn)
}

/// Refuses a directory that RocksDB would change before it fails to open it, or would take for
/// empty.
pub(super) fn refuse_unsafe(place: &Path) -> Result<(), Error> {
    let unsafe_to_open =
        files::refuse_other_than_files(place).and_then(|()| identity::refuse_damaged(place));
    unsafe_to_open.map_err(|why| failed(place, why.into()))?;
    lock::refuse_held(place)
}

/// Claims the log directory of a database that keeps its log elsewhere and will be written.
pub(super) fn claim(
    params: &Params,
    place: &Path,
    access: Access,
    exists: bool,
) -> Result<Option<Claim>, String> {
    let own = params.settings.text("wal_dir").map(Path::new);
    let directories = [place]
        .into_iter()
        .chain(own)
        .filter(|_| access != Access::Read);
    for directory in directories {
        files::refuse_trash(directory)?;
        if let Some(why) = of_another_user(directory) {
            return Err(format!("`{}` is not safe: {why}", directory.display()));
        }
        lock::refuse_hidden(directory)?;
    }
    let log = LogDirectory::new(place, &params.settings);
    if exists {
        LogDirectory::refuse_other(place, log.as_ref())?;
    }
    if access == Access::Read {
        return Ok(None);
    }
    if exists && !identity::is_being_created(place) {
        let newest = identity::newest_log(place);
        LogDirectory::refuse_lost(place, &params.settings, newest)?;
    }
    log.map(|log| log.claim(exists)).transpose()
}

/// Creates the directory of a database. The bindings would report errors in Rust's debug notation.
pub(super) fn make(place: &Path) -> Result<(), BoxError> {
    if place.is_symlink() && !place.exists() {
        return Err("it is a symbolic link to something that does not exist".into());
    }
    let mut directory = fs::DirBuilder::new();
    Ok(directory.recursive(true).mode(0o755).create(place)?)
}
