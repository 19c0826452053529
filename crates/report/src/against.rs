//! An earlier study next to the study of a report: each system compared with its former self.

use crate::{
    Data, Earlier, Error,
    compared::{self, Comparisons},
};
use std::collections::BTreeSet;
use tailmark_model::{
    Header, PlanValue, Point, PointName, Role, Scope, Subject, System, number, printable,
};

impl Data {
    /// Adds an earlier study, with which each system is compared: itself with its former self.
    ///
    /// # Errors
    /// If that study has none of the systems, or no point of theirs.
    pub fn against(mut self, earlier: &Self) -> Result<Self, Error> {
        let common = compared::common(&self.names(), &earlier.names());
        if common.is_empty() {
            return Err(Error::NothingInCommon {
                known: printable(&earlier.names().join(", ")).into_owned(),
            });
        }
        let pairs = common.iter().map(|name| ((*name).to_owned(), before(name)));
        let pairs: Vec<(String, String)> = pairs.collect();
        let mut runs = self.runs();
        runs.extend(earlier.runs().into_iter().map(|mut run| {
            run.key.system = before(&run.key.system);
            run
        }));
        // All of them are one family of tests, as in `tailmark compare`.
        let comparisons = Comparisons::from_pairs(&runs, &pairs, self.band());
        let (mut both, mut former) = (self.part(&common), earlier.part(&common));
        let points = |study: &Self| -> BTreeSet<(String, PointName)> {
            let points = study.points.iter();
            points
                .map(|Point { key, .. }| (key.system.clone(), key.into()))
                .collect()
        };
        if comparisons.is_empty() && points(&both).is_disjoint(&points(&former)) {
            let known: BTreeSet<PointName> = points(&former).into_iter().map(|p| p.1).collect();
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            return Err(Error::NoPointInCommon { known: few(&known) });
        }
        for (name, before) in &pairs {
            former.rename(name, before);
        }
        both.systems.append(&mut former.systems);
        both.points.append(&mut former.points);
        let title = |header: &Header| {
            let began = number::instant(header.created_ms);
            format!("{}, begun {began}", header.title)
        };
        let names: Vec<String> = earlier.headers.iter().map(title).collect();
        self.earlier = Some(Earlier {
            name: names.join("; "),
            changed: changed(&earlier.headers, &self.headers),
            both: Box::new(both),
            pairs,
            comparisons,
        });
        Ok(self)
    }

    /// The names of the systems that are compared.
    pub(crate) fn names(&self) -> Vec<&str> {
        let (systems, _) = self.systems_and_ceilings();
        systems.iter().map(|system| system.name.as_str()).collect()
    }

    /// The measurements of these systems only, under the settings of all. Ceilings count as systems
    /// here.
    fn part(&self, systems: &[&str]) -> Self {
        let is_of = |name: &String| systems.contains(&name.as_str());
        let own = self.systems.iter().filter(|system| is_of(&system.name));
        let own = own.map(|system| System {
            ceiling_for: None,
            ..system.clone()
        });
        let points = self.points.iter();
        Self {
            headers: self.headers.clone(),
            systems: own.collect(),
            points: points.filter(|p| is_of(&p.key.system)).cloned().collect(),
            resolved_rates: self.resolved_rates.clone(),
            settings: self.settings.clone(),
            ..Self::default()
        }
    }
}

/// The name of a system's former self.
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

/// The plan keys with changed values: those of all systems, but not those of the report.
fn changed(before: &[Header], now: &[Header]) -> Vec<String> {
    let (Some(before), Some(now)) = (before.first(), now.first()) else {
        return Vec::new();
    };
    let is_named = |(key, given): &(&String, &PlanValue)| match given.role {
        Role::Private(_) | Role::Report => false,
        // Of a system that both studies have.
        Role::Condition(Subject::Setting) | Role::Scope(Scope::System | Scope::Preparation) => {
            before.plan.contains_key(*key) && now.plan.contains_key(*key)
        }
        _ => true,
    };
    let keys = before.plan.iter().chain(&now.plan).filter(is_named);
    let keys: BTreeSet<&String> = keys.map(|(key, _)| key).collect();
    let value = |header: &Header, key: &str| {
        let given = header.plan.get(key);
        given.map_or_else(|| "not set".to_owned(), |given| given.value.clone())
    };
    let values = |key: &&String| (value(before, key), value(now, key));
    let changed = keys.into_iter().map(|key| (key, values(&key)));
    changed
        .filter(|(_, (earlier, later))| earlier != later)
        .map(|(key, (earlier, later))| format!("{key} ({earlier}, now {later})"))
        .collect()
}
