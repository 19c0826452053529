//! Facts about a database from its directory: version, effective options, files.

use super::{
    files::is_table,
    ini::{Ini, OptionsSection},
};
use crate::{INPUT_BYTES_MAX, read_text};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Noted options, as RocksDB wrote them when it opened the database.
const NOTED: &[(OptionsSection, &str)] = &[
    (OptionsSection::Database, "max_background_jobs"),
    (OptionsSection::Database, "max_background_compactions"),
    (OptionsSection::Database, "max_open_files"),
    (
        OptionsSection::Database,
        "use_direct_io_for_flush_and_compaction",
    ),
    (OptionsSection::Database, "use_direct_reads"),
    (OptionsSection::Database, "wal_dir"),
    (OptionsSection::Family, "bottommost_compression"),
    (OptionsSection::Family, "compaction_style"),
    (OptionsSection::Family, "compression"),
    (OptionsSection::Family, "compression_per_level"),
    (OptionsSection::Family, "level0_file_num_compaction_trigger"),
    (
        OptionsSection::Family,
        "level_compaction_dynamic_level_bytes",
    ),
    (OptionsSection::Family, "max_bytes_for_level_base"),
    (OptionsSection::Family, "max_write_buffer_number"),
    (OptionsSection::Family, "min_write_buffer_number_to_merge"),
    (OptionsSection::Family, "target_file_size_base"),
    (OptionsSection::Family, "write_buffer_size"),
    (OptionsSection::Table, "block_size"),
    (OptionsSection::Table, "cache_index_and_filter_blocks"),
    (OptionsSection::Table, "checksum"),
    (OptionsSection::Table, "filter_policy"),
    (OptionsSection::Table, "format_version"),
];

/// Version and options of the database in this directory.
pub(super) fn options_of(place: &Path, table: &str) -> BTreeMap<String, String> {
    let text = newest_options(place).and_then(|path| read_text(&path, INPUT_BYTES_MAX).ok());
    text.map_or_else(BTreeMap::new, |text| noted(&Ini::parse(&text), table))
}

/// The version and the noted options in an options file.
pub(super) fn noted(ini: &Ini, table: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Some(version) = ini.version() {
        facts.insert("version".to_owned(), version.to_owned());
    }
    for &(section, name) in NOTED {
        if let Some(value) = ini.value(section, table, name) {
            facts.insert(name.to_owned(), value.to_owned());
        }
    }
    facts
}

/// Whether a directory contains tables or blobs.
pub(super) fn has_tables(place: &Path) -> bool {
    let mut entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name();
        is_table(&name.to_string_lossy())
    })
}

/// Adds every file below a directory. Files that vanish in the meantime are left out.
pub(super) fn add_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add_files(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

/// The beginning of RocksDB's own log since it was opened, where it describes itself.
pub(super) fn head_of_log(place: &Path) -> io::Result<String> {
    const HEAD: u64 = 64 << 10;
    let mut head = Vec::new();
    let log = fs::File::open(place.join("LOG"))?;
    log.take(HEAD).read_to_end(&mut head)?;
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The options file that RocksDB wrote when it last opened the database.
pub(super) fn newest_options(place: &Path) -> Option<PathBuf> {
    fs::read_dir(place)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number: u64 = name.strip_prefix("OPTIONS-")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .max()
        .map(|(_, path)| path)
}
