//! `tailmark clean`: lists what a study created and still exists, and removes it with `--yes`.

use crate::{
    args::{CleanArgs, PlanArgs},
    key_flags::KeyFlags,
    run::{default_out, raw_plan},
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use tailmark_console::{Console, Exit, Refused};
use tailmark_model::printable;
use tailmark_plan::Plan;
use tailmark_runner::{Cleaning, Results};
use tailmark_study::Study;

/// Lists what the study created, and removes it if the arguments say so.
pub fn clean(args: &CleanArgs, console: &Console) -> anyhow::Result<Exit> {
    let (out, plan) = named(args)?;
    if !Study::exists(&out) {
        let why = format!(
            "there is no study in `{}`; give the run directory, or its plan and -o DIR",
            out.display()
        );
        return Err(Refused(why).into());
    }
    let results = if args.results {
        Results::Remove
    } else {
        Results::Keep
    };
    let cleaning = Cleaning::look(&out, plan.as_ref(), results)?;
    for (place, why) in &cleaning.not_touched {
        // A name in a study may have several lines.
        console.say(&printable(&format!("not touched: {place} ({why})")))?;
    }
    let may_be_left = cleaning.may_be_left.join(", ");
    let mut failed = Vec::new();
    if cleaning.is_empty() && may_be_left.is_empty() {
        console.say("nothing of this study is left")?;
    } else if args.yes {
        failed = cleaning.remove(&|line| console.warn(&printable(line)));
    } else if !cleaning.is_empty() {
        for line in cleaning.lines() {
            console.say(&printable(&format!("would remove {line}")))?;
        }
        console.say("nothing is removed yet: add --yes to remove all of this")?;
    }
    for why in &failed {
        console.warn(&format!("not removed: {why}"));
    }
    if !may_be_left.is_empty() {
        let line = format!("something of this study may be left at {may_be_left}");
        console.say(&printable(&line))?;
    }
    Ok(if !failed.is_empty() {
        Exit::Failed
    } else if !may_be_left.is_empty() {
        Exit::Errors
    } else {
        Exit::Done
    })
}

/// The run directory, and the plan if one is named.
fn named(args: &CleanArgs) -> anyhow::Result<(PathBuf, Option<Plan>)> {
    let path = Path::new(&args.what);
    if path.is_dir() || is_database(path) {
        if args.out.is_some() {
            let why = format!("`{}` is a study: use -o only with a plan", path.display());
            return Err(Refused(why).into());
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let out = if path.is_dir() {
            path
        } else {
            above.unwrap_or(Path::new("."))
        };
        return Ok((out.to_owned(), None));
    }
    let raw = raw_plan(&PlanArgs {
        name: Some(args.what.clone()),
        systems: Vec::new(),
        keys: KeyFlags::default(),
        set: Vec::new(),
    })?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&raw));
    Ok((out, Some(raw.check()?)))
}

/// Whether a file is one of SQLite, as studies are.
fn is_database(path: &Path) -> bool {
    // A plan may come through a pipe, which must not be read here.
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 15];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"SQLite format 3"
}
