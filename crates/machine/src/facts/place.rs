//! Facts of the places of one system: file systems, and the devices behind them down to the physical
//! ones.

use super::{FactGroup, binary, device, file_system};
use crate::{BlockDevice, block, chain::chain, mount, space};
use std::path::{Path, PathBuf};
use tailmark_model::Fact;

/// The file system of each place, and every device behind it. The groups are `file system` and
/// `device` for the first place, `file system 2` and `device 2` for the second, and `device below
/// 1`, `device below 2`, ... for the devices that those are built on. Places that do not exist here
/// (contact points of a server) are left out.
pub fn place_facts(system: &str, places: &[PathBuf]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut seen: Vec<BlockDevice> = Vec::new();
    let mut below: Vec<BlockDevice> = Vec::new();
    let (mut file_systems, mut devices) = (0, 0);
    let exists = places.iter().filter_map(|place| place.canonicalize().ok());
    for place in exists {
        if !block::is_device(&place) {
            file_systems += 1;
            let name = numbered("file system", file_systems);
            facts.extend(of_file_system(system, name, &place).facts);
        }
        let mut chain = chain(&place);
        let members = chain.split_off(chain.len().min(1));
        for top in chain.iter().filter(|top| !seen.contains(top)) {
            devices += 1;
            let name = numbered("device", devices);
            facts.extend(device::facts(system, name, top, &members).facts);
        }
        seen.extend(chain);
        below.extend(members);
    }
    let mut number = 0;
    for member in below {
        if !seen.contains(&member) {
            number += 1;
            let name = format!("device below {number}");
            facts.extend(device::facts(system, name, &member, &[]).facts);
            seen.push(member);
        }
    }
    facts
}

/// `device` for the first one, `device 2` for the second.
fn numbered(name: &str, number: usize) -> String {
    match number {
        1 => name.to_owned(),
        _ => format!("{name} {number}"),
    }
}

fn of_file_system<'a>(system: &'a str, name: String, place: &Path) -> FactGroup<'a> {
    let mut group = FactGroup::new(Some(system), name);
    if let Some(mount) = mount::mount_at(place) {
        group.add("type", mount.kind.as_str());
        group.add("mount point", mount.point.display().to_string());
        group.add("options", mount.options.join(","));
        group.add("source", mount.source.as_str());
        for (parameter, value) in file_system::parameters(&mount, place) {
            group.add(&parameter, value);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_points_have_no_facts() {
        let hosts = PathBuf::from("10.0.0.1:9042,10.0.0.2:9042");
        assert_eq!(place_facts("cluster", &[hosts]), []);
    }

    #[test]
    fn facts_of_a_place_are_of_its_system() {
        let dir = tempfile::tempdir().unwrap();
        let facts = place_facts("disk", &[dir.path().to_owned()]);
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

    #[test]
    fn further_places_have_groups_of_their_own() {
        let places = ["/dev/shm", "/"].map(PathBuf::from);
        let facts = place_facts("two", &places);
        let kind = |group: &str| facts.iter().find(|f| f.group == group && f.name == "type");
        assert_eq!(kind("file system").unwrap().value, "tmpfs");
        assert_ne!(kind("file system 2").unwrap().value, "tmpfs");
        let names: std::collections::BTreeSet<_> =
            facts.iter().map(|f| (&f.group, &f.name)).collect();
        assert_eq!(names.len(), facts.len());
    }
}
