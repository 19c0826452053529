//! The directories and block devices of a system that are watched.

use std::path::PathBuf;
use tailmark_plan::SystemPlan;

/// Each of them once; an NVMe controller is all its namespaces.
pub(crate) fn places(system: &SystemPlan) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for watched in system.watched() {
        for place in tailmark_host::places_of(watched) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}
