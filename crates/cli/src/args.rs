//! The command line. Values of plan keys are text here and the plan checks them, so that a flag, a
//! `--set` and a plan file give the same errors.

mod compare;
mod device;
#[cfg(feature = "rocksdb")]
mod rocksdb;

pub use compare::{CompareArgs, CompareFormat};
pub use device::{DeviceArgs, DeviceCommand, ListDevicesArgs, PrepareDeviceArgs, ShowDeviceArgs};
#[cfg(feature = "rocksdb")]
pub use rocksdb::{FetchArgs, ListVersionsArgs, RocksDbArgs, RocksDbCommand};

use crate::key_flags::{KeyFlags, ReportFlags};
use clap::{Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use std::{net::SocketAddr, path::PathBuf};
use tailmark_model::Metric;
use tailmark_plan::Consent;
use tailmark_report::any_metric;

const EXAMPLES: &str = "\
Examples:
  tailmark run quickstart
      this directory's disk against /dev/shm, in less than five minutes
  tailmark run PLAN.toml -o study
      the plan in a file; run the same command again to resume
  tailmark run --system disk=/mnt/nvme0/t --system ram=/dev/shm/t --workload ycsb-a,ycsb-c \\
      --records 100k --threads 1,4,16 --duration 5s -o study
      the same from flags alone
  tailmark report study -o page
  tailmark report study --format terminal | less
  tailmark compare study base --fail-if 'p99.9 read worse by 5%'
  tailmark export study --format csv -o study.csv
  tailmark check PLAN.toml
  tailmark device list
  tailmark list drivers

Exit codes:
  0    success
  1    something failed during the work; finished points are kept
  2    the arguments, the plan or a place in it are wrong; nothing was measured
  3    run: the study holds failed points (--retry-failed); check: problems found
  4    compare: a condition of --fail-if is shown
  5    compare: the runs cannot tell (0 with --allow-cannot-tell)
  130  stopped by Ctrl-C, SIGTERM or a closed terminal; the same command resumes";

const CHECK_EXAMPLES: &str = "\
Examples:
  tailmark check
      only the machine
  tailmark check PLAN.toml && tailmark run PLAN.toml
  tailmark check --system disk=/mnt/nvme0/t --records 10M --format json

Changes nothing. Watches the machine for two seconds, so let it be idle.
Exit code 0: no problems, perhaps remarks; 3: problems found.";

const CLEAN_EXAMPLES: &str = "\
Examples:
  tailmark clean quickstart
      lists what the quickstart left; removes nothing
  tailmark clean study --yes
      removes what the run in the directory `study` made; the study and its report stay
  tailmark clean PLAN.toml -o study --results --yes
      the study and its report too

Removes data only if a marker beside it names this study. Prints the rest as `not touched`.
Exit code 3: something of the study may be left there.";

const RUN_EXAMPLES: &str = "\
Examples:
  tailmark run quickstart --dry-run
  tailmark run quickstart --system disk=/mnt/nvme0/tailmark --scale 10 --duration 60s
  tailmark run micron-7400-rocksdb --scale 0.001 --system 'Micron 7400=/mnt/a' \\
      --system 'Micron 7300=/mnt/b' -o study
  tailmark run --system disk=/mnt/nvme0/t --threads 8 --rate 20k --set database.block_cache=1GiB

DIR/study.sqlite is the study, DIR/report.html the report. Ctrl-C ends the run and keeps finished
points; the same command resumes. A second Ctrl-C exits at once.";

/// Qualify storage for NoSQL databases: measure, compare and report
#[derive(Debug, Parser)]
#[command(name = "tailmark", version, after_help = EXAMPLES, max_term_width = 100)]
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
    /// Report what about the machine or the plan would spoil a result
    Check(Box<CheckArgs>),
    /// List, show and prepare block devices
    Device(DeviceArgs),
    /// Restore settings and mounts that a killed run left changed
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
#[command(after_help = RUN_EXAMPLES, allow_negative_numbers = true)]
pub struct RunArgs {
    /// What is run.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Run directory; resumes an unfinished run of the same plan. Default: study-PLAN, or
    /// study-TIME without a plan
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure failed points again
    #[arg(long, display_order = KeyFlags::order(27))]
    pub retry_failed: bool,
    /// What may be erased before.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Print every step, time and space; change nothing
    #[arg(long, display_order = KeyFlags::order(28))]
    pub dry_run: bool,
    /// Formats of the report, such as html,pdf,png (`tailmark list formats`)
    #[arg(
        long = "format", value_name = "FORMAT,...", value_delimiter = ',', default_value = "html,brief",
        value_parser = report_formats(), display_order = KeyFlags::order(29)
    )]
    pub formats: Vec<String>,
    /// Serve the growing report to a browser, on a free port of this machine or at an address;
    /// others need the printed token
    #[arg(
        long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:0", display_order = KeyFlags::order(29)
    )]
    pub live: Option<SocketAddr>,
}

/// A plan, and what is changed of it.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// A plan file, or the name of a shipped plan (`tailmark list plans`)
    #[arg(value_name = "PLAN")]
    pub name: Option<String>,
    /// A system under test: a directory, block device or contact points. Repeat it to compare.
    /// Replaces the systems of the plan; one of the same name keeps its other keys
    #[arg(long = "system", value_name = "NAME=WHERE")]
    pub systems: Vec<String>,
    /// The flags that stand for keys of the plan.
    #[command(flatten)]
    pub keys: KeyFlags,
    /// Any key of the plan (`tailmark list keys`), such as database.block_cache=64MiB
    #[arg(long = "set", value_name = "KEY=VALUE", display_order = KeyFlags::order(24))]
    pub set: Vec<String>,
}

/// What whoever prepares devices agrees to.
#[derive(Debug, Default, clap::Args)]
pub struct ConsentArgs {
    /// Erase, prepare or overwrite the device with this serial number, as the plan says: all data
    /// on it is lost. Repeat it for each device
    #[arg(long, value_name = "SERIAL", display_order = KeyFlags::order(25))]
    pub erase: Vec<String>,
    /// Also overwrite this foreign signature (use the name printed by the refusal)
    #[arg(long, value_name = "SIGNATURE", display_order = KeyFlags::order(25))]
    pub overwrite_signature: Vec<String>,
    /// Trust that this program, whose open files are hidden, does not use the device
    #[arg(long, value_name = "PROGRAM", display_order = KeyFlags::order(25))]
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
#[command(after_help = CLEAN_EXAMPLES)]
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
pub struct ReportArgs {
    /// Run directories; several give one report
    #[arg(required = true, value_name = "DIR")]
    pub studies: Vec<PathBuf>,
    /// Directory to write to; `terminal` prints to standard output without it
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Formats, such as html,pdf,png (`tailmark list formats`)
    #[arg(
        long = "format", value_name = "FORMAT,...", value_delimiter = ',', default_value = "html",
        value_parser = report_formats()
    )]
    pub formats: Vec<String>,
    /// What the report is about. Default: as the plan of the first study says it.
    #[command(flatten)]
    pub keys: ReportFlags,
    /// Any key of the table report (`tailmark list keys`), such as report.at_rate=40k
    #[arg(long = "set", value_name = "KEY=VALUE", display_order = KeyFlags::order(26))]
    pub set: Vec<String>,
    /// Compare each system with itself in this earlier study
    #[arg(long, value_name = "DIR", display_order = KeyFlags::order(26))]
    pub against: Option<PathBuf>,
}

/// `tailmark history`
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// Folder with studies, up to two levels below; the page is FOLDER/index.html
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Metric to follow besides the peaks, such as 'p99.9 read'; repeat it for more. Default:
    /// report.metric of each plan
    #[arg(long = "metric", value_name = "METRIC", value_parser = any_metric)]
    pub metrics: Vec<Metric>,
}

/// `tailmark check`
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES, allow_negative_numbers = true)]
pub struct CheckArgs {
    /// The plan whose places are looked at too.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text", display_order = KeyFlags::order(30))]
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
pub struct ExportArgs {
    /// Run directory
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Format
    #[arg(long, value_parser = export_formats())]
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
    /// Name of the system. Default: the first word of the file name
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub system: Option<String>,
    /// Name of the workload. Default: from the command line in the file
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub workload: Option<String>,
    /// Thread count. Default: from the command line in the file, or the file name
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// Title of a new study
    #[arg(long, value_name = "TEXT", value_parser = name)]
    pub title: Option<String>,
    /// How keys were drawn, such as uniform. Default: from the file
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub distribution: Option<String>,
    /// The database, such as rocksdb. Default: the program that wrote the file
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub driver: Option<String>,
    /// Unit of the values in histogram logs (hlog); ns if tailmark exported them
    #[arg(long, value_name = "UNIT", value_parser = import_units())]
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
pub struct ListArgs {
    /// What to list. Default: everything
    #[arg(value_enum)]
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
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `tailmark man`
#[derive(Debug, clap::Args)]
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
}
