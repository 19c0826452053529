//! The definition of a probe: its row, its target, and its readings.

use crate::Error;
use std::path::PathBuf;
use tailmark_model::SeriesKind;

/// The system under test, as probes look at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The system's name.
    pub system: String,
    /// Its directories and block devices on this machine. May be empty.
    pub places: Vec<PathBuf>,
    /// The contact points of its server, each `host:port`. Empty if it is embedded.
    pub hosts: Vec<String>,
    /// The name prefix of this process's threads that do the background work of an embedded
    /// database; empty if there are none.
    pub background_threads: &'static str,
    /// The plan's command that prints the power of the server, watts.
    pub power_command: Option<String>,
}

/// One value at the instant of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its subject: `machine`, `process`, a disk.
    pub subject: String,
    /// Its name, unit last: `read_bytes`, `user_s`.
    pub name: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
    /// The value.
    pub value: f64,
}

/// One source of readings.
pub trait Probe: Send {
    /// Reads all its counters and gauges, in the same order every time. Those that are currently
    /// missing, such as those of a process being restarted, are left out.
    ///
    /// # Errors
    /// If the source is gone.
    fn sample(&mut self) -> Result<Vec<Reading>, Error>;

    /// Why there was no reading so far, if the source is late and not gone.
    fn why_late(&self) -> Option<Error> {
        None
    }
}

/// Opens a probe. `None` if it does not apply to the target or the machine; an error, which says why, if
/// it applies and cannot be sampled.
pub type Open = fn(&Target) -> Result<Option<Box<dyn Probe>>, Error>;

/// A row of [`PROBES`](super::PROBES).
#[derive(Debug, Clone, Copy)]
pub struct ProbeRow {
    /// Its name, in series.
    pub name: &'static str,
    /// Its description, in one line.
    pub about: &'static str,
    /// Every how many seconds it is sampled.
    pub period_s: u64,
    /// Whether it is on by default.
    pub is_default: bool,
    /// Opens it.
    pub open: Open,
}

/// Readings of one subject from a table of names, kinds and values.
pub(crate) fn readings(subject: &str, values: &[(&str, SeriesKind, f64)]) -> Vec<Reading> {
    let reading = |&(name, kind, value): &(&str, SeriesKind, f64)| {
        let (subject, name) = (subject.to_owned(), name.to_owned());
        Reading {
            subject,
            name,
            kind,
            value,
        }
    };
    values.iter().map(reading).collect()
}
