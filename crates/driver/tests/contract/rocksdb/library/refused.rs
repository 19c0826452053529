//! What is told of libraries that are missing, or are not what they seem, and of their data.

use super::*;
use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tailmark_driver::Settings;
use tailmark_testing::test;

fn checked(named: &str) -> Settings {
    let driver = db::find("rocksdb").unwrap();
    check(driver, &[("library", named)], &data(1)).unwrap()
}

#[test]
fn a_missing_version_is_a_notice_with_the_one_that_is_used_and_the_way_to_get_it() {
    let missing = checked("0.1.2 or embedded");
    assert_eq!(missing.text("library"), Some("embedded"));
    assert_eq!(
        missing.notices(),
        [
            "RocksDB 0.1.2 is not fetched, so the embedded 11.12.0 is used; get it with: tailmark \
             rocksdb fetch 0.1.2"
        ]
    );
    let version = library("9.10.0");
    let other = checked(&format!("0.1.2 or {version}"));
    assert_eq!(other.text("library"), Some("9.10.0"));
    let says = &other.notices()[0];
    assert!(says.contains("so 9.10.0 (`9.10.0`) is used; get"), "{says}");
    let there = checked(&format!("{version} or embedded"));
    assert_eq!(there.text("library"), Some(&*version));
    assert!(there.notices().is_empty(), "{:?}", there.notices());
}

#[test]
fn the_embedded_library_is_named_embedded() {
    for settings in [
        checked("embedded"),
        check(db::find("rocksdb").unwrap(), &[], &data(1)).unwrap(),
    ] {
        assert_eq!(settings.text("library"), Some("embedded"));
        assert!(settings.notices().is_empty());
    }
    let facts = Bench::new("rocksdb").open().facts();
    assert_eq!(facts["library"], "embedded");
}

#[test]
fn the_beginning_of_a_version_means_its_newest_fetched_release() {
    for (name, beginning, version) in [
        ("8.1.1.1", "8.1", "8.1.1"),
        ("9.10.0", "9", "9.10.0"),
        ("6.22.1.1", "6.22.1", "6.22.1"),
    ] {
        library(name);
        let bench = Bench::with("rocksdb", &[("library", beginning)]);
        let named = if beginning == "6.22.1" {
            beginning
        } else {
            name
        };
        assert_eq!(bench.params.settings.text("library"), Some(named));
        assert_eq!(bench.open().facts()["version"], version);
    }
    let says = is_refused(&[("library", "0.1")]);
    assert!(
        says.contains(
            "RocksDB 0.1 is not fetched; `0.1` means the newest fetched 0.1.x; get one by its"
        ),
        "{says}"
    );
    let prefixed = is_refused(&[("library", "v8.1.1")]);
    assert!(
        prefixed.contains("a version such as 8.1.1 or 8.1 (digits and dots alone)"),
        "{prefixed}"
    );
}

#[test]
fn a_jar_that_holds_another_version_than_its_name_says_is_refused_with_both() {
    let jar = db::jar_name(&library("9.10.0"));
    let folder = tempfile::tempdir().unwrap();
    let misnamed = folder.path().join("rocksdbjni-8.1.1.jar");
    fs::copy(db::libraries_directory().unwrap().join(jar), &misnamed).unwrap();
    let says = is_refused(&[("library", misnamed.to_str().unwrap())]);
    assert!(
        says.contains("it is RocksDB 9.10.0, but its name says 8.1.1: replace it"),
        "{says}"
    );
}

#[test]
fn a_format_that_a_version_does_not_write_is_refused_by_its_setting() {
    let library = library("8.1.1.1");
    let says = is_refused(&[("library", &library), ("format_version", "7")]);
    assert!(
        says.starts_with(
            "database.format_version is `7`, but it must be a value that RocksDB 8.1.1"
        ),
        "{says}"
    );
    let known = [("library", &*library), ("format_version", "5")];
    assert!(check(db::find("rocksdb").unwrap(), &known, &data(1)).is_ok());
}

#[test]
fn data_that_an_old_version_cannot_read_is_called_intact_with_the_library_that_reads_it() {
    for old in ["5.11.3", "6.22.1.1"] {
        let library = library(old);
        let mut bench = use_database("embedded", 10);
        let of_embedded = bench.params.settings.clone();
        bench.params.settings = check(bench.driver, &[("library", &library)], &data(10)).unwrap();
        bench.params.access = Access::Upgrade;
        let refused = in_full(&bench.try_open().err().unwrap());
        for part in [
            "RocksDB 11.12.0 wrote to it last, in a form that ",
            " does not know (",
            "The data is intact. Open it with the embedded RocksDB",
        ] {
            assert!(refused.contains(part), "{old}: {refused}");
        }
        bench.params.settings = of_embedded;
        let database = bench.open();
        let mut session = database.session().unwrap();
        let found = (0..10).filter(|&n| read(&mut *session, n, Fields::All).unwrap().records == 1);
        assert_eq!(found.count(), 10, "{old}");
    }
}

fn in_full(error: &Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

/// Puts a link to a foreign file in place of the note that a library opened the database.
fn link_to_note(library: &str) -> (Bench, PathBuf, PathBuf) {
    let bench = use_database(library, 10);
    let (note, others) = (
        bench.data_path().join("tailmark.opened"),
        bench.path("others"),
    );
    fs::rename(&note, &others).unwrap();
    symlink(&others, &note).unwrap();
    (bench, note, others)
}

#[test]
fn a_link_in_place_of_the_note_is_replaced_and_its_target_is_not_written() {
    let (bench, note, others) = link_to_note(&library("9.10.0"));
    fs::write(&others, "of another program").unwrap();
    drop(bench.open());
    assert_eq!(fs::read_to_string(&others).unwrap(), "of another program");
    assert!(fs::symlink_metadata(&note).unwrap().is_file());
}

#[test]
fn a_note_is_not_read_through_a_link() {
    let (bench, note, others) = link_to_note(&library("5.11.3"));
    let is_confirmed = || {
        let identity = (bench.driver.identity)(bench.data_path()).unwrap();
        identity.unwrap().is_confirmed
    };
    assert!(!is_confirmed());
    fs::rename(&others, &note).unwrap();
    assert!(is_confirmed());
}

#[test]
fn a_draft_that_a_killed_run_left_is_removed_with_its_database() {
    let draft = |place: &Path, random: &str| {
        let path = place.join(format!(".tailmark-{random}.new"));
        fs::write(&path, "half").unwrap();
        path
    };
    let bench = use_database("embedded", 10);
    let foreign = draft(bench.data_path(), "short");
    let refused = (bench.driver.destroy)(&bench.params, &|_| Ok(()));
    assert!(refused.is_err() && foreign.exists());
    fs::remove_file(&foreign).unwrap();
    draft(bench.data_path(), &"a".repeat(32));
    (bench.driver.destroy)(&bench.params, &|_| Ok(())).unwrap();
    assert!(bench.is_empty());
}
