//! The highest rate that holds service level objectives: judging a trial, and searching over rates.
//! `docs/METHOD.md` has the rules.

mod blame;
pub mod counts;
pub mod search;
mod trial;
mod verdict;
pub mod words;

pub use search::{Answer, Next, Status};
pub use trial::{Slo, Trial, TrialResult};
pub use verdict::{ShareOver, Verdict, is_rising};
