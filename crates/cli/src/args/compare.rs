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
      each system of the study `branch` against itself in `main`

A condition is METRIC worse|better|differs by N% [in WORKLOAD]. It is checked at every point that
both have, or only at the peaks: `peak ops worse by 3%`.
  shown (exit code 4)        the difference is that large at some point, and p, adjusted for all
                             points of the metric, is under 0.05
  not shown (exit code 0)    one-sided 95 % bounds rule it out at every point
  cannot tell (exit code 5)  otherwise; the output says how many repeats would help";

/// `tailmark compare`
#[derive(Debug, clap::Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// Run directory or study file
    #[arg(value_name = "STUDY")]
    pub study: PathBuf,
    /// Another study: compare each system with itself there. Default: compare two systems of STUDY
    #[arg(value_name = "BASELINE")]
    pub baseline_study: Option<PathBuf>,
    /// System to judge. Default: the first of the plan
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// System to judge it against. Default: the other one; with two studies, the same name
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Metric to show, such as ops or 'p99.9 read'; repeat it for more. Default: ops, and mean, p99
    /// and p99.9 of each kind of request
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric)]
    pub metrics: Vec<Metric>,
    /// Exit with 4 if this is shown, with 5 if the runs cannot tell; repeat it for more
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub fail_if: Vec<Condition>,
    /// Exit with 0, not 5, if the runs cannot tell
    #[arg(long)]
    pub allow_cannot_tell: bool,
    /// Ratios this close to 1 count as equivalent. Default: report.equivalence of the plan, or 3%
    #[arg(long, value_name = "PERCENT", value_parser = band)]
    pub equivalence: Option<f64>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: CompareFormat,
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a terminal
    Text,
    /// GitHub Markdown
    Md,
    /// A page for a browser
    Html,
    /// For a program
    Json,
}
