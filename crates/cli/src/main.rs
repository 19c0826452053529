//! The `tailmark` program: arguments in, exit code out. The only crate that prints.

mod args;
mod complete;
#[cfg(feature = "rocksdb")]
mod db_bench;
mod exit;
mod export;
mod import;
mod interrupt;
mod list;
mod number;
mod output;
mod progress;
mod report;
mod run;
mod ycsb;

use args::{Args, Command};
use clap::Parser;
use exit::Exit;
use std::{ffi::OsString, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let args = match Args::try_parse_from(words()) {
        Ok(args) => args,
        Err(asked) => {
            // Help and version are errors to clap; a closed pipe is none to us.
            let _ = asked.print();
            return if asked.use_stderr() {
                Exit::Usage.into()
            } else {
                Exit::Done.into()
            };
        }
    };
    let done = match &args.command {
        Command::Run(args) => run::run(args),
        Command::Report(args) => report::report(args),
        Command::Export(args) => export::export(args),
        Command::Import(args) => import::import(args),
        Command::Ycsb(args) => ycsb::ycsb(&args.words),
        #[cfg(feature = "rocksdb")]
        Command::DbBench(args) => db_bench::db_bench(&args.words),
        Command::List(args) => list::list(args),
        Command::Completions(args) => complete::completions(args),
        Command::Man(args) => complete::man(args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) if output::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            output::warn(&format!("error: {error:#}"));
            Exit::of(&error).into()
        }
    }
}

/// The words of the command line. Called by the name of a program that it stands in for (a link
/// named `db_bench`), it does what that does: scripts that look for a process of that name find it.
fn words() -> Vec<OsString> {
    let mut words: Vec<_> = std::env::args_os().collect();
    let name = words.first().and_then(|word| Path::new(word).file_name());
    if cfg!(feature = "rocksdb") && name.is_some_and(|name| name == "db_bench") {
        words.insert(1, "db-bench".into());
    }
    words
}
