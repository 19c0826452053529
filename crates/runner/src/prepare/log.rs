//! Messages about preparation: a line before and after each step, and the progress of long ones.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tailmark_engine::{Observer, Stop};
use tailmark_model::number;
use tailmark_prepare::{Watch, append_to_log};

/// Sends a line to the observer, and appends it to the log of the machine.
pub(crate) fn tell(observer: &dyn Observer, text: &str) {
    observer.notice(text);
    append_to_log(text);
}

/// Reports the progress of long steps to the observer.
pub(super) struct Far<'a> {
    observer: &'a dyn Observer,
    stop: &'a Stop,
    step: Mutex<Step>,
}

/// The current step.
struct Step {
    what: String,
    /// The first report of its progress: when, and how far. Earlier work is not counted.
    from: Option<(Instant, f64)>,
    /// The last reported progress, percent.
    told: Option<u64>,
}

impl Step {
    fn new(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            from: None,
            told: None,
        }
    }
}

impl<'a> Far<'a> {
    pub(super) fn new(observer: &'a dyn Observer, stop: &'a Stop) -> Self {
        let step = Mutex::new(Step::new(""));
        Self {
            observer,
            stop,
            step,
        }
    }
}

impl Watch for Far<'_> {
    fn begins(&self, what: &str) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = Step::new(what);
    }

    fn progress(&self, done: u64, all: u64) {
        let part = done as f64 / all.max(1) as f64;
        let percent = (part * 100.0) as u64;
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if step.told == Some(percent) {
            return;
        }
        step.told = Some(percent);
        let (began, from) = *step.from.get_or_insert((Instant::now(), part));
        let left = left(began.elapsed(), from, part);
        let left = left.map_or_else(String::new, |left| {
            format!(", {} left", number::duration(left.as_secs_f64()))
        });
        self.observer
            .step(&format!("{}: {percent} %{left}", step.what));
    }

    fn waits(&self, what: &str) {
        self.observer.notice(what);
    }

    fn is_stopped(&self) -> bool {
        self.stop.requested()
    }
}

/// The time that is left of a step, as it went so far: from one part to another.
fn left(took: Duration, from: f64, part: f64) -> Option<Duration> {
    (part > from && part <= 1.0).then(|| took.mul_f64((1.0 - part) / (part - from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_the_step_went_so_far() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 0.0, 0.25), Some(3 * minute));
        assert_eq!(left(minute, 0.5, 0.75), Some(minute));
        assert_eq!(left(minute, 0.0, 1.0), Some(Duration::ZERO));
        assert_eq!(left(minute, 0.0, 0.0), None);
    }
}
