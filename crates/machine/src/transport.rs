//! How a disk is attached, derived from its directory below `/sys/devices`, whose components name
//! the buses to it.

use crate::sysfs;
use std::path::Path;

/// The prefix of a component in the path to a disk, and its transport. The first matching row
/// counts.
const BUSES: &[(&str, &str)] = &[
    ("usb", "usb"),
    ("end_device-", "sas"),
    ("ata", "sata"),
    ("virtio", "virtio"),
    ("vbd-", "xen"),
    ("mmc_host", "mmc"),
    ("mmc", "mmc"),
    ("loop", "loop"),
    ("pmem", "pmem"),
    ("host", "scsi"),
];

/// The transport of the disk with this directory in `/sys`; `None` if unknown, as for composite
/// devices.
pub fn of_disk(disk: &Path) -> Option<&'static str> {
    let name = disk.file_name()?.to_str()?;
    if name.starts_with("nvme") {
        // A disk of several paths has no `device` with a transport; those in use are all alike.
        let transport = sysfs::text(&disk.join("device/transport"));
        let is_local = transport.is_none_or(|transport| transport == "pcie");
        return Some(if is_local { "nvme" } else { "nvme-fabrics" });
    }
    let parts: Vec<&str> = disk.iter().filter_map(|part| part.to_str()).collect();
    let row = BUSES.iter().find(|(start, _)| {
        let is_bus = |part: &&str| {
            let rest = part.strip_prefix(*start);
            rest.is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_digit()) || rest.is_empty()
            })
        };
        parts.iter().any(is_bus)
    });
    row.map(|(_, transport)| *transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_disk_says_how_it_is_attached() {
        let way_of = |path: &str| of_disk(Path::new(path)).unwrap_or("none");
        let pci = "/sys/devices/pci0000:00/0000:00:1f.2";
        for (way, transport) in [
            ("/sys/devices/virtual/block/loop3", "loop"),
            ("/sys/devices/virtual/block/dm-0", "none"),
            ("/sys/devices/virtual/block/md0", "none"),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda",
                "virtio",
            ),
            (
                "/sys/devices/pci0000:00/0000:00:02.0/virtio1/host2/target2:0:0/2:0:0:0/block/sda",
                "virtio",
            ),
            (
                &format!("{pci}/ata1/host0/target0:0:0/0:0:0:0/block/sda"),
                "sata",
            ),
            (
                &format!("{pci}/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdb"),
                "sas",
            ),
            (
                &format!("{pci}/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdc"),
                "usb",
            ),
            (
                &format!("{pci}/host4/target4:0:0/4:0:0:0/block/sdd"),
                "scsi",
            ),
            (&format!("{pci}/nvme/nvme0/nvme0n1"), "nvme"),
            ("/sys/devices/vbd-51712/block/xvda", "xen"),
        ] {
            assert_eq!(way_of(way), transport, "{way}");
        }
    }

    #[test]
    fn every_bus_is_a_transport() {
        for (_, transport) in BUSES {
            assert!(
                tailmark_model::TRANSPORTS.contains(transport),
                "{transport}"
            );
        }
    }

    #[test]
    fn a_namespace_over_a_network_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("nvme0n1");
        std::fs::create_dir_all(disk.join("device")).unwrap();
        std::fs::write(disk.join("device/transport"), "tcp\n").unwrap();
        assert_eq!(of_disk(&disk), Some("nvme-fabrics"));
    }
}
