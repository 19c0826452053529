//! Opens, creates and removes a data set.

use super::{Dataset, State, Store, holds_something, identity, marker, marker::failed, wal};
use crate::{Error, claimed::check_writable};
use std::path::Path;
use tailmark_driver::{Access, Database, Driver, Made, Params};

impl Dataset<'_> {
    /// Opens the database and closes it again, so that problems with its place or settings show
    /// before anything is measured. If the data set has not been started, nothing is left, removed
    /// or overwritten. A database in a directory is created under another name and removed.
    ///
    /// # Errors
    /// If it cannot be opened, or something else is in its place.
    pub fn try_open(&self) -> Result<(), Error> {
        let state = self.state()?;
        self.refuse_reload()?;
        self.check_start()?;
        match (state, &self.store) {
            (State::Empty, Store::File(_)) => self.check_open().and_then(|()| self.make_trial()),
            // It was already asked what it holds.
            (State::Empty, Store::Server) => Ok(()),
            (State::Empty, Store::Device) => self.open_to_read().map(drop),
            (State::Empty, _) => self.make().map(drop),
            _ => self.open().map(drop),
        }
    }

    /// Checks what [`Self::try_open`] checks, without writing, creating or removing anything.
    ///
    /// # Errors
    /// As [`Self::try_open`].
    pub fn check_open(&self) -> Result<(), Error> {
        let state = self.state()?;
        self.refuse_reload()?;
        self.check_start()?;
        let Driver {
            check_open,
            check_destroy,
            ..
        } = self.system.driver;
        if matches!(self.store, Store::File(_)) && self.is_written() {
            check_writable(self.path()).map_err(failed("write", self.path()))?;
        }
        match (state, &self.store) {
            (State::Empty, Store::File(_)) if holds_something(self.path()) => {
                Ok(check_destroy(&self.params)?)
            }
            (State::Empty, Store::File(_)) => {
                let trial = self.check_trial()?;
                // The run creates missing directories of the log.
                let mut directories = wal::directories(self.system);
                let is_there = directories.all(|(_, directory)| directory.exists());
                let base = if is_there {
                    &self.params
                } else {
                    trial.params()
                };
                let params = Params {
                    access: Access::CreateNew,
                    ..base.clone()
                };
                Ok(check_open(&params)?)
            }
            (State::Empty, Store::Server) => Ok(()),
            (_, Store::File(_)) => Ok(check_open(&self.params)?),
            (_, Store::Device) => self.open_to_read().map(drop),
            _ => self.open().map(drop),
        }
    }

    /// Creates the tables of a server before the load, to verify that it accepts writes.
    ///
    /// # Errors
    /// As [`Self::state`], and if the server refuses.
    pub fn try_make(&self) -> Result<(), Error> {
        match self.state()? {
            State::Loaded | State::Adopted => Ok(()),
            _ => Ok(self.make()?.is_empty().map(drop)?),
        }
    }

    /// Opens a device without a stamp, to which nothing may be written.
    fn open_to_read(&self) -> Result<Box<dyn Database>, Error> {
        let params = Params {
            access: Access::Read,
            ..self.params.clone()
        };
        Ok((self.system.driver.open)(&params)?)
    }

    /// Replaces the existing data by an empty database, for a workload that fills it.
    ///
    /// # Errors
    /// As [`Self::remove`], and if it cannot be opened.
    pub fn start_empty(&self) -> Result<(), Error> {
        self.remove()?;
        self.make().map(drop)
    }

    /// Opens the database, creating it if it does not exist.
    pub(super) fn make(&self) -> Result<Box<dyn Database>, Error> {
        self.refuse_to_change_adopted()?;
        let is_server = self.store == Store::Server;
        let looked = is_server.then(|| self.look_at_server()).transpose()?;
        let is_nothing = looked.as_ref().is_some_and(|look| look.is_nothing);
        if is_server && !is_nothing {
            // Another run may have begun to create it meanwhile.
            self.state()?;
        }
        if matches!(self.store, Store::File(_)) {
            self.refuse_replaced()?;
        }
        let is_new = self.forget_database()?;
        let params = Params {
            access: if is_nothing || is_new {
                Access::CreateNew
            } else {
                Access::Create
            },
            ..self.params.clone()
        };
        let is_missing = matches!(self.store, Store::File(_)) && !self.path().exists();
        let database = (self.system.driver.open)(&params)?;
        if is_missing && self.path().is_dir() {
            self.add_made(Made::Directory(self.path().to_owned()));
        }
        if is_new {
            self.name_database()?;
        }
        if let Some(looked) = looked {
            self.refuse_another_table(&looked, &*database)?;
        }
        database
            .made()
            .into_iter()
            .for_each(|made| self.add_made(made));
        Ok(database)
    }

    /// Removes the data set, so that it is loaded again.
    ///
    /// # Errors
    /// If it cannot be removed, or something else is in its place.
    pub fn remove(&self) -> Result<(), Error> {
        match self.state()? {
            // A simulation may have a state.
            _ if !self.is_kept() => Ok((self.system.driver.destroy)(&self.params, &|_| Ok(()))?),
            State::Adopted => Err(self.foreign(None)),
            _ => self.refuse_to_change_adopted().and_then(|()| self.empty()),
        }
    }

    /// Removes the existing data. The marker says so first, until something is loaded. So if the
    /// run is killed meanwhile, the next one removes the rest.
    pub(super) fn empty(&self) -> Result<(), Error> {
        (self.system.driver.check_destroy)(&self.params)?;
        let before = self.read()?.0;
        if let (Store::File(_), Some(marker)) = (&self.store, &before)
            && let Some(why) = identity::difference(self.system.driver, self.path(), marker)?
        {
            return Err(self.foreign(Some(why)));
        }
        // A full disk may not allow to write it again.
        if before
            .as_ref()
            .is_none_or(|marker| !marker.promises_nothing())
        {
            self.write(None, &self.started()?, 0, false)?;
        }
        if self.store == Store::Server && self.look_at_server()?.is_empty {
            return Ok(());
        }
        let confirm = |data: &Path| match &before {
            Some(marker) => identity::confirm(self.system.driver, data, marker),
            None => identity::refuse_records(self.system.driver, data),
        };
        let destroyed = (self.system.driver.destroy)(&self.params, &confirm);
        if let (Err(tailmark_driver::Error::Locked { .. }), Some(before), Store::File(path)) =
            (&destroyed, before, &self.store)
        {
            // Another program has it open. Nothing was removed.
            marker::write_file(path, &before.text())?;
        }
        Ok(destroyed?)
    }

    /// Opens the database.
    ///
    /// # Errors
    /// If it cannot be opened, or if that would lock out the version of the database that wrote
    /// adopted data.
    pub fn open(&self) -> Result<Box<dyn Database>, Error> {
        // Adopted data without a stamp must not be written.
        if self.store == Store::Device && self.adopts && self.look()?.text.is_none() {
            return self.open_to_read();
        }
        self.refuse_replaced()?;
        let database = (self.system.driver.open)(&self.params)?;
        self.refuse_another_server(&*database)?;
        Ok(database)
    }
}
