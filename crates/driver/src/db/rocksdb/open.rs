//! Checks, claims and creates everything needed before a database is opened.

use super::{
    NAME, RAW_TABLE,
    capi::{Db, OpenFor},
    files, identity,
    kept::Existing,
    library::Library,
    load::{self, Loaded},
    lock, newer, options, options_file, version,
    wal::{Claim, LogDirectory},
};
use crate::{
    Access, Error, LockedFile, Params, db::HAS_APPEARED, error::BoxError, of_another_user,
};
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
    pub(super) library: &'static Library,
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
        let library = Library::of(&params.settings)?;
        let access = if exists {
            access(place, params, &library.version)?
        } else {
            params.access
        };
        refuse_unsafe(place)?;
        let table = if options::is_raw(&params.settings) {
            RAW_TABLE
        } else {
            &params.data.schema.table
        };
        let look = || Existing::look(place, table, params, library);
        Ok(Self {
            params,
            place,
            table,
            exists,
            creates,
            access,
            library,
            existing: exists.then(look).transpose()?,
        })
    }

    /// The options to open it with.
    pub(super) fn options(&self) -> Result<Loaded, Error> {
        let settings = &self.params.settings;
        let loaded = load::load(self.library, settings, self.table, self.existing.as_ref());
        let mut loaded = loaded.map_err(|e| options_file::refused(settings, e))?;
        // Refuses a database that has appeared meanwhile.
        loaded.database.set_creation(self.creates, self.exists);
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
            Db::try_in_memory(database, families, self.table)
                .map_err(|why| failed(self.place, why.into()))?;
        }
        if !self.exists {
            return Ok(());
        }
        self.open_for(Access::Read, &self.options()?).map(drop)
    }

    /// Opens it with these options.
    pub(super) fn open_for(&self, access: Access, loaded: &Loaded) -> Result<Db, Error> {
        let opening = match access {
            Access::Read => OpenFor::Reading,
            _ => OpenFor::Writing,
        };
        let (options, families) = (&loaded.database, &loaded.families);
        Db::open(options, self.place, families, self.table, opening).map_err(|e| {
            if lock::is_lock(&e) {
                return lock::locked(self.place);
            }
            let why = newer::explained(self.place, &self.library.version, e);
            failed(self.place, why.into())
        })
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

/// The error that a database cannot be opened.
pub(super) fn failed(place: &Path, source: BoxError) -> Error {
    Error::Open {
        driver: NAME,
        place: place.display().to_string(),
        source,
    }
}

/// How an existing database is opened.
fn access(place: &Path, params: &Params, opener: &str) -> Result<Access, Error> {
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
