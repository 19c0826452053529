//! Whether a file is a study, told without SQLite.
//!
//! SQLite changes what it opens: it rolls back what a killed program left half-written, removes its
//! journal, and moves a write-ahead log into the file. It also opens the files beside a database,
//! whatever they are, and waits for a pipe. So it sees a file only if the first bytes say that
//! tailmark wrote it, and if what is beside it are files.

use super::{Study, file_error, schema};
use crate::Error;
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// How long the header of a SQLite file is, and how it begins.
const BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where it has the two numbers that `PRAGMA user_version` and `PRAGMA application_id` set.
const VERSION_AT: usize = 60;
const APPLICATION_AT: usize = 68;
/// Where it says how it is read: 1 with a rollback journal, as studies are, and 2 with a write-ahead
/// log, which SQLite makes a file for even to read.
const READ_AT: usize = 19;

/// What SQLite appends to the name of a database for its other files.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Refuses a file that is not a study of this version, and one that SQLite could not open as such.
pub fn check(path: &Path) -> Result<(), Error> {
    let header = read(path).map_err(file_error("read", path))?;
    let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
    if header.len() < BYTES
        || !header.starts_with(MAGIC)
        || number(APPLICATION_AT) != schema::APPLICATION
        || header[READ_AT] != 1
    {
        return Err(Error::NotAStudy {
            path: path.to_owned(),
        });
    }
    if number(VERSION_AT) != Study::VERSION {
        return Err(Error::OtherVersion {
            path: path.to_owned(),
            version: number(VERSION_AT),
            known: Study::VERSION,
        });
    }
    for (beside, kind) in companions(path) {
        if !kind.is_file() {
            return Err(Error::NotAFile { path: beside });
        }
    }
    Ok(())
}

/// Refuses a study that a program is writing, or that was left half-written: to read it is to change
/// it.
pub fn check_at_rest(path: &Path) -> Result<(), Error> {
    match companions(path).next() {
        None => Ok(()),
        Some((beside, _)) => Err(Error::HalfWritten {
            path: path.to_owned(),
            beside,
        }),
    }
}

/// The first bytes of a file; none of anything else.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    if !fs::metadata(path)?.is_file() {
        return Ok(header);
    }
    // It may be a pipe by now.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        file.take(BYTES as u64).read_to_end(&mut header)?;
    }
    Ok(header)
}

/// What is beside a database under a name that SQLite opens with it.
fn companions(path: &Path) -> impl Iterator<Item = (PathBuf, fs::FileType)> {
    // SQLite follows a link to the database.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    COMPANIONS.into_iter().filter_map(move |ending| {
        let mut name = real.as_os_str().to_owned();
        name.push(ending);
        let beside = PathBuf::from(name);
        let kind = fs::symlink_metadata(&beside).ok()?.file_type();
        Some((beside, kind))
    })
}
