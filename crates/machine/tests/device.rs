//! A real file system on a real block device (a loop device): found, described and counted.
//! Needs root and loop devices; without them each test is ignored.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tailmark_machine::{
    block_device_of, chain, disks, physical_devices, place_facts,
    probe::{PROBES, Reading, Target},
    space,
};
use tailmark_testing::{LoopDevice, Mounted, Tmpfs, not_here, system, test};
use tempfile::TempDir;

const DISK_BYTES: u64 = 64 << 20;
const BLOCK: usize = 4096;

/// An ext4 file system on a loop device, taken down when dropped.
struct LoopDisk {
    directory: PathBuf,
    // In the order in which they are taken down.
    _mounted: Mounted,
    device: LoopDevice,
    backing: PathBuf,
    _dir: TempDir,
}

impl LoopDisk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let backing = dir.path().canonicalize().unwrap().join("disk");
        let directory = dir.path().join("mounted");
        let device = LoopDevice::new(&backing, DISK_BYTES);
        device.make_ext4();
        let args = [OsStr::new("-onoatime"), device.path().as_ref()];
        Self {
            _mounted: Mounted::new(&args, &directory),
            directory,
            device,
            backing,
            _dir: dir,
        }
    }
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn a_directory_is_traced_to_its_device() {
    let disk = LoopDisk::new();
    let below = disk.directory.join("data");
    fs::create_dir(&below).unwrap();
    let device = block_device_of(&below).unwrap();
    assert_eq!(device.name, disk.device.name());
    assert_eq!(
        (device.size_bytes, device.disk_bytes),
        (DISK_BYTES, DISK_BYTES)
    );
    assert_eq!(device.backing_file.as_deref(), Some(disk.backing.as_path()));
    assert_eq!(block_device_of(disk.device.path()), Some(device));
}

#[test]
fn loop_devices_of_one_disk_and_what_is_mounted_of_them_are_one_device() {
    let (one, other) = (LoopDisk::new(), LoopDisk::new());
    let below = physical_devices(&one.backing);
    if below.is_empty() {
        not_here("the temporary directory is in memory");
    }
    let bind = [OsStr::new("--bind"), other.directory.as_ref()];
    let bound = Mounted::new(&bind, &one.directory.with_file_name("bound"));
    for place in [
        one.device.path(),
        &one.directory.join("made/later"),
        &other.directory,
        bound.path(),
    ] {
        assert_eq!(physical_devices(place), below, "{}", place.display());
    }
}

#[test]
fn loop_devices_of_files_in_memory_are_devices_of_their_own() {
    let memory = Tmpfs::new(4 << 20);
    assert!(physical_devices(&memory.path().join("data")).is_empty());
    for name in ["a", "b"] {
        let device = LoopDevice::new(&memory.path().join(name), 1 << 20);
        let found = physical_devices(device.path());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [device.name()]);
    }
}

#[test]
fn facts_name_the_file_system_and_the_device() {
    let disk = LoopDisk::new();
    let facts = place_facts("loop", std::slice::from_ref(&disk.directory));
    let value = |group: &str, name: &str| {
        let fact = facts
            .iter()
            .find(|fact| fact.group == group && fact.name == name);
        fact.map(|fact| fact.value.as_str()).unwrap_or_default()
    };
    assert_eq!(value("file system", "type"), "ext4");
    assert!(value("file system", "options").contains("noatime"));
    assert_eq!(
        Path::new(value("file system", "source")),
        disk.device.path()
    );
    assert_eq!(value("device", "name"), disk.device.name());
    assert_eq!(value("device", "logical block"), "512 bytes");
    assert!(value("device", "size").contains("67108864 bytes"));
    let of_device = place_facts("loop", &[disk.device.path().to_owned()]);
    assert!(
        of_device
            .iter()
            .all(|fact| fact.group.starts_with("device"))
    );
}

#[test]
fn the_room_of_a_device_is_its_size_and_of_its_file_system_less() {
    let disk = LoopDisk::new();
    let device = space(disk.device.path()).unwrap();
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
}

#[test]
fn direct_writes_and_reads_are_counted_by_the_disk_probe() {
    const WRITES: u64 = 100;
    const READS: u64 = 80;
    let disk = LoopDisk::new();
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
        places: vec![disk.directory.clone()],
        ..Target::default()
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
    assert!(
        after
            .iter()
            .all(|reading| reading.subject == disk.device.name())
    );
    // A journal, or a service that looks at new devices, may add a little; but nothing is
    // missed or counted twice.
    for (name, min) in [("writes", WRITES), ("reads", READS)] {
        assert!(
            (min..2 * min).contains(&rise(name)),
            "{name}: {}",
            rise(name)
        );
    }
    for (name, min) in [("write_bytes", WRITES), ("read_bytes", READS)] {
        let min = min * BLOCK as u64;
        assert!(
            (min..2 * min).contains(&rise(name)),
            "{name}: {}",
            rise(name)
        );
    }
    assert!(rise("flushes") >= 1);
}

fn value(readings: &[Reading], name: &str) -> f64 {
    readings
        .iter()
        .find(|reading| reading.name == name)
        .unwrap()
        .value
}

#[test]
fn an_xfs_says_what_it_was_made_with() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 320 << 20);
    let words = [
        "-q",
        "-d",
        "agcount=3,su=64k,sw=2",
        "-m",
        "reflink=1,rmapbt=0",
    ]
    .map(OsStr::new);
    let words = [&words[..], &[device.path().as_ref()]].concat();
    if let Err(why) = system("mkfs.xfs", &words) {
        not_here(why);
    }
    let mounted = Mounted::new(&[device.path().as_ref()], &dir.path().join("mounted"));
    let facts = place_facts("xfs", &[mounted.path().to_owned()]);
    let value = |name: &str| {
        let mut own = facts.iter().filter(|fact| fact.group == "file system");
        own.find(|fact| fact.name == name)
            .map_or("", |fact| &fact.value)
    };
    assert_eq!(value("type"), "xfs");
    assert_eq!(value("allocation groups"), "3");
    assert_eq!(value("stripe unit"), "64.0 KiB");
    assert_eq!(value("stripe width"), "128.0 KiB");
    assert_eq!(value("features"), "crc,finobt,reflink");
}

#[test]
fn the_chain_below_a_file_system_goes_through_loop_devices() {
    let outer = LoopDisk::new();
    let inner = LoopDevice::new(&outer.directory.join("inner"), 8 << 20);
    let found: Vec<_> = chain(inner.path()).into_iter().map(|d| d.name).collect();
    assert_eq!(found[..2], [inner.name(), outer.device.name()]);
    let disks = disks(inner.path());
    assert_eq!(disks.len(), 1);
    assert_eq!(
        (disks[0].name.as_str(), disks[0].transport),
        (inner.name(), Some("loop"))
    );
    let facts = place_facts("loop", &[inner.path().to_owned(), outer.directory.clone()]);
    let name = |group: &str| {
        let mut own = facts.iter().filter(|fact| fact.group == group);
        own.find(|fact| fact.name == "name")
            .map(|fact| fact.value.as_str())
    };
    assert_eq!(name("device"), Some(inner.name()));
    assert_eq!(name("device 2"), Some(outer.device.name()));
}

#[test]
fn the_disk_probe_has_readings_of_each_device_of_a_system() {
    let (one, other) = (LoopDisk::new(), LoopDisk::new());
    let target = Target {
        system: "two".to_owned(),
        places: vec![one.directory.clone(), other.device.path().to_owned()],
        ..Target::default()
    };
    let row = PROBES.iter().find(|row| row.name == "disk").unwrap();
    let readings = (row.open)(&target).unwrap().unwrap().sample().unwrap();
    for device in [one.device.name(), other.device.name()] {
        let own = readings.iter().filter(|reading| reading.subject == device);
        assert!(own.count() > 10, "{device}");
    }
}
