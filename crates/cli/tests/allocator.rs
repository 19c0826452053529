//! The allocator of the program: which it is, who uses it, and what a study says of it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]
#![cfg(feature = "jemalloc")]

use std::process::Command;
use tailmark_testing::{Program, err, out};

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// The functions of an allocator. A library that finds one of them elsewhere would free what
/// another allocator gave.
const FUNCTIONS: [&str; 9] = [
    "aligned_alloc",
    "calloc",
    "free",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "posix_memalign",
    "realloc",
    "valloc",
];

#[test]
fn every_library_of_the_program_allocates_from_its_allocator() {
    let listed = Command::new("nm").args(["-D", TAILMARK.0]).output();
    let listed = out(&listed.expect("binutils are installed"));
    let exported: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split_once(" T "))
        .map(|(_, name)| name)
        .collect();
    let missing = FUNCTIONS.map(|name| (name, exported.contains(&name)));
    assert_eq!(missing, FUNCTIONS.map(|name| (name, true)));
}

/// A run of 1,024 clients, with `MALLOC_CONF` as given; its standard output and error.
fn run(dir: &std::path::Path, settings: &str) -> (String, String) {
    let words = "run --driver null --system null=. --records 1000 --workload ycsb-a --threads 1024 \
                 --operations 50000 --warmup 0s -o out";
    let words: Vec<_> = words.split_whitespace().collect();
    let mut command = TAILMARK.command(dir, &words);
    let ended = command.env("MALLOC_CONF", settings).output().unwrap();
    assert!(ended.status.success(), "{}", err(&ended));
    (out(&ended), err(&ended))
}

/// The facts of the study about the allocator, by name.
fn facts(dir: &std::path::Path) -> Vec<(String, String)> {
    let export = TAILMARK.run(dir, &["export", "out", "--format", "json"]);
    let study: serde_json::Value = serde_json::from_slice(&export.stdout).unwrap();
    let text = |fact: &serde_json::Value, name: &str| fact[name].as_str().unwrap().to_owned();
    let facts = study["facts"].as_array().unwrap().iter();
    facts
        .map(|fact| (text(fact, "name"), text(fact, "value")))
        .filter(|(name, _)| name.starts_with("allocator"))
        .collect()
}

#[test]
fn a_study_states_the_allocator_its_version_and_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), "");
    let facts = facts(dir.path());
    let names: Vec<_> = facts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["allocator", "allocator settings"]);
    assert!(facts[0].1.starts_with("jemalloc 5."), "{facts:?}");
    let decay = "dirty_decay_ms:10000,muzzy_decay_ms:0,";
    assert!(facts[1].1.starts_with(decay), "{facts:?}");
    let findings = &TAILMARK.points(dir.path())[0]["findings"];
    assert!(!findings.to_string().contains("allocator-settings"));
}

#[test]
fn settings_of_the_allocator_from_outside_are_a_fact_and_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), "dirty_decay_ms:0,narenas:2");
    let facts = facts(dir.path());
    let outside = (
        "allocator settings of this machine",
        "MALLOC_CONF: dirty_decay_ms:0,narenas:2",
    );
    assert!(
        facts.contains(&(outside.0.into(), outside.1.into())),
        "{facts:?}"
    );
    assert!(facts[1].1.starts_with("dirty_decay_ms:0,"), "{facts:?}");
    let findings = TAILMARK.points(dir.path())[0]["findings"].to_string();
    assert!(findings.contains("allocator-settings"), "{findings}");
    assert!(
        findings.contains("MALLOC_CONF: dirty_decay_ms:0,narenas:2"),
        "{findings}"
    );
}
