//! What a report is made of: one study, or several merged, as plain data.

use crate::Error;
use std::collections::BTreeSet;
use tailmark_results::{Fact, Header, Load, Point, Study, System};

/// Everything that sections read. Nothing in it refers to a file.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// One for each study.
    pub headers: Vec<Header>,
    /// The systems of all studies; names are unique.
    pub systems: Vec<System>,
    /// What is known of the machine (no system) and of each system.
    pub facts: Vec<Fact>,
    /// The loads of all systems.
    pub loads: Vec<Load>,
    /// The points of all systems.
    pub points: Vec<Point>,
    /// What the studies say of themselves, such as a system left out.
    pub notices: Vec<String>,
}

impl Data {
    /// Reads one or several studies.
    ///
    /// # Errors
    /// Where a study cannot be read, or none holds anything.
    pub fn read(studies: &[Study]) -> Result<Self, Error> {
        let mut merged = Self::default();
        for study in studies {
            merged.merge(Self::read_one(study).map_err(Error::Study)?);
        }
        if merged.points.is_empty() && merged.loads.is_empty() {
            return Err(Error::Empty);
        }
        Ok(merged)
    }

    fn read_one(study: &Study) -> Result<Self, tailmark_results::Error> {
        Ok(Self {
            headers: vec![study.header()?],
            systems: study.systems()?,
            facts: study.facts()?,
            loads: study.loads()?,
            points: study.points()?,
            notices: study.notices()?,
        })
    }

    /// Adds another study. A system of the same name is the same one only if it is described alike
    /// and no point was measured twice; otherwise it gets the study's title beside its name. Facts
    /// of the machine that differ become facts of the systems measured on it.
    pub fn merge(&mut self, mut other: Self) {
        let title = other
            .headers
            .first()
            .map_or_else(String::new, |h| h.title.clone());
        for name in self.clashes(&other) {
            let unique = self.unique_name(&name, &title);
            other.rename(&name, &unique);
        }
        if !self.headers.is_empty() {
            self.separate_machine_facts(&mut other);
        }
        let known: BTreeSet<String> = self.systems.iter().map(|s| s.name.clone()).collect();
        other.systems.retain(|s| !known.contains(&s.name));
        other.facts.retain(|f| !self.facts.contains(f));
        self.headers.append(&mut other.headers);
        self.systems.append(&mut other.systems);
        self.facts.append(&mut other.facts);
        self.loads.append(&mut other.loads);
        self.points.append(&mut other.points);
        self.notices.append(&mut other.notices);
    }

    fn clashes(&self, other: &Self) -> Vec<String> {
        let described_alike = |s: &System| self.systems.contains(s);
        let measured_twice = |s: &System| {
            let of = |p: &&Point| p.key.system == s.name;
            other
                .points
                .iter()
                .filter(of)
                .any(|p| self.points.iter().any(|q| q.key == p.key))
        };
        other
            .systems
            .iter()
            .filter(|s| self.systems.iter().any(|t| t.name == s.name))
            .filter(|s| !described_alike(s) || measured_twice(s))
            .map(|s| s.name.clone())
            .collect()
    }

    fn unique_name(&self, name: &str, title: &str) -> String {
        let taken = |candidate: &str| self.systems.iter().any(|s| s.name == candidate);
        let titled = format!("{name} ({title})");
        if !title.is_empty() && !taken(&titled) {
            return titled;
        }
        (2..)
            .map(|n| format!("{name} ({n})"))
            .find(|candidate| !taken(candidate))
            .expect("there are more numbers than systems")
    }

    fn rename(&mut self, from: &str, to: &str) {
        let names = self
            .systems
            .iter_mut()
            .flat_map(|s| std::iter::once(&mut s.name).chain(s.ceiling_for.as_mut()))
            .chain(self.facts.iter_mut().filter_map(|f| f.system.as_mut()))
            .chain(self.loads.iter_mut().map(|l| &mut l.system))
            .chain(self.points.iter_mut().map(|p| &mut p.key.system));
        for name in names.filter(|n| *n == from) {
            to.clone_into(name);
        }
    }

    fn separate_machine_facts(&mut self, other: &mut Self) {
        let same = |a: &Fact, b: &Fact| a.group == b.group && a.name == b.name;
        let differs = |fact: &Fact, from: &[Fact]| {
            fact.system.is_none()
                && from
                    .iter()
                    .any(|f| f.system.is_none() && same(f, fact) && f.value != fact.value)
        };
        let theirs = other.facts.clone();
        let ours = self.facts.clone();
        self.give_to_systems(|fact| differs(fact, &theirs));
        other.give_to_systems(|fact| differs(fact, &ours));
    }

    fn give_to_systems(&mut self, chosen: impl Fn(&Fact) -> bool) {
        let (given, mut kept): (Vec<Fact>, Vec<Fact>) = self.facts.drain(..).partition(chosen);
        for fact in given {
            kept.extend(self.systems.iter().map(|s| Fact {
                system: Some(s.name.clone()),
                ..fact.clone()
            }));
        }
        self.facts = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn study(title: &str, kernel: &str) -> Data {
        let system = System {
            name: "disk".into(),
            driver: "null".into(),
            place: "/mnt/a".into(),
            semantics: "faithful".into(),
            settings: BTreeMap::from([("cache".into(), title.into())]),
            ceiling_for: None,
        };
        let ceiling = System {
            name: "file".into(),
            ceiling_for: Some("disk".into()),
            ..system.clone()
        };
        let fact = |name: &str, value: &str| Fact {
            system: None,
            group: "machine".into(),
            name: name.into(),
            value: value.into(),
        };
        Data {
            headers: vec![Header {
                title: title.into(),
                tailmark: "0.1.0".into(),
                created_ms: 0,
                plan: BTreeMap::new(),
                source: String::new(),
                assumed: Vec::new(),
            }],
            systems: vec![system, ceiling],
            facts: vec![fact("kernel", kernel), fact("cpu", "same")],
            ..Data::default()
        }
    }

    #[test]
    fn systems_of_one_name_described_differently_are_kept_apart() {
        let mut data = study("old", "6.1");
        data.merge(study("new", "6.18"));
        let names: Vec<&str> = data.systems.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["disk", "file", "disk (new)", "file (new)"]);
        assert_eq!(data.systems[3].ceiling_for.as_deref(), Some("disk (new)"));
    }

    #[test]
    fn systems_described_alike_are_merged() {
        let mut data = study("same", "6.1");
        data.merge(study("same", "6.1"));
        assert_eq!(data.systems.len(), 2);
        assert_eq!(data.headers.len(), 2);
        assert_eq!(data.facts.len(), 2);
    }

    #[test]
    fn machine_facts_that_differ_become_facts_of_the_systems() {
        let mut data = study("old", "6.1");
        data.merge(study("new", "6.18"));
        let kernel = |system: &str| {
            data.facts
                .iter()
                .find(|f| f.system.as_deref() == Some(system) && f.name == "kernel")
                .map(|f| f.value.as_str())
        };
        assert_eq!(kernel("disk"), Some("6.1"));
        assert_eq!(kernel("disk (new)"), Some("6.18"));
        let shared: Vec<&str> = data
            .facts
            .iter()
            .filter(|f| f.system.is_none())
            .map(|f| f.name.as_str())
            .collect();
        assert_eq!(shared, ["cpu"]);
    }
}
