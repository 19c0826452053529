//! A real file system on a real block device (a loop device): found, described and counted.
//! Needs root; without it each test says that it was skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the functions serve tests only"
)]

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::Command,
};
use tailmark_host::{
    block_device_of, place_facts,
    probe::{PROBES, Reading, Target},
    space,
};
use tempfile::TempDir;

const DISK_BYTES: u64 = 64 << 20;
const BLOCK: usize = 4096;

/// An ext4 file system on a loop device, taken down when dropped.
struct LoopDisk {
    device: PathBuf,
    directory: PathBuf,
    backing: PathBuf,
    _dir: TempDir,
}

impl LoopDisk {
    /// Sets one up; says why where that is not possible.
    fn new() -> Result<Self, String> {
        if !tailmark_host::is_root() {
            return Err("loop devices need root".to_owned());
        }
        let dir = tempfile::tempdir().unwrap();
        let backing = dir.path().canonicalize().unwrap().join("disk");
        File::create(&backing).unwrap().set_len(DISK_BYTES).unwrap();
        let directory = dir.path().join("mounted");
        fs::create_dir(&directory).unwrap();
        let device = run(
            "losetup",
            &[Path::new("--find"), Path::new("--show"), &backing],
        )?;
        let disk = Self {
            device: PathBuf::from(device.trim()),
            directory,
            backing,
            _dir: dir,
        };
        run("mkfs.ext4", &[Path::new("-q"), &disk.device])?;
        run(
            "mount",
            &[Path::new("-onoatime"), &disk.device, &disk.directory],
        )?;
        Ok(disk)
    }

    fn name(&self) -> String {
        self.device
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = run("umount", &[&self.directory]);
        let _ = run("losetup", &[Path::new("-d"), &self.device]);
    }
}

fn run(program: &str, arguments: &[&Path]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Runs a test on a disk of its own.
fn on_a_disk(test: impl FnOnce(&LoopDisk)) {
    match LoopDisk::new() {
        Ok(disk) => test(&disk),
        Err(why) => println!("skipped: {why}"),
    }
}

#[test]
fn a_directory_is_traced_to_its_device() {
    on_a_disk(|disk| {
        let below = disk.directory.join("data");
        fs::create_dir(&below).unwrap();
        let device = block_device_of(&below).unwrap();
        assert_eq!(device.name, disk.name());
        assert_eq!(
            (device.size_bytes, device.disk_bytes),
            (DISK_BYTES, DISK_BYTES)
        );
        assert_eq!(device.backing_file.as_deref(), Some(disk.backing.as_path()));
        assert_eq!(block_device_of(&disk.device), Some(device));
    });
}

#[test]
fn facts_name_the_file_system_and_the_device() {
    on_a_disk(|disk| {
        let facts = place_facts("loop", &disk.directory);
        let value = |group: &str, name: &str| {
            let fact = facts
                .iter()
                .find(|fact| fact.group == group && fact.name == name);
            fact.map(|fact| fact.value.as_str()).unwrap_or_default()
        };
        assert_eq!(value("file system", "type"), "ext4");
        assert!(value("file system", "options").contains("noatime"));
        assert_eq!(Path::new(value("file system", "source")), disk.device);
        assert_eq!(value("device", "name"), disk.name());
        assert_eq!(value("device", "logical block"), "512 bytes");
        assert!(value("device", "size").contains("67108864 bytes"));
        let of_device = place_facts("loop", &disk.device);
        assert!(of_device.iter().all(|fact| fact.group == "device"));
    });
}

#[test]
fn the_room_of_a_device_is_its_size_and_of_its_file_system_less() {
    on_a_disk(|disk| {
        let device = space(&disk.device).unwrap();
        assert!(device.is_device);
        assert_eq!((device.available, device.total), (DISK_BYTES, DISK_BYTES));
        let before = space(&disk.directory).unwrap();
        assert!(!before.is_device && before.total < DISK_BYTES);
        fs::write(disk.directory.join("file"), vec![1; 8 << 20]).unwrap();
        rustix::fs::sync();
        let after = space(&disk.directory.join("not/yet/there")).unwrap();
        assert_eq!(after.file_system, before.file_system);
        let taken = before.available - after.available;
        assert!(((8 << 20)..(9 << 20)).contains(&taken), "{taken}");
    });
}

#[test]
fn direct_writes_and_reads_are_counted_by_the_disk_probe() {
    const WRITES: u64 = 100;
    const READS: u64 = 80;
    on_a_disk(|disk| {
        let path = disk.directory.join("slots");
        fs::write(&path, vec![1; BLOCK * WRITES as usize]).unwrap();
        rustix::fs::sync();
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(direct)
            .open(&path)
            .unwrap();
        // Direct I/O wants an aligned buffer: one is found within twice its size.
        let mut buffer = vec![7_u8; 2 * BLOCK];
        let skip = buffer.as_ptr().align_offset(BLOCK);
        let block = &mut buffer[skip..skip + BLOCK];

        let target = Target {
            system: "loop".to_owned(),
            place: disk.directory.clone(),
        };
        let row = PROBES.iter().find(|row| row.name == "disk").unwrap();
        let mut probe = (row.open)(&target).unwrap().unwrap();
        let before = probe.sample().unwrap();
        for slot in 0..WRITES {
            file.write_all_at(block, slot * BLOCK as u64).unwrap();
        }
        for slot in 0..READS {
            file.read_exact_at(block, slot * BLOCK as u64).unwrap();
        }
        file.sync_all().unwrap();
        let after = probe.sample().unwrap();
        let rise = |name: &str| (value(&after, name) - value(&before, name)) as u64;
        assert!(after.iter().all(|reading| reading.subject == disk.name()));
        // A journal, or a service that looks at new devices, may add a little; but nothing is
        // missed or counted twice.
        for (name, least) in [("writes", WRITES), ("reads", READS)] {
            assert!(
                (least..2 * least).contains(&rise(name)),
                "{name}: {}",
                rise(name)
            );
        }
        for (name, least) in [("write_bytes", WRITES), ("read_bytes", READS)] {
            let least = least * BLOCK as u64;
            assert!(
                (least..2 * least).contains(&rise(name)),
                "{name}: {}",
                rise(name)
            );
        }
        assert!(rise("flushes") >= 1);
    });
}

fn value(readings: &[Reading], name: &str) -> f64 {
    readings
        .iter()
        .find(|reading| reading.name == name)
        .unwrap()
        .value
}
