//! Databases that another version of RocksDB wrote: which of them that version could not read afterwards.

use super::harm::{contents, refusal};
use crate::support::*;
use std::fs;
use tailmark_driver::{Access, Fields, db::NewestOptions};
use tailmark_testing::test;

/// Says in its newest OPTIONS file that this version wrote the database.
fn written_by(bench: &Bench, version: &str) {
    let options = contents(bench.data_path()).into_iter().rfind(|(path, _)| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("OPTIONS-")
    });
    let (path, text) = options.unwrap();
    let text = String::from_utf8(text).unwrap();
    let now = NewestOptions::read(bench.data_path())
        .unwrap()
        .unwrap()
        .version
        .unwrap();
    fs::write(
        path,
        text.replace(&format!("={now}"), &format!("={version}")),
    )
    .unwrap();
}

#[test]
fn a_version_that_could_not_read_it_any_more_is_not_locked_out() {
    let mut bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    written_by(&bench, "5.11.3");
    let before = contents(bench.data_path());
    for access in [Access::Write, Access::Create] {
        bench.params.access = access;
        let refused = refusal(bench.try_open());
        for part in ["RocksDB 5.11.3", "--upgrade"] {
            assert!(refused.contains(part), "{part} in {refused}");
        }
    }
    bench.params.access = Access::ReadCompatible;
    let database = bench.open();
    let found = read(&mut *database.session().unwrap(), 1, Fields::All).unwrap();
    assert_eq!(found.records, 1);
    let facts = database.facts();
    assert_eq!(facts["access"], "read-only");
    let error = insert(&mut *database.session().unwrap(), 2);
    assert!(error.is_err(), "it is open for reading alone");
    assert!(database.flush(&|| false).unwrap());
    drop(database);
    assert_eq!(contents(bench.data_path()), before);
    bench.params.access = Access::Upgrade;
    let upgraded = bench.open().facts();
    // Every opening for writing records in the OPTIONS file what the facts show for reading.
    assert_eq!(upgraded["version"], facts["version"]);
    bench.params.access = Access::Write;
    drop(bench.open());
}

#[test]
fn a_database_without_options_is_another_programs_though_its_records_are_in_its_log_alone() {
    let mut bench = Bench::new("rocksdb");
    insert(&mut *bench.open().session().unwrap(), 1).unwrap();
    // LevelDB stores neither.
    for path in contents(bench.data_path()).into_keys() {
        let name = path.file_name().unwrap().to_string_lossy();
        if name == "IDENTITY" || name.starts_with("OPTIONS-") {
            fs::remove_file(&path).unwrap();
        }
    }
    let before = contents(bench.data_path());
    assert!(
        before
            .keys()
            .all(|path| path.extension().is_none_or(|is| is != "sst"))
    );
    for access in [Access::Write, Access::Create] {
        bench.params.access = access;
        let refused = refusal(bench.try_open());
        assert!(refused.contains("--upgrade"), "{refused}");
    }
    assert_eq!(contents(bench.data_path()), before);
    bench.params.access = Access::Upgrade;
    drop(bench.open());
}

#[test]
fn a_version_that_can_read_it_needs_no_consent_unless_a_newer_format_is_given() {
    for (version, given, is_readable) in [
        ("6.2.2", None, true),
        ("6.2.2", Some(("format_version", "4")), true),
        ("6.2.2", Some(("format_version", "5")), false),
        ("6.22.1", Some(("checksum", "xxh3")), false),
        ("8.1.1", Some(("checksum", "xxh3")), true),
        ("99.1.0", Some(("format_version", "7")), true),
        ("5.18.3", None, false),
        ("unheard-of", None, false),
    ] {
        let mut bench = Bench::with(
            "rocksdb",
            &[("format_version", "4"), ("checksum", "crc32c")],
        );
        drop(bench.open());
        written_by(&bench, version);
        let given: Vec<_> = given.into_iter().collect();
        bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
        let opened = bench.try_open();
        assert_eq!(opened.is_ok(), is_readable, "{version} {given:?}");
    }
}

#[test]
fn an_options_file_with_what_a_version_cannot_read_needs_consent() {
    let plain = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                 [CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
    for (header, line, older, newer) in [
        ("[DBOptions]", "wal_compression=kZSTD", "6.22.1", "8.1.1"),
        (
            "[CFOptions \"default\"]",
            "enable_blob_files=true",
            "6.2.2",
            "6.22.1",
        ),
        (
            "[TableOptions/BlockBasedTable \"default\"]",
            "index_type=kBinarySearchWithFirstKey",
            "6.2.2",
            "6.22.1",
        ),
    ] {
        let mut bench = Bench::with(
            "rocksdb",
            &[("format_version", "4"), ("checksum", "crc32c")],
        );
        drop(bench.open());
        let file = bench.path("options");
        let mut open = |text: &str, version: &str| {
            fs::write(&file, text).unwrap();
            let given = [("options_file", file.to_str().unwrap())];
            bench.params.settings = check(bench.driver, &given, &bench.params.data).unwrap();
            written_by(&bench, version);
            bench.try_open().map(drop)
        };
        let newest = plain.replace(header, &format!("{header}\n{line}"));
        let refused = refusal(open(&newest, older));
        assert!(refused.contains("--upgrade"), "{line}: {refused}");
        assert!(open(plain, older).is_ok(), "without {line}");
        assert!(open(&newest, newer).is_ok(), "{newer} reads {line}");
    }
}
