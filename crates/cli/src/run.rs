//! `tailmark run`: from what was typed to a checked plan, the run itself, and its report.

use crate::{args::RunArgs, exit::Exit, interrupt, output, progress::Progress, report};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};
use tailmark_runner::{
    Stop, Summary,
    plan::{self, Draft, Facts, Plan, units::grouped},
};

/// Carries out the plan, writes the report and prints its path.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let draft = draft(args)?;
    let plan = draft.check()?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&draft));
    if args.dry_run {
        let facts = Facts::gather(&plan, &out);
        for line in plan::dry_run(&plan, &out, &facts) {
            output::say(&line)?;
        }
        return Ok(Exit::Done);
    }
    let stop = Stop::new();
    interrupt::listen(&stop)?;
    let progress = Progress::new(&plan);
    let done = tailmark_runner::run(&plan, &out, &progress, &stop);
    progress.finish();
    match done {
        Ok(summary) => {
            let page = report::write(std::slice::from_ref(&out), "html", &out)?;
            let exit = conclude(&plan, &summary, &out, args.out.is_some());
            output::say(&page.display().to_string())?;
            Ok(exit)
        }
        Err(error) => {
            let error = anyhow::Error::from(error);
            // What was measured is reported, whatever ended the run.
            if Exit::of(&error) == Exit::Failed && has_points(&out) {
                let page = report::write(std::slice::from_ref(&out), "html", &out)?;
                output::warn(&format!("what was measured until then: {}", page.display()));
            }
            Err(error)
        }
    }
}

fn has_points(out: &Path) -> bool {
    let keys = report::open(out)
        .ok()
        .and_then(|study| study.point_keys().ok());
    keys.is_some_and(|keys| !keys.is_empty())
}

/// What the plan file and the flags say together.
fn draft(args: &RunArgs) -> Result<Draft, plan::Error> {
    let mut draft = match &args.plan {
        Some(name) => Draft::find(name)?,
        None => Draft::default(),
    };
    if let Some(driver) = &args.driver {
        draft.set_driver(driver);
    }
    draft.set_systems(&args.systems)?;
    let flags = [
        ("--workload", "sweep.workloads", &args.workloads),
        ("--distribution", "sweep.distribution", &args.distribution),
        ("--records", "dataset.records", &args.records),
        ("--threads", "sweep.threads", &args.threads),
        ("--operations", "sweep.operations", &args.operations),
        ("--duration", "sweep.duration", &args.duration),
        ("--warmup", "sweep.warmup", &args.warmup),
        ("--rate", "sweep.rate", &args.rate),
        ("--repeats", "sweep.repeats", &args.repeats),
        ("--seed", "sweep.seed", &args.seed),
        ("--scale", "scale", &args.scale),
        ("--time-scale", "time_scale", &args.time_scale),
    ];
    for (flag, key, value) in flags {
        if let Some(value) = value {
            draft.set(flag, key, value.as_str().into())?;
        }
    }
    for assignment in &args.set {
        draft.assign(assignment)?;
    }
    Ok(draft)
}

/// Where a run goes that was not told: a plan's runs into one directory, so that the same command
/// goes on; a run from flags alone into one of its own.
fn default_out(draft: &Draft) -> PathBuf {
    match &draft.name {
        Some(name) => PathBuf::from(format!("study-{name}")),
        None => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let now = now.replace([':', '-', 'Z'], "").replace('T', "-");
            PathBuf::from(format!("study-{now}"))
        }
    }
}

/// Says how the run ended.
fn conclude(plan: &Plan, summary: &Summary, out: &Path, is_out_given: bool) -> Exit {
    let points = |count: usize| {
        format!(
            "{} point{}",
            grouped(count as u64),
            if count == 1 { "" } else { "s" }
        )
    };
    let mut said = format!("{} measured", points(summary.points_measured));
    if summary.points_kept > 0 {
        said.push_str(&format!(", {} kept from before", summary.points_kept));
    }
    if summary.findings > 0 {
        said.push_str(&format!(
            ", {} findings (in the report)",
            grouped(summary.findings as u64)
        ));
    }
    if summary.errors > 0 {
        said.push_str(&format!(", {} requests failed", grouped(summary.errors)));
    }
    output::warn(&said);
    if summary.interrupted {
        output::warn(&format!("stopped; to go on: {}", again(out, is_out_given)));
        return Exit::Interrupted;
    }
    if summary.points_measured == 0 {
        output::warn(&format!(
            "everything was measured before; give another -o to measure `{}` again",
            plan.header.title
        ));
    }
    if summary.errors > 0 {
        Exit::Errors
    } else {
        Exit::Done
    }
}

/// The command that goes on with this run.
fn again(out: &Path, is_out_given: bool) -> String {
    let mut words: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
    if !is_out_given {
        words.extend(["-o".to_owned(), quoted(&out.display().to_string())]);
    }
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quoted("disk=/mnt/nvme0"), "disk=/mnt/nvme0");
        assert_eq!(quoted("Micron 7400=/mnt/a"), "'Micron 7400=/mnt/a'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
