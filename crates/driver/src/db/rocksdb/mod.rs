//! Embedded RocksDB, with the keys, records and column family of YCSB's binding.
//!
//! It uses `rust-rocksdb` instead of `rocksdb`, because that follows RocksDB's releases and has the
//! options and statistics that plans need. The handle of the column family is looked up once and
//! shared. A session adds its own options and buffer, so that an operation costs the same as the
//! bare call.

mod facts;
mod files;
mod identity;
mod ini;
mod io_uring;
mod kept;
mod levels;
mod lock;
mod manifest;
mod newest_options;
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
use kept::Existing;
pub use kept::is_kept;
pub use newest_options::NewestOptions;

use rust_rocksdb::statistics::Ticker;
use rust_rocksdb::{
    BottommostLevelCompaction, ColumnFamily, CompactOptions, DB, FlushOptions, Options,
    ReadOptions, properties,
};
use std::{
    collections::BTreeMap,
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
    check: options_file::check,
    open: |params| Ok(Box::new(RocksDb::open(params)?)),
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
};

/// An open database, for callers that need features which only RocksDB has.
pub struct RocksDb {
    store: Arc<Store>,
    /// Kept for its statistics.
    options: Options,
    statistics: bool,
    raw: bool,
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
    /// The table's column family, in `db`: looked up once.
    table: &'static ColumnFamily,
    db: DB,
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
    /// The options of reads of several records.
    fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.set_async_io(self.async_io);
        options
    }

    fn table_name(&self, raw: bool) -> &str {
        if raw { RAW_TABLE } else { &self.schema.table }
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
        let place = params.path(NAME)?;
        let settings = &params.settings;
        let failed = |source: crate::error::BoxError| Error::Open {
            driver: NAME,
            place: place.display().to_string(),
            source,
        };
        let exists = place.join("CURRENT").exists();
        let creates = params.access.creates() || params.access == Access::Extend;
        if !exists && !creates {
            return Err(failed("there is no RocksDB database".into()));
        }
        if exists && params.access == Access::CreateNew {
            return Err(failed(super::HAS_APPEARED.into()));
        }
        let access = if exists {
            open::access(place, params)?
        } else {
            params.access
        };
        open::refuse_unsafe(place)?;
        let raw = options::is_raw(settings);
        let table = if raw {
            RAW_TABLE
        } else {
            &params.data.schema.table
        };
        let look = || Existing::look(place, table, params);
        let existing = exists.then(look).transpose()?;
        let loaded = options::load(settings, table, existing.as_ref());
        let mut loaded = loaded.map_err(|e| options_file::refused(settings, e))?;
        loaded.database.create_if_missing(creates);
        // Refuses a database that has appeared meanwhile.
        loaded.database.set_error_if_exists(!exists);
        loaded.database.create_missing_column_families(creates);
        let mut log = open::claim(params, place, access, exists).map_err(|e| failed(e.into()))?;
        if creates {
            open::make(place).map_err(&failed)?;
        }
        let _turn = open::turn(place, access, exists)?;
        let io_uring_refusal = io_uring::enable(settings.flag("async_io"));
        let families = std::mem::take(&mut loaded.families);
        let db = open::open_families(place, access, &loaded.database, families)?;
        if let Some(log) = &mut log {
            log.note_logs().map_err(|e| failed(e.into()))?;
        }
        let store = Store {
            table: handle(&db, table),
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
            read_only: (access == Access::Read).then(|| version::read_only(&loaded.ini, table)),
            options: loaded.database,
            statistics: settings.flag("statistics"),
            raw,
            place: place.to_owned(),
            wal: settings.text("wal_dir").map(PathBuf::from),
            semantics: params.semantics,
            io_uring_refusal,
        })
    }

    /// The binding's own database, which the sessions use, and the column family of the table.
    #[must_use]
    pub fn bare(&self) -> (&DB, &ColumnFamily) {
        (&self.store.db, self.store.table)
    }

    /// One of RocksDB's own reports by name (`rocksdb.stats`, `rocksdb.levelstats`, ...), or
    /// `statistics`; `None` for an unknown name.
    #[must_use]
    pub fn report(&self, name: &str) -> Option<String> {
        match name {
            "statistics" => self.options.get_statistics(),
            _ => self
                .store
                .db
                .property_value_cf(self.store.table, name)
                .ok()
                .flatten(),
        }
    }

    /// Compacts the whole table.
    pub fn compact(&self) {
        let (all, store) = (None::<&[u8]>, &self.store);
        let mut options = CompactOptions::default();
        // Also tables already in the last level, but not those that this call put there.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        store
            .db
            .compact_range_cf_opt(store.table, all, all, &options);
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
        levels::compact(&self.store.db, (self.store.table, name), from, bytes)
            .map_err(|e| self.failed("compact a level of", e))
    }

    fn failed(&self, action: &'static str, source: rust_rocksdb::Error) -> Error {
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

    fn flush_memtables(&self) -> Result<(), rust_rocksdb::Error> {
        let mut wait = FlushOptions::default();
        wait.set_wait(true);
        self.store.db.flush_cf_opt(self.store.table, &wait)
    }

    /// What RocksDB's own log says about CRC32C when the database is opened.
    fn crc32c(&self) -> Option<String> {
        let log = facts::head_of_log(&self.place).ok()?;
        processor::crc32c(&log).map(str::to_owned)
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
            self.flush_memtables()
        } else {
            self.store.db.flush_wal(true)
        }
        .map_err(|e| self.failed("sync", e))
    }

    fn flush(&self, _stop: Stopped<'_>) -> Result<bool, Error> {
        if self.read_only.is_none() {
            self.flush_memtables()
                .map_err(|e| self.failed("flush", e))?;
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
        self.store.db.cancel_all_background_work(false);
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.options_of();
        let store = &self.store;
        let capacity = properties::BLOCK_CACHE_CAPACITY;
        if let Ok(Some(bytes)) = store.db.property_int_value_cf(store.table, capacity) {
            facts.insert("block_cache_capacity".to_owned(), bytes.to_string());
        }
        facts.insert("semantics".to_owned(), self.semantics.name().to_owned());
        facts.insert("sync".to_owned(), store.sync.to_string());
        facts.insert("async_io".to_owned(), store.async_io.to_string());
        facts.insert("disable_wal".to_owned(), store.disable_wal.to_string());
        facts.insert("build".to_owned(), processor::build());
        if let Some(said) = self.crc32c() {
            facts.insert("crc32c".to_owned(), said);
        }
        facts
    }

    fn remarks(&self) -> Vec<Remark> {
        let is_slow = self.crc32c().is_some_and(|s| processor::is_software(&s));
        let slow = is_slow.then(|| Remark {
            code: RemarkCode::SoftwareCrc,
            text: "RocksDB computes CRC32C without the processor's instruction, which slows loads \
                   and reads down. Build tailmark with ./dev on a processor that has the \
                   instruction."
                .to_owned(),
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
        Ticker::iter()
            .map(|&ticker| {
                (
                    ticker.name().to_owned(),
                    self.options.get_ticker_count(ticker),
                )
            })
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    fn statistics(&self) -> Option<Vec<Statistic>> {
        self.told()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for directory in [Some(&self.place), self.wal.as_ref()].into_iter().flatten() {
            facts::add_files(directory, &mut files);
        }
        files
    }
}

/// The column family of this name, without the borrow of `db` that would prevent storing both in
/// one struct.
#[expect(
    unsafe_code,
    reason = "a lookup for each operation would be measured with it"
)]
fn handle(db: &DB, table: &str) -> &'static ColumnFamily {
    let handle = db
        .cf_handle(table)
        .expect("the table's column family was opened");
    // SAFETY: the handle is on the heap, and `db` owns it until it is dropped: column families are
    // created and dropped only through `&mut DB`, which does not exist. The store that keeps the
    // result also keeps `db`. Both are private to this module, and sessions reach them through
    // an `Arc` of the store.
    unsafe { &*std::ptr::from_ref(handle) }
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
