//! Requests that RocksDB holds up, as on a full disk: without compactions its first level fills, and then
//! no write ever returns.

use crate::support::{Running, TAILMARK};
use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tailmark_testing::test;
use tempfile::TempDir;

/// The program, killed after a time that it never needs.
fn bounded(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--signal=KILL", "100", TAILMARK.0]);
    command.args(args).current_dir(dir);
    command
}

/// What RocksDB logs then.
const HELD: &str = "Stopping writes because we have 5 level-0 files";

/// Waits until writes are held up.
fn until_held(log: &Path) {
    let end = Instant::now() + Duration::from_secs(60);
    let is_held = || fs::read_to_string(log).is_ok_and(|log| log.contains(HELD));
    while !is_held() {
        assert!(Instant::now() < end, "RocksDB does not hold up writes");
        thread::sleep(Duration::from_millis(100));
    }
    // Clients that were within a request come to the next one.
    thread::sleep(Duration::from_millis(500));
}

#[test]
fn ctrl_c_ends_a_drop_in_whose_writes_are_held() {
    let dir = TempDir::new().unwrap();
    let args = [
        "db-bench",
        "--benchmarks=fillrandom",
        "--num=100000000",
        "--value_size=400",
        "--compaction_style=3",
        "--write_buffer_size=300000",
        "--level0_slowdown_writes_trigger=5",
        "--level0_stop_writes_trigger=5",
        "--db=db",
    ];
    let running = Running::start(&mut bounded(dir.path(), &args));
    until_held(&dir.path().join("db/LOG"));
    running.signal("INT");
    let (code, _, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn ctrl_c_ends_a_load_whose_writes_are_held() {
    let dir = TempDir::new().unwrap();
    let options = "[Version]\n  rocksdb_version=11.12.0\n  options_file_version=1.1\n\
        [DBOptions]\n  create_if_missing=true\n\
        [CFOptions \"default\"]\n  compaction_style=kCompactionStyleNone\n  \
        write_buffer_size=300000\n  level0_slowdown_writes_trigger=5\n  level0_stop_writes_trigger=5\n";
    fs::write(dir.path().join("options"), options).unwrap();
    let args = [
        "run",
        "--system=a=data",
        "--records=1M",
        "--workload=ycsb-c",
        "--set=database.options_file=options",
        "-o",
        "out",
    ];
    let running = Running::start(&mut bounded(dir.path(), &args));
    until_held(&dir.path().join("data/rocksdb/LOG"));
    running.signal("INT");
    let (code, _, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("stopped; to resume: "), "{said}");
}
