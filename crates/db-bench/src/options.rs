//! From flags to what the `rocksdb` driver opens: RocksDB's own options format, and the other
//! settings.

use super::flags::{Flags, OPTIONS, OptionRow, OptionSection};
use anyhow::{Context, anyhow, bail, ensure};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};
use tailmark_driver::{
    Error, INPUT_BYTES_MAX,
    db::{KnownOptions, NewestOptions, is_kept, options_for},
    read_text,
};

/// Words that RocksDB's options format has for db_bench's numbers and names.
const WORDS: &[(&str, &[(&str, &str)])] = &[
    ("blob_compression_type", COMPRESSIONS),
    (
        "checksum_type",
        &[
            ("0", "kNoChecksum"),
            ("1", "kCRC32c"),
            ("2", "kxxHash"),
            ("3", "kxxHash64"),
            ("4", "kXXH3"),
        ],
    ),
    (
        "compaction_pri",
        &[
            ("0", "kByCompensatedSize"),
            ("1", "kOldestLargestSeqFirst"),
            ("2", "kOldestSmallestSeqFirst"),
            ("3", "kMinOverlappingRatio"),
            ("4", "kRoundRobin"),
        ],
    ),
    (
        "compaction_style",
        &[
            ("0", "kCompactionStyleLevel"),
            ("1", "kCompactionStyleUniversal"),
            ("2", "kCompactionStyleFIFO"),
            ("3", "kCompactionStyleNone"),
        ],
    ),
    ("compression_type", COMPRESSIONS),
    (
        "index_shortening_mode",
        &[
            ("0", "kNoShortening"),
            ("1", "kShortenSeparators"),
            ("2", "kShortenSeparatorsAndSuccessor"),
        ],
    ),
    (
        "prepopulate_block_cache",
        &[("0", "kDisable"), ("1", "kFlushOnly")],
    ),
    (
        "use_data_block_hash_index",
        &[
            ("false", "kDataBlockBinarySearch"),
            ("true", "kDataBlockBinaryAndHash"),
        ],
    ),
];

const COMPRESSIONS: &[(&str, &str)] = &[
    ("bzip2", "kBZip2Compression"),
    ("lz4", "kLZ4Compression"),
    ("lz4hc", "kLZ4HCCompression"),
    ("none", "kNoCompression"),
    ("snappy", "kSnappyCompression"),
    ("zlib", "kZlibCompression"),
    ("zstd", "kZSTD"),
];

/// The settings of the `rocksdb` driver for the database in `place`; the options are written into
/// `directory`.
///
/// # Errors
/// Names a flag whose value RocksDB has no word for, or a library that is missing.
pub fn settings(
    flags: &Flags,
    place: &Path,
    directory: &Path,
) -> anyhow::Result<BTreeMap<String, String>> {
    let given = flags.text("options_file");
    let library = Some(flags.text("library")).filter(|library| !library.is_empty());
    let path = if given.is_empty() {
        let path = directory.join("OPTIONS");
        let newest = NewestOptions::read(place).ok().flatten();
        let is_others = newest.is_some_and(|newest| !newest.is_tailmarks);
        let keeps = is_others && flags.flag("use_existing_db");
        let known = options_for(library.unwrap_or("embedded"), &text(flags, keeps)?);
        let known = known.map_err(|error| in_flags(flags, error))?;
        refuse_unknown(flags, &known)?;
        fs::write(&path, known.text)
            .with_context(|| format!("failed to write `{}`", path.display()))?;
        path
    } else {
        let failed = || format!("failed to read --options_file `{given}`");
        read_text(Path::new(given), INPUT_BYTES_MAX).with_context(failed)?;
        given.into()
    };
    let cache_kind = match flags.text("cache_type") {
        "lru_cache" => "lru",
        "hyper_clock_cache" | "auto_hyper_clock_cache" => "hyper_clock",
        other => bail!("--cache_type is `{other}`, but it must be hyper_clock_cache or lru_cache"),
    };
    let cache = flags.number::<i64>("cache_size")?.max(0).to_string();
    let rate = flags.text("rate_limiter_bytes_per_sec");
    let mut settings: BTreeMap<&str, &str> = [
        (
            "options_file",
            path.to_str()
                .context("the path of the temporary directory is not UTF-8")?,
        ),
        ("layout", "raw"),
        ("block_cache", &cache),
        ("cache_kind", cache_kind),
        ("background_rate", rate),
        ("async_io", flags.text("async_io")),
        ("sync", flags.text("sync")),
        ("disable_wal", flags.text("disable_wal")),
        ("statistics", flags.text("statistics")),
    ]
    .into();
    if let Some(library) = library {
        settings.insert("library", library);
        // Older versions have no other.
        if !flags.given().any(|(name, _)| name == "cache_type") {
            settings.insert("cache_kind", "lru");
        }
    }
    if !flags.text("wal_dir").is_empty() {
        settings.insert("wal_dir", flags.text("wal_dir"));
    }
    // A database that is there keeps its table format unless these are asked for.
    for (name, _) in flags.given().filter(|_| given.is_empty()) {
        match name {
            "checksum_type" => settings.insert("checksum", checksum(flags)?),
            "format_version" => settings.insert("format_version", flags.text(name)),
            _ => None,
        };
    }
    Ok(settings
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// Refuses a given flag whose option the version of RocksDB does not take.
fn refuse_unknown(flags: &Flags, known: &KnownOptions) -> anyhow::Result<()> {
    for (key, why) in &known.left_out {
        let rows = OPTIONS.iter().filter(|row| row.key == key);
        let together = TOGETHER.iter().filter(|(option, _)| option == key);
        let mut names = rows
            .map(|row| row.name)
            .chain(together.flat_map(|(_, names)| names.iter().copied()));
        let given = names.find_map(|name| flags.given().find(|(given, _)| *given == name));
        if let Some((name, value)) = given {
            bail!(
                "--{name} is `{value}`, which RocksDB {} does not take ({why}): give another value, or \
                 leave the flag out",
                known.version
            );
        }
    }
    Ok(())
}

/// The flag that a setting of the driver comes from, if it is called otherwise.
const FLAG_OF_SETTING: &[(&str, &str)] = &[
    ("background_rate", "rate_limiter_bytes_per_sec"),
    ("block_cache", "cache_size"),
    ("cache_kind", "cache_type"),
    ("checksum", "checksum_type"),
];

/// An error of the driver about a setting, with the flag in its place.
pub fn in_flags(flags: &Flags, error: Error) -> anyhow::Error {
    let Error::BadSetting { name, accepted, .. } = error else {
        return error.into();
    };
    let renamed = FLAG_OF_SETTING.iter().find(|(setting, _)| *setting == name);
    let flag = renamed.map_or(&*name, |(_, flag)| flag);
    match flags.text(flag) {
        // The file is written from the flags.
        "" if flag == "options_file" => anyhow!(
            "RocksDB does not take the options that these flags make: {}",
            accepted
                .rsplit_once(" (")
                .map_or(&*accepted, |(_, why)| why.trim_end_matches(')'))
        ),
        value => anyhow!("--{flag} is `{value}`, but it must be {accepted}"),
    }
}

/// The driver's word for a checksum.
fn checksum(flags: &Flags) -> anyhow::Result<&'static str> {
    const CHECKSUMS: [&str; 5] = ["none", "crc32c", "xxhash", "xxhash64", "xxh3"];
    let number: usize = flags.number("checksum_type")?;
    CHECKSUMS.get(number).copied().with_context(|| {
        format!("--checksum_type is {number}, but it must be one of 0, 1, 2, 3, 4")
    })
}

/// RocksDB's options format; without what another program's database `keeps`, unless it was given.
fn text(flags: &Flags, keeps: bool) -> anyhow::Result<String> {
    let is_given = |row: &OptionRow| flags.given().any(|(name, _)| name == row.name);
    let mut text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n".to_owned();
    for (section, header) in [
        (OptionSection::Database, "[DBOptions]"),
        (OptionSection::Family, "[CFOptions \"default\"]"),
        (
            OptionSection::Table,
            "[TableOptions/BlockBasedTable \"default\"]",
        ),
    ] {
        writeln!(text, "{header}")?;
        let rows = OPTIONS.iter().filter(|row| row.section == section);
        let is_default = |row: &OptionRow| match row.name {
            // Another version of RocksDB has its own.
            "format_version" if !flags.text("library").is_empty() => false,
            _ => !keeps || !is_kept(row.key),
        };
        for row in rows.filter(|row| is_default(row) || is_given(row)) {
            if let Some(value) = value(flags, row.name)? {
                writeln!(text, "{}={value}", row.key)?;
            }
        }
        if section == OptionSection::Family {
            extra(flags, keeps, &mut text)?;
        }
    }
    Ok(text)
}

/// The value of an option; `None` if RocksDB's default applies.
fn value(flags: &Flags, name: &str) -> anyhow::Result<Option<String>> {
    let text = flags.text(name);
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == name) {
        let lower = text.to_ascii_lowercase();
        let word = words.iter().find(|(flag, _)| *flag == lower);
        let known = || {
            words
                .iter()
                .map(|(flag, _)| *flag)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (_, word) = word
            .with_context(|| format!("--{name} is `{text}`, but it must be one of {}", known()))?;
        return Ok(Some((*word).to_owned()));
    }
    Ok(match (name, text) {
        ("bloom_bits", bits) if bits.starts_with('-') => None,
        ("bloom_bits", bits) => Some(format!("bloomfilter:{bits}:false")),
        ("prefix_size", "0") => None,
        ("prefix_size", bytes) => Some(format!("rocksdb.FixedPrefix.{bytes}")),
        _ => Some(text.to_owned()),
    })
}

/// Options of the column family that several flags make together.
fn extra(flags: &Flags, keeps: bool, text: &mut String) -> anyhow::Result<()> {
    let min_level: i64 = flags.number("min_level_to_compress")?;
    if min_level >= 0 {
        let levels: i64 = flags.number("num_levels")?;
        ensure!(
            (1..=64).contains(&levels),
            "--num_levels must be from 1 to 64"
        );
        let compression = value(flags, "compression_type")?.unwrap_or_default();
        let of_level = |level| {
            if level < min_level {
                "kNoCompression"
            } else {
                &compression
            }
        };
        let all: Vec<_> = (0..levels).map(of_level).collect();
        writeln!(text, "compression_per_level={}", all.join(":"))?;
    }
    writeln!(
        text,
        "compression_opts={{level={};max_dict_bytes={}}}",
        flags.text("compression_level"),
        flags.text("compression_max_dict_bytes")
    )?;
    // 0 and -1 stand for RocksDB's own value.
    let universal: Vec<_> = UNIVERSAL
        .iter()
        .filter(|flag| !matches!(flags.text(flag), "0" | "-1" | "false"))
        .map(|flag| {
            let key = flag.trim_start_matches("universal_");
            format!("{key}={}", flags.text(flag))
        })
        .collect();
    if !universal.is_empty() {
        writeln!(
            text,
            "compaction_options_universal={{{}}}",
            universal.join(";")
        )?;
    }
    let is_given = flags.given().any(|(name, _)| FIFO.contains(&name));
    if is_given || !keeps {
        let [size, merges] = FIFO;
        writeln!(
            text,
            "compaction_options_fifo={{max_table_files_size={};allow_compaction={}}}",
            flags.number::<u64>(size)?.saturating_mul(1 << 20),
            flags.text(merges)
        )?;
    }
    Ok(())
}

/// Options that several flags make together, and these flags.
const TOGETHER: &[(&str, &[&str])] = &[
    ("compaction_options_fifo", &FIFO),
    ("compaction_options_universal", UNIVERSAL),
    (
        "compression_opts",
        &["compression_level", "compression_max_dict_bytes"],
    ),
    ("compression_per_level", &["min_level_to_compress"]),
];

/// The limits of universal compaction.
const UNIVERSAL: &[&str] = &[
    "universal_size_ratio",
    "universal_min_merge_width",
    "universal_max_merge_width",
    "universal_max_size_amplification_percent",
    "universal_compression_size_percent",
    "universal_allow_trivial_move",
];

/// The limits of FIFO compaction. As in db_bench, a database without a size keeps no table.
const FIFO: [&str; 2] = [
    "fifo_compaction_max_table_files_size_mb",
    "fifo_compaction_allow_compaction",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Flags {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&words).unwrap()
    }

    #[test]
    fn every_word_belongs_to_an_option() {
        for (name, words) in WORDS {
            let row = OPTIONS.iter().find(|row| row.name == *name);
            let default = row.unwrap_or_else(|| panic!("{name}")).default;
            assert!(words.iter().any(|(flag, _)| *flag == default), "{name}");
        }
    }

    #[test]
    fn flags_become_lines() {
        let flags = flags(
            "--bloom_bits=10 --compaction_style=1 --min_level_to_compress=2 --num_levels=3 \
             --prefix_size=4",
        );
        let text = text(&flags, false).unwrap();
        for line in [
            "filter_policy=bloomfilter:10:false",
            "compaction_style=kCompactionStyleUniversal",
            "compression_per_level=kNoCompression:kNoCompression:kSnappyCompression",
            "prefix_extractor=rocksdb.FixedPrefix.4",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn what_another_programs_database_keeps_is_a_line_only_where_it_is_given() {
        let lines = |line: &str, keeps| text(&flags(line), keeps).unwrap();
        let kept = lines("--num_levels=3", true);
        assert!(kept.contains("\nnum_levels=3\n"), "{kept}");
        for name in [
            "compaction_style",
            "ttl",
            "WAL_ttl_seconds",
            "wal_recovery_mode",
        ] {
            assert!(!kept.contains(&format!("\n{name}=")), "{name} in {kept}");
        }
        let own = lines("--num_levels=3", false);
        assert!(own.contains("\ncompaction_style=") && own.contains("\nWAL_ttl_seconds=0\n"));
        let limits = |size: u64| {
            format!(
                "\ncompaction_options_fifo={{max_table_files_size={size};allow_compaction=true}}\n"
            )
        };
        assert!(own.contains(&limits(0)), "{own}");
        let fifo = "--fifo_compaction_max_table_files_size_mb=8192";
        assert!(lines(fifo, true).contains(&limits(8 << 30)));
        assert!(!kept.contains("compaction_options_fifo"), "{kept}");
    }

    #[test]
    fn a_number_without_a_meaning_is_refused() {
        let error = text(&flags("--checksum_type=9"), false)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--checksum_type is `9`, but it must be one of 0, 1, 2, 3, 4"));
    }
}
