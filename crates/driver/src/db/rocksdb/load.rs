//! Options as RocksDB reads them, made from text.
//!
//! RocksDB 7 and later read a whole options file. Older versions have only a function that reads
//! the options of one column family, `name=value;...`.

use super::{
    RAW_TABLE,
    capi::{Cache, Db, Options, WithFamilies, load_latest},
    ini::{Ini, OptionsSection},
    kept::{Existing, FORMAT},
    known::{is_known, parse},
    library::Library,
    options,
};
use crate::{Error, Settings};
use std::{fs, os::unix::fs::PermissionsExt};

/// Values of options that name an object which every version has by default. Versions before 7
/// write them down but do not read them.
const DEFAULT_OBJECTS: &[&str] = &[
    "",
    "nullptr",
    "BlockBasedTable",
    "FlushBlockBySizePolicyFactory",
    "SkipListFactory",
    "leveldb.BytewiseComparator",
];

/// The options for opening a database.
pub(super) struct Loaded {
    /// Options of the database.
    pub(super) database: Options,
    /// Options of each column family, including the table's.
    pub(super) families: Vec<(String, Options)>,
    /// The text of the options.
    pub(super) ini: Ini,
}

/// Makes options from checked settings for a table of this name, and for the existing database, if
/// there is one.
///
/// # Errors
/// An error of RocksDB's parser or the file system.
pub(super) fn load(
    library: &'static Library,
    settings: &Settings,
    table: &str,
    existing: Option<&Existing<'_>>,
) -> Result<Loaded, String> {
    let ini = options::text(library, settings, table, existing)?;
    let (mut database, families) = match by_file(library, settings, &ini)? {
        Some(loaded) => loaded,
        None => by_text(library, settings, &ini, table)?,
    };
    // RocksDB purges each of its directories. However a file names one, these are the settings' own,
    // and empty is the directory of the database.
    database.set_directories(settings.text("wal_dir").unwrap_or(""));
    if settings.flag("statistics") {
        database.enable_statistics();
    }
    match settings.integer("background_rate") {
        None | Some(0) => {}
        Some(bytes) => database.limit_background(bytes),
    }
    Ok(Loaded {
        database,
        families,
        ini,
    })
}

/// By RocksDB's parser of options files; `None` if the version has none.
fn by_file(
    library: &'static Library,
    settings: &Settings,
    ini: &Ini,
) -> Result<Option<WithFamilies>, String> {
    // The C API reads the options of a database's directory only, so the text becomes one.
    let directory = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|e| e.to_string())?;
    fs::write(directory.path().join("OPTIONS-000001"), ini.to_string())
        .map_err(|e| e.to_string())?;
    load_latest(
        library.functions,
        directory.path(),
        &cache(library, settings),
    )
    .transpose()
}

fn cache(library: &'static Library, settings: &Settings) -> Cache {
    let bytes = options::block_cache(settings) as usize;
    let is_hyper_clock = settings.text("cache_kind") == Some("hyper_clock");
    // A clock cache of no bytes ends the process.
    (is_hyper_clock && bytes > 0)
        .then(|| Cache::hyper_clock(library.functions, bytes))
        .flatten()
        .unwrap_or_else(|| Cache::lru(library.functions, bytes))
}

/// By RocksDB's parser of options in a text, family by family.
fn by_text(
    library: &'static Library,
    settings: &Settings,
    ini: &Ini,
    table: &str,
) -> Result<WithFamilies, String> {
    let defaults = Options::new(library.functions);
    let joined = |section, family: &str| {
        let lines = ini.lines(section, family).iter();
        let lines = lines.filter(|line| !is_default_object(&defaults, section, line));
        lines.map(|line| format!("{line};")).collect::<String>()
    };
    let of_database = joined(OptionsSection::Database, "");
    let of_family = |family: &str| {
        let mut tables = joined(OptionsSection::Table, family);
        let bytes = options::block_cache(settings);
        if family == table && bytes > 0 {
            tables += &format!("block_cache={bytes};");
        }
        format!(
            "{}block_based_table_factory={{{tables}}};",
            joined(OptionsSection::Family, family)
        )
    };
    let database = defaults.with(&of_database)?;
    let families = ini.families().into_iter().map(|family| {
        let options = defaults.with(&of_family(&family))?;
        Ok((family, options))
    });
    Ok((database, families.collect::<Result<_, String>>()?))
}

/// Whether a line names an object that is the default anyway, which the version does not read.
fn is_default_object(defaults: &Options, section: OptionsSection, line: &str) -> bool {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim());
    // The directories are set by functions.
    line.starts_with("wal_dir=")
        || line.starts_with("db_log_dir=")
        || DEFAULT_OBJECTS.contains(&value) && !is_known(defaults, section, line)
}

/// Refuses given settings that the version of a loaded library does not know.
///
/// # Errors
/// Names the setting and the version.
pub(super) fn refuse_unknown(library: &Library, settings: &Settings) -> Result<(), Error> {
    let refused = |name: &str, accepted: String| Error::BadSetting {
        name: name.to_owned(),
        value: settings.text(name).unwrap_or_default().to_owned(),
        accepted,
    };
    if library.is_embedded() {
        return Ok(());
    }
    let version = &library.version;
    if settings.flag("async_io") {
        // RocksDB asks the program for io_uring by a name that no loaded library finds.
        let accepted = format!("false with the loaded RocksDB {version}");
        return Err(refused("async_io", accepted));
    }
    for (name, section, line) in options::given_lines(settings) {
        let parsed = parse(&Options::new(library.functions), section, &line);
        let used = parsed.and_then(|options| {
            // The parser takes formats that only opening a database refuses.
            if name != "compression" && !FORMAT.contains(&name) {
                return Ok(());
            }
            let families = vec![(RAW_TABLE.to_owned(), options)];
            Db::try_in_memory(Options::new(library.functions), families, RAW_TABLE)
        });
        used.map_err(|why| {
            refused(
                name,
                format!("a value that RocksDB {version} knows ({why})"),
            )
        })?;
    }
    let is_hyper_clock = settings.text("cache_kind") == Some("hyper_clock");
    if is_hyper_clock && Cache::hyper_clock(library.functions, 1 << 20).is_none() {
        let accepted = format!("left out: RocksDB {version} has no such cache");
        return Err(refused("cache_kind", accepted));
    }
    Ok(())
}
