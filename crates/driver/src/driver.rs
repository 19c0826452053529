//! A driver: a row of the table of databases.

use crate::{
    DataSet, Database, Error, Location, Look, OperationKind, Setting, Settings, did_you_mean,
};
use std::{collections::BTreeMap, io, path::Path};

/// What a driver has to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A directory on a file system; the database makes its own directory or files in it.
    Directory,
    /// A directory (a file is made in it) or a block device.
    DirectoryOrDevice,
    /// Contact points of a server: `host:port[,host:port]`.
    Hosts,
    /// Nothing: the word after `=` is ignored.
    Nowhere,
}

/// How a driver's clients are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// One OS thread each: sessions answer `Ready`.
    Threads,
    /// Many on a few runtime threads: sessions answer `Pending`.
    Tasks,
}

/// Whose semantics are kept where YCSB's are known to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// YCSB's, faults included.
    #[default]
    Faithful,
    /// What the operation promises: for example, an update is atomic.
    Correct,
}

impl Semantics {
    /// The name used in plans and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Correct => "correct",
        }
    }
}

/// What to open.
#[derive(Debug, Clone)]
pub struct Params {
    /// The exact place of the data: the database's own directory, the file or device, or the
    /// contact points.
    pub location: Location,
    /// The data set that is or will be in it.
    pub data: DataSet,
    /// Checked settings, every one of the driver's with its value.
    pub settings: Settings,
    /// Whose semantics to keep.
    pub semantics: Semantics,
    /// What may be done to the database.
    pub access: Access,
    /// The id of the study that it is for, which what is created on a server names; empty if there is
    /// none.
    pub study: String,
}

/// What may be done to a database by opening it, and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is made where there is none.
    Create,
    /// As `Create`, and nothing of it may be there, not even a keyspace of its server. So of two programs
    /// that begin at once, one fails, and what is moved into its place meanwhile is left alone.
    CreateNew,
    /// It is read and written; a missing one is an error, and so is an embedded one that the
    /// version which wrote it could not read afterwards.
    Write,
    /// As `Write`, whatever version wrote it.
    Upgrade,
    /// As `Create`, whatever version wrote it and whatever it has.
    Extend,
    /// It is read, and left as it is where it is embedded; a missing one is an error.
    Read,
    /// As `Read` where another version wrote it. Otherwise the database may do its background work
    /// meanwhile, as in production.
    ReadCompatible,
}

impl Access {
    /// Whether a server's tables are made where there are none.
    #[must_use]
    pub const fn creates(self) -> bool {
        matches!(self, Self::Create | Self::CreateNew)
    }
}

impl Params {
    /// The directory, file or device to open.
    ///
    /// # Errors
    /// Where the location is none.
    pub(crate) fn path(&self, driver: &'static str) -> Result<&Path, Error> {
        self.location.path().ok_or_else(|| Error::Open {
            driver,
            place: self.location.to_string(),
            source: "it is no directory, file or device".into(),
        })
    }

    /// What an action on a server's database failed of.
    #[cfg(feature = "net")]
    pub(crate) fn failed(
        &self,
        driver: &Driver,
        action: &'static str,
        source: crate::error::BoxError,
    ) -> Error {
        Error::Database {
            action,
            driver: driver.name,
            place: self.location.to_string(),
            source,
        }
    }
}

/// What tells a data set from every other that could lie in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name of the data set, which only its copies share. `None` if it has no name.
    pub id: Option<String>,
    /// Whether no record was ever written to it.
    pub is_new: bool,
    /// Whether more than the file of its name says that it has this name. Another program's data with
    /// a copy of that file does not.
    pub is_confirmed: bool,
}

/// Whether the data at a path is what is to be removed. The path is that of data which is held: no other
/// can take its place. The error says why it is not.
pub type Confirm<'a> = dyn Fn(&Path) -> Result<(), String> + 'a;

/// How the servers of a driver are looked at.
#[derive(Debug, Clone, Copy)]
pub struct ServerLook {
    /// Connects, reads, and changes nothing.
    pub at: fn(&Params) -> Result<Look, Error>,
    /// What [`Self::at`] returns for a server that holds nothing of the data set; connects to none.
    pub of_empty: fn(&Params) -> Look,
}

/// A database that can be tested: a row of [`crate::db::DRIVERS`].
pub struct Driver {
    /// The name in plans, for example `rocksdb`.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// What it opens.
    pub place: Place,
    /// The port of a contact point that names none; of servers only.
    pub port: Option<u16>,
    /// How its clients are run.
    pub clients: Clients,
    /// Which kinds of request it can do.
    pub supports: &'static [OperationKind],
    /// Whether it can do what db_bench alone asks for: several records in one request, and iterators.
    pub supports_special: bool,
    /// What can be set, sorted by name.
    pub settings: &'static [Setting],
    /// The settings that shape what a load stores: a data set loaded with other values of them is
    /// another data set.
    pub stored: &'static [&'static str],
    /// The name of the file or directory that it makes in a directory place, for example
    /// `rocksdb`; empty where it makes none.
    pub entry: &'static str,
    /// Checks what the table of settings cannot: that files which settings name can be read. Adds
    /// the directories that those files name. Called by [`Settings::check`], so that a wrong plan
    /// fails before anything is measured.
    pub check: fn(&mut Settings) -> Result<(), Error>,
    /// Opens the database.
    pub open: fn(&Params) -> Result<Box<dyn Database>, Error>,
    /// Looks at what a server holds; of servers only.
    pub look: Option<ServerLook>,
    /// Identifies the data set at a path. `None` if nothing is there. Only drivers with an
    /// [`Self::entry`] need it: a device has its stamp, a server its marker.
    pub identity: fn(&Path) -> io::Result<Option<Identity>>,
    /// Removes the data at `params.location`, so that the next open makes it again. An embedded
    /// database is held before, and removed only if `confirm` says that it is the one that is meant.
    pub destroy: fn(&Params, confirm: &Confirm<'_>) -> Result<(), Error>,
    /// Checks that nothing at `params.location` but the data would be in the way of
    /// [`Self::destroy`]. Changes nothing. Whether the data is in use shows only then.
    pub check_destroy: fn(&Params) -> Result<(), Error>,
    /// Bytes of storage that the loaded data set is expected to need at most, working space
    /// included.
    pub space: fn(&DataSet, &Settings) -> u64,
    /// Bytes of the driver's own cache of data, 0 where it has none.
    pub cache: fn(&DataSet, &Settings) -> u64,
    /// Whether reads go through the kernel's page cache, which then counts as cache.
    pub page_cache: fn(&Settings) -> bool,
    /// The settings with which the data at a path is opened that another program made: with those that
    /// the data itself names, unless they were given.
    pub adopted: fn(&Path, &Settings) -> Settings,
    /// How the names of the threads of this process begin that do the database's background work; empty
    /// where there are none.
    pub background_threads: &'static str,
    /// Whether [`Database::nodes_down`] tells which nodes of a cluster are down.
    pub tells_nodes: bool,
    /// Whether an update leaves a record with the fields that it writes, and no others.
    pub reshapes: fn(&Settings) -> bool,
    /// Whose semantics the settings keep, where they decide that: what is said must be so.
    pub semantics: fn(&Settings) -> Option<Semantics>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// Checks what was given against what `driver` takes; sizes become bytes, shares of `data`
    /// and those that scale are resolved.
    ///
    /// # Errors
    /// Names the key, the value and what is accepted.
    pub fn check(
        driver: &'static Driver,
        given: &BTreeMap<String, String>,
        data: &DataSet,
        scale: f64,
    ) -> Result<Self, Error> {
        let names = || driver.settings.iter().map(|setting| setting.name);
        if let Some(name) = given
            .keys()
            .find(|given| names().all(|name| name != **given))
        {
            return Err(Error::UnknownSetting {
                driver: driver.name,
                name: name.clone(),
                hint: did_you_mean(name, names()),
                known: names().collect::<Vec<_>>().join(", "),
            });
        }
        let mut settings = Self::effective(driver.settings, given, data, scale)?;
        (driver.check)(&mut settings)?;
        Ok(settings)
    }
}
