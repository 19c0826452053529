//! What preparation would do, in words for the dry run.

use super::{
    ELSEWHERE, begun_before, not_set,
    overwrite::{PrepareLines, overwrites_lines, refusal_lines},
    refuse_places,
    request::{job, machine, volume},
    started,
};
use crate::error::in_one_line;
use std::{collections::BTreeSet, path::Path};
use tailmark_model::number;
use tailmark_plan::{MachineSettings, Plan, SystemPlan};
use tailmark_prepare::{Changes, Job, STEPS, Unwatched};

/// The first lines of a dry run: one for each device with content that would be overwritten. With
/// `alone`, only the devices of that system are prepared.
#[must_use]
pub fn overwrites(plan: &Plan, alone: Option<&str>, out: &Path) -> Vec<String> {
    overwrites_lines(plan, alone, out)
}

/// What preparing would do, as lines for a person: each step with its exact commands, what undoes it,
/// and the objections to it.
#[must_use]
pub fn dry_run(plan: &Plan, system: Option<&str>, out: &Path) -> PrepareLines {
    let mut lines = match system {
        Some(_) => overwrites(plan, system, out),
        None => Vec::new(),
    };
    let mut is_refused = false;
    if let Err(error) = refuse_places(plan, system.is_none().then_some(out)) {
        is_refused = true;
        lines.push(format!("prepare: {}", in_one_line(&error)));
    }
    let of_plan = plan.systems.iter();
    let wanted = of_plan.filter(|own| system.is_none_or(|name| own.name == name));
    let (named, unnamed): (Vec<_>, Vec<_>) =
        wanted.partition(|own| !own.prepare.devices.is_empty());
    for own in named {
        let of_system = system_lines(plan, own, system.is_none(), out);
        is_refused |= of_system.is_refused;
        lines.extend(of_system.lines);
    }
    lines.extend(unnamed_lines(&unnamed));
    if system.is_none() {
        let refusals = refusal_lines(plan, out, &Unwatched);
        is_refused |= refusals.is_refused;
        lines.extend(refusals.lines);
    }
    if system.is_none() && !plan.settings.is_empty() {
        lines.extend(settings_lines(plan));
    }
    PrepareLines { lines, is_refused }
}

/// Of the devices of a system; `is_run`: as a run would, and not `device prepare`.
fn system_lines(plan: &Plan, own: &SystemPlan, is_run: bool, out: &Path) -> PrepareLines {
    let name = &own.name;
    let keys = own.prepare.keys().into_iter();
    let keys: Vec<_> = keys.map(|(key, text)| format!("{key} = {text}")).collect();
    let keys = keys.join("; ");
    if own.placeholder {
        return vec![format!("prepare `{name}` (an example): {keys}")].into();
    }
    if !own.ssh.is_empty() {
        let hosts = own.ssh.join(", then on ");
        let looked = "its commands and objections to them are determined there when the run begins";
        return vec![
            format!("prepare `{name}` on {hosts}: {keys}"),
            format!("  {looked}"),
        ]
        .into();
    }
    let mut lines = vec![format!("prepare `{name}`:")];
    if let Some(emulate) = &own.emulate {
        let commands = tailmark_prepare::plan_emulate(&volume(emulate), &emulate.directory);
        let commands = commands.into_iter();
        lines.extend(commands.map(|command| format!("  emulate: {command}")));
        lines.push("    undone: removed with all its data at the end of the run".to_owned());
        let settings = own.prepare.keys().into_iter();
        let settings = settings.filter(|(key, _)| *key != "device");
        lines.extend(settings.map(|(key, text)| format!("  {key} = {text}, on that volume")));
        return lines.into();
    }
    let has_begun = is_run && started(out).is_ok_and(|started| started.contains(name));
    let is_refused;
    match job(plan, own, out) {
        Err(error) => {
            is_refused = !plan.consent.serials.is_empty();
            lines.push(format!("  cannot be prepared: {}", in_one_line(&error)));
        }
        Ok(job) => {
            let of_job = match (has_begun, is_run) {
                (true, _) => vec![begun_before(name)],
                (false, true) if !job.is_agreed() => vec![format!(
                    "without {} nothing is erased or created: the run measures the existing file \
                     system or device",
                    job.flags()
                )],
                _ => Vec::new(),
            };
            let against = objections(&job, has_begun);
            is_refused = job.is_agreed() && !against.is_empty();
            let of_job = of_job
                .into_iter()
                .chain(job_lines(&job, has_begun, &against));
            lines.extend(of_job.map(|line| format!("  {line}")));
        }
    }
    PrepareLines { lines, is_refused }
}

/// Keys of `[prepare]` with their values.
type Keys = [(&'static str, String)];

/// Of systems that name no device: the steps that would be carried out on one, once for all whose
/// steps are the same.
fn unnamed_lines(systems: &[&SystemPlan]) -> Vec<String> {
    let mut same: Vec<(&Keys, Vec<String>)> = Vec::new();
    let is_asked = |own: &&&SystemPlan| {
        !own.prepare.unnamed.is_empty() && own.ceiling_for.is_none() && own.emulate.is_none()
    };
    for own in systems.iter().filter(is_asked) {
        let (keys, name) = (&own.prepare.unnamed[..], format!("`{}`", own.name));
        match same.iter_mut().find(|(known, _)| *known == keys) {
            Some((_, names)) => names.push(name),
            None => same.push((keys, vec![name])),
        }
    }
    let mut lines = Vec::new();
    for (keys, names) in same {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let verb = if names.len() == 1 { "names" } else { "name" };
        lines.push(format!(
            "prepare nothing of {}, which {verb} no device; on the device that you name \
             (prepare.device, and --erase with its serial number):",
            number::list(&names)
        ));
        let value = |asked: &str| Some(&keys.iter().find(|(known, _)| *known == asked)?.1);
        for step in STEPS {
            let (key, options) = match step.name {
                "filesystem" => ("filesystem", value("mkfs_options")),
                // The mount point belongs to the system that names a device.
                "mount" => ("filesystem", value("mount_options")),
                of_step => (of_step, None),
            };
            let Some(asked) = value(key) else {
                continue;
            };
            let options = options.map_or_else(String::new, |with| format!(" with {with}"));
            lines.push(format!("  {}: {asked}{options}: {}", step.name, step.about));
        }
    }
    lines
}

/// Settings of this machine, and of the servers' machines.
fn settings_lines(plan: &Plan) -> Vec<String> {
    let hosts = plan.systems.iter().flat_map(|other| &other.ssh);
    let hosts: BTreeSet<&str> = hosts.map(String::as_str).collect();
    let there = hosts.iter().filter(|_| plan.general.scale == 1.0);
    let asked = asked(&plan.settings).join("; ");
    let there = there.map(|host| format!("set on {host}, and restored afterwards: {asked}"));
    let mut lines: Vec<String> = there.collect();
    let not_set = not_set(plan);
    if !hosts.is_empty() && not_set == Some(ELSEWHERE) {
        return lines;
    }
    let why = not_set.map_or(String::new(), |why| format!(" (not done here: {why})"));
    lines.push(format!("prepare the machine:{why}"));
    match machine(plan) {
        Err(error) => lines.push(format!("  cannot be prepared: {}", in_one_line(&error))),
        Ok(job) => {
            let of_machine = step_lines(&job, |changes| changes == Changes::Machine);
            lines.extend(of_machine.into_iter().map(|line| format!("  {line}")));
        }
    }
    lines
}

/// What settings say, as keys with their values.
fn asked(settings: &MachineSettings) -> Vec<String> {
    let memory = settings.memory.as_ref();
    let keys = [
        ("sysctls", settings.sysctl_text()),
        ("governor", settings.governor.clone()),
        ("huge_pages", settings.huge_pages.clone()),
        (
            "memory_limit",
            memory.map(|(bytes, group)| format!("{bytes} bytes of {group}")),
        ),
    ];
    let asked = keys
        .into_iter()
        .filter_map(|(key, text)| Some((key, text?)));
    asked.map(|(key, text)| format!("{key} {text}")).collect()
}

fn job_lines(job: &Job, has_begun: bool, against: &[String]) -> Vec<String> {
    let devices = job.targets.iter().map(|target| target.identity.describe());
    let mut lines: Vec<String> = devices.collect();
    let which =
        |changes: Changes| changes == Changes::Device || (changes == Changes::Data && !has_begun);
    lines.extend(step_lines(job, which));
    if against.is_empty() && destroys(job, has_begun) {
        lines.push("no objection".to_owned());
    }
    lines.extend(against.iter().map(|line| format!("objection {line}")));
    lines
}

/// Whether data would be destroyed.
fn destroys(job: &Job, has_begun: bool) -> bool {
    let planned = job.planned(|changes| changes == Changes::Data);
    !planned.is_empty() && !has_begun
}

/// The reasons not to carry it out.
fn objections(job: &Job, has_begun: bool) -> Vec<String> {
    let destroys = destroys(job, has_begun);
    let mut against = Vec::new();
    if destroys {
        match job.refusals(&Unwatched) {
            Ok(evidence) => {
                let evidence = evidence.iter();
                against.extend(evidence.map(|one| format!("({}): {}", one.guard, one.text)));
            }
            Err(error) => against.push(format!(": {}", in_one_line(&error))),
        }
    }
    if let Err(error) = job.refuse_place(destroys) {
        against.push(format!("(place): {}", in_one_line(&error)));
    }
    against
}

fn step_lines(job: &Job, which: impl Fn(Changes) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (step, commands) in job.planned(which) {
        match commands {
            Ok(commands) => {
                let each = commands.iter();
                lines.extend(each.map(|command| format!("{}: {command}", step.name)));
                if !step.inverse.is_empty() {
                    lines.push(format!("  undone: {}", step.inverse));
                }
            }
            Err(error) => lines.push(format!("{}: {}", step.name, in_one_line(&error))),
        }
    }
    lines
}
