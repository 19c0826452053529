//! Drivers: the rows of the table of databases.

use crate::{
    DataSet, Database, Error, Location, OperationKind, ServerContents, Setting, Settings,
    did_you_mean,
};
use std::{collections::BTreeMap, io, path::Path};

/// What a driver opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A directory on a file system, in which the database creates its own directory or files.
    Directory,
    /// A directory (in which a file is created) or a block device.
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

/// Which semantics apply where YCSB's are known to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// YCSB's, including faults.
    #[default]
    Faithful,
    /// What the operation promises, for example that an update is atomic.
    Correct,
}

impl Semantics {
    /// The name in plans and reports.
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
    /// The data set that is or will be there.
    pub data: DataSet,
    /// Checked settings: every setting of the driver with its value.
    pub settings: Settings,
    /// The semantics.
    pub semantics: Semantics,
    /// The permitted access.
    pub access: Access,
    /// The id of the study. Objects created on a server carry it. Empty if there is none.
    pub study: String,
}

/// What may be done to a database when and after opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It is created if it does not exist.
    Create,
    /// As `Create`, but nothing of it may exist, not even a keyspace of its server. So of two
    /// programs that start at the same time one fails, and data that is moved there in the meantime
    /// is left alone.
    CreateNew,
    /// It is read and written. A missing database is an error, and so is an embedded one that the
    /// version which wrote it could not read afterwards.
    Write,
    /// As `Write`, whatever version wrote it.
    Upgrade,
    /// As `Create`, whatever version wrote it and whatever it contains.
    Extend,
    /// It is read and, if it is embedded, left unchanged. A missing database is an error.
    Read,
    /// As `Read` if another program or version wrote it. Otherwise the database may do its
    /// background work meanwhile, as in production.
    ReadCompatible,
}

impl Access {
    /// Whether missing tables are created on a server.
    #[must_use]
    pub const fn creates(self) -> bool {
        matches!(self, Self::Create | Self::CreateNew)
    }
}

impl Params {
    /// The directory, file or device to open.
    ///
    /// # Errors
    /// If the location is none of these.
    pub(crate) fn path(&self, driver: &'static str) -> Result<&Path, Error> {
        self.location.path().ok_or_else(|| Error::Open {
            driver,
            place: self.location.to_string(),
            source: "it is not a directory, file or device".into(),
        })
    }

    /// The error of an action on a server's database.
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

/// The identity of a data set among all that could be in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name of the data set, which only its copies share. `None` if it has no name.
    pub id: Option<String>,
    /// Whether no record was ever written to it.
    pub is_new: bool,
    /// Whether more than the file with its name confirms the name. Another program's data with a
    /// copy of that file does not.
    pub is_confirmed: bool,
}

/// Checks that the data at a path is what should be removed. The path belongs to data that is held,
/// so nothing can take its place. The error says why it is not.
pub type Confirm<'a> = dyn Fn(&Path) -> Result<(), String> + 'a;

/// How to look at the servers of a driver.
#[derive(Debug, Clone, Copy)]
pub struct ServerLook {
    /// Connects, reads, and changes nothing.
    pub at: fn(&Params) -> Result<ServerContents, Error>,
    /// What [`Self::at`] returns for a server without the data set. Connects to no server.
    pub of_empty: fn(&Params) -> ServerContents,
}

/// The files of a closed database, by their names, for a copy of it.
#[derive(Debug, Clone, Copy)]
pub struct DataFiles {
    /// Whether a file is never changed once it is written, so that a hard link keeps it. `None` if
    /// any of them may be changed.
    pub is_final: Option<fn(&str) -> bool>,
    /// Whether the database is not whole without a file.
    pub is_needed: fn(&str) -> bool,
    /// The files that identify it, in the order in which a copy gets them. Then a copy that was cut
    /// short is recognized, and can be removed.
    pub first: &'static [&'static str],
}

impl DataFiles {
    /// All of them are needed, and any may be changed.
    pub const CHANGED: Self = Self {
        is_final: None,
        is_needed: |_| true,
        first: &[],
    };
}

/// A database that can be tested: a row of [`crate::db::DRIVERS`].
pub struct Driver {
    /// The name in plans, for example `rocksdb`.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// What it opens.
    pub place: Place,
    /// The default port of contact points; for servers only.
    pub port: Option<u16>,
    /// How its clients are run.
    pub clients: Clients,
    /// The requests that each thread keeps in flight, if settings ask for that. Each is then a
    /// client of its own, and a task. `None`: the clients are the threads.
    pub depth: fn(&Settings) -> Option<u32>,
    /// The supported kinds of request.
    pub supports: &'static [OperationKind],
    /// Whether it can do what db_bench alone asks for: several records in one request, and iterators.
    pub supports_special: bool,
    /// What can be set, sorted by name.
    pub settings: &'static [Setting],
    /// The settings that shape what a load stores. With other values it is another data set.
    pub stored: &'static [&'static str],
    /// The name of the file or directory that it creates in a directory place, for example
    /// `rocksdb`; empty if it creates none.
    pub entry: &'static str,
    /// The files of its data.
    pub files: DataFiles,
    /// Checks beyond the table of settings: that files named in settings can be read. Adds the
    /// directories that those files name. Called by [`Settings::check`], so that a wrong plan fails
    /// before anything is measured.
    pub check: fn(&mut Settings) -> Result<(), Error>,
    /// Opens the database.
    pub open: fn(&Params) -> Result<Box<dyn Database>, Error>,
    /// Checks that an embedded database can be opened so. It may be read, and nothing is written,
    /// created or removed.
    pub check_open: fn(&Params) -> Result<(), Error>,
    /// Looks at what a server holds; for servers only.
    pub look: Option<ServerLook>,
    /// Identifies the data set at a path. `None` if nothing is there. Only drivers with an
    /// [`Self::entry`] need it: a device has its stamp, a server its marker.
    pub identity: fn(&Path) -> io::Result<Option<Identity>>,
    /// Removes the data at `params.location`, so that the next opening creates it again. An
    /// embedded database is held first, and removed only if `confirm` accepts it.
    pub destroy: fn(&Params, confirm: &Confirm<'_>) -> Result<(), Error>,
    /// Checks that nothing except the data at `params.location` would block [`Self::destroy`].
    /// Changes nothing. Only the removal itself shows whether the data is in use.
    pub check_destroy: fn(&Params) -> Result<(), Error>,
    /// The most bytes of storage that the loaded data set is expected to need, including working
    /// space.
    pub space: fn(&DataSet, &Settings) -> u64,
    /// Bytes of the driver's own data cache; 0 if it has none.
    pub cache: fn(&DataSet, &Settings) -> u64,
    /// Whether reads go through the kernel's page cache, which then counts as cache.
    pub page_cache: fn(&Settings) -> bool,
    /// The settings for opening data of another program at a path: with those that the data itself
    /// names, unless they were given.
    pub adopted: fn(&Path, &Settings) -> Settings,
    /// The name prefix of this process's threads that do the database's background work; empty if
    /// there are none.
    pub background_threads: &'static str,
    /// Whether [`Database::nodes_down`] reports which nodes of a cluster are down.
    pub tells_nodes: bool,
    /// Whether an update leaves a record with only the fields that it writes.
    pub reshapes: fn(&Settings) -> bool,
    /// The semantics that the settings imply, if they do. The plan must not contradict them.
    pub semantics: fn(&Settings) -> Option<Semantics>,
    /// Snapshots of the records; `None` if the server has none.
    pub snapshot: Option<SnapshotCommand>,
}

/// Returns the command line of a step. Every machine of the server runs it; `machines` is their number.
pub type SnapshotCommand = fn(&Params, SnapshotStep, machines: usize) -> Result<Vec<String>, Error>;

/// What a machine of a server does with a snapshot of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotStep {
    /// Makes it, in place of an earlier one.
    Keep,
    /// Succeeds if it is there.
    Look,
    /// Brings back the records, after they were removed.
    Restore,
    /// Removes it.
    Remove,
}

impl SnapshotStep {
    /// The word for it in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Look => "look",
            Self::Restore => "restore",
            Self::Remove => "remove",
        }
    }
}

impl Driver {
    /// How its clients are run with these settings.
    #[must_use]
    pub fn clients(&self, settings: &Settings) -> Clients {
        (self.depth)(settings).map_or(self.clients, |_| Clients::Tasks)
    }

    /// The number of clients for that many threads.
    #[must_use]
    pub fn client_count(&self, settings: &Settings, threads: u32) -> u32 {
        threads.saturating_mul((self.depth)(settings).unwrap_or(1))
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// Checks the given settings against those of `driver`. Sizes become bytes; shares of `data`
    /// and scaled sizes are resolved.
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
