//! Checks, claims and creates everything needed before a database is opened.

use super::{
    NAME, files, identity, lock, version,
    wal::{Claim, LogDirectory},
};
use crate::{
    Access, Error, LockedFile, Params, db::HAS_APPEARED, error::BoxError, of_another_user,
};
use rust_rocksdb::{ColumnFamilyDescriptor, DB, Options};
use std::{fs, os::unix::fs::DirBuilderExt, path::Path};

pub(super) fn open_families(
    place: &Path,
    access: Access,
    options: &Options,
    families: Vec<ColumnFamilyDescriptor>,
) -> Result<DB, Error> {
    let opened = match access {
        Access::Read => DB::open_cf_descriptors_read_only(options, place, families, false),
        _ => DB::open_cf_descriptors(options, place, families),
    };
    opened.map_err(|e| {
        if lock::is_lock(&e) {
            lock::locked(place)
        } else {
            Error::Open {
                driver: NAME,
                place: place.display().to_string(),
                source: e.into(),
            }
        }
    })
}

/// How an existing database is opened.
pub(super) fn access(place: &Path, params: &Params) -> Result<Access, Error> {
    version::access(place, params.access, &params.settings).map_err(|writer| Error::Upgrade {
        driver: NAME,
        place: place.display().to_string(),
        writer,
        change: format!("writes to it with RocksDB {}", version::EMBEDDED),
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
        return Err(Error::Open {
            driver: NAME,
            place: place.display().to_string(),
            source: HAS_APPEARED.into(),
        });
    }
    Ok(turn)
}

/// Refuses a directory that RocksDB would change before it fails to open it, or would take for
/// empty.
pub(super) fn refuse_unsafe(place: &Path) -> Result<(), Error> {
    let unsafe_to_open =
        files::refuse_other_than_files(place).and_then(|()| identity::refuse_damaged(place));
    unsafe_to_open.map_err(|why| Error::Open {
        driver: NAME,
        place: place.display().to_string(),
        source: why.into(),
    })?;
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
