//! Removes a database, but no foreign file in its directory or its log directory.

use super::{
    NAME,
    draft::{drafts, is_draft},
    files::{IDENTITY, LOG_APART, REMOVING, is_mount, is_name, name, names_a_database},
    identity, lock,
    newest_options::NewestOptions,
    note::NOTE,
    wal::LogDirectory,
};
use crate::{Confirm, Error, Params, error::BoxError, held::HeldDirectory};
use rust_rocksdb::{DB, Options};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Subdirectories of a database that have such files.
const DIRECTORIES: &[&str] = &["archive", "lost"];
/// Files that tailmark writes beside the database.
const NOTES: [&str; 3] = [LOG_APART, NOTE, REMOVING];
/// The directory that `mkfs` creates in a file system. It stays.
const LOST_FOUND: &str = "lost+found";

/// The parts that can be removed.
pub(super) struct Removable {
    /// Whether the directory exists and holds files of the database.
    is_there: bool,
    /// The logs in a separate directory, if that belongs to the database.
    logs: Option<BTreeSet<String>>,
}

/// Removes the database, but only from a directory with nothing else in it. The directory stays,
/// because it may be a user's subvolume, or have permissions that a new one would lack. Both
/// directories are held before they are examined.
pub(super) fn destroy(params: &Params, confirm: &Confirm<'_>) -> Result<(), Error> {
    let place = params.path(NAME)?;
    let failed = |source: BoxError| failed(place, source);
    let _turn = lock::turn(place)?;
    let held = HeldDirectory::open(place).map_err(|e| failed(e.into()))?;
    let log = LogDirectory::new(place, &params.settings);
    let log = log.as_ref().map(LogDirectory::hold).transpose();
    let log = log.map_err(|e| failed(e.into()))?.flatten();
    let Removable { is_there, logs } = check(params)?;
    let held = held.filter(|held| is_there && held.is_at(place));
    if is_there && held.is_none() {
        return Err(failed("another directory has replaced it".into()));
    }
    if let Some(held) = &held {
        confirm(held.path()).map_err(|why| failed(why.into()))?;
        lock::refuse_hidden(place).map_err(|why| failed(why.into()))?;
        remove_database(held, place)?;
    }
    if let (Some(log), Some(logs)) = (log, logs) {
        log.remove(&logs).map_err(|e| failed(e.into()))?;
    }
    let Some(held) = held else { return Ok(()) };
    remove_inside(held.path(), &inside(params, place)).map_err(|e| failed(e.into()))?;
    for draft in drafts(held.path()) {
        left_is_fine(fs::remove_file(draft)).map_err(|e| failed(e.into()))?;
    }
    // Last, because they identify a killed removal.
    for note in NOTES {
        left_is_fine(fs::remove_file(held.path().join(note))).map_err(|e| failed(e.into()))?;
    }
    Ok(())
}

/// Removes everything of a database except the note that it is being removed.
fn remove_database(held: &HeldDirectory, place: &Path) -> Result<(), Error> {
    let note = note_removal(held.path()).map_err(|e| failed(place, e.into()))?;
    // RocksDB's own function, because it takes the lock. It must not know of a separate log
    // directory: it would remove every log there, including foreign ones.
    DB::destroy(&Options::default(), held.path()).map_err(|e| {
        if lock::is_lock(e.as_ref()) {
            // It was opened meanwhile. Nothing was removed.
            let _ = fs::remove_file(&note);
            lock::locked(place)
        } else {
            failed(place, e.into())
        }
    })
}

/// Notes which database is about to be removed. Returns the path of the note. It is a hard link to
/// `IDENTITY`, for which even a full disk has room.
fn note_removal(place: &Path) -> io::Result<PathBuf> {
    let note = place.join(REMOVING);
    if !place.join("CURRENT").exists() && note.exists() {
        return Ok(note);
    }
    let identity = place.join(IDENTITY);
    left_is_fine(fs::remove_file(&note))?;
    if fs::symlink_metadata(&identity).is_ok_and(|found| !found.is_file())
        || fs::hard_link(&identity, &note).is_err()
    {
        // The file is missing, or the file system has no links.
        let name = name(&identity).unwrap_or_default();
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&note)?;
        file.write_all(name.as_bytes())?;
        file.sync_all()?;
    }
    File::open(place)?.sync_all()?;
    Ok(note)
}

/// What would be removed. Changes nothing.
///
/// # Errors
/// If the directory of the database or of its log contains something else, or if the database has
/// lost a part that identifies it.
pub(super) fn check(params: &Params) -> Result<Removable, Error> {
    let place = params.path(NAME)?;
    let log = LogDirectory::new(place, &params.settings);
    let logs = log.map_or(Ok(BTreeSet::new()), |log| log.removable());
    let is_there = match foreign(place, Path::new(""), &inside(params, place)) {
        Ok(None) if drafts(place).next().is_none() && !has_database(place).unwrap_or(true) => false,
        Ok(None) => {
            if !NewestOptions::is_tailmarks_at(place) {
                let refused = |why| format!("nothing in it is removed: {why}");
                identity::refuse_damaged(place)
                    .map_err(|why| failed(place, refused(why).into()))?;
            }
            true
        }
        Ok(Some(name)) => {
            let why = format!(
                "`{}` in it does not belong to this database; move it elsewhere, or name another \
                 directory",
                name.display()
            );
            return Err(failed(place, why.into()));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(failed(place, e.into())),
    };
    let logs = match logs {
        Ok(logs) => Some(logs),
        // If the database is gone, a foreign log directory does not matter.
        Err(_) if !is_there => None,
        Err(e) => return Err(failed(place, e.into())),
    };
    Ok(Removable { is_there, logs })
}

fn failed(place: &Path, source: BoxError) -> Error {
    Error::Database {
        action: "remove",
        driver: NAME,
        place: place.display().to_string(),
        source,
    }
}

/// Subdirectories with RocksDB files, such as a log directory inside the database's own.
fn inside(params: &Params, place: &Path) -> Vec<PathBuf> {
    let log = params.settings.text("wal_dir").map(Path::new);
    let log = log.and_then(|log| log.strip_prefix(place).ok());
    let above = log.into_iter().flat_map(Path::ancestors);
    let above = above.filter(|path| !path.as_os_str().is_empty());
    let own = DIRECTORIES.iter().map(PathBuf::from);
    let all: Vec<_> = own.chain(above.map(Path::to_owned)).collect();
    let archives = all.iter().map(|path| path.join("archive"));
    archives.chain(all.iter().cloned()).collect()
}

/// Whether the directory itself holds a file of a database or one of tailmark's notes. If not,
/// files in its subdirectories belong to no database here.
fn has_database(place: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_of_database = |file: &str| is_name(file) || NOTES.contains(&file);
        if entry.file_type()?.is_file() && name.to_str().is_some_and(is_of_database) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first foreign entry below a database's directory: a file, or part of another database or
/// file system inside it.
fn foreign(place: &Path, below: &Path, inside: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let is_inside = below != Path::new("");
    let has_database = has_database(place)?;
    let is_file_of_it =
        |file: &str| is_name(file) && !(is_inside && (names_a_database(file) || !has_database));
    for entry in fs::read_dir(place.join(below))? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let path = below.join(&name);
        if kind.is_dir() && inside.contains(&path) {
            if is_mount(&place.join(&path)) {
                return Ok(Some(path));
            }
            if let Some(found) = foreign(place, &path, inside)? {
                return Ok(Some(found));
            }
            continue;
        }
        let is_left = kind.is_dir() && path == Path::new(LOST_FOUND);
        let is_note = |file: &str| !is_inside && (NOTES.contains(&file) || is_draft(file));
        let is_own_name = |file: &str| is_note(file) || is_file_of_it(file);
        let is_own = kind.is_file() && name.to_str().is_some_and(is_own_name);
        if !is_own && !is_left {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Removes what `DestroyDB` left of the database in subdirectories.
fn remove_inside(place: &Path, inside: &[PathBuf]) -> io::Result<()> {
    for below in inside {
        let directory = place.join(below);
        let is_directory = fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir());
        if is_directory {
            remove_own_files(&directory)?;
            left_is_fine(fs::remove_dir(&directory))?;
        }
    }
    Ok(())
}

fn remove_own_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name().to_str().is_some_and(is_name) {
            left_is_fine(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

/// A directory stays if it contains something else or is a mount point.
fn left_is_fine(result: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound, ResourceBusy};
    match result {
        Err(e) if matches!(e.kind(), NotFound | DirectoryNotEmpty | ResourceBusy) => Ok(()),
        other => other,
    }
}
