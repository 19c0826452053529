//! The steps of preparing, as rows: what each does, what undoes it, its dry run, and itself.
//!
//! A row that destroys is carried out for a device whose serial number is confirmed alone, with a
//! claim that the interlock of the host has given.

use std::path::Path;
use tailmark_host::prepare::{
    Claim, Consent, Erase, Error, FileSystem, Journal, Kernel, Reach, Setting, Target, Watch,
    is_mounted_on, make_namespaces, mount, mount_command, plan_namespaces, plan_precondition,
    precondition, unmount, unmount_command,
};
use tailmark_plan::{MachineSettings, Prepare};

/// A step of preparing: a row of [`STEPS`].
pub struct PrepareStep {
    /// Its name, which is its key in `[prepare]`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it is done to.
    pub of: Of,
    /// What undoes it, and when; empty: nothing does.
    pub inverse: &'static str,
    /// The exact commands that it would take, in order; none where the plan does not ask for it.
    pub plan: fn(&Job<'_>) -> Result<Vec<String>, Error>,
    /// Carries it out.
    pub carry_out: fn(&mut Job<'_>, &mut Journal<'_>, &dyn Watch) -> Result<(), Error>,
}

/// What a step is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// What is on a device, which is lost.
    Data,
    /// A device, which keeps what is on it.
    Device,
    /// The machine.
    Machine,
}

/// What is to be prepared: the devices of one system, or the machine.
pub struct Job<'a> {
    /// What the plan says of the system.
    pub prepare: &'a Prepare,
    /// What the plan says of the machine.
    pub settings: &'a MachineSettings,
    /// The devices of the system, found.
    pub targets: Vec<Target>,
    /// What is agreed to.
    pub consent: Consent,
    /// Where the kernel keeps its settings.
    pub kernel: Kernel,
}

/// Every step, in the order in which they are done.
pub const STEPS: &[PrepareStep] = &[
    PrepareStep {
        name: "unmount",
        about: "unmounts the file system of an earlier preparation from the plan's own directory",
        of: Of::Data,
        inverse: "",
        plan: |job| {
            let mounted = job
                .own_mount()
                .map(|(_, point)| unmount_command(point).join(" "));
            Ok(mounted.into_iter().collect())
        },
        carry_out: |job, _, _| match job.own_mount() {
            Some((_, point)) => unmount(point),
            None => Ok(()),
        },
    },
    PrepareStep {
        name: "erase",
        about: "erases each device: discard, NVMe format or NVMe sanitize",
        of: Of::Data,
        inverse: "",
        plan: |job| {
            let Some(erase) = job.erase() else {
                return Ok(Vec::new());
            };
            let each = job.targets.iter().map(|target| erase.plan(target));
            each.map(|planned| planned.map(|(_, said)| said)).collect()
        },
        carry_out: |job, _, watch| {
            let Some(erase) = job.erase() else {
                return Ok(());
            };
            for target in &job.targets {
                let (reach, _) = erase.plan(target)?;
                let claim = Claim::take(target, reach, &job.consent)?;
                erase.carry_out(&claim, watch)?;
            }
            job.found_again()
        },
    },
    PrepareStep {
        name: "namespaces",
        about: "removes all namespaces of an NVMe drive and makes equal ones",
        of: Of::Data,
        inverse: "",
        plan: |job| {
            let Some(count) = job.prepare.namespaces else {
                return Ok(Vec::new());
            };
            let drives = job.drives().into_iter();
            let each = drives.map(|target| plan_namespaces(target, count));
            each.map(|planned| planned.map(|(_, said)| said)).collect()
        },
        carry_out: |job, _, watch| {
            let Some(count) = job.prepare.namespaces else {
                return Ok(());
            };
            let mut made = Vec::new();
            for target in job.drives() {
                let claim = Claim::take(target, Reach::Subsystem, &job.consent)?;
                let serial = claim.identity().serial.clone().unwrap_or_default();
                for number in make_namespaces(claim, count, watch)? {
                    made.push(format!("serial:{serial}/{number}"));
                }
            }
            job.targets = made
                .iter()
                .map(|name| Target::appears(name))
                .collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    PrepareStep {
        name: "precondition",
        about: "writes the whole of each device in order, with random data",
        of: Of::Data,
        inverse: "",
        plan: |job| {
            let Some(passes) = job.prepare.precondition else {
                return Ok(Vec::new());
            };
            let said = |target: &Target| {
                plan_precondition(&target.identity.name, target.identity.bytes, passes)
            };
            Ok(job.targets.iter().map(said).collect())
        },
        carry_out: |job, _, watch| {
            let Some(passes) = job.prepare.precondition else {
                return Ok(());
            };
            for target in &job.targets {
                let claim = Claim::take(target, Reach::Device, &job.consent)?;
                precondition(&claim, passes, watch)?;
            }
            Ok(())
        },
    },
    PrepareStep {
        name: "filesystem",
        about: "makes a file system on the device",
        of: Of::Data,
        inverse: "",
        plan: |job| {
            let Some((row, target)) = job.file_system() else {
                return Ok(Vec::new());
            };
            let words = row.command(&target.identity.name, &job.prepare.mkfs_options);
            Ok(vec![words.join(" ")])
        },
        carry_out: |job, _, _| {
            let Some((row, target)) = job.file_system() else {
                return Ok(());
            };
            let claim = Claim::take(target, Reach::Device, &job.consent)?;
            row.make(claim, &job.prepare.mkfs_options)
        },
    },
    PrepareStep {
        name: "mount",
        about: "mounts the file system of the device on the plan's directory",
        of: Of::Device,
        inverse: "umount, when the run ends or by `tailmark restore`",
        plan: |job| {
            let Some((row, target, point)) = job.mount() else {
                return Ok(Vec::new());
            };
            let options = &job.prepare.mount_options;
            Ok(vec![
                mount_command(row.name, options, &target.path(), point).join(" "),
            ])
        },
        carry_out: |job, journal, _| {
            let Some((row, target, point)) = job.mount() else {
                return Ok(());
            };
            if is_mounted_on(target, point) {
                return Ok(());
            }
            journal.mounts(point, target.identity.number)?;
            mount(target, row.name, &job.prepare.mount_options, point)
        },
    },
    PrepareStep {
        name: "sysctls",
        about: "sets values of the kernel",
        of: Of::Machine,
        inverse: "the old values, when the run ends or by `tailmark restore`",
        plan: |job| commands(job.sysctls()),
        carry_out: |job, journal, _| set_all(job.sysctls()?, journal),
    },
    PrepareStep {
        name: "governor",
        about: "sets how processors choose their frequency",
        of: Of::Machine,
        inverse: "the old ones, when the run ends or by `tailmark restore`",
        plan: |job| commands(job.governor()),
        carry_out: |job, journal, _| set_all(job.governor()?, journal),
    },
    PrepareStep {
        name: "huge_pages",
        about: "sets transparent huge pages",
        of: Of::Machine,
        inverse: "the old value, when the run ends or by `tailmark restore`",
        plan: |job| commands(job.huge_pages()),
        carry_out: |job, journal, _| set_all(job.huge_pages()?, journal),
    },
    PrepareStep {
        name: "memory_limit",
        about: "limits the memory of the control group of a server",
        of: Of::Machine,
        inverse: "the old limit, when the run ends or by `tailmark restore`",
        plan: |job| commands(job.memory()),
        carry_out: |job, journal, _| set_all(job.memory()?, journal),
    },
];

impl Job<'_> {
    /// The steps of one kind that the plan asks for, each with its commands.
    ///
    /// # Errors
    /// Where one cannot be done on this machine.
    pub fn asked(
        &self,
        of: impl Fn(Of) -> bool,
    ) -> Result<Vec<(&'static PrepareStep, Vec<String>)>, Error> {
        let mut asked = Vec::new();
        for step in STEPS.iter().filter(|step| of(step.of)) {
            let commands = (step.plan)(self)?;
            if !commands.is_empty() {
                asked.push((step, commands));
            }
        }
        Ok(asked)
    }

    /// How far the steps reach that destroy.
    ///
    /// # Errors
    /// Where a device cannot do what is asked for.
    pub fn reach(&self, target: &Target) -> Result<Reach, Error> {
        let erase = match self.erase() {
            Some(erase) => erase.plan(target)?.0,
            None => Reach::Device,
        };
        Ok(match self.prepare.namespaces {
            Some(_) => Reach::Subsystem,
            None => erase,
        })
    }

    /// Whether every device may be erased.
    #[must_use]
    pub fn is_agreed(&self) -> bool {
        let serials = &self.consent.serials;
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
    fn drives(&self) -> Vec<&Target> {
        let mut drives: Vec<&Target> = Vec::new();
        for target in &self.targets {
            let is_known = |known: &&Target| known.identity.serial == target.identity.serial;
            if !drives.iter().any(is_known) {
                drives.push(target);
            }
        }
        drives
    }

    fn erase(&self) -> Option<Erase> {
        self.prepare.erase.as_deref().and_then(Erase::of_name)
    }

    fn file_system(&self) -> Option<(&'static FileSystem, &Target)> {
        let row = FileSystem::of_name(self.prepare.filesystem.as_deref()?)?;
        Some((row, self.targets.first()?))
    }

    fn mount(&self) -> Option<(&'static FileSystem, &Target, &Path)> {
        let (row, target) = self.file_system()?;
        Some((row, target, self.prepare.mount.as_deref()?))
    }

    /// Where the device is mounted in the place that the plan gives it: it was prepared before.
    pub(super) fn own_mount(&self) -> Option<(&Target, &Path)> {
        let (_, target, point) = self.mount()?;
        is_mounted_on(target, point).then_some((target, point))
    }

    /// Finds the devices again: a format makes the kernel look at them again.
    fn found_again(&mut self) -> Result<(), Error> {
        let again = |target: &Target| Target::appears(&target.given);
        self.targets = self.targets.iter().map(again).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn sysctls(&self) -> Result<Vec<Setting>, Error> {
        let each = self.settings.sysctls.iter();
        each.map(|(name, value)| self.kernel.sysctl(name, value))
            .collect()
    }

    fn governor(&self) -> Result<Vec<Setting>, Error> {
        let governor = self.settings.governor.as_deref();
        governor.map_or(Ok(Vec::new()), |governor| self.kernel.governor(governor))
    }

    fn huge_pages(&self) -> Result<Vec<Setting>, Error> {
        let value = self.settings.huge_pages.as_deref().into_iter();
        value
            .map(|value| self.kernel.transparent_huge_pages(value))
            .collect()
    }

    fn memory(&self) -> Result<Vec<Setting>, Error> {
        let limit = self.settings.memory.iter();
        limit
            .map(|(bytes, group)| self.kernel.memory_limit(group, *bytes))
            .collect()
    }
}

fn commands(settings: Result<Vec<Setting>, Error>) -> Result<Vec<String>, Error> {
    Ok(settings?.iter().map(Setting::command).collect())
}

fn set_all(settings: Vec<Setting>, journal: &mut Journal<'_>) -> Result<(), Error> {
    settings.iter().try_for_each(|setting| journal.set(setting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn steps_have_names_of_their_own_and_are_keys_of_a_plan() {
        let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        let keys: Vec<_> = tailmark_plan::KEYS.iter().map(|key| key.path()).collect();
        for step in STEPS.iter().filter(|step| step.name != "unmount") {
            assert!(
                keys.contains(&format!("prepare.{}", step.name)),
                "{}",
                step.name
            );
            assert!(!step.about.contains('\n'), "{}", step.name);
            let document = include_str!("../../../../docs/DEVICES.md");
            let (named, quoted) = (format!("| `{}", step.name), format!("`{}`", step.name));
            let is_told = document.contains(&named) || document.contains(&quoted);
            assert!(is_told, "docs/DEVICES.md lacks {quoted}");
        }
    }

    #[test]
    fn what_is_of_the_machine_and_mounts_is_undone_and_what_is_lost_is_not() {
        for step in STEPS {
            assert_eq!(
                step.inverse.is_empty(),
                step.of == Of::Data,
                "{}",
                step.name
            );
        }
    }
}
