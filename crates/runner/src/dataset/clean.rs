//! What a study left in a place, and its removal.
//!
//! A study names its places, but a study can come from a stranger. Only a marker *at the place*
//! says what tailmark may remove there. Without one that names the study, nothing is touched.

use super::{
    Dataset, failed, identity,
    marker::{Marker, Store, read_file_itself},
    start, trial,
};
use crate::{Error, error::in_one_line};
use bytesize::ByteSize;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};
use tailmark_driver::{
    Access, DataSet, Database, Driver, Location, Made, Params, Place, Schema, Semantics, Setting,
    SettingKind, Settings,
    db::{erase_stamp, stamp},
    is_rocksdb,
};
use tailmark_study::left_drafts;

/// A study's description of one of its systems.
#[derive(Debug)]
pub(crate) struct NamedPlace<'a> {
    /// The database.
    pub driver: &'static Driver,
    /// The place.
    pub place: &'a str,
    /// Its settings. Of an embedded database only the directories of its log are used.
    pub settings: BTreeMap<String, String>,
}

/// The marker that a driver keeps in a log directory.
const LOG_MARKER: &str = "tailmark.wal.json";

/// The content of a log marker.
#[derive(Deserialize)]
struct LogMarker {
    /// The owner of the log.
    database: PathBuf,
}

/// What can be removed from a place.
pub(crate) struct Remains {
    store: Store,
    driver: &'static Driver,
    params: Params,
    marker: Marker,
    /// The server, connected.
    server: Option<Box<dyn Database>>,
    /// The text of the stamp of a device.
    stamped: Option<String>,
    /// The actions, one line each.
    pub lines: Vec<String>,
    /// What was created for the data, but holds something of another program and stays.
    pub kept: Vec<String>,
    /// Whether the machines of its server have a snapshot of it.
    pub has_snapshot: bool,
}

/// Why a place is left alone.
pub(crate) enum Untouched {
    /// Nothing is there.
    Gone(String),
    /// It may hold what the study created: it could not be examined, or has no marker of the study.
    Left(String),
}

impl From<String> for Untouched {
    fn from(why: String) -> Self {
        Self::Left(why)
    }
}

impl From<&str> for Untouched {
    fn from(why: &str) -> Self {
        Self::Left(why.to_owned())
    }
}

impl NamedPlace<'_> {
    /// What a study left there; `None` if its driver stores nothing.
    pub fn remains(&self, study: &str) -> Result<Option<Remains>, Untouched> {
        match self.driver.place {
            Place::Nowhere => Ok(None),
            Place::Hosts => self.on_server(study).map(Some),
            Place::Directory | Place::DirectoryOrDevice => self.here(study).map(Some),
        }
    }

    fn here(&self, study: &str) -> Result<Remains, Untouched> {
        let place = Path::new(self.place);
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !place.is_absolute() || !place.components().all(is_plain) {
            return Err("it is not an absolute path".into());
        }
        if !place.exists() {
            return Err(Untouched::Gone("it does not exist".to_owned()));
        }
        let store = Store::at(self.driver, place);
        let (text, location) = match &store {
            Store::File(marker) => (
                read_file_itself(marker),
                Location::Directory(place.join(self.driver.entry)),
            ),
            _ => (
                stamp::read(place).map_err(|error| error.to_string())?,
                Location::Device(place.to_owned()),
            ),
        };
        // For a device, only the stamp shows the owner.
        let has_data = |data: &Path| data.exists() && !matches!(store, Store::Device);
        if text.is_none() && !location.path().is_some_and(has_data) {
            return Err(self.without_data(place, location.path().unwrap_or(place), study));
        }
        let marker = own(text.as_deref(), study)?;
        let data = location.path().unwrap_or(place);
        if fs::symlink_metadata(data).is_ok_and(|found| found.is_symlink()) {
            let name = data.display();
            return Err(
                format!("`{name}` is a symbolic link, which tailmark did not create").into(),
            );
        }
        let logs = self.logs(data);
        if matches!(store, Store::File(_)) {
            let why = identity::difference(self.driver, data, &marker);
            if let Some(why) = why.map_err(|error| in_one_line(&error))? {
                return Err(format!("left: another program created it ({why})").into());
            }
        }
        let mut lines = lines(&store, self.driver, data, &marker, place);
        let name = |log: &String| format!("`{log}`, the log of that database");
        lines.extend(logs.values().map(name));
        let kept_start = start::directory(data);
        let params = self.params(location, logs)?;
        let start = start::of_study(&params, &marker.study);
        let is_left = start.is_none() && fs::symlink_metadata(&kept_start).is_ok();
        let left = is_left.then(|| kept_start.display().to_string());
        // Before the marker, which is removed after it.
        let at = lines.len().min(1);
        lines.splice(at..at, start.map(|start| start.line()));
        Ok(Remains {
            store,
            driver: self.driver,
            params,
            marker,
            server: None,
            stamped: text,
            lines,
            kept: left.into_iter().collect(),
            has_snapshot: false,
        })
    }

    /// Why a place without a data set of a run is left alone.
    fn without_data(&self, place: &Path, data: &Path, study: &str) -> Untouched {
        if is_rocksdb(place) {
            // Only the drop-ins use such a place.
            let why = "it is a database without a marker: one of a drop-in or of another program, \
                       which `clean` never removes";
            return why.into();
        }
        let params = self.params(Location::Directory(data.to_owned()), BTreeMap::new());
        let start = params
            .ok()
            .and_then(|params| start::of_study(&params, study));
        if let Some(start) = start {
            let line = start.line();
            return Untouched::Left(format!(
                "there is no data set, but {line}: run the plan again, or remove it by hand"
            ));
        }
        Untouched::Gone(match trial::left_directory(self.driver, data, study) {
            None => "there is no data set".to_owned(),
            Some(left) => format!(
                "there is no data set; the next run there removes `{}`, which a killed run left",
                left.display()
            ),
        })
    }

    /// Separate directories with a part of the data, according to the settings: those that
    /// themselves name this database as their owner.
    fn logs(&self, data: &Path) -> BTreeMap<String, String> {
        let Ok(data) = fs::canonicalize(data) else {
            return BTreeMap::new();
        };
        let settings = self.driver.settings.iter();
        let named = settings.filter(|setting| setting.kind == SettingKind::Directory);
        let is_own = |directory: &PathBuf| {
            let marker = read_file_itself(&directory.join(LOG_MARKER));
            let marker = marker.and_then(|text| serde_json::from_str(&text).ok());
            marker.is_some_and(|marker: LogMarker| marker.database == data)
        };
        // As the study names it; where an options file or another rank did, as the database says.
        let params = self.params(Location::None, BTreeMap::new()).ok();
        let said = params.map(|params| (self.driver.adopted)(&data, &params.settings));
        let of_database = |setting: &Setting| {
            let given = self.settings.get(setting.name).map(Path::new);
            let given = given.map(|base| base.join(format!("{}-wal", self.driver.entry)));
            let said = said.as_ref().and_then(|said| said.text(setting.name));
            let mut candidates = given.into_iter().chain(said.map(PathBuf::from));
            let directory = candidates.find(is_own)?;
            Some((setting.name.to_owned(), directory.to_str()?.to_owned()))
        };
        named.filter_map(of_database).collect()
    }

    fn on_server(&self, study: &str) -> Result<Remains, Untouched> {
        let location = Location::of_hosts(self.place);
        let params = Params {
            study: study.to_owned(),
            ..self.params(location, self.settings.clone())?
        };
        let look = self
            .driver
            .look
            .ok_or("its driver cannot examine a server")?;
        let found = (look.at)(&params).map_err(|error| in_one_line(&error))?;
        if found.is_bare {
            let place = found.foreign.unwrap_or_default();
            return Err(
                format!("the {place} is empty, so tailmark cannot tell who created it").into(),
            );
        }
        let is_unmarked = found.marker.is_none() && found.made_for.as_deref() == Some(study);
        if found.marker.is_none() && !found.exists && !is_unmarked {
            return Err(Untouched::Gone(format!("there is no {}", found.name)));
        }
        let mut marker = if is_unmarked {
            // A load was killed before it wrote one.
            Marker::new(&BTreeMap::new(), "", 0, false)
        } else {
            own(found.marker.as_deref(), study)?
        };
        let opened = (self.driver.open)(&params).map_err(|error| in_one_line(&error))?;
        if is_unmarked {
            marker.made = opened.made();
        } else if opened.marker().ok().flatten() != found.marker {
            return Err("another server answered at this address, or the table was changed".into());
        }
        let statements = opened.removal(&marker.made);
        let statements = statements.map_err(|error| in_one_line(&error))?;
        let place = self.place;
        let is_dropped = |name: &str| statements.iter().any(|drop| drop.ends_with(name));
        let kept = marker.made.iter().filter_map(|made| match made {
            Made::Keyspace(name) if !is_dropped(&format!(" KEYSPACE {name}")) => {
                Some(format!("keyspace {name} at {place}"))
            }
            _ => None,
        });
        let kept = kept.collect();
        let line = |statement| format!("at {place}: {statement}");
        let has_snapshot = marker.kept && self.driver.snapshot.is_some();
        Ok(Remains {
            store: Store::Server,
            driver: self.driver,
            params,
            marker,
            server: Some(opened),
            stamped: None,
            lines: statements.into_iter().map(line).collect(),
            kept,
            has_snapshot,
        })
    }

    fn params(
        &self,
        location: Location,
        settings: BTreeMap<String, String>,
    ) -> Result<Params, Untouched> {
        let data = DataSet {
            schema: Schema {
                table: "usertable".to_owned(),
                fields: Vec::new(),
            },
            records: 1,
            field_length: 1,
        };
        let settings = Settings::check(self.driver, &settings, &data, 1.0);
        Ok(Params {
            location,
            settings: settings.map_err(|error| in_one_line(&error))?,
            data,
            semantics: Semantics::default(),
            access: Access::Read,
            study: String::new(),
        })
    }
}

/// The marker, if it is one of the study.
fn own(text: Option<&str>, study: &str) -> Result<Marker, Untouched> {
    let marker = text.and_then(|text| Marker::parse(text, "marker").ok());
    let own = marker.filter(|marker| marker.study == study);
    own.ok_or_else(|| "no marker of this study there".into())
}

fn lines(
    store: &Store,
    driver: &Driver,
    data: &Path,
    marker: &Marker,
    place: &Path,
) -> Vec<String> {
    let Store::File(path) = store else {
        let name = data.display();
        return vec![format!("the stamp of `{name}`, and so the data set on it")];
    };
    let bytes = ByteSize(super::bytes_below(data));
    let data_name = data_in_words(data, is_kept(data, marker));
    let mut lines = vec![format!("{data_name} ({bytes}, {})", driver.name)];
    if let Some(trial) = trial::left_directory(driver, data, &marker.study) {
        lines.push(format!("`{}`", trial.display()));
    }
    lines.push(format!("`{}`", path.display()));
    lines.extend(
        left_drafts(place)
            .iter()
            .map(|draft| format!("`{}`", draft.display())),
    );
    let made = directories(marker, place);
    lines.extend(made.map(|made| format!("`{}`, if it is empty by then", made.display())));
    lines
}

/// Whether the directory of the data existed before the load, so that it stays.
fn is_kept(data: &Path, marker: &Marker) -> bool {
    data.is_dir() && !marker.made.contains(&Made::Directory(data.to_owned()))
}

fn data_in_words(data: &Path, is_kept: bool) -> String {
    let name = data.display();
    if is_kept {
        format!("the database in `{name}`, not the directory")
    } else {
        format!("`{name}`")
    }
}

/// The directories around a place that a marker there says were made, the innermost first. One that is
/// not around it is not this marker's to name.
fn directories<'a>(marker: &'a Marker, place: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
    let made = marker.made.iter().rev().filter_map(|made| match made {
        Made::Directory(path) => Some(path),
        _ => None,
    });
    made.filter(move |path| place.starts_with(path))
}

impl Dataset<'_> {
    /// Whether it is a file or directory here that this study loaded.
    pub(crate) fn is_own(&self) -> bool {
        let Store::File(path) = &self.store else {
            return false;
        };
        let marker = own(read_file_itself(path).as_deref(), &self.study);
        marker.is_ok_and(|marker| matches!(self.difference(&marker), Ok(None)))
    }
}

impl Remains {
    /// Removes everything, and gives `log` a line for each item that is gone. A marker goes last,
    /// so that whatever is left by then is removed the next time.
    ///
    /// # Errors
    /// If it is in use or cannot be removed.
    pub fn remove(self, log: &dyn Fn(&str)) -> Result<(), Error> {
        if let Some(server) = &self.server {
            if !self.marker.promises_nothing() {
                server.set_marker(&self.marker.emptied().text())?;
            }
            let gone = server.remove(&self.marker.made)?;
            for line in &self.lines {
                if gone
                    .iter()
                    .any(|statement| line.ends_with(&format!(": {statement}")))
                {
                    log(&format!("removed {line}"));
                } else {
                    log(&format!(
                        "left {line}: another program has put something there"
                    ));
                }
            }
            return Ok(());
        }
        let Store::File(path) = &self.store else {
            let place = self.params.location.path().unwrap_or(Path::new(""));
            let text = self.stamped.unwrap_or_default();
            if !erase_stamp(place, &text)? {
                log(&format!(
                    "left {}: its stamp has changed",
                    self.lines.join(", ")
                ));
                return Ok(());
            }
            let lines = self.lines.iter();
            lines.for_each(|line| log(&format!("removed {line}")));
            return Ok(());
        };
        let data = self.params.location.path().unwrap_or(Path::new(""));
        self.remove_database(path, log)?;
        let is_kept = is_kept(data, &self.marker);
        if data.is_dir() && !is_kept {
            remove_empty(data)?;
        }
        fs::remove_file(path).map_err(failed("remove", path))?;
        log(&format!("removed {}", data_in_words(data, is_kept)));
        log(&format!("removed `{}`", path.display()));
        for draft in path.parent().map(left_drafts).unwrap_or_default() {
            fs::remove_file(&draft).map_err(failed("remove", &draft))?;
            log(&format!("removed `{}`", draft.display()));
        }
        for made in directories(&self.marker, path.parent().unwrap_or(Path::new(""))) {
            if remove_empty(made)? {
                log(&format!("removed `{}`", made.display()));
            }
        }
        Ok(())
    }

    /// Removes the database with its trial and its kept start, and lowers the marker at `path`
    /// first.
    fn remove_database(&self, path: &Path, log: &dyn Fn(&str)) -> Result<(), Error> {
        let trial = trial::left(self.driver, &self.params, &self.marker.study);
        // All of it is checked first: what cannot be removed stays as it is, with its marker.
        (self.driver.check_destroy)(&self.params)?;
        if let Some(trial) = &trial {
            trial.check_removal(self.driver)?;
        }
        let start = start::of_study(&self.params, &self.marker.study);
        if let Some(start) = &start {
            start.check_removal(self.driver)?;
        }
        super::marker::write_over(path, &self.marker.emptied().text())?;
        let confirm = |held: &Path| identity::confirm(self.driver, held, &self.marker);
        let destroyed = (self.driver.destroy)(&self.params, &confirm);
        if let Err(tailmark_driver::Error::Locked { .. }) = destroyed {
            // Another program has it open, and nothing of it was removed.
            super::marker::write_over(path, &self.marker.text())?;
        }
        destroyed?;
        if let Some(start) = &start {
            let line = start.line();
            start.remove(self.driver)?;
            log(&format!("removed {line}"));
        }
        trial.map_or(Ok(()), |trial| trial.remove(self.driver))
    }
}

/// Removes a directory if it is empty, and returns whether it did.
fn remove_empty(directory: &Path) -> Result<bool, Error> {
    match fs::remove_dir(directory) {
        Ok(()) => Ok(true),
        Err(error) if is_left(&error) => Ok(false),
        Err(error) => Err(failed("remove", directory)(error)),
    }
}

/// Whether a directory is left because it holds something else or is mounted on, or is gone already.
fn is_left(error: &io::Error) -> bool {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound, ResourceBusy};
    matches!(error.kind(), DirectoryNotEmpty | NotFound | ResourceBusy)
}
