//! Requests taken apart: which are kept whole, and what the parts of all of them add up to.
//!
//! Each OS thread has a [`local::Local`] of bounded size. When it holds enough candidates, it tries
//! to hand them to the [`Anatomist`] that all threads share, and goes on if another thread is there.
//! So nothing on the measured path waits, and nothing is allocated for a request.

mod anatomist;
mod bands;
mod dissector;
mod kept;
mod leaders;
mod local;
mod run_queue;
mod sums;
mod taken;

pub use anatomist::{Anatomist, AnatomySettings};
pub use dissector::Dissector;
pub use local::Local;
