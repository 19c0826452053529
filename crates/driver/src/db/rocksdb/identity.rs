//! The identity of the database in a directory: its name, and whether it is complete.
//!
//! RocksDB gives each new database a unique name (`IDENTITY`), which copies, moves and remounts
//! keep. A removal deletes files in any order, so the name is first noted in a separate file. That
//! file identifies what a killed removal leaves.

use super::{
    draft,
    files::{IDENTITY, REMOVING, id, is_name, name},
    kept,
    manifest::newest_log as newest_of_manifest,
    newest_options::NewestOptions,
    note, wal,
};
use crate::Identity;
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// The prefix of the host name in the properties of tailmark's tables.
const OWN_TABLE: &str = "tailmark-";
/// Bytes of RocksDB's name for a database: a UUID.
const ID_BYTES: usize = 36;
/// Bytes of a file that are read to identify it. RocksDB writes the name of the database at the
/// beginning of a manifest.
const HEAD_BYTES: u64 = 64 << 10;
/// The longest manifest without a column family, bytes: that of a database being created.
const FIRST_MANIFEST_BYTES_MAX: usize = 128;

/// The identity of the database in a directory.
pub(super) fn identity(place: &Path) -> io::Result<Option<Identity>> {
    let is_draft = |name: &OsStr| name.to_str().is_some_and(draft::is_draft);
    let is_empty = match fs::read_dir(place) {
        // A copy into an empty directory may have been killed at its first file.
        Ok(entries) => entries.flatten().all(|entry| is_draft(&entry.file_name())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => true,
        Err(e) => return Err(e),
    };
    if is_empty {
        return Ok(None);
    }
    let id = id(place);
    Ok(Some(Identity {
        is_confirmed: id.as_ref().is_some_and(|id| is_confirmed(place, id))
            && !has_others_records(place),
        id,
        // The tables of another program's database may be in other directories.
        is_new: kept::is_new(place) && !has_others_options(place),
    }))
}

/// Whether the manifest has the name too. A database that was copied over another one has its own.
fn is_confirmed(place: &Path, id: &str) -> bool {
    let manifest = manifest(place).map(|name| place.join(name));
    let Some(manifest) = manifest.filter(|manifest| manifest.exists()) else {
        return true; // It is being created or removed.
    };
    let head = head(&manifest).unwrap_or_default();
    head.windows(id.len()).any(|part| part == id.as_bytes()) || note::is_newest(place)
}

fn has_others_options(place: &Path) -> bool {
    let newest = NewestOptions::read(place).ok().flatten();
    newest.is_some_and(|newest| !newest.is_tailmarks)
}

/// Whether another program has written to a database: it opened it last, and there is a log or a
/// table that tailmark did not write. If that program used the options that it found, its tables
/// look like tailmark's.
fn has_others_records(place: &Path) -> bool {
    let newest = NewestOptions::read(place).ok().flatten();
    let Some(newest) = newest.filter(|newest| !newest.is_tailmarks) else {
        return false;
    };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut tables = paths.filter(|path| path.extension().is_some_and(|ending| ending == "sst"));
    newest.is_copied
        || wal::LogDirectory::has_records(place)
        || tables.any(|table| !is_table_of(&table, OWN_TABLE).unwrap_or(false))
}

/// Whether a database still has its first manifest, without column families, because its creation
/// is in progress or was killed.
pub(super) fn is_being_created(place: &Path) -> bool {
    let manifest = manifest(place).map(|name| place.join(name));
    let head = manifest.and_then(|manifest| head(&manifest).ok());
    head.is_some_and(|head| is_first_manifest(&head))
}

/// The number of the last log file of a database, as far as its manifest says.
pub(super) fn newest_log(place: &Path) -> Option<u64> {
    newest_of_manifest(&place.join(manifest(place)?))
}

/// The name of the manifest in `CURRENT`; `None` if there is none.
fn manifest(place: &Path) -> Option<String> {
    let current = String::from_utf8(head(&place.join("CURRENT")).ok()?).ok()?;
    let name = current.strip_suffix('\n')?;
    let number = name.strip_prefix("MANIFEST-")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| name.to_owned())
}

fn head(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let is_file = fs::symlink_metadata(file)?.is_file();
    if !is_file {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(file)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether a file is one that RocksDB creates before `CURRENT`, as a killed creation leaves it.
fn is_of_creation(file: &Path, name: &str) -> bool {
    let Ok(head) = head(file) else { return false };
    let text = String::from_utf8_lossy(&head);
    let is_name = || {
        let uuid = text.trim();
        uuid.len() == ID_BYTES && uuid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
    };
    head.is_empty()
        || match name {
            IDENTITY => is_name(),
            "000000.dbtmp" | "000001.dbtmp" => is_name() || text == "MANIFEST-000001\n",
            "MANIFEST-000001" => is_first_manifest(&head),
            _ if name == "LOG" || name.starts_with("LOG.old.") => text.contains("RocksDB version:"),
            _ => false,
        }
}

/// Whether a manifest is a single record without column families and tables: a checksum of 4 bytes,
/// a length of 2, a type, and data of that length.
fn is_first_manifest(bytes: &[u8]) -> bool {
    let [_, _, _, _, low, high, kind, ..] = bytes else {
        return false;
    };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    *kind == 1 && bytes.len() == 7 + length && bytes.len() <= FIRST_MANIFEST_BYTES_MAX
}

/// Whether everything in a directory belongs to a database whose removal was killed: tables have
/// its name, and nothing else is newer than the note.
fn is_being_removed(place: &Path) -> bool {
    let note = place.join(REMOVING);
    let (Some(id), Ok(noted)) = (name(&note), fs::symlink_metadata(&note)) else {
        return false;
    };
    if id.len() != ID_BYTES {
        return false;
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    // A removal by RocksDB writes `LOCK` and `LOG` again.
    let is_data = |name: &str| is_name(name) && !name.starts_with("LO");
    let mut data = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_data));
    data.all(|entry| {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "sst") {
            return is_table_of(&path, &id).unwrap_or(false);
        }
        let changed = |file: &fs::Metadata| (file.ctime(), file.ctime_nsec());
        let found = entry.metadata();
        found.is_ok_and(|found| changed(&found) <= changed(&noted))
    })
}

/// Whether a table has the name of a database among its properties, which are near its end.
fn is_table_of(table: &Path, id: &str) -> io::Result<bool> {
    if !fs::metadata(table)?.is_file() {
        return Ok(false);
    }
    let mut file = File::open(table)?;
    let from = file.metadata()?.len().saturating_sub(HEAD_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut end)?;
    Ok(end.windows(id.len()).any(|part| part == id.as_bytes()))
}

/// Refuses a directory with files that have RocksDB's names but no `CURRENT` that names a manifest.
/// RocksDB would take it for empty, and remove its tables and logs. The rest of a killed creation
/// or removal holds no data.
pub(super) fn refuse_damaged(place: &Path) -> Result<(), String> {
    if !place.is_dir() || manifest(place).is_some() || is_being_removed(place) {
        return Ok(());
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_data = |name: &String| is_name(name) && !is_of_creation(&place.join(name), name);
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
        "it holds files of a RocksDB database ({}{more}) but no `CURRENT`, so RocksDB would remove \
         them: it is the log directory of another database, or a damaged or incomplete database; \
         name another directory",
        shown.join(", ")
    ))
}
