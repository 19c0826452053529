//! The database at its best: tailmark beside db_bench as packaged and with another allocator, the
//! file driver beside fio, io_uring beside one block after the other. A B C C B A, medians of
//! pairs, ratios only. `[DB_BENCH=name=path+library,...] ./dev bench database [PAIRS] [SECONDS]
//! [misses,hits,load,null,file,io_uring]`; the results are in docs/PERFORMANCE.md. The last two need
//! root.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};
use support::{
    Program, Run,
    beside::{Beside, measure},
    compare,
    measured::{self, Budget},
    null, pair, programs,
};
use tailmark_driver::{Location, db};
use tailmark_prepare::{Unwatched, Volume, emulate, remove_emulated};
use tailmark_testing::{LoopDevice, Mounted, make_ext4};
use tailmark_workload::Workload;

/// Records of 4 KiB that a cache of 8 MiB misses and the page cache holds. Half of the time of Debian's
/// db_bench for such a read is CRC32C, which it computes by a table.
const MISSES: &[&str] = &[
    "--num=200000",
    "--value_size=4096",
    "--cache_size=8388608",
    "--bloom_bits=-1",
];

fn main() {
    let mut args = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut next = |default: &str| args.next().unwrap_or_else(|| default.to_owned());
    let (pairs, seconds) = (next("7").parse().unwrap(), next("2"));
    let parts = next("misses,hits,load,null,file,io_uring");
    let time = Duration::from_secs_f64(seconds.parse().unwrap());
    println!("{pairs} pairs of {seconds} s; tailmark to the other");
    for part in parts.split(',') {
        let scratch = tempfile::tempdir().unwrap();
        match part {
            "misses" => reads(part, scratch.path(), MISSES, &seconds, pairs),
            "hits" => reads(part, scratch.path(), &[], &seconds, pairs),
            "load" => {
                let beside = Beside::new(scratch.path(), programs(), &[]);
                beside.compare("load", "fillrandom", ("2", &seconds), &[], pairs);
            }
            "null" => {
                null::uniform(pairs, time);
                null::zipfian(pairs, time);
            }
            "file" => {
                let device = LoopDevice::new(&scratch.path().join("image"), 256 << 20);
                let place = Location::Device(device.path().to_owned());
                file(part, scratch.path(), &place, time, pairs);
            }
            "disk" => {
                let place = Location::Directory(scratch.path().join("slots.dat"));
                file(part, scratch.path(), &place, time, pairs);
            }
            "io_uring" => io_uring(scratch.path(), &seconds, pairs),
            _ => panic!("there is no part `{part}`"),
        }
    }
}

fn reads(name: &str, scratch: &Path, flags: &[&str], seconds: &str, pairs: usize) {
    let beside = Beside::new(scratch, programs(), flags);
    for threads in ["1", "2", "16", "64"] {
        let name = format!("{name}, {threads} threads");
        beside.compare(&name, "readrandom", (threads, seconds), flags, pairs);
    }
}

/// Random reads of a device or file with O_DIRECT, beside fio's of the same size.
fn file(part: &str, scratch: &Path, place: &Location, time: Duration, pairs: usize) {
    const RECORDS: u64 = 20_000;
    let path = place.path().unwrap();
    for (io, depth, threads) in [
        ("psync", 1, 1),
        ("psync", 1, 16),
        ("uring", 1, 1),
        ("uring", 8, 1),
        ("uring", 32, 1),
        ("uring", 32, 4),
    ] {
        let driver = db::find("file").unwrap();
        let text = depth.to_string();
        let settings = [("io", io), ("depth", &text)];
        let mut params = measured::params(driver, scratch, &settings, RECORDS);
        params.location = place.clone();
        if let Location::Device(device) = place {
            let device = File::options().read(true).write(true).open(device);
            db::stamp::stamp(&device.unwrap(), "bench").unwrap();
        }
        let database = (driver.open)(&params).unwrap();
        let slot = database.facts()["slot_bytes"].clone();
        let clients = driver.client_count(&params.settings, threads);
        let kind = driver.clients(&params.settings);
        let load = Arc::new(Workload::load());
        measured::run(
            database.as_ref(),
            kind,
            &load,
            RECORDS,
            clients,
            Budget::Load,
        );
        let workload = measured::uniform_reads();
        let ours = || {
            let budget = Budget::Time(time);
            measured::run(database.as_ref(), kind, &workload, RECORDS, clients, budget)
                .ops_per_sec()
        };
        let theirs = || fio(path, (io, depth, threads), &slot, RECORDS, time);
        let mut runs = pair(ours, theirs);
        runs[1].0 = "fio".to_owned();
        let name = format!("{part}, {io}, depth {depth}, {threads} threads");
        compare(&name, "ops/s", pairs, runs);
    }
}

/// Reads per second of fio over the slots of the records.
fn fio(
    device: &Path,
    (io, depth, threads): (&str, u32, u32),
    slot: &str,
    records: u64,
    time: Duration,
) -> f64 {
    let engine = if io == "uring" { "io_uring" } else { io };
    let bytes = records * slot.parse::<u64>().unwrap();
    let output = Command::new("fio")
        .args(["--name=reads", "--rw=randread", "--direct=1", "--thread"])
        .args(["--norandommap", "--time_based", "--group_reporting"])
        .args(["--output-format=json", "--offset=1M"])
        .arg(format!("--filename={}", device.display()))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--numjobs={threads}"))
        .arg(format!("--bs={slot}"))
        .arg(format!("--size={bytes}"))
        .arg(format!("--runtime={}ms", time.as_millis()))
        .output()
        .expect("fio is installed (Debian: fio)");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    found["jobs"][0]["read"]["iops"].as_f64().unwrap()
}

/// Reads of eight records at once and scans, of one file and of several with the same range of keys, on
/// a device that takes 1 ms longer for each request.
fn io_uring(scratch: &Path, seconds: &str, pairs: usize) {
    let (directory, volume) = (
        scratch.join("volume"),
        Volume {
            bytes: 4 << 30,
            delay_ms: Some(1),
            ..Volume::default()
        },
    );
    emulate(&volume, &directory, &Unwatched).unwrap();
    let device = directory.join("device");
    make_ext4(&device);
    {
        let mounted = Mounted::new(&[device.as_os_str()], &scratch.join("disk"));
        one_file(mounted.path(), seconds, pairs);
        overlapping_files(mounted.path(), seconds, pairs);
    }
    remove_emulated(&directory, &Unwatched).unwrap();
}

/// Without a cache for blocks.
const NO_CACHE: [&str; 2] = ["--cache_size=1048576", "--bloom_bits=-1"];

fn one_file(disk: &Path, seconds: &str, pairs: usize) {
    let data = [
        "--num=100000",
        "--value_size=4096",
        "--target_file_size_base=4294967296",
    ];
    let data = [&data[..], &NO_CACHE].concat();
    let place = disk.join("one");
    measure(&Program::tailmark(), &place, "fillseq,compact", &data);
    for (benchmark, flag) in [
        ("multireadrandom", "--batch_size=8"),
        ("seekrandom", "--seek_nexts=100"),
    ] {
        let name = format!("{benchmark} {flag}, one file");
        let flags = [&data[..], &[flag]].concat();
        with_and_without(&name, &place, benchmark, (&flags, seconds), pairs);
    }
}

/// Files of level 0: a scan seeks in each of them.
fn overlapping_files(disk: &Path, seconds: &str, pairs: usize) {
    let data = [
        "--num=160000",
        "--write_buffer_size=8388608",
        "--disable_auto_compactions=true",
    ];
    let data = [&data[..], &NO_CACHE].concat();
    let place = disk.join("overlapping");
    measure(&Program::tailmark(), &place, "fillrandom,flush", &data);
    let entries = fs::read_dir(&place).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_table = |path: &PathBuf| path.extension().is_some_and(|end| end == "sst");
    let files = paths.filter(is_table).count();
    for flag in ["--seek_nexts=0", "--seek_nexts=10", "--seek_nexts=100"] {
        let name = format!("seekrandom {flag}, {files} overlapping files");
        let flags = [&data[..], &[flag]].concat();
        with_and_without(&name, &place, "seekrandom", (&flags, seconds), pairs);
    }
}

fn with_and_without(
    name: &str,
    place: &Path,
    benchmark: &str,
    (flags, seconds): (&[&str], &str),
    pairs: usize,
) {
    let time = format!("--duration={seconds}");
    let run = |asynchronous: &'static str| {
        let given = [
            "--use_direct_reads=true",
            "--threads=1",
            &time,
            asynchronous,
        ];
        let given = [flags, &given].concat();
        measure(&Program::tailmark(), place, benchmark, &given)
    };
    let runs: Vec<Run<'_>> = vec![
        ("with io_uring".into(), Box::new(|| run("--async_io=true"))),
        ("without".into(), Box::new(|| run("--async_io=false"))),
    ];
    compare(&format!("{name}, 1 ms"), "ops/s", pairs, runs);
}
