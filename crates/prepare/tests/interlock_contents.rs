//! What is on a device, on real loop devices: what is ours goes, and what is somebody else's is refused
//! until it is named, also where a simpler guard lets it through.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod disk;

use disk::{BYTES, Disk, opens_exclusively, text, unseen};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    process::{Command, Stdio},
    time::Duration,
};
use tailmark_prepare::{
    Claim, Consent, Erase, Error, FileSystem, Mix, Over, RawDevice, Reach, Watch, file_system_on,
    is_mounted_on, mount, precondition, steady_device, unmount,
};
use tailmark_testing::{LoopDevice, not_here, system, test};

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

struct Quiet;

impl Watch for Quiet {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

fn claim_of(disk: &Disk) -> Claim {
    Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap()
}

/// The name that has to be typed for what is on a disk to be overwritten.
fn name_on(disk: &Disk) -> String {
    let said = text(&disk.evidence(), "signatures");
    let (_, name) = said.rsplit_once("--overwrite-signature ").expect(&said);
    name.to_owned()
}

#[test]
fn a_blank_device_is_taken_by_its_serial_number_and_erased() {
    let disk = Disk::new();
    let blank = claim_of(&disk);
    assert!(!opens_exclusively(disk.device.path()), "it is held");
    Erase::Discard.carry_out(&blank, &Quiet).unwrap();
    drop(blank);
    // Now it is ours, and so is what preconditioning and its mix write after the mark.
    let erased = claim_of(&disk);
    assert_eq!(erased.signatures()[0].name, "tailmark:tag");
    precondition(&erased, 1, &Quiet).unwrap();
    let mix = Mix {
        read_percent: 30,
        block_bytes: 8192,
        depth: 4,
        round: Duration::from_millis(20),
        over: Over::Device,
    };
    let rounds = steady_device(&erased, &mix, &Quiet).unwrap();
    assert!(rounds.is_over(), "{rounds:?}");
    drop(erased);
    let written = claim_of(&disk);
    assert_eq!(written.signatures()[0].name, "tailmark:tag");
    Erase::Discard.carry_out(&written, &Quiet).unwrap();
    drop(written);
    let mut read = vec![1; 1 << 20];
    let file = File::open(disk.path()).unwrap();
    file.read_exact_at(&mut read, 8 << 20).unwrap();
    assert!(read.iter().all(|byte| *byte == 0));
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
    let name = name_on(&disk);
    assert!(name.starts_with("ext4:"), "{name}");
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
    let claim = claim_of(&ours);
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
    assert!(said.contains("--overwrite-signature data:"), "{said}");
    assert_eq!(ours.refused(&ours.consent()), [""; 0]);
}

#[test]
fn what_others_write_behind_our_mark_is_refused_until_it_is_named() {
    let disk = Disk::new();
    let claim = claim_of(&disk);
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    precondition(&claim, 1, &Quiet).unwrap();
    drop(claim);
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
    // A database on the raw device, whose format is unknown: the mark is still there.
    let pages = b"a page of somebody's database ".repeat(100_000);
    let file = OpenOptions::new().write(true).open(disk.path()).unwrap();
    file.write_all_at(&pages, 8 << 20).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let name = name_on(&disk);
    assert!(name.starts_with("data:"), "{name}");
    assert_eq!(disk.refused(&disk.consent()), ["signatures"]);
    let agreed = Consent {
        destroys: vec![name],
        ..disk.consent()
    };
    assert_eq!(disk.refused(&agreed), [""; 0]);
}

#[test]
fn a_signature_without_an_identifier_of_its_own_is_named_with_its_device() {
    let (first, second) = (Disk::new(), Disk::new());
    for disk in [&first, &second] {
        // The label of an LVM volume, without the number that would tell one from another.
        let file = OpenOptions::new().write(true).open(disk.path()).unwrap();
        file.write_all_at(b"\x55\xaa", 510).unwrap();
        file.write_all_at(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0], 446)
            .unwrap();
        file.sync_all().unwrap();
    }
    let said = text(&first.evidence(), "signatures");
    let name = format!("dos@{}", first.image.display());
    assert!(said.contains(&name), "{said}");
    let agreed = |disk: &Disk| Consent {
        destroys: vec![name.clone(), "dos".to_owned()],
        ..disk.consent()
    };
    assert_eq!(first.refused(&agreed(&first)), [""; 0]);
    assert_eq!(second.refused(&agreed(&second)), ["signatures"]);
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
        row.make(claim_of(&disk), &[], &Quiet).unwrap();
        let made = file_system_on(&disk.target()).unwrap();
        assert_eq!(made.as_deref(), Some(kind));
        let point = disk.dir.path().join("mounted");
        let options = ["noatime".to_owned()];
        mount(&disk.target(), kind, &options, &point, &Quiet).unwrap();
        assert!(is_mounted_on(&disk.target(), &point));
        let refused = disk.refused(&disk.consent());
        unmount(&point, &Quiet).unwrap();
        assert!(refused.contains(&"mounted"), "{refused:?}");
        // Ours goes without being named; mounted as something else it is refused.
        assert!(claim_of(&disk).signatures()[0].name.starts_with(kind));
        let error = mount(&disk.target(), "btrfs", &[], &point, &Quiet).unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains(&format!("it holds {kind}")), "{why}");
        precondition(&claim_of(&disk), 1, &Quiet).unwrap();
        assert_eq!(file_system_on(&disk.target()).unwrap(), None);
    }
}

/// What other programs write to a device, by what tells it: their names, places and bytes.
fn foreign_contents() -> Vec<(&'static str, u64, Vec<u8>)> {
    let word = |bytes: &mut Vec<u8>, at: usize, value: u32| {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    // A member of a RAID that is stopped: the superblock of md, version 1.2, with its checksum.
    let mut raid = vec![0; 256];
    for (at, value) in [
        (0, 0xa92b_4efc),
        (4, 1),
        (72, 1),
        (92, 2),
        (128, 2048),
        (144, 8),
    ] {
        word(&mut raid, at, value);
    }
    raid[16..32].fill(0x11);
    raid[32..36].copy_from_slice(b"home");
    let (words, _) = raid.as_chunks();
    let sum: u64 = words
        .iter()
        .map(|four| u64::from(u32::from_le_bytes(*four)))
        .sum();
    let sum = ((sum & 0xffff_ffff) + (sum >> 32)) as u32;
    word(&mut raid, 216, sum);
    let mut luks = vec![0; 592];
    luks[..8].copy_from_slice(b"LUKS\xba\xbe\0\x01");
    luks[168..204].copy_from_slice(b"12345678-1234-1234-1234-123456789abc");
    // A physical volume of LVM: a label in the second sector, with its checksum.
    let mut lvm = vec![0; 512];
    lvm[..8].copy_from_slice(b"LABELONE");
    lvm[8] = 1;
    lvm[20] = 32;
    lvm[24..32].copy_from_slice(b"LVM2 001");
    lvm[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    let crc = lvm[20..].iter().fold(0xf597_a6cf_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    });
    word(&mut lvm, 16, crc);
    let mut table = vec![0; 512];
    table[450] = 0x83;
    word(&mut table, 454, 2048);
    word(&mut table, 458, 2048);
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    vec![
        ("linux_raid_member", 4096, raid),
        ("crypto_LUKS", 0, luks),
        ("LVM2_member", 512, lvm),
        ("dos", 0, table),
    ]
}

/// A device with other data is not stamped, says what it holds, and is with the consent that it
/// asks for; of it nothing is left then.
fn assert_needs_consent(disk: &Disk, kind: &str) {
    let path = disk.device.path();
    let find = |consent: Consent| RawDevice::find(path, consent).unwrap();
    let stamp = |device: &RawDevice| {
        device.stamp(&Quiet, |file| {
            let text = b"data set of tailmark: the device belongs to its driver `file`  \n";
            file.write_all_at(&text.repeat(1024), 0)
        })
    };
    let before = fs::read(path).unwrap();
    let device = find(disk.consent());
    assert!(!device.is_ours(), "{kind}");
    assert!(device.describe().contains(kind), "{}", device.describe());
    let Err(Error::Refused { evidence, .. }) = stamp(&device) else {
        panic!("{kind} was overwritten");
    };
    assert!(fs::read(path).unwrap() == before, "{kind} was written");
    let objections = evidence.iter().filter(|o| o.guard == "signatures");
    let names = objections.filter_map(|o| o.text.split("--overwrite-signature ").nth(1));
    let names = names.map(|name| name.trim_matches('\'').to_owned());
    let agreed = Consent {
        destroys: names.collect(),
        ..disk.consent()
    };
    stamp(&find(agreed)).unwrap();
    assert!(find(Consent::default()).is_ours(), "{kind} is left");
}

#[test]
fn a_raw_device_with_data_of_others_is_not_stamped_without_consent() {
    let ext4 = Disk::new();
    ext4.device.make_ext4();
    assert_needs_consent(&ext4, "ext4");
    for (kind, at, bytes) in foreign_contents() {
        let disk = Disk::new();
        let file = fs::OpenOptions::new()
            .write(true)
            .open(disk.path())
            .unwrap();
        file.write_all_at(&bytes, at).unwrap();
        file.sync_all().unwrap();
        drop(file);
        assert_needs_consent(&disk, kind);
    }
    let swap = Disk::new();
    system("mkswap", &[swap.path()]).unwrap();
    assert_needs_consent(&swap, "swap");
    // Nor is a device on which nothing is known, by itself.
    let empty = Disk::new();
    let blank = RawDevice::find(empty.device.path(), unseen()).unwrap();
    assert!(!blank.is_ours());
    let refused = blank.refusals(&Quiet).unwrap();
    assert!(text(&refused, "serial").contains("--erase"), "{refused:?}");
}
