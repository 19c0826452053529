//! An earlier study beside the one of a report: each system with what it was.

use crate::{Data, Earlier, Error};
use std::collections::BTreeSet;
use tailmark_model::{Header, Point, PointName, System, number, printable};

/// What a system was, as a system of its own.
const BEFORE: &str = " (before)";

impl Data {
    /// The same with an earlier study that each system is compared with, itself with what it was.
    ///
    /// # Errors
    /// Where that has none of the systems, or no point of theirs.
    pub fn against(mut self, earlier: &Self) -> Result<Self, Error> {
        let (systems, _) = self.systems_and_ceilings();
        let (known, _) = earlier.systems_and_ceilings();
        let is_known = |system: &&&System| known.iter().any(|other| other.name == system.name);
        let common: Vec<&System> = systems.iter().filter(is_known).copied().collect();
        if common.is_empty() {
            let known: Vec<&str> = known.iter().map(|system| system.name.as_str()).collect();
            return Err(Error::NothingInCommon {
                known: printable(&known.join(", ")).into_owned(),
            });
        }
        let pairs = common.into_iter().map(|system| self.pair(earlier, system));
        let pairs: Vec<Self> = pairs.collect();
        if pairs.iter().all(Self::has_nothing_in_common) {
            let known = pairs.iter().flat_map(|pair| pair.points_of(1));
            let known: BTreeSet<PointName> = known.map(|point| (&point.key).into()).collect();
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            return Err(Error::NoPointInCommon { known: few(&known) });
        }
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
            pairs,
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

    /// The points of one of a pair.
    fn points_of(&self, index: usize) -> impl Iterator<Item = &Point> {
        let name = &self.systems[index].name;
        let points = self.points.iter();
        points.filter(move |point| point.key.system == *name)
    }

    /// Whether a pair has neither a comparison nor a point of both, valid or not.
    fn has_nothing_in_common(&self) -> bool {
        let names = |i| self.points_of(i).map(|point| PointName::from(&point.key));
        let [now, before] = [0, 1].map(|i| names(i).collect::<BTreeSet<_>>());
        self.comparisons().is_empty() && now.is_disjoint(&before)
    }
}

/// The first of these, and how many more there are.
fn few(all: &[String]) -> String {
    const NAMED: usize = 4;
    match all.len() {
        0 => "no points".to_owned(),
        1..=NAMED => all.join(", "),
        n => format!("{} and {} more", all[..NAMED].join(", "), n - NAMED),
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
