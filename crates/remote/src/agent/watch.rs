//! The sampled probes, and the changes in each sample.

use crate::agent::protocol::{Line, Sample, SampleId, WatchRequest};
use tailmark_machine::{
    places_of,
    probe::{OpenProbe, Target, open_probes},
};

/// Probes of one system, sampled in turn.
#[derive(Default)]
pub struct WatchedProbes {
    sources: Vec<Source>,
    /// Messages already sent about what cannot be sampled.
    said: Vec<String>,
    ticks: u64,
}

/// One probe.
struct Source {
    probe: OpenProbe,
    /// The identities of its last sample's values.
    names: Vec<SampleId>,
}

impl WatchedProbes {
    /// Opens the probes that are asked for; and what cannot be sampled.
    pub fn open(requested: &WatchRequest) -> (Self, Vec<String>) {
        let mut places = Vec::new();
        for place in requested.places.iter().flat_map(|place| places_of(place)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let target = Target {
            system: requested.system.clone(),
            places,
            hosts: requested.hosts.clone(),
            background_threads: "",
            power_command: None,
        };
        let (probes, not_sampled) = open_probes(&target, |row| {
            requested
                .probes
                .iter()
                .any(|requested| requested == row.name)
        });
        let source = |probe| Source {
            probe,
            names: Vec::new(),
        };
        let sources = probes.into_iter().map(source).collect();
        let watched = Self {
            sources,
            said: not_sampled.clone(),
            ticks: 0,
        };
        (watched, not_sampled)
    }

    /// Whether anything is sampled.
    pub fn is_any(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Samples what is due, once a second, or everything on request.
    pub fn sample(&mut self, now_ns: &dyn Fn() -> u64, all: bool, tell: &dyn Fn(&Line)) {
        let ticks = self.ticks;
        let due = |source: &&mut Source| all || ticks.is_multiple_of(source.probe.row.period_s);
        for source in self.sources.iter_mut().filter(due) {
            match source.sample(now_ns) {
                Ok(sample) => tell(&Line::Sample(sample)),
                Err(why) if self.said.contains(&why) => {}
                Err(why) => {
                    tell(&Line::NotSampled(why.clone()));
                    self.said.push(why);
                }
            }
        }
        self.ticks += u64::from(!all);
    }
}

impl Source {
    fn sample(&mut self, now_ns: &dyn Fn() -> u64) -> Result<Sample, String> {
        let at_ns = now_ns();
        let readings = self.probe.sample()?;
        let mut pairs = self.names.iter().zip(&readings);
        let is_same = self.names.len() == readings.len()
            && !readings.is_empty()
            && pairs.all(|(sampled, reading)| sampled.is_of(reading));
        let names = (!is_same).then(|| {
            self.names = readings.iter().map(SampleId::from_reading).collect();
            self.names.clone()
        });
        Ok(Sample {
            probe: self.probe.row.name.to_owned(),
            at_ns,
            names,
            values: readings.iter().map(|reading| reading.value).collect(),
        })
    }
}
