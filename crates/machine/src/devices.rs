//! Every block device of the machine, and its users.

use crate::{
    BlockDevice,
    block::{self, SYS},
    mount::{self, Mount},
    sysfs,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A block device, and who uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceUse {
    /// The device.
    pub device: BlockDevice,
    /// The type of the file system that is mounted from it.
    pub file_system: Option<String>,
    /// Its mount points.
    pub mount_points: Vec<PathBuf>,
    /// Devices that are made of it, and `swap`.
    pub used_by: Vec<String>,
}

/// Every block device that has a size, by disk: each disk, then its partitions.
pub fn devices() -> Vec<DeviceUse> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    devices_of(Path::new(SYS), &mount::mounts(), &swaps)
}

/// The device that a name stands for: `nvme0n1`, `/dev/nvme0n1`, or a directory on it.
pub fn device_named(name: &str) -> Option<BlockDevice> {
    let is_name = !name.contains('/');
    let own = is_name
        .then(|| BlockDevice::of_name(Path::new(SYS), name))
        .flatten();
    own.or_else(|| block::block_device_of(Path::new(name)))
}

fn devices_of(sys: &Path, mounts: &[Mount], swaps: &str) -> Vec<DeviceUse> {
    let names = sysfs::names(&sys.join("class/block")).into_iter();
    let devices = names.filter_map(|name| BlockDevice::of_name(sys, &name));
    let mut devices: Vec<_> = devices
        .filter(|device| device.size_bytes > 0)
        .map(|device| use_of(sys, device, mounts, swaps))
        .collect();
    devices.sort_by(|a, b| {
        let key = |device: &DeviceUse| {
            let BlockDevice { name, disk, .. } = &device.device;
            (natural(disk), natural(name))
        };
        key(a).cmp(&key(b))
    });
    devices
}

/// A name that sorts by its numbers: `sda2` before `sda10`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        let (word, tail) = rest.split_at(rest.len() - text.len());
        let behind = tail.trim_start_matches(|c: char| c.is_ascii_digit());
        let (number, behind) = tail.split_at(tail.len() - behind.len());
        parts.push((word.to_owned(), number.parse().unwrap_or(0)));
        rest = behind;
    }
    parts
}

fn use_of(sys: &Path, device: BlockDevice, mounts: &[Mount], swaps: &str) -> DeviceUse {
    let number = format!("{}:{}", device.major, device.minor);
    let path = Path::new("/dev").join(&device.name);
    // btrfs has a number of its own, and names its device.
    let is_it = |mount: &&Mount| mount.device == number || Path::new(&mount.source) == path;
    let mut points: Vec<PathBuf> = Vec::new();
    for mount in mounts.iter().filter(is_it) {
        if !points.contains(&mount.point) {
            points.push(mount.point.clone());
        }
    }
    let mut used_by = sysfs::names(&sys.join("class/block").join(&device.name).join("holders"));
    let path = path.display().to_string();
    let is_swap = swaps
        .lines()
        .skip(1)
        .any(|line| line.split_whitespace().next() == Some(&*path));
    used_by.extend(is_swap.then(|| "swap".to_owned()));
    DeviceUse {
        file_system: mounts.iter().find(is_it).map(|mount| mount.kind.clone()),
        mount_points: points,
        used_by,
        device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    #[test]
    fn devices_are_listed_by_disk_with_who_uses_them() {
        let sys = sys_with(&[
            ("sata/sda", &[("dev", "8:0"), ("size", "1000")]),
            (
                "sata/sda/sda2",
                &[("dev", "8:2"), ("size", "300"), ("partition", "2")],
            ),
            (
                "sata/sda/sda10",
                &[
                    ("dev", "8:10"),
                    ("size", "300"),
                    ("partition", "10"),
                    ("holders/dm-0/x", ""),
                ],
            ),
            (
                "virtual/dm-0",
                &[("dev", "253:0"), ("size", "300"), ("slaves/sda10/x", "")],
            ),
            ("virtual/loop0", &[("dev", "7:0"), ("size", "0")]),
        ]);
        let mounts = mount::parse(
            "1 0 8:2 / /boot rw - ext4 /dev/sda2 rw\n2 0 8:2 /x /srv rw - ext4 /dev/sda2 rw\n\
             3 0 0:35 / /data rw - btrfs /dev/dm-0 rw\n",
        );
        let swaps = "Filename Type Size Used Priority\n/dev/sda partition 1 0 -2\n";
        let all = devices_of(sys.path(), &mounts, swaps);
        let names: Vec<_> = all.iter().map(|d| d.device.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "sda", "sda2", "sda10"]);
        let points = ["/boot", "/srv"].map(PathBuf::from);
        assert_eq!(
            (
                all[2].mount_points.as_slice(),
                all[2].file_system.as_deref()
            ),
            (&points[..], Some("ext4"))
        );
        assert_eq!(all[0].file_system.as_deref(), Some("btrfs"));
        assert_eq!(all[1].used_by, ["swap"]);
        assert_eq!(all[3].used_by, ["dm-0"]);
    }

    #[test]
    fn what_is_no_device_has_none() {
        assert_eq!(device_named("no-such-device"), None);
        assert_eq!(device_named("/proc/self"), None);
    }
}
