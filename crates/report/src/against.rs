//! An earlier study beside the one of a report: each system with what it was.

use crate::{Data, Earlier, Error};
use std::collections::BTreeSet;
use tailmark_results::{Header, System, number};

/// What a system was, as a system of its own.
const BEFORE: &str = " (before)";

impl Data {
    /// The same with an earlier study that each system is compared with, itself with what it was.
    ///
    /// # Errors
    /// Where that has none of the systems.
    pub fn against(mut self, earlier: &Self) -> Result<Self, Error> {
        let (systems, _) = self.systems_and_ceilings();
        let (known, _) = earlier.systems_and_ceilings();
        let is_known = |system: &&&System| known.iter().any(|other| other.name == system.name);
        let common: Vec<&System> = systems.iter().filter(is_known).copied().collect();
        if common.is_empty() {
            let known: Vec<&str> = known.iter().map(|system| system.name.as_str()).collect();
            return Err(Error::NothingInCommon {
                known: known.join(", "),
            });
        }
        let pairs = common.into_iter().map(|system| self.pair(earlier, system));
        let of = |header: &Header| {
            format!(
                "{}, begun {}",
                header.title,
                number::instant(header.created_ms)
            )
        };
        let names: Vec<String> = earlier.headers.iter().map(of).collect();
        self.earlier = Some(Earlier {
            name: names.join("; "),
            changed: changed(&earlier.headers, &self.headers),
            pairs: pairs.collect(),
        });
        Ok(self)
    }

    /// What both have of a system, what it was under a name of its own.
    fn pair(&self, earlier: &Self, system: &System) -> Self {
        let before = format!("{}{BEFORE}", system.name);
        let is_it = |name: &str| name == system.name;
        let renamed = System {
            name: before.clone(),
            ceiling_for: None,
            ..system.clone()
        };
        let points = self.points.iter().filter(|point| is_it(&point.key.system));
        let earlier = earlier
            .points
            .iter()
            .filter(|point| is_it(&point.key.system));
        let earlier = earlier.cloned().map(|mut point| {
            point.key.system.clone_from(&before);
            point
        });
        Self {
            headers: self.headers.clone(),
            systems: vec![
                System {
                    ceiling_for: None,
                    ..system.clone()
                },
                renamed,
            ],
            points: points.cloned().chain(earlier).collect(),
            resolved_rates: self.resolved_rates.clone(),
            settings: self.settings.clone(),
            ..Self::default()
        }
    }
}

/// Which keys of the plans have other values, the places of systems apart.
fn changed(before: &[Header], now: &[Header]) -> Vec<String> {
    let (Some(before), Some(now)) = (before.first(), now.first()) else {
        return Vec::new();
    };
    let is_place = |key: &str| {
        let is_of_system = key.starts_with("system");
        is_of_system || key == "title" || key.starts_with("report.")
    };
    let keys: BTreeSet<&String> = before.plan.keys().chain(now.plan.keys()).collect();
    let value = |header: &Header, key: &str| {
        header
            .plan
            .get(key)
            .map_or_else(|| "not set".to_owned(), Clone::clone)
    };
    let keys = keys.into_iter().filter(|key| !is_place(key));
    let keys = keys.filter(|key| before.plan.get(*key) != now.plan.get(*key));
    keys.map(|key| format!("{key} ({}, now {})", value(before, key), value(now, key)))
        .collect()
}
