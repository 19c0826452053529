//! A line before and after each step: for whoever watches the run, and in a file of the machine that
//! says later what was done to which device.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant, SystemTime},
};
use tailmark_engine::{Observer, Stop};
use tailmark_host::prepare::{JOURNAL_DIRECTORY, Watch};
use tailmark_results::number;

/// Tells the observer a line, and appends it to the log of the machine.
pub(crate) fn tell(observer: &dyn Observer, text: &str) {
    observer.notice(text);
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let directory = Path::new(JOURNAL_DIRECTORY);
    let file = fs::create_dir_all(directory).and_then(|()| {
        let mut options = OpenOptions::new();
        options
            .create(true)
            .append(true)
            .open(directory.join("prepare.log"))
    });
    // The log is beside the point where it cannot be written: the observer has the line.
    let _ = file.and_then(|mut file| writeln!(file, "{now} {text}"));
}

/// How far a long step is, for the observer.
pub(super) struct Far<'a> {
    observer: &'a dyn Observer,
    stop: &'a Stop,
    what: String,
    began: Instant,
    /// The part that was told last, percent.
    told: Mutex<Option<u64>>,
}

impl<'a> Far<'a> {
    pub(super) fn new(observer: &'a dyn Observer, stop: &'a Stop, what: String) -> Self {
        Self {
            observer,
            stop,
            what,
            began: Instant::now(),
            told: Mutex::new(None),
        }
    }
}

impl Watch for Far<'_> {
    fn progress(&self, done: u64, of: u64) {
        let part = done as f64 / of.max(1) as f64;
        let percent = (part * 100.0) as u64;
        let mut told = self
            .told
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if *told == Some(percent) {
            return;
        }
        *told = Some(percent);
        let left = left(self.began.elapsed(), part);
        let left = left.map_or_else(String::new, |left| {
            format!(", {} left", number::duration(left.as_secs_f64()))
        });
        self.observer
            .step(&format!("{}: {percent} %{left}", self.what));
    }

    fn is_stopped(&self) -> bool {
        self.stop.requested()
    }
}

/// The time that is left of a step, as it went so far.
fn left(took: Duration, part: f64) -> Option<Duration> {
    (part > 0.0 && part <= 1.0).then(|| took.mul_f64((1.0 - part) / part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_the_step_went_so_far() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 0.25), Some(3 * minute));
        assert_eq!(left(minute, 1.0), Some(Duration::ZERO));
        assert_eq!(left(minute, 0.0), None);
    }
}
