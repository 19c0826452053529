//! Whether the data in a place is exactly the data set that its marker describes.
//!
//! The marker names the database. Before the database is created it names none, and a load that is
//! killed then leaves no record. So no database of another program is taken for the data set, and
//! none that holds anything.

use super::{Dataset, Store, failed, holds_something, marker, wal};
use crate::{Error, error::in_one_line};
use marker::Marker;
use std::{fs, io, os::unix::fs::MetadataExt, path::Path, sync::PoisonError};
use tailmark_driver::{Driver, Identity};
use tailmark_plan::SystemPlan;

/// The identity of the adopted data. Nothing is written to record it, so it is known only during
/// the run.
#[derive(Debug)]
pub(super) struct Adopted {
    /// The name of the database, or of a table on a server, if it has one.
    id: Option<String>,
    /// Device and inode of its file or directory; `None` on a server.
    file: Option<(u64, u64)>,
}

impl Adopted {
    /// Whether a server names its table so, if it names tables.
    pub(super) fn is_id(&self, id: Option<&str>) -> bool {
        id.is_none() || self.id.as_deref() == id
    }

    /// Why this is not the data that was adopted `before`; `None` if it is.
    fn difference(&self, before: &Self) -> Option<String> {
        match (&before.id, &self.id) {
            (Some(before), Some(now)) if before == now => None,
            (Some(before), Some(now)) => {
                Some(format!("its identity was `{before}`, but is now `{now}`"))
            }
            (Some(before), None) => {
                Some(format!("its identity was `{before}`, but now it has none"))
            }
            // RocksDB gives a name to a database without one when it opens it to write.
            (None, _) if self.file == before.file => None,
            (None, _) => Some("it is another file or directory".to_owned()),
        }
    }
}

/// Why the data at `data` does not match the marker beside it; `None` if it does, or if there is
/// nothing.
pub(super) fn difference(
    driver: &Driver,
    data: &Path,
    marker: &Marker,
) -> Result<Option<String>, Error> {
    let Some(found) = (driver.identity)(data).map_err(failed("read", data))? else {
        return Ok(None);
    };
    let is = || match &found.id {
        Some(id) => format!("its identity is `{id}`"),
        None => "it has no identity".to_owned(),
    };
    Ok(match &marker.identity {
        Some(own) if found.id.as_ref() == Some(own) => (!found.is_confirmed).then(|| {
            "it has the identity of the database that tailmark created, but another \
                      program has written to it"
                .to_owned()
        }),
        None if found.is_new && marker.promises_nothing() => None,
        Some(own) => Some(format!("{}, but tailmark created `{own}`", is())),
        None => Some(format!("{}, but the marker next to it names none", is())),
    })
}

/// Refuses to remove data other than what the marker describes.
pub(super) fn confirm(driver: &Driver, data: &Path, marker: &Marker) -> Result<(), String> {
    match difference(driver, data, marker) {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(format!("the data there is foreign: {why}")),
        Err(error) => Err(in_one_line(&error)),
    }
}

/// Refuses to remove a copy of other data than what the marker describes. One that was cut short
/// may lack its name.
pub(super) fn confirm_copy(driver: &Driver, copy: &Path, marker: &Marker) -> Result<(), String> {
    match (driver.identity)(copy) {
        Ok(Some(found)) if found.id.is_none() && found.is_new => Ok(()),
        _ => confirm(driver, copy, marker),
    }
}

/// Refuses to remove a database with a record.
pub(super) fn refuse_records(driver: &Driver, data: &Path) -> Result<(), String> {
    match (driver.identity)(data) {
        Ok(found) if found.as_ref().is_none_or(|found| found.is_new) => Ok(()),
        Ok(_) => Err("the data there is foreign: it has records".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether the data has no marker that is about it.
pub(super) fn is_foreign(system: &SystemPlan, store: &Store, data: &Path) -> bool {
    let Store::File(path) = store else {
        return false;
    };
    let marker = marker::read_file(path).ok().flatten();
    let Some(marker) = marker.and_then(|text| Marker::parse(&text, "marker").ok()) else {
        return !path.exists();
    };
    difference(system.driver, data, &marker).is_ok_and(|why| why.is_some())
}

impl Dataset<'_> {
    /// Why the existing data does not match a marker beside it.
    pub(super) fn difference(&self, marker: &Marker) -> Result<Option<String>, Error> {
        match self.store {
            Store::File(_) => difference(self.system.driver, self.path(), marker),
            _ => Ok(None),
        }
    }

    /// Refuses what another program put in the place since it was looked at: a database without our
    /// marker, or another one than it names.
    pub(super) fn refuse_replaced(&self) -> Result<(), Error> {
        if self.adopts {
            return self.refuse_another_adopted();
        }
        let text = match &self.store {
            Store::File(path) => {
                wal::refuse_link(self.system, self.path())?;
                marker::read_file(path)?
            }
            Store::Device => self.look()?.text,
            Store::Nowhere | Store::Server => return Ok(()),
        };
        let Some(text) = text else {
            let is_there = self.store == Store::Device || holds_something(self.path());
            return if is_there {
                Err(self.foreign(None))
            } else {
                Ok(())
            };
        };
        let marker = Marker::parse(&text, &self.store.name(&self.params.location))?;
        if let Some(why) = self.difference(&marker)? {
            return Err(self.foreign(Some(why)));
        }
        self.refuse_another_load(marker)
    }

    /// Refuses a data set that another study loaded, if it replaced the one that this run saw
    /// there.
    fn refuse_another_load(&self, marker: Marker) -> Result<(), Error> {
        let found = (marker.study, marker.started);
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        let before = load.get_or_insert_with(|| found.clone());
        if *before == found {
            return Ok(());
        }
        let of =
            |(study, started): &(String, String)| format!("study `{study}` began at {started}");
        let why = format!(
            "the load that {} wrote it, but this run used the load that {}",
            of(&found),
            of(before)
        );
        Err(self.foreign(Some(why)))
    }

    /// Keeps which data is adopted.
    pub(super) fn note_adopted(&self) -> Result<(), Error> {
        if let Some(found) = self.found_to_adopt()? {
            let _ = self.adopted.set(found);
        }
        Ok(())
    }

    /// Refuses data that took the place of what this run adopted.
    pub(super) fn refuse_another_adopted(&self) -> Result<(), Error> {
        let Some(before) = self.adopted.get() else {
            return Ok(());
        };
        let why = match self.found_to_adopt()? {
            Some(found) => found.difference(before),
            None => Some("it no longer exists".to_owned()),
        };
        why.map_or(Ok(()), |why| {
            Err(Error::AdoptedReplaced {
                system: self.system.name.clone(),
                place: self.params.location.clone(),
                why,
            })
        })
    }

    fn found_to_adopt(&self) -> Result<Option<Adopted>, Error> {
        if self.store == Store::Server {
            let look = self.look_at_server()?;
            let found = Adopted {
                id: look.id,
                file: None,
            };
            return Ok(look.exists.then_some(found));
        }
        if !matches!(self.store, Store::File(_)) {
            return Ok(None);
        }
        let found = self.found()?;
        let Some(found) = found else { return Ok(None) };
        let path = self.path();
        let file = fs::metadata(path).map_err(failed("read", path))?;
        Ok(Some(Adopted {
            id: found.id,
            file: Some((file.dev(), file.ino())),
        }))
    }

    /// Data of another program; `why` it is known as that, if it has a marker beside it.
    pub(super) fn foreign(&self, why: Option<String>) -> Error {
        let place = &self.params.location;
        let (found, unmarked, other) = match &self.store {
            Store::Server => (
                format!(
                    "the data in table `{}` at `{place}`",
                    self.system.data.schema.table
                ),
                "the server has no marker for it".to_owned(),
                "`keyspace`, `set`, `database` or `contact_points`",
            ),
            Store::Device => (
                format!("`{place}`"),
                "it has no stamp of tailmark".to_owned(),
                "`path`",
            ),
            store => {
                let name = store.name(&self.params.location);
                (
                    format!("`{place}`"),
                    format!("there is no {name}"),
                    "`path`",
                )
            }
        };
        Error::ForeignData {
            system: self.system.name.clone(),
            found,
            why: why.unwrap_or(unmarked),
            other,
        }
    }

    /// Removes the database's name from the marker if there is no database. Returns whether that is
    /// so.
    pub(super) fn forget_database(&self) -> Result<bool, Error> {
        let is_gone = matches!(self.store, Store::File(_)) && self.found()?.is_none();
        if is_gone {
            self.set_identity(None)?;
        }
        Ok(is_gone)
    }

    /// Has the marker name the database that was just made.
    pub(super) fn name_database(&self) -> Result<(), Error> {
        let id = self.found()?.and_then(|found| found.id);
        if id.is_none() {
            let why = "it has no identity that distinguishes it from other databases";
            return Err(failed("use", self.path())(io::Error::other(why)));
        }
        self.set_identity(id)
    }

    fn found(&self) -> Result<Option<Identity>, Error> {
        let data = self.path();
        (self.system.driver.identity)(data).map_err(failed("read", data))
    }

    fn set_identity(&self, identity: Option<String>) -> Result<(), Error> {
        let Store::File(path) = &self.store else {
            return Ok(());
        };
        let name = self.store.name(&self.params.location);
        let Some(text) = marker::read_file(path)? else {
            return Ok(());
        };
        let mut marker = Marker::parse(&text, &name)?;
        if marker.identity == identity {
            return Ok(());
        }
        marker.identity = identity;
        marker::write_file(path, &marker.text())
    }
}
