//! `tailmark db-bench`: a drop-in for RocksDB's db_bench.
//!
//! It has the same flags, keys, values, data sets and output text. The work is done by the loop of
//! all other workloads. With `-o DIR` each benchmark is also a point of a study. Information that
//! db_bench does not report follows each result on standard error.

mod benchmarks;
mod date;
mod flags;
mod histogram;
mod measure;
#[cfg(test)]
mod mutations;
mod options;
mod run;
mod study;
mod summary;
mod tally;
mod text;
mod tools;
mod watch;

use anyhow::{Context, anyhow, bail};
use flags::{Flags, InfoRequest};
use std::path::PathBuf;
use tailmark_console::{Console, Exit, Refused, listen};
use tailmark_driver::{Driver, Location};
use tailmark_engine::Stop;

/// Does what db_bench does with these arguments. `-o DIR` and `--upgrade` are ours.
///
/// # Errors
/// Names what is wrong, before anything is measured if possible.
pub fn db_bench(words: &[String], console: &Console) -> anyhow::Result<Exit> {
    let (own, words) = take_out(words).map_err(Refused::because)?;
    let flags = Flags::parse(&words).map_err(Refused::because)?;
    match flags.requested {
        Some(InfoRequest::Help) => return help(console),
        Some(InfoRequest::Version) => {
            console.say(&format!(
                "db_bench of tailmark {}",
                env!("CARGO_PKG_VERSION")
            ))?;
            return Ok(Exit::Done);
        }
        None => {}
    }
    flags
        .warnings
        .iter()
        .for_each(|warning| console.warn(&format!("warning: {warning}")));
    let stop = Stop::new();
    listen(&stop, console, || None)?;
    let run = run::BenchmarkRun::new(&flags, own, stop, console.clone());
    let mut run = run.map_err(Refused::because)?;
    let entries = run.open().map_err(Refused::because)?;
    run.run(&entries)
}

/// What db_bench does not have.
#[derive(Default)]
pub(crate) struct TailmarkFlags {
    /// The study that the call becomes a part of.
    pub out: Option<PathBuf>,
    /// Whether the version that wrote the database may be locked out of it.
    pub upgrade: bool,
}

/// Splits off `-o DIR` and `--upgrade`.
fn take_out(words: &[String]) -> anyhow::Result<(TailmarkFlags, Vec<String>)> {
    let mut rest = Vec::new();
    let (mut own, mut words) = (TailmarkFlags::default(), words.iter());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" => own.out = Some(words.next().context("-o needs a directory")?.into()),
            "--upgrade" => own.upgrade = true,
            _ => rest.push(word.clone()),
        }
    }
    Ok((own, rest))
}

fn help(console: &Console) -> anyhow::Result<Exit> {
    console.say("tailmark db-bench [-o DIR] [--upgrade] --benchmarks=LIST --db=DIR [FLAG]...\n")?;
    console.say("The flags of RocksDB's db_bench that have an effect, with their defaults:")?;
    let mut all: Vec<_> = flags::effective().collect();
    all.sort_unstable_by_key(|row| row.0);
    for (name, _, default) in all {
        console.say(&format!("  --{name}={default}"))?;
    }
    let names: Vec<_> = benchmarks::BENCHMARKS
        .iter()
        .map(|(name, _)| *name)
        .collect();
    console.say(&format!("\nBenchmarks: {}", names.join(", ")))?;
    console.say(
        "--upgrade lets benchmarks write to a database even if the RocksDB that wrote it cannot \
         read it afterwards.\n\
         --library runs benchmarks with another RocksDB: a version, shared library or jar.",
    )?;
    console.say("NAME[X3-W1] runs a benchmark once to warm up, then three times.")?;
    Ok(Exit::Done)
}

/// The directory of the database.
fn location(flags: &Flags, driver: &Driver) -> anyhow::Result<Location> {
    let path = flags.text("db");
    if path.is_empty() {
        bail!("--db is missing: the directory of the database");
    }
    if let Some(accepted) = driver.refuses_place(path) {
        bail!("--db is `{path}`, but it must be {accepted}");
    }
    Location::of_directory(path).map_err(|why| anyhow!("--db is `{path}`, but {why}"))
}
