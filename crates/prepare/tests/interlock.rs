//! The interlock on real loop devices: for each hole in a simpler guard, that the simpler one lets the
//! device through, and ours does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod disk;

use disk::{BYTES, Disk, opens_exclusively, text, unseen};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    process::{Child, Command, Stdio},
};
use tailmark_prepare::{Claim, Consent, Error, Reach, Target};
use tailmark_testing::{LoopDevice, Mounted, not_here, system, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// What fio does: compare names with those in the table of mounts.
fn is_name_mounted(name: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts
        .lines()
        .any(|line| line.split(' ').next() == Some(name))
}

fn mounted(disk: &Disk) -> Mounted {
    disk.device.make_ext4();
    Mounted::new(&[disk.path().as_ref()], &disk.dir.path().join("mounted"))
}

#[test]
fn without_its_serial_number_nothing_is_erased_and_a_part_of_it_is_not_it() {
    let disk = Disk::new();
    assert_eq!(disk.refused(&unseen()), ["serial"]);
    let part = disk.image.display().to_string();
    for given in [&part[..part.len() - 1], "yes", ""] {
        let consent = Consent {
            serials: vec![given.to_owned()],
            ..unseen()
        };
        assert_eq!(disk.refused(&consent), ["serial"], "{given}");
    }
    let said = text(&disk.refusals(&Consent::default()), "serial");
    assert!(said.contains(&format!("--erase {part}")), "{said}");
}

#[test]
fn another_name_of_a_mounted_device_is_refused() {
    let disk = Disk::new();
    let _mounted = mounted(&disk);
    let alias = disk.dir.path().join("by-id-alias");
    symlink(disk.device.path(), &alias).unwrap();
    let alias = alias.to_str().unwrap();
    // The simpler guard compares names.
    assert!(is_name_mounted(disk.path()) && !is_name_mounted(alias));
    let target = Target::find(alias).unwrap();
    let evidence = Claim::refusals(&target, Reach::Device, &disk.consent()).unwrap();
    assert!(text(&evidence, "mounted").contains("ext4"), "{evidence:#?}");
    // And the refusal lists everything else that speaks against it.
    assert!(text(&evidence, "signatures").contains("--overwrite-signature ext4:"));
    let refused = disk.refused(&disk.consent());
    for guard in ["exclusive", "mounted", "signatures"] {
        assert!(refused.contains(&guard), "{refused:?}");
    }
}

#[test]
fn a_device_below_a_loop_device_is_refused() {
    let disk = Disk::new();
    let words = ["--find", "--show", disk.path()];
    let above = match system("losetup", &words) {
        Ok(name) => name.trim().to_owned(),
        Err(why) => not_here(why),
    };
    // The simpler guard sees nothing of it.
    let was_open = opens_exclusively(disk.device.path());
    let evidence = disk.evidence();
    let refused = disk.refused(&disk.consent());
    system("losetup", &["--detach", &above]).unwrap();
    assert!(was_open, "an exclusive open does not see it");
    assert!(
        text(&evidence, "stacked").contains(&above[5..]),
        "{evidence:#?}"
    );
    assert!(refused.contains(&"stacked"), "{refused:?}");
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
}

/// A further loop device, over a file or a device; detached when dropped.
struct Above(String);

impl Above {
    fn new(over: &OsStr) -> Self {
        let words = ["--find", "--show", over.to_str().unwrap()];
        match system("losetup", &words) {
            Ok(name) => Self(name.trim().to_owned()),
            Err(why) => not_here(why),
        }
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        let _ = system("losetup", &["--detach", &self.0]);
    }
}

#[test]
fn a_device_whose_file_another_loop_device_is_over_is_refused() {
    let disk = Disk::new();
    let other = Above::new(disk.image.as_os_str());
    // Neither is a part of the other: an exclusive open sees nothing.
    assert!(opens_exclusively(disk.device.path()));
    let said = text(&disk.evidence(), "stacked");
    assert!(said.contains(&other.0[5..]), "{said}");
    assert!(disk.refused(&disk.consent()).contains(&"stacked"));
    drop(other);
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
}

#[test]
fn a_loop_device_over_another_device_is_refused_whatever_is_on_that() {
    let disk = Disk::new();
    let above = Above::new(disk.device.path().as_os_str());
    let target = Target::find(&above.0).unwrap();
    let consent = Consent {
        serials: target.identity.serial.iter().cloned().collect(),
        ..unseen()
    };
    let evidence = Claim::refusals(&target, Reach::Device, &consent).unwrap();
    let said = text(&evidence, "kind");
    assert!(said.contains("over another block device"), "{evidence:#?}");
}

#[test]
fn a_device_below_a_file_in_a_file_system_on_it_is_refused() {
    let disk = Disk::new();
    let mounted = mounted(&disk);
    let inner = LoopDevice::new(&mounted.path().join("inner"), 1 << 20);
    let said = text(&disk.evidence(), "stacked");
    assert!(said.contains(inner.name()), "{said}");
}

#[test]
fn a_device_with_the_results_on_it_is_refused() {
    let disk = Disk::new();
    let mounted = mounted(&disk);
    let consent = Consent {
        kept: vec![mounted.path().join("study/not/there/yet")],
        ..disk.consent()
    };
    let said = text(&disk.refusals(&consent), "kept");
    assert!(said.contains("study"), "{said}");
    assert_eq!(text(&disk.evidence(), "kept"), "");
}

#[test]
fn swap_is_refused_though_no_mount_shows_it() {
    let disk = Disk::new();
    if let Err(why) = system("mkswap", &[disk.path()]) {
        not_here(why);
    }
    // Above the lowest priority of the kernel nothing is written to it before the others are full.
    if let Err(why) = system("swapon", &["--priority", "0", disk.path()]) {
        not_here(why);
    }
    let evidence = disk.evidence();
    let refused = disk.refused(&disk.consent());
    system("swapoff", &[disk.path()]).unwrap();
    assert!(!is_name_mounted(disk.path()));
    assert!(
        text(&evidence, "swap").contains(disk.path()),
        "{evidence:#?}"
    );
    assert!(refused.contains(&"swap"), "{refused:?}");
    // Afterwards it is still a foreign signature.
    let said = text(&disk.evidence(), "signatures");
    assert!(said.contains("--overwrite-signature swap:"), "{said}");
}

/// A process that has something in use while this lives.
struct Holder(Child);

impl Holder {
    /// Runs a script that prints a line when it is ready, and then waits for its input to end.
    fn new(program: &str, words: &[&OsStr]) -> Self {
        let mut command = Command::new(program);
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(why) => not_here(why),
        };
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let holder = Self(child);
        if line.trim() != "ready" {
            not_here(format!("{program}: {line}"));
        }
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

#[test]
fn a_mount_in_another_namespace_is_refused() {
    let disk = Disk::new();
    disk.device.make_ext4();
    let script = "mkdir -p \"$2\" && mount --make-rprivate / && mount \"$1\" \"$2\" && echo ready && \
                  read -r _";
    let point = disk.dir.path().join("hidden");
    let words = ["--mount", "sh", "-c", script, "sh", disk.path()].map(OsStr::new);
    let holder = Holder::new("unshare", &[&words[..], &[point.as_os_str()]].concat());
    // The simpler guard reads the mounts that it sees itself.
    assert!(!is_name_mounted(disk.path()));
    let said = text(&disk.evidence(), "mounted");
    assert!(said.contains("hidden"), "{said}");
    let refused = disk.refused(&disk.consent());
    assert!(refused.contains(&"mounted"), "{refused:?}");
    drop(holder);
    assert_eq!(disk.refused(&disk.consent()), ["signatures"]);
}

#[test]
fn a_device_that_a_program_has_open_is_refused() {
    let disk = Disk::new();
    let script = "exec 3<>\"$1\" && echo ready && read -r _";
    let words = ["-c", script, "sh", disk.path()].map(OsStr::new);
    let holder = Holder::new("sh", &words);
    // As a database does that writes a raw device: an exclusive open does not see it.
    assert!(opens_exclusively(disk.device.path()));
    let said = text(&disk.evidence(), "open");
    assert!(said.contains("(sh)"), "{said}");
    assert_eq!(disk.refused(&disk.consent()), ["open"]);
    drop(holder);
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
}

#[test]
fn a_device_that_another_took_the_name_of_is_refused() {
    let disk = Disk::new();
    let target = disk.target();
    // What the name leads to changes between the look and the act.
    let other = disk.dir.path().canonicalize().unwrap().join("other");
    File::create(&other).unwrap().set_len(BYTES).unwrap();
    system("losetup", &["--detach", disk.path()]).unwrap();
    let taken = system("losetup", &[OsStr::new(disk.path()), other.as_os_str()]);
    if let Err(why) = taken {
        not_here(format!("somebody else took the number: {why}"));
    }
    // The simpler guard looked at the first device, and opens what now has its name.
    assert!(opens_exclusively(disk.device.path()));
    let refused = || Claim::take(&target, Reach::Device, &disk.consent()).unwrap_err();
    let error = refused();
    assert!(matches!(error, Error::Renumbered { .. }), "{error}");
    assert!(error.to_string().contains("other"), "{error}");
    // The same where even the file has the name that the other one had.
    fs::rename(&other, &disk.image).unwrap();
    assert!(matches!(refused(), Error::Renumbered { .. }));
}

#[test]
fn a_device_unlike_the_plan_is_refused() {
    let disk = Disk::new();
    let consent = |model: Option<&str>, bytes| Consent {
        model: model.map(str::to_owned),
        bytes,
        ..disk.consent()
    };
    assert_eq!(disk.refused(&consent(None, Some(BYTES))), [""; 0]);
    assert_eq!(disk.refused(&consent(Some("7450"), None)), ["plan"]);
    assert_eq!(disk.refused(&consent(None, Some(BYTES * 2))), ["plan"]);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let disk = Disk::new();
    if let Err(why) = system("blockdev", &["--setro", disk.path()]) {
        not_here(why);
    }
    let said = text(&disk.evidence(), "read-only");
    system("blockdev", &["--setrw", disk.path()]).unwrap();
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
}
