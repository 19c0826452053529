//! The study file, histograms, quantiles, and its exports.
//!
//! The model (what a study holds) is plain data in [`model`]; everything else reads or writes it.

mod bandwidth;
mod bits;
pub mod compare;
pub mod comparison;
pub mod conditions;
mod error;
pub mod export;
pub mod failure;
mod file;
pub mod finding;
pub mod histogram;
pub mod import;
mod interval;
mod known;
mod metric;
pub mod model;
pub mod number;
mod open_loop;
pub mod packed;
pub mod qos;
pub mod quantile;
mod renamed;
mod report_settings;
mod stated;
pub mod statistics;
pub mod study;
mod summary;

pub use bandwidth::{Bandwidth, DeviceBandwidth};
pub use comparison::{Comparison, Run, Verdict, comparisons};
pub use conditions::{Conditions, Inequality};
pub use error::{Damaged, Error};
pub use export::{FORMATS, Format};
pub use failure::{ALLOW_ERRORS, ALLOW_ERRORS_KEY, Fault};
pub use file::NewFile;
pub use finding::{FINDINGS, Finding, FindingCode};
pub use histogram::new_latencies;
pub use interval::coarsen;
pub use known::Known;
pub use metric::{Metric, STATISTICS, Statistic, TimeBasis};
pub use model::*;
pub use open_loop::{Arrivals, Censored, LagCauses, ResolvedRate, StartLag};
pub use packed::new_interval_latencies;
pub use qos::{BlockQos, BlockValue, Qos};
pub use quantile::{QUANTILES, Quantile, quantile};
pub use renamed::{RENAMED_KEYS, present_key};
pub use report_settings::ReportSettings;
pub use stated::{Bound, Stated};
pub use study::Study;
pub use summary::Summary;
