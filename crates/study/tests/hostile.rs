//! A study is input and not code: whatever a file from elsewhere holds, it is read or refused, quickly
//! and in little memory. And the files that tailmark writes pass the checks of other SQLite programs.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{header, load, point, systems};
use rusqlite::Connection;
use std::{
    error::Error,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tailmark_model::{ErrorCount, Fact, Kind, finding};
use tailmark_study::{Error as StudyError, Study};
use tailmark_testing::{MEMORY_MAX, MemoryWatch, not_installed, test};

/// Far more than any of them needs; a file that is not refused takes for ever.
const LONG: Duration = Duration::from_secs(30);

fn study(dir: &Path) -> Study {
    let study = Study::create(dir, &header(), &systems()).unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    study.add_point(&point(8, false)).unwrap();
    study
}

fn read(dir: &Path) -> Result<(), StudyError> {
    let study = Study::open_read_only(dir)?;
    study.header()?;
    study.systems()?;
    study.facts()?;
    study.notices()?;
    study.resolved_rates()?;
    study.warmups()?;
    study.loads()?;
    study.points().map(drop)
}

#[test]
fn a_link_in_the_place_of_a_study_is_read_and_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let (own, linked) = (dir.path().join("own"), dir.path().join("linked"));
    drop(study(&own));
    std::fs::create_dir(&linked).unwrap();
    let (file, link) = (own.join(Study::FILE), linked.join(Study::FILE));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let refused = |path: &Path| matches!(Study::open(path), Err(StudyError::Linked { .. }));
    assert!(refused(&linked) && !refused(&own));
    read(&linked).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::fs::hard_link(&file, &link).unwrap();
    assert!(refused(&linked));
}

/// What reading a study says after these statements, with every cause.
fn after(sql: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let connection = Connection::open(dir.path().join(Study::FILE)).unwrap();
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let mut memory = MemoryWatch::start();
    let began = Instant::now();
    let found = memory.measure(|| read(dir.path()));
    assert!(began.elapsed() < LONG, "{sql}");
    let most = memory.peak().max(memory.of_process());
    assert!(most < MEMORY_MAX, "{most} bytes: {sql}");
    found.map_err(|error| all_causes(&error))
}

fn all_causes(error: &StudyError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[test]
fn what_is_no_table_of_a_study_is_refused() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    for (sql, what) in [
        (
            format!(
                "DROP TABLE finding; CREATE VIEW finding AS {endless}
                 SELECT 1 AS phase, 'errors' AS code, 'x' AS text FROM n"
            ),
            "view `finding`",
        ),
        (
            "DROP TABLE notice; CREATE VIEW notice AS
             SELECT 1 AS position, CAST(zeroblob(1000000000) AS TEXT) AS text"
                .to_owned(),
            "view `notice`",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON notice BEGIN
             INSERT INTO notice (text) SELECT text FROM notice; END"
                .to_owned(),
            "trigger `t`",
        ),
        (
            "CREATE VIRTUAL TABLE v USING rtree(id, a, b)".to_owned(),
            "`v",
        ),
        (
            "ALTER TABLE header ADD COLUMN big TEXT AS (hex(zeroblob(100000000)))".to_owned(),
            "`big TEXT computed` of table `header`",
        ),
        ("CREATE TABLE mine (x INTEGER)".to_owned(), "table `mine`"),
        ("DROP TABLE resolved_rate".to_owned(), "no "),
        (
            "CREATE INDEX e ON notice (hex(zeroblob(1000)))".to_owned(),
            "index `e`",
        ),
    ] {
        let error = after(&sql).unwrap_err();
        assert!(
            error.contains("is not a study that tailmark wrote") && error.contains(what),
            "{sql}: {error}"
        );
    }
}

#[test]
fn values_that_no_study_has_are_refused_by_name() {
    for (sql, said) in [
        (
            "UPDATE header SET created_ms = 9223372036854775807",
            "`created_ms` is 9223372036854775807",
        ),
        ("UPDATE header SET created_ms = -1", "`created_ms` is -1"),
        (
            "UPDATE header SET title = replace(hex(zeroblob(3000)), '00', 'ab')",
            "`abababababababababababababababababababab...` has 6000 bytes",
        ),
        (
            "UPDATE system SET name = char(27) || hex(zeroblob(10000000)) WHERE position = 1",
            "`\\u{1b}0000000",
        ),
        (
            // 50 MB.
            "UPDATE system SET name = hex(zeroblob(25000000)) WHERE position = 1",
            "too big",
        ),
        (
            "INSERT INTO notice (text) VALUES (hex(zeroblob(3000000)))",
            "has 6000000 bytes",
        ),
        (
            "INSERT INTO resolved_rate VALUES (9, 'a', 'b', 'c', 'd', 'e', 9e999, 1)",
            "`peak_ops_per_sec` is inf",
        ),
    ] {
        let error = after(sql).unwrap_err();
        assert!(error.contains(said), "{sql}: {error}");
    }
}

#[test]
fn a_study_with_more_systems_facts_or_notices_than_a_report_can_show_is_refused() {
    let many =
        "WITH RECURSIVE c(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM c WHERE i < 200000)";
    for (sql, table) in [
        (
            "INSERT INTO system SELECT i, 's' || i, 'null', '', '', '{}', NULL FROM c",
            "`system`",
        ),
        (
            "INSERT INTO fact SELECT i, NULL, 'g' || i, 'n', 'v' FROM c",
            "`fact`",
        ),
        ("INSERT INTO notice SELECT i, 'n' || i FROM c", "`notice`"),
    ] {
        let error = after(&format!("{many} {sql}")).unwrap_err();
        assert!(error.contains(table) && error.contains("rows"), "{error}");
    }
}

#[test]
fn a_system_that_is_one_too_many_is_not_added() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let mut system = systems().remove(0);
    let refused = (0..300).find(|at| {
        system.name = format!("s{at}");
        study.add_system(&system).is_err()
    });
    assert_eq!(refused, Some(256 - systems().len()));
    read(dir.path()).unwrap();
}

#[test]
fn a_study_without_its_digests_is_refused() {
    for sql in [
        "UPDATE phase SET totals_digest = NULL, details_digest = NULL",
        "UPDATE phase SET totals_digest = NULL",
        "UPDATE phase SET details_digest = NULL WHERE id = 1",
    ] {
        let error = after(sql).unwrap_err();
        assert!(error.contains("its digests are missing"), "{sql}: {error}");
    }
}

#[test]
fn evidence_of_a_finding_that_no_rule_writes_is_refused() {
    let evidence = |name: &str, values: usize| {
        let one = serde_json::json!({ "name": name, "value": 1, "unit": "%" });
        serde_json::Value::from(vec![one; values]).to_string()
    };
    let owned = [
        (evidence("a", 10_001), "too many values"),
        (evidence(&"a".repeat(4097), 1), "more than 4096 bytes"),
        (r#"[{"name":"a","value":[1],"unit":""}]"#.to_owned(), ""),
        (r#"[{"name":"a","value":1e999,"unit":""}]"#.to_owned(), ""),
    ];
    for (written, said) in owned {
        let dir = tempfile::tempdir().unwrap();
        drop(study(dir.path()));
        let connection = Connection::open(dir.path().join(Study::FILE)).unwrap();
        connection
            .execute("UPDATE finding SET evidence = ? WHERE rowid = 1", [written])
            .unwrap();
        drop(connection);
        let study = Study::open(dir.path()).unwrap();
        study.reseal().unwrap();
        let error = all_causes(&study.loads().and(study.points()).unwrap_err());
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_code_of_a_finding_that_is_not_known_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let connection = Connection::open(dir.path().join(Study::FILE)).unwrap();
    let owned = "a/../../../pw/\u{1b}owned";
    connection
        .execute("UPDATE finding SET code = ? WHERE rowid = 1", [owned])
        .unwrap();
    drop(connection);
    let study = Study::open(dir.path()).unwrap();
    study.reseal().unwrap();
    let phases = [
        study
            .loads()
            .unwrap()
            .into_iter()
            .map(|l| l.phase)
            .collect(),
        study
            .points()
            .unwrap()
            .into_iter()
            .map(|p| p.phase)
            .collect::<Vec<_>>(),
    ];
    let findings: Vec<_> = phases
        .concat()
        .into_iter()
        .flat_map(|p| p.findings)
        .collect();
    assert!(
        findings
            .iter()
            .all(|found| finding::find(&found.code).is_some())
    );
    let unknown: Vec<_> = findings
        .iter()
        .filter(|f| finding::UNKNOWN.is_of(f))
        .collect();
    assert_eq!(unknown.len(), 1);
    assert!(
        unknown[0]
            .text()
            .ends_with("(`a/../../../pw/\\u{1b}owned`)"),
        "{unknown:?}"
    );
}

#[test]
fn a_name_that_could_not_be_read_again_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let mut system = systems().remove(0);
    system.name = "x".repeat(5_000);
    let error = study.add_system(&system).unwrap_err();
    let why = error.source().unwrap().to_string();
    assert!(
        why.contains("has 5000 bytes; at most 4096 are allowed"),
        "{why}"
    );
    read(dir.path()).unwrap();
}

/// What the machine's `sqlite3` says.
fn sqlite3(args: &[&str], input: Stdio) -> String {
    let output = Command::new("sqlite3").args(args).stdin(input).output();
    let Ok(output) = output else {
        not_installed("sqlite3 is not installed");
    };
    assert!(output.status.success(), "{output:?}");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[test]
fn other_sqlite_programs_check_and_restore_a_study() {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let file = dir.path().join(Study::FILE);
    let file = file.to_str().unwrap();
    let check = sqlite3(&[file, "PRAGMA integrity_check"], Stdio::null());
    assert_eq!(check.trim(), "ok");
    let dump = sqlite3(&[file, ".dump"], Stdio::null());
    let (script, copy) = (dir.path().join("dump.sql"), dir.path().join("copy"));
    std::fs::create_dir(&copy).unwrap();
    // A dump does not have what says that it is a study, and of which version.
    let version = Study::VERSION;
    let marks = format!("PRAGMA user_version = {version};\nPRAGMA application_id = 0x746d726b;\n");
    std::fs::write(&script, dump + &marks).unwrap();
    let restored = copy.join(Study::FILE);
    let input = std::fs::File::open(&script).unwrap();
    let said = sqlite3(&[restored.to_str().unwrap()], input.into());
    assert_eq!(said, "");
    let [before, after] = [dir.path(), &copy].map(|dir| Study::open_read_only(dir).unwrap());
    assert_eq!(before.points().unwrap(), after.points().unwrap());
    assert_eq!(before.loads().unwrap(), after.loads().unwrap());
    assert_eq!(before.header().unwrap(), after.header().unwrap());
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// A rollback journal that changes nothing in a study of 4 KiB pages, and what follows its header.
fn journal(pages: u32, page: u32, end: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for number in [0, 1234, pages, 512, page] {
        bytes.extend(u32::to_be_bytes(number));
    }
    bytes.resize(512, 0);
    bytes.extend(end);
    bytes
}

const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// What SQLite ends a journal with to name the super-journal that it belongs to.
fn super_journal(path: &Path) -> Vec<u8> {
    let name = path.as_os_str().as_encoded_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let lock_page = (0x4000_0000_u32 / 4096 + 1).to_be_bytes();
    let length = (name.len() as u32).to_be_bytes();
    [&lock_page, name, &length, &sum.to_be_bytes(), &MAGIC].concat()
}

#[test]
fn what_is_beside_a_study_is_neither_rolled_back_nor_removes_a_file_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let (file, notes) = (dir.path().join(Study::FILE), dir.path().join("notes.txt"));
    std::fs::write(&notes, "mine").unwrap();
    let before = std::fs::read(&file).unwrap();
    let pages = before.len() as u32 / 4096;
    for (ending, foreign) in [
        // SQLite takes the notes for a super-journal that is done with, and removes them.
        ("-journal", journal(pages, 4096, &super_journal(&notes))),
        ("-journal", journal(pages, 8192, &[])),
        ("-journal", journal(pages + 1, 4096, &[])),
        ("-journal", b"the journal of my travels".to_vec()),
        ("-journal", vec![b'a'; 8192]),
        ("-wal", before.clone()),
        ("-shm", vec![0; 32768]),
        ("-wal", Vec::new()),
    ] {
        let beside = dir.path().join(format!("{}{ending}", Study::FILE));
        std::fs::write(&beside, &foreign).unwrap();
        for opened in [Study::open(dir.path()), Study::open_read_only(&file)] {
            let refused = opened.err().unwrap();
            assert!(
                matches!(refused, StudyError::NotAJournal { .. }),
                "{refused}"
            );
            assert!(refused.to_string().contains("move it elsewhere"));
        }
        assert!(std::fs::read(&beside).unwrap() == foreign, "{ending}");
        assert!(std::fs::read(&file).unwrap() == before, "{ending}");
        assert_eq!(std::fs::read(&notes).unwrap(), b"mine");
        std::fs::remove_file(beside).unwrap();
    }
}

#[test]
fn what_a_killed_run_left_half_written_is_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let file = dir.path().join(Study::FILE);
    let before = std::fs::read(&file).unwrap();
    // As a kill leaves it: in the middle of a transaction that no longer fits into memory, or with a
    // journal of which nothing is on the disk yet.
    let killed = Connection::open(&file).unwrap();
    let sql = "PRAGMA cache_size = 1; BEGIN;
               WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n LIMIT 200)
               INSERT INTO notice SELECT i, hex(randomblob(2000)) FROM n";
    killed.execute_batch(sql).unwrap();
    let journal = dir.path().join(format!("{}-journal", Study::FILE));
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join(Study::FILE);
    std::fs::copy(&file, &copied).unwrap();
    let beside = copy.path().join(format!("{}-journal", Study::FILE));
    std::fs::copy(&journal, &beside).unwrap();
    drop(killed);
    assert!(
        std::fs::read(&copied).unwrap() != before,
        "nothing was half-written"
    );
    read(copy.path()).unwrap();
    assert!(std::fs::read(&copied).unwrap() == before && !beside.exists());
    for unsynced in [Vec::new(), vec![0; 512]] {
        std::fs::write(&beside, unsynced).unwrap();
        read(copy.path()).unwrap();
    }
}

#[test]
fn what_a_host_says_at_any_length_is_cut_to_what_can_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let long = "n".repeat(5 << 20);
    let fact = Fact {
        system: None,
        group: "machine".to_owned(),
        name: long.clone(),
        value: long.clone(),
    };
    study.set_facts(&[fact]).unwrap();
    study.add_notice(&long).unwrap();
    let mut point = point(4, true);
    point.phase.errors = vec![ErrorCount {
        kind: Kind::Read,
        cause: long.clone(),
        count: 1,
        example: long.clone(),
    }];
    point.phase.series[0].name.clone_from(&long);
    study.add_point(&point).unwrap();
    let facts = study.facts().unwrap();
    assert_eq!(
        (facts[0].name.len(), facts[0].value.len()),
        (4 << 10, 4 << 20)
    );
    assert_eq!(study.notices().unwrap()[0].len(), 4 << 20);
    let phase = &study.points().unwrap()[0].phase;
    assert_eq!(phase.errors[0].example.len(), 4 << 20);
    assert_eq!(phase.series[0].name.len(), 4 << 10);
}
