//! The steps of preparation as rows: what each does, what undoes it, its dry run, and its action;
//! and how the steps of a job are carried out.
//!
//! A destructive row is carried out only for a device whose serial number is confirmed, with a
//! claim from the guards.

use super::{
    Claim, CompletedStep, Error, Job, Journal, Log, Reach, Setting, Target, Watch,
    command::line,
    file_system::{self, signature_on},
    in_use, make_namespaces, mount, mount_command, plan_namespaces, plan_precondition, plan_steady,
    precondition, steady_device, steady_file, unmount, unmount_command,
};
use serde::{Deserialize, Serialize};
use tailmark_model::in_one_line;

/// A step of preparing: a row of [`STEPS`].
pub struct PrepareStep {
    /// Its name, which is its key in `[prepare]`.
    pub name: &'static str,
    /// Its effect, in one line.
    pub about: &'static str,
    /// Its target.
    pub changes: Changes,
    /// What undoes it, and when; empty: nothing does.
    pub inverse: &'static str,
    /// The exact commands, in order; `None` if the plan does not ask for it.
    pub plan: fn(&Job) -> Result<Vec<String>, Error>,
    /// Carries it out.
    pub carry_out: fn(&mut Job, &mut Journal<'_>, &dyn Watch) -> Result<(), Error>,
}

/// The target of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changes {
    /// The content of a device, which is lost.
    Data,
    /// A device, which keeps its content.
    Device,
    /// The machine.
    Machine,
}

/// Every step, in the order in which they are done.
pub const STEPS: &[PrepareStep] = &[
    PrepareStep {
        name: "unmount",
        about: "unmounts the file system of an earlier preparation from the plan's own directory",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let mounted = job
                .own_mount()
                .map(|(_, point)| line(&unmount_command(point)));
            Ok(mounted.into_iter().collect())
        },
        carry_out: |job, _, watch| match job.own_mount() {
            Some((_, point)) => unmount(point, watch),
            None => Ok(()),
        },
    },
    PrepareStep {
        name: "erase",
        about: "erases each device: discard, NVMe format or NVMe sanitize",
        changes: Changes::Data,
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
            let mut left = Vec::new();
            for target in &job.targets {
                let (reach, _) = erase.plan(target)?;
                let claim = Claim::take_watched(target, reach, &job.request.consent, watch)?;
                erase.carry_out(&claim, watch)?;
                left.extend(claim.left()?);
            }
            // The steps after it destroy what was agreed to, and nothing that came later.
            job.request.consent.destroys.extend(left);
            job.found_again(watch)
        },
    },
    PrepareStep {
        name: "namespaces",
        about: "removes all namespaces of an NVMe drive and creates equal ones",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let Some(count) = job.request.devices.namespaces else {
                return Ok(Vec::new());
            };
            let drives = job.drives().into_iter();
            let each = drives.map(|target| plan_namespaces(target, count));
            each.map(|planned| planned.map(|(_, said)| said)).collect()
        },
        carry_out: |job, _, watch| {
            let Some(count) = job.request.devices.namespaces else {
                return Ok(());
            };
            let mut made = Vec::new();
            for target in job.drives() {
                let claim =
                    Claim::take_watched(target, Reach::Subsystem, &job.request.consent, watch)?;
                let serial = claim.identity().serial.clone().unwrap_or_default();
                for number in make_namespaces(claim, count, watch)? {
                    made.push(format!("serial:{serial}/{number}"));
                }
            }
            job.targets = made
                .iter()
                .map(|name| Target::appears(name, watch))
                .collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    PrepareStep {
        name: "precondition",
        about: "writes each whole device in order, with random data",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let Some(passes) = job.request.devices.precondition else {
                return Ok(Vec::new());
            };
            let said = |target: &Target| {
                plan_precondition(&target.identity.name, target.identity.bytes, passes)
            };
            Ok(job.targets.iter().map(said).collect())
        },
        carry_out: |job, _, watch| {
            let Some(passes) = job.request.devices.precondition else {
                return Ok(());
            };
            for target in &job.targets {
                let claim =
                    Claim::take_watched(target, Reach::Device, &job.request.consent, watch)?;
                precondition(&claim, passes, watch)?;
            }
            Ok(())
        },
    },
    PrepareStep {
        name: "steady",
        about: "sends a mix of requests to each device, in rounds, until it is steady",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let Some(mix) = job.mix_over_device() else {
                return Ok(Vec::new());
            };
            let said = |target: &Target| plan_steady(mix, &target.path());
            Ok(job.targets.iter().flat_map(said).collect())
        },
        carry_out: |job, _, watch| {
            let Some(mix) = job.mix_over_device().copied() else {
                return Ok(());
            };
            for target in job.targets.clone() {
                let claim =
                    Claim::take_watched(&target, Reach::Device, &job.request.consent, watch)?;
                let rounds = steady_device(&claim, &mix, watch)?;
                job.found_rounds(&target.path(), &rounds);
            }
            Ok(())
        },
    },
    PrepareStep {
        name: "filesystem",
        about: "makes a file system on the device",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let Some((row, target)) = job.file_system() else {
                return Ok(Vec::new());
            };
            let name = &target.identity.name;
            let words = row.command(name, &job.request.devices.mkfs_options);
            Ok(vec![
                format!("zeros over the first and the last MiB of /dev/{name}"),
                line(&words),
            ])
        },
        carry_out: |job, _, watch| {
            let Some((row, target)) = job.file_system() else {
                return Ok(());
            };
            let claim = Claim::take_watched(target, Reach::Device, &job.request.consent, watch)?;
            row.make(claim, &job.request.devices.mkfs_options, watch)
        },
    },
    PrepareStep {
        name: "mount",
        about: "mounts the file system of the device on the plan's directory",
        changes: Changes::Device,
        inverse: "umount, at the end of the run or by `tailmark restore`",
        plan: |job| {
            let mount = job.mount().filter(|_| job.own_mount().is_none());
            let Some((row, target, point)) = mount else {
                return Ok(Vec::new());
            };
            let options = &job.request.devices.mount_options;
            let mut commands = file_system::directory_command(point);
            commands.push(line(&mount_command(
                row.name,
                options,
                &target.path(),
                point,
            )));
            Ok(commands)
        },
        carry_out: |job, journal, watch| {
            let Some((row, target, point)) = job.mount() else {
                return Ok(());
            };
            in_use::refuse_shared(target, &job.request.consent, watch)?;
            journal.mounts(point, target.identity.number, signature_on(target)?)?;
            let options = &job.request.devices.mount_options;
            mount(target, row.name, options, point, watch)
        },
    },
    PrepareStep {
        name: "steady_file",
        about: "the same in a temporary file of the mounted file system",
        changes: Changes::Data,
        inverse: "",
        plan: |job| {
            let mix = job.mix_over_file_system();
            Ok(mix.map_or_else(Vec::new, |(mix, _, point)| plan_steady(mix, point)))
        },
        carry_out: |job, _, watch| {
            let Some((mix, percent, point)) = job.mix_over_file_system() else {
                return Ok(());
            };
            let (mix, point) = (*mix, point.to_owned());
            // Only on the device itself, not on the directory below if the mount is gone.
            if job.own_mount().is_none() {
                return Err(Error::Place {
                    device: job.targets[0].identity.describe(),
                    point,
                    why: "something else is there".to_owned(),
                });
            }
            let rounds = steady_file(&point, percent, &mix, watch)?;
            job.found_rounds(&point, &rounds);
            Ok(())
        },
    },
    PrepareStep {
        name: "sysctls",
        about: "sets kernel values",
        changes: Changes::Machine,
        inverse: "the old values, at the end of the run or by `tailmark restore`",
        plan: |job| commands(job.sysctls()),
        carry_out: |job, journal, _| set_all(job.sysctls()?, journal),
    },
    PrepareStep {
        name: "governor",
        about: "sets the CPU frequency governor",
        changes: Changes::Machine,
        inverse: "the old governors, at the end of the run or by `tailmark restore`",
        plan: |job| commands(job.governor()),
        carry_out: |job, journal, _| set_all(job.governor()?, journal),
    },
    PrepareStep {
        name: "huge_pages",
        about: "sets transparent huge pages",
        changes: Changes::Machine,
        inverse: "the old value, at the end of the run or by `tailmark restore`",
        plan: |job| commands(job.huge_pages()),
        carry_out: |job, journal, _| set_all(job.huge_pages()?, journal),
    },
    PrepareStep {
        name: "memory_limit",
        about: "limits the memory of a server's control group",
        changes: Changes::Machine,
        inverse: "the old limit, at the end of the run or by `tailmark restore`",
        plan: |job| commands(job.memory()),
        carry_out: |job, journal, _| set_all(job.memory()?, journal),
    },
];

impl Job {
    /// The steps of one kind that the plan asks for, each with its commands.
    ///
    /// # Errors
    /// If one cannot be done on this machine.
    pub fn requested(
        &self,
        which: impl Fn(Changes) -> bool,
    ) -> Result<Vec<(&'static PrepareStep, Vec<String>)>, Error> {
        let planned = self.planned(which).into_iter();
        planned
            .map(|(step, commands)| Ok((step, commands?)))
            .collect()
    }

    /// The same for a dry run, with why each of them cannot be done.
    pub fn planned(
        &self,
        which: impl Fn(Changes) -> bool,
    ) -> Vec<(&'static PrepareStep, Result<Vec<String>, Error>)> {
        let mut job = self.clone();
        let mut planned = Vec::new();
        for step in STEPS.iter().filter(|step| which(step.changes)) {
            let commands = (step.plan)(&job);
            job.is_unmounted |= which(Changes::Data);
            if !matches!(&commands, Ok(none) if none.is_empty()) {
                planned.push((step, commands));
            }
        }
        planned
    }

    /// Carries out the requested steps in order, with a line before and after each. Returns what
    /// was done. `whose` is the prefix of the lines: "system `A`".
    ///
    /// # Errors
    /// If a step fails or is stopped. Earlier ones have been done.
    pub fn carry_out(
        &mut self,
        whose: &str,
        which: impl Fn(Changes) -> bool,
        journal: &mut Journal<'_>,
        watch: &dyn Watch,
        log: Log<'_>,
    ) -> Result<Vec<CompletedStep>, Error> {
        let mut all = Vec::new();
        for step in STEPS.iter().filter(|step| which(step.changes)) {
            if watch.is_stopped() {
                return Err(Error::Stopped {
                    device: whose.to_owned(),
                    doing: "prepared",
                });
            }
            // Planned now, because an earlier step may have changed which devices exist.
            let commands = (step.plan)(self)?;
            if commands.is_empty() {
                continue;
            }
            let command = commands.join("; ");
            let name = step.name;
            log(&format!("{whose}: {name} begins: {command}"));
            watch.begins(&format!("{whose}: {name}"));
            if let Err(error) = (step.carry_out)(self, journal, watch) {
                let why = in_one_line(&error);
                log(&format!("{whose}: {name} failed: {why}"));
                return Err(error);
            }
            let found = std::mem::take(&mut self.found);
            for finding in &found {
                log(&format!("{whose}: {name}: {}", finding.text));
            }
            log(&format!("{whose}: {name} is done"));
            all.push(CompletedStep {
                step: name.to_owned(),
                command,
                found,
            });
        }
        Ok(all)
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
    fn steps_have_names_of_their_own_and_are_documented() {
        let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        for step in STEPS {
            assert!(!step.about.contains('\n'), "{}", step.name);
            let document = include_str!("../../../docs/DEVICES.md");
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
                step.changes == Changes::Data,
                "{}",
                step.name
            );
        }
    }
}
