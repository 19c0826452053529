//! The interlock on NVMe drives that can be formatted: emulated ones, in a guest that this program runs
//! itself in.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    env,
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt, symlink},
    path::Path,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};
use tailmark_prepare::{Claim, Consent, Erase, Error, Reach, Target, Watch};
use tailmark_testing::{guest, test};

/// The namespaces of the two drives.
const DRIVES: &[&[u64]] = &[&[64 << 20, 64 << 20], &[64 << 20]];
const TOOLS: &[(&str, &str)] = &[
    ("wipefs", "util-linux"),
    ("mkfs.ext4", "e2fsprogs"),
    ("nvme", "nvme-cli"),
];

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("in-guest") => in_guest(),
        _ => return tailmark_testing::run(),
    }
    ExitCode::SUCCESS
}

#[test]
fn every_hole_of_a_simpler_guard_on_nvme_is_closed() {
    let guest = guest::Guest {
        program: &env::current_exe().unwrap(),
        arguments: &["in-guest"],
        tools: TOOLS,
        drives: DRIVES,
    };
    let said = guest.run();
    let expected = [
        // By the character device, with the namespace mounted.
        "an exclusive open of the controller: ok",
        "/dev/nvme0: `/dev/nvme0` names no device to prepare: it is not a block device; for an \
         NVMe drive, name a namespace or use `serial:NUMBER`",
        "serial:guest0: `serial:guest0` names no device to prepare: nvme0n1, nvme0n2 have it; write \
         `serial:guest0/NAMESPACE`",
        "mounted namespace: exclusive, mounted, signatures",
        "the file system after it was refused: held",
        // What reaches every namespace is refused for what one of them is used for.
        "its neighbour alone: taken",
        "its neighbour with the whole drive: exclusive, mounted, signatures",
        "the neighbour was formatted: one byte over and over, tailmark:tag",
        "the file system after its neighbour was formatted: held",
        // Names.
        "/dev/nvme1n1: name",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest1: taken",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest0: name",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest9: name",
        "the serial number of the other drive: serial",
        "raw data: signatures",
        "raw data that was named: taken",
        "sanitize: the drive does not support sanitize",
        "format: Format NVM of /dev/nvme1n1, namespace 1, format 0 (512 bytes a block), secure \
         erase 1: this namespace; the mark of tailmark at 196608",
        // Last, for it destroys it: what the tools do that are asked by the character device.
        "nvme format of the mounted namespace: succeeds",
        "the file system after that: gone",
    ];
    assert_eq!(said, expected);
}

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

fn consent(serial: &str) -> Consent {
    Consent {
        serials: vec![serial.to_owned()],
        ..Consent::default()
    }
}

/// The guards that refuse a device, or that it was taken.
fn outcome(given: &str, reach: Reach, consent: &Consent) -> String {
    let taken = Target::find(given).and_then(|target| Claim::take(&target, reach, consent));
    match taken {
        Ok(_) => "taken".to_owned(),
        Err(Error::Refused { evidence, .. }) => {
            let mut guards: Vec<_> = evidence.iter().map(|objection| objection.guard).collect();
            guards.dedup();
            guards.join(", ")
        }
        Err(error) => error.to_string(),
    }
}

/// What a device holds, past the page cache.
fn magic(device: &str) -> &'static str {
    let cached = File::open(device).unwrap();
    rustix::fs::fadvise(&cached, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(direct)
        .open(device)
        .unwrap();
    let mut buffer = vec![0_u8; 8192];
    let skip = buffer.as_ptr().align_offset(4096);
    let block = &mut buffer[skip..skip + 4096];
    file.read_exact_at(block, 0).unwrap();
    // The magic number of ext4, in its superblock.
    if block[1024 + 56..1024 + 58] == [0x53, 0xef] {
        "held"
    } else {
        "gone"
    }
}

fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(words).output().unwrap();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// What is done in the guest, as root.
fn in_guest() {
    let end = Instant::now() + Duration::from_secs(60);
    let devices = ["/dev/nvme0n1", "/dev/nvme0n2", "/dev/nvme1n1"];
    while !devices.iter().all(|device| Path::new(device).exists()) && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
    run("mkfs.ext4", &["-q", "/dev/nvme0n1"]).unwrap();
    fs::create_dir("/tmp/mounted").unwrap();
    run(
        "busybox",
        &["mount", "-t", "ext4", "/dev/nvme0n1", "/tmp/mounted"],
    )
    .unwrap();
    mounted_namespace();
    names();
    raw_data();
    let told = |erase: Erase| {
        let target = Target::find("serial:guest1").unwrap();
        match erase.plan(&target) {
            Ok((_, said)) => said,
            Err(error) => std::error::Error::source(&error).unwrap().to_string(),
        }
    };
    guest::say(&format!("sanitize: {}", told(Erase::Sanitize)));
    guest::say(&format!("format: {}", told(Erase::Format)));
    let naive = run(
        "nvme",
        &["format", "/dev/nvme0", "-n", "1", "-s", "1", "--force"],
    );
    let naive = naive.map_or_else(|e| e, |()| "succeeds".to_owned());
    guest::say(&format!("nvme format of the mounted namespace: {naive}"));
    guest::say(&format!(
        "the file system after that: {}",
        magic("/dev/nvme0n1")
    ));
}

fn mounted_namespace() {
    let flags = rustix::fs::OFlags::EXCL.bits().cast_signed();
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).custom_flags(flags);
    let opened = opened
        .open("/dev/nvme0")
        .map_or_else(|e| e.to_string(), |_| "ok".to_owned());
    guest::say(&format!("an exclusive open of the controller: {opened}"));
    let agreed = consent("guest0");
    for given in ["/dev/nvme0", "serial:guest0"] {
        guest::say(&format!(
            "{given}: {}",
            outcome(given, Reach::Device, &agreed)
        ));
    }
    let outcome_of = |given, reach| outcome(given, reach, &agreed);
    guest::say(&format!(
        "mounted namespace: {}",
        outcome_of("serial:guest0/1", Reach::Device)
    ));
    guest::say(&format!(
        "the file system after it was refused: {}",
        magic("/dev/nvme0n1")
    ));
    guest::say(&format!(
        "its neighbour alone: {}",
        outcome_of("serial:guest0/2", Reach::Device)
    ));
    let whole = outcome_of("serial:guest0/2", Reach::Subsystem);
    guest::say(&format!("its neighbour with the whole drive: {whole}"));
    let target = Target::find("serial:guest0/2").unwrap();
    let claim = || Claim::take(&target, Reach::Device, &agreed).unwrap();
    Erase::Format.carry_out(&claim(), &Quiet).unwrap();
    let formatted = claim();
    let mut read = vec![1; 1 << 20];
    let file = File::open("/dev/nvme0n2").unwrap();
    file.read_exact_at(&mut read, 8 << 20).unwrap();
    let uniform = if read.iter().all(|byte| *byte == read[0]) {
        "one byte over and over"
    } else {
        "something"
    };
    guest::say(&format!(
        "the neighbour was formatted: {uniform}, {}",
        formatted.signatures()[0].name
    ));
    guest::say(&format!(
        "the file system after its neighbour was formatted: {}",
        magic("/dev/nvme0n1")
    ));
}

fn names() {
    fs::create_dir_all("/dev/disk/by-id").unwrap();
    // As udev makes them; one that was left behind, and one that was never right.
    for serial in ["guest1", "guest0", "guest9"] {
        let link = format!("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{serial}");
        symlink("../../nvme1n1", &link).unwrap();
    }
    let agreed = consent("guest1");
    for given in [
        "/dev/nvme1n1",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest1",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest0",
        "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_guest9",
    ] {
        guest::say(&format!(
            "{given}: {}",
            outcome(given, Reach::Device, &agreed)
        ));
    }
    let other = outcome("serial:guest1", Reach::Device, &consent("guest0"));
    guest::say(&format!("the serial number of the other drive: {other}"));
}

fn raw_data() {
    let file = OpenOptions::new().write(true).open("/dev/nvme1n1").unwrap();
    file.write_all_at(b"the records of somebody's database", 32 << 20)
        .unwrap();
    file.sync_all().unwrap();
    drop(file);
    let mut agreed = consent("guest1");
    let unnamed = outcome("serial:guest1", Reach::Device, &agreed);
    guest::say(&format!("raw data: {unnamed}"));
    let target = Target::find("serial:guest1").unwrap();
    let evidence = Claim::refusals(&target, Reach::Device, &agreed).unwrap();
    let named = evidence[0]
        .text
        .rsplit("--overwrite-signature ")
        .next()
        .unwrap();
    agreed.destroys.push(named.to_owned());
    let allowed = outcome("serial:guest1", Reach::Device, &agreed);
    guest::say(&format!("raw data that was named: {allowed}"));
}
