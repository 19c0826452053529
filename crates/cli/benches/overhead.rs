//! What tailmark costs, side by side with bare loops in one interleaved run: A B B A, medians of
//! pairs, ratios only. `./dev bench [PAIRS] [SECONDS] [THREADS,...] [memory,null,load,reads]`; the
//! results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use rust_librocksdb_sys as ffi;
use rust_rocksdb as rocksdb;
use std::{
    hint::black_box,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use support::{
    Program, Run, bare, compare,
    measured::{self, Budget, stream, uniform_reads},
    pair, programs,
};
use tailmark_driver::{
    Clients, Completion, Database, Fields, Key, Operation,
    db::{self, RocksDb},
};
use tailmark_workload::{Item, KeySpace, Workload};

const RECORDS: u64 = 200_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pairs = args.next().and_then(|a| a.parse().ok()).unwrap_or(5);
    let seconds = Duration::from_secs_f64(args.next().and_then(|a| a.parse().ok()).unwrap_or(3.0));
    let threads: Vec<u32> = args.next().map_or_else(
        || vec![1, 2, 16, 64, 256],
        |list| list.split(',').filter_map(|n| n.parse().ok()).collect(),
    );
    let parts = args.next().unwrap_or_default();
    let wanted = |part: &str| parts.is_empty() || parts.split(',').any(|p| p == part);
    println!(
        "{pairs} pairs of {} s; ratio = tailmark / bare loop, median (min to max)",
        seconds.as_secs_f64()
    );
    // First: RocksDB's memory is not the client's.
    if wanted("memory") {
        memory();
    }
    if wanted("null") {
        support::null::uniform(pairs, seconds);
        support::null::zipfian(pairs, seconds);
    }
    let scratch = std::env::temp_dir().join(format!("tailmark-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    if wanted("load") {
        load(pairs, &scratch);
    }
    if wanted("reads") {
        reads(pairs, seconds, &threads, &scratch);
    }
    std::fs::remove_dir_all(&scratch).unwrap();
}

fn open(driver: &str, place: &Path, settings: &[(&str, &str)]) -> Box<dyn Database> {
    measured::open(db::find(driver).unwrap(), place, settings, RECORDS)
}

/// Measures a workload on an embedded database; operations per second.
fn tailmark(
    database: &dyn Database,
    workload: &Arc<Workload>,
    threads: u32,
    budget: Budget,
) -> f64 {
    measured::run(
        database,
        Clients::Threads,
        workload,
        RECORDS,
        threads,
        budget,
    )
    .ops_per_sec()
}

const CACHED: &[(&str, &str)] = &[("block_cache", "4GiB"), ("compression", "none")];

/// Loading against a bare loop of Puts of the same records.
fn load(pairs: usize, scratch: &Path) {
    let workload = Arc::new(Workload::load());
    let mut runs = 0;
    let mut fresh = || {
        runs += 1;
        scratch.join(format!("load-{runs}"))
    };
    let places: Vec<_> = (0..2 * pairs).map(|_| fresh()).collect();
    let mut next = places.iter();
    let next = std::cell::RefCell::new(&mut next);
    let ours = || {
        let place = next.borrow_mut().next().unwrap();
        let database = open("rocksdb", place, CACHED);
        let rate = tailmark(database.as_ref(), &workload, 2, Budget::Load);
        drop(database);
        std::fs::remove_dir_all(place).unwrap();
        rate
    };
    let puts = || {
        let place = next.borrow_mut().next().unwrap();
        // Made and configured by the driver, then opened as it was left.
        drop(open("rocksdb", place, CACHED));
        let database = raw(place);
        let family = database.cf_handle("usertable").unwrap();
        let start = Instant::now();
        let keys = Arc::new(KeySpace::new(0, 0));
        std::thread::scope(|scope| {
            for client in 0..2 {
                let (database, keys, workload, family) = (&database, &keys, &workload, &family);
                scope.spawn(move || {
                    let mut stream = stream(workload, RECORDS, client, keys);
                    let mut record = Vec::new();
                    for _ in 0..RECORDS / 2 {
                        let Item::One(Operation::Insert { key, values }) = stream.next_item()
                        else {
                            panic!("a load inserts");
                        };
                        record.clear();
                        for (field, value) in values.iter() {
                            let name = [b"field", &[b'0' + field as u8][..]].concat();
                            record.extend((name.len() as u32).to_be_bytes());
                            record.extend(name);
                            record.extend((value.len() as u32).to_be_bytes());
                            record.extend(value);
                        }
                        database.put_cf(family, key.name, &record).unwrap();
                    }
                });
            }
        });
        let rate = RECORDS as f64 / start.elapsed().as_secs_f64();
        drop(database);
        std::fs::remove_dir_all(place).unwrap();
        rate
    };
    compare("rocksdb, load, 2 clients", "ops/s", pairs, pair(ours, puts));
}

/// A data set of the driver, opened with its own options file and a large cache.
fn raw(place: &Path) -> rocksdb::DB {
    let cache = rocksdb::Cache::new_lru_cache(4 << 30);
    let (mut options, families) =
        rocksdb::Options::load_latest(place, rocksdb::Env::new().unwrap(), true, cache).unwrap();
    // The file has the options of the database's creation.
    options.set_error_if_exists(false);
    rocksdb::DB::open_cf_descriptors(&options, place, families).unwrap()
}

/// A data set in one level, whatever the load left: the shape of one that was filled in order.
fn read_set(scratch: &Path) -> PathBuf {
    let place = scratch.join("reads");
    {
        let database = open("rocksdb", &place, CACHED);
        tailmark(
            database.as_ref(),
            &Arc::new(Workload::load()),
            2,
            Budget::Load,
        );
        assert!(database.flush(&|| false).unwrap());
    }
    {
        let database = raw(&place);
        let family = database.cf_handle("usertable").unwrap();
        database.compact_range_cf(&family, None::<&[u8]>, None::<&[u8]>);
    }
    place
}

/// Reads in cache against a bare loop around the same Get, both on one open database: where the
/// blocks of a cache happen to lie in memory decides more than any loop. The cache is filled in the
/// order of the keys, as db_bench's readseq does.
fn reads(pairs: usize, seconds: Duration, all_threads: &[u32], scratch: &Path) {
    let place = read_set(scratch);
    let driver = db::find("rocksdb").unwrap();
    let opened = RocksDb::open(&measured::params(driver, &place, CACHED, RECORDS)).unwrap();
    let database = BareReads::new(&opened);
    let mut session = opened.session().unwrap();
    let all = Operation::Scan {
        start: Key {
            number: 0,
            name: b"user",
        },
        records: u32::try_from(RECORDS).unwrap(),
        fields: Fields::All,
    };
    let Completion::Ready(found) = session.execute(all) else {
        panic!("an embedded database answers at once");
    };
    assert_eq!(u64::from(found.unwrap().records), RECORDS);
    drop(session);
    let workload = uniform_reads();
    let ours = |threads| {
        let budget = Budget::Time(seconds);
        tailmark(&opened, &workload, threads, budget)
    };
    for &threads in all_threads {
        let gets = || get_in_a_loop(threads, seconds, || |key: &[u8]| database.get(key));
        let through_table = || get_in_a_loop(threads, seconds, || opened.value_lengths());
        let table: Vec<Run<'_>> = vec![
            ("through its table".into(), Box::new(through_table)),
            ("direct calls".into(), Box::new(gets)),
        ];
        let what = format!("rocksdb, the driver's reads in cache, {threads} clients");
        compare(&what, "ops/s", pairs, table);
        let mut runs = pair(|| ours(threads), gets);
        for program in programs() {
            let name = format!("{} readrandom", program.name);
            let theirs = move || db_bench(&program, scratch, threads, seconds);
            runs.push((name, Box::new(theirs)));
        }
        let name = format!("rocksdb, reads in cache, {threads} clients");
        compare(&name, "ops/s", pairs, runs);
    }
    if [64, 256].iter().all(|count| all_threads.contains(count)) {
        let runs: Vec<Run<'_>> = vec![
            ("256 clients".into(), Box::new(|| ours(256))),
            ("64 clients".into(), Box::new(|| ours(64))),
        ];
        compare("rocksdb, reads in cache, 256 clients", "ops/s", pairs, runs);
    }
}

/// Gets of random keys in a bare loop, each client by a function of its own that returns the length
/// of a value; operations per second.
fn get_in_a_loop<G: Fn(&[u8]) -> usize>(
    threads: u32,
    seconds: Duration,
    new_get: impl Fn() -> G + Sync,
) -> f64 {
    let (keys, workload) = (Arc::new(KeySpace::new(RECORDS, RECORDS)), uniform_reads());
    bare(threads, seconds, |client, stop| {
        let mut stream = stream(&workload, RECORDS, client, &keys);
        let (get, mut operations) = (new_get(), 0);
        while !stop.load(Ordering::Relaxed) {
            let Item::One(Operation::Read { key, .. }) = stream.next_item() else {
                panic!("reads only");
            };
            assert!(black_box(get(key.name)) > 0);
            operations += 1;
        }
        operations
    })
}

/// RocksDB's Get, called directly.
struct BareReads {
    database: *mut ffi::rocksdb_t,
    table: *mut ffi::rocksdb_column_family_handle_t,
    options: *mut ffi::rocksdb_readoptions_t,
}

// SAFETY: RocksDB's database may be used by all threads at once, and the options are only read.
#[expect(unsafe_code, reason = "handles are pointers")]
unsafe impl Sync for BareReads {}

#[expect(unsafe_code, reason = "direct calls of C functions")]
impl BareReads {
    fn new(database: &RocksDb) -> Self {
        let (database, table) = database.bare();
        Self {
            database: database.cast(),
            table: table.cast(),
            // SAFETY: it takes nothing.
            options: unsafe { ffi::rocksdb_readoptions_create() },
        }
    }

    /// The length of a value.
    fn get(&self, key: &[u8]) -> usize {
        let (mut length, mut found, mut error) = (0, 0, std::ptr::null_mut());
        // SAFETY: the handles live as long as the database, which outlives the measurement.
        unsafe {
            ffi::rocksdb_get_into_buffer_cf(
                self.database,
                self.options,
                self.table,
                key.as_ptr().cast(),
                key.len(),
                std::ptr::null_mut(),
                0,
                &raw mut length,
                &raw mut found,
                &raw mut error,
            );
        }
        assert!(found != 0 && error.is_null());
        length
    }
}

/// The same reads by `db_bench`: keys and values as long as ours, the same options, a data set of
/// which every key is found, and a run before that fills the cache; operations per second.
fn db_bench(program: &Program, scratch: &Path, threads: u32, seconds: Duration) -> f64 {
    let place = scratch.join(format!("db_bench-{}", program.name));
    let run = |arguments: &[&str]| {
        let out = program
            .command()
            .args([
                "--key_size=23",
                "--value_size=4152",
                "--compression_type=none",
            ])
            .args([
                "--cache_size=4294967296",
                "--cache_type=lru_cache",
                "--open_files=-1",
            ])
            .args([
                "--bloom_bits=-1",
                "--compression_ratio=1",
                "--verify_checksum=true",
            ])
            .args([
                format!("--num={RECORDS}"),
                format!("--db={}", place.display()),
            ])
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8(out.stdout).unwrap()
    };
    if !place.exists() {
        run(&["--benchmarks=fillseq,compact"]);
    }
    let threads = format!("--threads={threads}");
    let time = format!("--duration={}", seconds.as_secs());
    let reads = [
        "--benchmarks=readseq,readrandom,readrandom",
        "--use_existing_db=1",
    ];
    let text = run(&[reads[0], reads[1], &threads, &time]);
    let line = text.lines().rfind(|l| l.starts_with("readrandom")).unwrap();
    let (before, found) = line.split_once(" of ").unwrap();
    let found_all = before.rsplit('(').next() == found.split(' ').next();
    assert!(found_all, "every key is found: {line}");
    line.split(" ops/sec")
        .next()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Memory of the client itself: the null driver with all clients, updates and reads recorded.
fn memory() {
    let database = open("null", Path::new("/"), &[]);
    let workload = Arc::new(tailmark_workload::find("ycsb-a").unwrap());
    for threads in [256, 1024] {
        let peak_before = status_kib("VmRSS");
        tailmark(
            database.as_ref(),
            &workload,
            threads,
            Budget::Time(Duration::from_secs(5)),
        );
        let peak = status_kib("VmHWM");
        println!(
            "null, ycsb-a, {threads} clients: peak {} MB ({} MB before)",
            peak / 1024,
            peak_before / 1024
        );
    }
}

fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
