//! The highest rate that holds service level objectives, measured: what a plan asks for, what a
//! trial of a rate says, and the search over rates. `docs/METHOD.md` has the rules.

mod blame;
pub mod counts;
mod limit;
pub mod search;
mod settings;
mod trial;
mod verdict;
pub mod words;

pub use limit::Limit;
pub use search::{Answer, Next, Status};
pub use settings::{Rule, SLO_KEYS, SloSettings};
pub use trial::{Slo, Trial, TrialResult};
pub use verdict::{ShareOver, Verdict, is_rising};
