//! The loaded data set of a system: where it is, whether it is there, what loads and removes it.
//!
//! Beside the data a marker says what was loaded ([`marker`]); [`load`] writes it as it goes on.
//! What has no marker was loaded by somebody else: it is left alone, or taken as it is where the
//! plan says so ([`adopt`]).

mod adopt;
mod load;
mod marker;
mod reshaped;

use crate::Error;
pub(crate) use load::loader;
use marker::{CONTENT, Marker, Store};
use std::{collections::BTreeMap, fs, path::Path, time::SystemTime};
use tailmark_driver::{Access, Database, Location, Params, db::stamp};
use tailmark_plan::{Plan, SystemPlan, file_sums};

/// A system's data set.
#[derive(Debug)]
pub struct Dataset<'a> {
    system: &'a SystemPlan,
    /// What is opened.
    pub params: Params,
    store: Store,
    data: BTreeMap<String, String>,
    /// Whether one without a marker is taken as it is.
    adopts: bool,
}

/// How much of a data set is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing, or what is removed before it is loaded: of a load that was not marked yet, or on a
    /// device.
    Empty,
    /// So many records, from the first on.
    Begun(u64),
    /// All of it.
    Loaded,
    /// What was loaded by somebody else, and is taken as it is.
    Adopted,
}

/// What was found in the place of a data set.
struct Found {
    /// The marker.
    text: Option<String>,
    /// Without a marker: whether there is data of somebody else.
    is_foreign: bool,
}

impl<'a> Dataset<'a> {
    /// The data set of a system.
    #[must_use]
    pub fn new(plan: &Plan, system: &'a SystemPlan) -> Self {
        let store = Store::of(system);
        let location = match (&store, &system.location) {
            (Store::File(_), Location::Directory(path) | Location::Device(path)) => {
                Location::Directory(path.join(system.driver.entry))
            }
            (Store::Device, Location::Directory(path)) => Location::Device(path.clone()),
            _ => system.location.clone(),
        };
        let params = Params {
            location,
            data: system.data.clone(),
            settings: system.settings.clone(),
            semantics: system.semantics,
            access: Access::Write,
        };
        Self {
            system,
            params,
            store,
            data: describe(plan, system),
            adopts: plan.sweep.adopt,
        }
    }

    /// The directory, file or device that holds it; empty where that is a server's.
    fn path(&self) -> &Path {
        self.params.location.path().unwrap_or(Path::new(""))
    }

    /// Whether there is anything to load.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.store != Store::Nowhere
    }

    /// Whether nothing is to be loaded.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn is_loaded(&self) -> Result<bool, Error> {
        Ok(matches!(self.state()?, State::Loaded | State::Adopted))
    }

    /// How much of it is there. A server is asked, which makes its tables; nothing else is opened.
    ///
    /// # Errors
    /// Where something else is in its place.
    pub fn state(&self) -> Result<State, Error> {
        Ok(self.read()?.1)
    }

    /// The marker, where it is that of this data set, and what follows from it.
    fn read(&self) -> Result<(Option<Marker>, State), Error> {
        if !self.is_kept() {
            return Ok((None, State::Loaded));
        }
        let found = self.look()?;
        let Some(text) = found.text else {
            return match (found.is_foreign, self.adopts) {
                (false, _) => Ok((None, State::Empty)),
                (true, true) => Ok((None, State::Adopted)),
                (true, false) => Err(self.foreign()),
            };
        };
        let name = self.store.name(&self.params.location);
        let marker = Marker::parse(&text, &name)?;
        let differences = marker.differences(&self.data);
        if !differences.is_empty() {
            // Naming a device is the consent that it is written.
            return match self.store == Store::Device && !self.adopts {
                true => Ok((None, State::Empty)),
                false => Err(Error::OtherData {
                    system: self.system.name.clone(),
                    place: self.params.location.clone(),
                    marker: name,
                    differences,
                }),
            };
        }
        let state = match marker {
            _ if self.is_missing() => State::Empty,
            Marker { complete: true, .. } => State::Loaded,
            Marker { loaded: 0, .. } => State::Empty,
            Marker { loaded, .. } => State::Begun(loaded),
        };
        Ok((Some(marker), state))
    }

    /// When the load began that is not complete, or now.
    fn begun(&self) -> Result<String, Error> {
        let (marker, _) = self.read()?;
        let begun = marker.filter(|m| !m.complete).map(|m| m.begun);
        Ok(begun.filter(|begun| !begun.is_empty()).unwrap_or_else(now))
    }

    /// When the load began of the data set that is there, complete; none where it is not, or was
    /// loaded by somebody else.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn load_began(&self) -> Result<Option<String>, Error> {
        let marker = match self.read()? {
            (marker, State::Loaded) => marker,
            _ => None,
        };
        Ok(marker.map(|marker| marker.begun))
    }

    fn look(&self) -> Result<Found, Error> {
        let place = self.path();
        let (text, is_foreign) = match &self.store {
            Store::Nowhere => (None, false),
            Store::File(path) => (marker::read_file(path)?, holds_something(place)),
            Store::Device => {
                let text = stamp::read(place).map_err(marker::failed("read", place))?;
                (text, self.adopts)
            }
            Store::Server => {
                let database = self.make()?;
                let text = database.marker()?;
                let is_foreign = text.is_none() && !database.is_empty()?;
                (text, is_foreign)
            }
        };
        Ok(Found { text, is_foreign })
    }

    /// Whether the data that a marker beside it is about is gone.
    fn is_missing(&self) -> bool {
        matches!(self.store, Store::File(_)) && !holds_something(self.path())
    }

    /// Refuses what may be somebody else's, where that is to be taken as it is: data beside a
    /// marker that promises nothing.
    fn refuse_unknown(&self) -> Result<(), Error> {
        let promises_nothing = self.read()?.0.is_some_and(|m| m.promises_nothing());
        if !self.adopts || !promises_nothing || self.is_vacant()? {
            return Ok(());
        }
        Err(Error::UnknownData {
            system: self.system.name.clone(),
            place: self.params.location.clone(),
            marker: self.store.name(&self.params.location),
        })
    }

    /// Whether there is no data.
    fn is_vacant(&self) -> Result<bool, Error> {
        Ok(match &self.store {
            Store::Nowhere => true,
            Store::File(_) => !holds_something(self.path()),
            Store::Device => false,
            Store::Server => self.make()?.is_empty()?,
        })
    }

    fn foreign(&self) -> Error {
        let place = &self.params.location;
        let (found, why, other) = match &self.store {
            Store::Server => (
                format!(
                    "what table `{}` holds at `{place}`",
                    self.system.data.schema.table
                ),
                "the server has no marker of it".to_owned(),
                "hosts",
            ),
            store => {
                let name = store.name(&self.params.location);
                (format!("`{place}`"), format!("there is no {name}"), "path")
            }
        };
        Error::ForeignData {
            system: self.system.name.clone(),
            found,
            why,
            other,
        }
    }

    /// Bytes that are stored already: of an unfinished load, or of what is removed before it.
    #[must_use]
    pub fn present(&self) -> u64 {
        fn below(path: &Path) -> u64 {
            let Ok(found) = fs::symlink_metadata(path) else {
                return 0;
            };
            match fs::read_dir(path) {
                Ok(entries) => entries.flatten().map(|e| below(&e.path())).sum(),
                Err(_) => std::os::unix::fs::MetadataExt::blocks(&found) * 512,
            }
        }
        below(self.path())
    }

    /// Writes the marker; of a device or server by `database`, or by one that is opened for it.
    fn write(
        &self,
        database: Option<&dyn Database>,
        begun: &str,
        loaded: u64,
        complete: bool,
    ) -> Result<(), Error> {
        let text = Marker::new(&self.data, begun, loaded, complete).text();
        match (&self.store, database) {
            (Store::Nowhere, _) => Ok(()),
            (Store::File(path), _) => marker::write_file(path, &text),
            (Store::Device | Store::Server, Some(database)) => Ok(database.set_marker(&text)?),
            (Store::Device | Store::Server, None) => Ok(self.make()?.set_marker(&text)?),
        }
    }

    /// Opens the database and closes it again, so that what is wrong with its place or its settings
    /// shows before anything is measured. Of a data set that is not begun nothing is left, removed
    /// or overwritten: one in a directory is made under another name and removed.
    ///
    /// # Errors
    /// Where it cannot be opened, or something else is in its place.
    pub fn try_open(&self) -> Result<(), Error> {
        match (self.state()?, &self.store) {
            (State::Empty, Store::File(_)) => self.make_trial(),
            (State::Empty, _) => self.make().map(drop),
            _ => self.open().map(drop),
        }
    }

    /// Makes a database beside the place of this one, and removes it. Where a load has left
    /// something in that place, it could open it.
    fn make_trial(&self) -> Result<(), Error> {
        if holds_something(self.path()) {
            return Ok(());
        }
        let trial = Params {
            location: Location::Directory(self.path().with_extension("tailmark-trial")),
            access: Access::Create,
            ..self.params.clone()
        };
        // One may be left of a run that was killed.
        (self.system.driver.destroy)(&trial)?;
        let made = (self.system.driver.open)(&trial).map(drop);
        let removed = (self.system.driver.destroy)(&trial);
        Ok(made.and(removed)?)
    }

    /// Makes an empty database in the place of what is there, for a workload that fills it.
    ///
    /// # Errors
    /// As [`Self::remove`], and where it cannot be opened.
    pub fn start_empty(&self) -> Result<(), Error> {
        self.remove()?;
        self.make().map(drop)
    }

    /// Opens the database, which is made where there is none.
    fn make(&self) -> Result<Box<dyn Database>, Error> {
        let params = Params {
            access: Access::Create,
            ..self.params.clone()
        };
        Ok((self.system.driver.open)(&params)?)
    }

    /// Removes the data set, so that it is loaded again.
    ///
    /// # Errors
    /// Where it cannot be removed, or something else is in its place.
    pub fn remove(&self) -> Result<(), Error> {
        match self.state()? {
            _ if !self.is_kept() => Ok(()),
            State::Adopted => Err(self.foreign()),
            _ => self.empty(),
        }
    }

    /// Removes what is there. The marker says so before, and until something is loaded: a run that
    /// is killed meanwhile leaves what the next one removes.
    fn empty(&self) -> Result<(), Error> {
        // On a full disk it could not be written again.
        if self
            .read()?
            .0
            .is_none_or(|marker| !marker.promises_nothing())
        {
            self.write(None, &self.begun()?, 0, false)?;
        }
        if self.store == Store::Server && self.make()?.is_empty()? {
            return Ok(());
        }
        Ok((self.system.driver.destroy)(&self.params)?)
    }

    /// Opens the database.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Database>, Error> {
        Ok((self.system.driver.open)(&self.params)?)
    }
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Whether there is a file, or a directory that is not empty.
fn holds_something(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
        }
        Ok(found) => found.is_file(),
        Err(_) => false,
    }
}

/// What decides whether a loaded data set serves a plan.
fn describe(plan: &Plan, system: &SystemPlan) -> BTreeMap<String, String> {
    let data = &system.data;
    let mut described: BTreeMap<String, String> = [
        ("driver", system.driver.name.to_owned()),
        ("table", data.schema.table.clone()),
        ("records", data.records.to_string()),
        ("fields", data.schema.fields.len().to_string()),
        ("field_length", data.field_length.to_string()),
        ("compressibility", plan.sweep.compressibility.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if let Some(layout) = plan
        .sweep
        .workloads
        .first()
        .and_then(|workload| workload.record_layout())
    {
        described.insert("key_length".to_owned(), layout.key_bytes.to_string());
    }
    for name in system.driver.stored {
        if let Some(value) = system.settings.text(name) {
            described.insert(format!("database.{name}"), value.to_owned());
        }
    }
    for (name, sum) in file_sums(system) {
        if system.driver.stored.contains(&name) {
            described.insert(format!("database.{name}{CONTENT}"), sum);
        }
    }
    described
}

/// What differs between a plan and what was there before: `key is x, was y; ...`, or empty.
pub fn differences(is: &BTreeMap<String, String>, was: &BTreeMap<String, String>) -> String {
    let keys: std::collections::BTreeSet<_> = is.keys().chain(was.keys()).collect();
    let text = |map: &BTreeMap<String, String>, key| match map.get(key) {
        Some(value) => format!("`{value}`"),
        None => "not set".to_owned(),
    };
    let differs: Vec<_> = keys
        .into_iter()
        .filter(|key| is.get(*key) != was.get(*key))
        .map(|key| format!("{key} is {}, was {}", text(is, key), text(was, key)))
        .collect();
    differs.join("; ")
}
