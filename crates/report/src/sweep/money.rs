//! Amounts of money in a report: their currencies, and what the energy in costs covers.

use super::SweepTable;
use std::collections::BTreeSet;
use tailmark_model::{Metric, MoneyBasis};

impl<'a> SweepTable<'a> {
    /// The currency of a system's figures of money; empty without any.
    #[must_use]
    pub fn currency(&self, system: &str) -> &'a str {
        let own = self
            .data
            .points
            .iter()
            .filter(|point| point.key.system == system);
        let mut known = own.map(|point| point.phase.money.currency.as_str());
        known.find(|currency| !currency.is_empty()).unwrap_or("")
    }

    /// What the energy in a system's costs covers, of each point.
    fn energy_of(&self, system: &str) -> BTreeSet<&'a str> {
        let points = self.data.points.iter();
        let own = points.filter(|point| point.key.system == system);
        let known = own.filter(|point| point.phase.figure("cost_of_ownership").is_some());
        let parts = known.map(|point| point.phase.money.energy_of.as_str());
        parts.collect()
    }

    /// Why money of two systems has no comparison: `prices in EUR and USD`. `None` if money is not
    /// the reason.
    #[must_use]
    pub fn unlike_money(&self, metric: Metric, pair: (&str, &str)) -> Option<String> {
        let (a, b) = (self.currency(pair.0), self.currency(pair.1));
        if !metric.is_money() || a.is_empty() || b.is_empty() {
            return None;
        }
        if a != b {
            return Some(format!("prices in {a} and {b}"));
        }
        let energy = [pair.0, pair.1].map(|system| self.energy_of(system));
        let all: BTreeSet<&str> = energy.iter().flatten().copied().collect();
        let is_unlike = metric.includes_energy() && all.len() > 1;
        (is_unlike && !all.contains(MoneyBasis::RENT)).then(|| {
            let [one, other] = energy.map(energy_in_words);
            format!("energy of {one} and of {other}")
        })
    }

    /// Whether a metric has one unit for all systems: money in two currencies has not.
    #[must_use]
    pub fn has_one_unit(&self, metric: Metric) -> bool {
        let systems = self.systems.iter();
        let currencies = systems.map(|system| self.currency(&system.name));
        let known: BTreeSet<&str> = currencies.filter(|own| !own.is_empty()).collect();
        !metric.is_money() || known.len() < 2
    }
}

/// What energy covers, in words: `server`, `devices or server`.
pub fn energy_in_words<'e>(parts: impl IntoIterator<Item = &'e str>) -> String {
    let name = |part: &'e str| if part.is_empty() { "nothing" } else { part };
    let names: Vec<&str> = parts.into_iter().map(name).collect();
    names.join(" or ")
}
