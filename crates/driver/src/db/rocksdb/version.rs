//! Which versions of RocksDB can read a database after it was written here.
//!
//! RocksDB reads data of older versions, but writes formats that some of them cannot read. Opening
//! a database for writing once is enough. So a database of another version or program is opened
//! only for reading if that suffices. A write that would lock out the version that wrote it needs
//! the user's consent.

use super::{facts, ini::Ini, kept, newer::parse, newest_options::NewestOptions};
use crate::{Access, Settings};
use std::{collections::BTreeMap, path::Path};

/// A version, and what it can read from this program's RocksDB.
struct Reader {
    version: [u32; 3],
    /// Whether it opens the database.
    opens: bool,
    /// The newest `format_version` of tables that it can read.
    format_version: u32,
    /// Whether it reads the checksum `xxh3`.
    xxh3: bool,
}

/// Proved with `rocksdbjni` of each version from Maven Central: it loaded 3,000 records, RocksDB
/// 11.12.0 opened the database and updated all of them, flushing and compacting in each format and
/// checksum, and it read all of them back (or failed with `VersionEdit: unknown tag` to open it). The
/// test `a_version_reads_what_the_table_says_after_a_run_here` in `crates/cli/tests/ycsb_reference.rs` does
/// that for the versions that `./dev reference` collects. A version between two rows is taken for
/// the older one.
const READERS: &[Reader] = &[
    reader([5, 11, 3], false, 2, false),
    reader([5, 17, 2], false, 2, false),
    reader([5, 18, 3], false, 2, false),
    reader([6, 0, 1], true, 4, false),
    reader([6, 2, 2], true, 4, false),
    reader([6, 22, 1], true, 5, false),
    reader([7, 10, 2], true, 5, true),
    reader([8, 1, 1], true, 5, true),
    reader([9, 10, 0], true, 6, true),
    reader([10, 2, 1], true, 6, true),
];

const fn reader(version: [u32; 3], opens: bool, format_version: u32, xxh3: bool) -> Reader {
    Reader {
        version,
        opens,
        format_version,
        xxh3,
    }
}

/// Values in an options file that versions before the named one cannot read. RocksDB's `HISTORY.md`
/// has them from that version on, or from a slightly earlier one.
const NEWER: &[(&str, &str, [u32; 3])] = &[
    ("enable_blob_files", "true", [6, 18, 0]),
    ("index_type", "kBinarySearchWithFirstKey", [6, 3, 0]),
    ("wal_compression", "kZSTD", [7, 10, 2]),
];

/// What the version in a text can read; `None` if that is unknown.
fn reader_of(version: &str) -> Option<&'static Reader> {
    let version = parse(version)?;
    READERS.iter().rev().find(|row| row.version <= version)
}

/// Whether the version that wrote a database can read it after `opener` wrote to it with these
/// settings. An older opener than the embedded one may leave more readable than the table says.
fn stays_readable(version: &str, settings: &Settings, opener: &str) -> bool {
    if parse(version) >= parse(opener) {
        return true;
    }
    reader_of(version).is_some_and(|reader| {
        let format = settings.integer("format_version").unwrap_or(0);
        let is_newer = settings.given("format_version") && format > reader.format_version;
        let is_xxh3 = settings.given("checksum") && settings.text("checksum") == Some("xxh3");
        let file = kept::options_file(settings);
        let has_newer = |(name, value, since): &(&str, &str, [u32; 3])| {
            let is_said = file.as_ref().is_some_and(|file| file.says(name, value));
            is_said && parse(version) < Some(*since)
        };
        reader.opens && !is_newer && (reader.xxh3 || !is_xxh3) && !NEWER.iter().any(has_newer)
    })
}

/// How to open the database in `place` for this access, with the version `opener` of RocksDB.
///
/// # Errors
/// The version that wrote it, if that version could not read it afterwards.
pub(super) fn access(
    place: &Path,
    requested: Access,
    settings: &Settings,
    opener: &str,
) -> Result<Access, String> {
    let newest = NewestOptions::read(place)
        .ok()
        .flatten()
        .unwrap_or_default();
    let version = newest.version.as_deref();
    match requested {
        Access::Upgrade | Access::Extend => Ok(Access::Write),
        // Without records and options it was never opened. LevelDB writes no options.
        Access::Write | Access::Create | Access::CreateNew
            if version.is_none() && kept::is_new(place) =>
        {
            Ok(requested)
        }
        Access::Write | Access::Create | Access::CreateNew => match version {
            Some(version) if stays_readable(version, settings, opener) => Ok(requested),
            Some(version) => Err(format!("RocksDB {version}")),
            None => Err("LevelDB or an unknown version of RocksDB".to_owned()),
        },
        Access::ReadCompatible if newest.is_tailmarks && version == Some(opener) => {
            Ok(Access::Write)
        }
        Access::Read | Access::ReadCompatible => Ok(Access::Read),
    }
}

/// The settings with the log directory of the existing database in `place`, if they name none. If a
/// database is opened without its log, it loses records.
pub(super) fn with_log(place: &Path, settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let newest = NewestOptions::read(place).ok().flatten();
    // The base directory of a relative path is not recorded.
    if let Some(wal) = newest.and_then(|newest| newest.wal_dir)
        && settings.text("wal_dir").is_none()
        && wal.is_absolute()
    {
        settings.set_default("wal_dir", &wal.to_string_lossy());
    }
    settings
}

/// Version and options of a database that is open only for reading, for which no file has them.
pub(super) fn read_only(ini: &Ini, table: &str, opener: &str) -> BTreeMap<String, String> {
    let mut facts = facts::noted(ini, table);
    facts.insert("version".to_owned(), opener.to_owned());
    facts.insert("access".to_owned(), "read-only".to_owned());
    facts
}
