//! What sampling costs: processor time of each probe and of RocksDB's statistics at one sample a
//! second, and what a run keeps of its ops/s with the probes on, with the null driver and with reads
//! of RocksDB that go to the disk; interleaved. `./dev bench probes [TICKS] [PAIRS] [SECONDS]
//! [DIRECTORY]`; the results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use procfs::{ExplicitSystemInfo, FromBufReadSI, KernelStats};
use rustix::time::{ClockId, clock_gettime};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use support::{
    compare,
    measured::{self, Budget},
};
use tailmark_driver::{Clients, Database, db};
use tailmark_machine::probe::{PROBES, Probe, Target};
use tailmark_runner::capture::Watched;
use tailmark_workload::Workload;

/// 4 x 1,024 B each: more than is cached of them below.
const RECORDS: u64 = 200_000;
/// So few that one client has read them all within seconds.
const FEW: u64 = 20_000;
/// A cache of hardly anything, and none of the kernel's.
const DISK: &[(&str, &str)] = &[
    ("block_cache", "8MiB"),
    ("direct_reads", "true"),
    ("compression", "none"),
];
const CACHED: &[(&str, &str)] = &[("block_cache", "4GiB"), ("compression", "none")];
const COUNTED: &[(&str, &str)] = &[
    ("block_cache", "4GiB"),
    ("compression", "none"),
    ("statistics", "true"),
];

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut number = |default: u32| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (ticks, pairs, seconds) = (number(60), number(5) as usize, number(3));
    let place = args.next().map_or_else(std::env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(place).unwrap();
    let budget = Budget::Time(Duration::from_secs(seconds.into()));
    let rocksdb = db::find("rocksdb").unwrap();
    let load = |name: &str, records| {
        let path = dir.path().join(name);
        let database = measured::open(rocksdb, &path, CACHED, records);
        let workload = Arc::new(Workload::load());
        measured::run(
            database.as_ref(),
            Clients::Threads,
            &workload,
            records,
            2,
            Budget::Load,
        );
        assert!(database.flush(&|| false).unwrap());
        path
    };
    let path = load("disk", RECORDS);
    let disk = measured::open(rocksdb, &path, DISK, RECORDS);
    if ticks > 0 {
        costs(disk.as_ref(), dir.path(), ticks);
    }
    if pairs == 0 {
        return;
    }
    let null = measured::open(db::find("null").unwrap(), Path::new("/"), &[], RECORDS);
    keeps(
        "null, reads, 2 clients",
        null.as_ref(),
        dir.path(),
        pairs,
        budget,
    );
    keeps(
        "RocksDB, reads of the disk, 2 clients",
        disk.as_ref(),
        dir.path(),
        pairs,
        budget,
    );
    drop(disk);
    let open = |name, settings| measured::open(rocksdb, &load(name, FEW), settings, FEW);
    tickers(
        open("cached", CACHED).as_ref(),
        open("counted", COUNTED).as_ref(),
        pairs,
        budget,
    );
}

/// What RocksDB's own counters cost reads that find everything in its cache.
fn tickers(cached: &dyn Database, counted: &dyn Database, pairs: usize, budget: Budget) {
    let watched = Watched::default();
    let reads = |database| ops_per_s(database, FEW, 1, &watched, budget);
    // The first reads fill the caches.
    reads(cached);
    reads(counted);
    let runs = vec![
        (
            "tailmark".to_owned(),
            Box::new(|| reads(counted)) as Box<dyn FnMut() -> f64>,
        ),
        ("without tickers".to_owned(), Box::new(|| reads(cached))),
    ];
    let name = "RocksDB with tickers, reads in cache, 1 client";
    compare(name, "ops/s", pairs, runs);
}

/// Reads a second.
fn ops_per_s(
    database: &dyn Database,
    records: u64,
    clients: u32,
    watched: &Watched,
    budget: Budget,
) -> f64 {
    let (workload, kind) = (measured::uniform_reads(), Clients::Threads);
    let phase = measured::run_watched(database, kind, &workload, records, clients, budget, watched);
    phase.operations as f64 / phase.duration_s
}

/// What a run with probes keeps of one without.
fn keeps(name: &str, database: &dyn Database, place: &Path, pairs: usize, budget: Budget) {
    let watched = |probes: &[&str]| Watched {
        places: vec![place.to_owned()],
        probes: probes.iter().map(|probe| (*probe).to_owned()).collect(),
        ..Watched::default()
    };
    let (with, without) = (watched(&[]), watched(&["none"]));
    let runs = vec![
        (
            "tailmark".to_owned(),
            Box::new(|| ops_per_s(database, RECORDS, 2, &with, budget)) as Box<dyn FnMut() -> f64>,
        ),
        (
            "one without probes".to_owned(),
            Box::new(|| ops_per_s(database, RECORDS, 2, &without, budget)),
        ),
    ];
    compare(name, "ops/s", pairs, runs);
}

/// Processor time of this thread, microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Prints what each probe takes for one sample, with a second between samples as in a run.
fn costs(database: &dyn Database, place: &Path, ticks: u32) {
    let target = Target {
        system: "bench".to_owned(),
        places: vec![place.to_owned()],
        hosts: Vec::new(),
        background_threads: "rocksdb:",
        power_command: None,
    };
    let mut open: Vec<(&str, u64, Box<dyn Probe>)> = Vec::new();
    for row in PROBES.iter().filter(|row| row.is_default) {
        if let Ok(Some(probe)) = (row.open)(&target) {
            open.push((row.name, row.period_s, probe));
        }
    }
    let mut spent = vec![(0.0, 0); open.len() + 1];
    for _ in 0..ticks {
        let tick = Instant::now();
        for ((_, _, probe), total) in open.iter_mut().zip(&mut spent) {
            let before = cpu_us();
            let read = probe.sample().unwrap().len();
            *total = (total.0 + cpu_us() - before, read);
        }
        let before = cpu_us();
        let told = database.statistics().unwrap().len();
        let last = spent.last_mut().unwrap();
        *last = (last.0 + cpu_us() - before, told);
        std::thread::sleep(Duration::from_secs(1).saturating_sub(tick.elapsed()));
    }
    let names = open.iter().map(|(name, ..)| *name).chain(["database"]);
    let (mut all_us, mut all) = (0.0, 0);
    for (name, (us, values)) in names.zip(&spent) {
        let us = us / f64::from(ticks);
        println!("{name}: {us:.0} us a sample, {values} values");
        (all_us, all) = (all_us + us, all + values);
    }
    println!(
        "all: {all_us:.0} us a second of a core, {:.3} %; {all} values",
        all_us / 1e4
    );
    println!(
        "of 128 cores, /proc/stat parsed alone: {:.0} us",
        parsed_us(128)
    );
}

/// What it takes to parse the times of so many cores; what the kernel takes to write them is beside
/// that.
fn parsed_us(cores: u32) -> f64 {
    let mut text = "cpu  1000000 2000 3000000 400000000 50000 6000 70000 8000 0 0\n".to_owned();
    for core in 0..cores {
        text += &format!("cpu{core} 10000 20 30000 4000000 500 60 700 80 0 0\n");
    }
    // As many interrupts as such a machine has.
    text += &format!("intr 123456789{}\n", " 12345".repeat(2_000));
    text += "ctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 1 1 1\n";
    let system = ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: 100,
        page_size: 4096,
        is_little_endian: true,
    };
    let (before, times) = (cpu_us(), 200);
    for _ in 0..times {
        let stats = KernelStats::from_buf_read(text.as_bytes(), &system).unwrap();
        assert_eq!(stats.cpu_time.len(), cores as usize);
    }
    (cpu_us() - before) / f64::from(times)
}
