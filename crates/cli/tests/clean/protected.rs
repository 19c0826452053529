//! Keys that protect what is measured on: the rate of a load, and limits that end a run.

use super::{
    super::{PROGRAM, succeeded},
    null_run,
};
use std::{
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};
use tailmark_study::Study;
use tailmark_testing::{assert_says, err, out};
use tempfile::TempDir;

/// Runs a short point of reads; `more` comes after it.
fn run(dir: &Path, more: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(["run", "--system", "disk=place", "--workload", "ycsb-c"])
        .args([
            "--records",
            "2k",
            "--set",
            "dataset.fields=1",
            "--threads",
            "2",
        ])
        .args(["--warmup", "0s", "-o", "out"])
        .args(more)
        .current_dir(dir)
        .output()
        .unwrap()
}

#[test]
fn a_load_is_as_slow_as_its_rate_and_a_dry_run_says_so() {
    let dir = TempDir::new().unwrap();
    let rated = ["--operations", "100", "--load-rate", "1k"];
    let dry = run(dir.path(), &[&rated[..], &["--dry-run"]].concat());
    let parts = [
        "with 16 threads at 1,000 ops/s",
        "1 load, 2.0 MiB in all: 2s at 1,000 ops/s",
    ];
    assert_says(&out(&dry), &parts);
    succeeded(&run(dir.path(), &rated));
    let study = Study::open_read_only(&dir.path().join("out")).unwrap();
    let load = study.loads().unwrap().remove(0);
    assert_eq!(load.records, 2000);
    let seconds = load.phase.duration_s;
    assert!((1.9..2.5).contains(&seconds), "{seconds}");
    // It is no other study with another rate.
    succeeded(&run(dir.path(), &["--operations", "100"]));
}

/// A run that a limit ends, long before its time.
fn aborted(dir: &Path, limit: &str, more: &[&str]) -> String {
    let began = Instant::now();
    let long = ["--duration", "120s", "--abort", limit];
    let ran = run(dir, &[&long[..], more].concat());
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    assert!(began.elapsed() < Duration::from_secs(60), "it went on");
    err(&ran)
}

#[test]
fn a_broken_limit_ends_the_run_and_the_same_command_without_it_resumes() {
    let dir = TempDir::new().unwrap();
    let limit = "p50 read > 100ns for 2s";
    let said = aborted(dir.path(), limit, &[]);
    let limits = [
        limit,
        "system `disk`",
        "ycsb-c ran with 2 threads",
        "p50 read was",
    ];
    assert_says(&said, &limits);
    let study = Study::open_read_only(&dir.path().join("out")).unwrap();
    assert_eq!(
        (study.points().unwrap().len(), study.loads().unwrap().len()),
        (0, 1)
    );
    drop(study);
    // With a limit that holds, and the data set that is loaded.
    let plan = [
        "--duration",
        "120s",
        "--abort",
        "errors > 1%, p99 read > 1h",
    ];
    let dry = run(dir.path(), &[&plan[..], &["--dry-run"]].concat());
    let parts = [
        "end the run within seconds if errors > 1% or p99 read > 1h",
        "keep the 2,000 loaded records",
    ];
    assert_says(&out(&dry), &parts);
}

#[test]
fn a_warm_up_is_watched_too() {
    let dir = TempDir::new().unwrap();
    let said = aborted(
        dir.path(),
        "p50 read > 100ns",
        &["--set", "sweep.warmup=60s"],
    );
    assert_says(&said, &["while ycsb-c ran with 2 threads to warm up"]);
}

#[test]
fn a_load_is_watched_too_and_goes_on_from_its_marker() {
    let dir = TempDir::new().unwrap();
    let slow = ["--load-rate", "100"];
    let said = aborted(dir.path(), "p50 insert > 100ns", &slow);
    assert_says(&said, &["while loading"]);
    let resumed = run(dir.path(), &["--operations", "100"]);
    assert_eq!(
        resumed.status.code(),
        Some(2),
        "another budget is another study"
    );
    let dry = run(dir.path(), &["--duration", "120s", "--dry-run"]);
    assert!(
        !out(&dry).contains("keep the 2,000 records"),
        "{}",
        out(&dry)
    );
}

#[test]
fn nodes_that_a_driver_does_not_know_of_are_refused_by_its_name() {
    let dir = TempDir::new().unwrap();
    let limit = ["--abort", "down nodes > 0", "--dry-run"];
    let rehearsed = run(dir.path(), &[&limit[..], &["--driver", "sim"]].concat());
    assert_eq!(rehearsed.status.code(), Some(0), "{}", err(&rehearsed));
    let refused = run(dir.path(), &limit);
    assert_eq!(refused.status.code(), Some(2));
    let parts = ["down nodes > 0", "driver `rocksdb` of system `disk`"];
    assert_says(&err(&refused), &parts);
}

#[test]
fn runs_without_a_directory_that_begin_in_one_second_have_one_each() {
    let dir = TempDir::new().unwrap();
    let begin = |_| {
        null_run()
            .args(["--format", "md"])
            .current_dir(dir.path())
            .spawn()
            .unwrap()
    };
    let runs: Vec<_> = (0..4).map(begin).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    // A run that is refused leaves no directory.
    let refused = Command::new(PROGRAM)
        .args(["run", "--system", "a=/nowhere/at/all"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn a_run_that_a_limit_ended_keeps_its_points_and_the_same_command_measures_the_rest() {
    let dir = TempDir::new().unwrap();
    // Each client more makes every request half a millisecond longer.
    let measured = |limit: &str| {
        let model = "database.model=constant 1ms; contention 0.5 0";
        let fixed = [
            "run",
            "--driver=sim",
            "--system=a=x",
            "--records=1k",
            "--workload=ycsb-c",
        ];
        let key_values = [
            "--threads=1,8,16",
            "--duration=5s",
            "--warmup=0s",
            "-o",
            "out",
        ];
        let mut run = Command::new(PROGRAM);
        run.args(fixed)
            .args(key_values)
            .args(["--set", model, "--abort", limit]);
        let ran = run.current_dir(dir.path()).output().unwrap();
        let study = Study::open_read_only(&dir.path().join("out")).unwrap();
        let points = study.points().unwrap();
        let points: Vec<_> = points
            .into_iter()
            .map(|point| (point.key.threads, point.phase.started_ms))
            .collect();
        (ran, points)
    };
    let (ended, first) = measured("p50 read > 3ms");
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
    assert_says(
        &err(&ended),
        &["p50 read > 3ms", "8 threads", "again to resume"],
    );
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].0, 1);
    let (resumed, all) = measured("p50 read > 1s");
    succeeded(&resumed);
    assert_eq!(all[0], first[0], "it was not measured again");
    let threads: Vec<_> = all.iter().map(|(threads, _)| *threads).collect();
    assert_eq!(threads, [1, 8, 16]);
}
