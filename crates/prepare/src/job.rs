//! A preparation job for the devices of a system and the machine. `steps.rs` carries it out.
//!
//! A request owns everything that it says, and names devices as the plan does. So it can be sent to
//! another machine, which finds them there.

use super::{
    Claim, Consent, Erase, Error, FileSystem, Kernel, Mix, Objection, Over, Reach, Setting, Target,
    Watch, is_mounted_on, real_path,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tailmark_model::number;
use tailmark_stats::steady::Rounds;

/// A request for the devices of a system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// The devices: `/dev/disk/by-id/...`, `serial:...`.
    pub names: Vec<String>,
    /// The way to erase them.
    pub erase: Option<Erase>,
    /// The number of NVMe namespaces to create.
    pub namespaces: Option<u32>,
    /// How often the whole device is written.
    pub precondition: Option<u32>,
    /// What brings them to their steady state after that.
    pub steady: Option<Mix>,
    /// The file system that is made: a name of [`super::FILE_SYSTEMS`].
    pub filesystem: Option<String>,
    /// Words for the program that makes it.
    pub mkfs_options: Vec<String>,
    /// The mount point.
    pub mount: Option<PathBuf>,
    /// The mount options.
    pub mount_options: Vec<String>,
}

/// A request for the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRequest {
    /// Names and values: `vm.swappiness`, `1`.
    pub sysctls: Vec<(String, String)>,
    /// The policy by which processors choose their frequency.
    pub governor: Option<String>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Bytes of memory that a control group may use, and which.
    pub memory: Option<(u64, String)>,
}

/// A request to prepare the devices of one system, or the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRequest {
    /// The request for devices.
    pub devices: DeviceRequest,
    /// The request for the machine.
    pub machine: MachineRequest,
    /// The consent.
    pub consent: Consent,
}

/// A step that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedStep {
    /// The name of its row in [`super::STEPS`].
    pub step: String,
    /// Its commands.
    pub command: String,
    /// The results of steps.
    pub found: Vec<StepResult>,
}

/// A result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// In a line, with all values.
    pub text: String,
    /// A warning that must appear next to the results.
    pub warning: Option<String>,
}

/// A preparation job, with its devices found.
#[derive(Debug, Clone)]
pub struct Job {
    /// The request.
    pub request: JobRequest,
    /// The devices.
    pub targets: Vec<Target>,
    /// The place of the kernel's settings.
    pub kernel: Kernel,
    /// The results of the current step.
    pub(super) found: Vec<StepResult>,
    /// Whether current mounts will be gone when the next step is planned.
    pub(super) is_unmounted: bool,
}

impl Job {
    /// Finds the devices of a request.
    ///
    /// # Errors
    /// If one is missing, or its name leads to several.
    pub fn find(request: JobRequest) -> Result<Self, Error> {
        let mut targets = Vec::new();
        for given in &request.devices.names {
            match request.devices.namespaces {
                Some(_) => targets.extend(Target::find_all(given)?),
                None => targets.push(Target::find(given)?),
            }
        }
        Ok(Self {
            request,
            targets,
            kernel: Kernel::default(),
            found: Vec::new(),
            is_unmounted: false,
        })
    }

    /// The reach of the destructive steps.
    ///
    /// # Errors
    /// If a device does not support a request.
    pub fn reach(&self, target: &Target) -> Result<Reach, Error> {
        let erase = match self.erase() {
            Some(erase) => erase.plan(target)?.0,
            None => Reach::Device,
        };
        Ok(match self.request.devices.namespaces {
            Some(_) => Reach::Subsystem,
            None => erase,
        })
    }

    /// Whether every device may be erased.
    #[must_use]
    pub fn is_agreed(&self) -> bool {
        let serials = &self.request.consent.serials;
        let is_agreed = |target: &Target| {
            let serial = target.identity.serial.as_ref();
            serial.is_some_and(|serial| serials.contains(serial))
        };
        !self.targets.is_empty() && self.targets.iter().all(is_agreed)
    }

    /// The flags that agree that its devices are erased.
    #[must_use]
    pub fn flags(&self) -> String {
        let serials = self.targets.iter();
        let serials = serials.filter_map(|target| target.identity.serial.as_deref());
        let flags: Vec<_> = serials.map(|serial| format!("--erase {serial}")).collect();
        flags.join(" ")
    }

    /// One device of each drive.
    pub(super) fn drives(&self) -> Vec<&Target> {
        let mut drives: Vec<&Target> = Vec::new();
        for target in &self.targets {
            let is_known = |known: &&Target| known.identity.serial == target.identity.serial;
            if !drives.iter().any(is_known) {
                drives.push(target);
            }
        }
        drives
    }

    pub(super) fn erase(&self) -> Option<Erase> {
        self.request.devices.erase
    }

    pub(super) fn file_system(&self) -> Option<(&'static FileSystem, &Target)> {
        let row = FileSystem::of_name(self.request.devices.filesystem.as_deref()?)?;
        Some((row, self.targets.first()?))
    }

    pub(super) fn mount(&self) -> Option<(&'static FileSystem, &Target, &Path)> {
        let (row, target) = self.file_system()?;
        Some((row, target, self.request.devices.mount.as_deref()?))
    }

    /// The device and its mount point in the plan, if it is mounted there from an earlier
    /// preparation.
    pub(super) fn own_mount(&self) -> Option<(&Target, &Path)> {
        let (_, target, point) = self.mount()?;
        let is_mounted = !self.is_unmounted && is_mounted_on(target, point);
        is_mounted.then_some((target, point))
    }

    pub(super) fn mix_over_device(&self) -> Option<&Mix> {
        let mix = self.request.devices.steady.as_ref();
        mix.filter(|mix| mix.over == Over::Device)
    }

    /// The mix, the percentage of the space, and the mount point.
    pub(super) fn mix_over_file_system(&self) -> Option<(&Mix, u32, &Path)> {
        let mix = self.request.devices.steady.as_ref()?;
        match mix.over {
            Over::FileSystem(percent) => Some((mix, percent, self.mount()?.2)),
            Over::Device => None,
        }
    }

    /// Keeps what rounds have shown.
    pub(super) fn found_rounds(&mut self, place: &Path, rounds: &Rounds) {
        let place = place.display();
        let values: Vec<_> = rounds
            .values()
            .iter()
            .map(|value| number::count(value.round() as u64))
            .collect();
        let verdict = rounds.verdict();
        self.found.push(StepResult {
            text: format!("`{place}`: requests/s {}; {verdict}", values.join(" ")),
            warning: (!rounds.is_steady()).then(|| format!("`{place}`: {verdict}")),
        });
    }

    /// Finds the devices again: a format makes the kernel look at them again.
    pub(super) fn found_again(&mut self, watch: &dyn Watch) -> Result<(), Error> {
        let again = |target: &Target| Target::appears(&target.given, watch);
        self.targets = self.targets.iter().map(again).collect::<Result<_, _>>()?;
        Ok(())
    }

    pub(super) fn sysctls(&self) -> Result<Vec<Setting>, Error> {
        let each = self.request.machine.sysctls.iter();
        each.map(|(name, value)| self.kernel.sysctl(name, value))
            .collect()
    }

    pub(super) fn governor(&self) -> Result<Vec<Setting>, Error> {
        let governor = self.request.machine.governor.as_deref();
        governor.map_or(Ok(Vec::new()), |governor| self.kernel.governor(governor))
    }

    pub(super) fn huge_pages(&self) -> Result<Vec<Setting>, Error> {
        let value = self.request.machine.huge_pages.as_deref().into_iter();
        value
            .map(|value| self.kernel.transparent_huge_pages(value))
            .collect()
    }

    pub(super) fn memory(&self) -> Result<Vec<Setting>, Error> {
        let limit = self.request.machine.memory.iter();
        limit
            .map(|(bytes, group)| self.kernel.memory_limit(group, *bytes))
            .collect()
    }

    /// Objections to the destructive steps, apart from an earlier preparation's mount at the plan's
    /// own mount point.
    ///
    /// # Errors
    /// If a device cannot be examined.
    pub fn refusals(&self, watch: &dyn Watch) -> Result<Vec<Objection>, Error> {
        let own = self.own_mount();
        let consent = Consent {
            own_mount: own.map(|(_, point)| real_path(point)),
            ..self.request.consent.clone()
        };
        let mut all = Vec::new();
        for target in &self.targets {
            let reach = self.reach(target)?;
            all.extend(Claim::refusals_watched(target, reach, &consent, watch)?);
        }
        Ok(all)
    }

    /// Refuses if anything speaks against the destructive steps.
    ///
    /// # Errors
    /// Names all objections.
    pub fn refuse(&self, watch: &dyn Watch) -> Result<(), Error> {
        let evidence = self.refusals(watch)?;
        if evidence.is_empty() {
            return Ok(());
        }
        let devices = self.targets.iter();
        let devices: Vec<_> = devices.map(|target| target.identity.describe()).collect();
        Err(Error::Refused {
            device: devices.join(", "),
            evidence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_same_behind_a_line_of_text() {
        let request = JobRequest {
            devices: DeviceRequest {
                names: vec!["serial:S-1".to_owned()],
                erase: Some(Erase::Discard),
                mount: Some("/mnt/a".into()),
                ..DeviceRequest::default()
            },
            machine: MachineRequest {
                sysctls: vec![("vm.swappiness".to_owned(), "1".to_owned())],
                memory: Some((1 << 30, "db.slice".to_owned())),
                ..MachineRequest::default()
            },
            consent: Consent {
                serials: vec!["S-1".to_owned()],
                kept: vec!["/results".into()],
                ..Consent::default()
            },
        };
        let line = serde_json::to_string(&request).unwrap();
        assert!(line.contains(r#""erase":"discard""#), "{line}");
        assert_eq!(serde_json::from_str::<JobRequest>(&line).unwrap(), request);
    }
}
