//! A write-ahead log in a directory apart from its database: who owns it, and what may be removed.
//!
//! RocksDB treats every numbered log file in its `wal_dir` as its own. It replays all of them when
//! it opens a database, and `DestroyDB` removes all of them. So two databases that share a
//! directory lose records. Here a log directory has exactly one owner, which the file [`MARKER`] in
//! it names together with its log files. Everything else is foreign: RocksDB never gets access to
//! it, and none of it is removed.

mod files;
mod held;

pub(super) use files::logs;

use super::{
    draft,
    files::{ARCHIVE, LOG_APART, id, is_name, refuse_other_than_files},
    ini::Ini,
    newest_options::{NewestOptions, wal_dir},
};
use crate::{INPUT_BYTES_MAX, Settings, held::HeldDirectory, read_text};
use files::{LogFile, highest_number, holds_records, number, real};
use held::HeldLog;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The name of the marker.
const MARKER: &str = "tailmark.wal.json";
/// Files and logs are numbered by one counter. A log without any file of a similar number in the
/// database was not written by it, because no database has that many unflushed logs.
const NEAR: u64 = 10_000;

/// The content of the marker.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Marker {
    version: u32,
    /// The directory of the database that the log belongs to.
    database: PathBuf,
    /// RocksDB's name for that database; `None` before it is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    /// The study for which the database was loaded, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    study: Option<String>,
    /// Whether this program created the directory.
    made: bool,
    /// Whether the database is open, or its process was killed. Logs with higher numbers than those
    /// below may then belong to it.
    open: bool,
    /// Its log files, as they were when it was last opened or closed.
    logs: BTreeMap<String, LogFile>,
}

/// The separate log directory of a database.
pub(super) struct LogDirectory {
    directory: PathBuf,
    database: PathBuf,
}

/// A log directory while its database is open for writing. Dropped after the database is closed.
pub(super) struct Claim {
    log: LogDirectory,
    /// `None` for a database of another program: nothing is written beside its log.
    marker: Option<Marker>,
    /// The previous marker. It is restored if the database cannot be opened.
    before: Option<Marker>,
    opened: bool,
    /// Whether this opening creates the database.
    is_new: bool,
}

/// The `wal_dir` of the options file, if these settings have one.
pub(super) fn of_options_file(settings: &Settings) -> Option<PathBuf> {
    let text = read_text(Path::new(settings.text("options_file")?), INPUT_BYTES_MAX).ok()?;
    wal_dir(&Ini::parse(&text))
}

impl LogDirectory {
    /// The log directory of the database in `place`; `None` if the log is in the database's own
    /// directory.
    pub(super) fn new(place: &Path, settings: &Settings) -> Option<Self> {
        let (directory, database) = (real(Path::new(settings.text("wal_dir")?)), real(place));
        (!directory.starts_with(&database)).then_some(Self {
            directory,
            database,
        })
    }

    /// Whether the log of a database has records, as far as is known.
    pub(super) fn has_records(place: &Path) -> bool {
        let newest = NewestOptions::read(place).ok().flatten();
        let written = newest.and_then(|newest| newest.wal_dir);
        holds_records(written.as_deref().unwrap_or(place)).unwrap_or(true)
    }

    /// Refuses to open a database without its log.
    pub(super) fn refuse_other(place: &Path, log: Option<&Self>) -> Result<(), String> {
        // Regardless of its options: a moved database names its old directory there.
        if let Some(log) = log
            && holds_records(&log.database)?
        {
            return Err(format!(
                "it has a write-ahead log with records in its own directory, `{}`: with wal_dir \
                 `{}` these records would be lost; leave wal_dir out, or set it to that directory",
                log.database.display(),
                log.directory.display()
            ));
        }
        let newest = NewestOptions::read(place).map_err(|e| e.to_string())?;
        let Some(newest) = newest else { return Ok(()) };
        if let Some(wal) = newest.wal_dir.as_ref().filter(|wal| wal.is_relative()) {
            return match log {
                Some(log) if log.directory.ends_with(wal) => Ok(()),
                _ => Err(format!(
                    "its write-ahead log is in `{}`, relative to the directory in which its \
                     program was started: set wal_dir to the absolute path",
                    wal.display()
                )),
            };
        }
        let database = real(place);
        let written = newest.wal_dir.map_or(database, |wal| real(&wal));
        let opened = log.map_or_else(|| real(place), |log| log.directory.clone());
        if written == opened || !holds_records(&written)? {
            return Ok(());
        }
        Err(format!(
            "its write-ahead log is in `{}`, not in `{}`: without the log, the database would lose \
             records; set wal_dir to the directory of its log",
            written.display(),
            opened.display()
        ))
    }

    /// Refuses to write to a database whose log is missing, for example because its directory is
    /// not mounted. RocksDB would start another log, and the records of the old one would be lost.
    /// It always keeps at least one log file, even when it closes a database. So a database without
    /// any has its log elsewhere, whether or not its options still say where. The manifest names
    /// its number. A database restored from a backup may have none; then `wal_dir` must name the
    /// database's own directory.
    pub(super) fn refuse_lost(
        place: &Path,
        settings: &Settings,
        newest_log: Option<u64>,
    ) -> Result<(), String> {
        let newest = NewestOptions::read(place).map_err(|e| e.to_string())?;
        let written = newest.and_then(|newest| newest.wal_dir);
        let database = real(place);
        let written = written.map(|wal| real(&wal)).filter(|wal| *wal != database);
        let named = settings.text("wal_dir").map(|wal| real(Path::new(wal)));
        let opened = named.as_ref().unwrap_or(&database);
        let has_log = |directory: &Path| -> Result<bool, String> {
            let names = logs(directory)?.into_iter();
            let mut names = names.filter(|name| !name.starts_with(ARCHIVE));
            // Lower numbers are from before the log was moved.
            Ok(names.any(|name| number(&name) >= newest_log))
        };
        if named.as_ref() == Some(&database) || has_log(opened)? {
            return Ok(());
        }
        let why = match &written {
            Some(written) if has_log(written)? => return Ok(()),
            Some(written) => format!(
                "its write-ahead log should be in `{}`, but there is no log file: without it, the \
                 database would lose records. Mount the device of that directory first",
                written.display()
            ),
            None => format!(
                "there is no log file of it in `{}`, and its options do not name another \
                 directory: without the log, the database would lose records. Set wal_dir to the \
                 directory of its log",
                opened.display()
            ),
        };
        Err(format!(
            "{why}. If it never had a log, for example after a restore from a backup, set wal_dir \
             to `{}`",
            database.display()
        ))
    }

    /// Claims the directory for the database, which is about to be opened for writing. Creates it
    /// if only the last part of its path is missing.
    pub(super) fn claim(self, exists: bool) -> Result<Claim, String> {
        let made = self.make()?;
        let (found, present) = self.look(exists)?;
        let marker = Marker {
            version: 1,
            database: self.database.clone(),
            identity: id(&self.database),
            study: found.as_ref().and_then(|marker| marker.study.clone()),
            made: made || found.as_ref().is_some_and(|marker| marker.made),
            open: true,
            logs: self.files(&present),
        };
        let is_ours = !exists || found.is_some() || NewestOptions::is_tailmarks_at(&self.database);
        let marker = is_ours.then_some(marker);
        if let Some(marker) = &marker {
            self.write(marker)?;
        }
        Ok(Claim {
            log: self,
            marker,
            before: found,
            opened: false,
            is_new: !exists,
        })
    }

    /// Checks that [`Self::claim`] would succeed, without a change.
    pub(super) fn check(&self, exists: bool) -> Result<(), String> {
        self.look(exists).map(drop)
    }

    /// The marker and the names of the log files, if the database may use the directory.
    fn look(&self, exists: bool) -> Result<(Option<Marker>, BTreeSet<String>), String> {
        if !self.is_there()? {
            return Ok((None, BTreeSet::new()));
        }
        let (found, present) = (self.marker()?, logs(&self.directory)?);
        if let Some(marker) = &found {
            self.refuse_other_owner(marker)?;
        }
        let foreign = match &found {
            _ if !exists => present.clone(),
            Some(marker) if self.is_of_database(marker) => self.foreign(marker, &present),
            _ if self.is_named_by_its_database() && !self.note().exists() => BTreeSet::new(),
            _ => present.clone(),
        };
        self.refuse_foreign(&foreign)?;
        self.refuse_tables()?;
        refuse_other_than_files(&self.directory)?;
        Ok((found, present))
    }

    /// A file in a database's own directory, which says that this directory must have a [`MARKER`].
    /// Without that marker the logs here belong to another database.
    fn note(&self) -> PathBuf {
        self.database.join(LOG_APART)
    }

    fn write_note(&self) -> Result<(), String> {
        let note = self.note();
        let mut new = fs::File::options();
        // Regardless of the umask: other users must not write the marker.
        let file = new.write(true).create_new(true).mode(0o644).open(&note);
        match file.and_then(|file| file.sync_all()) {
            // From an earlier database in this place.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(|e| format!("failed to write `{}`: {e}", note.display())),
        }
    }

    /// Refuses a directory with RocksDB files other than logs, because RocksDB would remove its
    /// tables.
    fn refuse_tables(&self) -> Result<(), String> {
        let entries = fs::read_dir(&self.directory).map_err(|e| e.to_string())?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names = names.filter_map(|name| name.into_string().ok());
        let is_other = |name: &String| is_name(name) && !name.ends_with(".log");
        let Some(other) = names.find(is_other) else {
            return Ok(());
        };
        Err(format!(
            "wal_dir `{}` has a file of another database, `{other}`, which RocksDB could remove; \
             name another directory",
            self.directory.display()
        ))
    }

    /// The log files that [`Self::remove`] removes.
    ///
    /// # Errors
    /// If the directory has another owner, or log files that are not known to belong to the
    /// database.
    pub(super) fn removable(&self) -> Result<BTreeSet<String>, String> {
        let present = logs(&self.directory)?;
        let foreign = match self.marker()? {
            None => present.clone(),
            Some(marker) => {
                self.refuse_other_owner(&marker)?;
                if self.is_of_database(&marker) {
                    self.foreign(&marker, &present)
                } else {
                    present.clone()
                }
            }
        };
        self.refuse_foreign(&foreign)?;
        Ok(present)
    }

    /// Holds the directory; `None` if it does not exist.
    pub(super) fn hold(&self) -> io::Result<Option<HeldLog<'_>>> {
        let held = HeldDirectory::open(&self.directory)?;
        Ok(held.map(|held| HeldLog { log: self, held }))
    }

    /// The identity of these log files.
    fn files(&self, names: &BTreeSet<String>) -> BTreeMap<String, LogFile> {
        let file = |name: &String| {
            let found = LogFile::look(&self.directory.join(name)).ok()?;
            Some((name.clone(), found))
        };
        names.iter().filter_map(file).collect()
    }

    /// Creates the directory if it is missing. Returns whether it was.
    fn make(&self) -> Result<bool, String> {
        if self.is_there()? {
            return Ok(false);
        }
        let mut directory = fs::DirBuilder::new();
        let made = directory.mode(0o755).create(&self.directory);
        let shown = self.directory.display();
        made.map(|()| true)
            .map_err(|e| format!("failed to create wal_dir `{shown}`: {e}"))
    }

    /// Whether the directory exists.
    ///
    /// # Errors
    /// If it cannot be used, or is missing and cannot be created.
    fn is_there(&self) -> Result<bool, String> {
        let shown = self.directory.display();
        let above = self.directory.parent().unwrap_or(Path::new("/"));
        let mut around = self.directory.ancestors();
        if let Some(other) = around.find(|directory| directory.join("CURRENT").exists()) {
            return Err(format!(
                "wal_dir `{shown}` is or is inside the directory of another database, `{}`; name \
                 another directory",
                other.display()
            ));
        }
        match fs::metadata(&self.directory) {
            Ok(found) if !found.is_dir() => Err(format!("wal_dir `{shown}` is not a directory")),
            Ok(_) => Ok(true),
            Err(_) if self.directory.is_symlink() => Err(format!(
                "wal_dir `{shown}` is a symbolic link to something that does not exist"
            )),
            Err(_) if above.is_dir() => Ok(false),
            Err(_) => Err(format!(
                "wal_dir `{shown}` does not exist, and neither does `{}`: create it, or mount its \
                 device, first",
                above.display()
            )),
        }
    }

    fn marker(&self) -> Result<Option<Marker>, String> {
        let path = self.directory.join(MARKER);
        let failed = |why: String| format!("failed to read `{}`: {why}", path.display());
        match read_text(&path, INPUT_BYTES_MAX) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|e| failed(e.to_string())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed(e.to_string())),
        }
    }

    fn write(&self, marker: &Marker) -> Result<(), String> {
        let text = serde_json::to_string_pretty(marker).expect("a marker is plain data");
        draft::write_whole(&self.directory, MARKER, &text).map_err(|e| {
            format!(
                "failed to write {MARKER} in wal_dir `{}`: {e}",
                self.directory.display()
            )
        })
    }

    /// Accepts a database that was moved together with its log, or mounted elsewhere, as the owner.
    fn refuse_other_owner(&self, marker: &Marker) -> Result<(), String> {
        let newest = NewestOptions::read(&self.database).ok().flatten();
        let is_moved = || {
            let log = newest.and_then(|newest| newest.wal_dir);
            let is_gone = !marker.database.join("CURRENT").exists();
            is_gone && log.is_some_and(|log| !log.exists() || real(&log) == self.directory)
        };
        if marker.database == self.database || is_moved() {
            return Ok(());
        }
        Err(format!(
            "wal_dir `{}` holds the write-ahead log of the database at `{}` (recorded in \
             {MARKER}); name another directory",
            self.directory.display(),
            marker.database.display()
        ))
    }

    /// Whether a marker describes the existing database. Another program may have removed the
    /// original, and keep its own log here under the same names.
    fn is_of_database(&self, marker: &Marker) -> bool {
        let id = id(&self.database);
        id.is_some() && (marker.identity.is_none() || marker.identity == id)
    }

    fn is_named_by_its_database(&self) -> bool {
        let newest = NewestOptions::read(&self.database).ok().flatten();
        let wal = newest.and_then(|newest| newest.wal_dir);
        wal.is_some_and(|wal| real(&wal) == self.directory)
    }

    /// The present log files that do not belong to the owner.
    fn foreign(&self, marker: &Marker, present: &BTreeSet<String>) -> BTreeSet<String> {
        let newest = marker.logs.keys().filter_map(|name| number(name)).max();
        let last = highest_number(&self.database).saturating_add(NEAR);
        let since_open = |name: &String| {
            let number = number(name).unwrap_or(0);
            marker.open && newest.is_none_or(|newest| number > newest) && number < last
        };
        let is_known = |name: &String| {
            let found = LogFile::look(&self.directory.join(name));
            let known = marker.logs.get(name);
            known.is_some_and(|known| found.is_ok_and(|found| found.is(known, marker.open)))
        };
        let is_foreign = |name: &&String| !is_known(name) && !since_open(name);
        present.iter().filter(is_foreign).cloned().collect()
    }

    fn refuse_foreign(&self, foreign: &BTreeSet<String>) -> Result<(), String> {
        if foreign.is_empty() {
            return Ok(());
        }
        let shown: Vec<_> = foreign.iter().take(3).map(String::as_str).collect();
        let more = match foreign.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(format!(
            "wal_dir `{}` holds log files of another database ({}{more}), which RocksDB would \
             replay and remove; name another directory",
            self.directory.display(),
            shown.join(", ")
        ))
    }
}

impl Claim {
    /// Records the current log files once the database is open: all of them belong to it.
    pub(super) fn note_logs(&mut self) -> Result<(), String> {
        self.opened = true;
        let Some(marker) = &mut self.marker else {
            return Ok(());
        };
        if self.is_new {
            self.log.write_note()?;
        }
        marker.identity = id(&self.log.database);
        marker.logs = self.log.files(&logs(&self.log.directory)?);
        self.log.write(marker)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(marker) = &mut self.marker else {
            return;
        };
        if !self.opened {
            let _ = match &self.before {
                Some(before) => self.log.write(before),
                None => self
                    .log
                    .hold()
                    .and_then(|held| held.map_or(Ok(()), |held| held.remove(&BTreeSet::new())))
                    .map_err(|e| e.to_string()),
            };
            return;
        }
        let Ok(present) = logs(&self.log.directory) else {
            return;
        };
        let foreign = self.log.foreign(marker, &present);
        marker.logs = self
            .log
            .files(&present.difference(&foreign).cloned().collect());
        marker.open = false;
        // If that fails, the log looks like that of a killed process.
        let _ = self.log.write(marker);
    }
}
