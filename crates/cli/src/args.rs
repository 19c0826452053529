//! What can be typed. Values of plan keys are text here: the plan checks them, so that a flag, a
//! `--set` and a plan file are refused in the same words.

mod compare;
mod device;

pub use compare::{CompareArgs, CompareFormat};
pub use device::{DeviceArgs, DeviceCommand, ListDevicesArgs, PrepareDeviceArgs, ShowDeviceArgs};

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
      what a plan says; the same command again goes on where it was stopped
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
  0    done
  1    something failed while it was being done
  2    the arguments, the plan or a place in it are wrong; nothing was measured
  3    everything was measured, but the study holds points that failed (--retry-failed); of check:
       problems were found
  4    of compare: a condition of --fail-if is shown
  5    of compare: whether one holds cannot be told (0 with --allow-cannot-tell)
  130  stopped by Ctrl-C, SIGTERM or a closed terminal; the same command goes on";

const CHECK_EXAMPLES: &str = "\
Examples:
  tailmark check
      the machine alone
  tailmark check PLAN.toml && tailmark run PLAN.toml
  tailmark check --system disk=/mnt/nvme0/t --records 10M --format json

Nothing is changed. The machine is watched for two seconds: let it be as idle as it is to be.
Exit code 0: no problem was found (remarks are none); 3: problems were found.";

const CLEAN_EXAMPLES: &str = "\
Examples:
  tailmark clean quickstart
      what the quickstart left; nothing is removed
  tailmark clean study --yes
      removes what the run in the directory `study` made; the study and its report stay
  tailmark clean PLAN.toml -o study --results --yes
      the study and its report too

Data is removed only if a marker beside it names this study. What else the study names is printed
as `not touched`. Exit code 3: something of the study may be left there.";

const RUN_EXAMPLES: &str = "\
Examples:
  tailmark run quickstart --dry-run
  tailmark run quickstart --system disk=/mnt/nvme0/tailmark --scale 10 --duration 60s
  tailmark run micron-7400-rocksdb --scale 0.001 --system 'Micron 7400=/mnt/a' \\
      --system 'Micron 7300=/mnt/b' -o study
  tailmark run --system disk=/mnt/nvme0/t --threads 8 --rate 20k --set database.block_cache=1GiB

DIR/study.sqlite is the study, DIR/report.html the report. Ctrl-C ends the run: finished points are
kept, and the same command with the same -o goes on. A second Ctrl-C ends it at once.";

/// Qualifies storage for NoSQL databases: a plan in, a comparison report out.
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
    /// Load, sweep, capture and report, as a plan or flags say
    Run(Box<RunArgs>),
    /// Write the report of one study, or one over several
    Report(ReportArgs),
    /// Write an index page of the studies in a folder: headlines, trends, and where levels changed
    History(HistoryArgs),
    /// Judge two systems of a study, or the systems of two studies; fail where one is worse
    Compare(CompareArgs),
    /// Say what about this machine or a plan would spoil a result, and what to do about it
    Check(Box<CheckArgs>),
    /// The block devices of this machine, and what is known of one
    Device(DeviceArgs),
    /// Put back what a run that was killed has left changed on this machine: settings, mounts
    Restore,
    /// Remove what a run made: data sets, directories, tables, control groups. Lists it first
    Clean(CleanArgs),
    /// Write what was measured in another format
    Export(ExportArgs),
    /// What there is: drivers, workloads, distributions, probes, metrics, sections, formats, plans,
    /// keys, checks
    List(ListArgs),
    /// Read results of other programs into a study
    Import(ImportArgs),
    #[cfg(feature = "ycsb")]
    /// Do what YCSB's bin/ycsb does: its options, properties and output (`tailmark ycsb --help`)
    #[command(disable_help_flag = true)]
    Ycsb(YcsbArgs),
    #[cfg(feature = "db-bench")]
    /// Do what RocksDB's db_bench does: its flags, benchmarks and output
    #[command(disable_help_flag = true)]
    DbBench(DbBenchArgs),
    /// Write the completions of a shell to standard output
    Completions(CompletionsArgs),
    /// Write the manual page to standard output, or those of all commands to a directory
    Man(ManArgs),
}

/// `tailmark run`
#[derive(Debug, clap::Args)]
#[command(after_help = RUN_EXAMPLES, allow_negative_numbers = true)]
pub struct RunArgs {
    /// What is run.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// The run directory; one with an unfinished run of the same plan goes on. Default:
    /// study-PLAN, or study-TIME without a plan
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure those points of the study again that failed: more than sweep.allow_errors of their
    /// operations, for want of a database, or without finding anything
    #[arg(long, display_order = KeyFlags::order(27))]
    pub retry_failed: bool,
    /// What may be erased before.
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Print every step, the expected time and space, and do nothing
    #[arg(long, display_order = KeyFlags::order(28))]
    pub dry_run: bool,
    /// The formats of the report, such as html,pdf,png (`tailmark list formats`)
    #[arg(
        long = "format", value_name = "FORMAT,...", value_delimiter = ',', default_value = "html,brief",
        value_parser = report_formats(), display_order = KeyFlags::order(29)
    )]
    pub formats: Vec<String>,
    /// Serve the growing report while it is measured: on a free port of this machine, or at an address
    /// that others reach too, with a token
    #[arg(
        long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:0", display_order = KeyFlags::order(29)
    )]
    pub live: Option<SocketAddr>,
}

/// A plan, and what is changed of it.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// A plan file, or the name of a shipped plan (`tailmark list plans`); none: flags alone
    #[arg(value_name = "PLAN")]
    pub name: Option<String>,
    /// A system under test: a directory, a block device or the contact points of a server, as the
    /// driver takes it. Repeat it to compare. Replaces the systems of the plan; one of the same
    /// name keeps its other keys
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
    /// Erase and prepare the device of this serial number, or let a load overwrite it, as the plan
    /// says: all that is on it is lost. Repeat it for each device
    #[arg(long, value_name = "SERIAL", display_order = KeyFlags::order(25))]
    pub erase: Vec<String>,
    /// Destroy also this, which is on such a device and not tailmark's, as the refusal names it
    #[arg(long, value_name = "SIGNATURE", display_order = KeyFlags::order(25))]
    pub overwrite_signature: Vec<String>,
    /// Trust that this program, whose open files cannot be seen, does not use such a device
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
    /// A run directory with its study, or the plan of the run
    #[arg(value_name = "PLAN|STUDY")]
    pub what: String,
    /// The run directory of the plan. Default: study-PLAN
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Remove the study too, with its report and the logs of services
    #[arg(long)]
    pub results: bool,
    /// Remove it; without this, it is only listed
    #[arg(long)]
    pub yes: bool,
}

/// `tailmark report`
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Run directories; several make one report
    #[arg(required = true, value_name = "DIR")]
    pub studies: Vec<PathBuf>,
    /// The directory to write into; without it, the format terminal goes to standard output
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// The formats, such as html,pdf,png (`tailmark list formats`)
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
    /// An earlier study: every system that it has too is compared with what it was
    #[arg(long, value_name = "DIR", display_order = KeyFlags::order(26))]
    pub against: Option<PathBuf>,
}

/// `tailmark history`
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// The folder, whose page is FOLDER/index.html. Studies are looked for three directories deep
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// What is followed beside the peaks, at the highest thread count or rate: any metric, such as
    /// 'p99.9 read'; repeat it for more. Default: report.metric of each study's plan
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
    /// How it is written
    #[arg(long, value_enum, default_value = "text", display_order = KeyFlags::order(30))]
    pub format: TextFormat,
}

/// How a command writes what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For a person.
    Text,
    /// One document, for a program.
    Json,
}

/// `tailmark export`
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// A run directory
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// The format
    #[arg(long, value_parser = export_formats())]
    pub format: String,
    /// The file to write; without it, standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Leave out serial numbers, host names and addresses
    #[arg(long)]
    pub redact: bool,
}

/// `tailmark import`
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The format of the files
    #[arg(value_parser = import_formats())]
    pub format: String,
    /// Files; histogram logs come with the one text that they belong to
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The directory of the study; made where there is none, and otherwise added to
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub out: PathBuf,
    /// The system's name; without it, the first word of the file's name
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub system: Option<String>,
    /// The workload's name; without it, that of the workload file in the echoed command line
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub workload: Option<String>,
    /// The number of clients; without it, as the command line or the file's name says
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// The title of a new study
    #[arg(long, value_name = "TEXT", value_parser = name)]
    pub title: Option<String>,
    /// How keys were drawn, such as uniform; without it, as the file says
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub distribution: Option<String>,
    /// The database, such as rocksdb; without it, the program that the file is of
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub driver: Option<String>,
    /// What the values of histogram logs (hlog) are, which they do not say; the export's are ns
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
    /// What to list; everything without it
    #[arg(value_enum)]
    pub kind: Option<ListKind>,
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
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `tailmark man`
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page for each command into this directory
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
