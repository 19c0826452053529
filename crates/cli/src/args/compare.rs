//! The arguments of `tailmark compare`.

use super::examples;
use clap::ValueEnum;
use std::path::PathBuf;
use tailmark_model::Metric;
use tailmark_report::{Condition, band, metric};

/// `tailmark compare`
#[derive(Debug, clap::Args)]
#[command(after_help = examples::COMPARE)]
pub struct CompareArgs {
    /// Run directory or study file
    #[arg(value_name = "STUDY")]
    pub study: PathBuf,
    /// Earlier study: compare each system with itself there
    #[arg(value_name = "BASELINE")]
    pub baseline_study: Option<PathBuf>,
    /// System to judge; default: the first of the plan
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// System to judge it against; default: the other one
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Metric to show; repeatable; default: mean to p99.9, the plan's
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric)]
    pub metrics: Vec<Metric>,
    /// Exit with 4 if it is met, 5 if that is unsure; repeatable
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub fail_if: Vec<Condition>,
    /// Exit with 0, not 5, if it is unsure
    #[arg(long)]
    pub allow_unsure: bool,
    /// Ratios this close to 1 count as equal; default: the plan's
    #[arg(long, value_name = "PERCENT", value_parser = band)]
    pub equivalence: Option<f64>,
    /// Output format: text, md, html or json
    #[arg(long, value_enum, default_value = "text", hide_possible_values = true)]
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
