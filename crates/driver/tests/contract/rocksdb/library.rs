//! RocksDB of other versions than the embedded one: real libraries from Maven Central, and Debian's.
//! `./dev test` collects them; a version that is missing is ignored by name.

mod refused;
mod symbols;

use crate::support::*;
use std::{env, fs, process::Command, sync::mpsc, thread, time::Duration};
use tailmark_driver::{
    Access, Database, Error, Fields, Outcome, RemarkCode, Settled, Statistic, db,
};
use tailmark_testing::{not_installed, test};

/// The versions from Maven Central, and what their own options file calls them.
const JARS: &[(&str, &str)] = &[
    ("5.11.3", "5.11.3"),
    ("6.2.2", "6.2.2"),
    ("6.22.1.1", "6.22.1"),
    ("7.10.2", "7.10.2"),
    ("8.1.1.1", "8.1.1"),
    ("9.10.0", "9.10.0"),
    ("11.8.1", "11.8.1"),
];
/// Debian's package `librocksdb7.8`.
const DEBIAN: (&str, &str) = ("librocksdb.so.7.8", "7.8.3");
/// Settings of small memtables, so that a few records are flushed and compacted.
const SMALL: (&str, &str) = ("write_buffer", "64KiB");
const RECORDS: u64 = 3000;
/// Names the libraries that a child of a test uses, one after the other.
const USE: &str = "TEST_USE_LIBRARIES";

/// The setting for a library; the test is ignored without it.
fn library(name: &str) -> String {
    if name == DEBIAN.0 {
        let path = format!("/usr/lib/{}-linux-gnu/{name}", env::consts::ARCH);
        return match fs::exists(&path) {
            Ok(true) => path,
            _ => not_installed(format!("there is no {path}")),
        };
    }
    let jar = db::jar_name(name);
    let directory = db::libraries_directory().unwrap_or_default();
    if name != "embedded" && !directory.join(&jar).exists() {
        not_installed(format!("there is no {jar} in {}", directory.display()));
    }
    name.to_owned()
}

/// Loads, runs and checks a database by every kind of request.
fn use_database(library: &str, records: u64) -> Bench {
    let settings = [("library", library), SMALL, ("statistics", "true")];
    let mut bench = Bench::with("rocksdb", &settings);
    bench.params.data = data(records);
    let database = bench.open();
    let mut session = database.session().unwrap();
    for number in 0..records {
        insert(&mut *session, number).unwrap();
    }
    let whole = Outcome {
        records: 1,
        bytes: RECORD,
    };
    for number in 0..records {
        assert_eq!(read(&mut *session, number, Fields::All), Ok(whole), "C");
        if number % 2 == 0 {
            let updated = update(&mut *session, number, 1, LENGTH).unwrap();
            assert_eq!(updated.bytes, KEY + u64::from(LENGTH), "A, B, F");
        }
    }
    insert(&mut *session, records).unwrap();
    let newest = read(&mut *session, records, Fields::One(2)).unwrap();
    assert_eq!(newest.bytes, KEY + u64::from(LENGTH), "D");
    let scanned = scan(&mut *session, records - 4, 20).unwrap();
    assert_eq!(scanned.records, 5, "E");
    delete(&mut *session, records).unwrap();
    let missed = read(&mut *session, records, Fields::All);
    assert_eq!(missed, Ok(Outcome::default()));
    assert!(database.flush(&|| false).unwrap());
    let settled = database.settle(Duration::from_secs(60), &|| false).unwrap();
    assert_eq!(settled, Settled::Yes);
    drop(session);
    drop(database);
    bench.params.access = Access::Write;
    bench
}

fn value(told: &[Statistic], name: &str) -> f64 {
    let one = told.iter().find(|one| one.name == name);
    one.map_or(f64::NAN, |one| one.value)
}

/// What must be true of every version.
fn serves(name: &str, version: &str) {
    let library = library(name);
    let bench = use_database(&library, RECORDS);
    let log = fs::read_to_string(bench.data_path().join("LOG")).unwrap();
    assert!(
        log.contains(&format!("RocksDB version: {version}")),
        "{log}"
    );
    let identity = (bench.driver.identity)(bench.data_path()).unwrap().unwrap();
    assert!(identity.is_confirmed && !identity.is_new, "{identity:?}");

    let database = bench.open();
    let mut session = database.session().unwrap();
    let found = (0..RECORDS).filter(|&n| read(&mut *session, n, Fields::All).unwrap().records == 1);
    assert_eq!(found.count() as u64, RECORDS);
    let facts = database.facts();
    assert_eq!(facts["version"], version);
    assert_eq!(facts["write_buffer_size"], "65536");
    for fact in [
        "build",
        "compressions",
        "crc32c",
        "library",
        "library_sha256",
    ] {
        assert!(!facts[fact].is_empty(), "{fact}: {facts:?}");
    }
    assert_ne!(facts["library_sha256"], facts["library_copy_sha256"]);
    let is_slow = facts["crc32c"].starts_with("Not supported");
    let remarks = database.remarks();
    let is_told = remarks.iter().any(|r| r.code == RemarkCode::SoftwareCrc);
    assert_eq!(is_told, is_slow, "{remarks:?}");
    for number in 0..RECORDS {
        insert(&mut *session, number).unwrap();
    }
    database.flush(&|| false).unwrap();
    database.sync().unwrap();
    let told = database.statistics().unwrap();
    assert!(value(&told, "flushes") > 0.0, "{told:?}");
    let written = value(&told, "user_write_bytes");
    assert!(written >= (RECORDS * RECORD) as f64, "{told:?}");
    assert!(database.counters()["rocksdb.number.keys.written"] >= RECORDS);
    drop(session);
    drop(database);

    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert!(bench.is_empty());
}

macro_rules! versions {
    ($($test:ident: $at:expr;)*) => {
        $(
            #[test]
            fn $test() {
                let (name, version) = $at;
                serves(name, version);
            }
        )*
    };
}

versions! {
    rocksdb_5_11_loads_runs_and_settles: JARS[0];
    rocksdb_6_2_loads_runs_and_settles: JARS[1];
    rocksdb_6_22_loads_runs_and_settles: JARS[2];
    rocksdb_7_10_loads_runs_and_settles: JARS[3];
    rocksdb_8_1_loads_runs_and_settles: JARS[4];
    rocksdb_9_10_loads_runs_and_settles: JARS[5];
    rocksdb_11_8_loads_runs_and_settles: JARS[6];
    rocksdb_of_debian_loads_runs_and_settles: DEBIAN;
}

/// Opens and fills a database of each version that forgets flushes, and of the embedded one, until
/// RocksDB has started flushes by itself at each place of a memtable.
fn flushes_end(disable_wal: &'static str, end: fn(Box<dyn Database>, &Bench) -> Box<dyn Database>) {
    for name in ["7.10.2", "9.10.0", "11.8.1", "embedded"].map(library) {
        let (done, ended) = mpsc::channel();
        let library = name.clone();
        // If a flush hangs, only its thread does.
        thread::spawn(move || {
            let settings = [("library", &*library), SMALL, ("disable_wal", disable_wal)];
            let mut bench = Bench::with("rocksdb", &settings);
            let mut database = bench.open();
            bench.params.access = Access::Write;
            for round in 0..30 {
                let mut session = database.session().unwrap();
                for number in 0..200 + 37 * round {
                    insert(&mut *session, number).unwrap();
                }
                drop(session);
                database = end(database, &bench);
            }
            done.send(()).unwrap();
        });
        let ended = ended.recv_timeout(Duration::from_secs(120));
        assert_eq!(ended, Ok(()), "{name}");
    }
}

#[test]
fn a_flush_ends_also_if_rocksdb_forgets_it_while_it_flushes_by_itself() {
    flushes_end("false", |database, _| {
        database.flush(&|| false).unwrap();
        database
    });
}

#[test]
fn a_database_without_a_log_closes_also_if_rocksdb_forgets_the_flush() {
    flushes_end("true", |database, bench| {
        drop(database);
        bench.open()
    });
}

#[test]
fn a_loaded_library_refuses_async_io() {
    let says = is_refused(&[("library", &library("9.10.0")), ("async_io", "true")]);
    assert!(
        says.contains("false with the loaded RocksDB 9.10.0"),
        "{says}"
    );
}

/// Every library, and the embedded one.
fn all() -> Vec<String> {
    let names = JARS.iter().chain([&DEBIAN]).map(|(name, _)| *name);
    names.chain(["embedded"]).map(library).collect()
}

#[test]
fn two_versions_in_one_process_serve_in_either_order_and_it_ends_without_a_signal() {
    if let Ok(names) = env::var(USE) {
        // The databases of all are open together.
        let benches: Vec<_> = names
            .split(' ')
            .map(|name| use_database(name, 300))
            .collect();
        let databases: Vec<_> = benches.iter().map(Bench::open).collect();
        for database in databases.iter().chain(&databases) {
            let mut session = database.session().unwrap();
            for number in 0..300 {
                assert_eq!(read(&mut *session, number, Fields::All).unwrap().records, 1);
                update(&mut *session, number, 0, LENGTH).unwrap();
            }
        }
        return;
    }
    let all = all();
    let mut rounds = Vec::new();
    for (first, one) in all.iter().enumerate() {
        let others = all
            .iter()
            .enumerate()
            .filter(|(second, _)| *second != first);
        rounds.extend(others.map(|(_, other)| vec![one.as_str(), other]));
        // All together, each first once.
        let rotated = all.iter().cycle().skip(first).take(all.len());
        rounds.push(rotated.map(String::as_str).collect());
    }
    // The rest of a hundred exits.
    let rest: Vec<_> = rounds
        .iter()
        .filter(|names| names.len() == 2)
        .cloned()
        .collect();
    rounds.extend(
        rest.into_iter()
            .take(100_usize.saturating_sub(rounds.len())),
    );
    for names in rounds {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg(
                "rocksdb::library::two_versions_in_one_process_serve_in_either_order_and_it_ends_\
                 without_a_signal",
            )
            .env(USE, names.join(" "))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(
            child.status.success(),
            "{names:?}: {}: {said}",
            child.status
        );
    }
}

#[test]
fn symbols_of_a_library_are_its_own_and_the_program_has_none_of_them() {
    let all = all();
    let benches: Vec<_> = all.iter().map(|name| use_database(name, 10)).collect();
    assert_eq!(benches.len(), JARS.len() + 2);
    let libraries = symbols::loaded();
    assert!(libraries.len() > JARS.len(), "{libraries:?}");
    for library in &libraries {
        let mixed = library.mixed();
        assert!(mixed.is_empty(), "{library:?}: {mixed:?}");
    }
}

fn is_refused(settings: &[(&str, &str)]) -> String {
    let driver = db::find("rocksdb").unwrap();
    let refused = check(driver, settings, &data(1)).unwrap_err();
    assert!(matches!(refused, Error::BadSetting { .. }), "{refused:?}");
    refused.to_string()
}

#[test]
fn a_setting_that_a_version_lacks_is_refused_with_its_name() {
    let old = library("5.11.3");
    let says = is_refused(&[("library", &old), ("checksum", "xxh3")]);
    assert!(says.contains("a value that RocksDB 5.11.3 knows"), "{says}");
    let no_cache = is_refused(&[("library", &old), ("cache_kind", "hyper_clock")]);
    assert!(
        no_cache.contains("left out: RocksDB 5.11.3 has no such cache"),
        "{no_cache}"
    );
}

#[test]
fn a_library_that_is_missing_or_is_none_is_refused_with_the_way_to_get_one() {
    let says = is_refused(&[("library", "0.1.2")]);
    assert!(
        says.ends_with("get it with: tailmark rocksdb fetch 0.1.2"),
        "{says}"
    );
    let no_file = is_refused(&[("library", "Cargo.toml.so")]);
    assert!(no_file.contains("there is no `Cargo.toml.so`"), "{no_file}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no.so");
    fs::write(&file, "no library").unwrap();
    let no_library = is_refused(&[("library", file.to_str().unwrap())]);
    assert!(
        no_library.contains("it is no shared library for 64 bits"),
        "{no_library}"
    );
}

#[test]
fn a_version_keeps_its_own_table_format_and_takes_one_that_is_given() {
    let library = library("8.1.1.1");
    let facts = |settings: &[(&str, &str)]| Bench::with("rocksdb", settings).open().facts();
    let own = facts(&[("library", &library)]);
    assert_eq!(own["format_version"], "5");
    assert_eq!(own["checksum"], "kXXH3");
    let given = [
        ("library", &*library),
        ("format_version", "4"),
        ("checksum", "crc32c"),
    ];
    let given = facts(&given);
    assert_eq!(given["format_version"], "4");
    assert_eq!(given["checksum"], "kCRC32c");
}

#[test]
fn an_options_file_of_a_version_works_with_that_version() {
    for (name, _) in JARS {
        let library = library(name);
        let written = Bench::with("rocksdb", &[("library", &library), ("block_size", "8KiB")]);
        drop(written.open());
        let newest = fs::read_dir(written.data_path()).unwrap().flatten();
        let newest = newest.map(|entry| entry.path());
        let newest = newest.filter(|path| path.to_str().unwrap().contains("OPTIONS-"));
        // Versions before 6.19 write down the directory of the log, which is another database's here.
        let text = fs::read_to_string(newest.max().unwrap()).unwrap();
        let lines = text.lines().filter(|line| !line.contains("wal_dir="));
        let file = written.path("options");
        fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
        let file = file.to_str().unwrap();
        let facts = |settings: &[(&str, &str)]| Bench::with("rocksdb", settings).open().facts();
        let from_file = facts(&[("library", &library), ("options_file", file)]);
        assert_eq!(from_file["block_size"], "8192", "{name}");
        let given = [
            ("library", &*library),
            ("options_file", file),
            ("block_size", "16KiB"),
        ];
        assert_eq!(facts(&given)["block_size"], "16384", "{name}");
    }
}

#[test]
fn data_of_a_version_is_left_alone_by_one_that_would_lock_it_out() {
    let library = library("5.11.3");
    let mut bench = use_database(&library, 10);
    let driver = bench.driver;
    bench.params.settings = check(driver, &[], &bench.params.data).unwrap();
    let refused = bench.try_open().err();
    assert!(
        matches!(&refused, Some(Error::Upgrade { writer, .. }) if writer == "RocksDB 5.11.3"),
        "{refused:?}"
    );
    bench.params.access = Access::Read;
    let database = bench.open();
    let mut session = database.session().unwrap();
    assert_eq!(read(&mut *session, 9, Fields::All).unwrap().records, 1);
}

#[test]
fn what_is_said_of_crc32c_is_of_the_library_that_reads_and_not_of_the_one_that_wrote() {
    let library = library("8.1.1.1");
    let mut bench = use_database(&library, 10);
    bench.params.settings = check(bench.driver, &[], &bench.params.data).unwrap();
    bench.params.access = Access::Read;
    let embedded = bench.open();
    let remarks = embedded.remarks();
    assert!(
        remarks.iter().all(|r| r.code != RemarkCode::SoftwareCrc),
        "{remarks:?}"
    );
    assert!(!embedded.facts().contains_key("crc32c"));
}

#[test]
fn data_that_another_program_opened_since_is_not_confirmed_as_tailmarks() {
    // 5.11.3 cannot keep tailmark's name in the database, so a note beside it does.
    let library = library("5.11.3");
    let bench = use_database(&library, 10);
    let identity = || (bench.driver.identity)(bench.data_path()).unwrap().unwrap();
    assert!(identity().is_confirmed);
    let newest = bench.data_path().join("OPTIONS-999999");
    fs::write(
        &newest,
        "[Version]\n  rocksdb_version=5.11.3\n[DBOptions]\n",
    )
    .unwrap();
    assert!(!identity().is_confirmed);
    fs::remove_file(&newest).unwrap();
    fs::write(bench.data_path().join("IDENTITY"), "another").unwrap();
    assert!(!identity().is_confirmed);
}
