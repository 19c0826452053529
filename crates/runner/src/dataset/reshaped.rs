//! Data sets whose records updates have changed in shape since the load.
//!
//! With `update = "replace"`, which is YCSB's way, Aerospike keeps of a record what the last update
//! wrote: reads shrink from all fields to one. What is measured after that is another data set, so
//! the marker says it before the first such update is sent.

use super::{Dataset, Store, marker::Marker};
use crate::Error;
use tailmark_driver::{Database, OperationKind};
use tailmark_workload::Workload;

impl Dataset<'_> {
    /// Whether the records are no longer of the shape that was loaded.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn is_reshaped(&self) -> Result<bool, Error> {
        Ok(self.store == Store::Server && self.read()?.0.is_some_and(|marker| marker.reshaped))
    }

    /// The same, asked of the open database; from now on they are not, if this workload changes that.
    ///
    /// # Errors
    /// Where the marker cannot be read or written.
    pub fn note_reshaping(
        &self,
        database: &dyn Database,
        workload: &Workload,
        writes_all_fields: bool,
    ) -> Result<bool, Error> {
        if self.store != Store::Server {
            return Ok(false);
        }
        let Some(text) = database.marker()? else {
            return Ok(false);
        };
        let mut marker = Marker::parse(&text, &self.store.name(&self.params.location))?;
        let was_reshaped = marker.reshaped;
        let kinds = workload.kinds();
        let reshapes = (self.system.driver.reshapes)(&self.params.settings)
            && !writes_all_fields
            && self.params.data.schema.fields.len() > 1
            && kinds.contains(&OperationKind::Update);
        if reshapes && !was_reshaped {
            marker.reshaped = true;
            database.set_marker(&marker.text())?;
        }
        Ok(was_reshaped)
    }
}
