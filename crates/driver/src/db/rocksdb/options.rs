//! The settings of RocksDB, and how they become options.
//!
//! There is only one way: a base in RocksDB's own options format (YCSB's, or the file in
//! `options_file`), the settings laid over it line by line, and RocksDB's own parser, which rejects
//! what it does not know. So a setting is a row of a table, and a production options file works as
//! it is. Without an options file every setting takes effect. Over an options file only the given
//! settings do, and the table format if the file has none. The table format of an existing database
//! overrides everything except a given setting.

use super::{
    capi::Options,
    ini::{Ini, OptionsSection},
    kept::{Existing, FORMAT, IDENTIFIED},
    known::is_known,
    library::{self, Library},
    newest_options::{MAKER, maker},
};
use crate::{INPUT_BYTES_MAX, Setting, SettingKind, Settings, read_text};
use std::path::Path;

/// A setting and its options.
struct Row {
    setting: Setting,
    effect: Effect,
}

/// The effect of a setting.
enum Effect {
    /// Lines of a section of the options, with `{}` for the value.
    Lines(OptionsSection, &'static [&'static str]),
    /// The same, chosen by the word of the value.
    Words(
        OptionsSection,
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    ),
    /// Something other than a line; see where the setting is read.
    Other,
}

const COMPRESSIONS: &[(&str, &str)] = &[
    ("bzip2", "kBZip2Compression"),
    ("lz4", "kLZ4Compression"),
    ("lz4hc", "kLZ4HCCompression"),
    ("none", "kNoCompression"),
    ("snappy", "kSnappyCompression"),
    ("zlib", "kZlibCompression"),
    ("zstd", "kZSTD"),
];

const CHECKSUMS: &[(&str, &str)] = &[
    ("crc32c", "kCRC32c"),
    ("none", "kNoChecksum"),
    ("xxh3", "kXXH3"),
    ("xxhash", "kxxHash"),
    ("xxhash64", "kxxHash64"),
];

const FLAG: SettingKind = SettingKind::Flag;

/// Defaults are RocksDB's own, except those that YCSB's binding changes: background jobs,
/// compression and write buffer.
const ROWS: &[Row] = &[
    row(
        "async_io",
        "io_uring: a request for several records reads their blocks at once, and a scan reads ahead \
         while the client works",
        FLAG,
        "false",
        Effect::Other,
    ),
    row(
        "background_jobs",
        "threads for flushes and compactions; default: 2 x CPUs for compactions, as YCSB does",
        SettingKind::Integer { min: 1, max: 1024 },
        "",
        Effect::Lines(
            OptionsSection::Database,
            &[
                "max_background_jobs={}",
                "max_background_compactions=-1",
                "max_background_flushes=-1",
            ],
        ),
    ),
    row(
        "background_rate",
        "bytes per second that flushes and compactions may write; 0: no limit",
        SettingKind::Bytes { scales: false },
        "0",
        Effect::Other,
    ),
    row(
        "block_cache",
        "cache of uncompressed blocks, also with an options file; 0: none",
        SettingKind::Bytes { scales: true },
        "32MiB",
        Effect::Other,
    ),
    row(
        "block_size",
        "bytes per block before compression; default: RocksDB's 4 KiB",
        SettingKind::Bytes { scales: false },
        "",
        Effect::Lines(OptionsSection::Table, &["block_size={}"]),
    ),
    row(
        "bloom_bits",
        "Bloom filter bits per key; 0: no filter",
        SettingKind::Number {
            min: 0.0,
            max: 100.0,
        },
        "0",
        Effect::Lines(
            OptionsSection::Table,
            &["filter_policy=bloomfilter:{}:false"],
        ),
    ),
    row(
        "cache_kind",
        "how the block cache chooses what to drop, also with an options file",
        SettingKind::Choice(&["hyper_clock", "lru"]),
        "lru",
        Effect::Other,
    ),
    row(
        "checksum",
        "checksum of a block; by default, an existing database or a library keeps its own",
        SettingKind::Choice(&["crc32c", "none", "xxh3", "xxhash", "xxhash64"]),
        "xxh3",
        Effect::Words(OptionsSection::Table, &["checksum={}"], CHECKSUMS),
    ),
    row(
        "compression",
        "compression of all levels; default: none in levels 0 and 1 and lz4 below, as YCSB does",
        SettingKind::Choice(&["bzip2", "lz4", "lz4hc", "none", "snappy", "zlib", "zstd"]),
        "",
        Effect::Words(
            OptionsSection::Family,
            &[
                "compression={}",
                "compression_per_level={}",
                "bottommost_compression=kDisableCompressionOption",
            ],
            COMPRESSIONS,
        ),
    ),
    row(
        "direct_flush_compaction",
        "O_DIRECT for flushes and compactions",
        FLAG,
        "false",
        Effect::Lines(
            OptionsSection::Database,
            &["use_direct_io_for_flush_and_compaction={}"],
        ),
    ),
    row(
        "direct_reads",
        "O_DIRECT for reads: bypasses the page cache",
        FLAG,
        "false",
        Effect::Lines(OptionsSection::Database, &["use_direct_reads={}"]),
    ),
    row(
        "disable_wal",
        "no write-ahead log: writes since the last flush are lost in a crash",
        FLAG,
        "false",
        Effect::Other,
    ),
    row(
        "format_version",
        "version of the table format; by default, an existing database or a library keeps its own",
        SettingKind::Integer { min: 2, max: 7 },
        "7",
        Effect::Lines(OptionsSection::Table, &["format_version={}"]),
    ),
    row(
        "layout",
        "how a record is stored: as YCSB's binding does, or raw (only key and value, and the same \
         level sizes) as db_bench does",
        SettingKind::Choice(&["raw", "ycsb"]),
        "ycsb",
        Effect::Other,
    ),
    row(
        library::SETTING,
        "another RocksDB than the embedded one: a version that `tailmark rocksdb fetch` got, or \
         the path of a library or jar; `8.1.1 or embedded` if it may be missing",
        SettingKind::Text,
        library::EMBEDDED,
        Effect::Other,
    ),
    row(
        "max_open_files",
        "table files kept open; -1: all",
        SettingKind::Integer {
            min: -1,
            max: i32::MAX as i64,
        },
        "-1",
        Effect::Lines(OptionsSection::Database, &["max_open_files={}"]),
    ),
    row(
        "options_file",
        "an options file of RocksDB; other settings override it",
        SettingKind::File,
        "",
        Effect::Other,
    ),
    row(
        "statistics",
        "records RocksDB's own counters for each point; costs a few percent",
        FLAG,
        "false",
        Effect::Other,
    ),
    row(
        "sync",
        "each write waits until the write-ahead log is on the device",
        FLAG,
        "false",
        Effect::Other,
    ),
    row(
        "wal_dir",
        "directory of the write-ahead log, if not the database's own",
        SettingKind::Directory,
        "",
        Effect::Other,
    ),
    row(
        "write_buffer",
        "size of a memtable; it also sets the sizes of files and levels",
        SettingKind::Bytes { scales: true },
        "128MiB",
        Effect::Lines(OptionsSection::Family, &["write_buffer_size={}"]),
    ),
];

/// The settings of the driver's row.
pub(super) const SETTINGS: &[Setting] = &settings();

/// The settings that shape the files of a load.
pub(super) const STORED: &[&str] = &[
    "block_size",
    "bloom_bits",
    "checksum",
    "compression",
    "format_version",
    "layout",
    library::SETTING,
    "options_file",
    "wal_dir",
    "write_buffer",
];

const fn row(
    name: &'static str,
    about: &'static str,
    kind: SettingKind,
    default: &'static str,
    effect: Effect,
) -> Row {
    let setting = Setting {
        name,
        about,
        kind,
        default,
    };
    Row { setting, effect }
}

const fn settings() -> [Setting; ROWS.len()] {
    let mut settings = [ROWS[0].setting; ROWS.len()];
    let mut i = 0;
    while i < ROWS.len() {
        settings[i] = ROWS[i].setting;
        i += 1;
    }
    settings
}

/// Makes the text of the options from checked settings for a table of this name, and for the
/// existing database, if there is one.
///
/// # Errors
/// If the options file cannot be read.
pub(super) fn text(
    library: &Library,
    settings: &Settings,
    table: &str,
    existing: Option<&Existing<'_>>,
) -> Result<Ini, String> {
    let base = match settings.text("options_file") {
        Some(path) => read_text(Path::new(path), INPUT_BYTES_MAX)
            .map_err(|e| format!("failed to read options_file `{path}`: {e}"))?,
        None => base(settings),
    };
    let mut ini = Ini::parse(&base);
    ini.add_family(table);
    lay_over(settings, &mut ini, table);
    let given = ini.clone();
    match existing {
        Some(existing) => existing.keep(settings, &mut ini, table),
        None => {
            let line = format!("{MAKER}={}", maker(&library.version));
            ini.set(OptionsSection::Database, "", &line);
            // It identifies the database, regardless of an options file of an older version.
            ini.set(OptionsSection::Database, "", &format!("{IDENTIFIED}=true"));
        }
    }
    // Options that are kept, or are tailmark's own, are not those of every version.
    if !library.is_embedded() {
        let defaults = Options::new(library.functions);
        ini.retain(|section, line| given.has_line(line) || is_known(&defaults, section, line));
    }
    Ok(ini)
}

/// The lines that a given setting sets, with their sections.
pub(super) fn given_lines(settings: &Settings) -> Vec<(&'static str, OptionsSection, String)> {
    let mut lines = Vec::new();
    for row in ROWS.iter().filter(|row| settings.given(row.setting.name)) {
        let name = row.setting.name;
        let value = settings.text(name).unwrap_or_default();
        for (section, line) in row.effect.lines(name, value) {
            lines.push((name, section, line));
        }
    }
    lines
}

/// Whether records are stored raw.
pub(super) fn is_raw(settings: &Settings) -> bool {
    settings.text("layout") == Some("raw")
}

/// Bytes of the block cache.
pub(super) fn block_cache(settings: &Settings) -> u64 {
    settings.integer("block_cache").unwrap_or(0)
}

/// Bytes of one memtable. An options file may set another size.
pub(super) fn write_buffer(settings: &Settings) -> u64 {
    settings.integer("write_buffer").unwrap_or(128 << 20)
}

/// Whether reads go through the page cache.
pub(super) fn page_cache(settings: &Settings) -> bool {
    let from_file = !settings.given("direct_reads");
    match settings.text("options_file").filter(|_| from_file) {
        Some(path) => {
            let text = read_text(Path::new(path), INPUT_BYTES_MAX).unwrap_or_default();
            let ini = Ini::parse(&text);
            ini.value(OptionsSection::Database, "", "use_direct_reads") != Some("true")
        }
        None => !settings.flag("direct_reads"),
    }
}

/// YCSB's base: the result of `optimizeLevelStyleCompaction` for a memory budget of four write
/// buffers (RocksDB, options/options.cc), and twice as many compactions as CPUs. For raw records
/// the tree is db_bench's: compaction from four files in level 0 on, two write buffers, and with a
/// buffer of 128 MiB a first level of 256 MiB and files of 64 MiB. Both sizes scale with the
/// buffer. Files are never smaller than 2 MiB, so that a scaled-down data set does not consist of
/// thousands of them.
fn base(settings: &Settings) -> String {
    let buffer = write_buffer(settings);
    let (trigger, buffers, merged, level) = if is_raw(settings) {
        (4, 2, 1, 2 * buffer)
    } else {
        (2, 6, 2, 4 * buffer)
    };
    let jobs = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "[Version]\n\
         rocksdb_version=11.0.0\n\
         options_file_version=1.1\n\
         [DBOptions]\n\
         max_background_jobs={jobs}\n\
         max_background_compactions={jobs}\n\
         [CFOptions \"default\"]\n\
         compaction_style=kCompactionStyleLevel\n\
         compression_per_level=kNoCompression:kNoCompression:kLZ4Compression\n\
         level0_file_num_compaction_trigger={trigger}\n\
         max_bytes_for_level_base={level}\n\
         max_write_buffer_number={buffers}\n\
         min_write_buffer_number_to_merge={merged}\n\
         target_file_size_base={file}\n\
         [TableOptions/BlockBasedTable \"default\"]\n",
        level = level.max(8 << 20),
        file = (buffer / 2).max(2 << 20),
    )
}

/// Sets the options of the settings.
fn lay_over(settings: &Settings, ini: &mut Ini, table: &str) {
    let over_file = settings.text("options_file").is_some();
    for row in ROWS {
        let name = row.setting.name;
        let Some(value) = settings.text(name) else {
            continue;
        };
        let is_format = FORMAT.contains(&name);
        let is_left = is_format && ini.value(OptionsSection::Table, table, name).is_none();
        if over_file && !is_left && !settings.given(name) {
            continue;
        }
        for (section, line) in row.effect.lines(name, value) {
            ini.set(section, table, &line);
        }
    }
    if block_cache(settings) == 0 {
        ini.set(OptionsSection::Table, table, "no_block_cache=true");
    }
}

impl Effect {
    /// The lines of a value, each with its section.
    fn lines(&self, name: &str, value: &str) -> Vec<(OptionsSection, String)> {
        let (section, lines, value) = match *self {
            Self::Lines(section, _) if name == "bloom_bits" && value == "0" => {
                return vec![(section, "filter_policy=nullptr".to_owned())];
            }
            Self::Lines(section, lines) => (section, lines, value),
            Self::Words(section, lines, words) => {
                let word = words.iter().find(|(word, _)| *word == value);
                (section, lines, word.map_or(value, |(_, option)| option))
            }
            Self::Other => return Vec::new(),
        };
        let lines = lines.iter().map(|line| line.replace("{}", value));
        lines.map(|line| (section, line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_its_option() {
        for row in ROWS {
            if let (SettingKind::Choice(choices), Effect::Words(_, _, words)) =
                (row.setting.kind, &row.effect)
            {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                assert_eq!(known, choices, "{}", row.setting.name);
            }
        }
    }
}
