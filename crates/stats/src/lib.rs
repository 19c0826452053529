//! Statistics of runs: comparisons and their tests, steady state, ladders, the search for the
//! highest rate that holds, scaling laws.
//!
//! Pure functions of the data in `tailmark-model`: no file, no clock.

pub mod comparison;
pub mod conditions;
pub mod ladder;
pub mod scaling;
pub mod slo;
pub mod statistics;
pub mod steady;
mod worst;

pub use comparison::{Comparison, Run, Verdict, comparisons};
pub use conditions::{Conditions, Inequality, RunConditions};
pub use slo::Verdict as TrialVerdict;
pub use worst::{Unusual, WATCHED, WORST, Watched, WorstSecond, worst_seconds};
