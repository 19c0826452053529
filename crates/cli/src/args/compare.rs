//! The arguments of `tailmark compare`.

use clap::ValueEnum;
use std::path::PathBuf;
use tailmark_model::Metric;
use tailmark_report::{Condition, band, metric};

const COMPARE_EXAMPLES: &str = "\
Examples:
  tailmark compare study
      the first system of the plan against the second
  tailmark compare study --system nvme --baseline sata --metric 'p99.9 read' --metric ops
  tailmark compare branch main --fail-if 'ops worse by 5%' --fail-if 'p99.9 read worse by 10%'
      every system of the study in `branch` against itself in `main`

A condition is METRIC worse|better|differs by N% [in WORKLOAD]. It is looked at in every point that
both have, or at the peaks: `peak ops worse by 3%`. It is
  shown (exit code 4)        where the difference is as large somewhere, and p, adjusted for all
                             points of the metric, is under 0.05
  not shown (exit code 0)    where one-sided 95 % bounds rule it out everywhere
  cannot tell (exit code 5)  otherwise; how many repeats are needed is said";

/// `tailmark compare`
#[derive(Debug, clap::Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// The run directory or study file whose systems are judged
    #[arg(value_name = "STUDY")]
    pub study: PathBuf,
    /// Another, the baseline: every system that both have is judged against itself in it. Without
    /// it one system of STUDY is judged against another
    #[arg(value_name = "BASELINE")]
    pub baseline_study: Option<PathBuf>,
    /// The system that is judged. Default: of one study with two systems, the first of the plan, as
    /// in reports
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// The system that it is judged against. Default: of one study with two systems, the other one;
    /// of two studies, that of the same name
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// What is shown: ops, or a latency such as 'p99.9 read'; repeat it for more. Default: ops, and
    /// mean, p99 and p99.9 of each kind of request
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric)]
    pub metrics: Vec<Metric>,
    /// Exit with 4 where this is shown, and with 5 where the runs cannot tell; repeat it for more
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub fail_if: Vec<Condition>,
    /// Exit with 0, not 5, where the runs cannot tell
    #[arg(long)]
    pub allow_cannot_tell: bool,
    /// Ratios this close to 1 count as equivalent. Default: report.equivalence of the plan, or 3%
    #[arg(long, value_name = "PERCENT", value_parser = band)]
    pub equivalence: Option<f64>,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    pub format: CompareFormat,
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a terminal.
    Text,
    /// Markdown with tables as GitHub has them.
    Md,
    /// A page for browsers.
    Html,
    /// One document for programs.
    Json,
}
