//! Samples the probes while a phase goes on, once a second, on the clock of the intervals.

use std::collections::BTreeMap;
use tailmark_driver::{BackgroundCounts, Database};
use tailmark_engine::Sampler;
use tailmark_host::probe::{PROBES, Probe, Reading, Target};
use tailmark_results::{
    Series, SeriesKind,
    steady::{COMPACTIONS, DATABASE, FLUSHES, PENDING_COMPACTION},
};

/// The most samples that are kept of a series; beyond it every other one is dropped.
const SAMPLES_MAX: usize = 1200;

/// Series by probe, subject and name.
type AllSeries = BTreeMap<(&'static str, String, String), Series>;

/// The probes of one system, and what they sampled.
pub struct Capture<'a> {
    probes: Vec<(&'static str, Box<dyn Probe>)>,
    /// The database that is asked for its background work, and the system's name.
    database: (&'a dyn Database, String),
    series: AllSeries,
    /// Every how many seconds a sample is kept: a power of two.
    stride: u64,
    taken: u64,
    /// What could not be sampled, and why.
    pub notices: Vec<String>,
}

impl<'a> Capture<'a> {
    /// Opens every probe that applies to the target.
    #[must_use]
    pub fn open(target: &Target, database: &'a dyn Database) -> Self {
        let mut capture = Self {
            probes: Vec::new(),
            database: (database, target.system.clone()),
            series: BTreeMap::new(),
            stride: 1,
            taken: 0,
            notices: Vec::new(),
        };
        for row in PROBES {
            match (row.open)(target) {
                Ok(Some(probe)) => capture.probes.push((row.name, probe)),
                Ok(None) => {}
                Err(error) => capture
                    .notices
                    .push(format!("probe `{}`: {error}", row.name)),
            }
        }
        capture
    }

    /// Samples once; `now_s` is the time since the start of the measured part, seconds.
    fn keep_sample(&mut self, now_s: &dyn Fn() -> f64) {
        let Self {
            probes,
            database,
            series,
            notices,
            ..
        } = self;
        probes.retain_mut(|(name, probe)| {
            let at_s = now_s();
            let readings = match probe.sample() {
                Ok(readings) => readings,
                Err(error) => {
                    notices.push(format!("probe `{name}` ended: {error}"));
                    return false;
                }
            };
            add(series, name, at_s, readings);
            true
        });
        let at_s = now_s();
        if let Some(counts) = database.0.background() {
            add(series, DATABASE, at_s, readings_of(&database.1, counts));
        }
        if self.series.values().any(|s| s.values.len() > SAMPLES_MAX) {
            self.stride *= 2;
            self.series.values_mut().for_each(thin);
        }
    }

    /// What was sampled so far.
    #[must_use]
    pub fn series_so_far(&self) -> Vec<Series> {
        self.series.values().cloned().collect()
    }

    /// What was sampled.
    #[must_use]
    pub fn into_series(self) -> Vec<Series> {
        self.series.into_values().collect()
    }
}

/// Adds the readings of one instant to their series.
fn add(all: &mut AllSeries, probe: &'static str, at_s: f64, readings: Vec<Reading>) {
    for reading in readings {
        let key = (probe, reading.subject.clone(), reading.name.clone());
        let one = all.entry(key).or_insert_with(|| Series {
            probe: probe.to_owned(),
            subject: reading.subject,
            name: reading.name,
            kind: reading.kind,
            at_s: Vec::new(),
            values: Vec::new(),
        });
        one.at_s.push(at_s);
        one.values.push(reading.value);
    }
}

/// What a database tells, as a probe would read it.
fn readings_of(system: &str, counts: BackgroundCounts) -> Vec<Reading> {
    let values = [
        (FLUSHES, SeriesKind::Counter, counts.flushes),
        (COMPACTIONS, SeriesKind::Counter, counts.compactions),
        (
            PENDING_COMPACTION,
            SeriesKind::Gauge,
            counts.pending_compaction_bytes,
        ),
    ];
    let reading = |(name, kind, value): (&str, SeriesKind, u64)| Reading {
        subject: system.to_owned(),
        name: name.to_owned(),
        kind,
        value: value as f64,
    };
    values.map(reading).into()
}

impl Sampler for Capture<'_> {
    fn sample(&mut self, now_s: &dyn Fn() -> f64, is_last: bool) {
        let keep = is_last || self.taken.is_multiple_of(self.stride);
        self.taken += 1;
        if keep {
            self.keep_sample(now_s);
        }
    }
}

/// Drops every other sample; a counter still tells the whole change.
fn thin(series: &mut Series) {
    let mut index = 0;
    series.at_s.retain(|_| {
        index += 1;
        index % 2 == 1
    });
    index = 0;
    series.values.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}
