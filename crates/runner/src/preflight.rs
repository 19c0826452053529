//! What is checked before anything is measured: places, room, and that every database opens.

use crate::{
    Error, Observer,
    dataset::Dataset,
    plan::{Plan, SystemPlan},
};
use bytesize::ByteSize;
use std::{collections::BTreeMap, fs, path::Path};
use tailmark_driver::Place;
use tailmark_host::Space;

/// What can be measured of a plan.
#[derive(Debug)]
pub struct Ready<'a> {
    /// At least one system.
    pub systems: Vec<&'a SystemPlan>,
    /// Why each of the others was left out.
    pub left_out: Vec<String>,
}

/// Checks every system of the plan and makes the databases that are missing. An optional system
/// that cannot be measured is left out, with a notice.
///
/// # Errors
/// Where a system that is not optional cannot be measured, or none is left.
pub fn preflight<'a>(
    plan: &'a Plan,
    out: &Path,
    observer: &dyn Observer,
) -> Result<Ready<'a>, Error> {
    let mut room = Room::default();
    let mut ready = Vec::new();
    let mut left_out = Vec::new();
    for system in &plan.systems {
        let checked = ceiling_is_ready(system, plan, &ready)
            .and_then(|()| check(plan, system, out, &mut room));
        match checked {
            Ok(()) => ready.push(system),
            Err(error) if system.optional => {
                let reason = format!("left out {}", describe(&error));
                observer.notice(&reason);
                left_out.push(reason);
            }
            Err(error) => return Err(error),
        }
    }
    if ready.is_empty() {
        return Err(Error::NoSystem {
            reasons: left_out.join("; "),
        });
    }
    Ok(Ready {
        systems: ready,
        left_out,
    })
}

/// An optional ceiling is of no use without the system it is for.
fn ceiling_is_ready(system: &SystemPlan, plan: &Plan, ready: &[&SystemPlan]) -> Result<(), Error> {
    let Some(of) = &system.ceiling_for else {
        return Ok(());
    };
    let is_ready = ready.iter().any(|s| s.name == *of);
    let comes_later = !is_ready
        && plan
            .systems
            .iter()
            .skip_while(|s| s.name != system.name)
            .any(|s| s.name == *of);
    if is_ready || comes_later || !system.optional {
        return Ok(());
    }
    Err(Error::NoSystem {
        reasons: format!("system `{}`: `{of}` was left out", system.name),
    })
}

fn check(plan: &Plan, system: &SystemPlan, out: &Path, room: &mut Room) -> Result<(), Error> {
    let dataset = Dataset::new(plan, system, out);
    if matches!(
        system.driver.place,
        Place::Directory | Place::DirectoryOrDevice
    ) {
        make_place(system)?;
        if !dataset.is_loaded()? {
            room.claim(system, &dataset)?;
        }
    }
    // A server that is started by the sweep may not be there yet, and another one in its place.
    match system.service {
        Some(_) => Ok(()),
        None => dataset.prepare(),
    }
}

/// Makes the last component of a directory place: a parent that is missing is a device that was
/// not mounted, and must not be made on the disk below.
fn make_place(system: &SystemPlan) -> Result<(), Error> {
    let place = &system.place;
    if place.exists() {
        return Ok(());
    }
    let parent = place
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(Error::MissingPlace {
            system: system.name.clone(),
            place: place.clone(),
        });
    }
    fs::create_dir(place).map_err(|source| Error::Io {
        action: "create",
        path: place.clone(),
        source,
    })
}

/// What the systems checked so far need of each file system.
#[derive(Default)]
struct Room {
    claimed: BTreeMap<String, (u64, Vec<String>)>,
}

impl Room {
    fn claim(&mut self, system: &SystemPlan, dataset: &Dataset<'_>) -> Result<(), Error> {
        let place = &system.place;
        let Space {
            available,
            file_system,
            ..
        } = tailmark_host::space(place).map_err(|source| Error::Io {
            action: "examine",
            path: place.clone(),
            source,
        })?;
        let needed = (system.driver.space)(&system.data, &system.settings);
        let present = dataset.present();
        let (claimed, others) = self.claimed.entry(file_system).or_default();
        if claimed.saturating_add(needed) > available.saturating_add(present) {
            return Err(Error::NoRoom {
                system: system.name.clone(),
                place: place.clone(),
                needed: ByteSize(needed).to_string(),
                available: ByteSize(available).to_string(),
                together: match others.is_empty() {
                    true => String::new(),
                    false => format!(
                        ", of which {} for {} there",
                        ByteSize(*claimed),
                        others.join(", ")
                    ),
                },
            });
        }
        *claimed += needed.saturating_sub(present);
        others.push(format!("`{}`", system.name));
        Ok(())
    }
}

/// An error with its causes, in one line.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
