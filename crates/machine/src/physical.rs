//! The physical devices at the bottom of a place, by which two places are compared.
//!
//! A place is followed down through its file system, partitions, LVM, RAID, encryption and loop
//! devices, whose files are places themselves. All NVMe namespaces of one controller count as one
//! device.

use crate::{
    BlockDevice,
    block::{self, SYS},
    mount::{self, existing},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// How deep loop devices are followed into the files of other loop devices.
const LOOPS_MAX: u32 = 16;

/// In-memory file systems, which are never compared.
const IN_MEMORY: &[&str] = &["devtmpfs", "ramfs", "tmpfs"];

/// The names of a place's disks, such as `nvme0n1`; for NVMe, of their controllers. A missing place
/// counts as where it would be created. A file system with unknown devices (a network's) counts as
/// a device. Empty if the place is in memory or cannot be examined.
pub fn physical_devices(place: &Path) -> BTreeSet<String> {
    let mut devices = BTreeSet::new();
    if let Ok(place) = existing(place) {
        follow_path(Path::new(SYS), &place, LOOPS_MAX, &mut devices);
    }
    devices
}

/// Adds what an existing path without links is on.
fn follow_path(sys: &Path, path: &Path, loops_left: u32, devices: &mut BTreeSet<String>) {
    if let Some(device) = block::block_device_of(path) {
        match members_of_btrfs(sys, path, &device) {
            Some(members) => follow_names(sys, &members, loops_left, devices),
            None => follow(sys, &device, loops_left, devices),
        }
        return;
    }
    if block::is_device(path) {
        return;
    }
    if let Some(mount) = mount::mount_at(path)
        && !IN_MEMORY.contains(&mount.kind.as_str())
    {
        devices.insert(pool(&mount));
    }
}

/// A file system without a device that is known: of ZFS the pool, whose datasets share its devices.
fn pool(mount: &mount::Mount) -> String {
    match (mount.kind.as_str(), mount.source.split('/').next()) {
        ("zfs", Some(pool)) => format!("the pool {pool}"),
        _ => mount.file_system(),
    }
}

/// The devices of the btrfs that a directory is on: the mount table names one of them.
fn members_of_btrfs(sys: &Path, path: &Path, device: &BlockDevice) -> Option<Vec<String>> {
    if block::is_device(path) || mount::mount_at(path)?.kind != "btrfs" {
        return None;
    }
    btrfs_with(sys, &device.name)
}

/// The devices of the btrfs that this one is a part of.
fn btrfs_with(sys: &Path, name: &str) -> Option<Vec<String>> {
    let file_systems = fs::read_dir(sys.join("fs/btrfs")).ok()?;
    let devices = file_systems
        .flatten()
        .map(|entry| crate::sysfs::names(&entry.path().join("devices")));
    let mut devices = devices.filter(|devices| devices.iter().any(|device| device == name));
    devices.next()
}

fn follow_names(sys: &Path, names: &[String], loops_left: u32, devices: &mut BTreeSet<String>) {
    for name in names {
        match BlockDevice::of_name(sys, name) {
            Some(device) => follow(sys, &device, loops_left, devices),
            None => {
                devices.insert(name.clone());
            }
        }
    }
}

/// Adds the disks at the bottom of a device.
fn follow(sys: &Path, device: &BlockDevice, loops_left: u32, devices: &mut BTreeSet<String>) {
    if !device.members.is_empty() {
        return follow_names(sys, &device.members, loops_left, devices);
    }
    let before = devices.len();
    if let Some(file) = below(device)
        && let Some(loops_left) = loops_left.checked_sub(1)
    {
        follow_path(sys, &file, loops_left, devices);
        if devices.len() > before {
            return;
        }
    }
    // Of a file in memory, or one that cannot be found, the loop device is all that is known.
    devices.insert(controller(&device.disk).to_owned());
}

/// The file of a loop device, if it can be found from here.
fn below(device: &BlockDevice) -> Option<PathBuf> {
    device.backing_file.as_ref()?.canonicalize().ok()
}

/// Of an NVMe namespace (`nvme0n2`), its controller (`nvme0`); of all else, the disk itself.
fn controller(disk: &str) -> &str {
    let parts = disk
        .strip_prefix("nvme")
        .and_then(|numbers| numbers.split_once('n'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match parts {
        Some((controller, namespace)) if is_number(controller) && is_number(namespace) => {
            &disk[.."nvme".len() + controller.len()]
        }
        _ => disk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    fn disks(sys: &Path, name: &str) -> Vec<String> {
        let mut devices = BTreeSet::new();
        follow_names(sys, &[name.to_owned()], LOOPS_MAX, &mut devices);
        devices.into_iter().collect()
    }

    #[test]
    fn partitions_lvm_and_raid_are_followed_down_to_their_disks() {
        let sys = sys_with(&[
            ("sata/sda", &[("dev", "8:0")]),
            ("sata/sda/sda1", &[("dev", "8:1"), ("partition", "1")]),
            ("sata/sda/sda2", &[("dev", "8:2"), ("partition", "2")]),
            ("sata/sdb", &[("dev", "8:16")]),
            ("sata/sdb/sdb1", &[("dev", "8:17"), ("partition", "1")]),
            ("sata/sdc", &[("dev", "8:32")]),
            // A RAID of two partitions, encrypted, a volume group on it, and a volume of that.
            (
                "virtual/md0",
                &[("dev", "9:0"), ("slaves/sda1/x", ""), ("slaves/sdb1/x", "")],
            ),
            ("virtual/dm-0", &[("dev", "253:0"), ("slaves/md0/x", "")]),
            ("virtual/dm-1", &[("dev", "253:1"), ("slaves/dm-0/x", "")]),
            // A partition of the RAID.
            ("virtual/md0/md0p1", &[("dev", "259:9"), ("partition", "1")]),
        ]);
        let disks = |name| disks(sys.path(), name);
        assert_eq!(disks("sda2"), ["sda"]);
        assert_eq!(disks("sdc"), ["sdc"]);
        for name in ["md0", "md0p1", "dm-0", "dm-1"] {
            assert_eq!(disks(name), ["sda", "sdb"], "{name}");
        }
    }

    #[test]
    fn namespaces_of_one_controller_are_one_device() {
        let sys = sys_with(&[
            ("pci/nvme0/nvme0n1", &[("dev", "259:0")]),
            ("pci/nvme0/nvme0n2", &[("dev", "259:1")]),
            (
                "pci/nvme0/nvme0n2/nvme0n2p1",
                &[("dev", "259:2"), ("partition", "1")],
            ),
            ("pci/nvme10/nvme10n1", &[("dev", "259:3")]),
        ]);
        let disks = |name| disks(sys.path(), name);
        assert_eq!(
            (disks("nvme0n1"), disks("nvme0n2p1")),
            (vec!["nvme0".into()], vec!["nvme0".into()])
        );
        assert_eq!(disks("nvme10n1"), ["nvme10"]);
        assert_eq!(controller("nvme"), "nvme");
        assert_eq!(controller("nvme0n"), "nvme0n");
        assert_eq!(controller("nbd0"), "nbd0");
    }

    #[test]
    fn a_btrfs_is_on_all_of_its_devices() {
        let sys = sys_with(&[]);
        for device in ["sdb", "sdc1"] {
            let devices = sys.path().join("fs/btrfs/0a-1b/devices");
            fs::create_dir_all(devices.join(device)).unwrap();
        }
        let found = btrfs_with(sys.path(), "sdb").unwrap();
        assert_eq!(found, ["sdb", "sdc1"]);
        assert_eq!(btrfs_with(sys.path(), "sdd"), None);
    }

    #[test]
    fn a_loop_device_is_on_the_disk_of_its_file_or_on_its_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let backing = file.path().canonicalize().unwrap();
        let sys = sys_with(&[
            (
                "virtual/loop0",
                &[
                    ("dev", "7:0"),
                    ("loop/backing_file", backing.to_str().unwrap()),
                ],
            ),
            (
                "virtual/loop1",
                &[("dev", "7:1"), ("loop/backing_file", "/gone (deleted)")],
            ),
        ]);
        let below: Vec<_> = physical_devices(&backing).into_iter().collect();
        let expected = if below.is_empty() {
            vec!["loop0".to_owned()]
        } else {
            below
        };
        assert_eq!(disks(sys.path(), "loop0"), expected);
        assert_eq!(disks(sys.path(), "loop1"), ["loop1"]);
    }

    #[test]
    fn a_file_system_of_a_network_or_a_pool_is_a_device_of_its_own() {
        let mounts = mount::parse(
            "1 0 0:50 / /n rw - nfs4 server:/export rw\n\
             2 1 0:51 / /z rw - zfs tank/a rw\n3 1 0:52 / /y rw - zfs tank/b rw\n",
        );
        let pools: Vec<_> = mounts.iter().map(pool).collect();
        let expected = [
            "nfs4 on server:/export (0:50)",
            "the pool tank",
            "the pool tank",
        ];
        assert_eq!(pools, expected);
    }
}
