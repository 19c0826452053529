//! What several processes cost together, under `mpirun` on this machine: merged ops/s of two and four
//! ranks against as many processes of their own at once, how late ranks begin, the processor time of the
//! threads that talk, and how long what was measured takes to become one. `./dev bench ranks
//! [PAIRS] [SECONDS]`; the results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::compare;
use tailmark_model::Phase;
use tailmark_study::{Study, pack_phase, unpack_phase};
use tailmark_testing::{Hosts, Mpirun, Program};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

const RANKS: u32 = 4;

/// No run takes so long.
const END: Duration = Duration::from_secs(600);

/// How long a job takes at most until its point is under way.
const BEGUN: Duration = Duration::from_secs(10);

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pairs = args.next().and_then(|a| a.parse().ok()).unwrap_or(5);
    let seconds = args.next().and_then(|a| a.parse().ok()).unwrap_or(5);
    let program = PathBuf::from(std::env::var("TEST_MPI").expect("TEST_MPI is set"));
    ops(&program, 2, pairs, seconds);
    ops(&program, RANKS, pairs, seconds);
    talk(&program, seconds);
    gather();
    wire(&program, seconds);
}

/// A run of the driver that does nothing.
fn null(threads: u32, seconds: u64) -> Vec<String> {
    let threads = format!("--threads={threads}");
    let duration = format!("--duration={seconds}s");
    let fixed = [
        "run",
        "--driver=null",
        "--system=a=x",
        "--records=1k",
        "--workload=ycsb-c",
        "--warmup=1s",
        "--probe=none",
        "--output=out",
        &threads,
        &duration,
    ];
    fixed.map(ToOwned::to_owned).into()
}

fn point(dir: &Path) -> Value {
    TAILMARK.points(dir).remove(0)
}

/// One point of so many ranks, a client each.
fn by_ranks(program: &Path, ranks: u32, seconds: u64) -> Value {
    let dir = TempDir::new().unwrap();
    let mpirun = Mpirun::new(ranks, program, dir.path()).args(null(ranks, seconds));
    let ended = mpirun.run(END);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    point(dir.path())
}

fn ops(program: &Path, count: u32, pairs: usize, seconds: u64) {
    let mut late_us = Vec::new();
    let ranks = || {
        let point = by_ranks(program, count, seconds);
        let late = point["ranks"].as_array().unwrap().iter();
        late_us.extend(late.map(|rank| rank["late_ns"].as_f64().unwrap() / 1e3));
        point["ops_per_sec"].as_f64().unwrap() / 1e6
    };
    let apart = || {
        let dirs: Vec<_> = (0..count).map(|_| TempDir::new().unwrap()).collect();
        let start = |dir: &TempDir| {
            let mut one = Command::new(program);
            one.args(null(1, seconds)).current_dir(dir.path());
            one.stdout(Stdio::null()).stderr(Stdio::null());
            one.spawn().unwrap()
        };
        for mut one in dirs.iter().map(start).collect::<Vec<_>>() {
            assert!(one.wait().unwrap().success());
        }
        let ops = |dir: &TempDir| point(dir.path())["ops_per_sec"].as_f64().unwrap();
        dirs.iter().map(ops).sum::<f64>() / 1e6
    };
    compare(
        &format!("merged ops/s of {count} ranks"),
        "million a second",
        pairs,
        vec![
            ("ranks".into(), Box::new(ranks)),
            (format!("{count} processes at once"), Box::new(apart)),
        ],
    );
    late_us.sort_by(f64::total_cmp);
    println!(
        "start of a rank after the agreed instant: median {:.1} us, most {:.1} us, under 100 us {} of {}",
        late_us[late_us.len() / 2],
        late_us[late_us.len() - 1],
        late_us.iter().filter(|us| **us < 100.0).count(),
        late_us.len()
    );
}

/// The processor time of the threads that talk to other ranks, in the middle of a point in which
/// clients wait: a rate of 100 a second.
fn talk(program: &Path, seconds: u64) {
    let dir = TempDir::new().unwrap();
    let mut args = null(RANKS, seconds + 30);
    args.push("--rates=100".to_owned());
    let mut job = Mpirun::new(RANKS, program, dir.path()).args(args).start();
    let ranks: Vec<_> = (0..RANKS).map(|rank| job.rank(rank, END)).collect();
    thread::sleep(BEGUN);
    let before: Vec<_> = ranks.iter().map(|pid| talking(*pid)).collect();
    let start = Instant::now();
    thread::sleep(Duration::from_secs(seconds));
    let took = start.elapsed();
    for (rank, (pid, earlier)) in ranks.iter().zip(before).enumerate() {
        let share = (talking(*pid) - earlier).as_secs_f64() / took.as_secs_f64();
        println!(
            "rank {rank}: the threads that talk take {:.2} % of a core",
            share * 100.0
        );
    }
}

/// The processor time of them so far.
fn talking(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of_task = |task: PathBuf| {
        let name = fs::read_to_string(task.join("comm")).unwrap_or_default();
        let stat = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
        let ns = stat.split(' ').next().and_then(|ns| ns.parse().ok());
        matches!(name.trim(), "mpi" | "ranks").then_some(ns.unwrap_or(0))
    };
    Duration::from_nanos(tasks.filter_map(|task| of_task(task.path())).sum())
}

/// What rank 0 does with the parts of a point of 1,200 intervals of all ranks, beside what is on the
/// wire.
fn gather() {
    let dir = TempDir::new().unwrap();
    let args = [
        "run",
        "--driver=sim",
        "--system=a=x",
        "--set=database.model=lognormal 1ms 1",
        "--records=1k",
        "--workload=ycsb-a",
        "--threads=4",
        "--duration=1199s",
        "--warmup=0s",
        "--output=out",
    ];
    let run = TAILMARK.run(dir.path(), &args);
    assert!(run.status.success(), "{}", tailmark_testing::err(&run));
    let study = Study::open_read_only(&dir.path().join("out")).unwrap();
    let phase = study.points().unwrap().remove(0).phase;
    let intervals = phase.intervals.len();
    let mut took = Vec::new();
    let bytes = pack_phase(&phase).unwrap();
    for _ in 0..9 {
        let own = phase.clone();
        let start = Instant::now();
        let others = (1..RANKS).map(|_| unpack_phase(&bytes).unwrap());
        let parts: Vec<_> = std::iter::once(own).chain(others).collect();
        let all = Phase::of_parts(parts);
        took.push(start.elapsed().as_secs_f64());
        assert_eq!(all.operations, u64::from(RANKS) * phase.operations);
    }
    took.sort_by(f64::total_cmp);
    let before = resident_bytes();
    let kept: Vec<_> = (0..32).map(|_| unpack_phase(&bytes).unwrap()).collect();
    let part_bytes = resident_bytes().saturating_sub(before) / kept.len();
    let pack = Instant::now();
    let packed = pack_phase(&phase).unwrap().len();
    println!(
        "{intervals} intervals of {RANKS} ranks, {packed} bytes each, {part_bytes} in memory: packed in \
         {:.3} s, read and added in {:.3} s (to {:.3})",
        pack.elapsed().as_secs_f64(),
        took[took.len() / 2],
        took[took.len() - 1],
    );
}

/// The memory of this process.
fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) * 1024
}

/// What a rank sends and receives in a second of a point, headers and all: between hosts that are
/// network namespaces (root).
fn wire(program: &Path, seconds: u64) {
    let (dir, hosts) = (TempDir::new().unwrap(), Hosts::new(3));
    let mut args = null(RANKS, seconds + 30);
    args.push("--rates=100".to_owned());
    let mut job = Mpirun::on(&hosts, program, dir.path()).args(args).start();
    let _ = job.rank(2, END);
    thread::sleep(BEGUN);
    let bytes = |host: u32, way: &str| {
        let file = format!("/sys/class/net/eth0/statistics/{way}_bytes");
        let cat = ["netns", "exec", &hosts.namespace(host), "cat", &file];
        let said = tailmark_testing::system("ip", &cat).unwrap();
        said.trim().parse::<u64>().unwrap()
    };
    let both = |host| (bytes(host, "tx"), bytes(host, "rx"));
    let before = [1, 2, 3].map(both);
    let start = Instant::now();
    thread::sleep(Duration::from_secs(seconds));
    let took = start.elapsed().as_secs_f64();
    for (host, (sent, received)) in (1..).zip(before) {
        let (sent_now, received_now) = both(host);
        println!(
            "rank {} sends {:.0} bytes a second and receives {:.0}",
            host - 1,
            (sent_now - sent) as f64 / took,
            (received_now - received) as f64 / took
        );
    }
}
