//! CPU time of this process's threads that do an embedded database's background work. It is a cost
//! of the database, not of its clients.
//!
//! Threads are found by name. A name is read only once, when its thread is new. Reading the names
//! of a thousand clients every second would cost more than all probes together.

use super::unread;
use crate::Error;
use procfs::{FromRead, process::Stat};
use std::{collections::BTreeMap, fs, path::Path};

const TASKS: &str = "/proc/self/task";

/// The threads whose names begin alike.
pub(super) struct Background {
    name: &'static str,
    /// Every thread at the last sample, by number, with the time of matching ones.
    threads: BTreeMap<String, Option<f64>>,
    /// The time of threads that have ended, as last read.
    ended_s: f64,
}

impl Background {
    /// Of the threads whose names begin so.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            threads: BTreeMap::new(),
            ended_s: 0.0,
        }
    }

    /// Their processor time so far, seconds.
    ///
    /// # Errors
    /// If the list of threads cannot be read.
    pub fn sample(&mut self) -> Result<f64, Error> {
        let tasks = fs::read_dir(TASKS).map_err(|source| unread(TASKS)(source.into()))?;
        let mut now = BTreeMap::new();
        for task in tasks.flatten() {
            let thread = task.file_name().to_string_lossy().into_owned();
            let before = self.threads.remove(&thread);
            // A thread that ends while it is read has ended.
            if let Some(time_s) = self.time_s(&task.path(), before) {
                now.insert(thread, time_s);
            } else if let Some(last_s) = before.flatten() {
                self.ended_s += last_s;
            }
        }
        let ended = std::mem::replace(&mut self.threads, now);
        self.ended_s += ended.into_values().flatten().sum::<f64>();
        let running = self.threads.values().flatten();
        Ok(self.ended_s + running.sum::<f64>())
    }

    /// The time of a thread, seconds, if it matches; `None` if the thread is gone.
    fn time_s(&self, task: &Path, before: Option<Option<f64>>) -> Option<Option<f64>> {
        let is_meant = match before {
            Some(time_s) => time_s.is_some(),
            None => fs::read_to_string(task.join("comm"))
                .ok()?
                .starts_with(self.name),
        };
        if !is_meant {
            return Some(None);
        }
        let stat = Stat::from_file(task.join("stat")).ok()?;
        let ticks = stat.utime + stat.stime;
        Some(Some(ticks as f64 / procfs::ticks_per_second() as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::mpsc::{Receiver, Sender, channel},
        thread,
    };

    /// Works until this thread has had this much processor time, and then until it may end.
    fn work(seconds: f64, done: Sender<()>, end: Receiver<()>) {
        let own_s = || {
            let stat = Stat::from_file("/proc/thread-self/stat").unwrap();
            (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64
        };
        while own_s() < seconds {}
        done.send(()).unwrap();
        let _ = end.recv();
    }

    #[test]
    fn threads_of_the_name_are_counted_after_they_have_ended_too_and_others_never() {
        let mut background = Background::new("a test's db:");
        assert_eq!(background.sample().unwrap(), 0.0);
        let start = |name: &str, seconds: f64| {
            let ((done, has_done), (end, may_end)) = (channel(), channel());
            let thread = thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || work(seconds, done, may_end)).unwrap();
            has_done.recv().unwrap();
            (thread, end)
        };
        let (client, end_client) = start("a test's client", 0.2);
        let (low, end_low) = start("a test's db:low", 0.1);
        let (high, end_high) = start("a test's db:hi", 0.1);
        let both = background.sample().unwrap();
        assert!((0.2..0.39).contains(&both), "{both}");
        drop(end_low);
        low.join().unwrap();
        let after = background.sample().unwrap();
        assert!(after >= both, "{after} after {both}");
        for (thread, end) in [(high, end_high), (client, end_client)] {
            drop(end);
            thread.join().unwrap();
        }
        assert!(background.sample().unwrap() >= after);
    }
}
