//! From a plan to measured points: all clocks and threads.
//!
//! [`run`] carries out a checked [`plan::Plan`]: for each system the load, then each point of the
//! sweep, committed to the study one by one. [`phase`] holds the loop that measures.

mod clock;
mod dataset;
mod error;
mod facts;
mod findings;
mod observer;
pub mod phase;
pub mod plan;
mod preflight;
mod service;
mod stop;
mod sweep;

pub use clock::{Clock, Tick};
pub use error::Error;
pub use findings::{Evidence, RULES, Rule, findings, remarks};
pub use observer::{Live, Observer, PhaseKind, PhaseStart, Silent};
pub use preflight::{Ready, preflight};
pub use stop::Stop;
pub use sweep::{Summary, run};
