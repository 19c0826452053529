//! Samples the probes once a second during a phase, on the clock of the intervals.
//!
//! One thread, which no client waits for, samples the sources in turn. The series of a source share
//! the instants of its samples. Those of the next source are a little later.

mod servers;
mod turns;

use crate::{error::Error, places::places, ranks::Ranks};
use servers::{FromServer, clock_unknown};
use std::{path::PathBuf, sync::Arc};
use tailmark_driver::{Database, Driver, Location, Statistic, StatisticKind};
use tailmark_engine::Sampler;
use tailmark_machine::probe::{OpenProbe, PROBES, Reading, Target, open_probes};
use tailmark_model::{POWER_COMMAND, PowerOf, Series, SeriesKind, series::DATABASE};
use tailmark_plan::{Plan, SystemPlan};
use tailmark_remote::Server;
use turns::Turns;

/// The most samples that are kept of a series; beyond it every other one is dropped. A point of 20
/// minutes with a minute of warm-up keeps one a second.
const SAMPLES_MAX: usize = 1300;

/// The word in `machine.probes` that switches off all probes not named beside it.
pub const NO_PROBES: &str = "none";

/// The statistics of an open database: a probe too, though not of the machine.
pub const DATABASE_PROBE: (&str, &str) = (
    DATABASE,
    "statistics of the database: flushes, compactions, stalls, caches, queues",
);

/// Everything watched during a phase.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// Directories and block devices.
    pub places: Vec<PathBuf>,
    /// The contact points of a server, each `host:port`.
    pub hosts: Vec<String>,
    /// The name prefix of this process's threads that do the database's background work.
    pub background_threads: &'static str,
    /// Additional probes; with [`NO_PROBES`], the default probes are off.
    pub probes: Vec<String>,
    /// The hosts of a server, if the plan names some.
    pub servers: Vec<Arc<Server>>,
    /// The directories, block devices and NVMe controllers watched on those hosts.
    pub server_places: Vec<PathBuf>,
    /// Whether another process watches the machine.
    pub without_machine: bool,
    /// The command that prints the power of the server.
    pub power_command: Option<String>,
}

impl Watched {
    /// What follows from a location alone.
    #[must_use]
    pub fn of_location(location: &Location, driver: &Driver) -> Self {
        Self {
            places: location.path().into_iter().map(PathBuf::from).collect(),
            hosts: location.addresses(driver.port.unwrap_or_default()),
            background_threads: driver.background_threads,
            ..Self::default()
        }
    }

    /// The watched items of a plan.
    #[must_use]
    pub fn of_system(plan: &Plan, system: &SystemPlan) -> Self {
        Self {
            places: places(system),
            probes: plan.machine.probes.clone(),
            power_command: plan.machine.power_command.clone(),
            ..Self::of_location(&system.location, system.driver)
        }
    }

    /// The same with the places of the other ranks on the host of this one.
    #[must_use]
    pub(crate) fn of_ranks(plan: &Plan, system: &SystemPlan, ranks: &Ranks) -> Self {
        let mut watched = Self::of_system(plan, system);
        for place in ranks.beside(system).flat_map(|system| places(&system)) {
            if !watched.places.contains(&place) {
                watched.places.push(place);
            }
        }
        watched
    }

    /// The same with the hosts of the server, whose processes are theirs.
    #[must_use]
    pub(crate) fn with_servers(mut self, servers: Vec<Arc<Server>>, system: &SystemPlan) -> Self {
        self.server_places = system.watch.clone();
        self.servers = servers;
        self
    }

    /// Without the machine, which another process watches. Statistics of this process's own
    /// database remain; those of a shared database do not.
    #[must_use]
    pub(crate) fn of_database_alone(mut self, is_own: bool) -> Self {
        self.without_machine = true;
        self.probes = vec![NO_PROBES.to_owned()];
        if is_own {
            self.probes.push(DATABASE.to_owned());
        }
        self
    }

    /// Only what has power sensors, as far as it is sampled.
    #[must_use]
    pub(crate) fn of_power_alone(mut self) -> Self {
        let has_power = |name: &str| {
            let mut probes = PowerOf::ALL.into_iter().flat_map(PowerOf::probes);
            probes.any(|probe| probe == name)
        };
        let rows = PROBES.iter().filter(|row| has_power(row.name));
        let sampled = rows.filter(|row| self.has(row.name, row.is_default));
        let sampled = sampled.map(|row| row.name.to_owned());
        self.probes = [NO_PROBES.to_owned()].into_iter().chain(sampled).collect();
        self
    }

    /// Whether a probe is sampled.
    fn has(&self, name: &str, is_default: bool) -> bool {
        let is_asked = |probe: &str| self.probes.iter().any(|requested| requested == probe);
        is_asked(name) || (is_default && !is_asked(NO_PROBES))
    }
}

/// Refuses a plan that names probes which there are not.
///
/// # Errors
/// Names the first of them, and all that there are.
pub(crate) fn refuse_unknown_probes(plan: &Plan) -> Result<(), Error> {
    let known = || {
        let rows = PROBES.iter().map(|row| row.name);
        rows.chain([DATABASE, NO_PROBES])
    };
    match plan
        .machine
        .probes
        .iter()
        .find(|name| !known().any(|k| k == *name))
    {
        None => Ok(()),
        Some(name) => Err(Error::UnknownProbe {
            name: name.clone(),
            known: known().collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The probes of one system, and their samples.
pub struct Capture<'a> {
    sources: Vec<Source<'a>>,
    servers: Vec<FromServer>,
    /// Of each host of the server that is not watched where others are.
    unwatched: Vec<Series>,
    turns: Turns,
    /// What cannot be sampled, and why: each a sentence without its stop.
    pub not_sampled: Vec<String>,
}

/// One probe, and its series.
struct Source<'a> {
    period_s: u64,
    sampled: Sampled<'a>,
    recorded: Recorded,
}

/// The series of one probe.
#[derive(Debug)]
struct Recorded {
    name: &'static str,
    series: Vec<Series>,
    /// Of how many periods a sample is kept: a power of two.
    stride: u64,
}

/// A sampled source.
enum Sampled<'a> {
    /// The machine.
    Probe(OpenProbe),
    /// The database, and the name of its system.
    Database(&'a dyn Database, String),
}

impl<'a> Capture<'a> {
    /// Opens every requested probe that applies to what is watched.
    #[must_use]
    pub fn open(watched: &Watched, system: &str, database: &'a dyn Database) -> Self {
        let target = Target {
            system: system.to_owned(),
            places: watched.places.clone(),
            hosts: if watched.servers.is_empty() {
                watched.hosts.clone()
            } else {
                Vec::new()
            },
            background_threads: watched.background_threads,
            power_command: watched.power_command.clone(),
        };
        let (probes, mut not_sampled) =
            open_probes(&target, |row| watched.has(row.name, row.is_default));
        let source = |probe: OpenProbe| {
            Source::new(probe.row.name, probe.row.period_s, Sampled::Probe(probe))
        };
        let mut sources: Vec<_> = probes.into_iter().map(source).collect();
        // Last, because a server may be slow to answer.
        if watched.has(DATABASE, true) {
            let database = Sampled::Database(database, system.to_owned());
            sources.push(Source::new(DATABASE, 1, database));
        }
        let (mut servers, mut unwatched) = (Vec::new(), Vec::new());
        for server in &watched.servers {
            match FromServer::open(server, watched, system, &mut not_sampled) {
                Some(opened) => servers.push(opened),
                None => unwatched.push(clock_unknown(server.name())),
            }
        }
        // If no device is watched, there is no sum.
        unwatched.retain(|_| !servers.is_empty());
        Self {
            servers,
            unwatched,
            sources,
            turns: Turns::default(),
            not_sampled,
        }
    }

    /// Samples the plan's power command alone: in virtual time, it alone is about the database.
    pub(crate) fn sample_command(&mut self) {
        let is_command = |source: &&mut Source<'_>| source.recorded.name == POWER_COMMAND;
        for source in self.sources.iter_mut().filter(is_command) {
            source.sample(&|| 0.0, &mut self.not_sampled);
            self.not_sampled.extend(source.why_missing());
        }
    }

    /// The samples so far.
    #[must_use]
    pub fn series_so_far(&self) -> Vec<Series> {
        let own = self
            .sources
            .iter()
            .flat_map(|source| &source.recorded.series);
        let there = self.servers.iter().flat_map(FromServer::series_so_far);
        let own = own.chain(&self.unwatched).cloned();
        in_order(own.chain(there).collect())
    }

    /// All samples.
    #[must_use]
    pub fn into_series(self) -> Vec<Series> {
        let all = self.sources.into_iter().map(|source| source.recorded);
        let all = all.flat_map(|recorded| recorded.series);
        let there = self.servers.into_iter().flat_map(FromServer::into_series);
        in_order(all.chain(there).chain(self.unwatched).collect())
    }
}

/// By probe, subject and name.
fn in_order(mut all: Vec<Series>) -> Vec<Series> {
    let key = |s: &Series| (s.probe.clone(), s.subject.clone(), s.name.clone());
    all.sort_by_cached_key(key);
    all
}

impl Sampler for Capture<'_> {
    fn sample(&mut self, now_s: &dyn Fn() -> f64, is_last: bool) {
        let Self {
            sources,
            servers,
            turns,
            not_sampled,
            ..
        } = self;
        let turn = turns.next(now_s(), is_last);
        for source in sources {
            let period = source.period_s * source.recorded.stride;
            if turn.whole || turn.number.is_multiple_of(period) {
                source.sample(now_s, not_sampled);
            }
            if is_last {
                not_sampled.extend(source.why_missing());
            }
        }
        for server in servers {
            server.sample(now_s, turn.asks_servers, not_sampled);
        }
    }
}

impl<'a> Source<'a> {
    const fn new(name: &'static str, period_s: u64, sampled: Sampled<'a>) -> Self {
        Self {
            period_s,
            sampled,
            recorded: Recorded::new(name),
        }
    }

    /// Why there is no sample, if its source is late.
    fn why_missing(&self) -> Option<String> {
        match &self.sampled {
            Sampled::Probe(probe) if self.recorded.series.is_empty() => probe.why_late(),
            _ => None,
        }
    }

    /// Samples once. `now_s` is the time since the start of the measured part, seconds. A failed
    /// sample is a gap, and the first failure is reported.
    fn sample(&mut self, now_s: &dyn Fn() -> f64, not_sampled: &mut Vec<String>) {
        let at_s = now_s();
        let readings = match &mut self.sampled {
            Sampled::Database(database, system) => {
                let told = database.statistics().unwrap_or_default();
                told.into_iter().map(|one| reading(system, one)).collect()
            }
            Sampled::Probe(probe) => match probe.sample() {
                Ok(readings) => readings,
                Err(why) => {
                    if !not_sampled.contains(&why) {
                        not_sampled.push(why);
                    }
                    return;
                }
            },
        };
        self.recorded.add_all(at_s, readings);
    }
}

impl Recorded {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            series: Vec::new(),
            stride: 1,
        }
    }

    /// Adds the readings of one sample.
    fn add_all(&mut self, at_s: f64, readings: Vec<Reading>) {
        for (index, reading) in readings.into_iter().enumerate() {
            self.add(at_s, index, reading);
        }
        if self.series.iter().any(|s| s.values.len() > SAMPLES_MAX) {
            self.stride *= 2;
            self.series.iter_mut().for_each(thin);
        }
    }

    /// Adds a reading to its series, which is at the same place as in the sample before unless
    /// something was left out.
    fn add(&mut self, at_s: f64, index: usize, reading: Reading) {
        let is_its = |s: &Series| s.name == reading.name && s.subject == reading.subject;
        let at = if self.series.get(index).is_some_and(is_its) {
            Some(index)
        } else {
            self.series.iter().position(is_its)
        };
        let at = at.unwrap_or_else(|| {
            self.series.push(Series {
                probe: self.name.to_owned(),
                subject: reading.subject.clone(),
                name: reading.name.clone(),
                kind: reading.kind,
                at_s: Vec::new(),
                values: Vec::new(),
            });
            self.series.len() - 1
        });
        self.series[at].at_s.push(at_s);
        self.series[at].values.push(reading.value);
    }
}

/// A statistic of a database in the form of a probe's reading.
fn reading(system: &str, told: Statistic) -> Reading {
    let subject = match told.node {
        None => system.to_owned(),
        Some(node) => node,
    };
    Reading {
        subject,
        name: told.name,
        kind: match told.kind {
            StatisticKind::Counter => SeriesKind::Counter,
            StatisticKind::Gauge => SeriesKind::Gauge,
        },
        value: told.value,
    }
}

/// Drops every other sample. Counters still show the total change.
fn thin(series: &mut Series) {
    let mut index = 0;
    series.at_s.retain(|_| {
        index += 1;
        index % 2 == 1
    });
    index = 0;
    series.values.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::{Error as DriverError, Session};

    /// A database with as many statistics as it was asked before, up to three.
    struct Told(std::sync::atomic::AtomicU32);

    impl Database for Told {
        fn session(&self) -> Result<Box<dyn Session>, DriverError> {
            unreachable!("no client is connected")
        }

        fn statistics(&self) -> Option<Vec<Statistic>> {
            let requested = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let one = |name: &u32| Statistic::counter(format!("s{name}"), f64::from(requested));
            Some(
                (0..requested.min(3))
                    .collect::<Vec<_>>()
                    .iter()
                    .rev()
                    .map(one)
                    .collect(),
            )
        }
    }

    fn watched(probes: &[&str]) -> Watched {
        Watched {
            probes: probes.iter().map(|name| (*name).to_owned()).collect(),
            ..Watched::default()
        }
    }

    #[test]
    fn none_leaves_those_that_are_named_beside_it() {
        let names = |probes: &[&str]| {
            let database = Told(0.into());
            let capture = Capture::open(&watched(probes), "a", &database);
            let sources = capture.sources.iter();
            sources.map(|s| s.recorded.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["none"]), Vec::<&str>::new());
        assert_eq!(names(&["none", "memory"]), ["memory"]);
        assert!(names(&[]).contains(&"cpu") && names(&[]).contains(&"database"));
    }

    #[test]
    fn what_is_told_later_has_a_series_of_its_own_instants() {
        let database = Told(0.into());
        let mut capture = Capture::open(&watched(&["none", "database"]), "a", &database);
        for second in 0..5 {
            capture.sample(&|| f64::from(second), false);
        }
        let series = capture.into_series();
        let told: Vec<_> = series
            .iter()
            .map(|s| (&*s.name, s.at_s[0], s.values.len()))
            .collect();
        assert_eq!(told, [("s0", 1.0, 4), ("s1", 2.0, 3), ("s2", 3.0, 2)]);
        assert!(
            series
                .iter()
                .all(|s| s.subject == "a" && s.probe == "database")
        );
    }

    #[test]
    fn a_long_phase_is_thinned_and_keeps_its_last_sample() {
        let database = Told(3.into());
        let mut capture = Capture::open(&watched(&["none", "database"]), "a", &database);
        for second in 0..5000 {
            capture.sample(&|| f64::from(second), second == 4999);
        }
        for series in capture.into_series() {
            assert!((600..=SAMPLES_MAX).contains(&series.values.len()));
            assert_eq!(series.at_s.last(), Some(&4999.0));
            assert!(series.at_s.is_sorted() && series.at_s.len() == series.values.len());
        }
    }

    #[test]
    fn what_is_sampled_seldom_is_sampled_when_the_measured_part_begins() {
        let database = Told(5.into());
        let mut capture = Capture::open(&watched(&["none", "database"]), "x", &database);
        capture.sources[0].period_s = 10;
        for at_s in [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0] {
            capture.sample(&|| at_s, at_s == 2.0);
        }
        let series = capture.into_series();
        assert!(
            series.iter().all(|s| s.at_s == [-3.0, 0.0, 2.0]),
            "{series:?}"
        );
        assert!(!series.is_empty());
    }
}
