//! The conditions under which a system was measured: everything that shapes its numbers besides its
//! identity. Studies of a system are merged if their conditions are equal. Differences between two
//! systems are listed next to their comparison.

mod library;
mod runs;
#[cfg(test)]
mod tests;

pub use runs::RunConditions;

use runs::Runs;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use tailmark_model::{
    Fact, Header, Role, Subject, System, number,
    server::{plain, without_server},
};

/// Flags of the drop-in for db_bench that are not conditions either, because its systems have them
/// as settings.
const NOT_CONDITIONS_OF_DB_BENCH: &[&str] = &[
    "benchmarks",
    "confidence_interval_only",
    "histogram",
    "report_file",
    "report_interval_seconds",
    "seed",
    "statistics",
    "stats_interval",
    "stats_interval_seconds",
    "stats_per_interval",
    "threads",
    "use_existing_db",
];

/// Facts that change from run to run, or with the order in which devices were found.
const PASSING_FACTS: &[(&str, &str)] = &[
    ("data set", "begun on"),
    ("data set", "load began"),
    Fact::LOADED_EARLIER,
    ("data set", "loaded for repeat"),
    ("device", "device of the backing file"),
    ("device", "devices below"),
    ("device", "name"),
    ("device", "namespaces of its controller"),
    ("device", "partition"),
    ("file system", "available at the start"),
    ("file system", "size"),
    ("file system", "source"),
    ("kernel", "command line"),
    ("machine", "boot drive"),
    ("machine", "hostname"),
    ("machine", "serial number"),
    ("memory", "available at the start"),
    ("memory", "limit"),
    ("run directory", "made by"),
    ("server", "name of the host"),
];

/// Groups of facts that identify the device of a system. Two systems of a study are expected to
/// differ in them. Some facts of these groups are exceptions.
const IDENTITY: &[&str] = &["device", "file system"];
/// The making of an emulated device, which stands for the device.
const EMULATED: &str = "preparation emulate";
const NO_IDENTITY: &[(&str, &str)] = &[
    ("device", "scheduler"),
    ("device", "write cache"),
    ("device", "requests queued at most"),
    ("device", "read ahead"),
    ("device", "largest request"),
    ("device", "requests merged"),
    ("device", "target of writeback throttling"),
    ("device", "link"),
    ("file system", "type"),
    ("file system", "options"),
    ("file system", "block"),
];

/// Data sets are unequal if their ages differ by more than this factor and this many hours.
const AGE_FACTOR: f64 = 2.0;
const AGE_HOURS: f64 = 1.0;

/// Free space is unequal if it differs by more than this fraction of the higher value.
const FREE_PART: f64 = 0.1;

/// The source of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The loaded data set.
    DataSet,
    /// Driver, place, semantics.
    System,
    /// A setting of the database.
    Setting,
    /// Another key of the plan.
    Plan,
    /// What a workload consists of.
    Workload,
    /// How a workload draws its keys.
    Distribution,
    /// A fact about machine, database, device or file system.
    Fact,
    /// The title of the study.
    Title,
}

/// The name of a condition.
pub type ConditionName = (Part, String);

/// Names and values, in the order in which differences are listed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    named: BTreeMap<ConditionName, String>,
    /// Hours from the start of the load to the first run.
    age_h: Option<f64>,
    /// Bytes that were free at the start, and their text.
    free: Option<(f64, String)>,
    /// The name of its device, if it has a single one.
    device: Option<String>,
    /// What its runs add.
    runs: Runs,
}

/// A difference between the two systems of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inequality {
    /// The condition in words: `kernel release`, `cache_size`.
    pub name: String,
    /// The value of the first system, if it is known.
    pub a: Option<String>,
    /// The value of the second system.
    pub b: Option<String>,
}

impl std::fmt::Display for Inequality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        write!(
            f,
            "{} {} against {}",
            self.name,
            value(&self.a),
            value(&self.b)
        )
    }
}

/// The keys of a plan that are conditions, with their values. Those of a system are in its
/// description.
pub fn plan_conditions(header: &Header) -> impl Iterator<Item = (Part, &str, &str)> {
    header.plan.iter().filter_map(|(key, given)| {
        let Role::Condition(subject) = given.role else {
            return None;
        };
        let part = match subject {
            Subject::Setting => return None,
            Subject::DataSet | Subject::Load => Part::DataSet,
            Subject::Workload => Part::Workload,
            Subject::Distribution => Part::Distribution,
            Subject::Run => Part::Plan,
        };
        Some((part, key.as_str(), given.value.as_str()))
    })
}

/// The database settings of a system in a plan: those of its description, and the content of files
/// that they name.
fn plan_settings<'a>(header: &'a Header, system: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    header.plan.iter().filter_map(move |(key, given)| {
        if given.role != Role::Condition(Subject::Setting) {
            return None;
        }
        // The key is TABLE.SYSTEM.TABLE.NAME, and the name of a system may have dots.
        let (_, of_systems) = key.split_once('.')?;
        let of_system = of_systems.strip_prefix(system)?.strip_prefix('.')?;
        let (_, name) = of_system.split_once('.')?;
        Some((name, given.value.as_str()))
    })
}

impl Conditions {
    /// Everything that shapes a system's numbers. `facts` are those of the study; `first_run_ms` is
    /// when the first of its runs began.
    pub fn new(
        header: Option<&Header>,
        system: &System,
        facts: &[Fact],
        first_run_ms: Option<u64>,
    ) -> Self {
        let mut conditions = Self::default();
        let mut put = |part, name: &str, value: &str| {
            let name = (part, name.to_owned());
            conditions.named.insert(name, value.to_owned());
        };
        for (part, key, value) in header.into_iter().flat_map(plan_conditions) {
            put(part, key, value);
        }
        put(Part::System, "driver", &system.driver);
        put(Part::System, "place", &system.place);
        put(Part::System, "semantics", &system.semantics);
        if let Some(measured) = &system.ceiling_for {
            put(Part::Fact, "ceiling of", measured);
        }
        if let Some(header) = header {
            for (name, value) in plan_settings(header, &system.name) {
                put(Part::Setting, name, value);
            }
        }
        // The drop-ins' studies have no plan, and state the data set among the settings.
        for (name, value) in &system.settings {
            if NOT_CONDITIONS_OF_DB_BENCH.contains(&name.as_str()) {
                continue;
            }
            let part = match name.as_str() {
                "records" | "fields" | "field_length" => Part::DataSet,
                _ => Part::Setting,
            };
            put(part, name, value);
        }
        let own = |fact: &&Fact| fact.system.as_ref().is_none_or(|name| *name == system.name);
        for fact in facts.iter().filter(own) {
            let passes = [Fact::IMPORTED, Fact::IMPORTED_CONTENTS, Fact::USE_CASE]
                .contains(&fact.group.as_str())
                || PASSING_FACTS.contains(&(plain(&fact.group), fact.name.as_str()));
            if !passes {
                put(
                    Part::Fact,
                    &fact_name(fact),
                    &without_device(fact, &system.place),
                );
            }
        }
        let own = |group: &str, name: &str| {
            let mut own = facts.iter().filter(own);
            own.find(|fact| fact.group == group && fact.name == name)
        };
        let (group, earlier) = Fact::LOADED_EARLIER;
        conditions.age_h = own(group, "load began")
            .or_else(|| own(group, earlier))
            .and_then(|fact| fact.value.parse().ok())
            .zip(first_run_ms)
            .map(|(began, first): (humantime::Timestamp, u64)| hours_between(began, first));
        conditions.device = own("device", "name").map(|fact| fact.value.clone());
        conditions.free = own("file system", "available at the start")
            .and_then(|fact| Some((bytes(&fact.value)?, fact.value.clone())));
        conditions
    }

    /// Sets a condition.
    pub fn set(&mut self, part: Part, name: &str, value: impl Into<String>) {
        self.named.insert((part, name.to_owned()), value.into());
    }

    /// The conditions of a system over its runs.
    pub fn over_runs<'r>(
        header: Option<&Header>,
        system: &System,
        facts: &[Fact],
        runs: impl Iterator<Item = RunConditions<'r>> + Clone,
    ) -> Self {
        let first_run = runs.clone().filter_map(|run| run.started_ms);
        let mut conditions = Self::new(header, system, facts, first_run.min());
        for run in runs {
            conditions.add_run(&run);
        }
        conditions
    }

    /// Adds what a run found.
    pub fn add_run(&mut self, run: &RunConditions<'_>) {
        self.runs.add(run);
    }

    /// The value of a condition.
    pub fn get(&self, name: &ConditionName) -> Option<&str> {
        self.named.get(name).map(String::as_str)
    }

    /// The same conditions with other values.
    #[must_use]
    pub fn with_values(mut self, other: impl Fn(&str) -> String) -> Self {
        for value in self.named.values_mut() {
            *value = other(value);
        }
        self
    }

    /// Adds conditions that only another study of the same system knows.
    pub fn complete_from(&mut self, other: Self) {
        for (name, value) in other.named {
            self.named.entry(name).or_insert(value);
        }
    }

    /// The conditions that differ. Titles only distinguish systems that were measured `twice`.
    pub fn differences<'a>(
        &'a self,
        other: &'a Self,
        twice: bool,
    ) -> impl Iterator<Item = &'a ConditionName> {
        let names: BTreeSet<_> = self.named.keys().chain(other.named.keys()).collect();
        names.into_iter().filter(move |name| {
            let values = (self.get(name), other.get(name));
            match (name.0, values) {
                (Part::Title, _) if !twice => false,
                // What one of them does not know, or has not run, is no difference.
                (Part::Fact, (None, _) | (_, None)) => false,
                (Part::Workload | Part::Distribution, (None, _)) if !self.runs(&name.1) => false,
                (Part::Workload | Part::Distribution, (_, None)) if !other.runs(&name.1) => false,
                // How keys are drawn is in the names of points; its parameters are not.
                (Part::Distribution, (Some(a), Some(b))) => {
                    let word = |value: &'a str| value.split(' ').next();
                    a != b && word(a) == word(b)
                }
                (_, (a, b)) => a != b,
            }
        })
    }

    /// Whether the workload of a key was run. The second word of the key is its name.
    fn runs(&self, key: &str) -> bool {
        let own = workload_of(key);
        let mut keys = self
            .named
            .keys()
            .filter(|(part, _)| matches!(part, Part::Workload | Part::Distribution));
        own.is_some() && keys.any(|(_, other)| workload_of(other) == own)
    }

    /// Differences that make a comparison of two systems unequal. With `is_same_system` it is one
    /// system in two studies, whose device should be the same. Without, the device is what is
    /// compared, or on one device the library ([`Self::compared_library`]).
    pub fn unequal(&self, other: &Self, is_same_system: bool) -> Vec<Inequality> {
        let libraries = self.libraries(other);
        let compared = |name: &&ConditionName| match name.0 {
            _ if Self::follows_from_library(libraries, name) => false,
            Part::System if name.1 == "place" => is_same_system,
            Part::Fact if self.is_setting_unlike(other, &name.1) => false,
            Part::Fact if !is_same_system => !is_identity(&name.1),
            _ => true,
        };
        let owned = |value: Option<&str>| value.map(str::to_owned);
        let named = self.differences(other, false).filter(compared);
        let mut unequal: Vec<Inequality> = named
            .map(|name| Inequality {
                name: short(name).to_owned(),
                a: owned(self.get(name)),
                b: owned(other.get(name)),
            })
            .collect();
        if self.compared_library(other, is_same_system).is_none() {
            unequal.extend(self.unequal_library(other));
        }
        unequal.extend(self.unequal_age(other));
        unequal.extend(self.unequal_space(other));
        // Drivers count bytes differently.
        let driver = (Part::System, "driver".to_owned());
        let is_same_driver = self.get(&driver) == other.get(&driver);
        unequal.extend(self.runs.unequal(&other.runs, is_same_driver));
        unequal
    }

    /// Whether a fact is what the database reports of a setting that differs anyway.
    fn is_setting_unlike(&self, other: &Self, fact: &str) -> bool {
        fact.strip_prefix("database ").is_some_and(|name| {
            let setting = (Part::Setting, name.to_owned());
            self.get(&setting) != other.get(&setting)
        })
    }

    /// Whether both were on the same single device.
    fn is_on_device_of(&self, other: &Self) -> bool {
        let is_other = |name: &ConditionName| name.0 == Part::Fact && is_identity(&name.1);
        self.device.is_some()
            && self.device == other.device
            && !self.differences(other, false).any(is_other)
    }

    fn unequal_age(&self, other: &Self) -> Option<Inequality> {
        let (a, b) = self.age_h.zip(other.age_h)?;
        let (low, high) = (a.min(b), a.max(b));
        let value = |hours: f64| Some(number::duration(hours * 3600.0));
        (high - low > AGE_HOURS && high > AGE_FACTOR * low).then(|| Inequality {
            name: "age of the data set".to_owned(),
            a: value(a),
            b: value(b),
        })
    }

    fn unequal_space(&self, other: &Self) -> Option<Inequality> {
        let ((a, text_a), (b, text_b)) = self.free.as_ref().zip(other.free.as_ref())?;
        ((a - b).abs() > FREE_PART * a.max(*b)).then(|| Inequality {
            name: "free space at the start".to_owned(),
            a: Some(text_a.clone()),
            b: Some(text_b.clone()),
        })
    }
}

/// The workload of a key.
fn workload_of(key: &str) -> Option<&str> {
    key.split('.').nth(1)
}

/// The name of a condition without its table.
pub fn short((part, key): &ConditionName) -> &str {
    match part {
        Part::DataSet | Part::Plan => key.split_once('.').map_or(key.as_str(), |(_, name)| name),
        _ => key,
    }
}

/// The value of a fact. Preparation steps of two systems count as equal if only the names of their
/// devices and places differ: `mkfs.xfs /dev/loop4` and `mkfs.xfs /dev/loop5`.
fn without_device(fact: &Fact, place: &str) -> String {
    if plain(&fact.group) != Fact::PREPARATION {
        return fact.value.clone();
    }
    let words = fact.value.split(' ').map(|word| {
        let path = word.trim_end_matches([',', ';', ':', '.']);
        let rest = &word[path.len()..];
        match path {
            _ if path.starts_with("/dev/") => format!("DEVICE{rest}"),
            _ if path.len() > 1 && Path::new(place).starts_with(path) => format!("PLACE{rest}"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn fact_name(fact: &Fact) -> String {
    format!("{} {}", fact.group, fact.name)
}

/// Whether a fact of this name identifies a device.
fn is_identity(name: &str) -> bool {
    let name = without_server(name);
    let is_of = |group: &&str| {
        name.strip_prefix(*group)
            .is_some_and(|rest| rest.starts_with(' '))
    };
    let is_among = |(group, own): &(&str, &str)| {
        let whole = name.strip_suffix(own).unwrap_or_default();
        whole.starts_with(group) && whole.ends_with(' ') && plain(whole.trim_end()) == *group
    };
    name == EMULATED || IDENTITY.iter().any(is_of) && !NO_IDENTITY.iter().any(is_among)
}

fn hours_between(began: humantime::Timestamp, first_run_ms: u64) -> f64 {
    let began: std::time::SystemTime = began.into();
    let began = began.duration_since(std::time::UNIX_EPOCH);
    let began_s = began.map_or(0.0, |since| since.as_secs_f64());
    (first_run_ms as f64 / 1e3 - began_s).max(0.0) / 3600.0
}

/// Parses bytes as facts write them: `12.5 GiB`.
fn bytes(text: &str) -> Option<f64> {
    let (value, unit) = text.split_once(' ')?;
    let power = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        .iter()
        .position(|known| *known == unit)?;
    let value: f64 = value.parse().ok()?;
    Some(value * 1024_f64.powi(i32::try_from(power).ok()?))
}
