//! A data set on a server: what the server holds, and whose the table is.

use super::{Dataset, Store};
use crate::Error;
use tailmark_driver::{Database, Look};
use tailmark_plan::{Adopt, Reload};

impl Dataset<'_> {
    /// What a server holds of it; nothing is changed there.
    pub(crate) fn look_at_server(&self) -> Result<Look, Error> {
        let look = self.system.driver.look;
        Ok(look.map_or_else(|| Ok(Look::default()), |look| (look.at)(&self.params))?)
    }

    /// Whether a load would create everything on its server.
    pub fn begins_on_server(&self) -> bool {
        let look = self.look_at_server();
        self.store == Store::Server && look.is_ok_and(|l| !l.exists && l.foreign.is_none())
    }

    /// What it is loaded into, if that was there before: no record is removed from it.
    pub(super) fn kept_records(&self) -> Result<Option<String>, Error> {
        if self.store != Store::Server || self.system.driver.look.is_none() {
            return Ok(None);
        }
        let look = self.look_at_server()?;
        Ok(look.removes.is_none().then_some(look.name))
    }

    /// Refuses a plan that would remove records where other programs may keep their own.
    pub(super) fn refuse_reload(&self) -> Result<(), Error> {
        let sweep = &self.plan.sweep;
        let reloads = match sweep.reload {
            Reload::Never => false,
            Reload::Repeat => sweep.repeats > 1,
            Reload::Workload | Reload::Point => true,
        };
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

    /// Refuses a table that another program put in the place of the one that is loaded.
    pub(super) fn refuse_replaced_table(&self, database: &dyn Database) -> Result<(), Error> {
        if self.store == Store::Server && matches!(database.marker(), Ok(None)) {
            let why = "another program dropped the table, or created it again, while it was loaded";
            return Err(self.foreign(Some(why.to_owned())));
        }
        Ok(())
    }
}
