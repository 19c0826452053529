//! A request to stop, as by Ctrl-C: seen by every client within a tenth of a second.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Shared by whoever may stop a run and whoever must.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that nobody has requested.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the stop; it cannot be taken back.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was requested.
    #[inline]
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
