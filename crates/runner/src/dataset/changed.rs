//! Data sets that workloads have changed since the load.
//!
//! Writes age a database: a later point does not start from what was loaded. With
//! `update = "replace"`, as in YCSB, Aerospike even keeps only what the last update of a record
//! wrote, so reads shrink from all fields to one. The marker records either before the first such
//! request is sent.

use super::{Dataset, Store, marker, marker::Marker};
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

    /// Whether a workload has written to it since it was loaded or restored, or none can tell.
    ///
    /// # Errors
    /// As [`Self::state`].
    pub fn is_changed(&self) -> Result<bool, Error> {
        Ok(!self.is_kept() || self.read()?.0.is_some_and(|marker| marker.changed))
    }

    /// Whether earlier updates have reshaped the records of the open database. If this workload
    /// changes them, the marker says so from now on.
    ///
    /// # Errors
    /// If the marker cannot be read or written.
    pub fn note_changes(
        &self,
        database: &dyn Database,
        workload: &Workload,
        writes_all_fields: bool,
    ) -> Result<bool, Error> {
        // Adopted data has no marker and gets none.
        if self.adopts {
            return Ok(false);
        }
        let text = match &self.store {
            Store::File(path) => marker::read_file(path)?,
            _ => database.marker()?,
        };
        let Some(text) = text else {
            return Ok(false);
        };
        let before = Marker::parse(&text, &self.store.name(&self.params.location))?;
        let cuts_down =
            self.store == Store::Server && self.is_cut_down_by(workload, writes_all_fields);
        let mut after = before.clone();
        after.reshaped |= cuts_down;
        after.changed |= workload.writes();
        if after != before {
            match &self.store {
                // On a full disk, too: the point then counts its failures.
                Store::File(path) => marker::write_over(path, &after.text())?,
                _ => database.set_marker(&after.text())?,
            }
        }
        Ok(before.reshaped)
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
