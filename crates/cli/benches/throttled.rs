//! A search on a device whose limit is known: RocksDB with direct reads on a loop device that the
//! kernel holds to so many reads a second (a control group's `blkio.throttle`, or `io.max`). The answer is printed
//! beside the limit. `./dev bench throttled [READS_PER_SECOND] [FLAG...]`, as root; the flags are those of
//! `tailmark run`. The results are in docs/METHOD.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tailmark_testing::{LoopDevice, Mounted, Program};

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// What is searched, unless flags say otherwise: ten minutes at most, of records that no cache holds.
const RUN: [&str; 18] = [
    "run",
    "--driver",
    "rocksdb",
    "--records",
    "100k",
    "--workload",
    "ycsb-c",
    "--set",
    "sweep.distribution=uniform",
    "--set",
    "database.block_cache=1MiB",
    "--set",
    "database.direct_reads=true",
    "--threads",
    "8",
    "--duration",
    "20s",
    "--quick",
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let (limit, flags) = match args.first().map(|first| first.parse::<u64>()) {
        Some(Ok(limit)) => (limit, &args[1..]),
        _ => (400, &args[..]),
    };
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("image"), 2 << 30);
    device.make_ext4();
    let mounted = Mounted::new(&[device.path().as_os_str()], &dir.path().join("disk"));
    let group = Group::new(device.name(), limit);
    let system = format!("disk={}", mounted.path().display());
    let out = dir.path().join("out");
    let run = Command::new("sh")
        .args([
            "-c",
            r#"echo $$ >"$1/cgroup.procs"; shift; exec "$@""#,
            "sh",
        ])
        .args([group.0.as_os_str(), TAILMARK.0.as_ref()])
        .args(RUN)
        .args(["--slo", "p99 read < 250ms", "--system", &system])
        .args(flags)
        .args(["-o".as_ref(), out.as_os_str()])
        .status();
    assert!(run.unwrap().success(), "the search failed");
    let search: &Value = &TAILMARK.exported(dir.path(), "slo")[0];
    let end = |name: &str| match search[name].as_f64() {
        Some(rate) => format!("{rate} ({:.2} of the limit)", rate / limit as f64),
        None => "not known".to_owned(),
    };
    println!("limit of the device: {limit} reads/s");
    println!("held:                {}", end("low"));
    println!("did not hold:        {}", end("high"));
    println!("status:              {}", search["status"]);
}

/// A control group that is held to so many reads a second of a device; removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(device: &str, reads_per_s: u64) -> Self {
        let number = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
        let number = number.trim();
        let v1 = Path::new("/sys/fs/cgroup/blkio");
        let (root, file, text) = if v1.join("blkio.throttle.read_iops_device").exists() {
            (
                v1,
                "blkio.throttle.read_iops_device",
                format!("{number} {reads_per_s}"),
            )
        } else {
            let text = format!("{number} riops={reads_per_s}");
            (Path::new("/sys/fs/cgroup"), "io.max", text)
        };
        let group = root.join(format!("tailmark-throttled-{}", std::process::id()));
        fs::create_dir(&group).unwrap();
        let group = Self(group);
        let written = fs::write(group.0.join(file), text);
        written.unwrap_or_else(|error| panic!("this kernel does not limit I/O ({file}): {error}"));
        group
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
