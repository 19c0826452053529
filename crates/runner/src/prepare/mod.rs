//! Preparation of devices and the machine before systems are measured.
//!
//! A run first checks everything: that every device is found, that each confirmed serial number
//! belongs to one of them, and that nothing speaks against erasing those. Only then is the first
//! device touched. A device without confirmation is measured as it is, and the study says so.
//! Preparation is done once per study and not repeated when a run resumes.

mod lines;
pub(crate) mod log;
mod look;
pub(crate) mod overwrite;
mod request;
mod servers;

pub use lines::dry_run;
pub(crate) use lines::overwrites;
pub(crate) use look::refuse_places;
pub use overwrite::PrepareLines;
pub(crate) use overwrite::{refuse_overwrite, refuse_overwrites};

use crate::{Error, PreparationError, devices, facts::kept, ranks::Ranks, servers::Servers};
use log::Far;
pub(crate) use log::tell;
use look::{Elsewhere, in_advance, refuse_unknown};
use request::{job, machine, volume};
use servers::There;
use std::path::Path;
use tailmark_driver::{INPUT_BYTES_MAX, Location, read_file};
use tailmark_engine::{Observer, Stop};
use tailmark_model::Fact;
use tailmark_plan::{ClientHost, Plan, SystemPlan};
use tailmark_prepare::{Changes, CompletedStep, JOURNAL_DIRECTORY, Job, Journal, STEPS};
use tailmark_study::Study;

/// The group of facts about preparation.
const GROUP: &str = "preparation";

/// The preparation, undone as far as possible on drop.
#[derive(Default)]
pub(crate) struct Prepared<'a> {
    /// Facts for the study.
    facts: Vec<Fact>,
    /// Notices.
    notices: Vec<String>,
    journal: Option<Journal<'a>>,
}

/// Whether a plan prepares anything here.
pub(crate) fn is_needed(plan: &Plan) -> bool {
    let is_set = !plan.settings.is_empty() && not_set(plan).is_none();
    is_set || here(plan).any(|system| !system.prepare.devices.is_empty())
}

/// The systems whose devices are on this machine. Systems with a host are prepared there.
fn here(plan: &Plan) -> impl Iterator<Item = &SystemPlan> {
    plan.systems.iter().filter(|system| system.ssh.is_empty())
}

/// Whether the place of a system is not there yet, but will be: its device is emulated, or its file
/// system is mounted when the run begins.
pub(crate) fn is_to_come(system: &SystemPlan) -> bool {
    let emulate = system.emulate.as_ref();
    // The file system of a server is mounted on its host.
    let mount = system.prepare.mount.as_deref();
    let mount = mount.filter(|_| system.ssh.is_empty());
    emulate.is_some_and(|emulate| !emulate.device().exists())
        || mount.is_some_and(|point| {
            // Without links, as in the table of mounts.
            let real = point.canonicalize().ok();
            let mounted = tailmark_machine::mount_of(point).map(|found| found.point);
            real.is_none() || mounted != real
        })
}

/// Whether anything of the machine or a device is changed, for which the journal is needed.
fn is_changed(plan: &Plan) -> bool {
    let mut systems = here(plan);
    (!plan.consent.serials.is_empty() && here(plan).any(|s| !s.prepare.devices.is_empty()))
        || (!plan.settings.is_empty() && not_set(plan).is_none())
        || systems.any(|system| system.prepare.mount.is_some() || system.emulate.is_some())
}

/// Why the settings of a plan are not set here if all of its servers are elsewhere, where they may
/// be set.
const ELSEWHERE: &str = "they apply to the machine of the servers, which is another one";

/// Why the settings of a plan are not set on this machine; `None` if they are.
fn not_set(plan: &Plan) -> Option<&'static str> {
    let is_here = |system: &SystemPlan| {
        system.is_here() && system.expect.client_host != Some(ClientHost::Other)
    };
    let is_elsewhere = !plan.systems.iter().any(is_here);
    match (
        is_elsewhere,
        plan.general.scale == 1.0,
        tailmark_machine::is_root(),
    ) {
        (true, ..) => Some(ELSEWHERE),
        (_, false, _) => Some("they apply to the plan at full scale"),
        (.., false) => Some("that needs root"),
        _ => None,
    }
}

/// The memory limit of a system's server in bytes, if it is set.
pub(crate) fn server_limit(plan: &Plan, system: &SystemPlan) -> Option<u64> {
    let is_set = if system.ssh.is_empty() {
        not_set(plan).is_none()
    } else {
        plan.general.scale == 1.0
    };
    let (limit, _) = plan.settings.memory.as_ref().filter(|_| is_set)?;
    Some(*limit)
}

/// Prepares the systems of a plan, the machine and the hosts of servers for a run into `out`. All
/// are checked before the first one is touched.
///
/// # Errors
/// If something is missing, a guard objects, or a step fails. Settings are then restored.
pub(crate) fn prepare<'a>(
    plan: &Plan,
    (servers, ranks): (&Servers, &Ranks),
    out: &Path,
    log: &'a dyn Fn(&str),
    (observer, stop): (&dyn Observer, &Stop),
) -> Result<Prepared<'a>, Error> {
    let mut prepared = Prepared::default();
    let mut there = There::look(plan, servers, out, stop)?;
    // Other ranks check what they write themselves.
    there.devices.is_part |= ranks.size() > 1;
    let here = prepared.look_here(plan, &there.devices, out, log, (observer, stop))?;
    let there = prepared.agree(plan, there, &started(out)?, observer)?;
    if let Some(here) = here {
        prepared.prepare_here(plan, here, (observer, stop))?;
    }
    prepared.prepare_there(there, (observer, stop))?;
    Ok(prepared)
}

/// Prepares a single system: its devices, but not the machine. Its file system stays mounted.
///
/// # Errors
/// As [`prepare`], and if the plan has nothing to prepare for it.
pub fn prepare_alone(
    plan: &Plan,
    name: &str,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<(), Error> {
    let system = named(plan, name)?;
    refuse_places(plan, None)?;
    let log = |text: &str| tell(observer, text);
    let mut journal = Journal::open(Path::new(JOURNAL_DIRECTORY), &log)?;
    let jobs = [(system, job(plan, system, Path::new("."))?)];
    refuse_unknown(plan, &jobs, &Elsewhere::default())?;
    let [(_, mut job)] = jobs;
    let requested = job.requested(|changes| changes == Changes::Data)?;
    if !requested.is_empty() {
        // Here preparing was asked for, so a missing serial number is an error.
        job.refuse(&Far::new(observer, stop))?;
    }
    job.refuse_place(!requested.is_empty())?;
    let of_devices = |changes| changes != Changes::Machine;
    let mut prepared = Prepared::default();
    let around = (&mut journal, observer, stop);
    let done = prepared.carry_out(name, &mut job, of_devices, around);
    journal.forget()?;
    done
}

/// The work on this machine, checked and without objections.
struct Here<'a, 'p> {
    journal: Journal<'a>,
    /// Each job, with whether its destructive steps are carried out.
    jobs: Vec<(&'p SystemPlan, Job, bool)>,
}

impl<'a> Prepared<'a> {
    /// Checks this machine; the given devices are on others. `None` if there is nothing to do here.
    fn look_here<'p>(
        &mut self,
        plan: &'p Plan,
        there: &Elsewhere,
        out: &Path,
        log: &'a dyn Fn(&str),
        (observer, stop): (&dyn Observer, &Stop),
    ) -> Result<Option<Here<'a, 'p>>, Error> {
        let are_there = plan.systems.iter().any(|system| !system.ssh.is_empty());
        let is_elsewhere = |why: &str| are_there && why == ELSEWHERE;
        if let Some(why) = not_set(plan)
            && !plan.settings.is_empty()
            && !is_elsewhere(why)
        {
            self.leave_settings(plan, why, observer);
        }
        if !is_needed(plan) {
            refuse_unknown(plan, &[], there)?;
            return Ok(None);
        }
        if !is_changed(plan) {
            for system in here(plan).filter(|system| !system.prepare.devices.is_empty()) {
                self.left_as_it_is(system, "--erase with its serial number", observer);
            }
            return Ok(None);
        }
        let mut journal = Journal::open(Path::new(JOURNAL_DIRECTORY), log)?;
        journal.set_run(out);
        let mut jobs = Vec::new();
        self.facts
            .extend(emulate_all(plan, &mut journal, (observer, stop))?);
        for system in here(plan) {
            if !system.prepare.devices.is_empty() {
                jobs.push((system, job(plan, system, out)?));
            }
        }
        refuse_unknown(plan, &jobs, there)?;
        devices::refuse_one_device_of(plan, &in_advance(&jobs))?;
        let losses = self.look((plan, out), &jobs, (observer, stop))?;
        let each = jobs.into_iter().zip(losses);
        let decided = each.map(|((system, job), destroys)| (system, job, destroys));
        Ok(Some(Here {
            journal,
            jobs: decided.collect(),
        }))
    }

    /// Prepares this machine.
    fn prepare_here(
        &mut self,
        plan: &Plan,
        here: Here<'a, '_>,
        (observer, stop): (&dyn Observer, &Stop),
    ) -> Result<(), Error> {
        let Here {
            mut journal,
            mut jobs,
        } = here;
        for (system, job, destroys) in &mut jobs {
            let steps =
                |changes| changes == Changes::Device || (changes == Changes::Data && *destroys);
            self.carry_out(&system.name, job, steps, (&mut journal, observer, stop))?;
        }
        if plan.settings.is_empty() || not_set(plan).is_none() {
            let mut machine = machine(plan)?;
            let of_machine = |changes| changes == Changes::Machine;
            self.carry_out("", &mut machine, of_machine, (&mut journal, observer, stop))?;
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// Writes the preparation and these notices to the study.
    ///
    /// # Errors
    /// If the study refuses.
    pub(crate) fn keep(&self, plan: &Plan, study: &Study, more: &[String]) -> Result<(), Error> {
        for notice in self.notices.iter().chain(more) {
            study.add_notice(notice)?;
        }
        Ok(study.set_facts(&kept(plan, self.facts.clone()))?)
    }

    /// Restores changes. Returns how many could not be restored.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) fn put_back(self) -> Result<usize, Error> {
        Ok(self.journal.map_or(Ok(0), Journal::end)?)
    }

    /// Looks at everything before the first device is touched; of each job, whether the steps that
    /// destroy are carried out.
    fn look(
        &mut self,
        (plan, out): (&Plan, &Path),
        jobs: &[(&SystemPlan, Job)],
        (observer, stop): (&dyn Observer, &Stop),
    ) -> Result<Vec<bool>, Error> {
        let (mut all, started) = (Vec::new(), started(out)?);
        for (system, job) in jobs {
            let requested = job.requested(|changes| changes == Changes::Data)?;
            // An emulated device is new in each run.
            let kept = system.emulate.is_none() && started.contains(&system.name);
            let does = match (requested.is_empty(), kept, job.is_agreed()) {
                (true, ..) => false,
                (false, true, _) => {
                    tell(observer, &begun_before(&system.name));
                    false
                }
                (false, false, agreed) => {
                    if !agreed {
                        self.left_as_it_is(system, &job.flags(), observer);
                    }
                    agreed
                }
            };
            if does {
                job.refuse(&Far::new(observer, stop))?;
                let lost = overwrites(plan, Some(&system.name), out).into_iter();
                lost.for_each(|line| tell(observer, &format!("system `{}`: {line}", system.name)));
            }
            job.refuse_place(does)?;
            all.push(does);
        }
        Ok(all)
    }

    /// Carries out the steps of a job, and keeps their facts for the study.
    fn carry_out(
        &mut self,
        system: &str,
        job: &mut Job,
        which: impl Fn(Changes) -> bool,
        (journal, observer, stop): (&mut Journal<'_>, &dyn Observer, &Stop),
    ) -> Result<(), Error> {
        let whose = match system {
            "" => "the machine".to_owned(),
            system => format!("system `{system}`"),
        };
        let far = Far::new(observer, stop);
        let log = |text: &str| tell(observer, text);
        let name = (!system.is_empty()).then_some(system);
        let done = job.carry_out(&whose, which, journal, &far, &log)?;
        self.keep_done(name, GROUP, &whose, done);
        Ok(())
    }

    /// Keeps facts about executed steps for the study, in a group.
    fn keep_done(
        &mut self,
        system: Option<&str>,
        group: &str,
        whose: &str,
        steps: Vec<CompletedStep>,
    ) {
        let fact = |name: &str, value: String| Fact {
            group: group.to_owned(),
            ..fact(system, name, value)
        };
        for done in steps {
            self.facts.push(fact(&done.step, done.command));
            let texts: Vec<_> = done.found.iter().map(|line| line.text.as_str()).collect();
            if !texts.is_empty() {
                let found = format!("{} found", done.step);
                self.facts.push(fact(&found, texts.join("; ")));
            }
            let warnings = done.found.iter().filter_map(|line| line.warning.as_ref());
            let warnings = warnings.map(|warning| format!("{whose}: {}: {warning}", done.step));
            self.notices.extend(warnings);
        }
    }

    /// Notes settings that are not set here: the machine is measured as it is.
    fn leave_settings(&mut self, plan: &Plan, why: &str, observer: &dyn Observer) {
        let said = format!("the settings of [prepare] are not set: {why}");
        observer.notice(&said);
        let keys = plan.header.plan.iter();
        let keys = keys.filter_map(|(key, given)| Some((key.strip_prefix("prepare.")?, given)));
        for (key, given) in keys {
            let value = format!("{}: not set, because {why}", given.value);
            self.facts.push(fact(None, key, value));
        }
        self.notices.push(said);
    }

    /// Notes that a system whose devices are not confirmed is measured as it is.
    fn left_as_it_is(&mut self, system: &SystemPlan, needed: &str, observer: &dyn Observer) {
        let what = match system.location {
            // A load uses the device under the name in the plan.
            Location::Device(_) => "its device was not erased, and a load would overwrite it",
            _ => "nothing was erased or created",
        };
        let said = format!(
            "system `{}` is measured on the existing file system or device: {what}",
            system.name
        );
        tell(observer, &format!("{said}, which needs {needed}"));
        let name = Some(&*system.name);
        let value = format!("measured on the existing file system or device: {what}");
        self.facts.push(fact(name, "devices", value));
        // Without a serial number, which a study may be asked to leave out.
        self.notices.push(said);
    }
}

fn begun_before(system: &str) -> String {
    format!("system `{system}` already has points, so it is not prepared again")
}

/// The systems with data in a study. Their devices are not touched again.
fn started(out: &Path) -> Result<Vec<String>, Error> {
    if !Study::exists(out) {
        return Ok(Vec::new());
    }
    let study = Study::open_read_only(out)?;
    let loads = study.load_totals()?.into_iter().map(|load| load.system);
    let points = study.point_keys()?.into_iter().map(|key| key.system);
    let facts = study.facts()?.into_iter();
    let is_lost = |fact: &Fact| {
        let mut steps = STEPS.iter().filter(|step| step.changes == Changes::Data);
        // On the host of a server too.
        fact.group.ends_with(GROUP) && steps.any(|step| step.name == fact.name)
    };
    let prepared = facts.filter(is_lost).filter_map(|fact| fact.system);
    Ok(loads.chain(points).chain(prepared).collect())
}

/// A system whose devices can be prepared apart from a run.
fn named<'a>(plan: &'a Plan, name: &str) -> Result<&'a SystemPlan, Error> {
    let found = plan.systems.iter().find(|system| system.name == name);
    let refused = |why: &str| {
        Error::Preparation(PreparationError::NothingToPrepare {
            system: name.to_owned(),
            why: why.to_owned(),
        })
    };
    let found = found.ok_or_else(|| refused("the plan has no system of that name"))?;
    if found.prepare.devices.is_empty() || found.emulate.is_some() {
        return Err(refused(
            "its `prepare` names no device (`device`) that outlives a run",
        ));
    }
    if !found.ssh.is_empty() {
        let hosts = found.ssh.join(" and ");
        return Err(refused(&format!(
            "its devices are on {hosts}: a run prepares them"
        )));
    }
    Ok(found)
}

/// Creates the emulated devices of a plan. Returns facts for the study.
fn emulate_all(
    plan: &Plan,
    journal: &mut Journal<'_>,
    (observer, stop): (&dyn Observer, &Stop),
) -> Result<Vec<Fact>, Error> {
    let mut facts = Vec::new();
    let far = Far::new(observer, stop);
    for system in &plan.systems {
        let Some(emulate) = &system.emulate else {
            continue;
        };
        let volume = volume(emulate);
        let command = tailmark_prepare::plan_emulate(&volume, &emulate.directory).join("; ");
        let whose = format!("system `{}`", system.name);
        tell(
            observer,
            &format!("{whose}: emulate begins: {}", emulate.text()),
        );
        journal.emulates(&emulate.directory)?;
        // A volume that an earlier run left outside the journal is not in use.
        tailmark_prepare::remove_emulated(&emulate.directory, &far)?;
        tailmark_prepare::emulate(&volume, &emulate.directory, &far)?;
        tell(observer, &format!("{whose}: emulate is done"));
        facts.push(fact(Some(&system.name), "emulate", command));
    }
    Ok(facts)
}

fn fact(system: Option<&str>, name: &str, value: String) -> Fact {
    Fact {
        system: system.map(str::to_owned),
        group: GROUP.to_owned(),
        name: name.to_owned(),
        value,
    }
}

/// Whose changes to this machine there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhoseChanges {
    /// There are none.
    Nothing,
    /// Of the run in this directory.
    Own,
    /// Of another run, which may still be at work.
    Others,
}

/// Whether a killed run has left this machine changed, as far as this user can see, and whether it was
/// the run of a directory.
pub(crate) fn whose_changes(out: &Path) -> WhoseChanges {
    let journal = Path::new(JOURNAL_DIRECTORY).join("changes.json");
    let text = read_file(&journal, INPUT_BYTES_MAX).unwrap_or_default();
    let parsed: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let changes = parsed.get("changes").and_then(serde_json::Value::as_array);
    if changes.is_none_or(Vec::is_empty) {
        return WhoseChanges::Nothing;
    }
    let run = parsed.get("run").and_then(serde_json::Value::as_str);
    let real = |path: &Path| path.canonicalize().ok();
    let is_own =
        run.is_some_and(|run| real(Path::new(run)).is_some_and(|run| real(out) == Some(run)));
    if is_own {
        WhoseChanges::Own
    } else {
        WhoseChanges::Others
    }
}

/// Restores what an earlier run has left. Returns how many changes could not be restored.
///
/// # Errors
/// If the journal cannot be read, or a run holds it.
pub fn restore(log: &dyn Fn(&str)) -> Result<usize, Error> {
    let journal = Journal::open(Path::new(JOURNAL_DIRECTORY), log)?;
    Ok(journal.len())
}

#[cfg(test)]
mod tests;
