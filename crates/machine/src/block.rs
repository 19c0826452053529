//! Block devices from `/sys`: disks, partitions, loop devices, and devices built on them.
//!
//! A directory's device is found by the device number of its files. Files on btrfs and overlay have
//! numbers without a device; then the mount table names it.

use crate::{mount, sysfs, transport};
use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Bytes of a sector in `/sys` and `/proc/diskstats`, whatever the device's own block is.
pub const SECTOR_BYTES: u64 = 512;

/// The place where the kernel shows its devices.
pub const SYS: &str = "/sys";

/// The deepest stacking of file systems (the kernel's `FILESYSTEM_MAX_STACK_DEPTH`).
const OVERLAYS_MAX: u32 = 2;

/// A disk, a partition, or a device made of others. What describes the hardware and its queue is
/// that of the whole disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// The kernel's name, for example `nvme0n1p2`.
    pub name: String,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// The disk, for example `nvme0n1`; of anything but a partition, its own name.
    pub disk: String,
    /// Bytes of the whole disk.
    pub disk_bytes: u64,
    /// Vendor, if known, and model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Whether the kernel takes it for rotating; virtual disks often say so.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Bytes: the unit that can be addressed, and that direct I/O keeps to.
    pub logical_block_bytes: Option<u64>,
    /// Bytes: the unit that is written without reading first.
    pub physical_block_bytes: Option<u64>,
    /// `write back` (volatile) or `write through`.
    pub write_cache: Option<String>,
    /// The file of a loop device.
    pub backing_file: Option<PathBuf>,
    /// The type of a device mapper or RAID device, for example `LVM-...` or `raid1`.
    pub composition: Option<String>,
    /// The devices that it is made of, for example `["sda1", "sdb1"]`.
    pub members: Vec<String>,
    /// Its transport, for example `nvme` or `sata`.
    pub transport: Option<&'static str>,
}

impl BlockDevice {
    /// Reads the device of a number below `/sys`.
    pub fn of_number(sys: &Path, major: u32, minor: u32) -> Option<Self> {
        let link = sys.join(format!("dev/block/{major}:{minor}"));
        Self::read(&fs::canonicalize(link).ok()?, major, minor)
    }

    /// Reads a device of `/sys/class/block`.
    pub fn of_name(sys: &Path, name: &str) -> Option<Self> {
        let directory = fs::canonicalize(sys.join("class/block").join(name)).ok()?;
        let number = sysfs::text(&directory.join("dev"))?;
        let (major, minor) = number.split_once(':')?;
        Self::read(&directory, major.parse().ok()?, minor.parse().ok()?)
    }

    fn read(directory: &Path, major: u32, minor: u32) -> Option<Self> {
        let name = directory.file_name()?.to_string_lossy().into_owned();
        let bytes =
            |device: &Path| sysfs::number::<u64>(&device.join("size")).unwrap_or(0) * SECTOR_BYTES;
        let disk = if directory.join("partition").exists() {
            directory.parent()?
        } else {
            directory
        };
        let text = |attribute: &str| sysfs::text(&disk.join(attribute));
        let number = |attribute: &str| sysfs::number(&disk.join(attribute));
        Some(Self {
            name,
            major,
            minor,
            size_bytes: bytes(directory),
            disk: disk.file_name()?.to_string_lossy().into_owned(),
            disk_bytes: bytes(disk),
            model: model(disk),
            serial: serial(disk),
            firmware: text("device/firmware_rev").or_else(|| text("device/rev")),
            rotational: sysfs::flag(&disk.join("queue/rotational")),
            scheduler: text("queue/scheduler").map(|text| sysfs::chosen(&text).to_owned()),
            logical_block_bytes: number("queue/logical_block_size"),
            physical_block_bytes: number("queue/physical_block_size"),
            write_cache: text("queue/write_cache"),
            backing_file: text("loop/backing_file").map(PathBuf::from),
            composition: text("dm/uuid").or_else(|| text("md/level")),
            members: sysfs::names(&disk.join("slaves")),
            transport: transport::of_disk(disk),
        })
    }

    /// Its type in a word or two: `partition`, `LVM`, `raid1`, `loop`, `NVMe namespace`, `disk`.
    pub fn kind(&self) -> &str {
        /// Prefixes of device mapper identifiers.
        const MAPPED: &[(&str, &str)] = &[
            ("LVM-", "LVM"),
            ("CRYPT-", "crypt"),
            ("mpath-", "multipath"),
            ("part", "partition"),
        ];
        match &self.composition {
            _ if self.name != self.disk => "partition",
            Some(composition) if self.name.starts_with("dm-") => {
                let row = MAPPED
                    .iter()
                    .find(|(start, _)| composition.starts_with(start));
                row.map_or("mapped device", |(_, kind)| kind)
            }
            Some(level) => level,
            None if self.transport == Some("loop") => "loop",
            None if self.name.starts_with("dm-") => "mapped device",
            None if self.name.starts_with("nvme") => "NVMe namespace",
            None => "disk",
        }
    }

    /// The disks at the bottom of a device mapper or RAID device; empty if it is not built on
    /// others.
    pub fn member_disks(&self) -> Vec<Self> {
        let mut disks: Vec<Self> = Vec::new();
        let mut pending = self.members.clone();
        while let Some(name) = pending.pop() {
            let Some(device) = Self::of_name(Path::new(SYS), &name) else {
                continue;
            };
            if device.members.is_empty() {
                disks.push(device);
            } else {
                pending.extend(device.members);
            }
        }
        disks.sort_by(|a, b| a.name.cmp(&b.name));
        disks.dedup();
        disks
    }
}

/// The block device that holds an existing file or directory, or the path's own; `None` if there is
/// none (tmpfs, network file systems, a missing path).
pub fn block_device_of(path: &Path) -> Option<BlockDevice> {
    device_of(path, OVERLAYS_MAX)
}

/// Whether the path is a block device.
pub fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

fn device_of(path: &Path, overlays_left: u32) -> Option<BlockDevice> {
    let sys = Path::new(SYS);
    let metadata = fs::metadata(path).ok()?;
    let of_number = |number| {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        BlockDevice::of_number(sys, major, minor)
    };
    if metadata.file_type().is_block_device() {
        return of_number(metadata.rdev());
    }
    of_number(metadata.dev()).or_else(|| {
        let mount = mount::mount_at(&path.canonicalize().ok()?)?;
        let below = source(&mount)?;
        device_of(below, overlays_left.checked_sub(1)?)
    })
}

/// Where a file system without its own device stores data: the device that it was mounted from, or
/// the upper directory of an overlay.
fn source(mount: &mount::Mount) -> Option<&Path> {
    match mount.kind.as_str() {
        "overlay" => mount.option("upperdir").map(Path::new),
        _ => Some(Path::new(&mount.source)).filter(|source| source.starts_with("/dev")),
    }
}

/// Vendor and model: of SCSI and ATA apart, of NVMe in one, of MMC called a name. Numbers of
/// virtual buses (`0x1af4`) are no vendors.
fn model(disk: &Path) -> Option<String> {
    let text = |attribute: &str| sysfs::text(&disk.join("device").join(attribute));
    let model = text("model").or_else(|| text("name"))?;
    Some(match text("vendor") {
        Some(vendor) if !vendor.starts_with("0x") && vendor != "ATA" => format!("{vendor} {model}"),
        _ => model,
    })
}

/// The serial number: of NVMe and MMC an attribute, of virtio one of the disk, of SCSI the page
/// of vital product data, whose text starts at its fifth byte (SPC-4, 7.8.15).
fn serial(disk: &Path) -> Option<String> {
    let page = || {
        let bytes = fs::read(disk.join("device/vpd_pg80")).ok()?;
        let text = String::from_utf8_lossy(bytes.get(4..)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    sysfs::text(&disk.join("device/serial"))
        .or_else(|| sysfs::text(&disk.join("serial")))
        .or_else(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    #[test]
    fn a_partition_is_described_by_its_disk() {
        let sys = sys_with(&[
            (
                "pci/nvme0/nvme0n1",
                &[
                    ("dev", "259:0\n"),
                    ("size", "1875385008\n"),
                    ("device/model", "Quick Drive 7000          \n"),
                    ("device/serial", "S-0001\n"),
                    ("device/firmware_rev", "F1.2\n"),
                    ("queue/rotational", "0\n"),
                    ("queue/scheduler", "[none] mq-deadline kyber\n"),
                    ("queue/logical_block_size", "4096\n"),
                    ("queue/write_cache", "write through\n"),
                ],
            ),
            (
                "pci/nvme0/nvme0n1/nvme0n1p2",
                &[("dev", "259:2\n"), ("partition", "2\n"), ("size", "2048\n")],
            ),
        ]);
        let device = BlockDevice::of_number(sys.path(), 259, 2).unwrap();
        assert_eq!(
            (device.name.as_str(), device.disk.as_str()),
            ("nvme0n1p2", "nvme0n1")
        );
        assert_eq!(
            (device.size_bytes, device.disk_bytes),
            (1 << 20, 1_875_385_008 * 512)
        );
        assert_eq!(device.model.as_deref(), Some("Quick Drive 7000"));
        assert_eq!(device.serial.as_deref(), Some("S-0001"));
        assert_eq!(device.firmware.as_deref(), Some("F1.2"));
        assert_eq!(device.scheduler.as_deref(), Some("none"));
        assert_eq!(
            (device.rotational, device.logical_block_bytes),
            (Some(false), Some(4096))
        );
        assert_eq!(
            BlockDevice::of_name(sys.path(), "nvme0n1p2").unwrap(),
            device
        );
    }

    #[test]
    fn vendor_and_serial_are_found_where_each_bus_keeps_them() {
        let sys = sys_with(&[
            (
                "scsi/sda",
                &[
                    ("dev", "8:0"),
                    ("device/vendor", "ACME    "),
                    ("device/model", "Platter"),
                    ("device/rev", "02"),
                    ("device/vpd_pg80", "\0\u{1}\0\u{8}  WX12  "),
                ],
            ),
            (
                "ata/sdb",
                &[
                    ("dev", "8:16"),
                    ("device/vendor", "ATA"),
                    ("device/model", "Flash 5"),
                ],
            ),
            (
                "virtio/vda",
                &[
                    ("dev", "254:0"),
                    ("device/vendor", "0x1af4"),
                    ("serial", "vol-1"),
                ],
            ),
        ]);
        let device = |name| BlockDevice::of_name(sys.path(), name).unwrap();
        let texts = |d: BlockDevice| (d.model.unwrap_or_default(), d.serial.unwrap_or_default());
        assert_eq!(
            texts(device("sda")),
            ("ACME Platter".to_owned(), "WX12".to_owned())
        );
        assert_eq!(device("sda").firmware.as_deref(), Some("02"));
        assert_eq!(texts(device("sdb")), ("Flash 5".to_owned(), String::new()));
        assert_eq!(texts(device("vda")), (String::new(), "vol-1".to_owned()));
    }

    #[test]
    fn a_mapped_device_names_its_members() {
        let sys = sys_with(&[(
            "virtual/block/dm-0",
            &[
                ("dev", "253:0"),
                ("dm/uuid", "LVM-x"),
                ("slaves/sdb1/x", ""),
                ("slaves/sda1/x", ""),
            ],
        )]);
        let device = BlockDevice::of_number(sys.path(), 253, 0).unwrap();
        assert_eq!(device.members, ["sda1", "sdb1"]);
        assert_eq!(device.composition.as_deref(), Some("LVM-x"));
        assert_eq!(device.disk, "dm-0");
    }

    #[test]
    fn what_is_written_to_an_overlay_goes_to_its_upper_directory() {
        let mounts = mount::parse(
            "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/up,workdir=/w\n\
             2 1 0:35 / /b rw - btrfs /dev/sdb3 rw\n\
             3 1 0:36 / /t rw - tmpfs tmpfs rw\n\
             4 1 0:37 / /n rw - nfs4 server:/export rw\n",
        );
        let sources: Vec<_> = mounts.iter().map(source).collect();
        let path = |text| Some(Path::new(text));
        assert_eq!(sources, [path("/var/up"), path("/dev/sdb3"), None, None]);
    }

    #[test]
    fn what_does_not_exist_has_no_device() {
        assert_eq!(block_device_of(Path::new("10.0.0.1:9042")), None);
        assert_eq!(block_device_of(Path::new("/proc/self")), None);
    }
}
