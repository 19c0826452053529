//! Separate directories in which the database keeps part of the data set: the write-ahead log of
//! RocksDB (`wal_dir`).
//!
//! Such a directory is a place, like the `path` of a system: the data set has its own directory in
//! it, and the database never sees other programs' files beside it. A trial keeps everything in its
//! own directory.

use super::{Dataset, State, Store};
use crate::{Error, claimed::check_writable};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tailmark_driver::{Access, SettingKind, Settings, is_rocksdb, of_another_user};
use tailmark_plan::SystemPlan;
use tailmark_prepare::real_path;
use tailmark_study::owner::create_dir;

/// Names and values of the settings that name such directories.
pub(super) fn directories(system: &SystemPlan) -> impl Iterator<Item = (&'static str, PathBuf)> {
    let settings = system.driver.settings.iter();
    let named = settings.filter(|setting| setting.kind == SettingKind::Directory);
    named.filter_map(|setting| {
        let value = system.settings.text(setting.name)?;
        (!value.is_empty()).then(|| (setting.name, PathBuf::from(value)))
    })
}

/// The settings with which a data set that tailmark loads is opened.
pub(super) fn own(system: &SystemPlan) -> Settings {
    moved(system, |_, directory| own_log(system, directory))
}

/// The directory in this one in which the data set keeps its log.
pub(super) fn own_log(system: &SystemPlan, directory: &Path) -> PathBuf {
    directory.join(format!("{}-wal", system.driver.entry))
}

/// The settings with which a trial in `place` is opened.
pub(super) fn inside(system: &SystemPlan, place: &Path) -> Settings {
    moved(system, |name, _| place.join(name))
}

fn moved(system: &SystemPlan, to: impl Fn(&str, &Path) -> PathBuf) -> Settings {
    directories(system).fold(system.settings.clone(), |settings, (name, directory)| {
        settings.with(name, &to(name, &directory).to_string_lossy())
    })
}

impl Dataset<'_> {
    /// Checks the place and the separate directories, and changes nothing.
    ///
    /// # Errors
    /// If one cannot be used, or contains log files of another database before the data set is
    /// started.
    pub(crate) fn check_directories(&self) -> Result<(), Error> {
        let is_empty = self.state()? == State::Empty;
        let data = self
            .system
            .location
            .path()
            .map(|data| ("path", data.to_owned()));
        for (name, directory) in data.into_iter().chain(directories(self.system)) {
            if let Some(why) = of_another_user(&directory) {
                return Err(refuse(self.system, name, &directory, why));
            }
            if let Some(database) = self.database_around(&directory) {
                return Err(refuse(
                    self.system,
                    name,
                    &directory,
                    format!(
                        "it is inside the directory of another database, `{}`; name another \
                         directory",
                        database.display()
                    ),
                ));
            }
        }
        for (name, directory) in directories(self.system) {
            let refuse = |why| Err(refuse(self.system, name, &directory, why));
            let parent = directory.parent().unwrap_or(Path::new("/"));
            if !directory.exists() && directory.is_symlink() {
                return refuse("it is a symbolic link to something that does not exist".to_owned());
            }
            if !directory.exists() && !parent.is_dir() {
                return refuse(format!(
                    "neither it nor `{}` exists; create it, or mount its device, first",
                    parent.display()
                ));
            }
            if !directory.exists() && self.adopts {
                return refuse(
                    "it does not exist, and adopted data has its log there; mount its device, or \
                     name the directory of its log"
                        .to_owned(),
                );
            }
            if self.is_written()
                && let Err(error) = check_writable(&directory)
            {
                return refuse(format!("it cannot be used: {error}"));
            }
            let logs = logs(&directory);
            if is_empty && !logs.is_empty() && !self.owns(&directory) {
                let shown = logs.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                let more = match logs.len() {
                    0..=3 => String::new(),
                    more => format!(" and {} more", more - 3),
                };
                return refuse(format!(
                    "it holds log files of another database ({shown}{more}); name another directory"
                ));
            }
        }
        Ok(())
    }

    /// Refuses a run directory inside the database.
    ///
    /// # Errors
    /// Names both.
    pub(crate) fn refuse_results(&self, out: &Path) -> Result<(), Error> {
        let is_inside = matches!(self.store, Store::File(_))
            && real_path(out).starts_with(real_path(self.path()));
        if !is_inside {
            return Ok(());
        }
        let place = self.system.location.path().unwrap_or(self.path());
        let why = format!(
            "the run directory `{}` would be inside its database; give another -o",
            out.display()
        );
        Err(refuse(self.system, "path", place, why))
    }

    /// Creates the missing separate directories, adding them to `made`.
    ///
    /// # Errors
    /// If one cannot be created or written.
    pub(crate) fn make_directories(&self, made: &mut Vec<PathBuf>) -> Result<(), Error> {
        for (name, directory) in directories(self.system).filter(|_| self.is_written()) {
            let ready = if directory.exists() {
                Ok(())
            } else {
                made.push(directory.clone());
                create_dir(&directory)
            };
            let used = ready.and_then(|()| tempfile::tempfile_in(&directory));
            used.map_err(|error| {
                let why = format!("it cannot be used: {error}");
                refuse(self.system, name, &directory, why)
            })?;
        }
        Ok(())
    }

    /// Refuses to write to adopted data with a part in a directory that the plan does not name. The
    /// data names that directory itself, and a copy names the directory of the original.
    pub(super) fn refuse_unnamed_directories(&self) -> Result<(), Error> {
        if !self.adopts || !self.is_written() {
            return Ok(());
        }
        let settings = self.system.driver.settings.iter();
        let named = settings.filter(|setting| setting.kind == SettingKind::Directory);
        let unnamed = named.filter(|setting| self.system.settings.text(setting.name).is_none());
        for setting in unnamed {
            let Some(directory) = self.params.settings.text(setting.name).map(Path::new) else {
                continue;
            };
            if !real_path(directory).starts_with(real_path(self.path())) {
                let why = "the database names it, not the plan, and a copy of a database names the \
                           directory of the original: a workload that writes would replay and \
                           remove the logs there. If they belong to this database, put the setting \
                           into the plan";
                return Err(refuse(self.system, setting.name, directory, why.to_owned()));
            }
        }
        Ok(())
    }

    /// The directory of a RocksDB database that contains a directory; `None` if that is this data
    /// set, or nothing is created there.
    fn database_around(&self, directory: &Path) -> Option<PathBuf> {
        let directory = real_path(directory);
        let own = real_path(self.path());
        let found = directory.ancestors().find(|above| is_rocksdb(above));
        let found = found.filter(|found| !self.adopts && *found != own);
        found.map(Path::to_owned)
    }

    /// Whether anything is written to its place, or created there.
    pub(super) fn is_written(&self) -> bool {
        self.params.access != Access::Read
    }

    /// Whether the data set has its own directory in this one already.
    fn owns(&self, directory: &Path) -> bool {
        own_log(self.system, directory).exists()
    }
}

/// Refuses a symbolic link where a database creates its directory or file, because its target may
/// be on another device than the watched one.
pub(super) fn refuse_link(system: &SystemPlan, place: &Path) -> Result<(), Error> {
    match fs::read_link(place) {
        Ok(target) => Err(Error::LinkedData {
            system: system.name.clone(),
            place: place.to_owned(),
            target,
        }),
        Err(_) => Ok(()),
    }
}

/// The numbered log files in a directory.
fn logs(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_log = |name: &String| {
        let stem = name.strip_suffix(".log");
        stem.is_some_and(|stem| stem.parse::<u64>().is_ok())
    };
    let mut logs: Vec<_> = names.filter(is_log).collect();
    logs.sort();
    logs
}

pub(super) fn refuse(
    system: &SystemPlan,
    name: &'static str,
    directory: &Path,
    why: String,
) -> Error {
    let is_setting = system.driver.settings.iter().any(|row| row.name == name);
    let file = system.settings.text("options_file");
    let setting = match file.filter(|_| !system.settings.given(name)) {
        _ if !is_setting => name.to_owned(),
        Some(file) => format!("database.{name} of options_file `{file}`"),
        None => format!("database.{name}"),
    };
    Error::BadDirectory {
        system: system.name.clone(),
        setting,
        directory: directory.to_owned(),
        why,
    }
}
