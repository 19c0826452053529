//! `tailmark compare`: verdicts on two systems or two studies, and gates on them.

use crate::{
    args::{CompareArgs, CompareFormat},
    screen,
};
use std::io;
use tailmark_console::{Console, Exit};
use tailmark_model::json_text;
use tailmark_report::{GateOutcome, Verdicts, VerdictsRequest};

/// Compares, and judges the conditions.
pub fn compare(args: &CompareArgs, console: &Console) -> anyhow::Result<Exit> {
    let verdicts = Verdicts::new(&VerdictsRequest {
        study: args.study.clone(),
        baseline_study: args.baseline_study.clone(),
        system: args.system.clone(),
        baseline: args.baseline.clone(),
        metrics: args.metrics.clone(),
        fail_if: args.fail_if.clone(),
        equivalence: args.equivalence,
    })?;
    match args.format {
        CompareFormat::Text => {
            let mut lines = verdicts.gate_lines();
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(verdicts.page().lines(screen::of(&io::stdout())));
            console.write(|out| Ok(writeln!(out, "{}", lines.join("\n"))?))?;
        }
        CompareFormat::Md => {
            let lines = verdicts.gate_lines().into_iter();
            let lines: String = lines.map(|line| format!("- {line}\n")).collect();
            let gap = if lines.is_empty() { "" } else { "\n" };
            console.say(&format!("{lines}{gap}{}", verdicts.page().markdown()))?;
        }
        CompareFormat::Html => console.write(|out| Ok(out.write_all(&verdicts.page().html())?))?,
        CompareFormat::Json => {
            let document = serde_json::to_string_pretty(&verdicts.document())?;
            console.say(&json_text(&document))?;
        }
    }
    Ok(match verdicts.outcome() {
        None | Some(GateOutcome::Pass) => Exit::Done,
        Some(GateOutcome::Unsure) if args.allow_unsure => Exit::Done,
        Some(GateOutcome::Unsure) => Exit::Unsure,
        Some(GateOutcome::Fail) => Exit::GateFailed,
    })
}
