//! The files of a log directory.

use super::super::files::ARCHIVE;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// What distinguishes a log file from another one of its name. The first log of every new database
/// has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogFile {
    inode: u64,
    /// When it was created, if the file system knows; and when it was last written, nanoseconds
    /// since 1970.
    made: Option<u64>,
    written: u64,
    bytes: u64,
}

impl LogFile {
    pub(super) fn look(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        let since_1970 = |time: SystemTime| {
            let since = time
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            since.as_nanos() as u64
        };
        Ok(Self {
            inode: found.ino(),
            made: found.created().ok().map(since_1970),
            written: since_1970(found.modified()?),
            bytes: found.len(),
        })
    }

    /// Whether it is the same file, or a copy that kept its time. While the database was `open` it
    /// may have grown.
    pub(super) fn is(&self, other: &Self, open: bool) -> bool {
        let is_file = (self.inode, self.made) == (other.inode, other.made);
        (open && is_file) || (self.written, self.bytes) == (other.written, other.bytes)
    }
}

/// The names of the log files in a directory and in its archive; empty if it does not exist.
pub fn logs(directory: &Path) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    for (below, prefix) in [("", ""), (ARCHIVE, "archive/")] {
        let directory = directory.join(below);
        let failed = |e| format!("failed to read `{}`: {e}", directory.display());
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(failed(e)),
        };
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            if number(&name).is_some() {
                found.insert(format!("{prefix}{name}"));
            }
        }
    }
    Ok(found)
}

/// Whether any log in a directory has content.
pub(super) fn holds_records(directory: &Path) -> Result<bool, String> {
    let is_long = |name: &String| fs::metadata(directory.join(name)).is_ok_and(|is| is.len() > 0);
    Ok(logs(directory)?.iter().any(is_long))
}

/// The number of a log file.
pub(super) fn number(name: &str) -> Option<u64> {
    let name = name.strip_prefix("archive/").unwrap_or(name);
    name.strip_suffix(".log")?.parse().ok()
}

/// The highest number among the files of a database.
pub(super) fn highest_number(place: &Path) -> u64 {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let stem = name
            .rsplit_once('-')
            .map_or(name.as_str(), |(_, number)| number);
        stem.split('.').next()?.parse::<u64>().ok()
    };
    entries.filter_map(number).max().unwrap_or(0)
}

/// The path with symbolic links resolved, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Ok(real) = fs::canonicalize(&path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => path,
    }
}

pub(super) fn missing_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
