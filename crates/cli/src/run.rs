//! `tailmark run`: from the arguments to a checked plan, the run itself, and its report.

use crate::{
    args::{PlanArgs, RunArgs},
    exit, job,
    live::LivePage,
    log::RunLog,
    observers::Observers,
    point_name,
    progress::Progress,
    screen,
};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use tailmark_cluster::{Cluster, let_first_speak};
use tailmark_console::{Console, Exit, closed, listen};
use tailmark_engine::Stop;
use tailmark_model::{
    Fault, PointKey,
    instant::dated,
    number, printable,
    secret::{MASK, masked},
};
use tailmark_plan::{self as plan, Plan, RawPlan};
use tailmark_prepare::{LeftChanges, shell_line};
use tailmark_report::{Written, write_studies};
use tailmark_runner::{Facts, Ranks, Summary, dismiss};
use tailmark_study::Study;

/// Carries out the plan, writes the report and prints its path.
pub fn run(args: &RunArgs, console: &Console) -> anyhow::Result<Exit> {
    let stop = Stop::new();
    let cluster: Arc<dyn Cluster> = job::join().inspect_err(|_| let_first_speak())?;
    if cluster.rank() > 0 {
        if !args.dry_run {
            listen(&stop, console, LeftChanges::of_this_process)?;
            tailmark_runner::follow(cluster, &stop)?;
        }
        return Ok(Exit::Done);
    }
    let read = raw_plan(&args.plan).and_then(|raw| Ok((raw.check()?, raw)));
    let (mut plan, raw) = read.inspect_err(|_| dismiss(&*cluster))?;
    plan.consent = args.consent.consent();
    let out = args.out.clone().unwrap_or_else(|| default_out(&raw));
    let claimed = (args.out.is_none() && raw.name.is_none() && !args.dry_run)
        .then(|| ClaimedDirectory::new(&out));
    let out = claimed.as_ref().map_or(out, |claimed| claimed.0.clone());
    if let Ok(started) = Study::open_read_only(&out) {
        // A study that cannot be read is refused later.
        let _ = tailmark_runner::take_up(&mut plan, &started);
    }
    // The report comes last, and is not to be lost after hours.
    let refuse = || {
        tailmark_report::refuse_unknown_sections(&plan.report)?;
        tailmark_report::refuse_logo(&plan.report, "report.logo")?;
        tailmark_report::refuse_foreign(&formats(args), &out)
    };
    refuse().inspect_err(|_| dismiss(&*cluster))?;
    let of_all = plan.clone();
    let mut plan = plan.at_rank(0, &cluster.host());
    plan.retry_failed = args.retry_failed;
    if args.dry_run {
        let facts = Facts::gather(&plan, &out);
        let dry_run = tailmark_runner::dry_run(&plan, &out, &facts);
        for line in &dry_run.lines {
            console.say(&printable(line))?;
        }
        return Ok(if dry_run.can_run {
            Exit::Done
        } else {
            Exit::Usage
        });
    }
    // Until here nothing was begun, and a signal ends the program at once.
    listen(&stop, console, LeftChanges::of_this_process)?;
    let live = args
        .live
        .map(|address| LivePage::serve(address, &out, console));
    let live = live.transpose().inspect_err(|_| dismiss(&*cluster))?;
    let progress = Progress::new(&plan, console);
    let mut observers = Observers(vec![&progress, &RunLog]);
    observers.0.extend(live.iter().map(LivePage::observer));
    let done = Ranks::lead(cluster, &of_all, &stop).map_err(anyhow::Error::from);
    let done = done.and_then(|ranks| {
        let ran = tailmark_runner::run_on(&ranks, &plan, &out, &observers, &stop);
        Ok(ran?)
    });
    progress.finish();
    // The error that ended the run is printed first, and decides the exit code.
    let exit = match &done {
        Ok(summary) => {
            let exit = conclude(&plan, summary, &out, args.out.is_some(), console);
            let left = left_behind(&plan, &out);
            left.iter().for_each(|left| console.warn(left));
            exit
        }
        Err(error) => {
            console.error(error);
            exit::of(error)
        }
    };
    say_report(args, &out, (exit, done.is_err()), console)
}

/// Writes the report and prints its path. Returns the exit code of the run, which may have failed.
fn say_report(
    args: &RunArgs,
    out: &Path,
    (exit, has_failed): (Exit, bool),
    console: &Console,
) -> anyhow::Result<Exit> {
    match written(args, out, exit) {
        Ok(None) => Ok(exit),
        Ok(Some(page)) if has_failed => {
            let path = page.path().display();
            console.warn(&format!("report of the points measured so far: {path}"));
            Ok(exit)
        }
        Ok(Some(page)) => {
            let digest = page.digest(screen::wide(&io::stderr()));
            digest.iter().for_each(|line| console.warn_styled(line));
            // A reader that is gone is not a failure of the run.
            let mut paths = page.paths.iter();
            match paths.try_for_each(|path| console.say(&path.display().to_string())) {
                Err(error) if closed(&error).is_none() => Err(error),
                _ => Ok(exit),
            }
        }
        Err(error) if matches!(exit, Exit::Done | Exit::Errors) => Err(error),
        Err(error) => {
            console.warn(&format!("the report was not written: {error:#}"));
            Ok(exit)
        }
    }
}

/// Writes the report of the measurements, whatever ended the run; `None` if there are none.
fn written(args: &RunArgs, out: &Path, exit: Exit) -> anyhow::Result<Option<Written>> {
    if exit == Exit::Usage || !Study::exists(out) {
        return Ok(None);
    }
    match write_studies(&[out.to_owned()], &formats(args), out) {
        Ok(page) => Ok(Some(page)),
        Err(tailmark_report::Error::Empty) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn formats(args: &RunArgs) -> Vec<&str> {
    args.formats.iter().map(String::as_str).collect()
}

/// The combination of the plan file and the flags.
pub fn raw_plan(args: &PlanArgs) -> Result<RawPlan, plan::Error> {
    let mut raw = match &args.name {
        Some(name) => RawPlan::find(name)?,
        None => RawPlan::default(),
    };
    args.keys.set(&mut raw)?;
    raw.set_systems(&args.systems)?;
    for assignment in &args.set {
        raw.assign(assignment)?;
    }
    Ok(raw)
}

/// The run directory without `-o`: all runs of a plan use the same one, so that the same command
/// resumes; a run from flags alone gets a new one.
pub fn default_out(raw: &RawPlan) -> PathBuf {
    match &raw.name {
        Some(name) => PathBuf::from(format!("study-{name}")),
        None => {
            let now = humantime::format_rfc3339_seconds(dated(SystemTime::now())).to_string();
            let now = now.replace([':', '-', 'Z'], "").replace('T', "-");
            PathBuf::from(format!("study-{now}"))
        }
    }
}

/// A directory that no other run has, made with the first name that is free; removed again if nothing is
/// put into it.
struct ClaimedDirectory(PathBuf);

impl ClaimedDirectory {
    fn new(wanted: &Path) -> Self {
        let name = |n: u32| match n {
            1 => wanted.to_owned(),
            n => PathBuf::from(format!("{}-{n}", wanted.display())),
        };
        let is_taken = |path: &PathBuf| {
            let made = tailmark_study::owner::create_dir(path);
            made.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
        };
        // If none can be created, the run reports the error.
        let free = (1..).map(name).find(|path| !is_taken(path));
        Self(free.unwrap_or_else(|| wanted.to_owned()))
    }
}

impl Drop for ClaimedDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// What stays on the disk after a run, and the command that removes it; `None` if nothing does.
fn left_behind(plan: &Plan, out: &Path) -> Option<String> {
    let left = tailmark_runner::left_behind(plan);
    let (last, others) = left.split_last()?;
    let names = if others.is_empty() {
        last.clone()
    } else {
        format!("{} and {last}", others.join(", "))
    };
    let out = quoted(out.as_os_str());
    Some(format!(
        "left: {names}; remove it with: tailmark clean {out}"
    ))
}

/// Says how the run ended.
fn conclude(
    plan: &Plan,
    summary: &Summary,
    out: &Path,
    is_out_given: bool,
    console: &Console,
) -> Exit {
    let mut said = format!("{} measured", points(summary.points_measured));
    if summary.trials_measured > 0 {
        let trials = number::plural(summary.trials_measured as u64, "trial");
        said.push_str(&format!(", {trials} of searches"));
    }
    if summary.points_kept > 0 {
        said.push_str(&format!(", {} kept from before", summary.points_kept));
    }
    if summary.points_skipped > 0 {
        said.push_str(&format!(", {} left out", summary.points_skipped));
    }
    if summary.errors > 0 {
        said.push_str(&format!(
            ", {} requests failed",
            number::count(summary.errors)
        ));
    }
    console.warn(&said);
    let left = summary.left();
    left.iter().for_each(|line| console.warn(line));
    if summary.interrupted {
        console.warn(&format!("stopped; to resume: {}", again(out, is_out_given)));
        return Exit::Interrupted;
    }
    let is_idle = summary.points_measured + summary.trials_measured + summary.points_skipped == 0;
    if is_idle {
        console.warn(&format!(
            "all points of `{}` are already measured; to measure them again, give another -o",
            plan.header.title
        ));
    }
    if summary.failed.is_empty() {
        return if left.is_empty() {
            Exit::Done
        } else {
            Exit::Errors
        };
    }
    console.warn(&failed(plan, summary));
    let mut again = again(out, is_out_given);
    if !plan.retry_failed {
        again.push_str(" --retry-failed");
    }
    console.warn(&format!("to measure failed points again: {again}"));
    Exit::Errors
}

/// The points that are no peak, and why.
fn failed(plan: &Plan, summary: &Summary) -> String {
    /// So many are named.
    const NAMED: usize = 3;
    let all = summary.failed.len();
    let name = |(key, fault): &(PointKey, Fault)| format!("{} ({fault})", point_name::name(key));
    let mut named: Vec<_> = summary.failed.iter().take(NAMED).map(name).collect();
    if all > NAMED {
        named.push(format!("{} more", number::count((all - NAMED) as u64)));
    }
    format!(
        "{} failed and {} excluded from peaks and comparisons (sweep.allow_errors is {}): {}",
        points(all),
        if all == 1 { "is" } else { "are" },
        number::percent(plan.sweep.allow_errors),
        named.join("; ")
    )
}

fn points(count: usize) -> String {
    number::plural(count as u64, "point")
}

/// The command that resumes this run, without secrets.
fn again(out: &Path, is_out_given: bool) -> String {
    let mut words: Vec<String> = std::env::args_os().map(|word| quoted(&word)).collect();
    if !is_out_given {
        words.extend(["-o".to_owned(), quoted(out.as_os_str())]);
    }
    let line = words.join(" ");
    let shown = masked(&line);
    if shown == line {
        line
    } else {
        format!("{shown} (with the secret in place of {MASK})")
    }
}

/// A word quoted for the shell; for bash if it is not UTF-8.
fn quoted(word: &OsStr) -> String {
    let Some(word) = word.to_str() else {
        let bytes = word.as_bytes().iter();
        let bytes = bytes.map(|byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
            b' '..=b'~' => char::from(*byte).to_string(),
            byte => format!("\\x{byte:02x}"),
        });
        return format!("$'{}'", bytes.collect::<String>());
    };
    shell_line([word])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        let quoted = |word: &str| super::quoted(OsStr::new(word));
        assert_eq!(quoted("/mnt/nvme0"), "/mnt/nvme0");
        assert_eq!(quoted("Micron 7400=/mnt/a"), "'Micron 7400=/mnt/a'");
        assert_eq!(quoted("it's"), r#""it's""#);
    }

    #[test]
    fn a_word_that_is_no_text_is_the_same_for_bash() {
        let word = OsStr::from_bytes(b"a \xff\xe9'\n\\");
        let script = format!("printf %s {}", quoted(word));
        let printed = std::process::Command::new("bash")
            .args(["-c", &script])
            .output();
        assert_eq!(printed.unwrap().stdout, word.as_bytes());
    }
}
