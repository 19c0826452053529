//! The loaded data set of a system: where it is, whether it exists, and how it is loaded and
//! removed.
//!
//! A marker beside the data says what was loaded ([`marker`]), and [`load`] updates it. Data
//! without a marker was not loaded by tailmark. It is left alone, or used as it is if the plan says
//! so ([`adopt`]).

mod adopt;
mod changed;
pub(crate) mod clean;
mod copying;
mod description;
mod identity;
mod load;
pub(crate) mod marker;
mod open;
mod restore;
mod server;
pub(crate) mod shared;
mod start;
mod trial;
mod wal;

use crate::{
    Error,
    prepare::overwrite::{device_of, refused},
};
use description::describe;
pub use description::differences;
pub(crate) use load::loader;
use marker::{Marker, Store, failed};
pub(crate) use start::kept_bytes;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
    time::SystemTime,
};
use tailmark_driver::{Access, Database, Location, Made, Params, db::stamp};
use tailmark_model::instant::dated;
use tailmark_plan::{Adopt, Plan, Restore, SystemPlan};
use tailmark_prepare::Unwatched;

/// A system's data set.
#[derive(Debug)]
pub struct Dataset<'a> {
    plan: &'a Plan,
    system: &'a SystemPlan,
    /// The parameters for opening it.
    pub params: Params,
    store: Store,
    data: BTreeMap<String, String>,
    /// The id of the study that loads it.
    study: String,
    /// What this run made around it, beside what its marker has.
    made: Mutex<Vec<Made>>,
    /// Whether data that tailmark did not load is used: then nothing is created, loaded or removed.
    adopts: bool,
    /// The identity of the data when it was adopted.
    adopted: OnceLock<identity::Adopted>,
    /// The load in the marker that this run saw or wrote: its study, and when it began.
    load: Mutex<Option<(String, String)>>,
    /// How it is restored before a point.
    restore: Restore,
    /// Whether tables are created in a keyspace that tailmark did not create.
    into_existing: bool,
    /// Whether this study began to create something on the server, so that empty objects there are
    /// its own.
    has_begun: bool,
}

/// How much of a data set exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing, or data that is removed before the load: from a load that was not marked yet, or on
    /// a device.
    Empty,
    /// So many records, from the first on.
    Begun(u64),
    /// All of it.
    Loaded,
    /// Data that tailmark did not load, which is used as it is.
    Adopted,
}

/// What was found in the place of a data set.
struct PlaceContents {
    /// The marker.
    text: Option<String>,
    /// The state without a marker.
    unmarked: Unmarked,
}

/// The state of the place of a data set without a marker.
enum Unmarked {
    /// No data.
    Nothing,
    /// No data, in something that exists and that tailmark did not create: `keyspace ycsb`.
    NothingInside(String),
    /// Data of another program.
    Foreign,
}

impl<'a> Dataset<'a> {
    /// The data set of a system.
    #[must_use]
    pub fn new(plan: &'a Plan, system: &'a SystemPlan) -> Self {
        let store = Store::from_system(system);
        let location = match (&store, &system.location) {
            (Store::File(_), Location::Directory(path) | Location::Device(path)) => {
                Location::Directory(path.join(system.driver.entry))
            }
            (Store::Device, Location::Directory(path)) => Location::Device(path.clone()),
            _ => system.location.clone(),
        };
        let adopts = plan.dataset.adopt != Adopt::No;
        let settings = match location.path() {
            Some(place) if adopts && identity::is_foreign(system, &store, place) => {
                (system.driver.adopted)(place, &system.settings)
            }
            _ => wal::own(system),
        };
        let params = Params {
            location,
            data: system.data.clone(),
            settings,
            semantics: system.semantics,
            access: access(plan),
            study: plan.header.id.clone(),
        };
        Self {
            plan,
            system,
            params,
            store,
            data: describe(plan, system),
            study: plan.header.id.clone(),
            made: Mutex::default(),
            adopts,
            adopted: OnceLock::new(),
            load: Mutex::default(),
            restore: plan.dataset.restore.for_system(system),
            into_existing: plan.dataset.into_existing,
            has_begun: plan.begun_on.contains(&system.name),
        }
    }

    /// The directory, file or device that holds it; empty for a server.
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

    /// How much of it exists. A server is asked, which changes nothing; otherwise nothing is
    /// opened.
    ///
    /// # Errors
    /// If something else is in its place, or if it should be adopted but is not complete.
    pub fn state(&self) -> Result<State, Error> {
        Ok(self.read()?.1)
    }

    /// The marker, if it belongs to this data set, and the resulting state.
    fn read(&self) -> Result<(Option<Marker>, State), Error> {
        if !self.is_kept() {
            return Ok((None, State::Loaded));
        }
        let found = self.look()?;
        let Some(text) = found.text else {
            let state = match found.unmarked {
                Unmarked::Foreign if self.adopts => State::Adopted,
                Unmarked::Foreign => return Err(self.foreign(None)),
                _ if self.adopts => {
                    // The adopted database may be gone, and an empty one may be in its place.
                    self.refuse_another_adopted()?;
                    return Err(self.nothing_to_adopt("there is no data"));
                }
                Unmarked::NothingInside(place) if !self.into_existing => {
                    return Err(Error::ForeignKeyspace {
                        system: self.system.name.clone(),
                        location: self.params.location.clone(),
                        place,
                    });
                }
                Unmarked::Nothing | Unmarked::NothingInside(_) => State::Empty,
            };
            return Ok((None, state));
        };
        let name = self.store.name(&self.params.location);
        let marker = Marker::parse(&text, &name)?;
        if let Some(why) = self.difference(&marker)? {
            return if self.adopts {
                Ok((None, State::Adopted))
            } else {
                Err(self.foreign(Some(why)))
            };
        }
        let differences = marker.differences(&self.data);
        if !differences.is_empty() {
            // The stamp is ours, so replacing its data set needs no further consent.
            return if self.store == Store::Device && !self.adopts {
                Ok((None, State::Empty))
            } else {
                Err(Error::OtherData {
                    system: self.system.name.clone(),
                    place: self.params.location.clone(),
                    marker: name,
                    differences,
                })
            };
        }
        let state = match marker {
            _ if self.is_missing() => State::Empty,
            Marker { complete: true, .. } => State::Loaded,
            Marker { loaded: 0, .. } => State::Empty,
            Marker { loaded, .. } => State::Begun(loaded),
        };
        if self.adopts {
            self.refuse_incomplete(&marker, state)?;
        }
        Ok((Some(marker), state))
    }

    /// When the load began that is not complete, or now.
    fn started(&self) -> Result<String, Error> {
        let (marker, _) = self.read()?;
        let started = marker.filter(|m| !m.complete).map(|m| m.started);
        Ok(started
            .filter(|started| !started.is_empty())
            .unwrap_or_else(now))
    }

    /// When the load of the complete existing data set began; `None` if it is not complete, or
    /// another program loaded it.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn load_began(&self) -> Result<Option<String>, Error> {
        let marker = match self.read()? {
            (marker, State::Loaded) => marker,
            _ => None,
        };
        Ok(marker.map(|marker| marker.started))
    }

    fn look(&self) -> Result<PlaceContents, Error> {
        let place = self.path();
        let foreign = |is_foreign| {
            if is_foreign {
                Unmarked::Foreign
            } else {
                Unmarked::Nothing
            }
        };
        let (text, unmarked) = match &self.store {
            Store::Nowhere => (None, Unmarked::Nothing),
            Store::File(path) => {
                wal::refuse_link(self.system, place)?;
                self.refuse_unnamed_directories()?;
                (marker::read_file(path)?, foreign(holds_something(place)))
            }
            Store::Device => {
                let text = stamp::read(place).map_err(failed("read", place))?;
                (text, foreign(self.adopts))
            }
            Store::Server => {
                let look = self.look_at_server()?;
                let is_begun =
                    (look.is_bare && self.has_begun) || look.made_for.as_ref() == Some(&self.study);
                let unmarked = match look.foreign {
                    Some(empty) if look.is_empty && !is_begun => Unmarked::NothingInside(empty),
                    _ => foreign(!look.is_empty),
                };
                (look.marker, unmarked)
            }
        };
        Ok(PlaceContents { text, unmarked })
    }

    /// Whether the data that a marker beside it is about is gone.
    fn is_missing(&self) -> bool {
        matches!(self.store, Store::File(_)) && !holds_something(self.path())
    }

    /// Refuses to adopt less than a complete data set, and data next to a marker that promises nothing:
    /// it may be of another program.
    fn refuse_incomplete(&self, marker: &Marker, state: State) -> Result<(), Error> {
        match state {
            State::Loaded | State::Adopted => Ok(()),
            State::Begun(loaded) => {
                Err(self.nothing_to_adopt(&format!("tailmark loaded only {loaded} of its records")))
            }
            State::Empty if marker.promises_nothing() && !self.is_vacant()? => {
                Err(Error::UnknownData {
                    system: self.system.name.clone(),
                    place: self.params.location.clone(),
                    marker: self.store.name(&self.params.location),
                })
            }
            State::Empty => Err(self.nothing_to_adopt("there is no data")),
        }
    }

    fn nothing_to_adopt(&self, why: &str) -> Error {
        let place = match &self.store {
            Store::Server => {
                let of_empty = self
                    .system
                    .driver
                    .look
                    .map(|look| (look.of_empty)(&self.params));
                let name = of_empty.map(|look| look.name).unwrap_or_default();
                format!("{name} at `{}`", self.params.location)
            }
            _ => format!("`{}`", self.params.location),
        };
        Error::NothingToAdopt {
            system: self.system.name.clone(),
            place,
            why: why.to_owned(),
        }
    }

    /// Refuses to change adopted data, whatever the plan says.
    fn refuse_to_change_adopted(&self) -> Result<(), Error> {
        if self.adopts {
            Err(self.nothing_to_adopt("this run would have to load the data set"))
        } else {
            Ok(())
        }
    }

    /// Whether there is no data.
    fn is_vacant(&self) -> Result<bool, Error> {
        Ok(match &self.store {
            Store::Nowhere => true,
            Store::File(_) => !holds_something(self.path()),
            Store::Device => false,
            Store::Server => self.look_at_server()?.is_empty,
        })
    }

    /// Bytes that are already stored: by an unfinished load, or by data that is removed first.
    #[must_use]
    pub fn present(&self) -> u64 {
        bytes_below(self.path())
    }

    /// The bytes of its kept start.
    #[must_use]
    pub fn start_bytes(&self) -> u64 {
        bytes_below(&start::directory(self.path()))
    }

    /// Writes the marker; of a device or server by `database`, or by one that is opened for it.
    fn write(
        &self,
        database: Option<&dyn Database>,
        started: &str,
        loaded: u64,
        complete: bool,
    ) -> Result<(), Error> {
        self.refuse_to_change_adopted()?;
        let opened = match (&self.store, database) {
            (Store::Server, None) => Some(self.make()?),
            _ => None,
        };
        let database = database.or(opened.as_deref());
        let before = match (&self.store, database) {
            (Store::File(path), _) => marker::read_file(path)?,
            (_, Some(database)) => database.marker()?,
            (Store::Device, None) => {
                stamp::read(self.path()).map_err(failed("read", self.path()))?
            }
            (_, None) => None,
        };
        let mut marker = Marker::new(&self.data, started, loaded, complete);
        marker.study.clone_from(&self.study);
        // An unreadable marker is replaced.
        let before = before.and_then(|text| Marker::parse(&text, "marker").ok());
        marker.identity = before.as_ref().and_then(|earlier| earlier.identity.clone());
        marker.made = self.made_with(before);
        match (&self.store, database) {
            (Store::File(path), _) => marker::write_file(path, &marker.text())?,
            (_, Some(database)) => database.set_marker(&marker.text())?,
            (Store::Device, None) => self.stamp(&marker.text())?,
            (_, None) => {}
        }
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        *load = Some((marker.study, marker.started));
        Ok(())
    }

    /// Writes the stamp of a device. A device without one may hold foreign data, so it is examined
    /// again while it is held.
    fn stamp(&self, text: &str) -> Result<(), Error> {
        match device_of(self.plan, self.system)? {
            None => Ok(self.make()?.set_marker(text)?),
            Some(device) => device
                .stamp(&Unwatched, |file| stamp::stamp(file, text))
                .map_err(|error| refused(self.system, &device, error)),
        }
    }

    /// Keeps for the marker that this run made something around the data.
    pub(crate) fn add_made(&self, made: Made) {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&made) {
            all.push(made);
        }
    }

    /// The items of the previous marker that still exist, and those that this run created.
    fn made_with(&self, before: Option<Marker>) -> Vec<Made> {
        let mut all = before.map_or_else(Vec::new, |marker| marker.made);
        let own = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let new = own.iter().filter(|made| !all.contains(made)).cloned();
        let new: Vec<_> = new.collect();
        all.extend(new);
        all
    }
}

/// The permitted access. Adopted data that is only read stays unchanged. Data that tailmark loaded
/// may come to require this version of the database.
fn access(plan: &Plan) -> Access {
    let writes = || {
        plan.sweep
            .workloads
            .iter()
            .any(|workload| workload.writes())
    };
    if plan.dataset.adopt == Adopt::No || (plan.dataset.upgrade && writes()) {
        Access::Upgrade
    } else if writes() {
        Access::Write
    } else {
        Access::Read
    }
}

/// Bytes on disk of a file, or of all files below a directory. A link counts as itself.
fn bytes_below(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else {
        return 0;
    };
    if found.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| bytes_below(&entry.path())).sum()
    } else {
        std::os::unix::fs::MetadataExt::blocks(&found) * 512
    }
}

fn now() -> String {
    humantime::format_rfc3339_millis(dated(SystemTime::now())).to_string()
}

/// Whether there is anything but an empty directory.
fn holds_something(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
        }
        Ok(_) => true,
        Err(_) => false,
    }
}
