//! Devices that a driver writes directly. A load overwrites everything on them.
//!
//! Other programs' data is lost as surely as by erasing. So the same guards and the same consent
//! are needed. They are checked before anything is prepared, again before anything is measured, and
//! a last time when the stamp is written, with the device held.

use super::{
    log::Far,
    request::{consent_of, job},
    started,
};
use crate::{Error, PreparationError, dataset::marker::is_device, error::in_one_line};
use std::path::Path;
use tailmark_driver::Place;
use tailmark_engine::{Observer, Stop};
use tailmark_plan::{Adopt, Plan, SystemPlan};
use tailmark_prepare::{Changes, RawDevice, Target, Watch};

/// The beginning of a line about lost data.
const OVERWRITES: &str = "OVERWRITES";

/// The device that the driver of a system writes itself, as the plan names it.
fn raw_device(system: &SystemPlan) -> Option<&Path> {
    let is_raw = system.driver.place == Place::DirectoryOrDevice && system.ssh.is_empty();
    let place = system
        .location
        .path()
        .filter(|_| is_raw && !system.placeholder);
    place.filter(|place| is_device(place))
}

/// The devices that drivers write themselves, each with its system.
pub(super) fn raw_targets(plan: &Plan) -> Vec<(&SystemPlan, Target)> {
    let target = |system| {
        let device = raw_device(system)?;
        Some((system, Target::find(&device.display().to_string()).ok()?))
    };
    plan.systems.iter().filter_map(target).collect()
}

/// The device to which the driver of a system writes directly, after a check; `None` if there is
/// none.
pub(crate) fn device_of(plan: &Plan, system: &SystemPlan) -> Result<Option<RawDevice>, Error> {
    let Some(device) = raw_device(system) else {
        return Ok(None);
    };
    let consent = consent_of(plan, system, Path::new("."));
    Ok(Some(RawDevice::find(device, consent)?))
}

/// The same where another program's data may be on it.
fn foreign(plan: &Plan, system: &SystemPlan) -> Result<Option<RawDevice>, Error> {
    Ok(device_of(plan, system)?.filter(|device| !device.is_ours()))
}

/// Refuses a system whose load would overwrite a device without consent.
///
/// # Errors
/// Names the content of the device and all objections.
pub(crate) fn refuse_overwrite(
    plan: &Plan,
    system: &SystemPlan,
    watch: &dyn Watch,
) -> Result<(), Error> {
    match device_of(plan, system)? {
        Some(device) => refuse(system, &device, watch),
        None => Ok(()),
    }
}

fn refuse(system: &SystemPlan, device: &RawDevice, watch: &dyn Watch) -> Result<(), Error> {
    device
        .refuse(watch)
        .map_err(|error| refused(system, device, error))
}

/// The refusal to overwrite a device, with its content.
pub(crate) fn refused(
    system: &SystemPlan,
    device: &RawDevice,
    error: tailmark_prepare::Error,
) -> Error {
    match error {
        refused @ tailmark_prepare::Error::Refused { .. } => {
            Error::Preparation(PreparationError::Overwrites {
                system: system.name.clone(),
                what: device.describe(),
                source: Box::new(refused),
            })
        }
        other => other.into(),
    }
}

/// Checks the devices of all systems before the first one is touched, and reports what will be
/// lost.
///
/// # Errors
/// As [`refuse_overwrite`]. An optional system is checked when it is its turn.
pub(crate) fn refuse_overwrites(
    plan: &Plan,
    is_pending: impl Fn(&SystemPlan) -> bool,
    out: &Path,
    (observer, stop): (&dyn Observer, &Stop),
) -> Result<(), Error> {
    let started = started(out)?;
    let pending = plan.systems.iter().filter(|system| is_pending(system));
    for system in pending.filter(|system| !system.optional && system.emulate.is_none()) {
        if is_prepared(plan, system, out, &started) || plan.dataset.adopt != Adopt::No {
            continue;
        }
        let Some(device) = device_of(plan, system)? else {
            continue;
        };
        refuse(system, &device, &Far::new(observer, stop))?;
        if !device.is_ours() {
            let what = device.describe();
            super::tell(
                observer,
                &format!("system `{}`: {OVERWRITES} {what}", system.name),
            );
        }
    }
    Ok(())
}

/// Whether the steps of a system that destroy are carried out before it is loaded.
fn is_prepared(plan: &Plan, system: &SystemPlan, out: &Path, started: &[String]) -> bool {
    let is_new = !started.contains(&system.name) && system.ssh.is_empty();
    let is_asked = !system.prepare.devices.is_empty() && is_new;
    is_asked
        && job(plan, system, out).is_ok_and(|job| {
            let requested = job.requested(|changes| changes == Changes::Data);
            job.is_agreed() && requested.is_ok_and(|requested| !requested.is_empty())
        })
}

/// The first lines of a dry run: one for each device with content that is overwritten. With
/// `alone`, only for the devices of that system.
pub(super) fn overwrites_lines(plan: &Plan, alone: Option<&str>, out: &Path) -> Vec<String> {
    let started = match alone {
        Some(_) => Vec::new(),
        None => started(out).unwrap_or_default(),
    };
    let mut lines = Vec::new();
    let wanted = plan
        .systems
        .iter()
        .filter(|s| alone.is_none_or(|name| s.name == name));
    for system in wanted.filter(|s| !s.placeholder && s.emulate.is_none()) {
        for device in overwritten(plan, system, alone.is_some(), (out, &started)) {
            let line = format!("{OVERWRITES} {}", device.describe());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// The devices of a system that are written and hold foreign data.
fn overwritten(
    plan: &Plan,
    system: &SystemPlan,
    is_alone: bool,
    (out, started): (&Path, &[String]),
) -> Vec<RawDevice> {
    let consent = || consent_of(plan, system, out);
    let is_new = system.ssh.is_empty() && !system.prepare.devices.is_empty();
    let destroys = is_new && (is_alone || is_prepared(plan, system, out, started));
    let prepared = destroys.then(|| job(plan, system, out).ok()).flatten();
    let prepared = prepared.filter(|job| {
        let requested = job.planned(|changes| changes == Changes::Data);
        !requested.is_empty()
    });
    let device = |target: Target| {
        let device = RawDevice::of_target(target, consent()).ok();
        device.filter(|device| !device.is_ours())
    };
    match prepared {
        Some(job) => job.targets.into_iter().filter_map(device).collect(),
        None if is_alone => Vec::new(),
        None => foreign(plan, system).ok().flatten().into_iter().collect(),
    }
}

/// What a dry run prints about devices.
#[derive(Debug, Default)]
pub struct PrepareLines {
    /// Lines for a person.
    pub lines: Vec<String>,
    /// Whether a run with the same flags would refuse to write to a device.
    pub is_refused: bool,
}

impl From<Vec<String>> for PrepareLines {
    fn from(lines: Vec<String>) -> Self {
        Self {
            lines,
            is_refused: false,
        }
    }
}

/// The objections to the loads that overwrite devices, for a dry run.
pub(super) fn refusal_lines(plan: &Plan, out: &Path, watch: &dyn Watch) -> PrepareLines {
    let started = started(out).unwrap_or_default();
    let (mut lines, mut is_refused) = (Vec::new(), false);
    for system in plan.systems.iter().filter(|s| s.emulate.is_none()) {
        if is_prepared(plan, system, out, &started) {
            continue;
        }
        let Ok(Some(device)) = device_of(plan, system) else {
            continue;
        };
        let refusals = device.refusals(watch);
        if device.is_ours() && refusals.as_ref().is_ok_and(Vec::is_empty) {
            continue;
        }
        lines.push(format!(
            "overwrite `{}`: {}",
            system.name,
            device.describe()
        ));
        match refusals {
            Ok(none) if none.is_empty() => lines.push("  no objection".to_owned()),
            Ok(all) => {
                is_refused = true;
                let against = all.iter();
                lines.extend(against.map(|e| format!("  objection ({}): {}", e.guard, e.text)));
            }
            Err(error) => {
                is_refused = true;
                lines.push(format!("  objection: {}", in_one_line(&error)));
            }
        }
    }
    PrepareLines { lines, is_refused }
}
