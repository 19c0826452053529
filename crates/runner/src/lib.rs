//! Carries out a checked plan: for each system the load, then each point of the sweep, committed to
//! the study one by one.

mod abort;
mod caches;
pub mod capture;
pub mod check;
mod claimed;
mod clean;
mod counters;
mod dataset;
mod devices;
mod dry_run;
mod earlier;
mod error;
mod expect;
mod facts;
mod findings;
mod links;
mod order;
mod places;
pub mod point;
mod power;
mod preflight;
mod prepare;
mod ranks;
mod retry;
mod samples;
mod seeds;
mod servers;
mod service;
mod steps;
mod sweep;
mod warmup;

pub use caches::CachesKept;
pub use clean::{Cleaning, Results, left_behind};
pub use dry_run::{DryRun, Facts, ServerFacts, SystemFacts, dry_run};
pub use earlier::{EarlierStudy, Noise, Speed};
pub use error::{Error, PreparationError, RestoreError};
pub use expect::{Check, EXPECTATIONS, Expectation, Mismatches, Seen, SeenPlace};
pub use findings::{PointContext, RULES, Rule};
pub use prepare::{PrepareLines, dry_run as dry_run_prepare, prepare_alone, restore};
pub use ranks::{Ranks, dismiss, follow};
pub use seeds::PointSeeds;
pub use sweep::{Summary, run, run_on, take_up};
