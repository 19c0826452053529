//! The command line. Values of plan keys are text here and the plan checks them, so that a flag, a
//! `--set` and a plan file give the same errors.

mod anatomy;
mod compare;
mod device;
#[cfg(feature = "rocksdb")]
mod rocksdb;

pub use anatomy::AnatomyArgs;
pub use compare::{CompareArgs, CompareFormat};
pub use device::{DeviceArgs, DeviceCommand, ListDevicesArgs, PrepareDeviceArgs, ShowDeviceArgs};
#[cfg(feature = "rocksdb")]
pub use rocksdb::{FetchArgs, ListVersionsArgs, RocksDbArgs, RocksDbCommand};

use crate::key_flags::{DATA, DEVICES, KeyFlags, REPORT, RUN, ReportFlags};
use clap::{Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use std::{net::SocketAddr, path::PathBuf};
use tailmark_model::Metric;
use tailmark_plan::Consent;
use tailmark_report::any_metric;

mod examples;

/// Qualify storage for NoSQL databases: measure, compare and report
#[derive(Debug, Parser)]
#[command(name = "tailmark", version, after_help = examples::ALL, max_term_width = 100)]
pub struct Args {
    /// Log each step; TAILMARK_LOG=runner=debug,remote=debug chooses parts
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load data, measure and write the report
    Run(Box<RunArgs>),
    /// Write the report of one or several studies
    Report(ReportArgs),
    /// Write an index page of the studies in a folder, with trends
    History(HistoryArgs),
    /// Compare two systems or two studies; a gate for CI
    Compare(CompareArgs),
    /// Print why the slowest requests were slow
    Anatomy(AnatomyArgs),
    /// Report what about the machine or the plan would spoil a result
    Check(Box<CheckArgs>),
    /// List, show and prepare block devices
    Device(DeviceArgs),
    /// Restore settings and mounts that a killed run left changed
    #[command(after_help = examples::RESTORE)]
    Restore,
    /// List what a run made; remove it with --yes
    Clean(CleanArgs),
    /// Write the measurements as JSON, CSV or histogram logs
    Export(ExportArgs),
    /// List drivers, workloads, probes, metrics, plans, keys and more
    List(ListArgs),
    /// Add results of other programs to a study
    Import(ImportArgs),
    #[cfg(feature = "ycsb")]
    /// Stand in for YCSB's bin/ycsb: same options, properties and output
    #[command(disable_help_flag = true)]
    Ycsb(YcsbArgs),
    #[cfg(feature = "db-bench")]
    /// Stand in for RocksDB's db_bench: same flags, benchmarks and output
    #[command(disable_help_flag = true)]
    DbBench(DbBenchArgs),
    #[cfg(feature = "rocksdb")]
    /// List and get the versions of RocksDB for database.library
    #[command(name = "rocksdb")]
    RocksDb(RocksDbArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one per command
    Man(ManArgs),
}

/// `tailmark run`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::RUN, allow_negative_numbers = true)]
pub struct RunArgs {
    /// What is run.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Run directory, new or to resume; default: study-PLAN
    #[arg(
        short = 'o', long = "output", value_name = "DIR", help_heading = RUN, display_order = 0
    )]
    pub out: Option<PathBuf>,
    /// Print every step, time and space; change nothing
    #[arg(long, help_heading = RUN, display_order = 1)]
    pub dry_run: bool,
    /// Measure failed points again
    #[arg(long, help_heading = RUN, display_order = 2)]
    pub retry_failed: bool,
    /// Serve the growing report to a browser; others need its token
    #[arg(
        long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:0", help_heading = RUN, display_order = 3
    )]
    pub live: Option<SocketAddr>,
    /// What may be erased before.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Formats (`tailmark list formats`)
    #[arg(
        long = "format", value_name = "FORMAT,...", value_delimiter = ',', default_value = "html,brief",
        value_parser = report_formats(), hide_possible_values = true, help_heading = REPORT,
        display_order = 0
    )]
    pub formats: Vec<String>,
}

/// A plan, and what is changed of it.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// A plan file, or the name of a shipped plan (`tailmark list plans`)
    #[arg(value_name = "PLAN")]
    pub name: Option<String>,
    /// A directory, device or contact points; repeat it to compare
    #[arg(long = "system", value_name = "NAME=WHERE", help_heading = DATA, display_order = 0)]
    pub systems: Vec<String>,
    /// The flags that stand for keys of the plan.
    #[command(flatten)]
    pub keys: KeyFlags,
    /// Any key of the plan (`tailmark list keys`)
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = RUN, display_order = 99)]
    pub set: Vec<String>,
}

/// The consent to erase and prepare devices.
#[derive(Debug, Default, clap::Args)]
pub struct ConsentArgs {
    /// Erase or overwrite the device with this serial number
    #[arg(long, value_name = "SERIAL", help_heading = DEVICES)]
    pub erase: Vec<String>,
    /// Also overwrite this foreign signature, as the refusal names it
    #[arg(long, value_name = "NAME", help_heading = DEVICES)]
    pub overwrite_signature: Vec<String>,
    /// Trust that this program with hidden files does not use it
    #[arg(long, value_name = "PROGRAM", help_heading = DEVICES)]
    pub trust_program: Vec<String>,
}

impl ConsentArgs {
    /// As the runner takes it.
    pub fn consent(&self) -> Consent {
        Consent {
            serials: self.erase.clone(),
            destroys: self.overwrite_signature.clone(),
            unseen: self.trust_program.clone(),
        }
    }
}

/// `tailmark clean`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::CLEAN)]
pub struct CleanArgs {
    /// A run directory, or the plan of the run
    #[arg(value_name = "PLAN|STUDY")]
    pub what: String,
    /// Run directory of the plan. Default: study-PLAN
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also remove the study, its report and the logs of services
    #[arg(long)]
    pub results: bool,
    /// Remove everything that is listed
    #[arg(long)]
    pub yes: bool,
}

/// `tailmark report`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::REPORT)]
pub struct ReportArgs {
    /// Run directories; several give one report
    #[arg(required = true, value_name = "DIR")]
    pub studies: Vec<PathBuf>,
    /// Directory to write to; without it, `terminal` prints
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Formats (`tailmark list formats`)
    #[arg(
        long = "format", value_name = "FORMAT,...", value_delimiter = ',', default_value = "html",
        value_parser = report_formats(), hide_possible_values = true
    )]
    pub formats: Vec<String>,
    /// Settings of the report; default: those of the plan of the first study.
    #[command(flatten)]
    pub keys: ReportFlags,
    /// Any key of the table `report` (`tailmark list keys`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Compare each system with itself in this earlier study
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,
}

/// `tailmark history`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::HISTORY)]
pub struct HistoryArgs {
    /// Folder with studies, up to two levels below; the page is FOLDER/index.html
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Metric to follow; repeatable; default: report.metric
    #[arg(long = "metric", value_name = "METRIC", value_parser = any_metric)]
    pub metrics: Vec<Metric>,
}

/// `tailmark check`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::CHECK, allow_negative_numbers = true)]
pub struct CheckArgs {
    /// The plan whose places are looked at too.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Output format: text or json
    #[arg(
        long, value_enum, default_value = "text", hide_possible_values = true, help_heading = RUN,
        display_order = 0
    )]
    pub format: TextFormat,
}

/// How a command writes what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For a person
    Text,
    /// For a program
    Json,
}

/// `tailmark export`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::EXPORT)]
pub struct ExportArgs {
    /// Run directory
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Format (`tailmark list formats`)
    #[arg(long, value_parser = export_formats(), hide_possible_values = true)]
    pub format: String,
    /// File to write. Default: standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Leave out serial numbers, host names and addresses
    #[arg(long)]
    pub redact: bool,
}

/// `tailmark import`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::IMPORT)]
pub struct ImportArgs {
    /// Format of the files
    #[arg(value_parser = import_formats())]
    pub format: String,
    /// Files; give histogram logs together with their text output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Directory of the study, new or existing
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: PathBuf,
    /// Name of the system; default: first word of the file name
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub system: Option<String>,
    /// Name of the workload; default: as the file says
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub workload: Option<String>,
    /// Thread count; default: as the file or its name says
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// Title of a new study
    #[arg(long, value_name = "TEXT", value_parser = name)]
    pub title: Option<String>,
    /// How keys were drawn; default: as the file says
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub distribution: Option<String>,
    /// The database; default: the program that wrote the file
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub driver: Option<String>,
    /// Unit of hlog values: ns (by tailmark), us or ms
    #[arg(
        long, value_name = "UNIT", value_parser = import_units(), hide_possible_values = true
    )]
    pub unit: Option<String>,
}

/// `tailmark ycsb`
#[cfg(feature = "ycsb")]
#[derive(Debug, clap::Args)]
pub struct YcsbArgs {
    /// As bin/ycsb takes them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WORDS"
    )]
    pub words: Vec<String>,
}

/// `tailmark db-bench`
#[cfg(feature = "db-bench")]
#[derive(Debug, clap::Args)]
pub struct DbBenchArgs {
    /// As db_bench takes them, and -o DIR for a study
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "WORDS"
    )]
    pub words: Vec<String>,
}

/// `tailmark list`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::LIST)]
pub struct ListArgs {
    /// What to list; default: everything
    #[arg(value_enum, hide_possible_values = true)]
    pub kind: Option<ListKind>,
    /// Print Markdown tables, as in docs/REFERENCE.md
    #[arg(long)]
    pub markdown: bool,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListKind {
    /// Databases and their settings.
    Drivers,
    /// Named mixes of operations.
    Workloads,
    /// How keys are drawn.
    Distributions,
    /// What is watched during a run.
    Probes,
    /// What is stated and compared.
    Metrics,
    /// What qualifies a number.
    Findings,
    /// The parts of a report.
    Sections,
    /// Formats of reports and exports.
    Formats,
    /// Shipped plans.
    Plans,
    /// Keys of a plan.
    Keys,
    /// What `tailmark check` looks at.
    Checks,
    /// The steps of preparing devices and the machine.
    Steps,
    /// What must hold before a device is erased.
    Guards,
}

/// `tailmark completions`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::COMPLETIONS)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `tailmark man`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::MAN)]
pub struct ManArgs {
    /// Write one page per command into this directory
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
}

fn report_formats() -> PossibleValuesParser {
    PossibleValuesParser::new(tailmark_report::FORMATS.iter().map(|format| format.name))
}

fn import_formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        tailmark_study::import::IMPORTS
            .iter()
            .map(|import| import.name),
    )
}

/// A name that can be read in a report.
fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("give a name of one character or more".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn import_units() -> PossibleValuesParser {
    let units = tailmark_study::import::UNITS.iter();
    PossibleValuesParser::new(units.map(|(unit, _)| *unit))
}

fn export_formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        tailmark_study::export::FORMATS
            .iter()
            .map(|format| format.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    /// The words of a command in an example; what a shell would do with its output is left out.
    fn words(line: &str) -> Vec<String> {
        let line = line
            .split([' '])
            .take_while(|word| !["|", "&&", ">"].contains(word));
        let line = line.collect::<Vec<_>>().join(" ");
        let mut words = vec![String::new()];
        for (index, part) in line.split('\'').enumerate() {
            let mut own = part.split(' ');
            let is_quoted = index % 2 == 1;
            let first = if is_quoted { Some(part) } else { own.next() };
            words
                .last_mut()
                .unwrap()
                .push_str(first.unwrap_or_default());
            if !is_quoted {
                words.extend(own.map(ToOwned::to_owned));
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_example_of_a_help_is_accepted() {
        let program = Args::command();
        let commands = program.get_subcommands();
        let all = commands.flat_map(|own| std::iter::once(own).chain(own.get_subcommands()));
        let helps = std::iter::once(&program)
            .chain(all)
            .filter_map(|own| own.get_after_help());
        let mut accepted = 0;
        for help in helps {
            let help = help.to_string().replace("\\\n", "");
            for line in help.lines().filter(|line| line.starts_with("  tailmark ")) {
                let parsed = Args::try_parse_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                accepted += 1;
            }
        }
        assert!(accepted > 30, "{accepted}");
    }

    #[test]
    fn the_help_of_list_names_every_kind() {
        for kind in ListKind::value_variants() {
            let name = kind.to_possible_value().unwrap();
            let named = format!("  {} ", name.get_name());
            assert!(examples::LIST.contains(&named), "{named}");
        }
    }
}
