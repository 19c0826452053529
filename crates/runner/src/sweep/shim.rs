//! Until the study keeps resolved rates itself: facts of the system.

use tailmark_results::{Fact, Study};

/// A rate that was resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedRate {
    pub system: String,
    pub workload: String,
    pub distribution: String,
    pub asked: String,
    pub of_system: String,
    pub peak_ops_per_sec: f64,
    pub rate: f64,
}

pub trait Rates {
    fn resolved_rates(&self) -> Result<Vec<ResolvedRate>, tailmark_results::Error>;
    fn add_resolved_rate(&self, rate: &ResolvedRate) -> Result<(), tailmark_results::Error>;
}

impl Rates for Study {
    fn resolved_rates(&self) -> Result<Vec<ResolvedRate>, tailmark_results::Error> {
        let facts = self
            .facts()?
            .into_iter()
            .filter(|fact| fact.group == "resolved rate");
        Ok(facts
            .map(|fact| {
                let name: Vec<_> = fact.name.split('|').map(str::to_owned).collect();
                let value: Vec<_> = fact.value.split('|').map(str::to_owned).collect();
                ResolvedRate {
                    system: fact.system.unwrap_or_default(),
                    workload: name[0].clone(),
                    distribution: name[1].clone(),
                    asked: name[2].clone(),
                    of_system: value[0].clone(),
                    peak_ops_per_sec: value[1].parse().unwrap_or_default(),
                    rate: value[2].parse().unwrap_or_default(),
                }
            })
            .collect())
    }

    fn add_resolved_rate(&self, rate: &ResolvedRate) -> Result<(), tailmark_results::Error> {
        self.set_facts(&[Fact {
            system: Some(rate.system.clone()),
            group: "resolved rate".to_owned(),
            name: format!("{}|{}|{}", rate.workload, rate.distribution, rate.asked),
            value: format!("{}|{}|{}", rate.of_system, rate.peak_ops_per_sec, rate.rate),
        }])
    }
}
