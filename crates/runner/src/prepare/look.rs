//! What of a plan's places and devices is looked at before the first device is touched.

use crate::{Error, devices::InAdvance};
use std::path::{Path, PathBuf};
use tailmark_host::{
    physical_devices,
    prepare::{Job, Of, Target, real},
};
use tailmark_plan::{Plan, SystemPlan};

/// Refuses results in a directory that a device is mounted on, where they would be hidden or on
/// what is measured, and one such directory for two systems.
///
/// # Errors
/// Names the directories and whose they are.
pub(crate) fn refuse_places(plan: &Plan, out: Option<&Path>) -> Result<(), Error> {
    let mut seen: Vec<(&SystemPlan, PathBuf)> = Vec::new();
    for system in plan.systems.iter().filter(|of| of.host.is_empty()) {
        let Some(point) = &system.prepare.mount else {
            continue;
        };
        let place = real(point);
        if out.is_some_and(|out| real(out).starts_with(&place)) {
            return Err(Error::ResultsOnMount {
                system: system.name.clone(),
                point: point.clone(),
            });
        }
        let is_one = |(_, other): &&(&SystemPlan, PathBuf)| {
            place.starts_with(other) || other.starts_with(&place)
        };
        if let Some((first, other)) = seen.iter().find(is_one) {
            return Err(Error::OneMount {
                first: first.name.clone(),
                first_point: other.clone(),
                second: system.name.clone(),
                point: place,
            });
        }
        seen.push((system, place));
    }
    Ok(())
}

/// The directories that devices are mounted on later, with the physical devices that will be below.
pub(super) fn in_advance(jobs: &[(&SystemPlan, Job)]) -> InAdvance {
    let of = |(system, job): &(&SystemPlan, Job)| {
        let target = job.targets.first()?;
        let point = system.prepare.mount.as_ref()?;
        Some((real(point), physical_devices(&target.path())))
    };
    jobs.iter().filter_map(of).collect()
}

/// Refuses serial numbers that are confirmed and of no device of the plan, or of one that nothing of
/// the plan erases, and one device for two systems.
///
/// # Errors
/// Names the serial number or the systems.
pub(super) fn refuse_unknown(plan: &Plan, jobs: &[(&SystemPlan, Job)]) -> Result<(), Error> {
    let targets = || {
        let of = jobs.iter().map(|(system, job)| (*system, &job.targets));
        of.flat_map(|(system, targets)| targets.iter().map(move |target| (system, target)))
    };
    for serial in &plan.consent.serials {
        let has = |target: &Target| target.identity.serial.as_ref() == Some(serial);
        let of = jobs.iter().filter(|(_, job)| job.targets.iter().any(has));
        let of: Vec<_> = of.collect();
        let Some((first, _)) = of.first() else {
            return Err(Error::UnknownSerial {
                serial: serial.clone(),
            });
        };
        // What cannot be done is refused by its own name later.
        let is_idle = |(_, job): &&(&SystemPlan, Job)| {
            let asked = job.asked(|of| of == Of::Data);
            asked.is_ok_and(|asked| asked.is_empty())
        };
        if of.iter().all(is_idle) {
            return Err(Error::NothingToErase {
                serial: serial.clone(),
                system: first.name.clone(),
            });
        }
    }
    let mut seen: Vec<(&SystemPlan, &Target)> = Vec::new();
    for (system, target) in targets() {
        let is_same =
            |(_, known): &&(&SystemPlan, &Target)| known.identity.number == target.identity.number;
        if let Some((first, _)) = seen.iter().find(is_same) {
            return Err(Error::PreparedTwice {
                first: first.name.clone(),
                second: system.name.clone(),
                device: target.identity.describe(),
            });
        }
        seen.push((system, target));
    }
    Ok(())
}
