//! Data sets whose records updates have changed in shape since the load.
//!
//! With `update = "replace"`, as in YCSB, Aerospike keeps only what the last update of a record
//! wrote, so reads shrink from all fields to one. Later points measure a different data set. The
//! marker records this before the first such update is sent.

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

    /// The same for the open database. If this workload changes the records, the marker says so
    /// from now on.
    ///
    /// # Errors
    /// If the marker cannot be read or written.
    pub fn note_reshaping(
        &self,
        database: &dyn Database,
        workload: &Workload,
        writes_all_fields: bool,
    ) -> Result<bool, Error> {
        // Adopted data has no marker and gets none.
        if self.store != Store::Server || self.adopts {
            return Ok(false);
        }
        let Some(text) = database.marker()? else {
            return Ok(false);
        };
        let mut marker = Marker::parse(&text, &self.store.name(&self.params.location))?;
        let was_reshaped = marker.reshaped;
        if self.is_cut_down_by(workload, writes_all_fields) && !was_reshaped {
            marker.reshaped = true;
            database.set_marker(&marker.text())?;
        }
        Ok(was_reshaped)
    }

    /// Whether updates of a workload leave records with fewer fields than were loaded.
    fn is_cut_down_by(&self, workload: &Workload, writes_all_fields: bool) -> bool {
        (self.system.driver.reshapes)(&self.params.settings)
            && !writes_all_fields
            && self.params.data.schema.fields.len() > 1
            && workload.kinds().contains(&OperationKind::Update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    #[test]
    fn updates_that_replace_records_by_some_of_their_fields_cut_them_down() {
        let cut_down = |settings: &str, fields: u32, workload: &str, writes_all: bool| {
            let text = format!(
                "[database]\ndriver = 'aerospike'\n{settings}\n[dataset]\nfields = {fields}\n\
                 [[system]]\nname = 'a'\ncontact_points = '127.0.0.1:3000'"
            );
            let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
            let plan = plan.unwrap();
            let dataset = Dataset::new(&plan, &plan.systems[0]);
            let workload = tailmark_workload::find(workload).unwrap();
            dataset.is_cut_down_by(&workload, writes_all)
        };
        let replace = "update = 'replace'\nsemantics = 'faithful'";
        assert!(cut_down(replace, 4, "ycsb-a", false));
        assert!(
            cut_down(replace, 4, "ycsb-f", false),
            "the update of a pair"
        );
        for (settings, fields, workload, writes_all) in [
            ("update = 'merge'", 4, "ycsb-a", false),
            (replace, 1, "ycsb-a", false),
            (replace, 4, "ycsb-c", false),
            (replace, 4, "ycsb-a", true),
        ] {
            let found = cut_down(settings, fields, workload, writes_all);
            assert!(!found, "{settings} {fields} {workload} {writes_all}");
        }
    }
}
