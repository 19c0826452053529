//! The study file, histograms, quantiles, and its exports.
//!
//! The model (what a study holds) is plain data in [`model`]; everything else reads or writes it.

mod bits;
pub mod compare;
mod error;
pub mod export;
pub mod histogram;
pub mod import;
mod interval;
pub mod model;
pub mod packed;
pub mod quantile;
pub mod study;
mod summary;

pub use error::{Damaged, Error};
pub use export::{FORMATS, Format};
pub use histogram::new_latencies;
pub use interval::coarsen;
pub use model::*;
pub use packed::new_interval_latencies;
pub use quantile::{QUANTILES, Quantile, quantile};
pub use study::Study;
pub use summary::{Known, Summary};
