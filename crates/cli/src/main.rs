//! The `tailmark` program: arguments in, exit code out. The only crate that prints.

mod anatomy;
mod args;
mod check;
mod clean;
mod compare;
mod complete;
mod device;
mod exit;
mod export;
mod import;
mod job;
mod key_flags;
mod list;
mod live;
mod log;
mod observers;
mod point_name;
mod prepare;
mod progress;
mod report;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod run;
mod screen;

use args::{Args, Command};
use clap::{
    Parser,
    error::{ContextKind, ContextValue},
};
use std::{ffi::OsString, path::Path, process::ExitCode};
use tailmark_cluster::{is_first, let_first_speak};
use tailmark_console::{Console, Exit, closed, take_signals};

/// Names under which it replaces another program, the command for each, and whether this build has
/// it.
const STANDS_IN: &[(&str, &str, bool)] = &[
    ("db_bench", "db-bench", cfg!(feature = "db-bench")),
    ("ycsb", "ycsb", cfg!(feature = "ycsb")),
    ("ycsb.sh", "ycsb", cfg!(feature = "ycsb")),
];

fn main() -> ExitCode {
    let console = &Console::standard();
    // First, so that a signal at any time ends the program with the code for it.
    if let Err(error) = take_signals() {
        console.error(&error);
        return Exit::Failed.into();
    }
    let args = match Args::try_parse_from(words()) {
        Ok(args) => args,
        Err(requested) => {
            return misunderstood(&requested, console).into();
        }
    };
    if let Err(error) = log::start(args.verbose) {
        console.error(&error);
        return Exit::Usage.into();
    }
    let done = match &args.command {
        Command::Run(args) => run::run(args, console),
        Command::Report(args) => report::report(args, console),
        Command::History(args) => report::history(args, console),
        Command::Compare(args) => compare::compare(args, console),
        Command::Anatomy(args) => anatomy::anatomy(args, console),
        Command::Check(args) => check::run(args, console),
        Command::Device(args) => device::device(args, console),
        Command::Clean(args) => clean::clean(args, console),
        Command::Restore => prepare::restore(console),
        Command::Export(args) => export::export(args, console),
        Command::Import(args) => import::import(args, console),
        #[cfg(feature = "ycsb")]
        Command::Ycsb(args) => tailmark_ycsb::ycsb(&args.words, console),
        #[cfg(feature = "db-bench")]
        Command::DbBench(args) => tailmark_db_bench::db_bench(&args.words, console),
        #[cfg(feature = "rocksdb")]
        Command::RocksDb(args) => rocksdb::rocksdb(args, console),
        Command::List(args) => list::list(args, console),
        Command::Completions(args) => complete::completions(args, console),
        Command::Man(args) => complete::man(args, console),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            if closed(&error).is_none() {
                console.error(&error);
            }
            exit::of(&error).into()
        }
    }
}

/// Prints a usage error, or the requested help or version. Of several processes only one does. A
/// closed pipe is no error.
fn misunderstood(requested: &clap::Error, console: &Console) -> Exit {
    if requested.use_stderr() {
        let_first_speak();
        // It quotes the command line, which may hold terminal control sequences.
        let said = not_built(requested).unwrap_or_else(|| requested.render().to_string());
        console.warn(said.trim_end());
        return Exit::Usage;
    }
    if is_first() {
        let _ = requested.print();
    }
    Exit::Done
}

/// The error for a command that this build lacks.
fn not_built(requested: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = requested.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let mut rows = STANDS_IN.iter();
    rows.find(|(_, command, is_built)| command == word && !is_built)?;
    Some(format!(
        "error: this program was built without `tailmark {word}`; `./dev build` builds one with it"
    ))
}

/// The words of the command line. Called by the name of a program that it stands in for (a link
/// named `db_bench` or `ycsb`), it does what that does: scripts that look for a process of that name find it.
fn words() -> Vec<OsString> {
    let mut words: Vec<_> = std::env::args_os().collect();
    let name = words.first().and_then(|word| Path::new(word).file_name());
    let stands_in = name.and_then(|name| STANDS_IN.iter().find(|(program, _, _)| name == *program));
    if let Some((_, command, _)) = stands_in {
        words.insert(1, command.into());
    }
    words
}
