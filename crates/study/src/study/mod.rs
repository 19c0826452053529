//! The study: one SQLite file in a run directory that holds everything about one plan.
//!
//! It uses SQLite's rollback journal, not the write-ahead log. So a closed study is a single file
//! wherever it is copied, it works on every file system, and the next program that opens it rolls
//! back what a killed run left half-written. Every call is one transaction, which is on the disk
//! when it returns and survives a power cut. A reader waits for a writer's commit, and vice versa;
//! both are short.

mod anatomy;
mod block_row;
mod bounded;
mod digest;
mod foreign;
mod header;
mod numbers;
mod one_by_one;
mod packed_phase;
mod read;
mod reading;
mod remarks;
mod runs;
mod schema;
mod searches;
mod starts;
mod warmups;
mod write;

pub(crate) use block_row::BlockQosRow;
pub use packed_phase::{pack_phase, unpack_phase};
pub use searches::searches;

use crate::{Error, Redaction, file, owner};
use foreign::Budget;
use read::Keyed;
use rusqlite::{Connection, OpenFlags};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tailmark_model::{
    Fact, Header, Load, Phase, PlanValue, Point, PointKey, ResolvedRate, StudySettings, System,
};

/// How long a reader or writer waits for the other.
const BUSY: Duration = Duration::from_secs(60);

/// The permissions of a study: what runs and where is not for every user of the machine.
const MODE: u32 = 0o640;

/// In the table of summaries: from the sending of a request.
const SERVICE: &str = "service";
/// In the table of summaries: from the instant a request was due.
const RESPONSE: &str = "response";

/// An open study.
#[derive(Debug)]
pub struct Study {
    path: PathBuf,
    connection: Connection,
    budget: Budget,
    /// Removes private data from everything that is read.
    redaction: Option<Redaction>,
}

/// Says that the directory of a study was made for it.
fn made_directory() -> Fact {
    Fact {
        system: None,
        group: "run directory".to_owned(),
        name: "made by".to_owned(),
        value: "tailmark".to_owned(),
    }
}

/// How much of a phase is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All of it.
    Whole,
    /// Without intervals and series, which are nearly all of its bytes.
    Totals,
}

impl Study {
    /// The name of the file in a run directory.
    pub const FILE: &str = "study.sqlite";

    /// Group and name of the fact that says when the last load of a system began.
    pub const LOAD_BEGAN: (&str, &str) = (write::DATA_SET, write::LOADED);

    /// The version of the file's tables that this program writes.
    pub const VERSION: u32 = 1;

    /// Creates a study in a directory, which is created if missing. It appears completely or not at
    /// all.
    ///
    /// # Errors
    /// If there is already one, or the file cannot be written.
    pub fn create(dir: &Path, header: &Header, systems: &[System]) -> Result<Self, Error> {
        let path = dir.join(Self::FILE);
        if path.exists() {
            return Err(Error::Exists { path });
        }
        owner::create_dir_all(dir).map_err(file_error("make the directory", dir))?;
        // SQLite gives its journals the permissions and the owner of the file.
        let draft = file::draft(dir, MODE).map_err(file_error("write in", dir))?;
        let make = || {
            let mut connection = Connection::open(draft.path())?;
            schema::create(&mut connection, header, systems)?;
            if owner::has_made(dir) {
                remarks::facts(&connection, &[made_directory()])?;
            }
            connection.close().map_err(|(_, error)| error)
        };
        if let Err(error) = make() {
            let _ = fs::remove_file(journal_of(draft.path()));
            return Err(study_error("make", &path)(error));
        }
        match file::rename_new(draft, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::Exists { path });
            }
            renamed => drop(renamed.map_err(file_error("write", &path))?),
        }
        // The directory may be as new as the study.
        if let Some(above) = std::path::absolute(dir).iter().find_map(|dir| dir.parent()) {
            fs::File::open(above)
                .and_then(|above| above.sync_all())
                .map_err(file_error("write the directory", above))?;
        }
        Self::open(&path)
    }

    /// Whether the program that made this study made its directory too.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn has_made_directory(&self) -> Result<bool, Error> {
        Ok(self.facts()?.contains(&made_directory()))
    }

    /// Opens a study to write to it, given its directory or its file. If the file cannot be written,
    /// it is opened for reading, and writing fails later.
    ///
    /// # Errors
    /// If it is missing, not a study, of another version than [`Study::VERSION`], or a link: then it may
    /// be a study of another directory.
    pub fn open(dir_or_file: &Path) -> Result<Self, Error> {
        let path = Self::file_of(dir_or_file);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() || (found.is_file() && found.nlink() > 1) => {
                Err(Error::Linked { path })
            }
            _ => Self::open_any(dir_or_file),
        }
    }

    fn open_any(dir_or_file: &Path) -> Result<Self, Error> {
        let path = Self::file_of(dir_or_file);
        if !path.is_file() {
            let dir = dir_or_file.to_owned();
            return Err(Error::Missing { dir });
        }
        header::check(&path)?;
        // SQLite falls back to reading by itself where the file cannot be written. Without the
        // permission to write, what a killed run left could not be rolled back.
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY)
    }

    /// Opens a study that was found and not named. Neither it nor a file beside it is changed, and
    /// nothing is waited for.
    ///
    /// # Errors
    /// As [`Study::open`], and if a program is writing it or was killed while it did.
    pub fn look_at(dir_or_file: &Path) -> Result<Self, Error> {
        let path = Self::file_of(dir_or_file);
        header::check(&path)?;
        header::check_at_rest(&path)?;
        let study = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Duration::ZERO)?;
        study.query_only()
    }

    fn connect(path: PathBuf, access: OpenFlags, wait: Duration) -> Result<Self, Error> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let mut connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(wait)?;
            let budget = foreign::distrust(&mut connection)?;
            Ok((connection, budget))
        };
        let (connection, budget) = open().map_err(study_error("open", &path))?;
        foreign::check_tables(&connection, &path)?;
        schema::set_up(&connection).map_err(study_error("open", &path))?;
        Ok(Self {
            path,
            connection,
            budget,
            redaction: None,
        })
    }

    /// Opens the study in a directory, or makes it there.
    ///
    /// # Errors
    /// As [`Study::open`] and [`Study::create`].
    pub fn open_or_create(dir: &Path, header: &Header, systems: &[System]) -> Result<Self, Error> {
        if Self::exists(dir) {
            return Self::open(dir);
        }
        match Self::create(dir, header, systems) {
            // Another program made it in between.
            Err(Error::Exists { .. }) => Self::open(dir),
            made => made,
        }
    }

    /// Opens a study for reading only.
    ///
    /// # Errors
    /// As [`Study::open`].
    pub fn open_read_only(dir_or_file: &Path) -> Result<Self, Error> {
        Self::open_any(dir_or_file)?.query_only()
    }

    fn query_only(self) -> Result<Self, Error> {
        let set = self.connection.pragma_update(None, "query_only", true);
        set.map_err(study_error("open", &self.path))?;
        Ok(self)
    }

    /// Whether there is a study in a directory.
    pub fn exists(dir: &Path) -> bool {
        Self::file_of(dir).is_file()
    }

    /// The file of the study.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a system that was not known when the study was made; one of the same name is left as it
    /// is.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_system(&self, system: &System) -> Result<(), Error> {
        if self
            .systems()?
            .iter()
            .any(|known| known.name == system.name)
        {
            return Ok(());
        }
        self.write(|c| write::systems(c, std::slice::from_ref(system)))
    }

    /// Adds a system and returns its name here. If a system of that name exists with another
    /// driver, another place or another setting that `counts`, the new name states the difference.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_system_apart(
        &self,
        system: &System,
        counts: impl Fn(&str) -> bool,
    ) -> Result<String, Error> {
        let known = self.systems()?;
        let differs = match known.iter().find(|known| known.name == system.name) {
            Some(known) => differences(known, system, counts),
            None => Vec::new(),
        };
        let name = if differs.is_empty() {
            system.name.clone()
        } else {
            format!("{} ({})", system.name, differs.join(", "))
        };
        let named = System {
            name: name.clone(),
            ..system.clone()
        };
        self.add_system(&named)?;
        Ok(name)
    }

    /// Sets facts. Those of the same system, group and name are replaced in place.
    ///
    /// # Errors
    /// If the file cannot be written, as in every method that writes. Nothing of the call is in it
    /// then.
    pub fn set_facts(&self, facts: &[Fact]) -> Result<(), Error> {
        self.write(|c| remarks::facts(c, facts))
    }

    /// Adds a line that the study says of itself; one that it says already is not said twice.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_notice(&self, text: &str) -> Result<(), Error> {
        self.write(|c| remarks::notice(c, text))
    }

    /// Removes a notice, if it exists.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn remove_notice(&self, text: &str) -> Result<(), Error> {
        self.write(|c| remarks::no_notice(c, text))
    }

    /// Sets the keys and settings of the plan on which no point depends and which may change.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn set_plan(
        &self,
        keys: &BTreeMap<String, PlanValue>,
        settings: &StudySettings,
    ) -> Result<(), Error> {
        self.write(|c| write::plan(c, keys, settings))
    }

    /// Adds a resolved rate of the plan. If one exists for this system, workload and distribution,
    /// it stays.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_resolved_rate(&self, rate: &ResolvedRate) -> Result<(), Error> {
        self.write(|c| write::resolved_rate(c, rate))
    }

    /// Adds a load.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_load(&self, load: &Load) -> Result<(), Error> {
        self.write(|c| write::load(c, load))
    }

    /// Adds the load of a sweep, which began at this time, and sets its fact. If the last load of
    /// its system began at the same time, it is replaced: a run that ended before the load was
    /// marked as complete resumes it.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn replace_load(&self, load: &Load, started: &str) -> Result<(), Error> {
        let fact = Fact {
            system: Some(load.system.clone()),
            group: Self::LOAD_BEGAN.0.to_owned(),
            name: Self::LOAD_BEGAN.1.to_owned(),
            value: started.to_owned(),
        };
        self.write(|c| {
            write::remove_load(c, &load.system, started)?;
            write::load(c, load)?;
            remarks::facts(c, &[fact])
        })
    }

    /// Adds a point. If its key exists, it becomes the next free repeat.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn append_point(&self, mut key: PointKey, phase: Phase) -> Result<(), Error> {
        while self.has_point(&key)? {
            key.repeat += 1;
        }
        self.add_point(&Point { key, phase })
    }

    /// Adds a point; one of the same key is replaced.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_point(&self, point: &Point) -> Result<(), Error> {
        self.write(|c| write::point(c, Keyed::Point, point))
    }

    /// Writes the digests of every phase again: for tests, which change a study on purpose.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    #[doc(hidden)]
    pub fn reseal(&self) -> Result<(), Error> {
        self.write(digest::seal_all)
    }

    fn file_of(dir_or_file: &Path) -> PathBuf {
        if dir_or_file.is_dir() {
            dir_or_file.join(Self::FILE)
        } else {
            dir_or_file.to_owned()
        }
    }

    /// Does several things to the study in one transaction: when this returns, either everything
    /// that `act` added is in the file, or nothing.
    ///
    /// # Errors
    /// That of `act`, or if the file cannot be written.
    pub fn together(&self, act: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let failed = || study_error("write", &self.path);
        let transaction = rusqlite::Transaction::new_unchecked(
            &self.connection,
            rusqlite::TransactionBehavior::Immediate,
        );
        let transaction = transaction.map_err(failed())?;
        act()?;
        transaction.commit().map_err(failed())
    }

    /// Reads in one transaction, so that the result is consistent.
    fn read<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        if !self.connection.is_autocommit() {
            return act(&self.connection).map_err(study_error("read", &self.path));
        }
        let read = || {
            let transaction = self.connection.unchecked_transaction()?;
            let result = act(&transaction)?;
            transaction.finish().map(|()| result)
        };
        self.budget
            .begin(fs::metadata(&self.path).map_or(0, |file| file.len()));
        let result = read();
        self.budget.end();
        result.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Error::Endless {
                path: self.path.clone(),
            },
            _ => study_error("read", &self.path)(error),
        })
    }

    /// Writes all or nothing, on the disk when it returns.
    fn write(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), Error> {
        if !self.connection.is_autocommit() {
            return act(&self.connection).map_err(study_error("write", &self.path));
        }
        let write = || {
            let transaction = rusqlite::Transaction::new_unchecked(
                &self.connection,
                rusqlite::TransactionBehavior::Immediate,
            )?;
            act(&transaction)?;
            transaction.commit()
        };
        write().map_err(study_error("write", &self.path))
    }
}

/// The differences between a system and a known one, in its own words: `records 2000`.
fn differences(known: &System, system: &System, counts: impl Fn(&str) -> bool) -> Vec<String> {
    let own = [
        ("driver", &known.driver, &system.driver),
        ("place", &known.place, &system.place),
        ("semantics", &known.semantics, &system.semantics),
    ];
    let own = own.into_iter().filter(|(_, before, new)| before != new);
    let own = own.map(|(name, _, new)| format!("{name} {new}"));
    let (before, now) = (&known.settings, &system.settings);
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let changed = |name: &String| match (before.get(name), now.get(name)) {
        (old, Some(new)) if old != Some(new) => Some(format!("{name} {new}")),
        (Some(_), None) => Some(format!("no {name}")),
        _ => None,
    };
    let names = names.into_iter().filter(|name| counts(name));
    own.chain(names.filter_map(changed)).collect()
}

fn study_error(action: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Study {
        action,
        path,
        source,
    }
}

fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File {
        action,
        path,
        source,
    }
}

fn journal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    name.into()
}
