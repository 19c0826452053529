//! The chain of block devices below a place: from the one that holds it down through partitions, LVM,
//! RAID, encryption, multipath and loop devices to the physical ones.

use crate::{
    BlockDevice,
    block::{self, SYS},
    mount::existing,
};
use std::path::Path;

/// The most devices in a chain. With more, something is its own member.
const DEVICES_MAX: usize = 256;

/// Every device below a place, each once: first the one that holds it, and after each the devices
/// that it is built on. A missing place counts as where it would be created. Loop devices are
/// followed through their files.
pub fn chain(place: &Path) -> Vec<BlockDevice> {
    top(place).map_or_else(Vec::new, |top| below(Path::new(SYS), top))
}

/// The device that holds a place, or will hold it.
fn top(place: &Path) -> Option<BlockDevice> {
    block::block_device_of(&existing(place).ok()?)
}

/// A device and everything that it is made of.
pub fn below(sys: &Path, top: BlockDevice) -> Vec<BlockDevice> {
    let mut chain: Vec<BlockDevice> = Vec::new();
    // The next one last.
    let mut pending = vec![top];
    while let Some(device) = pending.pop() {
        let is_known = chain.iter().any(|known| known.name == device.name);
        if is_known || chain.len() >= DEVICES_MAX {
            continue;
        }
        let file = device.backing_file.as_deref();
        let of_file = file.and_then(block::block_device_of);
        let members = device.members.iter().rev();
        let members = members.filter_map(|name| BlockDevice::of_name(sys, name));
        pending.extend(members.chain(of_file));
        chain.push(device);
    }
    chain
}

/// The disks of a place, with loop devices counted as disks. A plan's expectations of its device
/// apply to these.
pub fn disks(place: &Path) -> Vec<BlockDevice> {
    top(place).map_or_else(Vec::new, |top| {
        if top.members.is_empty() {
            vec![top]
        } else {
            top.member_disks()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    #[test]
    fn a_chain_goes_from_the_top_down_and_names_each_device_once() {
        let sys = sys_with(&[
            ("pci/nvme0/nvme0n1", &[("dev", "259:0")]),
            (
                "pci/nvme0/nvme0n1/nvme0n1p1",
                &[("dev", "259:1"), ("partition", "1")],
            ),
            ("pci/nvme1/nvme1n1", &[("dev", "259:2")]),
            (
                "virtual/md0",
                &[
                    ("dev", "9:0"),
                    ("md/level", "raid1"),
                    ("slaves/nvme0n1p1/x", ""),
                    ("slaves/nvme1n1/x", ""),
                ],
            ),
            (
                "virtual/dm-0",
                &[
                    ("dev", "253:0"),
                    ("dm/uuid", "CRYPT-LUKS2-x"),
                    ("slaves/md0/x", ""),
                ],
            ),
            (
                "virtual/dm-1",
                &[
                    ("dev", "253:1"),
                    ("dm/uuid", "LVM-x"),
                    ("slaves/dm-0/x", ""),
                    ("slaves/md0/x", ""),
                ],
            ),
        ]);
        let top = BlockDevice::of_name(sys.path(), "dm-1").unwrap();
        let chain = below(sys.path(), top);
        let named: Vec<_> = chain.iter().map(|d| (d.name.as_str(), d.kind())).collect();
        let expected = [
            ("dm-1", "LVM"),
            ("dm-0", "crypt"),
            ("md0", "raid1"),
            ("nvme0n1p1", "partition"),
            ("nvme1n1", "NVMe namespace"),
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn the_paths_to_one_disk_are_below_the_device_of_them() {
        let sys = sys_with(&[
            ("scsi/sda", &[("dev", "8:0")]),
            ("scsi/sdb", &[("dev", "8:16")]),
            (
                "virtual/dm-0",
                &[
                    ("dev", "253:0"),
                    ("dm/uuid", "mpath-3600508b4"),
                    ("slaves/sda/x", ""),
                    ("slaves/sdb/x", ""),
                ],
            ),
        ]);
        let top = BlockDevice::of_name(sys.path(), "dm-0").unwrap();
        assert_eq!(top.kind(), "multipath");
        let names: Vec<_> = below(sys.path(), top).into_iter().map(|d| d.name).collect();
        assert_eq!(names, ["dm-0", "sda", "sdb"]);
    }

    #[test]
    fn what_is_a_member_of_itself_ends() {
        let sys = sys_with(&[
            ("virtual/dm-0", &[("dev", "253:0"), ("slaves/dm-1/x", "")]),
            ("virtual/dm-1", &[("dev", "253:1"), ("slaves/dm-0/x", "")]),
        ]);
        let top = BlockDevice::of_name(sys.path(), "dm-0").unwrap();
        assert_eq!(below(sys.path(), top).len(), 2);
    }
}
