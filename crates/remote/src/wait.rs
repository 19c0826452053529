//! Waits for another thread's result, as long as it is needed.

use std::{
    fmt,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

/// Whether the run is to stop, as after Ctrl-C.
#[derive(Clone)]
pub struct RunStop(Arc<dyn Fn() -> bool + Send + Sync>);

impl RunStop {
    /// Asks this function.
    pub fn new(is_requested: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_requested))
    }

    /// Whether it was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        (self.0)()
    }
}

impl Default for RunStop {
    fn default() -> Self {
        Self::new(|| false)
    }
}

impl fmt::Debug for RunStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunStop")
            .field(&self.is_requested())
            .finish()
    }
}

/// How often the need is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The next value within this time, unless `is_over` says meanwhile that it is no longer needed.
pub fn received<T>(
    from: &Receiver<T>,
    timeout: Duration,
    is_over: &dyn Fn() -> bool,
) -> Result<T, RecvTimeoutError> {
    let end = Instant::now() + timeout;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match from.recv_timeout(left.min(LOOK)) {
            Err(RecvTimeoutError::Timeout) if !left.is_zero() && !is_over() => {}
            received => return received,
        }
    }
}
