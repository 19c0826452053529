//! Settings of the search for the highest rate that holds service level objectives.

mod limit;
mod settings;

pub use limit::Limit;
pub use settings::{Bounds, Rule, SloSettings};
