//! Facts of the place of one system: its file system and the device behind it.

use super::{FactGroup, binary, decimal};
use crate::{BlockDevice, block, block_device_of, mount, space};
use std::path::Path;
use tailmark_results::Fact;

/// The file system and the devices behind a directory, or the device itself, in the groups
/// `file system` and `device`. Of a place that does not exist here (the contact points of a
/// server) nothing is reported.
#[must_use]
pub fn place_facts(system: &str, place: &Path) -> Vec<Fact> {
    let Ok(place) = place.canonicalize() else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    if !block::is_device(&place) {
        facts.extend(file_system(system, &place).facts);
    }
    if let Some(device) = block_device_of(&place) {
        facts.extend(device_facts(system, &device).facts);
    }
    facts
}

fn file_system<'a>(system: &'a str, place: &Path) -> FactGroup<'a> {
    let mut group = FactGroup::new(Some(system), "file system");
    if let Some(mount) = mount::mount_at(place) {
        group.add("type", mount.kind.as_str());
        group.add("mount point", mount.point.display().to_string());
        group.add("options", mount.options.join(","));
        group.add("source", mount.source.as_str());
    }
    if let Ok(space) = space(place) {
        group.add("size", binary(space.total));
        group.add("available at the start", binary(space.available));
    }
    if let Ok(stat) = rustix::fs::statvfs(place) {
        group.add("block", format!("{} bytes", stat.f_bsize));
    }
    group
}

fn device_facts<'a>(system: &'a str, device: &BlockDevice) -> FactGroup<'a> {
    let mut group = FactGroup::new(Some(system), "device");
    let bytes = |value: Option<u64>| value.map(|value| format!("{value} bytes"));
    group.add("name", device.disk.as_str());
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
    group.add(
        "rotational",
        device.rotational.map(|yes| if yes { "yes" } else { "no" }),
    );
    group.add("scheduler", device.scheduler.as_deref());
    group.add("logical block", bytes(device.logical_block_bytes));
    group.add("physical block", bytes(device.physical_block_bytes));
    group.add("write cache", device.write_cache.as_deref());
    group.add(
        "requests queued at most",
        device.queue_requests.map(|n| n.to_string()),
    );
    group.add("composition", device.composition.as_deref());
    for member in device.member_disks() {
        group.add(&format!("member {}", member.name), summary(&member));
    }
    if let Some(file) = &device.backing_file {
        group.add("backing file", file.display().to_string());
        let below = block_device_of(file).map(|below| summary(&below));
        group.add("device of the backing file", below);
    }
    group
}

/// A device in one line.
fn summary(device: &BlockDevice) -> String {
    let model = device.model.as_deref().unwrap_or("unknown model");
    let serial = device
        .serial
        .as_deref()
        .map(|serial| format!(", serial number {serial}"));
    let size = decimal(device.disk_bytes);
    format!(
        "{}: {model}{}, {size}",
        device.disk,
        serial.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_points_have_no_facts() {
        assert_eq!(
            place_facts("cluster", Path::new("10.0.0.1:9042,10.0.0.2:9042")),
            []
        );
    }

    #[test]
    fn facts_of_a_place_are_of_its_system() {
        let dir = tempfile::tempdir().unwrap();
        let facts = place_facts("disk", dir.path());
        assert!(
            facts
                .iter()
                .all(|fact| fact.system.as_deref() == Some("disk"))
        );
        let file_system: Vec<_> = facts
            .iter()
            .filter(|f| f.group == "file system")
            .map(|f| f.name.as_str())
            .collect();
        for name in [
            "type",
            "mount point",
            "options",
            "size",
            "available at the start",
        ] {
            assert!(
                file_system.contains(&name),
                "{name} is missing from {file_system:?}"
            );
        }
    }
}
