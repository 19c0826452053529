//! Directories apart from the data set in which the database keeps a part of it: the write-ahead
//! log of RocksDB (`wal_dir`).
//!
//! Such a directory is a place, as the `path` of a system is: the data set has its own directory
//! in it, and the database never sees what other programs keep beside that. A trial keeps
//! everything in its own directory.

use super::{Dataset, State};
use crate::Error;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tailmark_driver::{SettingKind, Settings};
use tailmark_plan::{Plan, SystemPlan};

/// Names and values of the settings that name such directories.
fn directories(system: &SystemPlan) -> impl Iterator<Item = (&'static str, PathBuf)> {
    let settings = system.driver.settings.iter();
    let named = settings.filter(|setting| setting.kind == SettingKind::Directory);
    named.filter_map(|setting| {
        let value = system.settings.text(setting.name)?;
        (!value.is_empty()).then(|| (setting.name, PathBuf::from(value)))
    })
}

/// The settings with which a data set that tailmark loads is opened.
pub(super) fn own(system: &SystemPlan) -> Settings {
    moved(system, |_, directory| {
        directory.join(format!("{}-wal", system.driver.entry))
    })
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

/// Refuses two systems that would keep their logs in one directory, or one its log where the other
/// keeps its data.
///
/// # Errors
/// Names both systems and the directory.
pub(crate) fn refuse_shared(plan: &Plan) -> Result<(), Error> {
    for system in &plan.systems {
        for (name, directory) in directories(system) {
            let directory = real(&directory);
            let others = plan
                .systems
                .iter()
                .filter(|other| other.name != system.name);
            let mut shared = others.filter_map(|other| {
                let mut logs = directories(other).map(|(_, log)| real(&log));
                let data = other.location.path().map(real);
                let entry = data.as_ref().map(|data| data.join(other.driver.entry));
                let is_in_data = entry.is_some_and(|entry| directory.starts_with(entry));
                if data.is_some_and(|data| data == directory) || is_in_data {
                    Some((other, "its data"))
                } else if logs.any(|log| log == directory) {
                    Some((other, "its log"))
                } else {
                    None
                }
            });
            if let Some((other, what)) = shared.next() {
                let why = format!(
                    "system `{}` keeps {what} there too; give each system its own directory",
                    other.name
                );
                return Err(refuse(system, name, &directory, why));
            }
        }
    }
    Ok(())
}

impl Dataset<'_> {
    /// Checks the directories apart from the data set, and makes those of which the parent exists.
    ///
    /// # Errors
    /// If one cannot be used, or holds log files of another database before the data set is begun.
    pub(crate) fn check_directories(&self) -> Result<(), Error> {
        let is_empty = self.state()? == State::Empty;
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
            let made = match directory.exists() {
                true => Ok(()),
                false => fs::create_dir(&directory),
            };
            let used = made.and_then(|()| tempfile::tempfile_in(&directory));
            if let Err(error) = used {
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

    /// Whether the data set has its own directory in this one already.
    fn owns(&self, directory: &Path) -> bool {
        directory
            .join(format!("{}-wal", self.system.driver.entry))
            .exists()
    }
}

/// Refuses a symbolic link where a database makes its directory or file: what it points to may be
/// on another device than the one that is watched.
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

/// The path without symbolic links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    tailmark_host::prepare::real_path(path)
}

fn refuse(system: &SystemPlan, name: &'static str, directory: &Path, why: String) -> Error {
    let by = match (
        system.settings.given(name),
        system.settings.text("options_file"),
    ) {
        (false, Some(file)) => format!(" of options_file `{file}`"),
        _ => String::new(),
    };
    Error::BadDirectory {
        system: system.name.clone(),
        setting: format!("database.{name}{by}"),
        directory: directory.to_owned(),
        why,
    }
}
