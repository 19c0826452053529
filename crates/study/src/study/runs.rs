//! The numbers of every point, for comparisons.

use super::Study;
use crate::Error;
use tailmark_model::Header;
use tailmark_stats::{Run, comparison::RunsRead};

impl Study {
    /// The numbers of every point of a study with this header. Points are read one after the other,
    /// so that their histograms are never in memory together.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn runs(&self, header: &Header) -> Result<Vec<Run>, Error> {
        let (mut runs, mut read) = (Vec::new(), RunsRead::default());
        self.each_point_total(|point| {
            if read.is_new(&point) {
                runs.push(Run::from_point(&point, header.settings.rules));
            }
        })?;
        Ok(runs)
    }
}
