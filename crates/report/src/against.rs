//! An earlier study beside the one of a report: each system with what it was.

use crate::{
    Data, Earlier, Error,
    compared::{Comparisons, band, runs},
};
use std::collections::BTreeSet;
use tailmark_model::{
    Header, PlanValue, Point, PointName, Role, Scope, Subject, System, number, printable,
};

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
        let comparisons = self.comparisons_with(earlier, &common);
        let pairs = common.into_iter().map(|system| self.pair(earlier, system));
        let pairs: Vec<Self> = pairs.collect();
        if comparisons.is_empty() && pairs.iter().all(Self::has_no_point_in_common) {
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
            comparisons,
        });
        Ok(self)
    }

    /// How these systems compare with what they were: all of them are one family of tests, as in
    /// `tailmark compare`.
    fn comparisons_with(&self, earlier: &Self, systems: &[&System]) -> Comparisons {
        let pairs = systems.iter().map(|of| (of.name.clone(), before(&of.name)));
        let pairs: Vec<(String, String)> = pairs.collect();
        let mut all = runs(self);
        all.extend(runs(earlier).into_iter().map(|mut run| {
            run.key.system = before(&run.key.system);
            run
        }));
        Comparisons::from_pairs(&all, &pairs, band(self))
    }

    /// What both have of a system, what it was under a name of its own.
    fn pair(&self, earlier: &Self, system: &System) -> Self {
        let before = before(&system.name);
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

    /// Whether no point is of both of a pair, valid or not.
    fn has_no_point_in_common(&self) -> bool {
        let names = |i| self.points_of(i).map(|point| PointName::from(&point.key));
        let [now, before] = [0, 1].map(|i| names(i).collect::<BTreeSet<_>>());
        now.is_disjoint(&before)
    }
}

/// What a system was, as a system of its own.
fn before(system: &str) -> String {
    format!("{system} (before)")
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

/// Which keys of the plans have other values: those of all systems, and not of the report.
fn changed(before: &[Header], now: &[Header]) -> Vec<String> {
    let (Some(before), Some(now)) = (before.first(), now.first()) else {
        return Vec::new();
    };
    let of_all = |(_, given): &(&String, &PlanValue)| {
        let of_one = matches!(
            given.role,
            Role::Condition(Subject::Setting)
                | Role::Scope(Scope::System | Scope::Preparation)
                | Role::Private(_)
        );
        !of_one && given.role != Role::Report
    };
    let keys = before.plan.iter().chain(&now.plan).filter(of_all);
    let keys: BTreeSet<&String> = keys.map(|(key, _)| key).collect();
    let value = |header: &Header, key: &str| {
        let given = header.plan.get(key);
        given.map_or_else(|| "not set".to_owned(), |given| given.value.clone())
    };
    let values = |key: &&String| (value(before, key), value(now, key));
    let changed = keys.into_iter().map(|key| (key, values(&key)));
    changed
        .filter(|(_, (before, now))| before != now)
        .map(|(key, (before, now))| format!("{key} ({before}, now {now})"))
        .collect()
}
