//! `tailmark ycsb`: the drop-in for YCSB's `bin/ycsb` and its Java client. The same options,
//! properties and output; `docs/YCSB.md` lists intended differences.

mod binding;
mod call;
mod core;
mod decorators;
mod exporter;
mod java;
mod measurement;
#[cfg(test)]
mod mutations;
mod options;
mod properties;
mod seed;
mod status;
mod study;
mod tally;
mod watch;

use anyhow::Context;
use binding::Binding;
use options::{Action, Options};
use tailmark_console::{Console, Exit};
use tailmark_model::secret::masked_words;

const HELP: &str = "\
Does what YCSB's bin/ycsb does, with its options, properties and output.

Usage: tailmark ycsb load|run DATABASE [OPTIONS]
       tailmark ycsb -load|-t -db CLASS [OPTIONS]

Options of YCSB:
  -P FILE        read properties from a file; a later file wins over an earlier one
  -p NAME=VALUE  set a property; wins over every file
  -threads N     clients (default 1)
  -target N      operations per second over all clients (default: as fast as they can)
  -s             print status lines to standard error every status.interval (10) seconds
  -l LABEL       prefix of status lines
  -load, -t      the loading phase, the transaction phase (with -db)
  -db CLASS      the class of a binding
  -cp, -jvm-args accepted but ignored

Options of tailmark:
  -o DIR         add the call to the study in DIR, and write DIR/report.html
  --system NAME  the system's name in the study (default: the database's)
  --for-ycsb     write tables that RocksDB 6.0 and later can read, as YCSB's development version
                 does, even if an options file or the existing database says otherwise; the default
                 if there is neither
  --upgrade      write to a database even if the version that wrote it cannot read it afterwards

Properties of tailmark:
  tailmark.semantics        faithful (YCSB's, the default) or correct
  tailmark.seed             seed of all random draws (default: a new one each time)
  tailmark.compressibility  share of a value that is not random, with semantics correct (default 0)
  rocksdb.SETTING           any setting of the driver (tailmark list drivers), such as
                            rocksdb.block_cache=1GiB; likewise for other databases

Exit codes: 0 done, 1 failed, 2 wrong options, properties or place, 3 done but requests failed,
130 stopped by Ctrl-C.";

/// Carries out one call.
pub fn ycsb(words: &[String], console: &Console) -> anyhow::Result<Exit> {
    let options = match Options::parse(words) {
        Ok(options) if options.help || words.is_empty() => {
            console.say(HELP)?;
            return Ok(if options.help {
                Exit::Done
            } else {
                Exit::Usage
            });
        }
        Ok(options) => options,
        Err(wrong) => return refuse(&wrong.into(), console),
    };
    let action = options.action();
    let name = match &options.database {
        Some(name) => name.as_str(),
        None => options.properties.text_or("db", "site.ycsb.BasicDB"),
    };
    let prepared = Binding::find(name).and_then(|binding| {
        echo(binding, words, action, console);
        call::Call::prepare(binding, &options, console)
    });
    match prepared {
        Ok(call) => {
            for line in options.properties.warnings() {
                console.warn(&line);
            }
            call.run(&options)
        }
        Err(wrong) => refuse(&wrong, console),
    }
}

/// Prints what is wrong with the call, on standard output like YCSB and on standard error.
fn refuse(wrong: &anyhow::Error, console: &Console) -> anyhow::Result<Exit> {
    console.warn(&format!("error: {wrong:#}"));
    console.warn("try `tailmark ycsb --help`");
    Ok(Exit::Usage)
}

/// The lines with which YCSB's client begins.
fn echo(binding: &Binding, words: &[String], action: Action, console: &Console) {
    let given = if words.first().is_some_and(|word| !word.starts_with('-')) {
        let rest = masked_words(words.get(2..).unwrap_or_default());
        let action = if action == Action::Load {
            "-load"
        } else {
            "-t"
        };
        format!("-db {} {rest} {action}", binding.class())
    } else {
        masked_words(words)
    };
    console.warn(&format!("Command line: {given}"));
    console.warn("YCSB Client 0.17.0\n\nLoading workload...");
}

/// The name of the workload: from its file or from the properties.
fn workload_name(options: &Options) -> String {
    let stem = options
        .workload_file
        .as_deref()
        .and_then(|path| path.file_stem());
    match (options.properties.text("tailmark.workload"), stem) {
        (Some(name), _) => name.to_owned(),
        (None, Some(stem)) => stem.to_string_lossy().into_owned(),
        (None, None) => "ycsb".to_owned(),
    }
}

/// A driver's settings, checked.
fn checked(
    driver: &'static tailmark_driver::Driver,
    given: &std::collections::BTreeMap<String, String>,
    data: &tailmark_driver::DataSet,
) -> anyhow::Result<tailmark_driver::Settings> {
    tailmark_driver::Settings::check(driver, given, data, 1.0)
        .context("a setting of the database is wrong")
}
