//! Which database a directory holds, and what is left as it is: one that is in use, or not whole.

use crate::support::*;
use rust_rocksdb::{DB, Options};
use std::{error::Error as _, fs};
use tailmark_driver::{Access, Error, Identity, db::NewestOptions};
use tailmark_testing::{contents, test};

fn identity(bench: &Bench) -> Option<Identity> {
    (bench.driver.identity)(bench.data_path()).unwrap()
}

fn id(bench: &Bench) -> String {
    identity(bench).and_then(|found| found.id).unwrap()
}

/// What opening and removing it say.
fn refusals(bench: &mut Bench) -> Vec<Error> {
    let mut all =
        vec![(bench.driver.destroy)(&bench.params, &|_| Ok(())).expect_err("it was removed")];
    for access in [Access::Create, Access::Extend, Access::Upgrade] {
        bench.params.access = access;
        all.push(bench.try_open().err().expect("it was opened"));
    }
    all
}

#[test]
fn files_of_a_database_that_has_lost_its_current_are_neither_opened_nor_removed() {
    for names in [
        &["000012.sst"][..],
        &["000009.log", "000011.log"],
        &["archive/000003.log"],
        &["MANIFEST-000005", "IDENTITY", "LOG"],
        &["OPTIONS-000007"],
        &["000003.blob", "notes.txt"],
    ] {
        let mut bench = Bench::new("rocksdb");
        for name in names {
            let file = bench.data_path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "years of work").unwrap();
        }
        let before = contents(bench.data_path());
        let refused = refusals(&mut bench);
        assert!(contents(bench.data_path()) == before, "{names:?}");
        let made = &refused[1];
        let why = made.source().unwrap().to_string();
        for part in [names[0], "no `CURRENT`", "name another directory"] {
            assert!(why.contains(part), "{part} in {why}");
        }
    }
}

#[test]
fn what_a_killed_creation_left_is_no_damaged_database() {
    let bench = Bench::new("rocksdb");
    fs::create_dir(bench.data_path()).unwrap();
    for (name, content) in [
        ("LOCK", ""),
        (
            "LOG",
            "2026/11/25-12:34:23.123456 1 RocksDB version: 11.12.0\nGit sh",
        ),
        ("IDENTITY", "0b5a2a43-94b5-4b4c-9a4a-3c54b43be1a3"),
        ("000001.dbtmp", "MANIFEST-000001\n"),
        ("MANIFEST-000001", "crc4\x02\x00\x01\x02\x00"),
    ] {
        fs::write(bench.data_path().join(name), content).unwrap();
    }
    assert!(identity(&bench).unwrap().is_new);
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    drop(database);
    assert!(!identity(&bench).unwrap().is_new, "a record is in its log");
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert_eq!(identity(&bench), None);
}

#[test]
fn a_database_that_is_in_use_is_refused_and_no_file_of_it_changes() {
    let mut bench = Bench::new("rocksdb");
    let mut options = Options::default();
    options.create_if_missing(true);
    let theirs = DB::open(&options, bench.data_path()).unwrap();
    theirs.put("acknowledged", "yes").unwrap();
    let before = contents(bench.data_path());
    for refused in refusals(&mut bench) {
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    }
    assert!(contents(bench.data_path()) == before, "a file changed");
    // It still has its lock.
    DB::open(&options, bench.data_path()).unwrap_err();
    theirs.put("more", "yes").unwrap();
}

#[test]
fn an_options_file_of_an_older_version_does_not_take_the_identity_from_the_manifest() {
    let mut bench = Bench::new("rocksdb");
    let file = bench.path("base.ini");
    let text = "[Version]\nrocksdb_version=7.8.3\noptions_file_version=1.1\n[DBOptions]\n\
                write_dbid_to_manifest=false\n[CFOptions \"default\"]\n";
    fs::write(&file, text).unwrap();
    let settings = bench.params.settings.clone();
    bench.params.settings = settings.with("options_file", &file.to_string_lossy());
    for access in [Access::Create, Access::Write] {
        bench.params.access = access;
        drop(bench.open());
        assert!(identity(&bench).unwrap().is_confirmed, "{access:?}");
    }
}

#[test]
fn a_database_is_told_from_another_one_in_its_place_and_not_from_its_copy() {
    let bench = Bench::new("rocksdb");
    assert_eq!(identity(&bench), None);
    drop(bench.open());
    let first = id(&bench);
    drop(bench.open());
    assert_eq!(id(&bench), first);
    let moved = bench.path("moved");
    fs::rename(bench.data_path(), &moved).unwrap();
    drop(bench.open());
    assert_ne!(id(&bench), first);
    fs::remove_dir_all(bench.data_path()).unwrap();
    fs::create_dir(bench.data_path()).unwrap();
    for (file, bytes) in contents(&moved) {
        fs::write(bench.data_path().join(file.file_name().unwrap()), bytes).unwrap();
    }
    assert_eq!(id(&bench), first);
}

#[test]
fn a_checkpoint_that_was_copied_over_a_database_does_not_confirm_its_name() {
    let bench = Bench::new("rocksdb");
    drop(bench.open());
    let first = identity(&bench).unwrap();
    assert!(first.is_confirmed);
    let mut options = Options::default();
    options.create_if_missing(true);
    let theirs = DB::open(&options, bench.path("theirs")).unwrap();
    theirs.put("years", "of work").unwrap();
    let checkpoint = bench.path("checkpoint");
    let made = rust_rocksdb::checkpoint::Checkpoint::new(&theirs).unwrap();
    made.create_checkpoint(&checkpoint).unwrap();
    // A checkpoint has no `IDENTITY`: ours stays.
    for (file, bytes) in contents(&checkpoint) {
        fs::write(bench.data_path().join(file.file_name().unwrap()), bytes).unwrap();
    }
    let found = identity(&bench).unwrap();
    assert_eq!((&found.id, found.is_confirmed), (&first.id, false));
}

#[test]
fn records_of_another_program_make_a_database_that_programs_and_a_look_at_it_does_not() {
    for (puts, flushes, is_ours) in [
        (false, false, true),
        (true, false, false),
        (true, true, false),
    ] {
        let bench = Bench::new("rocksdb");
        let database = bench.open();
        insert(&mut *database.session().unwrap(), 1).unwrap();
        assert!(database.flush(&|| false).unwrap());
        drop(database);
        let families = ["default", "usertable"];
        let theirs = DB::open_cf(&Options::default(), bench.data_path(), families).unwrap();
        if puts {
            theirs.put("years", "of work").unwrap();
        }
        if flushes {
            theirs.flush().unwrap();
        }
        drop(theirs);
        let found = identity(&bench).unwrap();
        assert_eq!(found.is_confirmed, is_ours, "{puts} {flushes}");
    }
}

#[test]
fn a_program_that_opens_a_database_with_the_options_that_it_finds_is_not_taken_for_tailmark() {
    let bench = Bench::new("rocksdb");
    drop(bench.open());
    let newest = || NewestOptions::read(bench.data_path()).unwrap().unwrap();
    assert!(newest().is_tailmarks && identity(&bench).unwrap().is_confirmed);
    let files = contents(bench.data_path());
    let (file, text) = files
        .iter()
        .rfind(|(file, _)| file.to_string_lossy().contains("/OPTIONS-"))
        .unwrap();
    let text = String::from_utf8(text.clone()).unwrap();
    assert!(text.contains("db_host_id=tailmark-11.12.0\n"), "{text}");
    let theirs = text.replace("rocksdb_version=11.12.0", "rocksdb_version=9.8.4");
    fs::write(file, theirs).unwrap();
    assert!(!newest().is_tailmarks && newest().is_copied);
    assert!(!identity(&bench).unwrap().is_confirmed);
    // It does not become tailmark's when it is written here.
    let mut params = bench.params.clone();
    params.access = Access::Upgrade;
    drop((bench.driver.open)(&params).unwrap());
    assert!(!newest().is_tailmarks && !newest().is_copied);
}

#[test]
fn a_log_directory_with_tables_of_another_database_is_refused() {
    let mut bench = Bench::new("rocksdb");
    let wal = bench.path("wal");
    fs::create_dir(&wal).unwrap();
    bench.params.settings = bench.params.settings.with("wal_dir", wal.to_str().unwrap());
    drop(bench.open());
    // Also if they appear when the directory is already ours.
    fs::write(wal.join("000012.sst"), "years of work").unwrap();
    let refused = bench.try_open().err().expect("it was opened");
    let why = refused.source().unwrap().to_string();
    assert!(
        why.contains("000012.sst") && why.contains("another directory"),
        "{why}"
    );
    assert_eq!(fs::read(wal.join("000012.sst")).unwrap(), b"years of work");
    fs::remove_file(wal.join("000012.sst")).unwrap();
    drop(bench.open());
}

#[test]
fn a_note_of_a_removal_says_nothing_of_the_files_of_another_database() {
    let mut bench = Bench::new("rocksdb");
    fs::create_dir_all(bench.data_path()).unwrap();
    let note = "fb43cd75-5b0f-4c9c-a3b3-6b3f9b0e8c11";
    for (name, is_before) in [
        ("000007.sst", true),
        ("000007.sst", false),
        ("000004.log", false),
    ] {
        let (note_at, theirs) = (
            bench.data_path().join("tailmark.removing"),
            bench.data_path().join(name),
        );
        let files = [(&note_at, note), (&theirs, "theirs")];
        for (at, text) in if is_before {
            [files[1], files[0]]
        } else {
            files
        } {
            fs::write(at, text).unwrap();
            // The clock of a file system ticks every few milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let removal = refusals(&mut bench).remove(0).source().unwrap().to_string();
        assert!(removal.contains(name), "{removal}");
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        fs::remove_file(theirs).unwrap();
    }
}

#[test]
fn a_removal_that_was_killed_is_known_by_its_note_and_is_finished() {
    let bench = Bench::new("rocksdb");
    let database = bench.open();
    insert(&mut *database.session().unwrap(), 1).unwrap();
    assert!(database.flush(&|| false).unwrap());
    drop(database);
    let first = id(&bench);
    let file = |name: &str| bench.data_path().join(name);
    fs::write(file("tailmark.removing"), &first).unwrap();
    fs::remove_file(file("CURRENT")).unwrap();
    fs::remove_file(file("IDENTITY")).unwrap();
    assert_eq!(id(&bench), first);
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert!(bench.is_empty());
    // It does not matter if another program has created a database there since.
    let theirs = bench.open();
    fs::write(file("tailmark.removing"), &first).unwrap();
    drop(theirs);
    assert_ne!(id(&bench), first);
}
