//! What is beside a study, or in the place of its report, and belongs to others: it is looked at without
//! a change, waited for by no one, and never written over.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::Duration,
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
        // As far as a killed run came.
        fs::write(format!("{}{ending}", path.display()), [0; 512]).unwrap();
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
    for made in ["index.html", ".tailmark-files"] {
        fs::remove_file(dir.join(made)).unwrap();
    }
    assert!(files(dir) == before, "the history changed a file");
    // Nor is it changed if it is named.
    for name in ["app.db", "theirs"] {
        assert_says(
            &ends(dir, &format!("report {name} --format terminal"), 2),
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
            assert_says(
                &said,
                &[&format!("site/{name}"), "not written by tailmark", "-o"],
            );
            assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
            assert_eq!(fs::read_dir(dir.join("site")).unwrap().count(), 1, "{line}");
        }
        fs::remove_file(foreign).unwrap();
    }
    for (format, inner) in [("svg", "charts"), ("csv", "tables")] {
        let line = format!("report out -o own --format {format}");
        ends(dir, &line, 0);
        ends(dir, &line, 0);
        let mut own = fs::read_dir(dir.join("own").join(inner)).unwrap();
        let name = own.find_map(|entry| {
            let name = entry.unwrap().file_name();
            (!name.to_str().unwrap().starts_with('.')).then_some(name)
        });
        let foreign = dir.join("site").join(inner).join(name.unwrap());
        fs::create_dir(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, "mine").unwrap();
        let said = ends(dir, &format!("report out -o site --format {format}"), 2);
        assert_says(&said, &[inner, "not written by tailmark"]);
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
        ".tailmark-aB3dEf.new",
        "a.new",
    ];
    for line in [format!("{run} out"), "clean out --yes".to_owned()] {
        for place in ["out", "data"].map(|name| dir.join(name)) {
            fs::write(
                place.join(".tailmark-aB3dEfaB3dEfaB3dEfaB3dEfaB3dEf12.new"),
                "half",
            )
            .unwrap();
            fs::write(
                place.join(".tailmark-aB3dEfaB3dEfaB3dEfaB3dEfaB3dEf12.new-journal"),
                "half",
            )
            .unwrap();
            for name in others {
                fs::write(place.join(name), "mine").unwrap();
            }
        }
        ends(dir, &line, 0);
        for place in ["out", "data"].map(|name| dir.join(name)) {
            assert!(
                !place
                    .join(".tailmark-aB3dEfaB3dEfaB3dEfaB3dEfaB3dEf12.new")
                    .exists(),
                "{line}"
            );
            assert!(
                !place
                    .join(".tailmark-aB3dEfaB3dEfaB3dEfaB3dEfaB3dEf12.new-journal")
                    .exists(),
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
fn clean_removes_the_logs_of_services_that_name_the_study_and_no_others() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} out"), 0);
    let study = rusqlite::Connection::open(dir.join("out/study.sqlite")).unwrap();
    let sql = "SELECT study FROM header";
    let id: String = study.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(study);
    let own = format!("tailmark: what a service printed, study {id}\nready\n");
    let others = own.replace(&id, &"0".repeat(32));
    let logs = [("a", &own), ("a.db2", &own), ("b", &others)];
    for (name, text) in logs {
        fs::write(dir.join(format!("out/{name}.service.log")), text).unwrap();
    }
    fs::write(dir.join("mine"), &own).unwrap();
    fs::hard_link(dir.join("mine"), dir.join("out/c.service.log")).unwrap();
    symlink(dir.join("mine"), dir.join("out/d.service.log")).unwrap();
    ends(dir, "clean out --yes --results", 0);
    let left: Vec<_> = files(dir).into_keys().collect();
    let kept = [
        "mine",
        "out/b.service.log",
        "out/c.service.log",
        "out/d.service.log",
    ];
    assert_eq!(left, kept.map(|name| dir.join(name)));
}

const ALL: &str = "html,md,pdf,terminal,csv,svg,png";

/// A file of each kind in the run directory of a report in all formats.
const KINDS: [(&str, &str); 7] = [
    ("html", "report.html"),
    ("md", "report.md"),
    ("pdf", "report.pdf"),
    ("terminal", "report.txt"),
    ("csv", "tables/load.csv"),
    ("svg", "charts/peaks.svg"),
    ("png", "charts/peaks.png"),
];

#[test]
fn what_was_changed_since_the_report_is_neither_replaced_nor_removed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let run = RUN.replace("null", "file").replace("a=x", "a=data");
    ends(dir, &format!("{run} out --format {ALL}"), 0);
    for (format, kind) in KINDS {
        let path = dir.join("out").join(kind);
        let own = fs::read(&path).expect(kind);
        fs::write(&path, [&own[..], b"and my notes"].concat()).unwrap();
        let before = files(dir);
        for line in [
            format!("report out -o out --format {format}"),
            format!("{run} out --format {format}"),
        ] {
            let said = ends(dir, &line, 2);
            assert_says(
                &said,
                &[kind, "was changed since", "move it elsewhere", "-o"],
            );
            assert!(files(dir) == before, "{line} changed something: {kind}");
        }
        fs::write(&path, own).unwrap();
        ends(dir, &format!("report out -o out --format {format}"), 0);
    }
    for (_, kind) in KINDS {
        fs::write(dir.join("out").join(kind), "mine").unwrap();
    }
    let listed = tailmark(dir, "clean out --results");
    let cleaned = tailmark(dir, "clean out --results --yes");
    for done in [&listed, &cleaned] {
        assert_eq!(done.status.code(), Some(0), "{}", err(done));
        let lines =
            KINDS.map(|(_, kind)| format!("not touched: out/{kind} (tailmark did not write it"));
        assert_says(&String::from_utf8_lossy(&done.stdout), &lines);
    }
    let mut kept: Vec<_> = KINDS.map(|(_, kind)| dir.join("out").join(kind)).into();
    kept.sort();
    assert_eq!(files(dir).into_keys().collect::<Vec<_>>(), kept);
}

#[test]
fn a_list_that_came_with_a_study_has_nothing_of_the_user_replaced_or_removed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} out --format csv"), 0);
    fs::write(dir.join("mine.csv"), "mine").unwrap();
    fs::write(dir.join("out/tables/mine.csv"), "mine").unwrap();
    fs::write(dir.join("out/report.html"), "mine").unwrap();
    let guessed = "0".repeat(64);
    let known = "0".repeat(64);
    for (place, name) in [("out", "report.html"), ("out/tables", "mine.csv")] {
        let list = dir.join(place).join(".tailmark-files");
        let text = fs::read_to_string(&list).unwrap_or_default();
        fs::write(&list, format!("{text}{guessed}  {name}\n")).unwrap();
        fs::write(dir.join(place).join(".tailmark-csv"), format!("{name}\n")).unwrap();
    }
    ends(dir, "report out -o out --format html", 2);
    ends(dir, "report out -o out --format csv", 0);
    let list = dir.join("out/tables/.tailmark-files");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, format!("{text}{known}  ../../mine.csv\n")).unwrap();
    let said = ends(dir, "report out -o out --format csv", 2);
    assert_says(&said, &["out/tables/.tailmark-files", "not a list"]);
    ends(dir, "clean out --results --yes", 0);
    for name in ["mine.csv", "out/tables/mine.csv", "out/report.html"] {
        assert_eq!(
            fs::read_to_string(dir.join(name)).unwrap(),
            "mine",
            "{name}"
        );
    }
}

#[test]
fn a_folder_that_is_a_link_is_neither_written_into_nor_emptied() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    let formats = "--format svg,png,csv,md";
    ends(dir, &format!("{RUN} theirs {formats}"), 0);
    ends(dir, &format!("{RUN} ours"), 0);
    for name in ["charts", "tables"] {
        symlink(dir.join("theirs").join(name), dir.join("ours").join(name)).unwrap();
    }
    let before = files(&dir.join("theirs"));
    for line in [
        "report ours -o ours --format svg".to_owned(),
        "report ours -o ours --format csv".to_owned(),
        "report ours -o ours --format md".to_owned(),
        format!("{RUN} ours {formats}"),
    ] {
        let said = ends(dir, &line, 2);
        assert_says(
            &said,
            &["`ours/", "is not a directory", "move it elsewhere"],
        );
    }
    let cleaned = tailmark(dir, "clean ours --results --yes");
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    let lines = ["charts", "tables"].map(|name| format!("not touched: ours/{name} ("));
    assert_says(&String::from_utf8_lossy(&cleaned.stdout), &lines);
    assert!(files(&dir.join("theirs")) == before);
    let left = fs::read_dir(dir.join("ours")).unwrap();
    assert_eq!(left.count(), 2);
}

#[test]
fn reports_that_are_killed_leave_nothing_that_the_next_one_refuses() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    ends(dir, &format!("{RUN} out --format {ALL}"), 0);
    let report = format!("report out -o out --format {ALL}");
    for ms in (0..20).map(|n| 40 * n) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tailmark"));
        let child = child.args(report.split_whitespace()).current_dir(dir);
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(ms));
        let _ = child.kill();
        child.wait().unwrap();
    }
    ends(dir, &report, 0);
    ends(dir, "clean out --results --yes", 0);
    assert!(files(dir).is_empty(), "{:?}", files(dir).keys());
}

#[test]
fn what_is_in_the_place_of_a_study_is_neither_opened_nor_removed() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    fs::write(
        dir.join("ycsb.txt"),
        "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 10\n",
    )
    .unwrap();
    fs::create_dir(dir.join("out")).unwrap();
    let study = dir.join("out/study.sqlite");
    let makes: [&dyn Fn(); 3] = [
        &|| symlink(dir.join("gone"), &study).unwrap(),
        &|| {
            assert!(
                Command::new("mkfifo")
                    .arg(&study)
                    .status()
                    .unwrap()
                    .success()
            )
        },
        &|| fs::create_dir(&study).unwrap(),
    ];
    for make in makes {
        make();
        let kind = || fs::symlink_metadata(&study).unwrap().file_type();
        let before = kind();
        for line in [
            "import ycsb ycsb.txt -o out".to_owned(),
            format!("{RUN} out"),
        ] {
            let done = tailmark(dir, &line);
            assert!(
                matches!(done.status.code(), Some(1 | 2)),
                "{line}: {}",
                err(&done)
            );
            assert!(kind() == before && !dir.join("gone").exists(), "{line}");
        }
        if study.is_dir() {
            fs::remove_dir(&study).unwrap();
        } else {
            fs::remove_file(&study).unwrap();
        }
    }
}

#[test]
fn a_link_to_a_run_directory_stays_when_the_run_is_cleaned() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path();
    for line in ["clean link --results --yes", "clean link/ --results --yes"] {
        fs::create_dir_all(dir.join("real")).unwrap();
        let _ = fs::remove_file(dir.join("link"));
        symlink("real", dir.join("link")).unwrap();
        ends(dir, &format!("{RUN} link"), 0);
        ends(dir, line, 0);
        assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
        assert!(files(&dir.join("real")).is_empty());
    }
    ends(dir, &format!("{RUN} real"), 0);
    ends(&dir.join("real"), "clean . --results --yes", 0);
    assert!(files(&dir.join("real")).is_empty());
}

#[test]
fn a_call_of_a_drop_in_adds_to_no_study_that_a_run_is_writing() {
    let dir = TempDir::new().unwrap();
    ends(dir.path(), &format!("{RUN} out"), 0);
    let before = files(&dir.path().join("out"));
    let directory = fs::File::open(dir.path().join("out")).unwrap();
    // As a run holds it.
    directory.lock().unwrap();
    let calls = [
        "db-bench --benchmarks=fillseq --num=100 --db=d -o out",
        "ycsb load basic -p workload=site.ycsb.workloads.CoreWorkload -p recordcount=10 -o out",
    ];
    for call in calls {
        let said = ends(dir.path(), call, 2);
        assert_says(&said, &["is using `out`", "another -o"]);
    }
    assert_eq!(files(&dir.path().join("out")), before);
    // As another call holds it.
    directory.lock_shared().unwrap();
    for call in calls {
        ends(dir.path(), call, 0);
    }
}
