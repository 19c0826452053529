//! Probes sampled during a run: raw counters of the kernel, never rates.
//!
//! Rates are differences over time, and only a report knows the period.

mod block_latency;
mod child;
mod cpu;
mod database_process;
mod disk;
mod hwmon_power;
mod memory;
mod network;
mod power;
mod power_command;
mod pressure;
mod process;
pub(crate) mod row;
mod vmstat;

pub use row::{Open, Probe, ProbeRow, Reading, Target};

use crate::{Error, nvme};
use procfs::ProcError;
use row::readings;
use std::path::Path;
use tailmark_model::in_one_line;

/// Every probe, by name.
pub const PROBES: &[ProbeRow] = &[
    block_latency::PROBE,
    nvme::amazon::PROBE,
    cpu::PROBE,
    database_process::PROBE,
    disk::PROBE,
    hwmon_power::PROBE,
    memory::PROBE,
    network::PROBE,
    nvme::ocp::PROBE,
    nvme::power::PROBE,
    nvme::smart::PROBE,
    power::PROBE,
    power_command::PROBE,
    pressure::PROBE,
    process::PROBE,
    vmstat::PROBE,
];

/// A probe that is sampled.
pub struct OpenProbe {
    /// Its row.
    pub row: &'static ProbeRow,
    probe: Box<dyn Probe>,
}

impl OpenProbe {
    /// Reads all its counters and gauges.
    ///
    /// # Errors
    /// Says in one line why they cannot be read.
    pub fn sample(&mut self) -> Result<Vec<Reading>, String> {
        self.probe
            .sample()
            .map_err(|error| self.row.failure(&error))
    }

    /// Why there was no reading so far, in one line, if the source is late.
    pub fn why_late(&self) -> Option<String> {
        self.probe.why_late().map(|error| self.row.failure(&error))
    }
}

impl ProbeRow {
    /// The message that it cannot be sampled, in one line.
    fn failure(&self, error: &Error) -> String {
        let why = in_one_line(error).replace('\n', " ");
        format!("probe `{}`: {why}", self.name)
    }
}

/// Opens every probe that is asked for and applies to the target; and says what cannot be sampled.
pub fn open_probes(
    target: &Target,
    is_asked_for: impl Fn(&ProbeRow) -> bool,
) -> (Vec<OpenProbe>, Vec<String>) {
    let (mut probes, mut not_sampled) = (Vec::new(), Vec::new());
    for row in PROBES.iter().filter(|row| is_asked_for(row)) {
        match (row.open)(target) {
            Ok(Some(probe)) => probes.push(OpenProbe { row, probe }),
            Ok(None) => {}
            Err(error) => not_sampled.push(row.failure(&error)),
        }
    }
    (probes, not_sampled)
}

/// The error of a file of `/proc`.
fn unread(path: impl AsRef<Path>) -> impl FnOnce(ProcError) -> Error {
    let path = path.as_ref().to_owned();
    move |source| Error::Read {
        path,
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailmark_model::SeriesKind;

    fn target() -> Target {
        Target {
            system: "test".to_owned(),
            places: vec!["/".into()],
            hosts: Vec::new(),
            background_threads: "rocksdb:",
            power_command: None,
        }
    }

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(PROBES.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_period_fits_into_a_minute() {
        assert!(PROBES.iter().all(|row| (1..=60).contains(&row.period_s)));
    }

    #[test]
    fn about_is_one_line() {
        for row in PROBES {
            assert!(
                !row.about.is_empty() && row.about.len() <= 100,
                "{}",
                row.name
            );
            assert!(
                !row.about.contains('\n') && !row.about.ends_with('.'),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn every_sample_has_the_same_readings_and_counters_do_not_fall() {
        for row in PROBES.iter().filter(|row| row.is_default) {
            let Some(mut probe) = (row.open)(&target()).unwrap() else {
                continue;
            };
            let (first, second) = (probe.sample().unwrap(), probe.sample().unwrap());
            assert!(!first.is_empty(), "{}", row.name);
            let names: BTreeSet<_> = first.iter().map(|r| (&r.subject, &r.name)).collect();
            assert_eq!(names.len(), first.len(), "{}", row.name);
            for (a, b) in first.iter().zip(&second) {
                assert_eq!((&a.subject, &a.name), (&b.subject, &b.name));
                let fell = a.kind == SeriesKind::Counter && b.value < a.value;
                // The kernel itself lets idle and iowait time fall (proc(5)).
                let may = matches!(a.name.as_str(), "idle_s" | "iowait_s");
                assert!(
                    !fell || may,
                    "{} fell from {} to {}",
                    a.name,
                    a.value,
                    b.value
                );
            }
        }
    }

    #[test]
    fn the_probes_that_every_machine_has_open() {
        for name in ["cpu", "memory", "network", "process", "vmstat"] {
            let row = PROBES.iter().find(|row| row.name == name).unwrap();
            assert!((row.open)(&target()).unwrap().is_some(), "{name}");
        }
    }
}
