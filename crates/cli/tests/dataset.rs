//! What an earlier load has left in the place of a RocksDB, and what the program makes of it.

#![cfg(feature = "rocksdb")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod clean;

use rust_rocksdb::{DB, Options};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tailmark_model::Kind;
use tailmark_study::Study;
use tailmark_testing::{assert_says, err, out};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// Loads 20,000 records of 1 KiB below `place` and reads some; `out` is the run directory.
fn run(place: &Path, out: &Path) -> Output {
    run_with(place, out, &[])
}

fn run_with(place: &Path, out: &Path, more: &[&str]) -> Output {
    let system = format!("disk={}", place.display());
    Command::new(PROGRAM)
        .args(["run", "--system", &system, "--workload", "ycsb-c"])
        .args(["--records", "20k", "--set", "dataset.fields=1"])
        .args([
            "--operations",
            "2k",
            "--threads",
            "2",
            "--warmup",
            "0s",
            "-o",
        ])
        .arg(out)
        .args(more)
        .output()
        .unwrap()
}

fn refused(output: &Output, parts: &[&str]) {
    assert!(!output.status.success());
    assert_says(&err(output), parts);
}

fn succeeded(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Every read of the only point has found its record, and the study has one whole load.
fn assert_loaded_whole(out: &Path) {
    let study = Study::open_read_only(out).unwrap();
    let read = &study.points().unwrap()[0].phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.not_found, read.errors), (2000, 0, 0));
    let loads = study.loads().unwrap();
    assert_eq!((loads.len(), loads[0].records), (1, 20_000));
}

/// Makes the marker say that nothing is loaded, as before the first mark of a load, and while a
/// data set is removed.
fn mark_nothing(place: &Path) -> PathBuf {
    let marker = place.join("rocksdb.dataset.json");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, promising_nothing(&text)).unwrap();
    place.join("rocksdb")
}

fn promising_nothing(marker: &str) -> String {
    let text = marker.replace("\"loaded\": 20000", "\"loaded\": 0");
    text.replace("\"complete\": true", "\"complete\": false")
}

/// The marker as it is before its load has made a database.
fn begun_by(marker: &str) -> String {
    let lines = marker.lines().filter(|line| !line.contains("\"identity\""));
    promising_nothing(&lines.collect::<Vec<_>>().join("\n"))
}

fn files(directory: &Path) -> impl Iterator<Item = (String, u64)> {
    fs::read_dir(directory).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, entry.metadata().unwrap().len())
    })
}

#[test]
fn a_database_that_was_half_removed_is_removed_and_loaded() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    let database = mark_nothing(&place);
    for (name, _) in files(&database) {
        if name.starts_with("MANIFEST") || name.ends_with(".sst") {
            fs::remove_file(database.join(name)).unwrap();
        }
    }
    let out = dir.path().join("second");
    succeeded(&run(&place, &out));
    assert_loaded_whole(&out);
}

#[test]
fn what_a_load_left_behind_before_its_first_mark_is_not_loaded_on_top_of() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    let database = mark_nothing(&place);
    // RocksDB gives every database that it makes a name of its own.
    let identity = || fs::read_to_string(database.join("IDENTITY")).unwrap();
    let before = identity();
    let out = dir.path().join("second");
    succeeded(&run(&place, &out));
    assert_ne!(identity(), before);
    assert_loaded_whole(&out);
}

#[test]
fn data_of_others_is_adopted_after_a_sample_and_stays_theirs() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    let marker = place.join("rocksdb.dataset.json");
    fs::remove_file(&marker).unwrap();

    let out = |name| dir.path().join(name);
    let theirs = run(&place, &out("theirs"));
    refused(
        &theirs,
        &[
            "was not loaded by tailmark",
            "rocksdb.dataset.json",
            "--adopt",
        ],
    );
    let other_fields = ["--adopt", "--set", "dataset.fields=2"];
    let other = run_with(&place, &out("fields"), &other_fields);
    refused(
        &other,
        &["cannot be adopted: record 0", "field 1 is missing"],
    );
    let other_length = ["--adopt", "--set", "dataset.field_length=1000"];
    let longer = run_with(&place, &out("length"), &other_length);
    refused(&longer, &["field 0 has 1024 bytes, but the plan says 1000"]);
    let too_many = ["--adopt", "--set", "dataset.records=21k"];
    let more = run_with(&place, &out("records"), &too_many);
    refused(&more, &["it does not exist"]);
    let again = ["--adopt", "--set", "dataset.restore=reload"];
    refused(
        &run_with(&place, &out("again"), &again),
        &["never removes adopted data"],
    );

    succeeded(&run_with(&place, &out("adopted"), &["--adopt"]));
    assert!(!marker.exists(), "it was taken for tailmark's");
    let study = Study::open_read_only(&out("adopted")).unwrap();
    assert_eq!(study.loads().unwrap(), []);
    let phase = &study.points().unwrap()[0].phase;
    assert_eq!(phase.kinds[&Kind::Read].not_found, 0);
    let found = &mut phase.findings.iter();
    let text = &found
        .find(|finding| finding.code == "data-adopted")
        .unwrap()
        .text();
    assert!(text.contains("1000 of the 20000 records"), "{text}");
}

/// Every file below a directory with its bytes; RocksDB's own logs, which say that it was opened,
/// apart.
fn bytes_below(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all = BTreeMap::new();
    for path in entries {
        if path.is_dir() {
            all.extend(bytes_below(&path));
        } else if !path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("LOG")
        {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn what_is_refused_to_be_adopted_is_left_to_the_byte() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
    let before = bytes_below(&place);
    let other = ["--adopt", "--set", "dataset.field_length=1000"];
    refused(
        &run_with(&place, &dir.path().join("out"), &other),
        &["1024"],
    );
    assert!(bytes_below(&place) == before, "the database was changed");
}

/// Another program's database with its log in `wal`; its only record is in the log alone.
fn foreign(place: &Path, wal: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let database = DB::open(&with_log(wal), place).unwrap();
    database.put("acknowledged", "yes").unwrap();
    drop(database);
    bytes_below(wal)
}

fn with_log(wal: &Path) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_wal_dir(wal);
    options
}

#[test]
fn the_logs_of_another_database_in_wal_dir_are_left_to_the_byte() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (place, wal) = (at("place"), at("wal"));
    let before = foreign(&at("theirs"), &wal);
    let log = before.keys().next().unwrap().file_name().unwrap();
    let options = at("options");
    let text = "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                wal_dir=WAL\n[CFOptions \"default\"]\n";
    fs::write(&options, text.replace("WAL", wal.to_str().unwrap())).unwrap();
    for setting in [
        format!("database.wal_dir={}", wal.display()),
        format!("database.options_file={}", options.display()),
    ] {
        let run = run_with(&place, &at("out"), &["--set", &setting]);
        let parts = [
            wal.to_str().unwrap(),
            log.to_str().unwrap(),
            "another database",
        ];
        refused(&run, &parts);
        assert_eq!(run.status.code(), Some(2));
        assert_eq!(bytes_below(&wal), before, "{setting}");
    }
    let theirs = DB::open(&with_log(&wal), at("theirs")).unwrap();
    assert!(theirs.get("acknowledged").unwrap().is_some());
}

#[test]
fn a_reload_leaves_the_log_that_another_program_put_into_wal_dir() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let wal = format!("database.wal_dir={}", at("wal").display());
    succeeded(&run_with(&at("place"), &at("first"), &["--set", &wal]));
    let own = at("wal").join("rocksdb-wal");
    assert!(own.join("tailmark.wal.json").exists());
    let log = at("wal").join("999999.log");
    fs::write(&log, "foreign").unwrap();
    let again = ["--set", &wal, "--set", "dataset.restore=reload"];
    succeeded(&run_with(&at("place"), &at("again"), &again));
    assert_eq!(fs::read(&log).unwrap(), b"foreign");
    // In the data set's own directory it is no more the data set's.
    fs::rename(&log, own.join("999999.log")).unwrap();
    refused(
        &run_with(&at("place"), &at("third"), &again),
        &["(999999.log)"],
    );
    assert!(own.join("999999.log").exists());
}

#[test]
fn a_second_study_does_not_take_the_log_of_the_first() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let wal = format!("database.wal_dir={}", at("wal").display());
    let set = ["--set", &wal, "--set", "dataset.records=1k"];
    succeeded(&run_with(&at("one"), &at("first"), &set));
    let before = bytes_below(&at("wal"));
    let second = run_with(&at("two"), &at("second"), &set);
    let one = at("one").join("rocksdb");
    refused(&second, &[one.to_str().unwrap(), "name another directory"]);
    assert_eq!(bytes_below(&at("wal")), before);
    succeeded(&run_with(&at("one"), &at("third"), &set));
}

#[test]
fn a_log_directory_is_of_one_system_and_there() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let other = format!("other={}", at("other").display());
    for (wal, parts) in [
        ("wal", &["`other` keeps its log there too"][..]),
        ("./wal/../other", &["`other` keeps its data there too"]),
    ] {
        let wal = format!("database.wal_dir={}", at(wal).display());
        let more = ["--system", &other, "--set", &wal];
        fs::create_dir_all(at("wal")).unwrap();
        refused(&run_with(&at("place"), &at("out"), &more), parts);
    }
    let missing = format!("database.wal_dir={}", at("no/wal").display());
    let refusal = run_with(&at("place"), &at("out"), &["--set", &missing]);
    refused(&refusal, &["exists; create it, or mount its device"]);
    assert!(!at("no").exists());
    assert!(!at("place").join("rocksdb").exists());
}

#[test]
fn two_systems_do_not_share_a_directory_under_two_names() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("place/rocksdb")).unwrap();
    fs::create_dir(at("wal")).unwrap();
    symlink(at("place"), at("link")).unwrap();
    symlink(at("wal"), at("wal-link")).unwrap();
    let own = format!("system.other.database.wal_dir={}", at("wal-link").display());
    let all = format!("database.wal_dir={}", at("wal").display());
    let logs = ["--set", &all, "--set", &own];
    for (other, more, what) in [
        ("link", &[][..], "its data"),
        ("./link/../place", &[], "its data"),
        ("link/rocksdb/below", &[], "its data"),
        ("elsewhere", &logs, "its log"),
    ] {
        let other = format!("other={}", at(other).display());
        let more = [&["--system", &other, "--set", "same_device=true"], more].concat();
        let why = format!("keeps {what} there too");
        let refusal = run_with(&at("place"), &at("out"), &more);
        refused(&refusal, &[&why, "`disk`", "`other`"]);
        assert_eq!(refusal.status.code(), Some(2));
        let dry = [more, vec!["--dry-run"]].concat();
        let dry = run_with(&at("place"), &at("out"), &dry);
        assert_says(&out(&dry), &["cannot be run", &why]);
    }
    assert_eq!(bytes_below(dir.path()), BTreeMap::new());
}

#[test]
fn a_link_in_the_place_of_the_data_is_refused() {
    let dir = TempDir::new().unwrap();
    let (place, target) = (dir.path().join("place"), dir.path().join("target"));
    fs::create_dir_all(&place).unwrap();
    fs::create_dir(&target).unwrap();
    for exists in [true, false] {
        symlink(&target, place.join("rocksdb")).unwrap();
        let run = run(&place, &dir.path().join("out"));
        refused(&run, &["symbolic link", target.to_str().unwrap()]);
        assert_eq!(fs::read_link(place.join("rocksdb")).unwrap(), target);
        fs::remove_file(place.join("rocksdb")).unwrap();
        if exists {
            assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
            fs::remove_dir(&target).unwrap();
        }
    }
    // What lies where a trial would be made is not removed for it.
    let trial = place.join("rocksdb.tailmark-trial");
    fs::create_dir(&trial).unwrap();
    let kept = foreign(&trial, &trial);
    let said = run(&place, &dir.path().join("out"));
    refused(&said, &["rocksdb.tailmark-trial", "left alone"]);
    assert_eq!(bytes_below(&trial), kept);
    let moved = place.join("moved");
    fs::rename(&trial, &moved).unwrap();
    fs::create_dir(&trial).unwrap();
    fs::rename(&moved, trial.join("data")).unwrap();
    fs::write(trial.join("made-by-tailmark"), "").unwrap();
    let marked = bytes_below(&trial);
    let second = run(&place, &dir.path().join("out"));
    refused(&second, &["rocksdb.tailmark-trial", "left alone"]);
    assert_eq!(bytes_below(&trial), marked);
    fs::remove_dir_all(&place).unwrap();
    fs::create_dir(&place).unwrap();
    fs::create_dir(&target).unwrap();
    foreign(&target, &target);
    symlink(&target, place.join("rocksdb.tailmark-trial")).unwrap();
    refused(&run(&place, &dir.path().join("out")), &["symbolic link"]);
    assert!(target.join("CURRENT").exists());
}

/// Says in the newest OPTIONS file of a database that this version wrote it.
fn written_by(place: &Path, version: &str) {
    let options = bytes_below(place).into_iter().rfind(|(path, _)| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("OPTIONS-")
    });
    let (path, text) = options.unwrap();
    let text = String::from_utf8(text).unwrap();
    let is_version = |line: &&str| line.contains("rocksdb_version=");
    let line = text.lines().find(is_version).unwrap();
    let text = text.replace(line, &format!("rocksdb_version={version}"));
    // By a tailmark of that time.
    let text = text.replace("=tailmark-11.12.0", &format!("=tailmark-{version}"));
    fs::write(path, text).unwrap();
}

#[test]
fn reads_leave_an_adopted_database_of_another_version_to_the_byte() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    written_by(&place.join("rocksdb"), "5.11.3");
    // One with tailmark's marker is tailmark's to upgrade.
    let writes = ["--workload", "ycsb-a"];
    succeeded(&run_with(&place, &dir.path().join("own"), &writes));

    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
    written_by(&place.join("rocksdb"), "5.11.3");
    let before = bytes_below(&place);
    let out = dir.path().join("adopted");
    succeeded(&run_with(&place, &out, &["--adopt"]));
    assert!(bytes_below(&place) == before, "the database was changed");
    let phase = &Study::open_read_only(&out).unwrap().points().unwrap()[0].phase;
    assert_eq!(phase.kinds[&Kind::Read].not_found, 0);
}

#[test]
fn writes_to_an_adopted_database_lock_its_version_out_only_with_consent() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
    written_by(&place.join("rocksdb"), "5.11.3");
    let before = bytes_below(&place);
    let mut writes = vec!["--adopt=overwrite", "--workload", "ycsb-a"];
    let out = dir.path().join("out");
    refused(
        &run_with(&place, &out, &writes),
        &["RocksDB 5.11.3", "--upgrade"],
    );
    assert!(bytes_below(&place) == before, "the database was changed");
    writes.push("--upgrade");
    succeeded(&run_with(&place, &out, &writes));
}

#[test]
fn a_copy_of_a_database_is_not_written_with_the_log_of_the_original() {
    let dir = TempDir::new().unwrap();
    let [place, wal, out] = ["place", "wal", "out"].map(|name| dir.path().join(name));
    let inside = format!("database.wal_dir={}", wal.display());
    succeeded(&run_with(
        &place,
        &dir.path().join("first"),
        &["--set", &inside],
    ));
    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
    let log = wal.join("rocksdb-wal");
    fs::remove_file(log.join("tailmark.wal.json")).unwrap();
    fs::remove_file(place.join("rocksdb/tailmark.log-apart")).unwrap();
    let copy = dir.path().join("copy");
    let cp = Command::new("cp").arg("-a").args([&place, &copy]).status();
    assert!(cp.unwrap().success());
    let before = bytes_below(dir.path());
    let writes = ["--adopt=overwrite", "--workload", "ycsb-a"];
    for more in [&[][..], &["--dry-run"]] {
        let said = run_with(&copy, &out, &[&writes[..], more].concat());
        let text = format!("{}{}", tailmark_testing::out(&said), err(&said));
        let parts = [log.to_str().unwrap(), "the directory of the original"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let is_of_database = |path: &&PathBuf| path.starts_with(&place) || path.starts_with(&wal);
    let now = bytes_below(dir.path());
    let changed = before
        .keys()
        .filter(is_of_database)
        .find(|path| now.get(*path) != before.get(*path));
    assert_eq!(changed, None);
    assert!(!log.join("tailmark.wal.json").exists());
    // Named, it is written to: the user says whose log it is.
    let set = format!("database.wal_dir={}", log.display());
    succeeded(&run_with(
        &copy,
        &out,
        &[&writes[..], &["--set", &set]].concat(),
    ));
}

#[test]
fn adopted_files_do_not_change_while_workloads_read_them() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    succeeded(&run(&place, &dir.path().join("first")));
    fs::remove_file(place.join("rocksdb.dataset.json")).unwrap();
    let before = bytes_below(&place);
    let out = dir.path().join("out");
    succeeded(&run_with(&place, &out, &["--adopt"]));
    assert!(bytes_below(&place) == before, "the database was changed");

    let writes = ["--workload", "ycsb-a", "--adopt"];
    let expected = ["workload `ycsb-a`, which writes", "--adopt=overwrite"];
    refused(
        &run_with(&place, &dir.path().join("writes"), &writes),
        &expected,
    );
    assert!(bytes_below(&place) == before, "the database was changed");
    let overwrite = ["--workload", "ycsb-a", "--adopt=overwrite"];
    succeeded(&run_with(&place, &dir.path().join("writes"), &overwrite));
    assert!(bytes_below(&place) != before, "nothing was written");
    assert!(!place.join("rocksdb.dataset.json").exists());
}

#[test]
fn what_is_missing_is_not_made_where_data_is_to_be_adopted() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("place");
    let adopt = |out: &str, more: &[&str]| {
        run_with(
            &place,
            &dir.path().join(out),
            &[&["--adopt"], more].concat(),
        )
    };
    refused(&adopt("none", &[]), &["nothing can be adopted in"]);
    assert!(!place.exists());

    // A load of tailmark's own that was not completed is not continued either.
    succeeded(&run(&place, &dir.path().join("first")));
    let marker = place.join("rocksdb.dataset.json");
    let text = fs::read_to_string(&marker).unwrap();
    let text = text.replace("\"loaded\": 20000", "\"loaded\": 700");
    fs::write(
        &marker,
        text.replace("\"complete\": true", "\"complete\": false"),
    )
    .unwrap();
    let before = bytes_below(&place);
    refused(
        &adopt("begun", &[]),
        &["tailmark loaded only 700 of its records"],
    );
    assert!(bytes_below(&place) == before, "the data set was changed");
}

#[test]
fn what_says_what_is_ours_can_be_written_by_no_other_user_whatever_the_umask() {
    let dir = TempDir::new().unwrap();
    let system = format!("disk={}", dir.path().join("place").display());
    let (wal, study) = (dir.path().join("wal"), dir.path().join("study"));
    fs::create_dir(&wal).unwrap();
    let wal = format!("database.wal_dir={}", wal.display());
    let ran = Command::new("sh")
        .args(["-c", "umask 0; exec \"$0\" \"$@\"", PROGRAM, "run"])
        .args([
            "--system",
            &system,
            "--workload",
            "ycsb-a",
            "--records",
            "1k",
        ])
        .args(["--operations", "1k", "--warmup", "0s", "--set", &wal, "-o"])
        .arg(&study)
        .output()
        .unwrap();
    succeeded(&ran);
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".json") || name.starts_with('.') || name.starts_with("study.")
    };
    let own: Vec<_> = bytes_below(dir.path()).into_keys().filter(is_own).collect();
    assert_eq!(own.len(), 4, "{own:?}");
    for path in own {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o022, 0, "{}: {mode:o}", path.display());
    }
}
