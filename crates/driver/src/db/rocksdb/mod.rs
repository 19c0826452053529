//! Embedded RocksDB, with the keys, records and column family of YCSB's binding.
//!
//! `rust-rocksdb` is used rather than `rocksdb`: it has RocksDB's event listeners, so that stalls
//! and compactions can be drawn on the timeline. The handle of the column family is looked up once
//! and shared; a session adds options and a buffer of its own, so that an operation costs what the
//! bare call costs.

mod facts;
mod ini;
mod levels;
mod options;
mod raw;
mod record;
mod session;

use super::holder::holder;
use crate::{
    Clients, DataSet, Database, Driver, Error, Kind, Params, Place, Schema, Semantics, Session,
    Settings, Settled,
};
use rust_rocksdb::statistics::Ticker;
use rust_rocksdb::{
    BottommostLevelCompaction, ColumnFamily, ColumnFamilyDescriptor, CompactOptions, DB,
    FlushOptions, Options, properties,
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

const NAME: &str = "rocksdb";

/// The column family of raw records: db_bench knows no other.
const RAW_TABLE: &str = "default";

/// The row of the table.
pub const DRIVER: Driver = Driver {
    name: NAME,
    about: "embedded RocksDB, keys and records as in YCSB's binding",
    place: Place::Directory,
    clients: Clients::Threads,
    supports: Kind::ALL,
    settings: options::SETTINGS,
    stored: options::STORED,
    entry: "rocksdb",
    check,
    open: |params| Ok(Box::new(RocksDb::open(params)?)),
    destroy,
    space,
    cache: |_, settings| options::block_cache(settings),
    page_cache: options::page_cache,
};

/// An open database.
struct RocksDb {
    store: Arc<Store>,
    /// Kept for its statistics.
    options: Options,
    statistics: bool,
    raw: bool,
    place: PathBuf,
    wal: Option<PathBuf>,
    semantics: Semantics,
}

/// An open database and the bindings' own under it.
pub struct Bared {
    /// The driver's.
    pub database: Box<dyn Database>,
    store: Arc<Store>,
}

impl Bared {
    /// Opens a database as the driver does.
    ///
    /// # Errors
    /// As the driver's.
    pub fn open(params: &Params) -> Result<Self, Error> {
        let database = RocksDb::open(params)?;
        Ok(Self {
            store: Arc::clone(&database.store),
            database: Box::new(database),
        })
    }

    /// What the driver's sessions ask, and the column family of its table.
    #[must_use]
    pub fn bare(&self) -> (&DB, &ColumnFamily) {
        (&self.store.db, self.store.table)
    }
}

impl std::fmt::Debug for Bared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bared").finish_non_exhaustive()
    }
}

/// What all sessions share.
struct Store {
    /// The table's column family, in `db`: looked up once.
    table: &'static ColumnFamily,
    db: DB,
    schema: Schema,
    /// Bytes that the encoding adds to the values of a whole record.
    overhead_bytes: u64,
    /// One lock a stripe of keys, in correct semantics.
    stripes: Option<Box<[Stripe]>>,
    sync: bool,
    disable_wal: bool,
}

impl Store {
    fn table_name(&self, raw: bool) -> &str {
        if raw { RAW_TABLE } else { &self.schema.table }
    }
}

/// A lock on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(Mutex<()>);

/// Locks in correct semantics: enough that 1,024 clients seldom meet on one by chance.
const STRIPES: usize = 4096;

impl RocksDb {
    fn open(params: &Params) -> Result<Self, Error> {
        let (place, settings) = (&params.place, &params.settings);
        let failed = |source: crate::error::BoxError| Error::Open {
            driver: NAME,
            place: place.display().to_string(),
            source,
        };
        let exists = place.join("CURRENT").exists();
        if !exists && !params.create {
            return Err(failed("there is no RocksDB database".into()));
        }
        let raw = options::is_raw(settings);
        let table = if raw {
            RAW_TABLE
        } else {
            &params.data.schema.table
        };
        let mut loaded = options::load(settings, table).map_err(|e| refused(settings, e))?;
        loaded.database.create_if_missing(params.create);
        loaded
            .database
            .create_missing_column_families(params.create);
        if exists {
            add_families_of(place, &mut loaded).map_err(|e| failed(e.into()))?;
        }
        let db = DB::open_cf_descriptors(&loaded.database, place, loaded.families);
        let db = db.map_err(|e| {
            if is_lock(&e) {
                locked(place)
            } else {
                failed(e.into())
            }
        })?;
        let store = Store {
            table: handle(&db, table),
            db,
            overhead_bytes: record::overhead_bytes(&params.data.schema.fields),
            schema: params.data.schema.clone(),
            stripes: (params.semantics == Semantics::Correct)
                .then(|| (0..STRIPES).map(|_| Stripe::default()).collect()),
            sync: settings.flag("sync"),
            disable_wal: settings.flag("disable_wal"),
        };
        Ok(Self {
            store: Arc::new(store),
            options: loaded.database,
            statistics: settings.flag("statistics"),
            raw,
            place: place.clone(),
            wal: settings.text("wal_dir").map(PathBuf::from),
            semantics: params.semantics,
        })
    }

    fn failed(&self, action: &'static str, source: rust_rocksdb::Error) -> Error {
        Error::Database {
            action,
            driver: NAME,
            place: self.place.display().to_string(),
            source: source.into(),
        }
    }

    fn flush_memtables(&self) -> Result<(), rust_rocksdb::Error> {
        let mut wait = FlushOptions::default();
        wait.set_wait(true);
        self.store.db.flush_cf_opt(self.store.table, &wait)
    }

    /// Whether no flush and no compaction runs or waits.
    fn quiet(&self) -> Result<bool, rust_rocksdb::Error> {
        for property in [
            properties::NUM_RUNNING_FLUSHES,
            properties::MEM_TABLE_FLUSH_PENDING,
            properties::NUM_RUNNING_COMPACTIONS,
            properties::COMPACTION_PENDING,
        ] {
            let store = &self.store;
            let running = store.db.property_int_value_cf(store.table, property)?;
            if running.unwrap_or(0) > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Database for RocksDb {
    fn session(&self) -> Result<Box<dyn Session>, Error> {
        Ok(match self.raw {
            true => Box::new(raw::RawSession::new(&self.store)),
            false => Box::new(session::RocksDbSession::new(&self.store)),
        })
    }

    /// Writes the log to the device; without a log, the memtables.
    fn sync(&self) -> Result<(), Error> {
        if self.store.disable_wal {
            self.flush_memtables()
        } else {
            self.store.db.flush_wal(true)
        }
        .map_err(|e| self.failed("sync", e))
    }

    fn flush(&self) -> Result<(), Error> {
        self.flush_memtables()
            .map_err(|e| self.failed("flush", e))?;
        self.sync()
    }

    /// Two readings 100 ms apart must be quiet: a compaction may follow the one that just ended.
    fn settle(&self, timeout: Duration) -> Result<Settled, Error> {
        let (end, mut quiet) = (Instant::now() + timeout, 0);
        loop {
            let now_quiet = self.quiet().map_err(|e| self.failed("watch", e))?;
            quiet = if now_quiet { quiet + 1 } else { 0 };
            if quiet == 2 {
                return Ok(Settled::Yes);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Settled::No);
            }
            thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = facts::options_of(&self.place, self.store.table_name(self.raw));
        let store = &self.store;
        let capacity = properties::BLOCK_CACHE_CAPACITY;
        if let Ok(Some(bytes)) = store.db.property_int_value_cf(store.table, capacity) {
            facts.insert("block_cache_capacity".to_owned(), bytes.to_string());
        }
        facts.insert("semantics".to_owned(), self.semantics.name().to_owned());
        facts.insert("sync".to_owned(), store.sync.to_string());
        facts.insert("disable_wal".to_owned(), store.disable_wal.to_string());
        facts
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

    fn report(&self, name: &str) -> Option<String> {
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

    fn compact(&self) -> Result<(), Error> {
        let (all, store) = (None::<&[u8]>, &self.store);
        let mut options = CompactOptions::default();
        // Also what lies in the last level already, but not what this call has put there.
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        store
            .db
            .compact_range_cf_opt(store.table, all, all, &options);
        Ok(())
    }

    fn compact_level(&self, from: u32) -> Result<String, Error> {
        let name = self.store.table_name(self.raw);
        let options = facts::options_of(&self.place, name);
        let bytes = options.get("target_file_size_base");
        let bytes = bytes.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
        levels::compact(&self.store.db, (self.store.table, name), from, bytes)
            .map_err(|e| self.failed("compact a level of", e))
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for directory in [Some(&self.place), self.wal.as_ref()].into_iter().flatten() {
            facts::add_files(directory, &mut files);
        }
        files
    }
}

/// The column family of this name, without the bond to `db` that keeps it from being stored
/// beside it.
#[expect(
    unsafe_code,
    reason = "a lookup for each operation would be measured with it"
)]
fn handle(db: &DB, table: &str) -> &'static ColumnFamily {
    let handle = db
        .cf_handle(table)
        .expect("the table's column family was opened");
    // SAFETY: the handle lies on the heap, where `db` holds it until it is dropped: column families
    // are made and dropped through `&mut DB`, which nobody has. The store that keeps the result
    // keeps `db` beside it, both are private to this module, and sessions reach them through an
    // `Arc` of the store.
    unsafe { &*std::ptr::from_ref(handle) }
}

/// Tries the options without a database.
fn check(settings: &Settings) -> Result<(), Error> {
    options::load(settings, "usertable")
        .map(drop)
        .map_err(|e| refused(settings, e))
}

/// Only an options file can be refused: every other setting is checked by its row. Without one,
/// the options could not be written.
fn refused(settings: &Settings, why: String) -> Error {
    match settings.text("options_file") {
        Some(path) => Error::BadSetting {
            name: "options_file".to_owned(),
            value: path.to_owned(),
            accepted: format!("an options file that RocksDB can read ({why})"),
        },
        None => Error::Database {
            action: "write the options of",
            driver: NAME,
            place: std::env::temp_dir().display().to_string(),
            source: why.into(),
        },
    }
}

/// RocksDB wants every column family of a database named when it is opened.
fn add_families_of(place: &Path, loaded: &mut options::Loaded) -> Result<(), rust_rocksdb::Error> {
    for name in DB::list_cf(&loaded.database, place)? {
        if loaded.families.iter().all(|family| family.name() != name) {
            let other = ColumnFamilyDescriptor::new(name, Options::default());
            loaded.families.push(other);
        }
    }
    Ok(())
}

/// Whether another process, or another handle of this one, has the database.
fn is_lock(error: &rust_rocksdb::Error) -> bool {
    let says = error.as_ref();
    says.contains("While lock file") || says.contains("lock hold by current process")
}

fn locked(place: &Path) -> Error {
    Error::Locked {
        driver: NAME,
        place: place.display().to_string(),
        holder: holder(&place.join("LOCK")),
    }
}

/// Removes the database, but only a directory that is one.
fn destroy(params: &Params) -> Result<(), Error> {
    let place = &params.place;
    let failed = |source: crate::error::BoxError| Error::Database {
        action: "remove",
        driver: NAME,
        place: place.display().to_string(),
        source,
    };
    match facts::is_database(place) {
        Ok(true) => {}
        Ok(false) => return Err(failed("it holds files that are not RocksDB's".into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e.into())),
    }
    let mut options = Options::default();
    if let Some(wal) = params.settings.text("wal_dir") {
        options.set_wal_dir(wal);
    }
    // RocksDB's own, because it takes the lock and removes the log that lies elsewhere.
    DB::destroy(&options, place).map_err(|e| {
        if is_lock(&e) {
            locked(place)
        } else {
            failed(e.into())
        }
    })?;
    match fs::remove_dir_all(place) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(e.into())),
        _ => Ok(()),
    }
}

/// Bytes needed at most: the encoded records times 1.3, plus the smaller of 16 write buffers and
/// 1.8 times the records.
///
/// Levels above the last hold up to a ninth of it (each level is ten times the one above), blocks,
/// indexes and filters add some percent, and running compactions keep their inputs until they end:
/// 1.3. Memtables that wait for a flush lie in the write-ahead log also (six at most), and what is
/// flushed of them waits in level 0, beside the old versions, while its compaction writes it once
/// more: 16 buffers, but no more than 1.8 times the records. Measured with 785 MiB of records and
/// default buffers: 1,431 MiB at most while loading, 2,347 while every record is overwritten once,
/// for the 2,482 of this formula.
fn space(data: &DataSet, settings: &Settings) -> u64 {
    let encoded = data.record_bytes() + record::overhead_bytes(&data.schema.fields) + 16;
    let encoded = data.records.saturating_mul(encoded) as f64;
    let backlog = options::write_buffer(settings) as f64 * 16.0;
    (encoded * 1.3 + backlog.min(encoded * 1.8)) as u64 + (4 << 20)
}
