//! The systems of a plan: where each is, which database it runs, with which settings.

use super::{
    Error, Service, ServiceControl, SystemPlan, error::hint, keys, section::Section, units,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_driver::{DataSet, Driver, Place, Semantics, Settings, db};
use toml::Value;

/// What the systems are read from.
pub(super) struct Systems<'a> {
    /// The plan.
    pub top: &'a Section<'a>,
    /// The data set, scaled.
    pub data: &'a DataSet,
    /// What caches are multiplied by.
    pub scale: f64,
}

/// One `[[system]]` table, read so far.
struct Entry<'a> {
    name: String,
    section: Section<'a>,
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
        let mut entries = Vec::new();
        for (name, section) in tables {
            let driver = self.driver_of(&section, Some(base))?;
            let ceiling_for = section.text("ceiling_for")?;
            if let Some(of) = &ceiling_for {
                refuse_unknown_ceiling(&section, of, &name, &names)?;
            }
            entries.push(Entry {
                name,
                section,
                driver,
                ceiling_for,
            });
        }
        self.refuse_bad_base(base)?;
        let systems = entries
            .iter()
            .map(|entry| self.system(entry, &entries, base));
        let systems = systems.collect::<Result<Vec<_>, _>>()?;
        refuse_shared_places(&systems)?;
        Ok(systems)
    }

    /// The driver that the `database` table of `section` names.
    fn driver_of(
        &self,
        section: &Section<'_>,
        base: Option<&'static Driver>,
    ) -> Result<&'static Driver, Error> {
        let table = match section.given().get("database") {
            None => None,
            Some(Value::Table(table)) => Some(table),
            Some(other) => return Err(section.refuse("database", other)),
        };
        let given = table.and_then(|table| table.get("driver"));
        let name = match (given, base) {
            (Some(Value::String(name)), _) => name.as_str(),
            (Some(other), _) => {
                return Err(Error::BadValue {
                    key: section.label("database.driver"),
                    value: units::text(other),
                    accepted: "the name of a driver, see `tailmark list drivers`".to_owned(),
                });
            }
            (None, Some(base)) => return Ok(base),
            (None, None) => keys::DRIVER_DEFAULT,
        };
        let key = || section.label("database.driver");
        db::find(name).map_err(|source| Error::Driver { key: key(), source })
    }

    /// `[database]` must be right even where every system overrides it.
    fn refuse_bad_base(&self, base: &'static Driver) -> Result<(), Error> {
        let section = self.database(self.top, base)?;
        self.settings(&section, base, given(&section)?).map(|_| ())
    }

    fn database(
        &self,
        section: &Section<'a>,
        driver: &'static Driver,
    ) -> Result<Section<'a>, Error> {
        let settings: Vec<&str> = driver.settings.iter().map(|setting| setting.name).collect();
        section.table("database", &settings)
    }

    fn settings(
        &self,
        section: &Section<'_>,
        driver: &'static Driver,
        given: BTreeMap<String, String>,
    ) -> Result<Settings, Error> {
        let key = || section.full("").trim_end_matches('.').to_owned();
        Settings::check(driver, &given, self.data, self.scale)
            .map_err(|source| Error::Driver { key: key(), source })
    }

    /// Where a system is: where it says, or in the place of the system that it is a ceiling for.
    fn place(&self, entry: &Entry<'a>, all: &[Entry<'a>]) -> Result<PathBuf, Error> {
        let Entry {
            section,
            driver,
            ceiling_for,
            ..
        } = entry;
        if let Some(place) = place(section, driver)? {
            return Ok(place);
        }
        let of = all
            .iter()
            .find(|other| ceiling_for.as_ref() == Some(&other.name));
        let of = of
            .map(|of| place(&of.section, of.driver))
            .transpose()?
            .flatten();
        match (of, driver.place) {
            (Some(place), _) => Ok(place),
            (None, Place::Nowhere) => Ok(PathBuf::new()),
            (None, _) => Err(no_place(section, driver)),
        }
    }

    fn system(
        &self,
        entry: &Entry<'a>,
        all: &[Entry<'a>],
        base: &'static Driver,
    ) -> Result<SystemPlan, Error> {
        let Entry {
            name,
            section,
            driver,
            ceiling_for,
        } = entry;
        let own = self.database(section, driver)?;
        let common = self.database(self.top, base)?;
        // The settings of `[database]` are those of its driver, and mean nothing to another.
        let mut settings = match std::ptr::eq(*driver, base) {
            true => given(&common)?,
            false => BTreeMap::new(),
        };
        settings.extend(given(&own)?);
        let semantics = match own.given().contains_key("semantics") {
            true => own.text("semantics")?,
            false => common.text("semantics")?,
        };
        let place = self.place(entry, all)?;
        Ok(SystemPlan {
            name: name.clone(),
            place,
            driver,
            settings: self.settings(&own, driver, settings)?,
            semantics: match semantics.as_deref() {
                Some("correct") => Semantics::Correct,
                _ => Semantics::Faithful,
            },
            data: self.data.clone(),
            ceiling_for: ceiling_for.clone(),
            optional: section.flag("optional")?,
            watch: match driver.place {
                Place::Hosts => one_path(section, &["path", "device"])?,
                _ => None,
            },
            service: service(section, driver)?,
        })
    }
}

/// The driver's own settings in a `database` table, as text.
fn given(section: &Section<'_>) -> Result<BTreeMap<String, String>, Error> {
    let is_setting = |key: &str| keys::of("database").all(|known| known.name != key);
    let settings = section.given().iter().filter(|(key, _)| is_setting(key));
    let text = |(key, value): (&String, &Value)| match value {
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => Err(Error::BadValue {
            key: section.label(key),
            value: units::text(value),
            accepted: "one value: text, a number, true or false".to_owned(),
        }),
        one => Ok((key.clone(), units::text(one))),
    };
    settings.map(text).collect()
}

/// Which keys say where a system of a driver is.
fn place_keys(driver: &Driver) -> &'static [&'static str] {
    match driver.place {
        Place::Directory => &["path"],
        Place::DirectoryOrDevice => &["path", "device"],
        Place::Hosts => &["hosts"],
        Place::Nowhere => &["path", "device", "hosts"],
    }
}

/// Where a system is, if it says so.
fn place(section: &Section<'_>, driver: &'static Driver) -> Result<Option<PathBuf>, Error> {
    let accepted = place_keys(driver);
    // A server's path and device only say what is watched.
    let keys: &[&str] = match driver.place {
        Place::Hosts => &["hosts"],
        _ => &["path", "device", "hosts"],
    };
    let mut found = None;
    for &key in keys {
        let text = match key {
            "hosts" => section.words(key)?.map(|hosts| hosts.join(",")),
            _ => section.text(key)?,
        };
        let Some(text) = text else { continue };
        if found.is_some() || !accepted.contains(&key) {
            let accepted = accepted.join("` or `");
            return Err(Error::BadValue {
                key: section.label(key),
                value: text,
                accepted: format!("absent: driver `{}` takes one `{accepted}`", driver.name),
            });
        }
        found = Some(match key {
            "hosts" => PathBuf::from(text),
            _ => absolute(section, key, &text)?,
        });
    }
    Ok(found)
}

/// The one of these keys that is given, as a path.
fn one_path(section: &Section<'_>, keys: &[&'static str]) -> Result<Option<PathBuf>, Error> {
    for &key in keys {
        if let Some(text) = section.text(key)? {
            return absolute(section, key, &text).map(Some);
        }
    }
    Ok(None)
}

/// The service of a system, if it has one.
fn service(section: &Section<'_>, driver: &'static Driver) -> Result<Option<Service>, Error> {
    if !section.given().contains_key("service") {
        return Ok(None);
    }
    let table = section.table("service", &[])?;
    let control = match (table.text("systemd")?, table.text("start")?) {
        (Some(unit), None) => ServiceControl::Systemd(unit),
        (None, Some(start)) => ServiceControl::Commands {
            start,
            stop: table.text("stop")?,
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
            key: section.label("service"),
            value: "a table".to_owned(),
            accepted: format!("absent: driver `{}` has no server", driver.name),
        });
    }
    let ready = table.text("ready")?;
    Ok(Some(Service {
        control,
        ready: ready.map(|ready| vec!["sh".to_owned(), "-c".to_owned(), ready]),
        log: one_path(&table, &["log"])?,
    }))
}

/// The same place wherever the run goes on from.
fn absolute(section: &Section<'_>, key: &str, text: &str) -> Result<PathBuf, Error> {
    if text.starts_with('~') {
        return Err(Error::BadValue {
            key: section.label(key),
            value: text.to_owned(),
            accepted: "a path; `~` is the shell's word, write the directory in full".to_owned(),
        });
    }
    let path = std::path::absolute(Path::new(text));
    Ok(path.unwrap_or_else(|_| PathBuf::from(text)))
}

fn no_place(section: &Section<'_>, driver: &Driver) -> Error {
    let keys = place_keys(driver);
    let what = match driver.place {
        Place::Hosts => "contact points such as `10.0.0.1:9042`",
        _ => "where its data is, such as `/mnt/nvme0`",
    };
    let key = section.full(keys.first().copied().unwrap_or("path"));
    Error::Missing {
        key,
        accepted: format!("driver `{}` needs {what}", driver.name),
    }
}

fn refuse_unknown_ceiling(
    section: &Section<'_>,
    of: &str,
    name: &str,
    names: &[String],
) -> Result<(), Error> {
    let others: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|other| *other != name)
        .collect();
    if others.contains(&of) {
        return Ok(());
    }
    Err(Error::NotThere {
        key: section.label("ceiling_for"),
        name: of.to_owned(),
        table: "system",
        hint: hint(of, others.iter().copied()),
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
            first.place == second.place
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
                place: second.place.clone(),
            });
        }
    }
    Ok(())
}
