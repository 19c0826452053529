//! Facts of one block device: what it is, how it is attached, and how its requests are queued.

use super::{FactGroup, decimal};
use crate::{BlockDevice, block::SYS, chain, controller, sysfs};
use std::path::Path;
use tailmark_model::Fact;

/// Settings of a device's queue: name, attribute, unit.
const QUEUE: &[(&str, &str, &str)] = &[
    ("requests queued at most", "nr_requests", ""),
    ("read ahead", "read_ahead_kb", " KiB"),
    ("largest request", "max_sectors_kb", " KiB"),
    ("target of writeback throttling", "wbt_lat_usec", " us"),
];

/// How the block layer merges requests, by the value of `nomerges`
/// (`Documentation/ABI/stable/sysfs-block`).
const MERGES: &[(&str, &str)] = &[("0", "all"), ("1", "simple ones"), ("2", "none")];

/// Prefixes of the models of cloud volumes, and their types.
const CLOUD_VOLUMES: &[(&str, &str)] = &[
    (
        "Amazon EC2 NVMe Instance Storage",
        "Amazon EC2 instance store",
    ),
    ("Amazon Elastic Block Store", "Amazon EBS"),
    ("Google EphemeralDisk", "Google local SSD"),
    ("Google PersistentDisk", "Google Persistent Disk"),
    ("MSFT NVMe Accelerator", "Azure disk"),
    ("Microsoft NVMe Direct Disk", "Azure local disk"),
    ("Msft Virtual Disk", "Azure or Hyper-V disk"),
    ("nvme_card-pd", "Google Persistent Disk"),
];

/// The facts of a device in the group `device`, and of each device that it is made of in a group of
/// its own: `device below 1`, and so on.
pub fn device_facts(system: &str, device: &BlockDevice) -> Vec<Fact> {
    let mut chain = chain::below(Path::new(SYS), device.clone());
    let members = chain.split_off(1);
    let top = facts(system, "device".to_owned(), device, &members);
    let below = members.iter().enumerate().map(|(index, member)| {
        let name = format!("device below {}", index + 1);
        facts(system, name, member, &[])
    });
    let groups = std::iter::once(top).chain(below);
    groups.flat_map(|group| group.facts).collect()
}

/// The facts about a device, in a group of this name; `members` are the devices that it is built
/// on.
pub fn facts<'a>(
    system: &'a str,
    name: String,
    device: &BlockDevice,
    members: &[BlockDevice],
) -> FactGroup<'a> {
    let mut group = FactGroup::new(Some(system), name);
    let bytes = |value: Option<u64>| value.map(|value| format!("{value} bytes"));
    group.add("name", device.disk.as_str());
    group.add("kind", kind(device));
    group.add("model", device.model.as_deref());
    group.add("serial number", device.serial.as_deref());
    group.add("firmware", device.firmware.as_deref());
    group.add("size", decimal(device.disk_bytes));
    if device.name != device.disk {
        group.add(
            "partition",
            format!("{}, {}", device.name, decimal(device.size_bytes)),
        );
    }
    group.add("transport", device.transport);
    if let Some(link) = device.pcie_link() {
        group.add("link", link.current.to_string());
        group.add("fastest link", link.most.to_string());
    }
    group.add(
        "namespaces of its controller",
        namespaces(Path::new(SYS), &device.disk),
    );
    group.add("cloud volume", cloud_volume(device));
    group.add(
        "rotational",
        device.rotational.map(|yes| if yes { "yes" } else { "no" }),
    );
    group.add("scheduler", device.scheduler.as_deref());
    group.add("logical block", bytes(device.logical_block_bytes));
    group.add("physical block", bytes(device.physical_block_bytes));
    group.add("write cache", device.write_cache.as_deref());
    queue(&mut group, Path::new(SYS), &device.disk);
    group.add("composition", device.composition.as_deref());
    let made_of: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    group.add("devices below", made_of.join(", "));
    let file = device.backing_file.as_ref();
    group.add("backing file", file.map(|file| file.display().to_string()));
    group
}

/// Of a partition, what its disk is.
fn kind(device: &BlockDevice) -> String {
    match device.kind() {
        "partition" => "disk".to_owned(),
        kind => kind.to_owned(),
    }
}

fn queue(group: &mut FactGroup<'_>, sys: &Path, disk: &str) {
    let attribute = |name: &str| {
        let directory = sys.join("class/block").join(disk).join("queue");
        sysfs::text(&directory.join(name))
    };
    for (name, from, unit) in QUEUE {
        group.add(name, attribute(from).map(|value| format!("{value}{unit}")));
    }
    let merges = attribute("nomerges");
    let row = MERGES
        .iter()
        .find(|(value, _)| merges.as_deref() == Some(value));
    group.add("requests merged", row.map(|(_, merged)| *merged));
}

/// The namespaces of the controllers of an NVMe disk, with their sizes.
fn namespaces(sys: &Path, disk: &str) -> Option<String> {
    let controller = controller::controllers_of(sys, disk).into_iter().next()?;
    let names = controller::namespaces(sys, &controller);
    let described = names.iter().map(|name| {
        let size = BlockDevice::of_name(sys, name).map(|device| decimal(device.disk_bytes));
        format!("{name} {}", size.unwrap_or_default())
    });
    Some(described.collect::<Vec<_>>().join(", "))
}

/// Of a volume of a cloud, which; of Amazon EBS the serial number is the volume's identifier.
fn cloud_volume(device: &BlockDevice) -> Option<String> {
    let model = device.model.as_deref()?;
    let (_, name) = CLOUD_VOLUMES
        .iter()
        .find(|(start, _)| model.starts_with(start))?;
    let serial = device.serial.as_deref().unwrap_or_default();
    let volume = serial.strip_prefix("vol").filter(|_| name.ends_with("EBS"));
    Some(match volume {
        Some(number) => format!("{name} vol-{}", number.trim_start_matches('-')),
        None => (*name).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::sys_with;

    #[test]
    fn a_volume_of_a_cloud_is_told_by_its_model() {
        let sys = sys_with(&[
            (
                "pci/nvme1/nvme1n1",
                &[
                    ("dev", "259:0"),
                    ("device/model", "Amazon Elastic Block Store              "),
                    ("device/serial", "vol0123456789abcdef0"),
                ],
            ),
            (
                "pci/nvme2/nvme2n1",
                &[("dev", "259:1"), ("device/model", "Quick Drive 7000")],
            ),
        ]);
        let volume = |name| cloud_volume(&BlockDevice::of_name(sys.path(), name).unwrap());
        assert_eq!(
            volume("nvme1n1").as_deref(),
            Some("Amazon EBS vol-0123456789abcdef0")
        );
        assert_eq!(volume("nvme2n1"), None);
        assert!(CLOUD_VOLUMES.is_sorted());
    }

    #[test]
    fn the_settings_of_a_queue_have_their_units() {
        let sys = sys_with(&[(
            "pci/nvme0/nvme0n1",
            &[
                ("dev", "259:0"),
                ("queue/nr_requests", "1023\n"),
                ("queue/read_ahead_kb", "128\n"),
                ("queue/nomerges", "2\n"),
                ("queue/wbt_lat_usec", "2000\n"),
            ],
        )]);
        let mut group = FactGroup::new(None, "device".to_owned());
        queue(&mut group, sys.path(), "nvme0n1");
        let facts: Vec<_> = group
            .facts
            .iter()
            .map(|f| (f.name.as_str(), f.value.as_str()))
            .collect();
        let expected = [
            ("requests queued at most", "1023"),
            ("read ahead", "128 KiB"),
            ("target of writeback throttling", "2000 us"),
            ("requests merged", "none"),
        ];
        assert_eq!(facts, expected);
    }

    #[test]
    fn the_namespaces_of_a_controller_are_named_with_their_sizes() {
        let sys = sys_with(&[
            (
                "pci/nvme0/nvme0n1",
                &[("dev", "259:0"), ("size", "2000000")],
            ),
            (
                "pci/nvme0/nvme0n2",
                &[("dev", "259:1"), ("size", "4000000")],
            ),
        ]);
        for name in ["nvme0n1", "nvme0n2"] {
            std::fs::create_dir_all(sys.path().join("class/nvme/nvme0").join(name)).unwrap();
        }
        let said = namespaces(sys.path(), "nvme0n2").unwrap();
        assert_eq!(
            said,
            "nvme0n1 1.0 GB (1024000000 bytes), nvme0n2 2.0 GB (2048000000 bytes)"
        );
    }
}
