//! What the RocksDB driver promises: YCSB's records, its semantics, files and log.

mod expiring;
mod harm;
mod kept;
mod library;
mod logs;
mod settings;
mod upgrade;
mod whose;

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
use tailmark_driver::{
    Access, Cause, Error, Fields, Location, Outcome, RemarkCode, Semantics, Settled, Statistic,
};
use tailmark_testing::{Tmpfs, test};

#[test]
fn records_are_ycsbs_in_a_column_family_of_the_tables_name() {
    let bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 65).unwrap();
    let families = ["default", "usertable"];
    let database = DB::open_cf(&Options::default(), bench.data_path(), families).unwrap();
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
    let database = DB::open_cf(&Options::default(), bench.data_path(), families).unwrap();
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
fn counters_are_kept_where_statistics_are_asked_for() {
    let counted = Bench::with("rocksdb", &[("statistics", "true")]);
    let database = counted.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    assert!(database.counters()["rocksdb.bytes.written"] > 600);
    assert!(Bench::new("rocksdb").open().counters().is_empty());
}

#[test]
fn flushes_and_compactions_are_told_while_it_is_open() {
    let bench = Bench::new("rocksdb");
    let database = bench.open();
    let told = |name: &str| {
        let told = database.statistics().unwrap();
        let named = told.iter().find(|one| one.name == name);
        named.unwrap_or_else(|| panic!("{name} is not told")).value
    };
    let before = (told("flushes"), told("compactions"));
    for round in 0..2 {
        let mut session = database.session().unwrap();
        for key in 0..50 {
            insert(&mut *session, key + round).unwrap();
        }
        assert!(database.flush(&|| false).unwrap());
    }
    assert_eq!(told("flushes"), before.0 + 2.0);
    assert!(told("compactions") >= before.1);
    for name in [
        "background_write_bytes",
        "block_cache_bytes",
        "compaction_read_bytes",
        "delayed_write_bytes_per_s",
        "flush_write_bytes",
        "immutable_memtables",
        "l0_files",
        "memtable_bytes",
        "pending_compaction_bytes",
        "running_compactions",
        "running_flushes",
        "stall_s",
        "user_write_bytes",
        "wal_write_bytes",
        "write_delays",
        "write_stopped",
        "write_stops",
    ] {
        assert!(told(name) >= 0.0, "{name}");
    }
}

#[test]
fn counters_of_its_own_are_exact() {
    let counted = Bench::with("rocksdb", &[("statistics", "true")]);
    let database = counted.open();
    let before = database.statistics().unwrap();
    let mut session = database.session().unwrap();
    for key in 0..50 {
        insert(&mut *session, key).unwrap();
    }
    assert!(database.flush(&|| false).unwrap());
    let after = database.statistics().unwrap();
    let rise = |name: &str| {
        let value = |told: &[Statistic]| told.iter().find(|one| one.name == name).unwrap().value;
        value(&after) - value(&before)
    };
    assert!(rise("user_write_bytes") > 600.0 && rise("user_write_bytes") < f64::from(1 << 20));
    assert!(rise("wal_write_bytes") >= rise("user_write_bytes"));
    assert!(rise("flush_write_bytes") > 600.0);
    let names: std::collections::BTreeSet<_> = after.iter().map(|one| &one.name).collect();
    assert_eq!(names.len(), after.len());
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
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
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
        database.settle(Duration::from_secs(60), &|| false).unwrap(),
        Settled::Yes
    );
}

#[test]
fn compactions_that_never_start_are_not_called_settled_and_not_waited_for_where_data_is_only_read()
{
    let mut bench = Bench::new("rocksdb");
    let usual = bench.params.settings.clone();
    let file = bench.path("options");
    let text =
        "[CFOptions \"default\"]\n[CFOptions \"usertable\"]\ndisable_auto_compactions=true\n";
    fs::write(&file, text).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    let database = bench.open();
    for record in 0..8 {
        insert(&mut *database.session().unwrap(), record).unwrap();
        assert!(database.flush(&|| false).unwrap());
    }
    let left = database.settle(Duration::from_secs(600), &|| false);
    assert_eq!(left.unwrap(), Settled::NotStarted);
    drop(database);
    (bench.params.settings, bench.params.access) = (usual, Access::Read);
    let settled = bench.open().settle(Duration::from_secs(600), &|| false);
    assert_eq!(settled.unwrap(), Settled::Yes);
}

#[test]
fn a_compaction_that_finds_no_room_ends_the_wait_with_its_error() {
    let small = Tmpfs::new(64 << 20);
    let mut bench = Bench::with(
        "rocksdb",
        &[("disable_wal", "true"), ("compression", "none")],
    );
    bench.params.location = Location::Directory(small.path().join("rocksdb"));
    let database = bench.open();
    let mut session = database.session().unwrap();
    // Four overlapping files of the first level are compacted. There is room for the last of
    // them, but not for the result.
    for file in 0..4 {
        (0..5000).for_each(|n| assert!(insert(&mut *session, 4 * n + file).is_ok()));
        if file == 3 {
            small.fill(6 << 20);
        }
        assert!(database.flush(&|| false).unwrap());
    }
    let settled = database.settle(Duration::from_secs(600), &|| false);
    let error = settled.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("rocksdb.background-errors is "), "{why}");
    assert!(why.contains("No space left on device"), "{why}");
    let remarks = database.remarks();
    assert!(
        remarks
            .iter()
            .any(|remark| remark.code == RemarkCode::BackgroundErrors)
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
    fs::create_dir(bench.data_path()).unwrap();
    let thesis = bench.data_path().join("thesis.tex");
    fs::write(&thesis, "years of work").unwrap();
    assert!(matches!(
        (bench.driver.destroy)(&bench.params, &|_| Ok(())),
        Err(Error::Database { .. })
    ));
    assert!(thesis.exists());
}

#[test]
fn files_beside_a_databases_own_are_not_destroyed_and_neither_is_the_database() {
    for foreign in [
        "thesis.txt",
        "access.log",
        "notes.trash",
        "folder/000001.log",
        "lost/thesis.txt",
        "archive/old.txt",
        "000099.sst/thesis.txt",
    ] {
        for has_database in [true, false] {
            let bench = Bench::new("rocksdb");
            if has_database {
                drop(bench.open());
            }
            let file = bench.data_path().join(foreign);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "years of work").unwrap();
            let refused = (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap_err();
            let why = std::error::Error::source(&refused).unwrap().to_string();
            assert!(
                why.contains("does not belong to this database"),
                "{foreign}: {why}"
            );
            assert!((bench.driver.check_destroy)(&bench.params).is_err());
            assert_eq!(fs::read(&file).unwrap(), b"years of work", "{foreign}");
            assert_eq!(bench.data_path().join("CURRENT").exists(), has_database);
        }
    }
}

#[test]
fn all_files_of_a_database_are_destroyed_but_what_mkfs_made_stays() {
    let bench = Bench::new("rocksdb");
    drop(bench.open());
    for directory in ["archive", "lost", "lost+found"] {
        fs::create_dir(bench.data_path().join(directory)).unwrap();
    }
    for own in ["archive/000001.log", "lost/000002.sst", "000003.sst.trash"] {
        fs::write(bench.data_path().join(own), "").unwrap();
    }
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    let left = fs::read_dir(bench.data_path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lost+found"]);
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
        .env(HOLD, bench.data_path())
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
    // Only if /proc/locks shows the locks of this machine.
    let pid = format!(" (pid {}, ", holder.id());
    assert!(who.is_empty() || who.starts_with(&pid), "{who}");
}

/// The other process.
fn hold_until_it_may_go(place: OsString) {
    let mut bench = Bench::new("rocksdb");
    bench.params.location = Location::Directory(place.into());
    let database = bench.open();
    fs::write(bench.data_path().with_file_name("held"), "").unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(database);
}

#[test]
fn rocksdb_uses_the_processors_crc32c_and_says_how_it_was_built() {
    let bench = Bench::new("rocksdb");
    let database = bench.open();
    let facts = database.facts();
    assert!(facts["crc32c"].starts_with("Supported on "), "{facts:?}");
    // GCC's word for the baseline of processors, or zig's.
    let build = &facts["build"];
    assert!(
        build.contains("-march=") || build.contains("-mcpu="),
        "{facts:?}"
    );
    assert_eq!(database.remarks(), []);
}

#[test]
fn a_place_that_cannot_be_made_is_told_in_words() {
    let mut bench = Bench::new("rocksdb");
    let file = bench.path("file");
    fs::write(&file, "not a directory").unwrap();
    bench.params.location = Location::Directory(file.join("rocksdb"));
    let error = bench.try_open().err().unwrap();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(why, "Not a directory (os error 20)");
}
