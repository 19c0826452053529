//! Merges several studies into one. Identical systems of one name become one system with more
//! repeats. Systems that differ in something that shapes their numbers stay separate, under names
//! that show the difference.

use crate::{Data, SystemConditions, grid_name::UNKNOWN};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use tailmark_model::{Fact, Point, PointKey, ResolvedRate, RunRules, System, number};
use tailmark_stats::{
    Conditions, RunConditions,
    comparison::RunsRead,
    conditions::{ConditionName, Part, plan_conditions, short},
};

/// Differences that a name says; more are in the tables.
const NAMED: usize = 3;

impl Data {
    /// Several studies as one.
    ///
    /// Systems of one name are one where everything is alike that shapes the numbers: data set,
    /// driver, settings, place, plan and machine, but not seeds, repeats and the choice of thread
    /// counts and workloads. Points that were measured in several of their studies become further
    /// repeats, unless the studies have different titles. Others get what differs beside their
    /// names. Facts of the machine that differ become facts of the systems measured on it.
    #[must_use]
    pub fn merged(mut studies: Vec<Self>) -> Self {
        for study in &mut studies {
            study.conditions = study.conditions_of_systems();
        }
        let mut read = RunsRead::default();
        let mut notices: Vec<String> = join_unknown(&mut studies).into_iter().collect();
        // Ceilings last: two of them differ where the systems do that they are of.
        for of_ceilings in [false, true] {
            let of_pass = |s: &&System| s.ceiling_for.is_some() == of_ceilings;
            let systems = studies.iter().flat_map(|study| &study.systems);
            let names: Vec<String> = systems.filter(of_pass).map(|s| s.name.clone()).collect();
            let names: BTreeSet<String> = names.into_iter().collect();
            for name in names {
                notices.extend(tell_apart(&mut studies, &name));
            }
        }
        notices.extend(tell_plans(&mut studies));
        let mut merged = Self::default();
        for study in studies {
            merged.append(study, &mut read);
        }
        merged.notices.append(&mut notices);
        merged
    }

    pub(crate) fn append(&mut self, mut other: Self, read: &mut RunsRead) {
        if !self.headers.is_empty() {
            self.separate_machine_facts(&mut other);
        }
        let notice = other.drop_copies(read);
        self.notices.extend(notice);
        self.keep_common_rates(&mut other);
        other.repeat_after(&self.points);
        let known: BTreeSet<String> = self.systems.iter().map(|s| s.name.clone()).collect();
        other.systems.retain(|s| !known.contains(&s.name));
        other.facts.retain(|f| !self.facts.contains(f));
        let rates = &self.resolved_rates;
        other.resolved_rates.retain(|rate| !rates.contains(rate));
        let searches = &self.searches;
        other.searches.retain(|search| !searches.contains(search));
        let anatomies = &self.anatomies;
        other.anatomies.retain(|own| !anatomies.contains(own));
        other.notices.retain(|n| !self.notices.contains(n));
        self.headers.append(&mut other.headers);
        self.systems.append(&mut other.systems);
        self.facts.append(&mut other.facts);
        self.loads.append(&mut other.loads);
        self.points.append(&mut other.points);
        self.resolved_rates.append(&mut other.resolved_rates);
        self.searches.append(&mut other.searches);
        self.anatomies.append(&mut other.anatomies);
        self.notices.append(&mut other.notices);
        for (name, c) in other.conditions {
            match self.conditions.entry(name) {
                Entry::Vacant(vacant) => drop(vacant.insert(c)),
                Entry::Occupied(mut kept) => kept.get_mut().complete_from(c),
            }
        }
    }

    /// Its runs and loads, by which copies are known.
    pub(crate) fn runs_read(&self) -> RunsRead {
        let mut read = RunsRead::default();
        for point in &self.points {
            read.is_new(point);
        }
        for load in &self.loads {
            read.is_new_load(load);
        }
        read
    }

    /// Drops the runs and loads that were read before: a run counts once.
    fn drop_copies(&mut self, read: &mut RunsRead) -> Option<String> {
        let (runs, loads) = (self.points.len(), self.loads.len());
        self.points.retain(|point| read.is_new(point));
        self.loads.retain(|load| read.is_new_load(load));
        let dropped = runs + loads - self.points.len() - self.loads.len();
        (dropped > 0).then(|| {
            format!(
                "{}: copies count once.",
                match dropped {
                    1 => "One run or load is an exact copy of another".to_owned(),
                    n => format!(
                        "{} runs and loads are exact copies of others",
                        number::count(n as u64)
                    ),
                }
            )
        })
    }

    /// A rate that both have keeps what it is a percentage of only if it is that in both.
    fn keep_common_rates(&mut self, other: &mut Self) {
        let is_same = |one: &ResolvedRate, two: &ResolvedRate| {
            let same = ResolvedRate {
                peak_ops_per_sec: two.peak_ops_per_sec,
                ..one.clone()
            };
            same == *two
        };
        let is_kept = |rate: &ResolvedRate, (points, rates): (&[Point], &[ResolvedRate])| {
            !points.iter().any(|point| point.key.is_at(rate))
                || rates.iter().any(|own| is_same(rate, own))
        };
        let mut ours = std::mem::take(&mut self.resolved_rates);
        let mut theirs = std::mem::take(&mut other.resolved_rates);
        let of_ours = ours.clone();
        ours.retain(|rate| is_kept(rate, (&other.points, &theirs)));
        theirs.retain(|rate| is_kept(rate, (&self.points, &of_ours)));
        (self.resolved_rates, other.resolved_rates) = (ours, theirs);
    }

    /// Numbers repeats of sweeps that have points among the earlier ones on from theirs: all points of
    /// a sweep alike, so that one repeat is one run over all thread counts.
    fn repeat_after(&mut self, earlier: &[Point]) {
        let sweep = |key: &PointKey| PointKey {
            repeat: 1,
            threads: 0,
            ..key.clone()
        };
        let is_there = |p: &&Point| earlier.iter().any(|q| q.key == p.key);
        let again = self.points.iter().filter(is_there);
        let again: Vec<PointKey> = again.map(|p| sweep(&p.key)).collect();
        for point in &mut self.points {
            let name = sweep(&point.key);
            if again.contains(&name) {
                let same = earlier.iter().filter(|q| sweep(&q.key) == name);
                point.key.repeat += same.map(|q| q.key.repeat).max().unwrap_or(0);
            }
        }
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let names = self
            .systems
            .iter_mut()
            .flat_map(|s| std::iter::once(&mut s.name).chain(s.ceiling_for.as_mut()))
            .chain(self.facts.iter_mut().filter_map(|f| f.system.as_mut()))
            .chain(self.loads.iter_mut().map(|l| &mut l.system))
            .chain(self.points.iter_mut().map(|p| &mut p.key.system));
        let searches = self.searches.iter_mut();
        let names = names.chain(searches.flat_map(|search| search.slo.systems_mut()));
        let anatomies = self.anatomies.iter_mut();
        let names = names.chain(anatomies.map(|own| &mut own.point.key.system));
        let rates = self.resolved_rates.iter_mut();
        let names = names.chain(rates.flat_map(|rate| [&mut rate.system, &mut rate.of_system]));
        for name in names.filter(|n| *n == from) {
            to.clone_into(name);
        }
        if let Some(conditions) = self.conditions.remove(from) {
            self.conditions.insert(to.to_owned(), conditions);
        }
    }

    fn title(&self) -> &str {
        self.headers.first().map_or("", |header| &header.title)
    }

    /// Distinguishes two measurements that are alike in everything known. Too little is known of an
    /// import to treat it as the same.
    fn title_of(&self, system: &System) -> String {
        let started = self.headers.first().map_or(0, |header| header.created_ms);
        if is_imported(system) {
            // Two may be made within a second.
            format!("{}, {}", self.title(), number::instant_ms(started))
        } else {
            self.title().to_owned()
        }
    }

    /// The plan's keys that say under which conditions was measured.
    fn plan_conditions(&self) -> impl Iterator<Item = (Part, &str, &str)> {
        self.headers.first().into_iter().flat_map(plan_conditions)
    }

    /// The conditions of each system, by name.
    fn conditions_of_systems(&self) -> BTreeMap<String, SystemConditions> {
        let header = self.headers.first();
        let rules = header.map_or_else(RunRules::default, |own| own.settings.rules);
        let conditions = |system: &System| SystemConditions {
            name: system.name.clone(),
            conditions: self.conditions_of(system),
            rules,
        };
        let systems = self.systems.iter();
        systems.map(|s| (s.name.clone(), conditions(s))).collect()
    }

    /// Everything that shapes a system's numbers.
    fn conditions_of(&self, system: &System) -> Conditions {
        let points = self.points.iter().filter(|p| p.key.system == system.name);
        let runs = points.map(RunConditions::from);
        let header = self.headers.first();
        let mut conditions = Conditions::over_runs(header, system, &self.facts, runs);
        conditions.set(Part::Title, "title", self.title_of(system));
        conditions
    }

    fn has_points_of(&self, other: &Self, system: &str) -> bool {
        let is_own = |p: &&Point| p.key.system == system;
        let mut points = self.points.iter().filter(is_own);
        points.any(|p| other.points.iter().any(|q| q.key == p.key))
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

/// Whether the points of a system were measured by another program.
pub(crate) fn is_imported(system: &System) -> bool {
    system.driver.ends_with("(imported)")
}

/// Studies whose systems of a name are the same.
struct Class {
    studies: Vec<usize>,
    /// Of the first; facts that only others know are added.
    conditions: Conditions,
}

/// Puts imported points that do not state how their keys were drawn beside those of the same workload,
/// if all of these drew theirs in one way; says so.
fn join_unknown(studies: &mut [Data]) -> Option<String> {
    let points = studies.iter().flat_map(|study| &study.points);
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for key in points.map(|point| &point.key) {
        if key.distribution != UNKNOWN {
            let of_workload = known.entry(key.workload.clone()).or_default();
            of_workload.insert(key.distribution.clone());
        }
    }
    let mut joined: BTreeSet<(String, String)> = BTreeSet::new();
    let all = studies.iter_mut().flat_map(|study| &mut study.points);
    for key in all.map(|point| &mut point.key) {
        let only = known.get(&key.workload).filter(|ways| ways.len() == 1);
        let only = only.and_then(BTreeSet::first);
        if let Some(only) = only.filter(|_| key.distribution == UNKNOWN) {
            key.distribution.clone_from(only);
            joined.insert((key.system.clone(), only.clone()));
        }
    }
    let each = joined
        .iter()
        .map(|(system, how)| format!("`{system}` with {how} keys"));
    let each: Vec<String> = each.collect();
    let each: Vec<&str> = each.iter().map(String::as_str).collect();
    (!each.is_empty()).then(|| {
        format!(
            "Imported results that do not state how their keys were drawn stand beside measured ones: {}.",
            number::list(&each)
        )
    })
}

/// Renames the systems of a name that are not the same; says so.
fn tell_apart(studies: &mut [Data], name: &str) -> Option<String> {
    let mut classes: Vec<Class> = Vec::new();
    for (index, study) in studies.iter().enumerate() {
        let Some(system) = study.systems.iter().find(|s| s.name == name) else {
            continue;
        };
        let conditions = study.conditions_of(system);
        let is_same = |class: &&mut Class| {
            let twice = class
                .studies
                .iter()
                .any(|&i| studies[i].has_points_of(study, name));
            let mut differences = class.conditions.differences(&conditions, twice);
            differences.next().is_none()
        };
        match classes.iter_mut().find(is_same) {
            Some(class) => {
                class.studies.push(index);
                class.conditions.complete_from(conditions);
            }
            None => classes.push(Class {
                studies: vec![index],
                conditions,
            }),
        }
    }
    if classes.len() < 2 {
        return None;
    }
    let mut keys = BTreeSet::new();
    for (i, class) in classes.iter().enumerate() {
        for other in &classes[i + 1..] {
            let differences = class.conditions.differences(&other.conditions, true);
            keys.extend(differences.cloned());
        }
    }
    let labels = labels(name, &keys, &classes, studies);
    for (class, label) in classes.iter().zip(&labels) {
        for &index in &class.studies {
            studies[index].rename(name, label);
        }
    }
    if keys.iter().any(|(part, _)| *part != Part::Title) {
        keys.retain(|(part, _)| *part != Part::Title);
    }
    let names: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    Some(format!(
        "`{name}` was measured under different conditions ({}), so it is {} systems here: {}.",
        keys.iter()
            .map(|(_, key)| key.as_str())
            .collect::<Vec<_>>()
            .join(", "),
        classes.len(),
        names.join(", ")
    ))
}

/// Names that say what differs, each of them new.
fn labels(
    name: &str,
    keys: &BTreeSet<ConditionName>,
    classes: &[Class],
    studies: &[Data],
) -> Vec<String> {
    // What was asked for says more than what follows from it.
    let mut labels = Vec::new();
    for last in [Part::Distribution, Part::Fact, Part::Title] {
        let words = |class| words(keys, class, last);
        labels = classes
            .iter()
            .map(|c| format!("{name} ({})", words(c)))
            .collect();
        if labels.iter().collect::<BTreeSet<_>>().len() == labels.len() {
            break;
        }
    }
    let mut taken: BTreeSet<String> = studies
        .iter()
        .flat_map(|study| study.systems.iter().map(|s| s.name.clone()))
        .collect();
    let free = |label: String| {
        let numbered = (2..).map(|n: u32| format!("{label} ({n})"));
        let mut all = std::iter::once(label.clone()).chain(numbered);
        all.find(|candidate| taken.insert(candidate.clone()))
            .expect("there are more numbers than systems")
    };
    labels.into_iter().map(free).collect()
}

/// The differences within a class, in conditions up to the `last` part.
fn words(keys: &BTreeSet<ConditionName>, class: &Class, last: Part) -> String {
    let chosen = keys.iter().filter(|(part, _)| *part <= last);
    let known: Vec<String> = chosen
        .map(|key| match class.conditions.get(key) {
            Some(value) => condition(key, value),
            None => format!("no {}", short(key)),
        })
        .collect();
    match known.len() {
        0..=NAMED => known.join(", "),
        _ => format!("{}, ...", known[..NAMED].join(", ")),
    }
}

/// `records 1,000`: a condition in a name.
fn condition(key: &ConditionName, value: &str) -> String {
    match key.0 {
        Part::Title => value.to_owned(),
        _ => format!("{} {}", short(key), grouped(value)),
    }
}

/// Whole numbers with commas.
fn grouped(value: &str) -> String {
    value
        .parse()
        .map_or_else(|_| value.to_owned(), number::count)
}

/// Reports differences between the plans of several studies, whichever systems they concern: to the
/// reader and, as facts, for each system.
fn tell_plans(studies: &mut [Data]) -> Option<String> {
    let planned = |study: &&mut Data| study.plan_conditions().next().is_some();
    let mut studies: Vec<&mut Data> = studies.iter_mut().filter(planned).collect();
    let mut values: BTreeMap<ConditionName, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for study in &studies {
        for (part, key, value) in study.plan_conditions() {
            let titles = values.entry((part, key.to_owned())).or_default();
            let titles = titles.entry(value.to_owned()).or_default();
            titles.insert(format!("`{}`", study.title()));
        }
    }
    let all = studies.len();
    values.retain(|(part, key), values| {
        let has = |s: &&&mut Data| s.plan_conditions().any(|(_, k, _)| k == key);
        let of_workload = matches!(part, Part::Workload | Part::Distribution);
        let absent = !of_workload && studies.iter().filter(has).count() < all;
        values.len() > 1 || absent
    });
    for study in &mut studies {
        let mut facts = Vec::new();
        for (part, key, value) in study.plan_conditions() {
            if values.contains_key(&(part, key.to_owned())) {
                facts.extend(study.systems.iter().map(|system| Fact {
                    system: Some(system.name.clone()),
                    group: "plan".to_owned(),
                    name: key.to_owned(),
                    value: value.to_owned(),
                }));
            }
        }
        study.facts.append(&mut facts);
    }
    let lines: Vec<String> = values
        .iter()
        .map(|((_, key), values)| {
            let each = values.iter().map(|(value, titles)| {
                let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
                format!("{} in {}", grouped(value), number::list(&titles))
            });
            format!("{key} is {}", each.collect::<Vec<_>>().join(" and "))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("The studies differ: {}.", lines.join("; ")))
}
