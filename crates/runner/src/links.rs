//! Detects devices with a slower PCI Express link than they support.

use std::{collections::BTreeSet, path::PathBuf};
use tailmark_machine::chain;

/// What to do about one.
pub(crate) const REMEDY: &str = "Put the device into a slot of its generation and width, reseat \
                                 it, and look for link errors (`dmesg`, `lspci -vv`)";

/// The devices below these places whose link is slower than they can use, each in a few words.
pub(crate) fn degraded_of(places: &[PathBuf]) -> Vec<String> {
    let devices = places.iter().flat_map(|place| chain(place));
    let said = devices.filter_map(|device| {
        let link = device.pcie_link().filter(|link| link.is_degraded())?;
        let model = device.model.map(|model| format!(" ({model})"));
        Some(format!(
            "{}{} is attached by {} but supports {}",
            device.disk,
            model.unwrap_or_default(),
            link.current,
            link.most
        ))
    });
    let said: BTreeSet<String> = said.collect();
    said.into_iter().collect()
}
