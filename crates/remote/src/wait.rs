//! Waits for another thread's result, as long as it is needed.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

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
