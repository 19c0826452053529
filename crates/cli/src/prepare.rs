//! `tailmark device prepare` and `tailmark restore`: prepares the devices of one system, and
//! restores what an ended run left changed on this machine.

use crate::{
    args::{PlanArgs, PrepareDeviceArgs},
    exit,
    key_flags::KeyFlags,
    run::raw_plan,
};
use tailmark_console::{Console, Exit, Refused, listen};
use tailmark_engine::{Observer, Stop};
use tailmark_model::printable;
use tailmark_prepare::LeftChanges;

/// Prepares the devices of one system, or says what that would do.
pub fn prepare(args: &PrepareDeviceArgs, console: &Console) -> anyhow::Result<Exit> {
    let named = PlanArgs {
        name: Some(args.plan.clone()),
        systems: Vec::new(),
        keys: KeyFlags::default(),
        set: args.set.clone(),
    };
    let raw = raw_plan(&named)?;
    let mut plan = raw.check()?;
    plan.consent = args.consent.consent();
    if args.dry_run {
        let here = std::path::Path::new(".");
        let lines = tailmark_runner::dry_run_prepare(&plan, Some(&args.system), here).lines;
        if lines.is_empty() {
            let system = &args.system;
            let why = format!("the plan prepares no device of a system `{system}`");
            return Err(Refused(why).into());
        }
        for line in lines {
            console.say(&printable(&line))?;
        }
        return Ok(Exit::Done);
    }
    let stop = Stop::new();
    listen(&stop, console, LeftChanges::of_this_process)?;
    let lines = Lines(console);
    match tailmark_runner::prepare_alone(&plan, &args.system, &lines, &stop) {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            let error = anyhow::Error::from(error);
            console.error(&error);
            Ok(exit::of(&error))
        }
    }
}

/// Restores what a killed run left changed.
pub fn restore(console: &Console) -> anyhow::Result<Exit> {
    let lines = Lines(console);
    let left = tailmark_runner::restore(&|text| lines.notice(text))?;
    Ok(match left {
        0 => Exit::Done,
        _ => Exit::Errors,
    })
}

/// Each line as it comes.
struct Lines<'a>(&'a Console);

impl Observer for Lines<'_> {
    fn notice(&self, text: &str) {
        self.0.warn(text);
    }

    fn step(&self, text: &str) {
        self.0.warn(text);
    }
}
