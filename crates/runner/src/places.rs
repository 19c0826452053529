//! The directories and block devices of a system that are watched.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tailmark_plan::SystemPlan;

/// Each of them once; an NVMe controller is all its namespaces, and a log of its own on another device
/// is a further place.
pub(crate) fn places(system: &SystemPlan) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    // A server with a host is watched on that host.
    if !system.ssh.is_empty() {
        return places;
    }
    for watched in system.watched() {
        for place in tailmark_machine::places_of(watched) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    for directory in system.directories() {
        // A missing directory will be on the device of its parent.
        let there = directory.ancestors().find(|path| path.exists());
        let is_known = |path: &&Path| places.iter().any(|place| disks(place) == disks(path));
        places.extend(there.filter(|there| !is_known(there)).map(Path::to_owned));
    }
    places
}

/// The disks that a place is on, by name.
fn disks(place: &Path) -> BTreeSet<String> {
    let disks = tailmark_machine::disks(place).into_iter();
    disks.map(|disk| disk.disk).collect()
}
