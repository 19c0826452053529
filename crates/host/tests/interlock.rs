//! The interlock on real loop devices: for each hole in a simpler guard, that the simpler one lets the
//! device through, and ours does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader},
    os::unix::fs::{FileExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tailmark_host::prepare::{
    Claim, Consent, Erase, Error, Evidence, FileSystem, Reach, Target, Uses, Watch, file_system_on,
    is_mounted_on, mount, precondition, unmount,
};
use tailmark_testing::{LoopDevice, Mounted, not_here, system, test};
use tempfile::TempDir;

const BYTES: u64 = 32 << 20;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// A loop device of a test's own, with its file.
struct Disk {
    device: LoopDevice,
    image: PathBuf,
    dir: TempDir,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let dir_path = dir.path().canonicalize().unwrap();
        let image = dir_path.join("image");
        let device = LoopDevice::new(&image, BYTES);
        Self { device, image, dir }
    }

    fn path(&self) -> &str {
        self.device.path().to_str().unwrap()
    }

    fn target(&self) -> Target {
        Target::find(self.path()).unwrap()
    }

    /// Agrees that this device is erased.
    fn consent(&self) -> Consent {
        Consent {
            serials: vec![self.image.display().to_string()],
            ..unseen()
        }
    }

    fn refusals(&self, consent: &Consent) -> Vec<Evidence> {
        Claim::refusals(&self.target(), Reach::Device, consent).unwrap()
    }

    fn evidence(&self) -> Vec<Evidence> {
        self.refusals(&self.consent())
    }

    /// The guards that refuse the device to who has agreed, when it is to be taken.
    fn refused(&self, consent: &Consent) -> Vec<&'static str> {
        match Claim::take(&self.target(), Reach::Device, consent) {
            // Another's process may have come meanwhile that cannot be looked at here.
            Err(Error::Refused { evidence, .. }) => evidence
                .iter()
                .map(|of| of.guard)
                .filter(|guard| *guard != "unseen")
                .collect(),
            Err(error) => panic!("{error}"),
            Ok(_) => Vec::new(),
        }
    }
}

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// Where this runs in a container or a sandbox, its first process is nobody's to look at.
fn unseen() -> Consent {
    Consent {
        unseen: Uses::look()
            .unseen()
            .iter()
            .map(|of| of.name.clone())
            .collect(),
        ..Consent::default()
    }
}

/// What most tools do: open it so that nobody else may.
fn opens_exclusively(path: &Path) -> bool {
    let flags = rustix::fs::OFlags::EXCL.bits().cast_signed();
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path);
    opened.is_ok()
}

/// What fio does: compare names with those in the table of mounts.
fn is_name_mounted(name: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts
        .lines()
        .any(|line| line.split(' ').next() == Some(name))
}

fn text(evidence: &[Evidence], guard: &str) -> String {
    let of = evidence.iter().filter(|of| of.guard == guard);
    of.map(|of| of.text.clone()).collect::<Vec<_>>().join("; ")
}

fn mounted(disk: &Disk) -> Mounted {
    disk.device.make_ext4();
    Mounted::new(&[disk.path().as_ref()], &disk.dir.path().join("mounted"))
}

#[test]
fn a_blank_device_is_taken_by_its_serial_number_and_erased() {
    let disk = Disk::new();
    let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
    assert!(!opens_exclusively(disk.device.path()), "it is held");
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    drop(claim);
    // Now it is ours, and whatever random data follow the mark are too.
    let random = vec![7; 1 << 20];
    let file = OpenOptions::new().write(true).open(disk.path()).unwrap();
    file.write_all_at(&random, 8 << 20).unwrap();
    drop(file);
    let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
    assert_eq!(claim.signatures()[0].name, "tailmark:tag");
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    drop(claim);
    let mut read = vec![1; 1 << 20];
    let file = File::open(disk.path()).unwrap();
    file.read_exact_at(&mut read, 8 << 20).unwrap();
    assert!(read.iter().all(|byte| *byte == 0));
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
    // And everything else that speaks against it is said at once.
    assert!(text(&evidence, "signatures").contains("--destroy ext4:"));
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
    assert!(said.contains("--destroy swap:"), "{said}");
}

#[test]
fn a_foreign_file_system_is_refused_without_a_terminal_and_goes_by_its_name() {
    let (disk, naive) = (Disk::new(), Disk::new());
    disk.device.make_ext4();
    naive.device.make_ext4();
    // The simpler guard prints a warning and erases it all the same.
    let mut command = Command::new("blkdiscard");
    command.arg(naive.path()).stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            let left = system("wipefs", &["--no-act", naive.path()]).unwrap();
            assert_eq!(left, "", "it erases what it only warns of");
        }
        Err(why) => not_here(format!("blkdiscard: {why}")),
    }
    let said = text(&disk.evidence(), "signatures");
    let name = said.rsplit("--destroy ").next().unwrap().to_owned();
    assert!(name.starts_with("ext4:"), "{said}");
    assert_eq!(disk.refused(&disk.consent()), ["signatures"]);
    let other = Consent {
        destroys: vec!["ext4".to_owned(), "ext4:0".to_owned()],
        ..disk.consent()
    };
    assert_eq!(
        disk.refused(&other),
        ["signatures"],
        "another name is no consent"
    );
    let agreed = Consent {
        destroys: vec![name],
        ..disk.consent()
    };
    assert_eq!(disk.refused(&agreed), [""; 0]);
}

#[test]
fn data_that_no_signature_shows_is_refused_and_so_is_the_copy_of_a_marked_device() {
    let (disk, ours) = (Disk::new(), Disk::new());
    let claim = Claim::take(&ours.target(), Reach::Device, &ours.consent()).unwrap();
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    drop(claim);
    system(
        "dd",
        &[
            "bs=1M",
            "conv=notrunc",
            &format!("if={}", ours.path()),
            &format!("of={}", disk.path()),
        ],
    )
    .unwrap();
    // As the raw device of a database: what tools know by signatures sees nothing.
    assert_eq!(system("wipefs", &["--no-act", disk.path()]).unwrap(), "");
    let said = text(&disk.evidence(), "signatures");
    assert!(said.contains("--destroy data:"), "{said}");
    assert_eq!(ours.refused(&ours.consent()), [""; 0]);
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
    let refused = Claim::take(&target, Reach::Device, &disk.consent());
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::Renumbered { .. }), "{error}");
    assert!(error.to_string().contains("other"), "{error}");
    // The same where even the file has the name that the other one had.
    fs::rename(&other, &disk.image).unwrap();
    let refused = Claim::take(&target, Reach::Device, &disk.consent());
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::Renumbered { .. }), "{error}");
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

#[test]
fn a_file_system_is_made_where_nothing_speaks_against_it_and_is_ours_from_then_on() {
    for (kind, program, bytes) in [("ext4", "mkfs.ext4", BYTES), ("xfs", "mkfs.xfs", 320 << 20)] {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().canonicalize().unwrap().join("image");
        let device = LoopDevice::new(&image, bytes);
        let disk = Disk { device, image, dir };
        if system(program, &["-V"]).is_err() {
            tailmark_testing::not_installed(format!("{program} is missing"));
        }
        let row = FileSystem::of_name(kind).unwrap();
        let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
        row.make(claim, &[]).unwrap();
        assert_eq!(
            file_system_on(&disk.target()).unwrap().as_deref(),
            Some(kind)
        );
        let point = disk.dir.path().join("mounted");
        let options = ["noatime".to_owned()];
        mount(&disk.target(), kind, &options, &point).unwrap();
        assert!(is_mounted_on(&disk.target(), &point));
        let refused = disk.refused(&disk.consent());
        unmount(&point).unwrap();
        assert!(refused.contains(&"mounted"), "{refused:?}");
        // Ours goes without being named; mounted as something else it is refused.
        let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
        assert!(claim.signatures()[0].name.starts_with(kind));
        drop(claim);
        let error = mount(&disk.target(), "btrfs", &[], &point).unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains(&format!("it holds {kind}")), "{why}");
        let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
        precondition(&claim, 1, &Quiet).unwrap();
        drop(claim);
        assert_eq!(file_system_on(&disk.target()).unwrap(), None);
    }
}
