//! The systems of a plan: where each is, which database it runs, with which settings.

use super::{
    Agent, Emulate, Error, Expect, Prepare, Service, ServiceControl, SystemPlan, hosts::hosts,
    keys, limits::DRIVER_DEFAULT, reader::TableReader, units,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::{DataSet, Driver, Location, Place, Semantics, Settings, db, did_you_mean};
use toml::Value;

/// What the systems are read from.
pub(super) struct Systems<'a> {
    /// The plan.
    pub top: &'a TableReader<'a>,
    /// The data set, scaled.
    pub data: &'a DataSet,
    /// What caches are multiplied by.
    pub scale: f64,
}

/// One `[[system]]` table, read so far.
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

    /// The driver that the `database` table of `reader` names.
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
                    accepted: "the name of a driver, see `tailmark list drivers`".to_owned(),
                });
            }
            (None, Some(base)) => return Ok(base),
            (None, None) => DRIVER_DEFAULT,
        };
        let key = || reader.label("database.driver");
        db::find(name).map_err(|source| Error::Driver { key: key(), source })
    }

    /// `[database]` must be right even where every system overrides it.
    fn refuse_bad_base(&self, base: &'static Driver) -> Result<(), Error> {
        let reader = self.database(self.top, base)?;
        self.settings(&reader, base, given(&reader)?).map(|_| ())
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

    /// Where a system is: where it says, or in the place of the system that it is a ceiling for.
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
        // The settings of `[database]` are those of its driver, and mean nothing to another.
        let mut settings = if std::ptr::eq(*driver, base) {
            given(&common)?
        } else {
            BTreeMap::new()
        };
        settings.extend(given(&own)?);
        let settings = self.settings(&own, driver, settings)?;
        let emulate = Emulate::read(reader, name)?;
        let location = self.location(table, all)?;
        // A ceiling is measured in a place that is prepared for the system that it is for.
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
        })
    }
}

/// Whose semantics a system keeps: as it or `[database]` says, or as its settings do.
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
                "`{}` with these settings of driver `{}`, as `tailmark list drivers` says",
                kept.name(),
                driver.name
            ),
        }),
        _ => Ok(said),
    }
}

/// The version that the plan speaks of: of an embedded database, or of a server.
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
            accepted: format!("absent: driver `{}` opens no database", driver.name),
        }),
    }
}

/// The driver's own settings in a `database` table, as text.
fn given(reader: &TableReader<'_>) -> Result<BTreeMap<String, String>, Error> {
    let is_setting = |key: &str| keys::in_table("database").all(|known| known.name != key);
    let settings = reader.given().iter().filter(|(key, _)| is_setting(key));
    let text = |(key, value): (&String, &Value)| match value {
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => Err(Error::BadValue {
            key: reader.label(key),
            value: units::text(value),
            accepted: "one value: text, a number, true or false".to_owned(),
        }),
        one => Ok((key.clone(), units::text(one))),
    };
    settings.map(text).collect()
}

/// Which keys say where a system of a driver is.
fn location_keys(driver: &Driver) -> &'static [&'static str] {
    match driver.place {
        Place::Directory => &["path"],
        Place::DirectoryOrDevice => &["path", "device"],
        Place::Hosts => &["contact_points"],
        Place::Nowhere => &["path", "device", "contact_points"],
    }
}

/// Where a system is, if it says so.
fn location(reader: &TableReader<'_>, driver: &'static Driver) -> Result<Option<Location>, Error> {
    let accepted = location_keys(driver);
    // A server's path and device only say what is watched.
    let keys: &[&str] = match driver.place {
        Place::Hosts => &["contact_points"],
        _ => &["path", "device", "contact_points"],
    };
    let emulate = Emulate::read(reader, &reader.name()?)?;
    let mut found = None;
    for &key in keys {
        // Beside a directory, it is what that is made on.
        if let ("device", Some(emulate)) = (key, &emulate) {
            if found.is_none() && accepted.contains(&"device") {
                found = Some(Location::Device(emulate.device()));
            }
            continue;
        }
        let texts: Option<Vec<String>> = reader.optional(key)?;
        if let ("path" | "device", Some([_, _, ..])) = (key, texts.as_deref()) {
            return Err(Error::BadValue {
                key: reader.label(key),
                value: texts.unwrap_or_default().join(", "),
                accepted: format!(
                    "one {}: driver `{}` keeps its data in one place; several say what is watched \
                     of a server (`contact_points`)",
                    if key == "path" {
                        "directory"
                    } else {
                        "block device"
                    },
                    driver.name
                ),
            });
        }
        let text = texts.map(|texts| texts.join(","));
        let Some(text) = text else { continue };
        if found.is_some() || !accepted.contains(&key) {
            let accepted = accepted.join("` or `");
            return Err(Error::BadValue {
                key: reader.label(key),
                value: text,
                accepted: format!("absent: driver `{}` takes one `{accepted}`", driver.name),
            });
        }
        if let Some(wanted) = driver.refuses_place(&text) {
            return Err(Error::BadValue {
                key: reader.label(key),
                value: text,
                accepted: wanted,
            });
        }
        found = Some(match key {
            "contact_points" => Location::of_hosts(&text),
            "device" => Location::Device(absolute(reader, key, &text)?),
            _ => Location::Directory(absolute(reader, key, &text)?),
        });
    }
    Ok(found)
}

/// The agent of a system; a file is the same wherever the run goes on from.
fn agent(reader: &TableReader<'_>) -> Result<Agent, Error> {
    Ok(match reader.get("agent")? {
        Agent::File(path) => Agent::File(absolute(reader, "agent", &path.to_string_lossy())?),
        agent => agent,
    })
}

/// The paths that these keys give.
fn paths(reader: &TableReader<'_>, keys: &[&'static str]) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for &key in keys {
        for text in reader.optional::<Vec<String>>(key)?.unwrap_or_default() {
            paths.push(absolute(reader, key, &text)?);
        }
    }
    Ok(paths)
}

/// The service of a system, if it has one.
fn service(reader: &TableReader<'_>, driver: &'static Driver) -> Result<Option<Service>, Error> {
    if !reader.given().contains_key("service") {
        return Ok(None);
    }
    let table = reader.table("service", &[])?;
    let control = match (table.optional("systemd")?, table.optional("start")?) {
        (Some(unit), None) => ServiceControl::Systemd(unit),
        (None, Some(start)) => ServiceControl::Commands {
            start,
            stop: table.optional("stop")?,
        },
        _ => {
            let (key, accepted) = (table.full("start"), "it, or `systemd`, but not both");
            return Err(Error::Missing {
                key,
                accepted: accepted.to_owned(),
            });
        }
    };
    if driver.place != Place::Hosts {
        return Err(Error::BadValue {
            key: reader.label("service"),
            value: "a table".to_owned(),
            accepted: format!("absent: driver `{}` has no server", driver.name),
        });
    }
    let (ready, log): (Option<String>, Option<String>) =
        (table.optional("ready")?, table.optional("log")?);
    Ok(Some(Service {
        control,
        ready: ready.map(|ready| vec!["sh".to_owned(), "-c".to_owned(), ready]),
        log: log.map(|log| absolute(&table, "log", &log)).transpose()?,
    }))
}

/// The same path wherever the run goes on from.
fn absolute(reader: &TableReader<'_>, key: &str, text: &str) -> Result<PathBuf, Error> {
    if text.starts_with('~') {
        return Err(Error::BadValue {
            key: reader.label(key),
            value: text.to_owned(),
            accepted: "a path; `~` is the shell's word, write the directory in full".to_owned(),
        });
    }
    let path = std::path::absolute(Path::new(text));
    Ok(path.unwrap_or_else(|_| PathBuf::from(text)))
}

fn no_location(reader: &TableReader<'_>, driver: &Driver) -> Error {
    let keys = location_keys(driver);
    let what = match driver.place {
        Place::Hosts => "contact points such as `10.0.0.1:9042`",
        _ => "where its data is, such as `/mnt/nvme0`",
    };
    let key = reader.full(keys.first().copied().unwrap_or("path"));
    Error::Missing {
        key,
        accepted: format!("driver `{}` needs {what}", driver.name),
    }
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
