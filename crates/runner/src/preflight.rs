//! Checks before anything is measured: places, space, and that every database opens. It changes no
//! stored data.

use crate::{
    Error,
    capture::refuse_unknown_probes,
    claimed::{ClaimedPlaces, parent, refuse_bad_place},
    dataset::{Dataset, State, kept_bytes},
    error::in_one_line,
    expect::Mismatches,
    prepare::refuse_overwrite,
    ranks::{Answer, Command, Ranks},
    servers::Servers,
};
use bytesize::ByteSize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::Place;
use tailmark_engine::{Observer, Stop};
use tailmark_machine::Space;
use tailmark_plan::{Adopt, Plan, SystemPlan};
use tailmark_prepare::Unwatched;

/// The measurable part of a plan.
#[derive(Debug)]
pub struct Ready<'a> {
    /// At least one system.
    pub systems: Vec<&'a SystemPlan>,
    /// Why each of the others was left out.
    pub skipped: Vec<String>,
    /// Differences from the plan's expectations that do not prevent measuring.
    pub mismatches: Mismatches,
    /// Directories that were made for systems.
    pub made: Vec<PathBuf>,
    /// The places that no other run has until this is dropped.
    pub places: ClaimedPlaces,
}

/// Checks the systems of the plan that have something to measure: first the plan's expectations,
/// before anything is created; then everything that can be seen by looking; then that their
/// databases open. No stored data is changed. An optional system that cannot be measured is left
/// out, with a notice.
///
/// # Errors
/// If a system that is not optional cannot be measured, or none is left.
pub(crate) fn preflight<'a>(
    plan: &'a Plan,
    out: &Path,
    is_pending: impl Fn(&SystemPlan) -> bool,
    (ranks, servers): (&Ranks, &Servers),
    (observer, stop): (&dyn Observer, &Stop),
) -> Result<Ready<'a>, Error> {
    let pending = plan.systems.iter().filter(|system| is_pending(system));
    let are_here = |system: &SystemPlan| servers.are_this_machine(system);
    let mismatches = Mismatches::of_connected(pending, &are_here);
    mismatches.refuse(plan)?;
    let mut room = Room::default();
    let (mut skipped, mut places) = (Vec::new(), ClaimedPlaces::new(out));
    let looks = |system: &SystemPlan| {
        if is_pending(system) {
            servers.refuse(system)?;
            look(plan, system, ranks, stop, (&mut room, &mut places))?;
        }
        Ok(())
    };
    let systems = plan.systems.iter().collect();
    let systems = passing(systems, looks, &mut skipped, (observer, stop))?;
    let opens = |system: &SystemPlan| {
        if is_pending(system) {
            try_open(plan, system).and_then(|()| {
                let answers = ranks.each_of_own(system, |system| Command::TryOpen { system })?;
                Answer::said(&answers).for_each(|said| observer.notice(said));
                Ok(())
            })
        } else {
            Ok(())
        }
    };
    let systems = passing(systems, opens, &mut skipped, (observer, stop))?;
    if systems.is_empty() {
        return Err(Error::NoSystem {
            reasons: skipped.join("; "),
        });
    }
    Ok(Ready {
        systems,
        skipped,
        mismatches,
        made: std::mem::take(&mut places.made),
        places,
    })
}

/// The systems that pass a check; why optional ones do not is added to `skipped`.
fn passing<'a>(
    systems: Vec<&'a SystemPlan>,
    mut check: impl FnMut(&SystemPlan) -> Result<(), Error>,
    skipped: &mut Vec<String>,
    (observer, stop): (&dyn Observer, &Stop),
) -> Result<Vec<&'a SystemPlan>, Error> {
    let mut passing = Vec::new();
    for (index, system) in systems.iter().enumerate() {
        if stop.requested() {
            return Err(Error::Stopped {
                doing: "tailmark checked the systems of the plan".to_owned(),
            });
        }
        let checked = ceiling_is_of_use(system, &passing, &systems[index..]);
        match checked.and_then(|()| check(system)) {
            Ok(()) => passing.push(*system),
            Err(error) if system.optional && !matches!(error, Error::Stopped { .. }) => {
                let reason = format!("left out {}", in_one_line(&error));
                observer.notice(&reason);
                skipped.push(reason);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(passing)
}

/// Refuses a plan that cannot be carried out on any machine, because its places are examples or its
/// probes do not exist.
///
/// # Errors
/// For either reason.
pub(crate) fn refuse_as_written(plan: &Plan) -> Result<(), Error> {
    refuse_placeholders(plan)?;
    refuse_unknown_probes(plan)
}

/// Refuses a plan whose places are examples.
///
/// # Errors
/// Names the systems, and the flag that sets their places.
fn refuse_placeholders(plan: &Plan) -> Result<(), Error> {
    let placeholders = plan.systems.iter().filter(|system| system.placeholder);
    let flags: Vec<_> = placeholders
        .map(|system| format!("--system \"{}=WHERE\"", system.name))
        .collect();
    if flags.is_empty() {
        Ok(())
    } else {
        Err(Error::Placeholders {
            flags: flags.join(" "),
        })
    }
}

/// An optional ceiling is useless without its system, which has been checked or comes later.
fn ceiling_is_of_use(
    system: &SystemPlan,
    passed: &[&SystemPlan],
    later: &[&SystemPlan],
) -> Result<(), Error> {
    let Some(ceiling) = &system.ceiling_for else {
        return Ok(());
    };
    if !system.optional || passed.iter().chain(later).any(|s| s.name == *ceiling) {
        return Ok(());
    }
    Err(Error::NoSystem {
        reasons: format!("system `{}`: `{ceiling}` was left out", system.name),
    })
}

/// Checks the place of a system, its content, and the space. Adds the directories that it created.
fn look(
    plan: &Plan,
    system: &SystemPlan,
    ranks: &Ranks,
    stop: &Stop,
    (room, places): (&mut Room, &mut ClaimedPlaces),
) -> Result<(), Error> {
    let dataset = Dataset::new(plan, system);
    if matches!(
        system.driver.place,
        Place::Directory | Place::DirectoryOrDevice
    ) {
        if plan.dataset.adopt == Adopt::No {
            places.claim(system)?;
        }
        let state = examine(plan, system, &dataset, stop)?;
        dataset.make_directories(&mut places.made)?;
        match state {
            State::Loaded | State::Adopted => {}
            // It is restored, not loaded.
            State::Empty if dataset.has_start()? => {}
            State::Empty => {
                refuse_overwrite(plan, system, &Unwatched)?;
                room.claim(system, space(system), (dataset.present(), 0))?;
            }
            State::Begun(_) => room.claim(system, space(system), (0, dataset.present()))?,
        }
        dataset.refuse_several(ranks.sets_of(system))?;
        if dataset.restore().keeps_files() && !dataset.has_start()? {
            room.claim(system, kept_bytes(&system.data), (0, 0))?;
        }
        // Other ranks on this machine may use the same file system.
        for beside in ranks.beside(system) {
            let present = Dataset::new(plan, &beside).present();
            if parent(beside.location.path().unwrap_or(Path::new(""))).is_dir() {
                room.claim(&beside, space(&beside), (0, present))?;
            }
        }
    }
    Ok(())
}

/// Checks the place of a system and the data there by looking and reading, which changes nothing.
/// Returns how much of the data set exists.
///
/// # Errors
/// If the system cannot be measured.
pub(crate) fn examine(
    plan: &Plan,
    system: &SystemPlan,
    dataset: &Dataset<'_>,
    stop: &Stop,
) -> Result<State, Error> {
    refuse_bad_place(system)?;
    dataset.check_directories()?;
    dataset.adopt(plan, stop)?;
    dataset.state()
}

/// Checks the place and space of a system that only this process has. Returns the directories that
/// it created.
pub(crate) fn refuse_missing_room(
    plan: &Plan,
    system: &SystemPlan,
    ranks: &Ranks,
    stop: &Stop,
) -> Result<Vec<PathBuf>, Error> {
    let mut places = ClaimedPlaces::default();
    let room = &mut Room::default();
    look(plan, system, ranks, stop, (room, &mut places))?;
    Ok(std::mem::take(&mut places.made))
}

/// Opens the database of a system. A server that is started by the sweep may not be there yet, and
/// another one in its place.
fn try_open(plan: &Plan, system: &SystemPlan) -> Result<(), Error> {
    match system.service {
        Some(_) => Ok(()),
        None => Dataset::new(plan, system).try_open(),
    }
}

/// The most bytes that the loaded data set of a system needs.
fn space(system: &SystemPlan) -> u64 {
    (system.driver.space)(&system.data, &system.settings)
}

/// The remaining space of each file system after the systems checked so far.
#[derive(Default)]
struct Room {
    left: BTreeMap<String, RemainingSpace>,
}

/// The remaining space of a file system. Removed data may be freed at once or later, so the file
/// system is asked only once.
struct RemainingSpace {
    /// Bytes, when the systems so far are loaded.
    free: u64,
    /// Bytes that those systems still need, and their names.
    claimed: u64,
    others: Vec<String>,
}

impl Room {
    /// Reserves space for a system. Some of its bytes are already `present`; others are `removed`
    /// before it is loaded.
    fn claim(
        &mut self,
        system: &SystemPlan,
        needed: u64,
        (removed, present): (u64, u64),
    ) -> Result<(), Error> {
        let Some(place) = system.location.path() else {
            return Ok(());
        };
        let Space {
            available,
            file_system,
            ..
        } = tailmark_machine::space(place).map_err(|source| Error::Io {
            action: "examine",
            path: place.to_owned(),
            source,
        })?;
        let left = self.left.entry(file_system).or_insert(RemainingSpace {
            free: available,
            claimed: 0,
            others: Vec::new(),
        });
        let free = left.free.saturating_add(removed);
        let missing = needed.saturating_sub(present);
        if missing > free {
            let together = if left.others.is_empty() {
                String::new()
            } else {
                format!(
                    " besides the {} for {} there",
                    ByteSize(left.claimed),
                    left.others.join(", ")
                )
            };
            return Err(Error::NoRoom {
                system: system.name.clone(),
                place: place.to_owned(),
                needed: ByteSize(needed).to_string(),
                available: ByteSize(free.saturating_add(present)).to_string(),
                together,
            });
        }
        left.free = free - missing;
        left.claimed = left.claimed.saturating_add(missing);
        left.others.push(format!("`{}`", system.name));
        Ok(())
    }
}
