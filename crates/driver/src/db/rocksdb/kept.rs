//! Options that an existing database keeps, such as the table format and the checksum of its
//! families.
//!
//! RocksDB writes with the options of the current opening, and older versions cannot read newer
//! formats. So a database of another program keeps its formats, and that program can still read it.

use super::{
    NAME,
    capi::list_families,
    expiring::{self, TTL, fifo_ttl},
    facts,
    ini::{Ini, OptionsSection},
    library::Library,
    newer,
    newest_options::{MAKER, is_tailmarks, maker},
    wal::LogDirectory,
};
use crate::{Access, Error, INPUT_BYTES_MAX, Params, Settings, error::BoxError, read_text};
use std::path::Path;

/// The settings that decide who can read a table file. RocksDB's options have the same names.
pub(super) const FORMAT: &[&str] = &["checksum", "format_version"];

/// Whether the manifest has the identity of the database.
pub(super) const IDENTIFIED: &str = "write_dbid_to_manifest";

/// Options that another program relies on. The shape of the tree: a program that sets its own
/// cannot open a database with more levels. How long records are kept: with other limits RocksDB
/// removes them. How tables are compressed: not every program can read every kind.
const SHAPE: &[&str] = &[
    "compression",
    "compression_per_level",
    "bottommost_compression",
    "blob_compression_type",
    "compaction_style",
    "num_levels",
    "level_compaction_dynamic_level_bytes",
    "ttl",
    "periodic_compaction_seconds",
    "compaction_options_fifo",
    "compaction_options_universal",
    "enable_blob_files",
    "min_blob_size",
    "disable_auto_compactions",
    "cf_allow_ingest_behind",
    "preclude_last_level_data_seconds",
    "preserve_internal_time_seconds",
];

/// The options of the setting `compression`.
const COMPRESSION: &[&str] = &[
    "compression",
    "compression_per_level",
    "bottommost_compression",
];

/// The same for the whole database: how long its logs are kept, how they are compressed, and what
/// happens if one is damaged. RocksDB forbids turning `allow_ingest_behind` off again.
const LOGS: &[&str] = &[
    "wal_compression",
    "keep_log_file_num",
    "log_file_time_to_roll",
    "max_log_file_size",
    "wal_recovery_mode",
    "WAL_ttl_seconds",
    "WAL_size_limit_MB",
    "allow_ingest_behind",
    "atomic_flush",
];

/// Options that are never turned on for another program's database, whatever an options file says:
/// a family of RocksDB's own in its newest format, and a recovery that discards the log.
const OFF: &[&str] = &["persist_stats_to_disk", "best_efforts_recovery"];
/// The same for its tables, which older versions could not read.
const OFF_IN_TABLES: &str = "separate_key_value_in_data_block";
/// An option that stays on if another program turned it on, whatever an options file says. Without
/// it RocksDB removes logs that two-phase transactions still need.
const ON: &str = "allow_2pc";
/// The family in which RocksDB keeps its statistics on disk, in its newest format.
const STATISTICS: &str = "___rocksdb_stats_history___";

/// Features that a database must not have, except with this program's value, and what would be
/// lost.
const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "comparator",
        "leveldb.BytewiseComparator",
        "with another order, records are not found and RocksDB drops their timestamps",
    ),
    (
        "merge_operator",
        "nullptr",
        "without it, merged records cannot be read, and those in the log would be lost",
    ),
    (
        "table_factory",
        "BlockBasedTable",
        "its own program could not read tables in another format",
    ),
];

/// Whether another program's database keeps an option of this name, unless an options file sets it.
#[must_use]
pub fn is_kept(name: &str) -> bool {
    SHAPE.contains(&name) || LOGS.contains(&name)
}

/// The options file of these settings.
pub(super) fn options_file(settings: &Settings) -> Option<Ini> {
    let text = read_text(Path::new(settings.text("options_file")?), INPUT_BYTES_MAX);
    Some(Ini::parse(&text.ok()?))
}

/// Whether no record was ever written to a database.
pub(super) fn is_new(place: &Path) -> bool {
    !facts::has_tables(place) && !LogDirectory::has_records(place)
}

/// An existing database.
pub(super) struct Existing<'a> {
    /// Its directory.
    pub(super) place: &'a Path,
    /// The names of its column families.
    pub(super) families: Vec<String>,
    /// What will open it.
    library: &'static Library,
}

impl<'a> Existing<'a> {
    /// Examines the database in a directory, if there is one. All its column families must be
    /// opened together. A database without the table's family is refused before RocksDB recovers it
    /// and rewrites its files. If nothing was ever written to it, it may come from a killed load,
    /// and gets the family.
    pub(super) fn look(
        place: &'a Path,
        table: &str,
        params: &Params,
        library: &'static Library,
    ) -> Result<Self, Error> {
        let failed = |source: BoxError| Error::Open {
            driver: NAME,
            place: place.display().to_string(),
            source,
        };
        let families = list_families(library.functions, place)
            .map_err(|e| failed(newer::explained(place, &library.version, e).into()))?;
        match params.access {
            _ if families.iter().any(|family| family == table) => {}
            Access::Extend => {}
            Access::Create if is_new(place) => {}
            // A program must open, and so know, all column families.
            Access::Create => {
                return Err(Error::Upgrade {
                    driver: NAME,
                    place: place.display().to_string(),
                    writer: "another program".to_owned(),
                    change: format!("adds the column family `{table}`"),
                });
            }
            _ => {
                let why = format!(
                    "it has no column family `{table}`, only `{}`: another program made it; name \
                     the directory of a database that has this column family",
                    families.join("`, `")
                );
                return Err(failed(why.into()));
            }
        }
        let existing = Self {
            place,
            families,
            library,
        };
        existing.refuse_foreign(&params.settings, params.access)?;
        Ok(existing)
    }

    /// Refuses a database that has another order, a merge operator or another kind of tables in any
    /// family, unless an options file sets the same. Without its merge operator, RocksDB drops the
    /// log from the first merge on.
    fn refuse_foreign(&self, settings: &Settings, access: Access) -> Result<(), Error> {
        let theirs = self.newest_options();
        let reads = matches!(access, Access::Read | Access::ReadCompatible);
        let is_others = is_tailmarks(&theirs) != Some(true);
        let failed = |why: String| Error::Open {
            driver: NAME,
            place: self.place.display().to_string(),
            source: why.into(),
        };
        if is_others && !reads && self.families.iter().any(|family| family == STATISTICS) {
            let why = format!(
                "it has the column family `{STATISTICS}` (persist_stats_to_disk): RocksDB would \
                 write it in the newest format, and the program that created it could no longer \
                 open it; use a copy"
            );
            return Err(failed(why));
        }
        let given = options_file(settings);
        for family in self.families.iter().filter(|_| is_others && !reads) {
            if let Some(why) = expiring::reason(family, &theirs, given.as_ref()) {
                return Err(failed(why));
            }
        }
        for family in &self.families {
            for (name, own, lost) in FOREIGN {
                let value = theirs.value(OptionsSection::Family, family, name);
                let file = given.as_ref();
                let same = file.and_then(|file| file.value(OptionsSection::Family, family, name));
                let Some(value) = value.filter(|value| !["", own].contains(value)) else {
                    continue;
                };
                if same == Some(value) {
                    continue;
                }
                let why = format!(
                    "its column family `{family}` has the {name} `{value}`: {lost}; use another \
                     database, or a copy"
                );
                return Err(failed(why));
            }
        }
        Ok(())
    }

    /// The options that RocksDB wrote when it last opened the database.
    fn newest_options(&self) -> Ini {
        let newest = facts::newest_options(self.place);
        let text = newest.and_then(|path| read_text(&path, INPUT_BYTES_MAX).ok());
        Ini::parse(&text.unwrap_or_default())
    }

    /// Sets the options that the database and its families keep. For `table`, only those that were
    /// not given.
    pub(super) fn keep(&self, settings: &Settings, ini: &mut Ini, table: &str) {
        let theirs = self.newest_options();
        let kept = Kept {
            is_others: is_tailmarks(&theirs) != Some(true),
            theirs,
            file: options_file(settings),
            settings,
            table,
            version: &self.library.version,
        };
        kept.of_database(self.place, ini);
        let is_new = !self.families.iter().any(|family| family == table);
        let families = self.families.iter().map(String::as_str);
        for family in families.chain(is_new.then_some(table)) {
            // A new table is made like the first existing one, and so is a family without recorded
            // options.
            let is_unknown = !kept.theirs.has_family(family);
            let alike = if is_unknown || (is_new && family == table) {
                "default"
            } else {
                family
            };
            ini.add_empty_family(family);
            kept.of_family(family, alike, ini);
        }
    }
}

/// The options to keep from a database's newest options.
struct Kept<'a> {
    theirs: Ini,
    /// Whether another program wrote them.
    is_others: bool,
    /// The user's options file.
    file: Option<Ini>,
    settings: &'a Settings,
    table: &'a str,
    /// The version that opens the database.
    version: &'a str,
}

impl Kept<'_> {
    fn is_given(&self, section: OptionsSection, family: &str, name: &str) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.value(section, family, name).is_some())
    }

    fn of_database(&self, place: &Path, ini: &mut Ini) {
        let mut set = |name: &str, value: &str| {
            ini.set(OptionsSection::Database, "", &format!("{name}={value}"));
        };
        let theirs = |name| self.theirs.value(OptionsSection::Database, "", name);
        let own = maker(self.version);
        let maker = match theirs(MAKER) {
            _ if !self.is_others => &own,
            // A copy gets the name of the host, which is RocksDB's default.
            _ if is_tailmarks(&self.theirs) == Some(false) => "__hostname__",
            Some(maker) => maker,
            // Left by a creation that was killed.
            None if self.theirs.version().is_none() && is_new(place) => &own,
            None => "__hostname__",
        };
        set(MAKER, maker);
        if let Some(value) = theirs(IDENTIFIED) {
            set(IDENTIFIED, value);
        }
        if !self.is_others {
            return;
        }
        for name in OFF {
            set(name, "false");
        }
        if theirs(ON) == Some("true") {
            set(ON, "true");
        }
        for name in LOGS {
            let is_given = self.is_given(OptionsSection::Database, "", name);
            if let Some(value) = theirs(name).filter(|_| !is_given) {
                set(name, value);
            }
        }
    }

    /// Keeps the options of one family that are listed in `alike`.
    fn of_family(&self, family: &str, alike: &str, ini: &mut Ini) {
        // Families of other programs have no settings here.
        let is_nobodys = family != self.table && family != "default";
        let is_set = family == self.table && self.settings.given("compression");
        let is_kept = |name: &&&str| {
            let is_given = self.is_given(OptionsSection::Family, family, name)
                || (is_set && COMPRESSION.contains(name));
            is_nobodys || (self.is_others && !is_given)
        };
        for name in SHAPE.iter().filter(is_kept) {
            match self.theirs.value(OptionsSection::Family, alike, name) {
                Some(value) if !value.is_empty() => {
                    ini.set(OptionsSection::Family, family, &format!("{name}={value}"));
                }
                // RocksDB records no empty list, and an older version no later option.
                _ if self.theirs.has_family(alike) => {
                    ini.remove(OptionsSection::Family, family, name);
                }
                _ => {}
            }
        }
        if is_kept(&&TTL)
            && let Some(ttl) = fifo_ttl(&self.theirs, alike)
        {
            ini.set(OptionsSection::Family, family, &format!("{TTL}={ttl}"));
        }
        let of_table = |name| self.theirs.value(OptionsSection::Table, alike, name);
        if self.is_others && of_table(OFF_IN_TABLES) != Some("true") {
            let off = format!("{OFF_IN_TABLES}=false");
            ini.set(OptionsSection::Table, family, &off);
        }
        for name in FORMAT {
            let given = family == self.table && self.settings.given(name);
            if let Some(value) = of_table(name).filter(|_| !given) {
                ini.set(OptionsSection::Table, family, &format!("{name}={value}"));
            }
        }
    }
}
