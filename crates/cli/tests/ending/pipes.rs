//! Readers that go away: quiet for every command, and a run goes on without them.

use crate::support::{SHORT, TAILMARK, output, tailmark};
use std::{io, path::Path, process::Output};
use tailmark_testing::{err, test};
use tempfile::TempDir;

/// The writing end of a pipe that nobody reads.
fn closed() -> io::PipeWriter {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer
}

/// The program with standard output closed.
fn unread(dir: &Path, args: &[&str]) -> Output {
    tailmark(dir, args).stdout(closed()).output().unwrap()
}

/// A hundred operations of YCSB on nothing.
const YCSB: &[&str] = &[
    "ycsb",
    "run",
    "basic",
    "-p",
    "operationcount=100",
    "-p",
    "workload=core",
    "-p",
    "recordcount=100",
];

#[test]
fn a_reader_that_goes_away_is_no_error_of_any_command() {
    let dir = TempDir::new().unwrap();
    assert_eq!(output(dir.path(), SHORT).status.code(), Some(0));
    let dry: Vec<_> = SHORT.iter().copied().chain(["--dry-run"]).collect();
    let mut commands = vec![
        vec!["--help"],
        vec!["--version"],
        vec!["run", "--help"],
        dry,
        vec!["report", "out", "-o", "page"],
        vec!["export", "out", "--format", "json"],
        vec!["export", "out", "--format", "csv"],
        vec!["export", "out", "--format", "hlog"],
        vec!["list"],
        vec!["list", "keys"],
        vec!["completions", "zsh"],
        vec!["man"],
        vec!["ycsb", "--help"],
        YCSB.to_vec(),
    ];
    if cfg!(feature = "rocksdb") {
        commands.push(vec!["db-bench", "--help"]);
        commands.push(vec![
            "db-bench",
            "--db=db",
            "--benchmarks=fillseq,readseq",
            "--num=1000",
        ]);
    }
    for args in commands {
        let run = unread(dir.path(), &args);
        assert_eq!(run.status.code(), Some(0), "{args:?}: {}", err(&run));
        assert!(!err(&run).contains("error:"), "{args:?}: {}", err(&run));
    }
}

#[test]
fn a_run_goes_on_when_nobody_reads_its_progress() {
    let dir = TempDir::new().unwrap();
    let mut command = tailmark(dir.path(), SHORT);
    let status = command.stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(TAILMARK.points(dir.path()).len(), 2);
    assert!(dir.path().join("out/report.html").exists());
}

#[test]
fn the_exit_code_of_a_run_is_its_own_when_nobody_reads_it() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=sim-threads",
        "--system=a=x",
        "--records=1k",
        "--threads=1",
        "--workload=ycsb-c",
        "--operations=1000",
        "--set=database.error_every=10",
        "--warmup=0s",
        "--output=out",
    ];
    let run = unread(dir.path(), &args);
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
}

#[test]
fn a_call_of_ycsb_is_in_the_study_although_nobody_reads_it() {
    let dir = TempDir::new().unwrap();
    let run = unread(dir.path(), &[YCSB, &["-o", "out"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    assert_eq!(TAILMARK.points(dir.path()).len(), 1);
}

#[test]
fn a_full_standard_output_is_an_error() {
    let dir = TempDir::new().unwrap();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let run = tailmark(dir.path(), &["list"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let said = "error: failed to write standard output: No space left on device";
    assert!(err(&run).starts_with(said), "{}", err(&run));
}
