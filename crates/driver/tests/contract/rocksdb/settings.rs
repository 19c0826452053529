//! Settings of RocksDB take effect, and options files and the tables that are there beside them.

use crate::support::*;
use std::{fs, thread};
use tailmark_driver::{Access, Fields, Params, db};
use tailmark_testing::test;

#[test]
fn every_setting_takes_effect() {
    let bench = Bench::with(
        "rocksdb",
        &[
            ("background_jobs", "3"),
            ("block_cache", "1MiB"),
            ("block_size", "8KiB"),
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
        ("block_size", "8192"),
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
        ("block_size", "4096"),
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
fn raw_records_have_the_tree_of_db_bench() {
    let bench = Bench::with("rocksdb", &[("layout", "raw"), ("block_size", "8KiB")]);
    let facts = bench.open().facts();
    for (name, value) in [
        ("block_size", "8192"),
        ("level0_file_num_compaction_trigger", "4"),
        ("max_bytes_for_level_base", "268435456"),
        ("max_write_buffer_number", "2"),
        ("min_write_buffer_number_to_merge", "1"),
        ("target_file_size_base", "67108864"),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
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
            assert!(database.flush(&|| false).unwrap());
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
    let written = fs::read_dir(bench.data_path())
        .unwrap()
        .map(|e| e.unwrap().path());
    let newest = written
        .filter(|p| p.to_str().unwrap().contains("OPTIONS-"))
        .max()
        .unwrap();
    let file = bench.path("options.ini");
    fs::copy(newest, &file).unwrap();
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    assert_eq!(bench.open().facts()["format_version"], "6");
}

/// Opens a database that was made with format 4 and CRC32C; what it is written with from then on.
fn reopened(given: &[(&str, &str)]) -> [String; 2] {
    let old = [("checksum", "crc32c"), ("format_version", "4")];
    let mut bench = Bench::with("rocksdb", &old);
    drop(bench.open());
    bench.params.settings = check(bench.driver, given, &bench.params.data).unwrap();
    let facts = bench.open().facts();
    ["format_version", "checksum"].map(|name| facts[name].clone())
}

#[test]
fn a_database_that_is_there_keeps_its_table_format_unless_another_is_given() {
    assert_eq!(reopened(&[]), ["4", "kCRC32c"]);
    assert_eq!(reopened(&[("format_version", "6")]), ["6", "kCRC32c"]);
    assert_eq!(reopened(&[("checksum", "xxh3")]), ["4", "kXXH3"]);
    // So does a database that is opened with another table.
    let bench = Bench::with("rocksdb", &[("format_version", "4")]);
    drop(bench.open());
    let settings = check(bench.driver, &[("layout", "raw")], &bench.params.data).unwrap();
    let params = bench.params.clone();
    drop((bench.driver.open)(&Params { settings, ..params }).unwrap());
    assert_eq!(bench.open().facts()["format_version"], "4");
}

#[test]
fn a_table_that_is_made_in_a_database_that_is_there_has_its_format() {
    let raw = [("layout", "raw"), ("format_version", "4")];
    let mut bench = Bench::with("rocksdb", &raw);
    drop(bench.open());
    bench.params.settings = check(bench.driver, &[], &bench.params.data).unwrap();
    assert_eq!(bench.open().facts()["format_version"], "4");
}

#[test]
fn an_options_file_decides_the_table_format_of_a_new_database_only() {
    let mut bench = Bench::with("rocksdb", &[("format_version", "5")]);
    drop(bench.open());
    let file = bench.path("options.ini");
    fs::write(&file, OPTIONS).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    assert_eq!(bench.open().facts()["format_version"], "5");
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    let facts = bench.open().facts();
    assert_eq!(facts["format_version"], "4");
    // The file has no checksum, so the default of the setting applies.
    assert_eq!(facts["checksum"], "kXXH3");
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

#[test]
fn adopted_data_is_opened_with_the_log_that_its_newest_options_name() {
    let wal = tempfile::tempdir().unwrap();
    let given = [("wal_dir", wal.path().to_str().unwrap())];
    let bench = Bench::with("rocksdb", &given);
    let database = bench.open();
    // The record is only in the log: closing a database does not flush its log.
    insert(&mut *database.session().unwrap(), 7).unwrap();
    database.sync().unwrap();
    drop(database);
    let mut other = Bench::new("rocksdb").params;
    other.location = bench.params.location.clone();
    let place = other.location.path().unwrap();
    other.settings = (bench.driver.adopted)(place, &other.settings);
    for access in [Access::Read, Access::Write] {
        other.access = access;
        let adopted = (bench.driver.open)(&other).unwrap();
        let found = read(&mut *adopted.session().unwrap(), 7, Fields::All).unwrap();
        assert_eq!(found.records, 1, "{access:?}");
    }
}
