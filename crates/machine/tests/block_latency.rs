//! Requests of a real disk (a loop device), timed by bpftrace. Needs root, loop devices and bpftrace.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    fs::OpenOptions,
    os::unix::fs::{FileExt, OpenOptionsExt},
    process::Command,
    time::{Duration, Instant},
};
use tailmark_machine::{
    is_root,
    probe::{PROBES, Probe, Reading, Target},
};
use tailmark_testing::{LoopDevice, not_here, not_installed, test};

const BLOCK: usize = 4096;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn every_request_of_the_disk_is_timed_in_its_direction() {
    const WRITES: u64 = 150;
    const READS: u64 = 90;
    if !is_root() {
        not_here("requests are timed by root alone");
    }
    if Command::new("bpftrace").arg("--version").output().is_err() {
        not_installed("bpftrace is missing: apt-get install bpftrace");
    }
    let dir = tempfile::tempdir().unwrap();
    let disk = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let target = Target {
        places: vec![disk.path().into()],
        ..Target::default()
    };
    let had_tracing = has_tracing();
    let row = PROBES
        .iter()
        .find(|row| row.name == "block-latency")
        .unwrap();
    assert!(!row.is_default);
    let mut probe = match (row.open)(&target) {
        Ok(probe) => probe.unwrap(),
        // A kernel without its own types, or one that lets nobody trace.
        Err(error) => not_here(error),
    };
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).custom_flags(direct);
    let file = options.open(disk.path()).unwrap();
    let mut buffer = vec![7_u8; 2 * BLOCK];
    let skip = buffer.as_ptr().align_offset(BLOCK);
    let block = &mut buffer[skip..skip + BLOCK];
    let before = probe.sample().unwrap();
    for slot in 0..WRITES {
        file.write_all_at(block, slot * BLOCK as u64).unwrap();
    }
    for slot in 0..READS {
        file.read_exact_at(block, slot * BLOCK as u64).unwrap();
    }
    let after = when_counted(
        &mut *probe,
        &before,
        &[("writes", WRITES), ("reads", READS)],
    );
    for direction in ["read", "write"] {
        // Nothing takes longer than the last bound here, and each bound has all below it.
        let bounds = after
            .iter()
            .filter(|r| r.name.starts_with(&format!("{direction}_le_")));
        let counts: Vec<f64> = bounds.map(|reading| reading.value).collect();
        assert!(counts.is_sorted(), "{counts:?}");
        assert_eq!(
            counts.last(),
            Some(&value(&after, &format!("{direction}s")))
        );
    }
    assert!(after.iter().all(|reading| reading.subject == disk.name()));
    drop(probe);
    assert_eq!(has_tracing(), had_tracing);
}

/// A sample in which each of these has risen by so much at least; the program in the kernel is asked
/// four times a second.
fn when_counted(probe: &mut dyn Probe, before: &[Reading], rises: &[(&str, u64)]) -> Vec<Reading> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let now = probe.sample().unwrap();
        let rise = |name: &str| value(&now, name) - value(before, name);
        if rises.iter().all(|(name, by)| rise(name) >= *by as f64) {
            return now;
        }
        let seen: Vec<_> = rises.iter().map(|(name, _)| (name, rise(name))).collect();
        assert!(Instant::now() < end, "{seen:?} of {rises:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn value(readings: &[Reading], name: &str) -> f64 {
    let named = readings.iter().find(|reading| reading.name == name);
    named.unwrap().value
}

fn has_tracing() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.contains(" tracefs "))
}
