//! The state from which a point started: what earlier writes have left of the database, its file
//! system and its drives.

use crate::{Phase, Series, SeriesKind, series::PENDING_COMPACTION};
use std::collections::BTreeMap;

/// The probe of the state before a point. Each of its series has one sample.
pub const START: &str = "start";
/// Free bytes of the file system.
pub const AVAILABLE: &str = "available_bytes";

/// What the probes of drives sample, of which the first sample belongs to the start.
const OF_DRIVES: [&str; 2] = [MEDIA_WRITES, TEMPERATURE];
const MEDIA_WRITES: &str = "media_write_bytes";
const TEMPERATURE: &str = "temperature_c";

/// A number of a start: its name, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartRow {
    /// The name in a study.
    pub name: &'static str,
    /// In reports.
    pub title: &'static str,
    /// Whether it counts bytes.
    pub is_bytes: bool,
}

/// The numbers that reports show, in their order.
pub const START_ROWS: [StartRow; 6] = [
    StartRow {
        name: "files",
        title: "Files",
        is_bytes: false,
    },
    StartRow {
        name: "bytes",
        title: "Database",
        is_bytes: true,
    },
    StartRow {
        name: PENDING_COMPACTION,
        title: "To compact",
        is_bytes: true,
    },
    StartRow {
        name: AVAILABLE,
        title: "Free space",
        is_bytes: true,
    },
    StartRow {
        name: MEDIA_WRITES,
        title: "Media writes so far",
        is_bytes: true,
    },
    StartRow {
        name: TEMPERATURE,
        title: "Drive, °C",
        is_bytes: false,
    },
];

/// The start of a point: numbers by name. Of several drives, the bytes are those of all, and the
/// temperature is that of the hottest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartState(BTreeMap<String, f64>);

impl StartState {
    /// From names and values; a name may be there several times.
    pub fn from_values(values: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut state = Self::default();
        for (name, value) in values {
            let is_level = name == TEMPERATURE;
            let known = state
                .0
                .entry(name)
                .or_insert(if is_level { f64::MIN } else { 0.0 });
            *known = if is_level {
                known.max(value)
            } else {
                *known + value
            };
        }
        state
    }

    /// A number by its name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Phase {
    /// The state from which the point started.
    pub fn start(&self) -> StartState {
        let own = self.series.iter().filter(|series| series.probe == START);
        let values = own.filter_map(|series| Some((series.name.clone(), *series.values.first()?)));
        StartState::from_values(values)
    }

    /// Adds the state before the point, and what the first samples say of its drives.
    pub fn add_start(&mut self, mut start: Vec<Series>) {
        let is_of_drive = |series: &&Series| {
            series.probe.starts_with("nvme") && OF_DRIVES.contains(&series.name.as_str())
        };
        for series in self.series.iter().filter(is_of_drive) {
            let first = series.at_s.first().zip(series.values.first());
            start.extend(first.map(|(&at_s, &value)| {
                Series::at_start((&series.subject, &series.name), at_s, value)
            }));
        }
        self.series.extend(start);
    }
}

impl Series {
    /// A number of a start: of what it is, and its name.
    pub fn at_start((subject, name): (&str, &str), at_s: f64, value: f64) -> Self {
        Self {
            probe: START.to_owned(),
            subject: subject.to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Gauge,
            at_s: vec![at_s],
            values: vec![value],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_has_the_state_of_the_database_and_the_first_samples_of_its_drives() {
        let drive = |subject: &str, name: &str, values: &[f64]| Series {
            probe: "nvme-smart".to_owned(),
            subject: subject.to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Gauge,
            at_s: (0..values.len()).map(|at| at as f64 - 5.0).collect(),
            values: values.to_vec(),
        };
        let mut phase = Phase {
            series: vec![
                drive("nvme0n1", TEMPERATURE, &[40.0, 55.0]),
                drive("nvme1n1", TEMPERATURE, &[42.0, 41.0]),
                drive("nvme0n1", MEDIA_WRITES, &[1e9, 2e9]),
                drive("nvme1n1", MEDIA_WRITES, &[3e9, 4e9]),
                drive("nvme1n1", "spare_percent", &[100.0]),
            ],
            ..Phase::default()
        };
        phase.add_start(vec![Series::at_start(("a", "bytes"), -6.0, 7.0)]);
        let start = phase.start();
        let found = [TEMPERATURE, MEDIA_WRITES, "bytes", "spare_percent"];
        let found = found.map(|name| start.value(name));
        assert_eq!(found, [Some(42.0), Some(4e9), Some(7.0), None]);
        assert!(Phase::default().start().is_empty());
    }
}
