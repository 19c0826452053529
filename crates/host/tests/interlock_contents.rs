//! What is on a device, on real loop devices: what is ours goes, and what is somebody else's is refused
//! until it is named, also where a simpler guard lets it through.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod disk;

use disk::{BYTES, Disk, opens_exclusively, text};
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    process::{Command, Stdio},
    time::Duration,
};
use tailmark_host::prepare::{
    Claim, Consent, Erase, FileSystem, Mix, Over, Reach, Watch, file_system_on, is_mounted_on,
    mount, precondition, steady_device, unmount,
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

#[test]
fn a_blank_device_is_taken_by_its_serial_number_and_erased() {
    let disk = Disk::new();
    let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
    assert!(!opens_exclusively(disk.device.path()), "it is held");
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    drop(claim);
    // Now it is ours, and so is what preconditioning and its mix write behind the mark.
    let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
    assert_eq!(claim.signatures()[0].name, "tailmark:tag");
    precondition(&claim, 1, &Quiet).unwrap();
    let mix = Mix {
        read_percent: 30,
        block_bytes: 8192,
        depth: 4,
        round: Duration::from_millis(20),
        over: Over::Device,
    };
    let rounds = steady_device(&claim, &mix, &Quiet).unwrap();
    assert!(rounds.is_over(), "{rounds:?}");
    drop(claim);
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

#[test]
fn what_others_write_behind_our_mark_is_refused_until_it_is_named() {
    let disk = Disk::new();
    let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
    Erase::Discard.carry_out(&claim, &Quiet).unwrap();
    precondition(&claim, 1, &Quiet).unwrap();
    drop(claim);
    assert_eq!(disk.refused(&disk.consent()), [""; 0]);
    // A database on the raw device, whose format nobody knows: the mark is still there.
    let pages = b"a page of somebody's database ".repeat(100_000);
    let file = OpenOptions::new().write(true).open(disk.path()).unwrap();
    file.write_all_at(&pages, 8 << 20).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let said = text(&disk.evidence(), "signatures");
    let name = said.rsplit("--destroy ").next().unwrap().to_owned();
    assert!(name.starts_with("data:"), "{said}");
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
        let claim = Claim::take(&disk.target(), Reach::Device, &disk.consent()).unwrap();
        row.make(claim, &[], &Quiet).unwrap();
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
