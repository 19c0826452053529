//! Samples the probes while a phase goes on, once a second, on the clock of the intervals.

use std::collections::BTreeMap;
use tailmark_engine::Sampler;
use tailmark_host::probe::{PROBES, Probe, Target};
use tailmark_results::Series;

/// The most samples that are kept of a series; beyond it every other one is dropped.
const SAMPLES_MAX: usize = 1200;

/// The probes of one system, and what they sampled.
pub struct Capture {
    probes: Vec<(&'static str, Box<dyn Probe>)>,
    series: BTreeMap<(&'static str, String, String), Series>,
    /// Every how many seconds a sample is kept: a power of two.
    stride: u64,
    taken: u64,
    /// What could not be sampled, and why.
    pub notices: Vec<String>,
}

impl Capture {
    /// Opens every probe that applies to the target.
    #[must_use]
    pub fn open(target: &Target) -> Self {
        let mut capture = Self {
            probes: Vec::new(),
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
            for reading in readings {
                let key = (*name, reading.subject.clone(), reading.name.clone());
                let one = series.entry(key).or_insert_with(|| Series {
                    probe: (*name).to_owned(),
                    subject: reading.subject,
                    name: reading.name,
                    kind: reading.kind,
                    at_s: Vec::new(),
                    values: Vec::new(),
                });
                one.at_s.push(at_s);
                one.values.push(reading.value);
            }
            true
        });
        if self.series.values().any(|s| s.values.len() > SAMPLES_MAX) {
            self.stride *= 2;
            self.series.values_mut().for_each(thin);
        }
    }

    /// What was sampled.
    #[must_use]
    pub fn into_series(self) -> Vec<Series> {
        self.series.into_values().collect()
    }
}

impl Sampler for Capture {
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
