//! RocksDB with io_uring, and without it where the kernel refuses it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]
#![cfg(feature = "rocksdb")]

#[expect(dead_code, reason = "some is for programs that are not restricted")]
mod db_bench_support;

use db_bench_support::{TAILMARK, found, result, stdout};
use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};
use tailmark_testing::forbid_io_uring;

const FLAGS: &[&str] = &[
    "db-bench",
    "--num=20000",
    "--seed=1",
    "--cache_size=1048576",
    "--batch_size=8",
];

fn db_bench(db: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(TAILMARK);
    command
        .args(FLAGS)
        .arg(format!("--db={}", db.display()))
        .args(flags)
        .stdin(Stdio::null());
    command
}

/// A filled database below a directory.
fn filled(dir: &Path) -> std::path::PathBuf {
    let db = dir.join("db");
    let fill = ["--benchmarks=fillseq,compact"];
    stdout(&db_bench(&db, &fill).output().unwrap());
    db
}

/// Whether a thread of a program has a ring at any time until it ends. RocksDB tries one before it
/// opens its first table, which does not count.
fn has_ring(child: &mut Child) -> bool {
    let descriptors = format!("/proc/{}/fd", child.id());
    let (mut has_table, mut seen) = (false, false);
    while child.try_wait().unwrap().is_none() {
        let open = fs::read_dir(&descriptors).into_iter().flatten().flatten();
        let open: Vec<_> = open
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        seen |= has_table && open.iter().any(|target| target.contains("[io_uring]"));
        has_table |= open.iter().any(|target| target.ends_with(".sst"));
    }
    seen
}

#[test]
fn async_io_reads_several_records_through_io_uring() {
    let dir = tempfile::tempdir().unwrap();
    let db = filled(dir.path());
    for (asynchronous, expected) in [("--async_io=true", true), ("--async_io=false", false)] {
        let flags = [
            "--benchmarks=multireadrandom,seekrandom",
            "--use_existing_db=true",
            "--seek_nexts=20",
            asynchronous,
        ];
        let mut command = db_bench(&db, &flags);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let seen = has_ring(&mut child);
        let text = stdout(&child.wait_with_output().unwrap());
        assert_eq!(seen, expected, "{asynchronous}");
        let all = "(20000 of 20000 found)";
        assert!(
            found(result(&text, "multireadrandom")).starts_with(all),
            "{text}"
        );
        assert!(
            found(result(&text, "seekrandom")).starts_with(all),
            "{text}"
        );
    }
}

#[test]
#[expect(
    unsafe_code,
    reason = "the filter holds only for the program that is started"
)]
fn where_the_kernel_refuses_io_uring_a_warning_says_so_and_every_record_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let db = filled(dir.path());
    let flags = [
        "--benchmarks=multireadrandom",
        "--use_existing_db=true",
        "--async_io=true",
    ];
    let mut command = db_bench(&db, &flags);
    // SAFETY: it only calls the kernel.
    unsafe { command.pre_exec(forbid_io_uring) };
    let ended = command.output().unwrap();
    let text = stdout(&ended);
    let line = result(&text, "multireadrandom");
    assert!(found(line).starts_with("(20000 of 20000 found)"), "{text}");
    // RocksDB's own words about it are not among the results.
    assert!(!text.contains("io_uring"), "{text}");
    let warned = String::from_utf8(ended.stderr).unwrap();
    assert!(
        warned.contains("warning: async_io has no effect, because io_uring is not available (the kernel refuses it: "),
        "{warned}"
    );
}
