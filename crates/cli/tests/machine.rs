//! What a plan expects of the machine, against a real one: file systems on loop devices, and memory.
//! Needs root and loop devices; without them a test that needs them is ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{ffi::OsStr, fs, path::Path, process::Output};
use tailmark_testing::{LoopDevice, Mounted, Program, Tmpfs, err, out, test};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// An ext4 on a loop device of its own, taken down when dropped.
struct Disk {
    // In the order in which they are taken down.
    mounted: Mounted,
    device: LoopDevice,
    dir: TempDir,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let device = LoopDevice::new(&dir.path().join("image"), 128 << 20);
        device.make_ext4();
        let args = [OsStr::new("-onoatime"), device.path().as_ref()];
        Self {
            mounted: Mounted::new(&args, &dir.path().join("mounted")),
            device,
            dir,
        }
    }

    fn place(&self) -> &Path {
        self.mounted.path()
    }
}

/// A plan of one system of the driver `file` in a place, of which this is expected.
fn plan(dir: &Path, place: &Path, expect: &str) {
    let text = format!(
        "same_device = true\n[database]\ndriver = 'file'\n[dataset]\nrecords = 200\n\
         [sweep]\nworkloads = 'ycsb-c'\nthreads = 1\noperations = 100\nwarmup = '0s'\n\
         [[system]]\nname = 'disk'\npath = '{}'\nexpect = {{ {expect} }}\n",
        place.display()
    );
    fs::write(dir.join("plan.toml"), text).unwrap();
}

fn run(dir: &Path, more: &[&str]) -> Output {
    TAILMARK.run(dir, &[&["run", "plan.toml", "-o", "out"], more].concat())
}

#[test]
fn what_is_as_expected_is_measured() {
    let disk = Disk::new();
    let expect = "mount = true, filesystem = 'ext4', mount_options = 'noatime', transport = 'loop', \
                  capacity = '134MB'";
    plan(disk.dir.path(), &disk.place().join("data"), expect);
    let done = run(disk.dir.path(), &[]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let points = TAILMARK.points(disk.dir.path());
    let findings = points[0]["findings"].to_string();
    assert!(!findings.contains("\"unexpected\""), "{findings}");
}

#[test]
fn one_error_lists_all_that_is_not_as_expected_and_nothing_is_made() {
    let disk = Disk::new();
    let dir = disk.dir.path();
    let expect = "filesystem = 'xfs', mount_options = ['discard'], model = '7450', capacity = \
                  '7.68TB', transport = 'nvme'";
    let place = disk.place().join("data");
    plan(dir, &place, expect);
    let refused = run(dir, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = err(&refused);
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in [
        "system `disk`",
        "is on ext4, but the file system xfs is expected (filesystem)",
        "noatime",
        "(mount_options)",
        "a device of no known model",
        "(model)",
        "134.2 MB",
        "(capacity)",
        "loop, but a device on nvme is expected (transport)",
        "--unexpected=finding",
    ] {
        assert!(said.contains(part), "{said}\nlacks {part}");
    }
    assert!(!place.exists() && !dir.join("out/study.sqlite").exists());
    let dry = run(dir, &["--dry-run"]);
    assert!(out(&dry).contains("cannot be run: "), "{}", out(&dry));
    assert!(
        out(&dry).contains("the file system xfs is expected"),
        "{}",
        out(&dry)
    );
}

#[test]
fn a_device_that_was_not_mounted_is_not_filled_on_the_disk_below() {
    let dir = tempfile::tempdir_in("/var").unwrap();
    plan(dir.path(), &dir.path().join("data"), "mount = true");
    let refused = run(dir.path(), &[]);
    if err(&refused).is_empty() {
        tailmark_testing::not_here("/var is a mount point of its own");
    }
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("root file system"),
        "{}",
        err(&refused)
    );
    assert!(!dir.path().join("data").exists());
}

#[test]
fn as_a_finding_it_stands_beside_every_number_and_a_study_may_change_its_mind() {
    let memory = Tmpfs::new(64 << 20);
    let dir = tempfile::tempdir().unwrap();
    plan(
        dir.path(),
        &memory.path().join("data"),
        "filesystem = 'xfs', model = '7450'",
    );
    let done = run(dir.path(), &["--unexpected", "finding"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(
        err(&done).contains("not as the plan expects: system `disk`"),
        "{}",
        err(&done)
    );
    for part in ["loads", "points"] {
        let findings = TAILMARK.exported(dir.path(), part)[0]["findings"].clone();
        let found = findings.as_array().unwrap().iter();
        let text = found
            .filter(|f| f["code"] == "unexpected")
            .map(|f| f["text"].to_string());
        let text: String = text.collect();
        assert!(
            text.contains("is on tmpfs") && text.contains("no block device"),
            "{part}: {text}"
        );
    }
    // Everything is measured: what is expected does not matter any more.
    let again = run(dir.path(), &[]);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
}

#[test]
fn a_place_on_the_command_line_is_not_what_the_plan_speaks_of() {
    let memory = Tmpfs::new(64 << 20);
    let dir = tempfile::tempdir().unwrap();
    plan(
        dir.path(),
        Path::new("/nowhere/at/all"),
        "filesystem = 'xfs'",
    );
    let place = memory.path().join("data");
    let system = format!("disk={}", place.display());
    let done = run(dir.path(), &["--system", &system]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let set = format!("system.disk.path=\"{}\"", place.display());
    let refused = TAILMARK.run(
        dir.path(),
        &["run", "plan.toml", "-o", "other", "--set", &set],
    );
    assert!(
        err(&refused).contains("is on tmpfs, but the file system xfs"),
        "{}",
        err(&refused)
    );
}

#[test]
fn the_devices_of_a_place_are_in_the_study_down_to_the_last_one() {
    let disk = Disk::new();
    let image = disk.place().join("image");
    let inner = LoopDevice::new(&image, 64 << 20);
    inner.make_ext4();
    let mounted = Mounted::new(&[inner.path().as_ref()], &disk.dir.path().join("inner"));
    plan(
        disk.dir.path(),
        &mounted.path().join("data"),
        "transport = 'loop'",
    );
    let done = run(disk.dir.path(), &[]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let facts = TAILMARK.exported(disk.dir.path(), "facts");
    let value = |group: &str, name: &str| {
        let fact = facts
            .iter()
            .find(|fact| fact["group"] == group && fact["name"] == name);
        fact.map(|fact| fact["value"].as_str().unwrap_or_default().to_owned())
            .unwrap_or_default()
    };
    assert_eq!(value("device", "name"), inner.name());
    assert_eq!(value("device below 1", "name"), disk.device.name());
    assert_eq!(value("device", "kind"), "loop");
    assert!(value("device", "devices below").starts_with(disk.device.name()));
    assert!(value("file system", "features").contains("extent"));
    assert!(!value("device", "read ahead").is_empty());
}
