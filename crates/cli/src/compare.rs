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
            let lines = verdicts.page().lines(screen::of(&io::stdout()));
            console.write(|out| Ok(writeln!(out, "{}", lines.join("\n"))?))?;
        }
        CompareFormat::Md => console.say(&verdicts.page().markdown())?,
        CompareFormat::Html => console.write(|out| Ok(out.write_all(&verdicts.page().html())?))?,
        CompareFormat::Json => {
            let document = serde_json::to_string_pretty(&verdicts.document())?;
            console.say(&json_text(&document))?;
        }
    }
    Ok(match verdicts.outcome() {
        None | Some(GateOutcome::NotShown) => Exit::Done,
        Some(GateOutcome::CannotTell) if args.allow_cannot_tell => Exit::Done,
        Some(GateOutcome::CannotTell) => Exit::CannotTell,
        Some(GateOutcome::Shown) => Exit::Shown,
    })
}
