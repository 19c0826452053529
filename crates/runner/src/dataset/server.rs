//! A data set on a server: its content, and the owner of the table.

use super::{Dataset, Store};
use crate::Error;
use tailmark_driver::{Database, ServerContents};
use tailmark_plan::{Adopt, Restore, RestoreBefore};

/// Why an open table is foreign that was not before.
const ANOTHER: &str = "it is not the table that tailmark found before; another program dropped it, \
     or the address now leads to another server";

impl Dataset<'_> {
    /// What a server holds of it. Changes nothing.
    pub(crate) fn look_at_server(&self) -> Result<ServerContents, Error> {
        let look = self.system.driver.look;
        Ok(look.map_or_else(
            || Ok(ServerContents::default()),
            |look| (look.at)(&self.params),
        )?)
    }

    /// Whether a load would create everything on its server.
    pub fn begins_on_server(&self) -> bool {
        let look = self.look_at_server();
        self.store == Store::Server && look.is_ok_and(|l| !l.exists && l.foreign.is_none())
    }

    /// The existing container that it is loaded into. No record is removed from that.
    pub(super) fn kept_records(&self) -> Result<Option<String>, Error> {
        if self.store != Store::Server || self.system.driver.look.is_none() {
            return Ok(None);
        }
        let look = self.look_at_server()?;
        Ok(look.removes.is_none().then_some(look.name))
    }

    /// Refuses a plan that would remove records where other programs may keep their own.
    pub(super) fn refuse_reload(&self) -> Result<(), Error> {
        let (sweep, before) = (&self.plan.sweep, self.plan.dataset.restore.before);
        let is_once = before == RestoreBefore::Repeat && sweep.repeats == 1;
        let reloads = matches!(self.restore(), Restore::Reload | Restore::Snapshot) && !is_once;
        let mut workloads = sweep.workloads.iter();
        if self.plan.dataset.adopt != Adopt::No
            || !(reloads || workloads.any(|workload| workload.starts_empty()))
        {
            return Ok(());
        }
        match self.kept_records()? {
            None => Ok(()),
            Some(place) => Err(Error::KeptRecords {
                system: self.system.name.clone(),
                location: self.params.location.clone(),
                place,
            }),
        }
    }

    /// Refuses an open table that is not the one that was examined. In the meantime the address may
    /// have come to lead to another server.
    pub(super) fn refuse_another_table(
        &self,
        looked: &ServerContents,
        database: &dyn Database,
    ) -> Result<(), Error> {
        let is_same = if looked.exists {
            database.id() == looked.id
        } else {
            database.id().is_none() || (!database.made().is_empty() && database.is_empty()?)
        };
        if is_same {
            return Ok(());
        }
        Err(self.foreign(Some(ANOTHER.to_owned())))
    }

    /// The same of a data set that is loaded or adopted.
    pub(super) fn refuse_another_server(&self, database: &dyn Database) -> Result<(), Error> {
        if self.store != Store::Server {
            return Ok(());
        }
        let is_same = if self.adopts {
            let adopted = self.adopted.get();
            adopted.is_none_or(|adopted| adopted.is_id(database.id().as_deref()))
        } else {
            database.marker()?.is_some()
        };
        if is_same {
            return Ok(());
        }
        Err(self.foreign(Some(ANOTHER.to_owned())))
    }

    /// Refuses a table with which another program replaced the one that was `loaded` or `measured`,
    /// if the server shows it. Adopted data has no marker.
    pub(crate) fn refuse_replaced_table(
        &self,
        database: &dyn Database,
        what: &str,
    ) -> Result<(), Error> {
        let is_marked = self.store == Store::Server && !self.adopts;
        if is_marked && matches!(database.marker(), Ok(None)) {
            let why = format!("another program dropped or recreated the table while it was {what}");
            return Err(self.foreign(Some(why)));
        }
        Ok(())
    }
}
