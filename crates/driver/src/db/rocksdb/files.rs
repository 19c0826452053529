//! The files of a database: the names that RocksDB gives them, allowed file types, and the name of
//! the database in them.

use crate::read_text;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use std::{fs, path::Path};

/// The file in which RocksDB keeps the name of a database.
pub(super) const IDENTITY: &str = "IDENTITY";

/// Bytes of the longest name that is read.
const NAME_BYTES_MAX: u64 = 4096;

/// The file that says which database is being removed.
pub(super) const REMOVING: &str = "tailmark.removing";

/// The file that says that a database's log is elsewhere, in a directory with a marker.
pub(super) const LOG_APART: &str = "tailmark.log-apart";

/// The directory in which RocksDB keeps unneeded log files, if an option says so.
pub(super) const ARCHIVE: &str = "archive";

/// Names of RocksDB's files in a database's directory.
const NAMES: &[&str] = &["CURRENT", "IDENTITY", "LOCK", "LOG", "LOG.old"];

/// Prefixes of names that end in a number.
const PREFIXES: &[&str] = &["COMPACTION_PROGRESS-", "LOG.old.", "MANIFEST-", "OPTIONS-"];

/// Suffixes of names that begin with a number.
const ENDINGS: &[&str] = &[".blob", ".dbtmp", ".ldb", ".log", ".sst"];

/// The suffix that RocksDB appends to a file before it removes it.
pub(super) const TRASH: &str = ".trash";

/// Whether RocksDB uses such names (`ParseFileName` in `file/filename.cc`).
pub(super) fn is_name(name: &str) -> bool {
    let name = name.strip_suffix(TRASH).unwrap_or(name);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_ending = |ending: &&str| name.strip_suffix(ending).is_some_and(is_number);
    let is_prefix = |prefix: &&str| {
        let number = name.strip_prefix(prefix);
        number.is_some_and(|text| is_number(text.strip_suffix(".dbtmp").unwrap_or(text)))
    };
    NAMES.contains(&name) || PREFIXES.iter().any(is_prefix) || ENDINGS.iter().any(is_ending)
}

/// Whether a file of this name shows that a whole database is there. Inside another database's
/// directory, such a file does not belong to that database.
pub(super) fn names_a_database(name: &str) -> bool {
    ["CURRENT", IDENTITY, "LOCK"].contains(&name) || name.starts_with("OPTIONS-")
}

/// Whether a file of this name is a table or a blob, which RocksDB never changes once it is written.
/// It removes one by its name; a link of it stays.
pub(super) fn is_table(name: &str) -> bool {
    [".sst", ".ldb", ".blob"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Whether something is mounted at this path.
pub(super) fn is_mount(path: &Path) -> bool {
    let found = statx(
        CWD,
        path,
        AtFlags::SYMLINK_NOFOLLOW,
        StatxFlags::BASIC_STATS,
    );
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Refuses a database with a pipe, for which RocksDB would wait forever, or a link, through which
/// it would write elsewhere. Tables may be links, because they are never written again.
pub(super) fn refuse_other_than_files(place: &Path) -> Result<(), String> {
    // RocksDB moves logs there and deletes them.
    let archive = place.join(ARCHIVE);
    if fs::symlink_metadata(&archive).is_ok_and(|found| !found.is_dir()) || is_mount(&archive) {
        return Err(format!(
            "`{ARCHIVE}` in it is not a directory but a link, a file or a mount point"
        ));
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_file = |name: &String| {
        let path = place.join(name);
        let found = if is_table(name) {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(path)
        };
        // If one vanishes meanwhile, RocksDB reports it.
        found.map_or(true, |found| found.is_file())
    };
    match names
        .filter(|name| is_name(name))
        .find(|name| !is_file(name))
    {
        None => Ok(()),
        Some(name) => Err(format!(
            "`{name}` in it is not a file: it is a link, a pipe or a directory"
        )),
    }
}

/// Refuses a directory with a foreign file that ends in `.trash`, because RocksDB removes every
/// such file when it opens a database for writing.
pub(super) fn refuse_trash(directory: &Path) -> Result<(), String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    match names.find(|name| name.ends_with(TRASH) && !is_name(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "RocksDB removes every file that ends in `{TRASH}`, such as `{name}` in `{}`: move it \
             elsewhere",
            directory.display()
        )),
    }
}

/// The name of the database in a directory, even of one that is being removed.
pub(super) fn id(place: &Path) -> Option<String> {
    name(&place.join(IDENTITY)).or_else(|| name(&place.join(REMOVING)))
}

pub(super) fn name(file: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(file).ok()?.is_file();
    let text = is_file
        .then(|| read_text(file, NAME_BYTES_MAX).ok())
        .flatten()?;
    let name = text.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_rocksdb_gives_are_its_own() {
        for own in [
            "CURRENT",
            "000004.log",
            "17.sst",
            "9.blob.trash",
            "MANIFEST-000005",
            "OPTIONS-000007.dbtmp",
            "LOG.old.1795567083664084",
        ] {
            assert!(is_name(own), "{own}");
        }
        for other in [
            "access.log",
            ".log",
            "LOGS",
            "LOG.old.txt",
            "a.sst",
            "notes.trash",
            "MANIFEST-",
            "MANIFEST-v2",
            "archive",
            "+1.log",
        ] {
            assert!(!is_name(other), "{other}");
        }
    }
}
