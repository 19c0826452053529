//! The directories and block devices of a system that are watched.

use std::path::{Path, PathBuf};
use tailmark_host::physical_devices;
use tailmark_plan::SystemPlan;

/// Settings of drivers that name a further directory of the database.
const DIRECTORIES: [&str; 1] = ["wal_dir"];

/// Each of them once; an NVMe controller is all its namespaces, and a log of its own on another device
/// is a further place.
pub(crate) fn places(system: &SystemPlan) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for watched in system.watched() {
        for place in tailmark_host::places_of(watched) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let further = DIRECTORIES
        .iter()
        .filter_map(|name| system.settings.text(name));
    for directory in further.filter(|directory| !directory.is_empty()) {
        // What is not made yet will be on the device of the directory above it.
        let there = Path::new(directory).ancestors().find(|path| path.exists());
        let is_known = |there: &&Path| {
            let devices = physical_devices(there);
            places
                .iter()
                .any(|place| physical_devices(place) == devices)
        };
        places.extend(there.filter(|there| !is_known(there)).map(Path::to_owned));
    }
    places
}
