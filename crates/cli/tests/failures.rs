//! Points that failed, and studies that are not of the same: what the program says, its exit codes
//! and its reports.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{fs, path::Path};
use tailmark_testing::{Program, err};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// A run of 9,000 operations a point of which every `error_every`-th request of a client fails. The
/// load's client sends fewer.
fn run<'a>(error_every: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "run",
        "--driver",
        "sim-threads",
        "--system",
        "a=x",
        "--records",
        "100",
        "--threads",
        "1,3",
        "--workload",
        "ycsb-c",
        "--operations",
        "9000",
        "--warmup",
        "0s",
        "--set",
        error_every,
        "--set",
        "sweep.load_threads=1",
        "-o",
        "out",
    ];
    args.iter().chain(more).copied().collect()
}

#[test]
fn points_that_failed_end_every_run_with_a_code_of_their_own_until_measured_again() {
    let dir = TempDir::new().unwrap();
    let args = run("database.error_every=500", &[]);
    let first = TAILMARK.run(dir.path(), &args);
    let said = err(&first);
    assert_eq!(first.status.code(), Some(3), "{said}");
    assert!(said.contains("0.2% failed"), "{said}");
    assert!(
        said.contains("2 points failed and are excluded from peaks and comparisons")
            && said.contains("sweep.allow_errors is 0.1%")
            && said.contains("a ycsb-c zipfian, 1 thread (0.2% failed)"),
        "{said}"
    );
    let command = said.lines().find(|line| line.contains("again: ")).unwrap();
    assert!(command.ends_with(" --retry-failed"), "{said}");
    let was = TAILMARK.points(dir.path());
    assert_eq!(
        (&was[0]["valid"], &was[0]["failed_operations"]),
        (&false.into(), &18.into())
    );
    let ops = was[0]["ops_per_sec"].as_f64().unwrap();
    assert!((ops * was[0]["duration_s"].as_f64().unwrap() - 8982.0).abs() < 1e-3);
    // The same command measures nothing, and the study still holds them.
    let kept = TAILMARK.run(dir.path(), &args);
    assert_eq!(kept.status.code(), Some(3), "{}", err(&kept));
    assert!(
        err(&kept).contains("0 points measured, 2 kept"),
        "{}",
        err(&kept)
    );
    assert_eq!(TAILMARK.points(dir.path()), was);
    let dry = TAILMARK.run(
        dir.path(),
        &[&args[..], &["--retry-failed", "--dry-run"]].concat(),
    );
    let steps = String::from_utf8_lossy(&dry.stdout);
    assert!(
        steps.contains("measure 2 points of an earlier run again"),
        "{steps}"
    );
    let again = TAILMARK.run(dir.path(), &[&args[..], &["--retry-failed"]].concat());
    assert_eq!(again.status.code(), Some(3), "{}", err(&again));
    assert!(err(&again).contains("2 points measured"), "{}", err(&again));
    let is = TAILMARK.points(dir.path());
    assert_eq!(is.len(), 2);
    assert_ne!(is[0]["started_at"], was[0]["started_at"]);
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("no valid point") && !page.contains("peaks at"));
}

#[test]
fn as_many_failures_as_are_allowed_are_told_and_no_more() {
    let dir = TempDir::new().unwrap();
    // 3 of 9,000 and, of the point of three clients, 1 each.
    let few = TAILMARK.run(dir.path(), &run("database.error_every=3000", &[]));
    assert_eq!(few.status.code(), Some(0), "{}", err(&few));
    assert!(err(&few).contains("requests failed"), "{}", err(&few));
    let flags = ["--set", "sweep.allow_errors=0.01%", "-o", "strict"];
    let mut args = run("database.error_every=3000", &flags);
    let at = args.iter().position(|word| *word == "-o").unwrap();
    args.drain(at..at + 2);
    let strict = TAILMARK.run(dir.path(), &args);
    assert_eq!(strict.status.code(), Some(3), "{}", err(&strict));
    let page = fs::read_to_string(dir.path().join("strict/report.html")).unwrap();
    // A number and its unit stay on one line.
    assert!(page.contains("more than 0.01\u{a0}% of its operations failed"));
}

#[test]
fn a_run_that_found_nothing_has_that_code_too() {
    let dir = TempDir::new().unwrap();
    let run = TAILMARK.run(dir.path(), &run("database.miss_every=1", &[]));
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    assert!(
        err(&run).contains("1 thread (nothing was found)"),
        "{}",
        err(&run)
    );
}

/// Runs of the driver that does nothing, each into a study of its own, and their common report.
fn report(dir: &Path, runs: &[&[&str]]) -> String {
    let mut args = vec!["report".to_owned()];
    for (index, more) in runs.iter().enumerate() {
        let out = format!("study{index}");
        let common = [
            "run",
            "--driver",
            "null",
            "--system",
            "nvme=x",
            "--threads",
            "1,2",
            "--operations",
            "1000",
            "--warmup",
            "0s",
            "-o",
            &out,
        ];
        let run = TAILMARK.run(dir, &[&common, *more].concat());
        assert_eq!(run.status.code(), Some(0), "{}", err(&run));
        args.push(out);
    }
    args.extend(["-o", "page"].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let report = TAILMARK.run(dir, &args);
    assert_eq!(report.status.code(), Some(0), "{}", err(&report));
    fs::read_to_string(dir.join("page/report.html")).unwrap()
}

#[test]
fn studies_of_other_data_sets_are_other_systems_in_a_common_report() {
    let dir = TempDir::new().unwrap();
    let page = report(dir.path(), &[&["--records", "1k"], &["--records", "100k"]]);
    for name in ["nvme (records 1,000)", "nvme (records 100,000)"] {
        assert!(page.contains(name), "{name}");
    }
    assert!(page.contains("was measured under different conditions (dataset.records)"));
    assert!(page.contains("plan: dataset.records"));
    assert!(!page.contains("geometric mean of up to"));
}

#[test]
fn studies_of_the_same_but_for_the_seed_are_repeats() {
    let dir = TempDir::new().unwrap();
    let runs: [&[&str]; 2] = [
        &["--records", "1k", "--seed", "1"],
        &["--records", "1k", "--seed", "2", "--repeats", "2"],
    ];
    let page = report(dir.path(), &runs);
    assert!(page.contains("Each value is the geometric mean of up to 3 runs"));
    assert!(!page.contains("nvme ("), "one system");
}
