//! Checks whether a file is a study, without SQLite.
//!
//! SQLite changes files that it opens: it rolls back what a killed program left half-written,
//! removes its journal, and moves a write-ahead log into the file. It also opens the files beside a
//! database, whatever they are, and waits for a pipe. A journal can name another file anywhere (the
//! super-journal of a transaction over several databases), which SQLite then removes. So SQLite
//! gets a file only if its first bytes show that tailmark wrote it, and if the only file beside it
//! is a journal as a killed run leaves it.

use super::{Study, file_error, schema};
use crate::Error;
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The length of a SQLite file's header, and its first bytes.
const BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The positions of the numbers of `PRAGMA user_version` and `PRAGMA application_id`.
const VERSION_AT: usize = 60;
const APPLICATION_AT: usize = 68;
/// The position of the journal mode: 1 for a rollback journal, as in studies, and 2 for a
/// write-ahead log, for which SQLite creates a file even to read.
const READ_AT: usize = 19;

/// The position of the page size, in two bytes.
const PAGE_AT: usize = 16;

/// What SQLite appends to the name of a database for its other files.
const COMPANIONS: [&str; 3] = [JOURNAL, "-wal", "-shm"];
const JOURNAL: &str = "-journal";
/// The first bytes of a journal, and the last ones if it names a super-journal.
const JOURNAL_MAGIC: &[u8] = &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Until a journal is synced, this and the count after it are zero.
const UNSYNCED: &[u8] = &[0; 12];
/// The positions of the number of pages that the database had, and of the page size.
const JOURNAL_PAGES_AT: usize = 16;
const JOURNAL_PAGE_AT: usize = 24;
const JOURNAL_HEADER: usize = 28;

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
        let is_own = beside
            .as_os_str()
            .as_encoded_bytes()
            .ends_with(JOURNAL.as_bytes())
            && is_journal_of(&beside, path, &header).map_err(file_error("read", &beside))?;
        if !is_own {
            return Err(Error::NotAJournal { path: beside });
        }
    }
    Ok(())
}

/// Whether a file is a journal as a program that writes the study has, or leaves if it is killed.
fn is_journal_of(journal: &Path, study: &Path, header: &[u8]) -> io::Result<bool> {
    let (head, end) = match read(journal).and_then(|head| Ok((head, end(journal)?))) {
        // The program that wrote it is done.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        ends => ends?,
    };
    if head.iter().all(|byte| *byte == 0) {
        return Ok(true);
    }
    if head.len() < JOURNAL_HEADER
        || !(head.starts_with(JOURNAL_MAGIC) || head.starts_with(UNSYNCED))
        || end == JOURNAL_MAGIC
    {
        return Ok(false);
    }
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let page = match u16::from_be_bytes([header[PAGE_AT], header[PAGE_AT + 1]]) {
        1 => 1 << 16,
        page => u32::from(page),
    };
    let pages = fs::metadata(study)?.len() / u64::from(page.max(1));
    Ok(number(JOURNAL_PAGE_AT) == page && u64::from(number(JOURNAL_PAGES_AT)) <= pages)
}

/// The last bytes of a journal.
fn end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut last = Vec::new();
    let from = length.saturating_sub(JOURNAL_MAGIC.len() as u64);
    file.seek(io::SeekFrom::Start(from))?;
    file.take(JOURNAL_MAGIC.len() as u64)
        .read_to_end(&mut last)?;
    Ok(last)
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

/// The first bytes of a file; empty for anything else.
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

/// The files beside a database that SQLite opens with it.
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
