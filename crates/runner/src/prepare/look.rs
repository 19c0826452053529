//! Checks of a plan's places and devices before the first device is touched.

use super::overwrite::raw_targets;
use crate::{Error, PreparationError, devices::InAdvance};
use std::path::{Path, PathBuf};
use tailmark_machine::physical_devices;
use tailmark_model::number;
use tailmark_plan::{Plan, SystemPlan};
use tailmark_prepare::{Changes, Job, Target, real_path};

/// Refuses a results directory below a mount point, where results would be hidden or on the
/// measured device, and one mount point for two systems.
///
/// # Errors
/// Names the directories and their systems.
pub(crate) fn refuse_places(plan: &Plan, out: Option<&Path>) -> Result<(), Error> {
    let mut seen: Vec<(&SystemPlan, PathBuf)> = Vec::new();
    for system in plan.systems.iter().filter(|system| system.ssh.is_empty()) {
        let Some(point) = &system.prepare.mount else {
            continue;
        };
        let place = real_path(point);
        if out.is_some_and(|out| real_path(out).starts_with(&place)) {
            return Err(PreparationError::ResultsOnMount {
                system: system.name.clone(),
                point: point.clone(),
            }
            .into());
        }
        let is_one = |(_, other): &&(&SystemPlan, PathBuf)| {
            place.starts_with(other) || other.starts_with(&place)
        };
        if let Some((first, other)) = seen.iter().find(is_one) {
            return Err(PreparationError::OneMount {
                first: first.name.clone(),
                first_point: other.clone(),
                second: system.name.clone(),
                point: place,
            }
            .into());
        }
        seen.push((system, place));
    }
    Ok(())
}

/// The directories that devices are mounted on later, with the physical devices that will be below.
pub(super) fn in_advance(jobs: &[(&SystemPlan, Job)]) -> InAdvance {
    let mount = |(system, job): &(&SystemPlan, Job)| {
        let target = job.targets.first()?;
        let point = system.prepare.mount.as_ref()?;
        Some((real_path(point), physical_devices(&target.path())))
    };
    jobs.iter().filter_map(mount).collect()
}

/// Facts about the devices of a plan on the hosts of servers.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Each with what `ssh` takes to reach its host.
    pub devices: Vec<DeviceThere>,
    /// Whether there are hosts that were not looked at, because all on them is measured.
    pub is_part: bool,
}

/// A device of a system on the host of its server.
#[derive(Debug)]
pub(super) struct DeviceThere {
    pub system: String,
    pub login: String,
    /// Major and minor number there.
    pub number: (u32, u32),
    pub serial: Option<String>,
    /// Whether nothing of the plan erases it.
    pub is_idle: bool,
}

impl Elsewhere {
    /// Refuses a confirmed serial number that belongs to devices which nothing erases, or to
    /// devices on several machines, including possibly this one. Returns whether a device there has
    /// it.
    fn has(&self, serial: &str, is_here: bool) -> Result<bool, Error> {
        let same = || {
            let devices = self.devices.iter();
            devices.filter(|device| device.serial.as_deref() == Some(serial))
        };
        let mut hosts: Vec<&str> = same().map(|device| device.login.as_str()).collect();
        hosts.extend(is_here.then_some("this machine"));
        hosts.dedup();
        match same().next() {
            Some(_) if hosts.len() > 1 => Err(PreparationError::SerialOnSeveralHosts {
                serial: serial.to_owned(),
                hosts: number::list(&hosts),
            }
            .into()),
            Some(first) if same().all(|device| device.is_idle) => {
                Err(PreparationError::NothingToErase {
                    serial: serial.to_owned(),
                    system: first.system.clone(),
                }
                .into())
            }
            first => Ok(first.is_some()),
        }
    }

    /// Refuses one device for two systems.
    pub fn refuse_twice(&self) -> Result<(), Error> {
        for (index, one) in self.devices.iter().enumerate() {
            let is_same = |other: &&DeviceThere| {
                other.login == one.login && other.number == one.number && other.system != one.system
            };
            if let Some(first) = self.devices[..index].iter().find(is_same) {
                return Err(PreparationError::PreparedTwice {
                    first: first.system.clone(),
                    second: one.system.clone(),
                    device: match &one.serial {
                        Some(serial) => format!("serial number {serial} on {}", one.login),
                        None => format!("{}:{} on {}", one.number.0, one.number.1, one.login),
                    },
                }
                .into());
            }
        }
        Ok(())
    }
}

/// Refuses serial numbers that are confirmed and of no device of the plan, or of one that nothing of
/// the plan erases, and one device for two systems.
///
/// # Errors
/// Names the serial number or the systems.
pub(super) fn refuse_unknown(
    plan: &Plan,
    jobs: &[(&SystemPlan, Job)],
    there: &Elsewhere,
) -> Result<(), Error> {
    let targets = || {
        let pairs = jobs.iter().map(|(system, job)| (*system, &job.targets));
        pairs.flat_map(|(system, targets)| targets.iter().map(move |target| (system, target)))
    };
    let raw = raw_targets(plan);
    for serial in &plan.consent.serials {
        let has = |target: &Target| target.identity.serial.as_ref() == Some(serial);
        let found = jobs.iter().filter(|(_, job)| job.targets.iter().any(has));
        let found: Vec<_> = found.collect();
        let is_there = there.has(serial, !found.is_empty())?;
        // The load overwrites it in any case.
        if raw.iter().any(|(_, target)| has(target)) {
            continue;
        }
        let Some((first, _)) = found.first() else {
            if is_there || there.is_part {
                continue;
            }
            return Err(PreparationError::UnknownSerial {
                serial: serial.clone(),
            }
            .into());
        };
        // An impossible step is refused later, with its own error.
        let is_idle = |(_, job): &&(&SystemPlan, Job)| {
            let requested = job.requested(|changes| changes == Changes::Data);
            requested.is_ok_and(|requested| requested.is_empty())
        };
        if found.iter().all(is_idle) {
            return Err(PreparationError::NothingToErase {
                serial: serial.clone(),
                system: first.name.clone(),
            }
            .into());
        }
    }
    let mut seen: Vec<(&SystemPlan, &Target)> = Vec::new();
    for (system, target) in targets() {
        let is_same =
            |(_, known): &&(&SystemPlan, &Target)| known.identity.number == target.identity.number;
        if let Some((first, _)) = seen.iter().find(is_same) {
            return Err(PreparationError::PreparedTwice {
                first: first.name.clone(),
                second: system.name.clone(),
                device: target.identity.describe(),
            }
            .into());
        }
        seen.push((system, target));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    fn device(system: &str, login: &str, serial: &str, is_idle: bool) -> DeviceThere {
        DeviceThere {
            system: system.to_owned(),
            login: login.to_owned(),
            number: (259, u32::from(serial == "S2")),
            serial: Some(serial.to_owned()),
            is_idle,
        }
    }

    fn elsewhere(devices: Vec<DeviceThere>) -> Elsewhere {
        Elsewhere {
            devices,
            is_part: false,
        }
    }

    #[test]
    fn a_serial_number_may_be_of_a_device_on_the_host_of_a_server() {
        let text = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n";
        let plan = RawPlan::parse("test", text).and_then(|raw| raw.check());
        let mut plan = plan.unwrap();
        plan.consent.serials = vec!["S1".to_owned()];
        let refused = |there: &Elsewhere| refuse_unknown(&plan, &[], there).err();
        assert!(matches!(
            refused(&Elsewhere::default()),
            Some(Error::Preparation(PreparationError::UnknownSerial { .. }))
        ));
        // Everything on that host is measured already, and was not examined.
        let part = Elsewhere {
            is_part: true,
            ..Elsewhere::default()
        };
        assert!(refused(&part).is_none());
        assert!(refused(&elsewhere(vec![device("b", "db1", "S1", false)])).is_none());
        let idle = elsewhere(vec![device("b", "db1", "S1", true)]);
        assert!(matches!(
            refused(&idle),
            Some(Error::Preparation(PreparationError::NothingToErase { .. }))
        ));
        // One device that two machines share, or two devices with one number.
        let shared = vec![
            device("b", "db1", "S1", false),
            device("b", "db2", "S1", false),
        ];
        let refusal = refused(&elsewhere(shared)).unwrap().to_string();
        assert!(
            refusal.contains("--erase S1") && refusal.contains("db1 and db2"),
            "{refusal}"
        );
        let other = elsewhere(vec![device("b", "db1", "S2", false)]);
        assert!(matches!(
            refused(&other),
            Some(Error::Preparation(PreparationError::UnknownSerial { .. }))
        ));
    }

    #[test]
    fn one_device_on_one_host_is_not_of_two_systems() {
        let refused = |all: Vec<DeviceThere>| elsewhere(all).refuse_twice().err();
        let one = || device("a", "db1", "S1", false);
        let twice = refused(vec![one(), device("b", "db1", "S1", false)]);
        assert!(matches!(
            twice,
            Some(Error::Preparation(PreparationError::PreparedTwice { .. }))
        ));
        // Disks of virtual machines can have the same number.
        assert!(refused(vec![one(), device("b", "db2", "S1", false)]).is_none());
        assert!(refused(vec![one(), device("a", "db1", "S2", false)]).is_none());
        // Namespaces share the serial number of their drive; other devices may have none.
        let with = |system: &str, number, serial: Option<&str>| DeviceThere {
            number,
            serial: serial.map(str::to_owned),
            ..device(system, "db1", "", false)
        };
        let namespace = |system, minor| with(system, (259, minor), Some("S1"));
        assert!(refused(vec![namespace("a", 1), namespace("b", 2)]).is_none());
        let same = refused(vec![with("a", (8, 0), None), with("b", (8, 0), None)]);
        assert!(same.unwrap().to_string().contains("8:0 on db1"));
    }
}
