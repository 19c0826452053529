//! What another program's database keeps that is opened for writing, and what it must not have.

use super::harm::{contents, files, refusal};
use crate::support::*;
use rust_rocksdb::{DB, DBCompressionType, Options, TransactionDB, TransactionDBOptions};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tailmark_driver::{Access, Settled};
use tailmark_testing::test;

#[test]
fn the_tree_of_another_program_keeps_its_levels() {
    let bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_num_levels(3);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Universal);
    drop(DB::open_cf_with_opts(
        &options,
        bench.data_path(),
        [("usertable", options.clone())],
    ));
    let mut params = bench.params.clone();
    params.access = Access::Write;
    let database = (bench.driver.open)(&params).unwrap();
    for number in 0..8 {
        insert(&mut *database.session().unwrap(), number).unwrap();
        assert!(database.flush(&|| false).unwrap());
    }
    let waits = Duration::from_secs(20);
    database.settle(waits, &|| false).unwrap();
    drop(database);
    options.create_if_missing(false);
    let theirs = DB::open_cf_with_opts(
        &options,
        bench.data_path(),
        [("usertable", options.clone())],
    );
    assert!(theirs.is_ok(), "{:?}", theirs.err());
}

#[test]
fn the_limits_of_another_program_and_of_families_that_nobody_names_are_kept() {
    let bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_wal_recovery_mode(rust_rocksdb::DBRecoveryMode::AbsoluteConsistency);
    options.set_num_levels(1);
    options.set_ttl(0);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Fifo);
    let mut fifo = rust_rocksdb::FifoCompactOptions::default();
    fifo.set_max_table_files_size(5 << 30);
    options.set_fifo_compaction_options(&fifo);
    // RocksDB escapes the colon when it writes the name.
    let families = ["usertable", "queue", "a:b"].map(|name| (name, options.clone()));
    drop(DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap());
    let mut params = bench.params.clone();
    params.access = Access::Write;
    drop((bench.driver.open)(&params).unwrap());
    let newest = newest_options(bench.data_path());
    assert!(
        newest.contains("wal_recovery_mode=kAbsoluteConsistency"),
        "{newest}"
    );
    for line in [
        "compaction_style=kCompactionStyleFIFO",
        "  ttl=0",
        "max_table_files_size=5368709120",
    ] {
        // For all but the default family.
        assert_eq!(newest.matches(line).count(), 3, "{line} in {newest}");
    }
}

#[test]
fn a_fifo_database_of_before_the_limit_was_an_option_of_its_own_keeps_its_records() {
    let bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Fifo);
    let families = ["usertable", "queue"].map(|name| (name, options.clone()));
    drop(DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap());
    // As RocksDB 5.11 writes them: without `ttl` of the family.
    let entries = fs::read_dir(bench.data_path()).unwrap().flatten();
    let is_options = |path: &PathBuf| path.to_string_lossy().contains("/OPTIONS-");
    for path in entries.map(|entry| entry.path()).filter(is_options) {
        let text = fs::read_to_string(&path).unwrap();
        let is_older = |line: &&str| !line.trim().starts_with("ttl=");
        let lines: Vec<&str> = text.lines().filter(is_older).collect();
        let fifo = "compaction_options_fifo={max_table_files_size=1073741824;ttl=0;}";
        let older = lines.iter().map(|line| {
            if line.trim().starts_with("compaction_options_fifo=") {
                format!("  {fifo}\n")
            } else {
                format!("{line}\n")
            }
        });
        fs::write(&path, older.collect::<String>()).unwrap();
    }
    let mut params = bench.params.clone();
    params.access = Access::Write;
    drop((bench.driver.open)(&params).unwrap());
    let newest = newest_options(bench.data_path());
    assert_eq!(newest.matches("  ttl=0\n").count(), 2, "{newest}");
}

#[test]
fn a_compaction_that_a_fifo_database_never_begins_is_not_waited_for() {
    // Tables larger than a memtable are not merged, but RocksDB counts them as pending work.
    let bench = Bench::with("rocksdb", &[("write_buffer", "64KiB")]);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_ttl(0);
    options.set_compression_type(DBCompressionType::None);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Fifo);
    let mut fifo = rust_rocksdb::FifoCompactOptions::default();
    fifo.set_max_table_files_size(5 << 30);
    fifo.set_allow_compaction(true);
    options.set_fifo_compaction_options(&fifo);
    let theirs = DB::open_cf_with_opts(
        &options,
        bench.data_path(),
        [("usertable", options.clone())],
    )
    .unwrap();
    let table = theirs.cf_handle("usertable").unwrap();
    for number in 0..4_u8 {
        theirs
            .put_cf(table, [number], vec![number; 100_000])
            .unwrap();
        theirs.flush_cf(table).unwrap();
    }
    drop(theirs);
    let mut params = bench.params.clone();
    params.access = Access::Write;
    let database = (bench.driver.open)(&params).unwrap();
    let began = Instant::now();
    let settled = database.settle(Duration::from_secs(300), &|| false);
    assert_ne!(settled.unwrap(), Settled::No);
    assert!(began.elapsed() < Duration::from_secs(150));
}

#[test]
fn a_fifo_database_that_rocksdb_would_remove_old_records_from_is_refused_unless_a_file_agrees() {
    let bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Fifo);
    options.set_ttl(1);
    let families = [("usertable", options.clone())];
    let theirs = DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap();
    let table = theirs.cf_handle("usertable").unwrap();
    theirs.put_cf(table, "a", "b").unwrap();
    theirs.flush_cf(table).unwrap();
    drop(theirs);
    // Older than its limit, with whatever clock RocksDB looks at it.
    std::thread::sleep(Duration::from_secs(3));
    let before = files(bench.data_path());
    let mut params = bench.params.clone();
    for access in [Access::Write, Access::Create, Access::Upgrade] {
        params.access = access;
        let refused = refusal((bench.driver.open)(&params));
        assert!(
            refused.contains("`usertable` keeps records for 1 s"),
            "{refused}"
        );
    }
    assert_eq!(files(bench.data_path()), before);
    // Reads alone change nothing but RocksDB's own log, whichever way they are asked for.
    let bytes = contents(bench.data_path());
    for access in [Access::Read, Access::ReadCompatible] {
        params.access = access;
        drop((bench.driver.open)(&params).unwrap());
        assert_eq!(contents(bench.data_path()), bytes);
    }
    let file = bench.path("options");
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                [CFOptions \"default\"]\n[CFOptions \"usertable\"]\nttl=0\n";
    fs::write(&file, text).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    params.settings = check(bench.driver, &given, &params.data).unwrap();
    params.access = Access::Write;
    // An options file with the same age, as a copy of the database's own has it, does not agree.
    fs::write(&file, text.replace("ttl=0", "ttl=1")).unwrap();
    let refused = refusal((bench.driver.open)(&params));
    assert!(refused.contains("keeps records for 1 s"), "{refused}");
    let smaller = "ttl=0\ncompaction_options_fifo={max_table_files_size=1000000;}";
    fs::write(&file, text.replace("ttl=0", smaller)).unwrap();
    let refused_size = refusal((bench.driver.open)(&params));
    assert!(
        refused_size.contains("lower `max_table_files_size`"),
        "{refused_size}"
    );
    assert_eq!(files(bench.data_path()), before);
    fs::write(&file, text).unwrap();
    assert!((bench.driver.open)(&params).is_ok());
}

#[test]
fn a_leveled_database_of_another_program_is_not_opened_with_fifo_compaction() {
    let bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let theirs = DB::open_cf(&options, bench.data_path(), ["usertable"]).unwrap();
    let table = theirs.cf_handle("usertable").unwrap();
    theirs.put_cf(table, "a", "b").unwrap();
    theirs.flush_cf(table).unwrap();
    drop(theirs);
    let before = files(bench.data_path());
    let file = bench.path("options");
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                [CFOptions \"default\"]\n[CFOptions \"usertable\"]\n\
                compaction_style=kCompactionStyleFIFO\n";
    fs::write(&file, text).unwrap();
    let mut params = bench.params.clone();
    let given = [("options_file", file.to_str().unwrap())];
    params.settings = check(bench.driver, &given, &params.data).unwrap();
    for access in [Access::Write, Access::Create, Access::Upgrade] {
        params.access = access;
        let refused = refusal((bench.driver.open)(&params));
        assert!(
            refused.contains("does not use FIFO compaction"),
            "{refused}"
        );
    }
    assert_eq!(files(bench.data_path()), before);
}

#[test]
fn a_database_of_another_order_is_refused_before_its_log_is_replayed() {
    let mut bench = Bench::new("rocksdb");
    bench.params.access = Access::Extend;
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let families = ["default", "usertable", "aux"];
    drop(DB::open_cf(&options, bench.data_path(), families).unwrap());
    let newest = fs::read_dir(bench.data_path()).unwrap().flatten();
    let is_options = |path: &PathBuf| path.to_string_lossy().contains("/OPTIONS-");
    let newest = newest.map(|entry| entry.path()).filter(is_options).max();
    let newest = newest.unwrap();
    // As RocksDB writes it for a family with timestamps. Its manifest may not show them.
    let text = fs::read_to_string(&newest).unwrap();
    let (above, family) = text.split_once("[CFOptions \"aux\"]").unwrap();
    let plain = "comparator=leveldb.BytewiseComparator\n";
    let stamped = "comparator=leveldb.BytewiseComparator.u64ts\n";
    assert!(family.contains(plain));
    let family = family.replacen(plain, stamped, 1);
    fs::write(&newest, format!("{above}[CFOptions \"aux\"]{family}")).unwrap();
    let before = files(bench.data_path());
    let refused = refusal(bench.try_open());
    assert!(
        refused.contains("`aux` has the comparator `leveldb.BytewiseComparator.u64ts`"),
        "{refused}"
    );
    assert_eq!(files(bench.data_path()), before);
}

#[test]
fn a_database_with_a_merge_operator_is_refused_before_its_log_is_replayed() {
    for access in [Access::Read, Access::Write, Access::Extend] {
        let mut bench = Bench::new("rocksdb");
        bench.params.access = access;
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_merge_operator_associative("sums", |_, old, operands| {
            let bytes = old.into_iter().chain(operands.iter());
            Some(bytes.flatten().copied().collect())
        });
        let families = || ["default", "usertable"].map(|name| (name, options.clone()));
        let open = || DB::open_cf_with_opts(&options, bench.data_path(), families()).unwrap();
        let database = open();
        database.merge("counter", "1").unwrap();
        database.merge("counter", "2").unwrap();
        database.put("after", "it").unwrap();
        drop(database);
        let before = files(bench.data_path());
        let refused = refusal(bench.try_open());
        assert!(
            refused.contains("has the merge_operator `sums`"),
            "{refused}"
        );
        assert_eq!(files(bench.data_path()), before);
        let reopened = open();
        assert_eq!(
            reopened.get("counter").unwrap().as_deref(),
            Some(&b"12"[..])
        );
        assert_eq!(reopened.get("after").unwrap().as_deref(), Some(&b"it"[..]));
    }
}

#[test]
fn an_options_file_changes_of_another_programs_database_only_what_it_says() {
    let mut bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_num_levels(1);
    options.set_compaction_style(rust_rocksdb::DBCompactionStyle::Universal);
    options.set_wal_ttl_seconds(864_000);
    let families = ["usertable"].map(|name| (name, options.clone()));
    drop(DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap());
    let file = bench.path("options");
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                max_open_files=64\n[CFOptions \"default\"]\n[CFOptions \"usertable\"]\nttl=7\n";
    fs::write(&file, text).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    bench.params.access = Access::Write;
    drop(bench.open());
    let newest = newest_options(bench.data_path());
    for line in [
        "WAL_ttl_seconds=864000",
        "max_open_files=64",
        "ttl=7",
        "num_levels=1",
    ] {
        assert!(
            newest.contains(&format!("  {line}\n")),
            "{line} in {newest}"
        );
    }
    assert!(newest.contains("compaction_style=kCompactionStyleUniversal"));
}

/// What RocksDB wrote down when it opened a database last.
fn newest_options(place: &Path) -> String {
    let entries = fs::read_dir(place).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_options = |path: &PathBuf| path.to_string_lossy().contains("/OPTIONS-");
    fs::read_to_string(paths.filter(is_options).max().unwrap()).unwrap()
}

#[test]
fn statistics_that_rocksdb_keeps_on_disk_are_neither_written_nor_begun() {
    let mut bench = Bench::new("rocksdb");
    bench.params.access = Access::Write;
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let make =
        |families: &[&str]| drop(DB::open_cf(&options, bench.data_path(), families).unwrap());
    make(&["usertable"]);
    let file = bench.path("options");
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                persist_stats_to_disk=true\nbest_efforts_recovery=true\n[CFOptions \"default\"]\n\
                [TableOptions/BlockBasedTable \"default\"]\nseparate_key_value_in_data_block=true\n";
    fs::write(&file, text).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    let mut with_file = bench.params.clone();
    with_file.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    drop((bench.driver.open)(&with_file).unwrap());
    let newest = newest_options(bench.data_path());
    for name in [
        "persist_stats_to_disk",
        "best_efforts_recovery",
        "separate_key_value_in_data_block",
    ] {
        assert!(
            newest.contains(&format!("  {name}=false\n")),
            "{name} in {newest}"
        );
        assert!(
            !newest.contains(&format!("  {name}=true\n")),
            "{name} in {newest}"
        );
    }
    make(&["usertable", "___rocksdb_stats_history___"]);
    let before = files(bench.data_path());
    assert!(refusal(bench.try_open()).contains("___rocksdb_stats_history___"));
    assert_eq!(files(bench.data_path()), before);
}

#[test]
fn a_database_with_tables_of_another_kind_is_refused() {
    let mut bench = Bench::new("rocksdb");
    drop(bench.open());
    let options = files(bench.data_path()).into_keys();
    let newest = options.filter(|name| name.to_string_lossy().starts_with("OPTIONS-"));
    let newest = bench.data_path().join(newest.max().unwrap());
    let text = fs::read_to_string(&newest).unwrap();
    assert_eq!(text.matches("table_factory=BlockBasedTable").count(), 2);
    fs::write(&newest, text.replace("=BlockBasedTable", "=PlainTable")).unwrap();
    let before = files(bench.data_path());
    for access in [Access::Read, Access::Write, Access::Extend, Access::Create] {
        bench.params.access = access;
        let refused = refusal(bench.try_open());
        assert!(
            refused.contains("has the table_factory `PlainTable`"),
            "{refused}"
        );
    }
    assert_eq!(files(bench.data_path()), before);
}

/// A database with a transaction in two phases whose first is in an older log than its second, or
/// which waits for that; as a killed program leaves it.
fn with_prepared(place: &Path, is_committed: bool) {
    let made = tempfile::tempdir().unwrap();
    let theirs = transactions(made.path(), true);
    let transaction = theirs.transaction();
    transaction.set_name(b"transfer").unwrap();
    transaction.put("prepared", "1").unwrap();
    transaction.prepare().unwrap();
    theirs.put("before", "1").unwrap();
    let family = theirs.cf_handle("usertable").unwrap();
    theirs.put_cf(family, "before", "1").unwrap();
    theirs.flush().unwrap();
    theirs.flush_cf(family).unwrap();
    if is_committed {
        transaction.commit().unwrap();
    } else {
        // If it were dropped, it would be rolled back.
        std::mem::forget(transaction);
    }
    theirs.put("after", "1").unwrap();
    fs::create_dir_all(place).unwrap();
    for entry in fs::read_dir(made.path()).unwrap().flatten() {
        fs::copy(entry.path(), place.join(entry.file_name())).unwrap();
    }
    if !is_committed {
        std::mem::forget(theirs);
    }
}

fn transactions(place: &Path, is_new: bool) -> TransactionDB {
    let mut options = Options::default();
    options.create_if_missing(is_new);
    options.create_missing_column_families(is_new);
    let families = ["default", "usertable"];
    TransactionDB::open_cf(&options, &TransactionDBOptions::default(), place, families).unwrap()
}

#[test]
fn transactions_in_two_phases_outlive_a_run_or_are_refused() {
    for is_committed in [true, false] {
        let mut bench = Bench::new("rocksdb");
        bench.params.access = Access::Write;
        with_prepared(bench.data_path(), is_committed);
        if let Ok(database) = bench.try_open() {
            for number in 0..10 {
                insert(&mut *database.session().unwrap(), number).unwrap();
            }
            assert!(database.flush(&|| false).unwrap());
        }
        let theirs = transactions(bench.data_path(), false);
        let prepared = theirs.prepared_transactions();
        assert_eq!(prepared.len(), usize::from(!is_committed));
        for waiting in prepared {
            waiting.commit().unwrap();
        }
        for key in ["prepared", "before", "after"] {
            let value = theirs.get(key).unwrap();
            assert_eq!(value.as_deref(), Some(&b"1"[..]), "{key} {is_committed}");
        }
    }
}

#[test]
fn tables_of_another_program_are_compressed_as_it_does() {
    let mut bench = Bench::new("rocksdb");
    bench.params.access = Access::Write;
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_compression_type(DBCompressionType::None);
    let families = ["usertable"].map(|name| (name, options.clone()));
    drop(DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap());
    let place = bench.data_path().to_owned();
    let compression = || {
        let newest = newest_options(&place);
        let of_table = newest.split("[CFOptions ").nth(2).unwrap().to_owned();
        let lines = of_table.lines().map(str::trim);
        let found = lines.filter(|line| line.starts_with("compression") && !line.contains("opts"));
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    drop(bench.open());
    let kept = compression();
    assert!(
        kept.contains(&"compression=kNoCompression".to_owned()),
        "{kept:?}"
    );
    let is_per_level = |line: &String| line.starts_with("compression_per_level=k");
    assert!(!kept.iter().any(is_per_level), "{kept:?}");
    // A given setting takes effect.
    let zstd = [("compression", "zstd")];
    bench.params.settings = check(bench.driver, &zstd, &bench.params.data).unwrap();
    drop(bench.open());
    let given = compression();
    assert!(given.contains(&"compression=kZSTD".to_owned()), "{given:?}");
}
