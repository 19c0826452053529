//! A study that is resumed on another disk. Its points would be joined as if one disk had them all.

use crate::{Error, places::places};
use std::path::Path;
use tailmark_machine::place_facts;
use tailmark_model::Fact;
use tailmark_plan::SystemPlan;
use tailmark_study::Study;

/// Facts that tell one disk from another and stay the same for each of them. Names of devices may
/// change, and so may the size of some file systems.
const IDENTITY: [(&str, &str); 4] = [
    ("file system", "type"),
    ("device", "serial number"),
    ("device", "model"),
    ("device", "size"),
];

/// Refuses to add points of a system whose directories are on another disk than at its points.
///
/// # Errors
/// If they are, or the study cannot be read.
pub(crate) fn refuse_moved(study: &Study, system: &SystemPlan) -> Result<(), Error> {
    // What prepares a device, or emulates it, knows it by its serial number, and mounts it later.
    if !system.prepare.keys().is_empty() || system.emulate.is_some() {
        return Ok(());
    }
    let mut is_measured = false;
    study.each_point_total(|point| is_measured |= point.key.system == system.name)?;
    if !is_measured {
        return Ok(());
    }
    let facts = study.facts()?;
    let before = facts
        .iter()
        .filter(|fact| fact.system.as_ref() == Some(&system.name));
    // A directory that is missing now would be created on the disk of its parent.
    let there = places(system).into_iter().filter_map(|place| {
        let there = place.ancestors().find(|path| path.exists());
        there.map(Path::to_owned)
    });
    let now = place_facts(&system.name, &there.collect::<Vec<_>>());
    difference(before, &now).map_or(Ok(()), |(was, is)| {
        Err(Error::MovedSystem {
            system: system.name.clone(),
            was,
            is,
        })
    })
}

/// The first fact that tells them apart: as it was, and as it is.
fn difference<'f>(
    mut before: impl Iterator<Item = &'f Fact>,
    now: &[Fact],
) -> Option<(String, String)> {
    before.find_map(|was| {
        let is_known = |(group, name): &(&str, &str)| was.group == *group && was.name == *name;
        IDENTITY.iter().find(|known| is_known(known))?;
        let mut same = now.iter();
        let is = same.find(|is| is.group == was.group && is.name == was.name)?;
        let text = |fact: &Fact| format!("{} {} `{}`", fact.group, fact.name, fact.value);
        (is.value != was.value).then(|| (text(was), text(is)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(group: &str, name: &str, value: &str) -> Fact {
        Fact {
            system: Some("a".into()),
            group: group.into(),
            name: name.into(),
            value: value.into(),
        }
    }

    #[test]
    fn another_disk_is_known_by_its_serial_number_or_size_and_not_by_its_name() {
        let disk = |name: &str, serial: &str, bytes: &str| {
            let serial = fact("device", "serial number", serial);
            vec![
                fact("device", "name", name),
                serial,
                fact("device", "size", bytes),
            ]
        };
        let before = disk("nvme0n1", "S1", "3.84 TB");
        let again = difference(before.iter(), &disk("nvme1n1", "S1", "3.84 TB"));
        assert_eq!(again, None);
        let other = difference(before.iter(), &disk("nvme0n1", "S2", "3.84 TB")).unwrap();
        assert_eq!(other.1, "device serial number `S2`");
        // A redacted study has no serial number.
        let redacted = &before[2..];
        assert_eq!(
            difference(redacted.iter(), &disk("vda", "", "3.84 TB")),
            None
        );
        assert!(difference(redacted.iter(), &disk("vda", "", "1 TB")).is_some());
    }
}
