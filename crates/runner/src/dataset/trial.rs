//! The trial: a database that is made next to the data and removed again, so that what is wrong with
//! a place or with settings shows before anything is measured.
//!
//! Its directory has a mark before it has a database. So what a killed run left there is told from what
//! another program keeps under that name, which is never removed.

use super::{Dataset, Error, holds_something, marker::failed, wal};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tailmark_driver::{Access, Driver, Location, Params};
use tailmark_plan::SystemPlan;
use tailmark_results::owner::create_dir;

/// A file in the directory of a trial.
const MARK: &str = "made-by-tailmark";

/// The place of the database in it.
const DATA: &str = "data";

/// The directory of the trial of the data at `data`.
fn directory(data: &Path) -> PathBuf {
    data.with_extension("tailmark-trial")
}

/// The directory of the trial that a killed run left next to this data, if there is one.
pub(super) fn left_directory(data: &Path) -> Option<PathBuf> {
    let directory = directory(data);
    let is_own = is_real(&directory) && directory.join(MARK).is_file();
    is_own.then_some(directory)
}

/// The trial that a killed run left next to this data, if there is one.
pub(super) fn left(params: &Params) -> Option<Trial> {
    let directory = left_directory(params.location.path()?)?;
    Some(Trial::new(directory, params))
}

fn is_real(directory: &Path) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir())
}

/// A directory with the mark, and the database in it.
pub(super) struct Trial {
    directory: PathBuf,
    params: Params,
}

impl Trial {
    fn new(directory: PathBuf, params: &Params) -> Self {
        let params = Params {
            location: Location::Directory(directory.join(DATA)),
            access: Access::Create,
            ..params.clone()
        };
        Self { directory, params }
    }

    /// Makes the directory, or takes what a killed run left of one.
    ///
    /// # Errors
    /// If another program keeps something there, or nothing can be made.
    fn claim(directory: PathBuf, params: &Params, system: &SystemPlan) -> Result<Self, Error> {
        wal::refuse_link(system, &directory)?;
        let mark = directory.join(MARK);
        if !is_real(&directory) {
            create_dir(&directory).map_err(failed("make", &directory))?;
        } else if holds_something(&directory) && !mark.is_file() {
            return Err(Error::ForeignData {
                system: system.name.clone(),
                found: format!("`{}`", directory.display()),
                why: format!("it has no file `{MARK}`"),
                other: "path",
            });
        }
        fs::write(&mark, "").map_err(failed("write", &mark))?;
        Ok(Self::new(directory, params))
    }

    /// Whether it can be removed.
    ///
    /// # Errors
    /// If something else than the database of a trial is in it.
    pub fn check_removal(&self, driver: &Driver) -> Result<(), Error> {
        Ok((driver.check_destroy)(&self.params)?)
    }

    /// Removes the database, the mark and the directory; what else is in it stays, and so does that.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn remove(&self, driver: &Driver) -> Result<(), Error> {
        (driver.destroy)(&self.params)?;
        let mark = self.directory.join(MARK);
        fs::remove_file(&mark).map_err(failed("remove", &mark))?;
        fs::remove_dir(&self.directory).map_err(failed("remove", &self.directory))
    }
}

impl Dataset<'_> {
    /// Makes a database next to the place of this one, and removes it. In that place itself a load may
    /// have left something, which it could open.
    pub(super) fn make_trial(&self) -> Result<(), Error> {
        if holds_something(self.path()) {
            return Ok(());
        }
        let directory = directory(self.path());
        let params = Params {
            settings: wal::inside(self.system, &directory.join(DATA)),
            ..self.params.clone()
        };
        let trial = Trial::claim(directory, &params, self.system)?;
        let driver = self.system.driver;
        // One may be left of a run that was killed.
        (driver.destroy)(&trial.params)?;
        let made = (driver.open)(&trial.params).map(drop);
        let removed = trial.remove(driver);
        made?;
        removed
    }
}
