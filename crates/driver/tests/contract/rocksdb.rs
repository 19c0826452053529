//! What the RocksDB driver promises: YCSB's records, settings that take effect, its semantics.

use crate::support::*;
use rust_rocksdb::{DB, Options};
use std::{
    env,
    ffi::OsString,
    fs,
    io::Read,
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use tailmark_driver::{Cause, Error, Fields, Outcome, Semantics, Settled, db};

#[test]
fn records_are_ycsbs_in_a_column_family_of_the_tables_name() {
    let bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 65).unwrap();
    let families = ["default", "usertable"];
    let database = DB::open_cf(&Options::default(), &bench.params.place, families).unwrap();
    let table = database.cf_handle("usertable").unwrap();
    let value = database.get_cf(table, "user00000065").unwrap().unwrap();
    let mut expected = Vec::new();
    for field in 0..3 {
        expected.extend_from_slice(format!("\0\0\0\x06field{field}\0\0\0\u{0}").as_bytes());
        *expected.last_mut().unwrap() = 200;
        expected.extend_from_slice(&[65; 200]);
    }
    assert_eq!(value, expected);
}

#[test]
fn an_update_replaces_its_field_and_keeps_the_others() {
    let bench = Bench::new("rocksdb");
    let database = bench.open();
    let mut session = database.session().unwrap();
    insert(&mut *session, 1).unwrap();
    let updated = Outcome {
        records: 1,
        bytes: KEY + 50,
    };
    assert_eq!(update(&mut *session, 1, 1, 50), Ok(updated));
    let mut bytes = |fields| read(&mut *session, 1, fields).unwrap().bytes - KEY;
    assert_eq!(bytes(Fields::One(0)), 200);
    assert_eq!(bytes(Fields::One(1)), 50);
    assert_eq!(bytes(Fields::One(2)), 200);
    assert_eq!(bytes(Fields::All), 450);
}

#[test]
fn an_update_of_a_missing_record_finds_and_makes_nothing() {
    let bench = Bench::new("rocksdb");
    let mut session = bench.open().session().unwrap();
    assert_eq!(update(&mut *session, 1, 0, 10), Ok(Outcome::default()));
    assert_eq!(read(&mut *session, 1, Fields::All).unwrap().records, 0);
}

#[test]
fn a_deleted_record_is_gone() {
    let bench = Bench::new("rocksdb");
    let mut session = bench.open().session().unwrap();
    insert(&mut *session, 1).unwrap();
    assert_eq!(delete(&mut *session, 1).unwrap().records, 1);
    assert_eq!(read(&mut *session, 1, Fields::All).unwrap().records, 0);
}

#[test]
fn a_value_that_is_no_record_is_corruption() {
    let bench = Bench::new("rocksdb");
    drop(bench.open());
    let families = ["default", "usertable"];
    let database = DB::open_cf(&Options::default(), &bench.params.place, families).unwrap();
    let table = database.cf_handle("usertable").unwrap();
    database
        .put_cf(table, "user00000001", "\0\0\0\x06fie")
        .unwrap();
    drop(database);
    let mut session = bench.open().session().unwrap();
    let failures = [
        read(&mut *session, 1, Fields::One(0)),
        update(&mut *session, 1, 0, 9),
    ]
    .map(Result::unwrap_err);
    assert_eq!(failures.map(|f| f.cause), [Cause::Corruption; 2]);
}

/// Each of three clients lengthens a field of its own of the same record.
#[test]
fn in_correct_semantics_no_update_is_lost() {
    let mut bench = Bench::new("rocksdb");
    bench.params.semantics = Semantics::Correct;
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    thread::scope(|scope| {
        for field in 0..FIELDS {
            let mut session = database.session().unwrap();
            scope.spawn(move || {
                for length in 1..=2000 {
                    update(&mut *session, 1, field, length).unwrap();
                    let read = read(&mut *session, 1, Fields::One(field)).unwrap();
                    assert_eq!(read.bytes - KEY, u64::from(length));
                }
            });
        }
    });
    assert_eq!(database.facts()["semantics"], "correct");
}

#[test]
fn every_setting_takes_effect() {
    let bench = Bench::with(
        "rocksdb",
        &[
            ("background_jobs", "3"),
            ("block_cache", "1MiB"),
            ("bloom_bits", "10"),
            ("checksum", "crc32c"),
            ("compression", "zstd"),
            ("direct_flush_compaction", "true"),
            ("direct_reads", "true"),
            ("format_version", "5"),
            ("max_open_files", "500"),
            ("write_buffer", "16MiB"),
        ],
    );
    let facts = bench.open().facts();
    for (name, value) in [
        ("block_cache_capacity", "1048576"),
        ("checksum", "kCRC32c"),
        ("compression", "kZSTD"),
        ("compression_per_level", "kZSTD"),
        ("format_version", "5"),
        ("max_background_compactions", "-1"),
        ("max_background_jobs", "3"),
        ("max_bytes_for_level_base", "67108864"),
        ("max_open_files", "500"),
        ("target_file_size_base", "8388608"),
        ("use_direct_io_for_flush_and_compaction", "true"),
        ("use_direct_reads", "true"),
        ("write_buffer_size", "16777216"),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert!(
        facts["filter_policy"].contains("bloomfilter:10"),
        "{facts:?}"
    );
    assert!(!(bench.driver.page_cache)(&bench.params.settings));
    assert_eq!(
        (bench.driver.cache)(&bench.params.data, &bench.params.settings),
        1 << 20
    );
}

#[test]
fn without_settings_the_options_are_those_of_ycsb() {
    let bench = Bench::new("rocksdb");
    let facts = bench.open().facts();
    let jobs = (2 * thread::available_parallelism().unwrap().get()).to_string();
    for (name, value) in [
        ("block_cache_capacity", "33554432"),
        (
            "compression_per_level",
            "kNoCompression:kNoCompression:kLZ4Compression",
        ),
        ("filter_policy", "nullptr"),
        ("level0_file_num_compaction_trigger", "2"),
        ("max_background_compactions", &jobs),
        ("max_background_jobs", &jobs),
        ("max_bytes_for_level_base", "536870912"),
        ("max_write_buffer_number", "6"),
        ("min_write_buffer_number_to_merge", "2"),
        ("target_file_size_base", "67108864"),
        ("use_direct_reads", "false"),
        ("write_buffer_size", "134217728"),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert!(facts["version"].starts_with("11."), "{}", facts["version"]);
    assert!((bench.driver.page_cache)(&bench.params.settings));
}

#[test]
fn every_compression_and_checksum_is_in_the_build() {
    for (setting, words) in [
        (
            "compression",
            &["bzip2", "lz4", "lz4hc", "none", "snappy", "zlib", "zstd"][..],
        ),
        (
            "checksum",
            &["crc32c", "none", "xxh3", "xxhash", "xxhash64"],
        ),
    ] {
        for word in words {
            let bench = Bench::with("rocksdb", &[(setting, word)]);
            let database = bench.open();
            let mut session = database.session().unwrap();
            insert(&mut *session, 1).unwrap();
            database.flush().unwrap();
            assert_eq!(
                read(&mut *session, 1, Fields::All).unwrap().records,
                1,
                "{word}"
            );
        }
    }
}

const OPTIONS: &str = "
# by hand
[Version]
  rocksdb_version=9.0.0
  options_file_version=1.1
[DBOptions]
  max_open_files=77
  use_direct_reads=true
[CFOptions \"default\"]
  write_buffer_size=4194304
  compression=kSnappyCompression
[TableOptions/BlockBasedTable \"default\"]
  format_version=4
";

#[test]
fn an_options_file_is_the_base_of_what_is_given() {
    let mut bench = Bench::new("rocksdb");
    let file = bench.path("options.ini");
    fs::write(&file, OPTIONS).unwrap();
    let given = [
        ("options_file", file.to_str().unwrap()),
        ("compression", "none"),
    ];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    let facts = bench.open().facts();
    for (name, value) in [
        ("max_open_files", "77"),
        ("use_direct_reads", "true"),
        ("write_buffer_size", "4194304"),
        ("format_version", "4"),
        ("compression", "kNoCompression"),
        ("min_write_buffer_number_to_merge", "1"),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert!(!(bench.driver.page_cache)(&bench.params.settings));
}

#[test]
fn rocksdbs_own_options_file_is_taken_as_it_is() {
    let mut bench = Bench::with("rocksdb", &[("format_version", "6")]);
    drop(bench.open());
    let written = fs::read_dir(&bench.params.place)
        .unwrap()
        .map(|e| e.unwrap().path());
    let newest = written
        .filter(|p| p.to_str().unwrap().contains("OPTIONS-"))
        .max()
        .unwrap();
    let file = bench.path("options.ini");
    fs::copy(newest, &file).unwrap();
    (bench.driver.destroy)(&bench.params).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    assert_eq!(bench.open().facts()["format_version"], "6");
}

#[test]
fn an_options_file_that_rocksdb_cannot_read_is_refused_with_the_plan() {
    let bench = Bench::new("rocksdb");
    let file = bench.path("options.ini");
    let path = file.to_str().unwrap();
    for (text, says) in [
        (None, "No such file"),
        (Some("not an options file".to_owned()), ""),
        (
            Some(OPTIONS.replace("max_open_files", "max_opne_files")),
            "max_opne_files",
        ),
        (Some(OPTIONS.replace("=77", "=many")), "max_open_files"),
    ] {
        if let Some(text) = &text {
            fs::write(&file, text).unwrap();
        }
        let error = check(bench.driver, &[("options_file", path)], &bench.params.data);
        let error = error.expect_err("the file must be refused").to_string();
        assert!(error.starts_with("database.options_file is `"), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn counters_are_kept_where_statistics_are_asked_for() {
    let counted = Bench::with("rocksdb", &[("statistics", "true")]);
    let database = counted.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    assert!(database.counters()["rocksdb.bytes.written"] > 600);
    assert!(Bench::new("rocksdb").open().counters().is_empty());
}

#[test]
fn a_log_that_lies_elsewhere_is_used_and_destroyed_too() {
    let mut bench = Bench::new("rocksdb");
    let wal = bench.path("wal");
    let given = [("wal_dir", wal.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    let logs = |name: &std::path::PathBuf| name.starts_with(&wal);
    assert!(database.files().iter().any(logs));
    drop(database);
    (bench.driver.destroy)(&bench.params).unwrap();
    let left = fs::read_dir(&wal).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[test]
fn without_a_log_sync_writes_the_memtables() {
    let bench = Bench::with(
        "rocksdb",
        &[("disable_wal", "true"), ("statistics", "true")],
    );
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    database.sync().unwrap();
    assert!(database.counters()["rocksdb.flush.write.bytes"] > 0);
    assert!(!database.counters().contains_key("rocksdb.wal.bytes"));
    assert_eq!(
        database.settle(Duration::from_secs(60)).unwrap(),
        Settled::Yes
    );
}

#[test]
fn every_write_is_synced_where_it_is_asked_for() {
    let bench = Bench::with("rocksdb", &[("sync", "true"), ("statistics", "true")]);
    let database = bench.open();
    let mut session = database.session().unwrap();
    (0..5).for_each(|n| assert!(insert(&mut *session, n).is_ok()));
    assert!(database.counters()["rocksdb.wal.synced"] >= 5);
}

#[test]
fn other_peoples_files_are_not_destroyed() {
    let bench = Bench::new("rocksdb");
    fs::create_dir(&bench.params.place).unwrap();
    let thesis = bench.params.place.join("thesis.tex");
    fs::write(&thesis, "years of work").unwrap();
    assert!(matches!(
        (bench.driver.destroy)(&bench.params),
        Err(Error::Database { .. })
    ));
    assert!(thesis.exists());
}

/// What the environment names the database by that the other process is to hold.
const HOLD: &str = "TAILMARK_HOLD";

/// Starts this program again as the other process, which runs this test alone.
#[test]
fn another_process_that_has_the_database_is_named() {
    if let Some(place) = env::var_os(HOLD) {
        return hold_until_it_may_go(place);
    }
    let bench = Bench::new("rocksdb");
    drop(bench.open());
    let mut holder = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "rocksdb::another_process_that_has_the_database_is_named",
        ])
        .env(HOLD, &bench.params.place)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let held = bench.path("held");
    while !held.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let refused = bench.try_open().err();
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    let Some(Error::Locked { holder: who, .. }) = refused else {
        panic!("it must be refused as locked: {refused:?}");
    };
    // Where /proc/locks shows the locks of this machine at all.
    let pid = format!(" (pid {}, ", holder.id());
    assert!(who.is_empty() || who.starts_with(&pid), "{who}");
}

/// The other process.
fn hold_until_it_may_go(place: OsString) {
    let mut bench = Bench::new("rocksdb");
    bench.params.place = place.into();
    let database = bench.open();
    fs::write(bench.params.place.with_file_name("held"), "").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(database);
}

#[test]
fn scaled_down_it_still_opens() {
    let driver = db::find("rocksdb").unwrap();
    let mut bench = Bench::new("rocksdb");
    let none = std::collections::BTreeMap::new();
    let data = &bench.params.data;
    bench.params.settings =
        tailmark_driver::Settings::check(driver, &none, data, 0.000_001).unwrap();
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    assert_eq!(bench.open().facts()["target_file_size_base"], "2097152");
}
