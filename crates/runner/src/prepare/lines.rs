//! What preparing would do, in words: the dry run.

use super::{job, machine, not_set, volume};
use crate::error::in_one_line;
use std::path::Path;
use tailmark_host::prepare::{Job, Of, STEPS};
use tailmark_plan::Plan;

/// What preparing would do, as lines for a person: each step with its exact commands, what undoes it,
/// and what speaks against it.
#[must_use]
pub fn dry_run(plan: &Plan, system: Option<&str>, out: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let of_plan = plan.systems.iter();
    let wanted = of_plan.filter(|of| system.is_none_or(|name| of.name == name));
    for of in wanted.filter(|of| !of.prepare.devices.is_empty()) {
        if of.placeholder {
            let keys = of.prepare.keys().into_iter();
            let keys: Vec<_> = keys.map(|(key, text)| format!("{key} = {text}")).collect();
            lines.push(format!(
                "prepare `{}` (an example): {}",
                of.name,
                keys.join("; ")
            ));
            continue;
        }
        lines.push(format!("prepare `{}`:", of.name));
        if let Some(emulate) = &of.emulate {
            lines.push(format!("  emulate: {}", volume(emulate).1));
            lines.push("    undone: removed with all that is on it, when the run ends".to_owned());
            let keys = of.prepare.keys().into_iter();
            let keys = keys.filter(|(key, _)| *key != "device");
            lines.extend(keys.map(|(key, text)| format!("  {key} = {text}, on that")));
            continue;
        }
        match job(plan, of, out) {
            Err(error) => lines.push(format!("  cannot be prepared: {}", in_one_line(&error))),
            Ok(job) => lines.extend(job_lines(&job).into_iter().map(|line| format!("  {line}"))),
        }
    }
    if system.is_none() && !plan.settings.is_empty() {
        let why = not_set(plan).map_or(String::new(), |why| format!(" (not done here: {why})"));
        lines.push(format!("prepare the machine:{why}"));
        match machine(plan) {
            Err(error) => lines.push(format!("  cannot be prepared: {}", in_one_line(&error))),
            Ok(job) => {
                let of_machine = step_lines(&job, |of| of == Of::Machine);
                lines.extend(of_machine.into_iter().map(|line| format!("  {line}")));
            }
        }
    }
    lines
}

fn job_lines(job: &Job) -> Vec<String> {
    let devices = job.targets.iter().map(|target| target.identity.describe());
    let mut lines: Vec<String> = devices.collect();
    lines.extend(step_lines(job, |of| of != Of::Machine));
    let destroys = job.asked(|of| of == Of::Data);
    if !destroys.is_ok_and(|asked| asked.is_empty()) {
        match job.refusals() {
            Ok(evidence) if evidence.is_empty() => {
                lines.push("nothing speaks against it".to_owned());
            }
            Ok(evidence) => lines.extend(
                evidence
                    .iter()
                    .map(|of| format!("against it ({}): {}", of.guard, of.text)),
            ),
            Err(error) => lines.push(format!("against it: {}", in_one_line(&error))),
        }
    }
    lines
}

fn step_lines(job: &Job, of: impl Fn(Of) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for step in STEPS.iter().filter(|step| of(step.of)) {
        match (step.plan)(job) {
            Ok(commands) => {
                let each = commands
                    .iter()
                    .map(|command| format!("{}: {command}", step.name));
                lines.extend(each);
                if !commands.is_empty() && !step.inverse.is_empty() {
                    lines.push(format!("  undone: {}", step.inverse));
                }
            }
            Err(error) => lines.push(format!("{}: {}", step.name, in_one_line(&error))),
        }
    }
    lines
}
