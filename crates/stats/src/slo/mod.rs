//! The highest rate that holds service level objectives, measured: what a plan asks for, what a
//! probe of a rate says, and the search over rates. `docs/METHOD.md` has the rules.

mod blame;
pub mod counts;
mod limit;
mod probe;
pub mod search;
mod settings;
mod verdict;
pub mod words;

pub use limit::Limit;
pub use probe::{Probe, ProbeResult, Slo};
pub use search::{Answer, Next, Status};
pub use settings::{Rule, SLO_KEYS, SloSettings};
pub use verdict::{ShareOver, Verdict, is_rising};
