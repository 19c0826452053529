//! Embedded RocksDB, with the keys, records and column family of YCSB's binding.
//!
//! It calls RocksDB by a table of its C functions ([`capi`]). They are those of the RocksDB that is
//! linked into the program by the crate `rust-rocksdb`, or of a library of another version
//! ([`library`]). The handle of the column family is looked up once and shared. A session adds its
//! own options and buffer, so that an operation costs the same as the bare call.

mod capi;
mod contexts;
mod data_files;
mod draft;
mod expiring;
mod facts;
mod files;
mod identity;
mod ini;
mod io_uring;
mod kept;
mod known;
mod levels;
mod library;
mod load;
mod lock;
mod manifest;
mod newer;
mod newest_options;
mod note;
mod open;
mod options;
mod options_file;
mod overlay;
mod processor;
mod raw;
mod record;
mod remove;
mod session;
mod settle;
mod statistics;
mod version;
mod wal;

use super::holder::holder;
use crate::{
    Access, Clients, DataSet, Database, Driver, Error, OperationKind, Params, Place, Remark,
    RemarkCode, Schema, Semantics, Session, Settings, Settled, Statistic, Stopped,
};
pub use kept::is_kept;
pub use known::{KnownOptions, options_for};
pub use library::{
    ALL_VERSIONS, RocksDbLibrary, cached, is_build_of, is_release, jar_name, libraries_directory,
    library_name, sha256,
};
pub use newest_options::NewestOptions;
use open::Opening;

use capi::{Db, Options, ReadOptions, Table, WriteOptions};
use library::{EMBEDDED, Library};
use std::{
    collections::BTreeMap,
    ffi::{CString, c_void},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

const NAME: &str = "rocksdb";

/// The column family of raw records, the only one that db_bench knows.
const RAW_TABLE: &str = "default";

/// The row of the driver.
pub const DRIVER: Driver = Driver {
    name: NAME,
    about: "embedded RocksDB, with keys and records as in YCSB's binding",
    place: Place::Directory,
    port: None,
    clients: Clients::Threads,
    depth: |_| None,
    supports: OperationKind::ALL,
    supports_special: true,
    settings: options::SETTINGS,
    stored: options::STORED,
    entry: "rocksdb",
    files: data_files::KEPT,
    check: options_file::check,
    open: |params| Ok(Box::new(RocksDb::open(params)?)),
    check_open: |params| Opening::look(params)?.check(),
    look: None,
    identity: identity::identity,
    destroy: remove::destroy,
    check_destroy: |params| remove::check(params).map(drop),
    space,
    cache: |_, settings| options::block_cache(settings),
    page_cache: options::page_cache,
    adopted: version::with_log,
    background_threads: "rocksdb:",
    tells_nodes: false,
    reshapes: |_| false,
    semantics: |_| None,
    snapshot: None,
};

/// An open database, for callers that need features which only RocksDB has.
pub struct RocksDb {
    store: Arc<Store>,
    /// Kept for its statistics.
    options: Options,
    statistics: bool,
    raw: bool,
    library: &'static Library,
    place: PathBuf,
    wal: Option<PathBuf>,
    /// Version and options if it is open only for reading. Then no file of it has them.
    read_only: Option<BTreeMap<String, String>>,
    semantics: Semantics,
    /// Why io_uring was requested and is not used.
    io_uring_refusal: Option<String>,
}

impl std::fmt::Debug for RocksDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksDb").finish_non_exhaustive()
    }
}

/// State shared by all sessions.
struct Store {
    functions: &'static Table,
    db: Db,
    /// Released after the database is closed.
    _log: Option<wal::Claim>,
    schema: Schema,
    /// Bytes that the encoding adds to the values of a whole record.
    overhead_bytes: u64,
    /// A lock for each stripe of keys, in correct semantics.
    stripes: Option<Box<[Stripe]>>,
    sync: bool,
    disable_wal: bool,
    async_io: bool,
}

impl Store {
    fn table_name(&self, raw: bool) -> &str {
        if raw { RAW_TABLE } else { &self.schema.table }
    }

    /// How a client reads.
    fn read_options(&self) -> ReadOptions {
        ReadOptions::new(self.functions, self.async_io)
    }

    /// How a client writes.
    fn write_options(&self) -> WriteOptions {
        WriteOptions::new(self.functions, self.sync, self.disable_wal)
    }
}

/// A lock on its own cache line.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(Mutex<()>);

/// The number of locks in correct semantics: enough that 1,024 clients rarely collide by chance.
const STRIPES: usize = 4096;

impl RocksDb {
    /// Opens it like the driver.
    ///
    /// # Errors
    /// If it does not exist and `params` do not say to create it, or if it is in use or broken.
    pub fn open(params: &Params) -> Result<Self, Error> {
        let opening = Opening::look(params)?;
        let (place, table, access) = (opening.place, opening.table, opening.access);
        let settings = &params.settings;
        let failed = |why: String| open::failed(place, why.into());
        let library = opening.library;
        let loaded = opening.options()?;
        let mut log = opening.claim().map_err(failed)?;
        if opening.creates {
            open::make(place).map_err(|why| open::failed(place, why))?;
        }
        let is_own = !opening.exists || NewestOptions::is_tailmarks_at(place);
        let _turn = open::turn(place, access, opening.exists)?;
        let io_uring_refusal = io_uring::enable(settings.flag("async_io"));
        let db = opening.open_for(access, &loaded)?;
        if is_own && access != Access::Read && !library.is_embedded() {
            note::write(place).map_err(|why| open::failed(place, why.into()))?;
        }
        if let Some(log) = &mut log {
            log.note_logs().map_err(failed)?;
        }
        let store = Store {
            functions: library.functions,
            db,
            _log: log,
            overhead_bytes: record::overhead_bytes(&params.data.schema.fields),
            schema: params.data.schema.clone(),
            stripes: (params.semantics == Semantics::Correct)
                .then(|| (0..STRIPES).map(|_| Stripe::default()).collect()),
            sync: settings.flag("sync"),
            disable_wal: settings.flag("disable_wal"),
            async_io: settings.flag("async_io") && io_uring_refusal.is_none(),
        };
        Ok(Self {
            store: Arc::new(store),
            read_only: (access == Access::Read)
                .then(|| version::read_only(&loaded.ini, table, &library.version)),
            options: loaded.database,
            statistics: settings.flag("statistics"),
            raw: options::is_raw(settings),
            library,
            place: place.to_owned(),
            wal: settings.text("wal_dir").map(PathBuf::from),
            semantics: params.semantics,
            io_uring_refusal,
        })
    }

    /// The handles of the database and of the table's column family, which the sessions use, for
    /// direct calls of RocksDB's C functions.
    #[must_use]
    pub fn bare(&self) -> (*mut c_void, *mut c_void) {
        self.store.db.handles()
    }

    /// Reads as the sessions do, without one: the lengths of values by their keys, 0 without one.
    pub fn value_lengths(&self) -> impl Fn(&[u8]) -> usize {
        let read = self.store.read_options();
        move |key| {
            let found = self.store.db.value_length(key, &read);
            found.ok().flatten().unwrap_or_default()
        }
    }

    /// One of RocksDB's own reports by name (`rocksdb.stats`, `rocksdb.levelstats`, ...), or
    /// `statistics`; `None` for an unknown name.
    #[must_use]
    pub fn report(&self, name: &str) -> Option<String> {
        match name {
            "statistics" => self.options.statistics(),
            _ => self.store.db.table_property(&CString::new(name).ok()?),
        }
    }

    /// Compacts the whole table.
    pub fn compact(&self) {
        self.store.db.compact();
    }

    /// Compacts the first level (0), or the next level with files (1), into the next one with
    /// files. Returns a sentence about it.
    ///
    /// # Errors
    /// If RocksDB fails.
    pub fn compact_level(&self, from: u32) -> Result<String, Error> {
        let name = self.store.table_name(self.raw);
        let options = facts::options_of(&self.place, name);
        let bytes = options.get("target_file_size_base");
        let bytes = bytes.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
        levels::compact(&self.store.db, (name, &self.library.version), from, bytes)
            .map_err(|e| self.failed("compact a level of", e))
    }

    fn failed(&self, action: &'static str, source: String) -> Error {
        Error::Database {
            action,
            driver: NAME,
            place: self.place.display().to_string(),
            source: source.into(),
        }
    }

    /// Version and options.
    fn options_of(&self) -> BTreeMap<String, String> {
        let name = self.store.table_name(self.raw);
        let read_only = self.read_only.clone();
        read_only.unwrap_or_else(|| facts::options_of(&self.place, name))
    }

    /// What RocksDB's own log says about CRC32C when the database is opened.
    fn crc32c(&self) -> Option<String> {
        if let Some(loaded) = &self.library.loaded {
            return loaded.facts.get("crc32c").cloned();
        }
        let log = facts::head_of_log(&self.place).ok()?;
        // A database that is only read keeps the log of the version that wrote it.
        let own = format!("RocksDB version: {}\n", self.library.version);
        let said = processor::crc32c(&log).filter(|_| log.contains(&own));
        said.map(str::to_owned)
    }
}

impl Database for RocksDb {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(if self.raw {
            Box::new(raw::RawSession::new(&self.store))
        } else {
            Box::new(session::RocksDbSession::new(&self.store))
        })
    }

    /// Writes the log to the device, or the memtables if there is no log.
    fn sync(&self) -> Result<(), Error> {
        if self.read_only.is_some() {
            return Ok(());
        }
        if self.store.disable_wal {
            self.store.db.flush()
        } else {
            self.store.db.sync_log()
        }
        .map_err(|e| self.failed("sync", e))
    }

    fn flush(&self, _stop: Stopped<'_>) -> Result<bool, Error> {
        if self.read_only.is_none() {
            let flushed = self.store.db.flush();
            flushed.map_err(|e| self.failed("flush", e))?;
            self.sync()?;
        }
        Ok(true)
    }

    fn settle(&self, timeout: Duration, stop: Stopped<'_>) -> Result<Settled, Error> {
        // A read-only database is never compacted, however much is pending.
        if self.read_only.is_some() {
            return Ok(Settled::Yes);
        }
        self.wait_for_work(timeout, stop)
    }

    fn end_held_requests(&self) {
        self.store.db.cancel_background_work();
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.options_of();
        let store = &self.store;
        if let Some(bytes) = store.db.table_number(c"rocksdb.block-cache-capacity") {
            facts.insert("block_cache_capacity".to_owned(), bytes.to_string());
        }
        facts.insert("semantics".to_owned(), self.semantics.name().to_owned());
        facts.insert("sync".to_owned(), store.sync.to_string());
        facts.insert("async_io".to_owned(), store.async_io.to_string());
        facts.insert("disable_wal".to_owned(), store.disable_wal.to_string());
        match &self.library.loaded {
            None => {
                facts.insert("build".to_owned(), processor::build());
                facts.insert("library".to_owned(), EMBEDDED.to_owned());
            }
            Some(loaded) => facts.extend(loaded.facts.clone()),
        }
        facts.extend(self.crc32c().map(|said| ("crc32c".to_owned(), said)));
        facts
    }

    fn remarks(&self) -> Vec<Remark> {
        let is_slow = self.crc32c().is_some_and(|s| processor::is_software(&s));
        let remedy = if self.library.is_embedded() {
            "Build tailmark with ./dev on a processor that has the instruction."
        } else {
            "Compare it only with versions that do the same, or use a library that was compiled \
             for such a processor."
        };
        let slow = is_slow.then(|| Remark {
            code: RemarkCode::SoftwareCrc,
            text: format!(
                "RocksDB {} computes CRC32C without the processor's instruction, which slows loads \
                 and reads down. {remedy}",
                self.library.version
            ),
        });
        let refused = self.io_uring_refusal.as_deref().map(io_uring::remark);
        slow.into_iter()
            .chain(refused)
            .chain(self.remark_of_errors())
            .collect()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        if !self.statistics {
            return BTreeMap::new();
        }
        let mut counts = self.tickers();
        counts.retain(|_, count| *count > 0);
        counts
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        self.told()
    }

    fn shape(&self) -> Vec<Statistic> {
        self.tree()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for directory in [Some(&self.place), self.wal.as_ref()].into_iter().flatten() {
            facts::add_files(directory, &mut files);
        }
        files
    }
}

/// The most bytes needed: the encoded records times 1.3, plus the smaller of 16 write buffers and
/// 1.8 times the records.
///
/// The factor 1.3: levels above the last hold up to a ninth of it (each level is ten times the one
/// above), blocks, indexes and filters add some percent, and running compactions keep their inputs
/// until they end. The 16 buffers: memtables that wait for a flush are also in the write-ahead log
/// (six at most). What is flushed waits in level 0, beside the old versions, while its compaction
/// writes it once more. This is never more than 1.8 times the records. Measured with 785 MiB of
/// records and default buffers: at most 1,431 MiB while loading and 2,347 while every record is
/// overwritten once, compared with 2,482 by this formula.
fn space(data: &DataSet, settings: &Settings) -> u64 {
    let encoded = data.record_bytes() + record::overhead_bytes(&data.schema.fields) + 16;
    let encoded = data.records.saturating_mul(encoded) as f64;
    let backlog = options::write_buffer(settings) as f64 * 16.0;
    (encoded * 1.3 + backlog.min(encoded * 1.8)) as u64 + (4 << 20)
}
