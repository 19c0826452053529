//! The loaded data set of a system: where it is, the marker that says what was loaded, the load.
//!
//! The marker is a file beside the database, never in it; of a server, a record in a table of its
//! own. It is written after a flush, so that it
//! never promises more than the database holds; during a load it is written every few seconds, so
//! that a load that was killed goes on from there. Records are written in the order of their
//! numbers and the marker names the number below which every one was acknowledged.

use crate::{
    Error, Observer, Stop,
    phase::{self, Capture},
    plan::{Plan, SystemPlan},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};
use tailmark_driver::{Database, Params, Place};
use tailmark_results::Load;
use tailmark_workload::{KeySpace, Workload};

/// How often an unfinished load is made durable and marked.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// What was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The version of this file.
    version: u32,
    /// What the data set is, by name: driver, records, fields, ...
    data: BTreeMap<String, String>,
    /// All records below this number are loaded.
    loaded: u64,
    /// Whether that is all of them, flushed.
    pub complete: bool,
}

/// A system's data set.
#[derive(Debug)]
pub struct Dataset<'a> {
    system: &'a SystemPlan,
    /// What is opened.
    pub params: Params,
    marker: Keeper,
    data: BTreeMap<String, String>,
}

/// Where a marker is kept.
#[derive(Debug)]
enum Keeper {
    /// Nowhere: the driver keeps nothing.
    Nobody,
    /// In a file.
    File(PathBuf),
    /// Beside the data in its server.
    Server,
}

impl<'a> Dataset<'a> {
    /// The data set of a system; `out` is the run directory, which holds the marker of a device.
    #[must_use]
    pub fn new(plan: &Plan, system: &'a SystemPlan, out: &Path) -> Self {
        let given = &system.place;
        let is_device = fs::metadata(given).is_ok_and(|m| m.file_type().is_block_device());
        let (place, marker) = match system.driver.place {
            Place::Nowhere => (given.clone(), Keeper::Nobody),
            Place::Hosts => (given.clone(), Keeper::Server),
            Place::DirectoryOrDevice if is_device => (
                given.clone(),
                Keeper::File(out.join(format!("{}.dataset.json", system.name))),
            ),
            Place::Directory | Place::DirectoryOrDevice => {
                let entry = system.driver.entry;
                (
                    given.join(entry),
                    Keeper::File(given.join(format!("{entry}.dataset.json"))),
                )
            }
        };
        let params = Params {
            place,
            data: system.data.clone(),
            settings: system.settings.clone(),
            semantics: system.semantics,
            create: false,
        };
        Self {
            system,
            params,
            marker,
            data: describe(plan, system),
        }
    }

    /// Whether there is anything to load.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !matches!(self.marker, Keeper::Nobody)
    }

    /// Whether the whole data set is loaded.
    ///
    /// # Errors
    /// Where something else is in its place.
    pub fn is_loaded(&self) -> Result<bool, Error> {
        Ok(!self.is_kept() || self.read()?.is_some_and(|m| m.complete))
    }

    /// The marker, checked against the plan; none where nothing was loaded yet.
    fn read(&self) -> Result<Option<Marker>, Error> {
        let (text, path) = match &self.marker {
            Keeper::Nobody => return Ok(None),
            Keeper::File(path) => (self.read_file(path)?, path.clone()),
            Keeper::Server => {
                let marker =
                    PathBuf::from(format!("the marker of {}", self.params.place.display()));
                (self.read_server(&marker)?, marker)
            }
        };
        let Some(text) = text else { return Ok(None) };
        let marker: Marker = serde_json::from_str(&text).map_err(|source| Error::BadMarker {
            path: path.clone(),
            source,
        })?;
        let differences = differences(&self.data, &marker.data);
        match differences.is_empty() {
            true => Ok(Some(marker)),
            false => Err(Error::OtherData {
                system: self.system.name.clone(),
                place: self.params.place.clone(),
                marker: path,
                differences,
            }),
        }
    }

    fn read_file(&self, path: &Path) -> Result<Option<String>, Error> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.refuse_foreign(self.is_foreign(), path)
            }
            Err(source) => Err(Error::Io {
                action: "read",
                path: path.to_owned(),
                source,
            }),
        }
    }

    fn read_server(&self, marker: &Path) -> Result<Option<String>, Error> {
        let database = self.make()?;
        match database.marker()? {
            Some(text) => Ok(Some(text)),
            None => self.refuse_foreign(!database.is_empty()?, marker),
        }
    }

    fn refuse_foreign(&self, is_foreign: bool, marker: &Path) -> Result<Option<String>, Error> {
        match is_foreign {
            true => Err(Error::ForeignData {
                system: self.system.name.clone(),
                place: self.params.place.clone(),
                marker: marker.to_owned(),
            }),
            false => Ok(None),
        }
    }

    /// Whether there is data that tailmark did not make. A device without a marker is one to be
    /// written: naming it in a plan is the consent.
    fn is_foreign(&self) -> bool {
        match fs::metadata(&self.params.place) {
            Ok(found) if found.is_dir() => {
                fs::read_dir(&self.params.place).is_ok_and(|mut entries| entries.next().is_some())
            }
            Ok(found) => found.is_file(),
            Err(_) => false,
        }
    }

    /// Bytes that an unfinished load has stored already.
    #[must_use]
    pub fn present(&self) -> u64 {
        fn below(path: &Path) -> u64 {
            let Ok(found) = fs::symlink_metadata(path) else {
                return 0;
            };
            match fs::read_dir(path) {
                Ok(entries) => entries.flatten().map(|e| below(&e.path())).sum(),
                Err(_) => found.blocks() * 512,
            }
        }
        below(&self.params.place)
    }

    /// Writes the marker; of a server by `database`, or by one that is opened for it.
    fn write(
        &self,
        database: Option<&dyn Database>,
        loaded: u64,
        complete: bool,
    ) -> Result<(), Error> {
        let marker = Marker {
            version: 1,
            data: self.data.clone(),
            loaded,
            complete,
        };
        let text = serde_json::to_string_pretty(&marker).expect("a marker is plain data");
        match (&self.marker, database) {
            (Keeper::Nobody, _) => Ok(()),
            (Keeper::Server, Some(database)) => Ok(database.set_marker(&text)?),
            (Keeper::Server, None) => Ok(self.make()?.set_marker(&text)?),
            (Keeper::File(path), _) => {
                let written = write_durably(path, text.as_bytes());
                written.map_err(|source| Error::Io {
                    action: "write",
                    path: path.clone(),
                    source,
                })
            }
        }
    }

    /// Makes the database where there is none, and closes it again: what is wrong with its place
    /// or its settings shows before anything is measured.
    ///
    /// # Errors
    /// Where it cannot be opened, or something else is in its place.
    pub fn prepare(&self) -> Result<(), Error> {
        if self.is_kept() && self.read()?.is_none() {
            self.write(None, 0, false)?;
        }
        self.make().map(drop)
    }

    /// Opens the database, which is made where there is none.
    fn make(&self) -> Result<Box<dyn Database>, Error> {
        let params = Params {
            create: true,
            ..self.params.clone()
        };
        Ok((self.system.driver.open)(&params)?)
    }

    /// Removes the data set, so that it is loaded anew.
    ///
    /// # Errors
    /// Where it cannot be removed, or something else is in its place.
    pub fn remove(&self) -> Result<(), Error> {
        if self.is_kept() && self.read()?.is_some() {
            self.write(None, 0, false)?;
            (self.system.driver.destroy)(&self.params)?;
        }
        Ok(())
    }

    /// Opens the database.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Database>, Error> {
        Ok((self.system.driver.open)(&self.params)?)
    }

    /// Loads what is missing. None where the load was stopped; it goes on the next time.
    ///
    /// # Errors
    /// Where the database refuses, or records could not be written.
    pub fn load(
        &self,
        plan: &Plan,
        capture: Capture,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<Option<Load>, Error> {
        let records = self.system.data.records;
        let from = self.read()?.map_or(0, |marker| marker.loaded.min(records));
        let database = self.make()?;
        let keys = Arc::new(KeySpace::new(from, from));
        let workload = Arc::new(loader(plan));
        let threads = plan
            .sweep
            .load_threads
            .min(u32::try_from(records - from).unwrap_or(u32::MAX))
            .max(1);
        let spec = phase::Spec {
            database: database.as_ref(),
            clients: self.system.driver.clients,
            system: &self.system.name,
            point: None,
            workload: &workload,
            data: &self.system.data,
            keys: &keys,
            threads,
            rate: None,
            operations: Some(records - from),
            duration: None,
            warmup: Duration::ZERO,
            // What goes on from a marker draws other values than what was written before.
            seed: plan.sweep.seed.wrapping_add(from),
            write_all_fields: true,
            compressibility: plan.sweep.compressibility,
            ends_at_failure: true,
        };
        let phase = std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel::<()>();
            let (database, keys) = (database.as_ref(), &keys);
            scope.spawn(move || self.checkpoint(database, keys, &wait, observer));
            let phase = phase::run(&spec, capture, observer, stop);
            drop(done);
            phase
        })?;
        let loaded = keys.acknowledged();
        if let Some(first) = phase.errors.first() {
            // Of no consequence where that fails too: the marker promises less.
            let _ = self.mark(database.as_ref(), loaded);
            let (system, failed) = (self.system.name.clone(), phase.errors());
            let example = format!("{}: {}", first.cause, first.example);
            return Err(Error::LoadFailed {
                system,
                failed,
                records,
                loaded,
                example,
            });
        }
        observer.step("flushing what was loaded");
        if loaded < records {
            self.mark(database.as_ref(), loaded)?;
            return Ok(None);
        }
        database.flush()?;
        self.write(Some(database.as_ref()), loaded, true)?;
        Ok(Some(Load {
            system: self.system.name.clone(),
            records: records - from,
            threads,
            phase,
        }))
    }

    /// Marks what is loaded every few seconds until `wait` is closed. One that fails is made up for
    /// by the next; the last mark, after the load, has to succeed.
    fn checkpoint(
        &self,
        database: &dyn Database,
        keys: &KeySpace,
        wait: &mpsc::Receiver<()>,
        observer: &dyn Observer,
    ) {
        while let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(CHECKPOINT) {
            if let Err(error) = self.mark(database, keys.acknowledged()) {
                observer.notice(&format!("what is loaded could not be marked: {error}"));
            }
        }
    }

    /// Marks that so many records are loaded, once that is durable.
    fn mark(&self, database: &dyn Database, loaded: u64) -> Result<(), Error> {
        database.sync()?;
        self.write(Some(database), loaded, false)
    }
}

/// What loads the plan's data set.
fn loader(plan: &Plan) -> Workload {
    plan.sweep
        .workloads
        .first()
        .map_or_else(Workload::load, |workload| workload.loader())
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
    if let Some(shape) = plan
        .sweep
        .workloads
        .first()
        .and_then(|workload| workload.shape())
    {
        described.insert("key_length".to_owned(), shape.key_bytes.to_string());
    }
    for name in system.driver.stored {
        if let Some(value) = system.settings.text(name) {
            described.insert(format!("database.{name}"), value.to_owned());
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

/// Replaces a file so that a crash leaves the old or the new one, whole.
fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
