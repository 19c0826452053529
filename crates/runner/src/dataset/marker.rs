//! The marker: which data set was loaded, how far, and where the marker is stored.
//!
//! It is written after its promises are durable, and lowered before any data is taken away. At
//! every instant the data set holds at least what its marker says.

use super::description::{CONTENT, differences};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, FileTypeExt},
    path::{Path, PathBuf},
};
use tailmark_driver::{Driver, Location, Made, Place, read_text};
use tailmark_plan::SystemPlan;
use tailmark_study::{open_own, replace_file};

/// The version that is written; a later one is refused.
const VERSION: u32 = 1;

/// The description of a loaded data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    version: u32,
    /// The id of the study that loaded it; empty in markers of old.
    #[serde(default)]
    pub study: String,
    /// The database that tailmark created, for a file or directory beside the marker. `None` before
    /// it is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What tailmark created around the data. `clean` removes it too, if nothing else is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Made>,
    /// The properties of the data set, by name: driver, records, fields, ...
    pub data: BTreeMap<String, String>,
    /// When the load began. Every run that resumes it keeps this. Empty in older markers.
    #[serde(default)]
    pub started: String,
    /// All records below this number are loaded. 0 promises nothing: existing data is removed
    /// before the next load.
    pub loaded: u64,
    /// Whether that is all of them, flushed, and the load is in its study.
    pub complete: bool,
    /// Whether updates have begun since then that leave records with only the fields that they
    /// write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reshaped: bool,
    /// Whether a workload that writes has begun since it was loaded or restored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Whether the plan's command has kept it as it was loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// What every version of a marker has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Marker {
    pub fn new(
        data: &BTreeMap<String, String>,
        started: &str,
        loaded: u64,
        complete: bool,
    ) -> Self {
        Self {
            version: VERSION,
            study: String::new(),
            identity: None,
            made: Vec::new(),
            data: data.clone(),
            started: started.to_owned(),
            loaded,
            complete,
            reshaped: false,
            changed: false,
            kept: false,
        }
    }

    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a marker is plain data")
    }

    /// Reads one; `name` is what an error calls it.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let bad = |source| Error::BadMarker {
            marker: name.to_owned(),
            source,
        };
        let Versioned { version } = serde_json::from_str(text).map_err(bad)?;
        if version > VERSION {
            return Err(Error::LaterMarker {
                marker: name.to_owned(),
                version,
                known: VERSION,
            });
        }
        serde_json::from_str(text).map_err(bad)
    }

    /// Whether existing data is removed before the next load.
    pub const fn promises_nothing(&self) -> bool {
        self.loaded == 0 && !self.complete
    }

    /// The marker while its data is removed: what a killed removal leaves promises nothing.
    pub fn emptied(&self) -> Self {
        Self {
            loaded: 0,
            complete: false,
            ..self.clone()
        }
    }

    /// The marker once all records are there again as they were loaded.
    pub fn restored(&self, records: u64) -> Self {
        Self {
            loaded: records,
            complete: true,
            reshaped: false,
            changed: false,
            ..self.clone()
        }
    }

    /// Whether both are about one load of one database.
    pub fn is_same_load(&self, other: &Self) -> bool {
        let load = |marker: &Self| {
            let Self {
                study,
                started,
                identity,
                ..
            } = marker.clone();
            (study, started, identity)
        };
        load(self) == load(other)
    }

    /// Differences between the requested and the loaded data set; empty if there are none.
    pub fn differences(&self, data: &BTreeMap<String, String>) -> String {
        let is_known = |name: &&String| !name.ends_with(CONTENT) || self.data.contains_key(*name);
        let comparable = data.iter().filter(|(name, _)| is_known(name));
        let comparable = comparable.map(|(name, value)| (name.clone(), value.clone()));
        differences(&comparable.collect(), &self.data)
    }
}

/// The place of a marker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// Nowhere: the driver keeps nothing.
    Nowhere,
    /// In a file beside the data.
    File(PathBuf),
    /// On the device, before the data.
    Device,
    /// In the server, in a table or set of its own.
    Server,
}

impl Store {
    /// Of a system.
    pub fn from_system(system: &SystemPlan) -> Self {
        let place = system.location.path().unwrap_or(Path::new(""));
        Self::at(system.driver, place)
    }

    /// Of the data of a driver in a place.
    pub fn at(driver: &Driver, place: &Path) -> Self {
        match driver.place {
            Place::Nowhere => Self::Nowhere,
            Place::Hosts => Self::Server,
            Place::DirectoryOrDevice if is_device(place) => Self::Device,
            Place::Directory | Place::DirectoryOrDevice => {
                Self::File(place.join(format!("{}.dataset.json", driver.entry)))
            }
        }
    }

    /// What an error calls the marker.
    pub fn name(&self, location: &Location) -> String {
        match self {
            Self::Nowhere => "no marker".to_owned(),
            Self::File(path) => format!("`{}`", path.display()),
            Self::Device => format!("the first bytes of `{location}`"),
            Self::Server => format!("the marker in table `tailmark` at `{location}`"),
        }
    }
}

/// Whether a path leads to a block device.
pub(crate) fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// Bytes of the largest file that is read as a marker.
const MARKER_BYTES_MAX: u64 = 1 << 20;

/// The text of a file that must be one itself: no link, and no larger than a marker can be.
pub(super) fn read_file_itself(path: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    is_file
        .then(|| read_text(path, MARKER_BYTES_MAX).ok())
        .flatten()
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<String>, Error> {
    match read_text(path, MARKER_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", path)(source)),
    }
}

/// Replaces a file so that a crash leaves the old or the new one, whole.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    replace_file(path, text.as_bytes(), 0o644).map_err(failed("write", path))
}

/// As [`write_file`]; on a full disk it writes over the old file, which takes no room. A text that is
/// shorter than the old one is filled up with spaces.
pub(super) fn write_over(path: &Path, text: &str) -> Result<(), Error> {
    match write_file(path, text) {
        Err(Error::Io { source, .. }) if is_full(&source) => {}
        written => return written,
    }
    let over = || {
        let file = open_own(path, File::options().write(true))?;
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let length = file.metadata()?.len() as usize;
        file.write_all_at(format!("{text:length$}").as_bytes(), 0)?;
        file.sync_all()
    };
    over().map_err(failed("write", path))
}

/// Whether there is no room, or no more of it for this user.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_of_a_later_version_is_refused_by_number() {
        let text = r#"{"version": 7, "data": "of a shape nobody knows yet"}"#;
        let error = Marker::parse(text, "`m.json`").unwrap_err().to_string();
        assert!(
            error.contains("`m.json`") && error.contains("version 7"),
            "{error}"
        );
    }

    #[test]
    fn the_content_of_a_file_is_compared_where_the_marker_has_it() {
        let data = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let path = ("database.options_file", "o.ini");
        let is = data(&[path, ("database.options_file.sha256", "aa")]);
        let differences =
            |was: &[(&str, &str)]| Marker::new(&data(was), "10:00", 3, true).differences(&is);
        assert_eq!(differences(&[path]), "", "a marker of old");
        assert_eq!(
            differences(&[path, ("database.options_file.sha256", "aa")]),
            ""
        );
        let other = differences(&[path, ("database.options_file.sha256", "bb")]);
        assert!(other.contains("options_file.sha256 is `aa`"), "{other}");
    }

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let data = [("records".to_owned(), "5".to_owned())].into();
        let marker = Marker {
            study: "0".repeat(32),
            made: vec![
                Made::Directory("/mnt/a".into()),
                Made::Keyspace("k".to_owned()),
            ],
            ..Marker::new(&data, "10:00", 3, false)
        };
        assert_eq!(Marker::parse(&marker.text(), "m").unwrap(), marker);
        assert!(!marker.text().contains("reshaped"));
        let reshaped = Marker {
            reshaped: true,
            ..marker
        };
        assert_eq!(Marker::parse(&reshaped.text(), "m").unwrap(), reshaped);
    }
}
