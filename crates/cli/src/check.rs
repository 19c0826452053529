//! `tailmark check`: what about this machine or a plan would spoil a result, and the remedy.

use crate::{
    args::{CheckArgs, TextFormat},
    run::raw_plan,
};
use serde_json::{Value, json};
use tailmark_console::{Console, Exit};
use tailmark_model::{json_text, number, printable};
use tailmark_runner::check::{Checked, Severity, check};

/// The version of the document's schema.
const VERSION: u32 = 1;

/// Checks the machine and the places of a plan, and prints the results.
pub fn run(args: &CheckArgs, console: &Console) -> anyhow::Result<Exit> {
    let is_plan = args.plan.name.is_some() || !args.plan.systems.is_empty();
    let raw = raw_plan(&args.plan)?;
    let plan = is_plan.then(|| raw.check()).transpose()?;
    let checked = check(plan.as_ref())?;
    match args.format {
        TextFormat::Json => console.say(&json_text(&serde_json::to_string_pretty(&document(
            &checked,
        ))?))?,
        TextFormat::Text => {
            let examples = plan.iter().flat_map(|plan| &plan.systems);
            let examples = examples.filter(|system| system.placeholder);
            let examples: Vec<_> = examples.map(|system| system.name.clone()).collect();
            for line in lines(&checked, &examples) {
                console.say(&printable(&line))?;
            }
        }
    }
    let is_fine = count(&checked, Severity::Problem) == 0;
    Ok(if is_fine { Exit::Done } else { Exit::Errors })
}

/// The number of problems with this severity.
fn count(checked: &[Checked], severity: Severity) -> usize {
    let all = checked.iter().filter(|c| c.check.severity == severity);
    all.filter_map(|c| c.problems.as_ref()).map(Vec::len).sum()
}

/// The results for people.
fn lines(checked: &[Checked], examples: &[String]) -> Vec<String> {
    let plural =
        |severity: Severity| number::plural(count(checked, severity) as u64, severity.name());
    let (problems, remarks) = (plural(Severity::Problem), plural(Severity::Remark));
    let mut lines = vec![format!("{problems}, {remarks}")];
    for (severity, title) in [
        (Severity::Problem, "Problems that would spoil results:"),
        (
            Severity::Remark,
            "Remarks that affect results but may be intended:",
        ),
    ] {
        if count(checked, severity) == 0 {
            continue;
        }
        lines.extend([String::new(), title.to_owned()]);
        let found = checked.iter().filter(|one| one.check.severity == severity);
        for one in found {
            for problem in one.problems.iter().flatten() {
                lines.push(format!("  {}: {}", one.check.name, problem.evidence));
                lines.push(format!("      {}", problem.remedy));
            }
        }
    }
    let names = |is_it: fn(&Checked) -> bool| {
        let names = checked
            .iter()
            .filter(|one| is_it(one))
            .map(|one| one.check.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let fine = names(|one| one.problems.as_ref().is_some_and(Vec::is_empty));
    let unseen = names(|one| one.problems.is_none());
    lines.push(String::new());
    if !fine.is_empty() {
        lines.push(format!("Nothing found: {fine}"));
    }
    if !unseen.is_empty() {
        lines.push(format!("Nothing to check: {unseen}"));
    }
    if !examples.is_empty() {
        let examples = examples.join(", ");
        lines.push(format!(
            "Not checked, because their places are examples: {examples} (--system NAME=WHERE)"
        ));
    }
    lines
}

/// The results for programs.
fn document(checked: &[Checked]) -> Value {
    let row = |one: &Checked| {
        let problems = one.problems.as_ref().map(|problems| {
            let problem = |problem: &tailmark_runner::check::Problem| {
                json!({ "evidence": problem.evidence, "remedy": problem.remedy })
            };
            problems.iter().map(problem).collect::<Vec<_>>()
        });
        json!({
            "name": one.check.name,
            "about": one.check.about,
            "severity": one.check.severity.name(),
            "found": problems,
        })
    };
    json!({
        "version": VERSION,
        "problems": count(checked, Severity::Problem),
        "remarks": count(checked, Severity::Remark),
        "checks": checked.iter().map(row).collect::<Vec<_>>(),
    })
}
