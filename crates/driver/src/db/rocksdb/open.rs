//! Checks, claims and creates everything needed before a database is opened.

use super::{
    NAME, RAW_TABLE, files, identity,
    kept::Existing,
    lock,
    options::{self, Loaded},
    options_file, version,
    wal::{Claim, LogDirectory},
};
use crate::{
    Access, Error, LockedFile, Params, db::HAS_APPEARED, error::BoxError, of_another_user,
};
use rust_rocksdb::{ColumnFamilyDescriptor, DB, Env, Options};
use std::{fs, os::unix::fs::DirBuilderExt, path::Path};

/// A database that is about to be opened, after all checks that only read.
pub(super) struct Opening<'a> {
    params: &'a Params,
    pub(super) place: &'a Path,
    /// The name of the table's column family.
    pub(super) table: &'a str,
    pub(super) exists: bool,
    /// Whether it is created if it does not exist.
    pub(super) creates: bool,
    /// How it is opened.
    pub(super) access: Access,
    existing: Option<Existing<'a>>,
}

impl<'a> Opening<'a> {
    /// Looks at the place.
    ///
    /// # Errors
    /// If the database must not be opened so.
    pub(super) fn look(params: &'a Params) -> Result<Self, Error> {
        let place = params.path(NAME)?;
        let exists = place.join("CURRENT").exists();
        let creates = params.access.creates() || params.access == Access::Extend;
        if !exists && !creates {
            return Err(failed(place, "there is no RocksDB database".into()));
        }
        if exists && params.access == Access::CreateNew {
            return Err(failed(place, HAS_APPEARED.into()));
        }
        let access = if exists {
            access(place, params)?
        } else {
            params.access
        };
        refuse_unsafe(place)?;
        let table = if options::is_raw(&params.settings) {
            RAW_TABLE
        } else {
            &params.data.schema.table
        };
        let look = || Existing::look(place, table, params);
        Ok(Self {
            params,
            place,
            table,
            exists,
            creates,
            access,
            existing: exists.then(look).transpose()?,
        })
    }

    /// The options to open it with.
    pub(super) fn options(&self) -> Result<Loaded, Error> {
        let settings = &self.params.settings;
        let loaded = options::load(settings, self.table, self.existing.as_ref());
        let mut loaded = loaded.map_err(|e| options_file::refused(settings, e))?;
        loaded.database.create_if_missing(self.creates);
        // Refuses a database that has appeared meanwhile.
        loaded.database.set_error_if_exists(!self.exists);
        let database = &mut loaded.database;
        database.create_missing_column_families(self.creates);
        Ok(loaded)
    }

    /// Claims the log directory of a database that keeps its log elsewhere and will be written.
    pub(super) fn claim(&self) -> Result<Option<Claim>, String> {
        let log = self.checked_log()?;
        log.map(|log| log.claim(self.exists)).transpose()
    }

    /// Checks everything that can be checked without a change to a file. RocksDB opens a new
    /// database with these options in memory and, if the database exists, reads it.
    ///
    /// # Errors
    /// If opening it would fail.
    pub(super) fn check(&self) -> Result<(), Error> {
        let log = self.checked_log();
        log.and_then(|log| log.map_or(Ok(()), |log| log.check(self.exists)))
            .map_err(|why| failed(self.place, why.into()))?;
        if self.access != Access::Read {
            let Loaded {
                database, families, ..
            } = self.options()?;
            open_in_memory(database, families).map_err(|e| failed(self.place, e.into()))?;
        }
        if !self.exists {
            return Ok(());
        }
        let Loaded {
            database, families, ..
        } = self.options()?;
        open_families(self.place, Access::Read, &database, families).map(drop)
    }

    /// The separate log directory of a database that will be written, if it has one.
    fn checked_log(&self) -> Result<Option<LogDirectory>, String> {
        let (place, settings) = (self.place, &self.params.settings);
        let writes = self.access != Access::Read;
        let own = settings.text("wal_dir").map(Path::new);
        let directories = [place].into_iter().chain(own).filter(|_| writes);
        for directory in directories {
            files::refuse_trash(directory)?;
            if let Some(why) = of_another_user(directory) {
                return Err(format!("`{}` is not safe: {why}", directory.display()));
            }
            lock::refuse_hidden(directory)?;
        }
        let log = LogDirectory::new(place, settings);
        if self.exists {
            LogDirectory::refuse_other(place, log.as_ref())?;
        }
        if writes && self.exists && !identity::is_being_created(place) {
            let newest = identity::newest_log(place);
            LogDirectory::refuse_lost(place, settings, newest)?;
        }
        Ok(log.filter(|_| writes))
    }
}

pub(super) fn failed(place: &Path, source: BoxError) -> Error {
    Error::Open {
        driver: NAME,
        place: place.display().to_string(),
        source,
    }
}

/// Opens a new database with these options, which nothing is written for, and closes it again.
fn open_in_memory(
    mut options: Options,
    families: Vec<ColumnFamilyDescriptor>,
) -> Result<(), rust_rocksdb::Error> {
    options.set_env(&Env::mem_env()?);
    options.set_wal_dir("");
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    // The bindings create the directory, so it is one that exists.
    DB::open_cf_descriptors(&options, std::env::temp_dir(), families).map(drop)
}

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
            failed(place, e.into())
        }
    })
}

/// How an existing database is opened.
fn access(place: &Path, params: &Params) -> Result<Access, Error> {
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
        return Err(failed(place, HAS_APPEARED.into()));
    }
    Ok(turn)
}

/// Refuses a directory that RocksDB would change before it fails to open it, or would take for
/// empty.
fn refuse_unsafe(place: &Path) -> Result<(), Error> {
    let unsafe_to_open =
        files::refuse_other_than_files(place).and_then(|()| identity::refuse_damaged(place));
    unsafe_to_open.map_err(|why| failed(place, why.into()))?;
    lock::refuse_held(place)
}

/// Creates the directory of a database. The bindings would report errors in Rust's debug notation.
pub(super) fn make(place: &Path) -> Result<(), BoxError> {
    if place.is_symlink() && !place.exists() {
        return Err("it is a symbolic link to something that does not exist".into());
    }
    let mut directory = fs::DirBuilder::new();
    Ok(directory.recursive(true).mode(0o755).create(place)?)
}
