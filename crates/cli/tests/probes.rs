//! Probes as a user turns them on and off: what is in the study, and what is said of those that
//! cannot be sampled.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{collections::BTreeSet, process::Output};
use tailmark_testing::{Program, err, not_here, test};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// Two points of one system in a directory of its own.
const RUN: &[&str] = &[
    "run",
    "--driver",
    "file",
    "--records",
    "100",
    "--threads",
    "1,2",
    "--operations",
    "200",
    "--warmup",
    "0s",
    "--system",
    "a=data",
    "-o",
    "out",
];

fn run(dir: &TempDir, more: &[&str], path: Option<&str>) -> Output {
    std::fs::create_dir_all(dir.path().join("data")).unwrap();
    let mut command = TAILMARK.command(dir.path(), &[RUN, more].concat());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    output
}

/// The probes of each point.
fn sampled(dir: &TempDir) -> Vec<BTreeSet<String>> {
    let points = TAILMARK.points(dir.path());
    let probes = points.iter().map(|point| {
        let series = point["series"].as_array().unwrap().iter();
        series
            .map(|one| one["probe"].as_str().unwrap().to_owned())
            .collect()
    });
    probes.collect()
}

#[test]
fn none_leaves_those_that_are_named_beside_it() {
    let dir = TempDir::new().unwrap();
    run(&dir, &["--probe", "none", "--probe", "memory,cpu"], None);
    // The state before a point is looked at once, and sampled by no probe.
    let expected: BTreeSet<_> = ["cpu", "memory", "start"].map(str::to_owned).into();
    assert_eq!(sampled(&dir), [expected.clone(), expected]);
}

#[test]
fn every_machine_has_these() {
    let dir = TempDir::new().unwrap();
    run(&dir, &[], None);
    for point in sampled(&dir) {
        for name in ["cpu", "memory", "network", "process", "vmstat"] {
            assert!(point.contains(name), "{name} of {point:?}");
        }
        assert!(!point.contains("block-latency"));
    }
}

#[test]
fn what_cannot_be_sampled_is_said_once_in_a_study() {
    let dir = TempDir::new().unwrap();
    if tailmark_machine::block_device_of(dir.path()).is_none() {
        not_here("the temporary directory is on no disk");
    }
    let requested = ["--probe", "block-latency"];
    // Neither bpftrace nor mount is found there; another user than root is refused before.
    let said = err(&run(&dir, &requested, Some("/nowhere")));
    let notice = "system `a` is measured without the probe `block-latency`: ";
    assert_eq!(said.matches(notice).count(), 1, "{said}");
    let exported = TAILMARK.exported(dir.path(), "notices");
    let is_it = |text: &&serde_json::Value| text.as_str().unwrap().starts_with(notice);
    assert_eq!(exported.iter().filter(is_it).count(), 1, "{exported:?}");
    let again = err(&run(
        &dir,
        &[&requested[..], &["--repeats", "1"]].concat(),
        Some("/nowhere"),
    ));
    assert!(!again.contains(notice), "{again}");
}
