//! The systems of a plan: their places, databases and settings.

use super::{
    cost,
    place::{absolute, location, no_location, paths},
    roles::{COMMAND, HOSTS, PREPARATION, REPORT, RUN, SYSTEM},
    service::service,
    texts::joined,
};
use crate::{
    Accept::{Flag, FlagOrPath, Paths, Table, Text, Words},
    Agent, Emulate, Error, Expect, PlanKey, Prepare, Service,
    hosts::hosts,
    limits::DRIVER_DEFAULT,
    reader::TableReader,
    units,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::{
    DataSet, Driver, Location, Place, Semantics, SettingKind, Settings, db, did_you_mean,
};
use tailmark_model::SystemCost;
use toml::Value;

/// The keys of `system`.
pub(super) const SYSTEM_KEYS: &[PlanKey] = &[
    PlanKey::new("system", "name", SYSTEM, Text).about("unique name in the report"),
    PlanKey::new("system", "path", SYSTEM, Paths)
        .about("where to make the database; of a server: directories to watch"),
    PlanKey::new("system", "device", SYSTEM, Paths)
        .about("block device that the driver writes itself; of a server: devices to watch"),
    PlanKey::new("system", "contact_points", SYSTEM, Words)
        .about("contact points of a server: [\"host:port\", ...]"),
    PlanKey::new("system", "ssh", HOSTS, Words)
        .about("where the server runs, one or several logins for `ssh`: [\"root@db1\"]")
        .sets_in_system(|system| joined(&system.ssh)),
    PlanKey::new("system", "agent", RUN, FlagOrPath)
        .about(
            "allow a small agent program there to sample and prepare; a path: an agent for another \
             processor",
        )
        .or("true"),
    PlanKey::new("system", "placeholder", RUN, Flag)
        .about("the place is an example that --system NAME=WHERE must replace")
        .or("false"),
    PlanKey::new("system", "ceiling_for", SYSTEM, Text)
        .about("measures the device ceiling of that system, in its place")
        .sets_in_system(|system| system.ceiling_for.clone()),
    PlanKey::new("system", "optional", RUN, Flag)
        .about("skip the system if its place is missing or too small")
        .or("false"),
    PlanKey::new("system", "database", SYSTEM, Table).about("keys of [database] for this system"),
    PlanKey::new("system", "service", COMMAND, Table)
        .about("server to stop and start around points"),
    PlanKey::new("system", "expect", PREPARATION, Table)
        .about("what the place must be, checked before the run"),
    PlanKey::new("system", "prepare", PREPARATION, Table)
        .about("keys of [prepare] for this system"),
    PlanKey::new("system", "cost", REPORT, Table).about("keys of [cost] for this system"),
];

/// One system under test.
#[derive(Debug, Clone)]
pub struct SystemPlan {
    /// Unique.
    pub name: String,
    /// The place as in the plan, including `{rank}` and `{host}`.
    pub place: String,
    /// Its place. A directory may turn out to be a block device; a device must be one.
    pub location: Location,
    /// Whether the location is an example that must be replaced before anything is measured.
    pub placeholder: bool,
    /// Its driver.
    pub driver: &'static Driver,
    /// The checked settings of the driver.
    pub settings: Settings,
    /// Its semantics.
    pub semantics: Semantics,
    /// The version of the embedded database according to the plan, such as `8.1`.
    pub version: Option<String>,
    /// The data set (the same for every system of a plan).
    pub data: DataSet,
    /// The system whose device ceiling this one measures.
    pub ceiling_for: Option<String>,
    /// Whether it is left out with a message, instead of an error, if its place is missing or too
    /// small.
    pub optional: bool,
    /// The watched directories, block devices and NVMe controllers of a server on this machine.
    pub watch: Vec<PathBuf>,
    /// The hosts of its server for `ssh`; empty: commands for it run on this machine.
    pub ssh: Vec<String>,
    /// The agent that may be copied there.
    pub agent: Agent,
    /// Expectations about its place.
    pub expect: Expect,
    /// The service that is stopped and started around its points.
    pub service: Option<Service>,
    /// How its devices are prepared.
    pub prepare: Prepare,
    /// Its emulated device.
    pub emulate: Option<Emulate>,
    /// Its prices and ratings, if the plan states any.
    pub cost: Option<SystemCost>,
}

/// The place of one of several processes; see [`crate::Plan::at_rank`].
#[must_use]
pub fn named_at_rank(place: &str, rank: u32, host: &str) -> String {
    let place = place.replace("{rank}", &rank.to_string());
    place.replace("{host}", host)
}

impl SystemPlan {
    /// The system of one of several processes; see [`crate::Plan::at_rank`].
    #[must_use]
    pub fn at_rank(&self, rank: u32, host: &str) -> Self {
        let named = |text: &str| named_at_rank(text, rank, host);
        let path = |path: &Path| PathBuf::from(named(&path.to_string_lossy()));
        Self {
            location: match &self.location {
                Location::Directory(place) => Location::Directory(path(place)),
                Location::Device(place) => Location::Device(path(place)),
                other => other.clone(),
            },
            watch: self.watch.iter().map(|place| path(place)).collect(),
            settings: self.settings.renamed(named),
            ..self.clone()
        }
    }

    /// The known directories, devices and controllers that probes watch.
    #[must_use]
    pub fn watched(&self) -> Vec<&Path> {
        if self.watch.is_empty() {
            self.location.path().into_iter().collect()
        } else {
            self.watch.iter().map(PathBuf::as_path).collect()
        }
    }

    /// Further directories in its settings, in which the database keeps part of its data.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let settings = self.driver.settings.iter();
        let named = settings.filter(|row| row.kind == SettingKind::Directory);
        let given = named.filter_map(|row| self.settings.text(row.name));
        given.filter(|text| !text.is_empty()).map(Path::new)
    }

    /// Whether its data is on this machine: it is not a server, the plan names what to watch of the
    /// server here, or the server is reached over the loopback.
    #[must_use]
    pub fn is_here(&self) -> bool {
        let is_here =
            self.driver.place != Place::Hosts || !self.watch.is_empty() || self.location.is_here();
        is_here && self.ssh.is_empty()
    }
}

/// The inputs for reading systems.
pub(crate) struct Systems<'a> {
    /// The plan.
    pub top: &'a TableReader<'a>,
    /// The data set, scaled.
    pub data: &'a DataSet,
    /// The factor for caches.
    pub scale: f64,
}

/// One `[[system]]` table while it is read.
struct SystemTable<'a> {
    name: String,
    reader: TableReader<'a>,
    driver: &'static Driver,
    ceiling_for: Option<String>,
}

impl<'a> Systems<'a> {
    /// Every system, checked.
    pub fn read(&self) -> Result<Vec<SystemPlan>, Error> {
        let tables = self.top.tables("system")?;
        if tables.is_empty() {
            return Err(Error::NoSystem);
        }
        let names: Vec<String> = tables.iter().map(|(name, _)| name.clone()).collect();
        let base = self.driver_of(self.top, None)?;
        let mut read = Vec::new();
        for (name, reader) in tables {
            let driver = self.driver_of(&reader, Some(base))?;
            let ceiling_for: Option<String> = reader.optional("ceiling_for")?;
            if let Some(ceiling) = &ceiling_for {
                refuse_unknown_ceiling(&reader, ceiling, &name, &names)?;
            }
            read.push(SystemTable {
                name,
                reader,
                driver,
                ceiling_for,
            });
        }
        self.refuse_bad_base(base)?;
        let systems = read.iter().map(|table| self.system(table, &read, base));
        let systems = systems.collect::<Result<Vec<_>, _>>()?;
        refuse_shared_places(&systems)?;
        Ok(systems)
    }

    /// The driver in the `database` table of `reader`.
    fn driver_of(
        &self,
        reader: &TableReader<'_>,
        base: Option<&'static Driver>,
    ) -> Result<&'static Driver, Error> {
        let table = match reader.given().get("database") {
            None => None,
            Some(Value::Table(table)) => Some(table),
            Some(other) => return Err(reader.refuse("database", other)),
        };
        let given = table.and_then(|table| table.get("driver"));
        let name = match (given, base) {
            (Some(Value::String(name)), _) => name.as_str(),
            (Some(other), _) => {
                return Err(Error::BadValue {
                    key: reader.label("database.driver"),
                    value: units::text(other),
                    accepted: "the name of a driver (see `tailmark list drivers`)".to_owned(),
                });
            }
            (None, Some(base)) => return Ok(base),
            (None, None) => DRIVER_DEFAULT,
        };
        let key = || reader.label("database.driver");
        db::find(name).map_err(|source| Error::Driver { key: key(), source })
    }

    /// `[database]` must be valid even if every system overrides it.
    fn refuse_bad_base(&self, base: &'static Driver) -> Result<(), Error> {
        let reader = self.database(self.top, base)?;
        self.settings(&reader, base, given(&reader, base)?)
            .map(|_| ())
    }

    fn database(
        &self,
        reader: &TableReader<'a>,
        driver: &'static Driver,
    ) -> Result<TableReader<'a>, Error> {
        let settings: Vec<&str> = driver.settings.iter().map(|setting| setting.name).collect();
        reader.table("database", &settings)
    }

    fn settings(
        &self,
        reader: &TableReader<'_>,
        driver: &'static Driver,
        given: BTreeMap<String, String>,
    ) -> Result<Settings, Error> {
        let key = || reader.full("").trim_end_matches('.').to_owned();
        Settings::check(driver, &given, self.data, self.scale)
            .map_err(|source| Error::Driver { key: key(), source })
    }

    /// The place of a system: its own, or that of the system whose ceiling it is.
    fn location(
        &self,
        table: &SystemTable<'a>,
        all: &[SystemTable<'a>],
    ) -> Result<Location, Error> {
        let SystemTable {
            reader,
            driver,
            ceiling_for,
            ..
        } = table;
        if let Some(location) = location(reader, driver)? {
            return Ok(location);
        }
        let mut others = all.iter();
        let lower = others.find(|other| ceiling_for.as_ref() == Some(&other.name));
        let given = lower.map(|lower| location(&lower.reader, lower.driver));
        match (given.transpose()?.flatten(), driver.place) {
            (given, Place::Nowhere) => Ok(given.unwrap_or(Location::None)),
            (Some(at), place) if (place == Place::Hosts) == matches!(at, Location::Hosts(_)) => {
                Ok(at)
            }
            _ => Err(no_location(reader, driver)),
        }
    }

    fn system(
        &self,
        table: &SystemTable<'a>,
        all: &[SystemTable<'a>],
        base: &'static Driver,
    ) -> Result<SystemPlan, Error> {
        let SystemTable {
            name,
            reader,
            driver,
            ceiling_for,
        } = table;
        let own = self.database(reader, driver)?;
        let common = self.database(self.top, base)?;
        // Settings in `[database]` belong to its driver. Another driver cannot use them.
        let mut settings = if std::ptr::eq(*driver, base) {
            given(&common, base)?
        } else {
            BTreeMap::new()
        };
        settings.extend(given(&own, driver)?);
        let settings = self.settings(&own, driver, settings)?;
        let emulate = Emulate::read(reader, name)?;
        let location = self.location(table, all)?;
        // The place of a ceiling is prepared for its system.
        let prepare = match ceiling_for {
            Some(_) => Prepare::default(),
            None => Prepare::read(self.top, reader, driver, &location, emulate.as_ref())?,
        };
        Ok(SystemPlan {
            name: name.clone(),
            place: location.to_string(),
            location,
            prepare,
            emulate,
            placeholder: reader.get("placeholder")?,
            driver,
            semantics: semantics(&own, &common, driver, &settings)?,
            version: version(&own, std::ptr::eq(*driver, base).then_some(&common), driver)?,
            settings,
            data: self.data.clone(),
            ceiling_for: ceiling_for.clone(),
            optional: reader.get("optional")?,
            watch: match driver.place {
                Place::Hosts => paths(reader, &["path", "device"])?,
                _ => Vec::new(),
            },
            ssh: hosts(reader, driver)?,
            agent: agent(reader)?,
            expect: Expect::read(reader, driver)?,
            service: service(reader, driver)?,
            cost: cost::read(self.top, reader)?,
        })
    }
}

/// The semantics of a system: as it or `[database]` says, or as implied by its settings.
fn semantics(
    own: &TableReader<'_>,
    common: &TableReader<'_>,
    driver: &Driver,
    settings: &Settings,
) -> Result<Semantics, Error> {
    let kept = (driver.semantics)(settings);
    let mut readers = [own, common].into_iter();
    let given = readers.find(|reader| reader.given().contains_key("semantics"));
    let reader = match (given, kept) {
        (Some(given), _) => given,
        (None, Some(kept)) => return Ok(kept),
        (None, None) => common,
    };
    let said: Semantics = reader.get("semantics")?;
    match kept {
        Some(kept) if kept != said => Err(Error::BadValue {
            key: reader.label("semantics"),
            value: said.name().to_owned(),
            accepted: format!(
                "`{}` with these settings of driver `{}` (see `tailmark list drivers`)",
                kept.name(),
                driver.name
            ),
        }),
        _ => Ok(said),
    }
}

/// The version in the plan: of an embedded database, or of a server.
fn version(
    own: &TableReader<'_>,
    common: Option<&TableReader<'_>>,
    driver: &Driver,
) -> Result<Option<String>, Error> {
    let mut readers = [Some(own), common].into_iter().flatten();
    let Some(reader) = readers.find(|reader| reader.given().contains_key("version")) else {
        return Ok(None);
    };
    let version: Option<String> = reader.optional("version")?;
    match driver.place {
        Place::Directory | Place::Hosts => Ok(version),
        _ => Err(Error::BadValue {
            key: reader.label("version"),
            value: version.unwrap_or_default(),
            accepted: format!("absent, because driver `{}` opens no database", driver.name),
        }),
    }
}

/// The driver's own settings in a `database` table, as text.
fn given(reader: &TableReader<'_>, driver: &Driver) -> Result<BTreeMap<String, String>, Error> {
    let is_text = |key: &str| {
        let mut settings = driver.settings.iter();
        settings.any(|row| row.name == key && row.kind == SettingKind::Text)
    };
    let is_setting = |key: &str| super::in_table("database").all(|known| known.name != key);
    let settings = reader.given().iter().filter(|(key, _)| is_setting(key));
    let text = |(key, value): (&String, &Value)| match value {
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => Err(Error::BadValue {
            key: reader.label(key),
            value: units::text(value),
            accepted: "one value: text, a number, true or false".to_owned(),
        }),
        Value::Float(_) if is_text(key) => Err(Error::BadValue {
            key: reader.label(key),
            value: units::text(value),
            accepted: "text in quotes: without them, 9.10 is the number 9.1".to_owned(),
        }),
        one => Ok((key.clone(), units::text(one))),
    };
    settings.map(text).collect()
}

/// The agent of a system. A file's path is made absolute.
fn agent(reader: &TableReader<'_>) -> Result<Agent, Error> {
    Ok(match reader.get("agent")? {
        Agent::File(path) => Agent::File(absolute(reader, "agent", &path.to_string_lossy())?),
        agent => agent,
    })
}

fn refuse_unknown_ceiling(
    reader: &TableReader<'_>,
    ceiling: &str,
    name: &str,
    names: &[String],
) -> Result<(), Error> {
    let others: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|other| *other != name)
        .collect();
    if others.contains(&ceiling) {
        return Ok(());
    }
    Err(Error::NotThere {
        key: reader.label("ceiling_for"),
        name: ceiling.to_owned(),
        table: "system",
        hint: did_you_mean(ceiling, others.iter().copied()),
        known: if others.is_empty() {
            "no other".to_owned()
        } else {
            others.join(", ")
        },
    })
}

/// Two databases of one driver in one directory would be the same database.
fn refuse_shared_places(systems: &[SystemPlan]) -> Result<(), Error> {
    for (index, second) in systems.iter().enumerate() {
        let is_shared = |first: &&SystemPlan| {
            first.location == second.location
                && first.driver.name == second.driver.name
                && matches!(
                    first.driver.place,
                    Place::Directory | Place::DirectoryOrDevice
                )
        };
        if let Some(first) = systems[..index].iter().find(is_shared) {
            return Err(Error::SharedPlace {
                first: first.name.clone(),
                second: second.name.clone(),
                driver: second.driver.name,
                location: second.location.clone(),
            });
        }
    }
    Ok(())
}
