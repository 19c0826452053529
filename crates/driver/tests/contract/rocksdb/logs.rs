//! What becomes of write-ahead logs that are kept apart from their database, and of other programs'.

use super::harm::{contents, refusal};
use crate::support::*;
use rust_rocksdb::{DB, Options};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tailmark_driver::{Access, Fields, Location};
use tailmark_testing::test;

/// A database whose log is in `wal`.
pub(super) fn with_log(wal: &Path) -> Bench {
    Bench::with("rocksdb", &[("wal_dir", wal.to_str().unwrap())])
}

/// Another program's database with its log in `wal`, and one record that is in the log alone.
pub(super) fn foreign(place: &Path, wal: &Path) -> PathBuf {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_wal_dir(wal);
    let database = DB::open(&options, place).unwrap();
    database.put("acknowledged", "yes").unwrap();
    drop(database);
    let log = logs(wal).into_keys().next();
    log.expect("the record is in a log")
}

/// The logs in a directory, and what is in them.
fn logs(wal: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = contents(wal);
    let is_log = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "log");
    files.into_iter().filter(|(path, _)| is_log(path)).collect()
}

#[test]
fn the_logs_of_another_database_are_neither_opened_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, place) = (folder.path().join("wal"), folder.path().join("db"));
    let log = foreign(&place, &wal);
    let before = logs(&wal);
    let new = with_log(&wal);
    let opened = refusal(new.try_open());
    let name = log.file_name().unwrap().to_str().unwrap();
    for part in [wal.to_str().unwrap(), name, "another database"] {
        assert!(opened.contains(part), "{part} in {opened}");
    }
    let _ = (new.driver.destroy)(&new.params, &|_| Ok(()));
    // Nor if the database exists and had its log elsewhere before.
    let mut bench = Bench::new("rocksdb");
    drop(bench.open());
    let given = [("wal_dir", wal.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    refusal(bench.try_open());
    refusal((bench.driver.destroy)(&bench.params, &|_| Ok(())));
    assert!(bench.data_path().join("CURRENT").exists());
    assert_eq!(logs(&wal), before);
    let mut options = Options::default();
    options.set_wal_dir(&wal);
    let record = DB::open(&options, &place)
        .unwrap()
        .get("acknowledged")
        .unwrap();
    assert_eq!(record.as_deref(), Some(&b"yes"[..]));
}

#[test]
fn a_log_directory_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let wal = folder.path().join("wal");
    let (first, second) = (with_log(&wal), with_log(&wal));
    insert(&mut *first.open().session().unwrap(), 1).unwrap();
    let refused = refusal(second.try_open());
    for part in [wal.as_path(), first.data_path()] {
        assert!(refused.contains(part.to_str().unwrap()), "{refused}");
    }
    // Its directory was created for the log and holds no database.
    (second.driver.destroy)(&second.params, &|_| Ok(())).unwrap();
    let database = first.open();
    let read = read(&mut *database.session().unwrap(), 1, Fields::All).unwrap();
    assert_eq!(read.records, 1);
    drop(database);
    (first.driver.destroy)(&first.params, &|_| Ok(())).unwrap();
    assert!(!wal.exists(), "it was made for the first");
    drop(second.open());
}

#[test]
fn a_log_that_comes_later_is_not_taken_for_the_databases_own() {
    let folder = tempfile::tempdir().unwrap();
    let bench = with_log(folder.path());
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let later = folder.path().join("999999.log");
    fs::write(&later, "foreign").unwrap();
    for refused in [
        refusal(bench.try_open()),
        refusal((bench.driver.destroy)(&bench.params, &|_| Ok(()))),
    ] {
        assert!(refused.contains("(999999.log)"), "{refused}");
    }
    // A log that appears while the database is open is not its own.
    fs::remove_file(&later).unwrap();
    let database = bench.open();
    fs::write(&later, "foreign").unwrap();
    drop(database);
    refusal((bench.driver.destroy)(&bench.params, &|_| Ok(())));
    assert_eq!(fs::read(&later).unwrap(), b"foreign");
    fs::remove_file(&later).unwrap();
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_log_of_the_same_name_is_foreign_once_the_database_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let bench = with_log(folder.path());
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let logs = || {
        let entries = fs::read_dir(folder.path()).unwrap().flatten();
        let mut paths = entries.map(|entry| entry.path());
        let log = paths.find(|path| path.extension().is_some_and(|is| is == "log"));
        log.unwrap()
    };
    // The user removes the database by hand, and another program keeps its log here.
    fs::remove_dir_all(bench.data_path()).unwrap();
    fs::write(logs(), "foreign").unwrap();
    let _ = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
    let refused = refusal(bench.try_open());
    assert!(
        refused.contains("log files of another database"),
        "{refused}"
    );
    assert_eq!(fs::read(logs()).unwrap(), b"foreign");
    // It does not belong to another database in the same place either.
    fs::create_dir_all(bench.data_path()).unwrap();
    fs::write(bench.data_path().join("IDENTITY"), "another").unwrap();
    let _ = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
    assert_eq!(fs::read(logs()).unwrap(), b"foreign");
}

#[test]
fn a_log_of_the_same_name_is_foreign_though_the_database_is_there() {
    // Every new database has a first log of the same name.
    let folder = tempfile::tempdir().unwrap();
    let bench = with_log(folder.path());
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let own = logs(folder.path()).into_keys().next().unwrap();
    fs::remove_file(&own).unwrap();
    let other = tempfile::tempdir().unwrap();
    let theirs = foreign(other.path(), folder.path());
    assert_eq!(theirs, own);
    let before = logs(folder.path());
    for refused in [
        refusal(bench.try_open()),
        refusal((bench.driver.destroy)(&bench.params, &|_| Ok(()))),
    ] {
        assert!(
            refused.contains("log files of another database"),
            "{refused}"
        );
    }
    assert_eq!(logs(folder.path()), before);
}

#[test]
fn a_log_directory_that_is_known_by_a_relative_path_is_asked_for() {
    let bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let entries = fs::read_dir(bench.data_path()).unwrap().flatten();
    let is_options = |path: &PathBuf| path.to_string_lossy().contains("OPTIONS-");
    for path in entries.map(|entry| entry.path()).filter(is_options) {
        let text = fs::read_to_string(&path).unwrap();
        let named = text.replace("[DBOptions]\n", "[DBOptions]\n  wal_dir=logs\n");
        fs::write(&path, named).unwrap();
    }
    let mut params = bench.params.clone();
    params.settings = (bench.driver.adopted)(bench.data_path(), &params.settings);
    for access in [Access::Read, Access::Write] {
        params.access = access;
        let refused = refusal((bench.driver.open)(&params).map(drop));
        assert!(
            refused.contains("set wal_dir to the absolute path"),
            "{refused}"
        );
    }
}

#[test]
fn the_log_directory_of_an_options_file_is_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, file) = (folder.path().join("wal"), folder.path().join("options"));
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                wal_dir=WAL\n[CFOptions \"default\"]\n";
    fs::write(&file, text.replace("WAL", wal.to_str().unwrap())).unwrap();
    let bench = Bench::with("rocksdb", &[("options_file", file.to_str().unwrap())]);
    assert_eq!(bench.params.settings.text("wal_dir"), wal.to_str());
    drop(bench.open());
    assert!(wal.join("tailmark.wal.json").exists());
    let other = Bench::with("rocksdb", &[("options_file", file.to_str().unwrap())]);
    assert!(refusal(other.try_open()).contains("name another directory"));
}

#[test]
fn a_database_is_not_opened_without_the_log_that_has_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = with_log(&folder.path().join("wal"));
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    for other in ["", "other"] {
        let directory = folder.path().join("other");
        let given = [("wal_dir", directory.to_str().unwrap())];
        let given = if other.is_empty() { &[][..] } else { &given };
        bench.params.settings = check(bench.driver, given, &bench.params.data).unwrap();
        let refused = refusal(bench.try_open());
        assert!(refused.contains("would lose records"), "{refused}");
    }
}

/// What stands in the place of a log directory that is not mounted.
#[test]
fn a_database_whose_options_do_not_say_where_its_log_is_is_not_written_without_it() {
    type Damage = fn(&std::path::Path);
    let damages: [Damage; 4] = [
        |options| fs::remove_file(options).unwrap(),
        |options| fs::write(options, "").unwrap(),
        |options| fs::write(options, vec![0; 4096]).unwrap(),
        |options| {
            let text = fs::read(options).unwrap();
            fs::write(options, &text[..text.len() / 8]).unwrap();
        },
    ];
    for damage in damages {
        let folder = tempfile::tempdir().unwrap();
        let wal = folder.path().join("wal");
        let mut bench = Bench::new("rocksdb");
        let mut options = Options::default();
        options.set_wal_dir(&wal);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let families = ["default", "usertable"];
        let database = DB::open_cf(&options, bench.data_path(), families).unwrap();
        database.put("acknowledged", "yes").unwrap();
        drop(database);
        let entries = fs::read_dir(bench.data_path()).unwrap().flatten();
        let is_options =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("OPTIONS-");
        entries
            .filter(is_options)
            .for_each(|entry| damage(&entry.path()));
        let before = contents(bench.data_path());
        for access in [
            Access::Create,
            Access::Write,
            Access::Extend,
            Access::Upgrade,
        ] {
            bench.params.access = access;
            refusal(bench.try_open());
        }
        assert_eq!(contents(bench.data_path()), before);
        let theirs = DB::open_cf(&options, bench.data_path(), families).unwrap();
        assert_eq!(theirs.get("acknowledged").unwrap().unwrap(), b"yes");
    }
}

#[test]
fn a_database_is_not_written_without_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, away) = (folder.path().join("wal"), folder.path().join("away"));
    let mut bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.set_wal_dir(&wal);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    let families = ["default", "usertable"];
    let database = DB::open_cf(&options, bench.data_path(), families).unwrap();
    database.put("acknowledged", "yes").unwrap();
    drop(database);
    fs::rename(&wal, &away).unwrap();
    let before = contents(bench.data_path());
    for is_there in [false, true] {
        if is_there {
            fs::create_dir(&wal).unwrap();
        }
        for directory in [None, Some(&wal), Some(&folder.path().join("other"))] {
            let given: Vec<_> = directory
                .map(|directory| ("wal_dir", directory.to_str().unwrap()))
                .into_iter()
                .collect();
            bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
            for access in [Access::Create, Access::Write, Access::Extend] {
                bench.params.access = access;
                let refused = refusal(bench.try_open());
                assert!(refused.contains("there is no log file"), "{refused}");
            }
        }
    }
    assert_eq!(contents(bench.data_path()), before);
    fs::remove_dir(&wal).unwrap();
    fs::rename(&away, &wal).unwrap();
    let given = [("wal_dir", wal.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    drop(bench.open());
    let theirs = DB::open_cf(&options, bench.data_path(), families).unwrap();
    assert_eq!(theirs.get("acknowledged").unwrap().unwrap(), b"yes");
}

/// The log of another database is in the place of its log directory: another disk is mounted there.
#[test]
fn logs_without_the_marker_of_a_database_made_here_are_foreign() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, away) = (folder.path().join("wal"), folder.path().join("away"));
    let mut bench = with_log(&wal);
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    fs::rename(&wal, &away).unwrap();
    foreign(&folder.path().join("other"), &wal);
    let before = logs(&wal);
    for access in [
        Access::Create,
        Access::Write,
        Access::Extend,
        Access::Upgrade,
    ] {
        bench.params.access = access;
        assert!(refusal(bench.try_open()).contains("log files of another database"));
    }
    assert!(
        refusal((bench.driver.destroy)(&bench.params, &|_| Ok(()))).contains("another database")
    );
    assert_eq!(logs(&wal), before);
    fs::remove_dir_all(&wal).unwrap();
    fs::rename(&away, &wal).unwrap();
    let database = bench.open();
    let found = read(&mut *database.session().unwrap(), 1, Fields::All).unwrap();
    assert_eq!(found.records, 1);
    drop(database);
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert!(bench.is_empty());
}

#[test]
fn a_database_that_was_moved_is_not_opened_with_the_log_directory_that_it_had() {
    let mut bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let before = contents(bench.data_path());
    // Versions before 6.19 record the directory of the database as that of its log.
    let was = bench.path("was");
    let is_options = |path: &&PathBuf| path.to_string_lossy().contains("/OPTIONS-");
    let options = before.keys().rfind(is_options).unwrap();
    let text = String::from_utf8(before[options].clone()).unwrap();
    let log = format!("[DBOptions]\n  wal_dir={}\n", was.display());
    fs::write(options, text.replacen("[DBOptions]\n", &log, 1)).unwrap();
    for is_there in [false, true] {
        if is_there {
            fs::create_dir(&was).unwrap();
        }
        let given = [("wal_dir", was.to_str().unwrap())];
        bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
        let refused = refusal(bench.try_open());
        assert!(
            refused.contains("log with records in its own directory"),
            "{refused}"
        );
    }
    let own = bench.data_path().to_owned();
    let given = [("wal_dir", own.to_str().unwrap())];
    bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
    let database = bench.open();
    let found = read(&mut *database.session().unwrap(), 1, Fields::All).unwrap();
    assert_eq!(found.records, 1);
}

#[test]
fn nothing_is_written_beside_the_log_of_another_program() {
    let [place, wal] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_wal_dir(wal.path());
    let open = || DB::open_cf(&options, place.path().join("db"), ["usertable"]).unwrap();
    drop(open());
    let mut bench = with_log(wal.path());
    bench.params.location = Location::Directory(place.path().join("db"));
    bench.params.access = Access::Write;
    for _ in 0..2 {
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 1).unwrap();
        drop(database);
        assert!(!wal.path().join("tailmark.wal.json").exists());
        // Its own program continues to write, under other numbers.
        drop(open());
    }
}

#[test]
fn a_log_directory_that_takes_the_place_of_another_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (wal, aside) = (folder.path().join("wal"), folder.path().join("aside"));
    let bench = with_log(&wal);
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    let name = logs(&wal).into_keys().next().unwrap();
    let refused = (bench.driver.destroy)(&bench.params, &|_| {
        fs::rename(&wal, &aside).unwrap();
        fs::create_dir(&wal).unwrap();
        fs::write(wal.join(&name), "theirs").unwrap();
        Ok(())
    });
    assert!(refusal(refused).contains("has replaced its wal_dir"));
    assert_eq!(fs::read(wal.join(&name)).unwrap(), b"theirs");
}
