//! What a plan expects of the machine, against a real one: file systems on loop devices and memory.
//! Needs root and loop devices; without them a test that needs them is ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Command, Output, Stdio},
};
use tailmark_testing::{LoopDevice, Mounted, Program, Tmpfs, assert_says, err, out, test};
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
        Self::mounted("-onoatime")
    }

    fn mounted(options: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let device = LoopDevice::new(&dir.path().join("image"), 128 << 20);
        device.make_ext4();
        let args = [OsStr::new(options), device.path().as_ref()];
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
    let parts = [
        "system `disk`",
        "is on ext4, but the file system xfs is expected (filesystem)",
        "noatime",
        "(mount_options)",
        "a device of unknown model",
        "(model)",
        "134.2 MB",
        "(capacity)",
        "loop, but a device on nvme is expected (transport)",
        "--unexpected=finding",
    ];
    assert_says(&said, &parts);
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
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    if device(dir.path()) != device(Path::new("/")) {
        tailmark_testing::not_here("/var is not on the root file system");
    }
    let refused = run(dir.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("root file system"),
        "{}",
        err(&refused)
    );
    assert!(!dir.path().join("data").exists());
}

#[test]
fn a_part_of_the_root_file_system_that_is_mounted_elsewhere_is_no_mount_of_its_own() {
    let dir = tempfile::tempdir_in("/var").unwrap();
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    if device(dir.path()) != device(Path::new("/")) {
        tailmark_testing::not_here("/var is not on the root file system");
    }
    let below = dir.path().join("below");
    fs::create_dir(&below).unwrap();
    let args = [OsStr::new("--bind"), below.as_ref()];
    let bound = Mounted::new(&args, &dir.path().join("bound"));
    plan(dir.path(), &bound.path().join("data"), "mount = true");
    let refused = run(dir.path(), &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("root file system"),
        "{}",
        err(&refused)
    );
}

#[test]
fn a_log_on_a_device_of_its_own_is_watched_too() {
    let (data, log) = (Disk::new(), Disk::new());
    let dir = data.dir.path();
    let text = format!(
        "[database]\ndriver = 'rocksdb'\nwal_dir = '{}'\n[dataset]\nrecords = 200\n[machine]\n\
         drop_caches = false\n[sweep]\nworkloads = 'ycsb-a'\nthreads = 1\noperations = 2000\n\
         warmup = '0s'\n[[system]]\nname = 'two disks'\npath = '{}'\n",
        log.place().join("log").display(),
        data.place().join("data").display()
    );
    fs::write(dir.join("plan.toml"), text).unwrap();
    let done = run(dir, &[]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let points = TAILMARK.points(dir);
    let series = points[0]["series"].as_array().unwrap();
    for device in [data.device.path(), log.device.path()] {
        let name = Path::new(device).file_name().unwrap().to_str().unwrap();
        let is_of = |one: &&serde_json::Value| one["probe"] == "disk" && one["subject"] == name;
        assert!(
            series.iter().any(|one| is_of(&one)),
            "{name} is not watched"
        );
    }
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
            text.contains("is on tmpfs") && text.contains("not on a block device"),
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

#[test]
fn a_check_names_what_would_spoil_a_result_and_is_a_gate() {
    let disk = Disk::mounted("-orelatime,discard");
    let dir = disk.dir.path();
    plan(dir, &disk.place().join("data"), "filesystem = 'xfs'");
    let checked = TAILMARK.run(dir, &["check", "plan.toml"]);
    assert_eq!(checked.status.code(), Some(3), "{}", err(&checked));
    let said = out(&checked);
    let parts = [
        "Problems that would spoil results:",
        "  discard: ",
        "  expectations: `disk`: ",
        "the file system xfs is expected",
        "  access-times: ",
        "remount,noatime",
    ];
    assert_says(&said, &parts);
    assert!(!disk.place().join("data").exists(), "nothing is made");
    let exported = TAILMARK.run(dir, &["check", "plan.toml", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&exported.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let found = |name: &str| checks.iter().find(|c| c["name"] == name).unwrap()["found"].clone();
    assert_eq!(found("discard").as_array().unwrap().len(), 1);
    assert_eq!(found("client-host"), serde_json::Value::Null);
    assert!(
        found("disk-load").is_array(),
        "a place that is not there yet is on a disk"
    );
    let sum = |severity: &str| -> u64 {
        let own = checks.iter().filter(|check| check["severity"] == severity);
        own.filter_map(|check| check["found"].as_array())
            .map(|places| places.len() as u64)
            .sum()
    };
    assert_eq!(document["problems"], sum("problem"));
    assert_eq!(document["remarks"], sum("remark"));
}

#[test]
fn devices_are_listed_and_shown_down_to_the_last_one() {
    let disk = Disk::new();
    let dir = disk.dir.path();
    let listed = TAILMARK.run(dir, &["device", "list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    let text = out(&listed);
    let row = text
        .lines()
        .find(|line| line.starts_with(&format!("{} ", disk.device.name())));
    let row = row.unwrap_or_else(|| panic!("{text}"));
    let place = disk.place().to_str().unwrap();
    assert_says(row, &["134 MB", "loop", "ext4", place]);
    let exported = TAILMARK.run(dir, &["device", "list", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&exported.stdout).unwrap();
    let devices = document["devices"].as_array().unwrap();
    let own = devices
        .iter()
        .find(|device| device["name"] == disk.device.name())
        .unwrap();
    assert_eq!(own["size_bytes"], 128 << 20);
    for name in [
        disk.device.name(),
        disk.device.path().to_str().unwrap(),
        disk.place().to_str().unwrap(),
    ] {
        let shown = TAILMARK.run(dir, &["device", "show", name]);
        let device = out(&shown);
        assert!(
            device.starts_with("device:\n"),
            "{name}: {device}{}",
            err(&shown)
        );
        assert!(
            device.contains("backing file") && device.contains(disk.device.name()),
            "{device}"
        );
    }
    let refused = TAILMARK.run(dir, &["device", "show", "no-such-device"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("tailmark device list"),
        "{}",
        err(&refused)
    );
}

#[test]
fn what_is_private_is_in_no_report_export_or_fact_of_a_redacted_run() {
    let memory = Tmpfs::new(64 << 20);
    let dir = tempfile::tempdir().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let line = fs::read_to_string("/proc/cmdline").unwrap();
    plan(dir.path(), &memory.path().join("data"), "mount = true");
    let facts = |args: &[&str]| {
        let words = [&["export", "out", "--format", "json"], args].concat();
        let exported = TAILMARK.run(dir.path(), &words);
        let document: serde_json::Value = serde_json::from_slice(&exported.stdout).unwrap();
        let facts = document["facts"].as_array().unwrap().clone();
        let named = |name: &str| facts.iter().any(|fact| fact["name"] == name);
        (named("hostname"), named("command line"), named("release"))
    };
    assert_eq!(run(dir.path(), &[]).status.code(), Some(0));
    assert_eq!(
        facts(&[]),
        (!host.trim().is_empty(), !line.trim().is_empty(), true)
    );
    assert_eq!(facts(&["--redact"]), (false, false, true));
    let report = |args: &[&str]| {
        let words = [&["report", "out", "--format", "terminal"], args].concat();
        out(&TAILMARK.run(dir.path(), &words))
    };
    assert!(report(&[]).contains("hostname"));
    assert!(!report(&["--redact"]).contains("hostname"));
    // The plan of another run says so itself, and its study never had them.
    fs::remove_dir_all(dir.path().join("out")).unwrap();
    assert_eq!(run(dir.path(), &["--redact"]).status.code(), Some(0));
    assert_eq!(facts(&[]), (false, false, true));
    assert!(!report(&[]).contains("hostname"));
}

#[test]
fn without_root_everything_goes_on_and_what_needs_it_is_missing() {
    const NOBODY: &str = "65534";
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("tailmark");
    // The directory of the build may be closed to others.
    let linked = fs::hard_link(TAILMARK.0, &program);
    linked
        .or_else(|_| fs::copy(TAILMARK.0, &program).map(drop))
        .unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        command
            .arg(&program)
            .args(args)
            .current_dir(dir.path())
            .stdin(Stdio::null());
        match command.output() {
            Ok(output) if output.status.code() == Some(127) => {
                tailmark_testing::not_here(err(&output))
            }
            Ok(output) => output,
            Err(error) => tailmark_testing::not_here(error),
        }
    };
    let listed = as_nobody(&["device", "list"]);
    if err(&listed).contains("setpriv") {
        tailmark_testing::not_here(err(&listed));
    }
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    plan(dir.path(), &dir.path().join("data"), "transport = 'usb'");
    let words = ["run", "plan.toml", "-o", "out", "--unexpected=finding"];
    let done = as_nobody(&words);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let facts = TAILMARK.exported(dir.path(), "facts");
    let has = |name: &str| facts.iter().any(|fact| fact["name"] == name);
    assert!(
        has("release") && has("type") && !has("modules"),
        "{facts:?}"
    );
    let checked = as_nobody(&["check", "plan.toml"]);
    assert_eq!(checked.status.code(), Some(3), "{}", err(&checked));
    assert!(
        out(&checked).contains("expectations: `disk`"),
        "{}",
        out(&checked)
    );
}
