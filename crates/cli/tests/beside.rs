//! What is beside a study, or in the place of its report, and belongs to others: it is looked at without
//! a change, waited for by no one, and never written over.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tailmark_testing::{assert_says, err};
use tempfile::TempDir;

const RUN: &str = "run --driver null --system a=x --records 1k --threads 1 --duration 100ms \
                   --warmup 0s -o";

/// What the program says; ended after a minute, which is an error of its own.
fn tailmark(dir: &Path, line: &str) -> Output {
    let mut tailmark = Command::new("timeout");
    tailmark.args(["--signal=KILL", "60", env!("CARGO_BIN_EXE_tailmark")]);
    let words = line.split_whitespace();
    tailmark.args(words).current_dir(dir).output().unwrap()
}

fn ends(dir: &Path, line: &str, code: i32) -> String {
    let done = tailmark(dir, line);
    assert_eq!(done.status.code(), Some(code), "{line}: {}", err(&done));
    err(&done)
}

/// Every file below a directory, with its bytes; of a pipe none.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_fifo() {
            found.insert(entry.path(), Vec::new());
        } else {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn databases_beside_a_run_are_looked_at_without_a_change() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} ours"), 0);
    // SQLite would roll these back, or move them into their databases, and remove them.
    let others = ["app.db", "theirs/study.sqlite", "killed/study.sqlite"];
    for (name, ending) in others.into_iter().zip(["-journal", "-wal", "-journal"]) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, vec![b'a'; 8192]).unwrap();
        fs::write(format!("{}{ending}", path.display()), "half-written").unwrap();
    }
    fs::copy(
        dir.join("ours/study.sqlite"),
        dir.join("killed/study.sqlite"),
    )
    .unwrap();
    let before = files(dir);
    let dry = tailmark(dir, &format!("{RUN} new --dry-run"));
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
    assert!(files(dir) == before, "the dry run changed a file");
    let said = ends(dir, "history .", 0);
    assert_says(
        &said,
        &["killed", "is being written", "theirs", "is not a study"],
    );
    fs::remove_file(dir.join("index.html")).unwrap();
    assert!(files(dir) == before, "the history changed a file");
    // Nor is it changed if it is named.
    for name in ["app.db", "theirs"] {
        assert_says(
            &ends(dir, &format!("report {name} --format terminal"), 1),
            &["is not a study"],
        );
    }
    assert!(files(dir) == before, "the report changed a file");
}

#[test]
fn a_pipe_beside_a_study_is_refused_and_not_waited_for() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} out"), 0);
    for ending in ["journal", "wal", "shm"] {
        let pipe = dir.join(format!("out/study.sqlite-{ending}"));
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for line in [
            "report out --format terminal",
            "clean out",
            "clean out --yes --results",
            "export out --format json",
            "compare out out",
            &format!("{RUN} out"),
        ] {
            let done = tailmark(dir, line);
            let code = done.status.code();
            assert!(
                matches!(code, Some(1 | 2)),
                "{line}: {code:?} {}",
                err(&done)
            );
            assert_says(&err(&done), &["is not a regular file", "move it elsewhere"]);
        }
        ends(dir, &format!("{RUN} new --dry-run"), 0);
        assert_says(&ends(dir, "history .", 2), &["no stud"]);
        fs::remove_file(pipe).unwrap();
    }
    ends(dir, "report out --format terminal", 0);
}

#[test]
fn a_report_is_not_written_over_a_file_of_others() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let files = [
        ("html", "report.html"),
        ("md", "report.md"),
        ("pdf", "report.pdf"),
        ("terminal", "report.txt"),
    ];
    ends(dir, &format!("{RUN} out"), 0);
    fs::create_dir(dir.join("site")).unwrap();
    for (format, name) in files {
        // Its own is replaced.
        for _ in 0..2 {
            ends(dir, &format!("report out -o own --format {format}"), 0);
        }
        let foreign = dir.join("site").join(name);
        fs::write(&foreign, "mine").unwrap();
        for line in [
            format!("{RUN} site --format {format}"),
            format!("{RUN} site --format {format} --dry-run"),
            format!("report out -o site --format {format}"),
        ] {
            let said = ends(dir, &line, 2);
            assert_says(&said, &[&format!("site/{name}"), "not of tailmark", "-o"]);
            assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
            assert_eq!(fs::read_dir(dir.join("site")).unwrap().count(), 1, "{line}");
        }
        fs::remove_file(foreign).unwrap();
    }
    for (format, folder) in [("svg", "charts"), ("csv", "tables")] {
        let line = format!("report out -o own --format {format}");
        ends(dir, &line, 0);
        ends(dir, &line, 0);
        let mut own = fs::read_dir(dir.join("own").join(folder)).unwrap();
        let name = own.find_map(|entry| {
            let name = entry.unwrap().file_name();
            (!name.to_str().unwrap().starts_with('.')).then_some(name)
        });
        let foreign = dir.join("site").join(folder).join(name.unwrap());
        fs::create_dir(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, "mine").unwrap();
        let said = ends(dir, &format!("report out -o site --format {format}"), 2);
        assert_says(&said, &[folder, "not of tailmark"]);
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
    }
}

/// The program in a shell that has changed something first.
fn shell(dir: &Path, line: &str) -> Output {
    let line = line.replace("tailmark", env!("CARGO_BIN_EXE_tailmark"));
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).current_dir(dir).output().unwrap()
}

#[test]
fn a_file_beyond_the_limit_of_its_size_is_an_error_with_a_message() {
    let folder = TempDir::new().unwrap();
    let done = shell(folder.path(), &format!("ulimit -f 100; tailmark {RUN} out"));
    assert!(matches!(done.status.code(), Some(1 | 2)), "{done:?}");
    assert_says(
        &err(&done),
        &["failed to make the study `out/study.sqlite`"],
    );
}

#[test]
fn directories_are_written_by_their_owner_alone_whatever_the_umask() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let run = RUN.replace("null", "file").replace("a=x", "a=data");
    let done = shell(dir, &format!("umask 000; tailmark {run} new/out"));
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    for made in ["data", "new", "new/out"] {
        let mode = fs::metadata(dir.join(made)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{made}");
    }
}

#[test]
fn drafts_of_a_killed_run_are_removed_and_no_other_file() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let run = RUN.replace("null", "file").replace("a=x", "a=data");
    ends(dir, &format!("{run} out"), 0);
    let others = [
        ".tailmark-abcdef.txt",
        ".tailmark-a.new",
        ".tailmark-ab.def.new",
        "a.new",
    ];
    for line in [format!("{run} out"), "clean out --yes".to_owned()] {
        for place in ["out", "data"].map(|name| dir.join(name)) {
            fs::write(place.join(".tailmark-aB3dEf.new"), "half").unwrap();
            fs::write(place.join(".tailmark-aB3dEf.new-journal"), "half").unwrap();
            for name in others {
                fs::write(place.join(name), "mine").unwrap();
            }
        }
        ends(dir, &line, 0);
        for place in ["out", "data"].map(|name| dir.join(name)) {
            assert!(!place.join(".tailmark-aB3dEf.new").exists(), "{line}");
            assert!(
                !place.join(".tailmark-aB3dEf.new-journal").exists(),
                "{line}"
            );
            assert!(
                others.iter().all(|name| place.join(name).exists()),
                "{line}"
            );
        }
    }
}

#[test]
fn a_run_that_is_refused_leaves_no_new_directory() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let line = "run --driver file --system a=data --records 1T --threads 1 --duration 100ms -o out";
    assert_says(&ends(dir, line, 2), &["`a`", "free"]);
    assert!(!dir.join("data").exists());
}

#[test]
fn clean_leaves_the_logs_of_services_that_the_study_does_not_know() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} out"), 0);
    // As if its system had a service, and another one had not.
    let study = rusqlite::Connection::open(dir.join("out/study.sqlite")).unwrap();
    let sql = "UPDATE header SET plan = json_set(plan, '$.\"system.a.service.start\"', 'start')";
    assert_eq!(study.execute(sql, []).unwrap(), 1);
    let sql = "INSERT INTO system SELECT position + 1, 'b', driver, place, semantics, settings, NULL FROM system";
    assert_eq!(study.execute(sql, []).unwrap(), 1);
    drop(study);
    for name in ["a", "a.db2", "b", "c"] {
        fs::write(dir.join(format!("out/{name}.service.log")), name).unwrap();
    }
    ends(dir, "clean out --yes --results", 0);
    let left: Vec<_> = files(dir).into_keys().collect();
    let kept = ["out/b.service.log", "out/c.service.log"];
    assert_eq!(left, kept.map(|name| dir.join(name)));
}
