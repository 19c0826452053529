//! The trial: a database that is created next to the data and removed again, so that problems with
//! a place or settings show before anything is measured.
//!
//! Its directory has a mark before it has a database, which never gets a record. So the rest of a
//! killed run can be told from another program's data under that name, which is never removed. A
//! run that is killed before the mark leaves an empty directory.

use super::{
    Dataset, Error, holds_something,
    identity::refuse_records,
    marker::{failed, read_file_itself},
    wal,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use tailmark_driver::{Access, Driver, Location, Params};
use tailmark_plan::SystemPlan;
use tailmark_study::create_dir_with;

/// A file in the directory of a trial.
pub(super) const MARK: &str = "made-by-tailmark";

/// The place of the database in it.
pub(super) const DATA: &str = "data";

/// The content of the mark.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The id of the study that the trial is for.
    trial_of_study: String,
    /// Whether tailmark made the directory.
    made: bool,
}

/// The directory of the trial of the data at `data`.
fn directory(data: &Path) -> PathBuf {
    data.with_extension("tailmark-trial")
}

/// The directory of the trial that a killed run of this study left next to this data, if there is one.
pub(super) fn left_directory(driver: &Driver, data: &Path, study: &str) -> Option<PathBuf> {
    let directory = directory(data);
    if is_empty(&directory) {
        return Some(directory);
    }
    let mark = mark_of(driver, &directory)?;
    (mark.trial_of_study == study && mark.made).then_some(directory)
}

/// The trial that a killed run of this study left next to this data, if there is one.
pub(super) fn left(driver: &Driver, params: &Params, study: &str) -> Option<Trial> {
    let directory = left_directory(driver, params.location.path()?, study)?;
    Some(Trial::new(directory, true, params))
}

pub(super) fn is_real(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir())
}

/// The mark of a directory that holds nothing but a trial: a database to which no record was written.
fn mark_of(driver: &Driver, directory: &Path) -> Option<Mark> {
    if !is_real(directory) {
        return None;
    }
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let is_only = entries.all(|entry| entry.file_name() == MARK || entry.file_name() == DATA);
    let data = (driver.identity)(&directory.join(DATA)).ok()?;
    let is_new = data.is_none_or(|data| data.is_new);
    let mark = read_file_itself(&directory.join(MARK)).filter(|_| is_only && is_new)?;
    serde_json::from_str(&mark).ok()
}

/// A directory with the mark, and the database in it.
pub(super) struct Trial {
    directory: PathBuf,
    /// Whether tailmark made the directory.
    made: bool,
    params: Params,
}

impl Trial {
    fn new(directory: PathBuf, made: bool, params: &Params) -> Self {
        let params = Params {
            location: Location::Directory(directory.join(DATA)),
            access: Access::Create,
            ..params.clone()
        };
        Self {
            directory,
            made,
            params,
        }
    }

    /// The trial in a directory that is missing, empty, or the rest of a killed run's trial.
    ///
    /// # Errors
    /// If another program keeps something there.
    fn look(directory: PathBuf, params: &Params, system: &SystemPlan) -> Result<Self, Error> {
        wal::refuse_link(system, &directory)?;
        let left = mark_of(system.driver, &directory);
        let made = left.as_ref().is_none_or(|left| left.made);
        let is_there = fs::symlink_metadata(&directory).is_ok();
        if is_there && left.is_none() && !is_empty(&directory) {
            let why = format!(
                "tailmark tries databases in `{}`, which exists without a `{MARK}` of a trial \
                 and is left alone; rename it, or give another path",
                directory.display()
            );
            let place = system.location.path().unwrap_or(&directory);
            return Err(wal::refuse(system, "path", place, why));
        }
        let trial = Self::new(directory, made, params);
        trial.check_removal(system.driver)?;
        Ok(trial)
    }

    /// Creates the directory with its mark.
    ///
    /// # Errors
    /// If something cannot be created.
    fn claim(self) -> Result<Self, Error> {
        let text = serde_json::to_string(&Mark {
            trial_of_study: self.params.study.clone(),
            made: self.made,
        });
        let text = text.expect("a mark is plain data");
        let place = &self.directory;
        create_dir_with(place, MARK, text.as_bytes()).map_err(failed("make", place))?;
        Ok(self)
    }

    /// The parameters of its database, which keeps everything in one directory.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Whether it can be removed.
    ///
    /// # Errors
    /// If something else than the database of a trial is in it.
    pub fn check_removal(&self, driver: &Driver) -> Result<(), Error> {
        Ok((driver.check_destroy)(&self.params)?)
    }

    /// Removes the database, the mark and the directory.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn remove(&self, driver: &Driver) -> Result<(), Error> {
        (driver.destroy)(&self.params, &|data| refuse_records(driver, data))?;
        let data = self.directory.join(DATA);
        match fs::remove_dir(&data) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(failed("remove", &data))?,
        }
        let mark = self.directory.join(MARK);
        match fs::remove_file(&mark) {
            // The run was killed before it wrote one.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(failed("remove", &mark))?,
        }
        if !self.made {
            return Ok(());
        }
        match fs::remove_dir(&self.directory) {
            // A file system is mounted there.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => Ok(()),
            removed => removed.map_err(failed("remove", &self.directory)),
        }
    }
}

pub(super) fn is_empty(directory: &Path) -> bool {
    is_real(directory) && !holds_something(directory)
}

impl Dataset<'_> {
    /// Makes a database next to the place of this one, and removes it. In that place itself a load may
    /// have left something, which it could open.
    pub(super) fn make_trial(&self) -> Result<(), Error> {
        if holds_something(self.path()) {
            return Ok(());
        }
        let trial = self.check_trial()?.claim()?;
        let driver = self.system.driver;
        // A killed run may have left one.
        (driver.destroy)(&trial.params, &|data| refuse_records(driver, data))?;
        let made = (driver.open)(&trial.params).map(drop);
        let removed = trial.remove(driver);
        made?;
        removed
    }

    /// The trial, if nothing is in its way. Changes nothing.
    pub(super) fn check_trial(&self) -> Result<Trial, Error> {
        let directory = directory(self.path());
        let params = Params {
            settings: wal::inside(self.system, &directory.join(DATA)),
            ..self.params.clone()
        };
        Trial::look(directory, &params, self.system)
    }
}
