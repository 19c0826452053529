//! Which database a directory holds: what it is called, and whether it is whole.
//!
//! RocksDB gives a database a name of its own when it makes it (`IDENTITY`), which a copy, a move or a
//! remount keeps. A removal takes the files away in any order, so the name is noted in a file of its own
//! before: whatever a killed removal leaves is known by it.

use super::{kept, remove, wal};
use crate::Identity;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The file in which RocksDB keeps the name of a database.
const IDENTITY: &str = "IDENTITY";
/// Bytes of the longest name that is read.
const NAME_BYTES_MAX: u64 = 4096;
/// Says which database is being removed.
pub(super) const REMOVING: &str = "tailmark.removing";
/// What RocksDB makes before `CURRENT`: a creation that was killed leaves no more than these.
const FIRST: &[&str] = &[
    "000000.dbtmp",
    "000001.dbtmp",
    IDENTITY,
    "LOCK",
    "LOG",
    "MANIFEST-000001",
];

/// What tells the database in a directory from others.
pub(super) fn identity(place: &Path) -> io::Result<Option<Identity>> {
    let is_empty = match fs::read_dir(place) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => true,
        Err(e) => return Err(e),
    };
    if is_empty {
        return Ok(None);
    }
    Ok(Some(Identity {
        id: name(&place.join(IDENTITY)).or_else(|| name(&place.join(REMOVING))),
        is_new: kept::is_new(place),
    }))
}

fn name(file: &Path) -> Option<String> {
    let found = fs::symlink_metadata(file).ok()?;
    let is_one = found.is_file() && found.len() <= NAME_BYTES_MAX;
    let text = is_one.then(|| fs::read_to_string(file).ok()).flatten()?;
    let name = text.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Notes which database is about to be removed; gives the path of the note.
pub(super) fn note_removal(place: &Path) -> io::Result<PathBuf> {
    let note = place.join(REMOVING);
    if !place.join("CURRENT").exists() && note.exists() {
        return Ok(note);
    }
    let name = name(&place.join(IDENTITY)).unwrap_or_default();
    let mut file = File::create(&note)?;
    file.write_all(name.as_bytes())?;
    file.sync_all()?;
    File::open(place)?.sync_all()?;
    Ok(note)
}

/// Refuses a directory with files of a database that has lost its `CURRENT`. RocksDB would take it for
/// an empty one, and remove its tables and logs. What a killed creation or removal left holds no data.
pub(super) fn refuse_damaged(place: &Path) -> Result<(), String> {
    let is_known = |name| place.join(name).exists();
    if !place.is_dir() || is_known("CURRENT") || is_known(REMOVING) {
        return Ok(());
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_data = |name: &String| {
        let is_log = name.starts_with("LOG.old.");
        remove::is_name(name) && !is_log && !FIRST.contains(&name.as_str())
    };
    let mut data: BTreeSet<_> = names.filter(is_data).collect();
    data.extend(wal::logs(place)?);
    if data.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = data.iter().take(3).map(String::as_str).collect();
    let more = match data.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(format!(
        "it holds files of a RocksDB database ({}{more}) but no `CURRENT`: it is the log directory of \
         another database, or a database that is damaged or was copied in part, and RocksDB would remove \
         them; name another directory",
        shown.join(", ")
    ))
}
