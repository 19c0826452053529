//! Loads and points read one after the other, for what does not fit into memory together.

use super::{Detail, Study, read};
use crate::{Error, Load, Point};

impl Study {
    /// Reads one point after the other without intervals and series, and hands it over.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn each_point_total(&self, act: impl FnMut(Point)) -> Result<(), Error> {
        self.read(|c| read::each_point(c, Detail::Totals, act))
    }

    /// Reads one load after the other with intervals and series, and hands it over. Each is a
    /// transaction of its own: a run that goes on does not wait for `act` with its commits.
    ///
    /// # Errors
    /// As [`Study::header`], and that of `act`.
    pub fn each_load(&self, mut act: impl FnMut(Load) -> Result<(), Error>) -> Result<(), Error> {
        let mut last = i64::MIN;
        while let Some((phase, load)) = self.read(|c| read::load_after(c, last))? {
            act(load)?;
            last = phase;
        }
        Ok(())
    }

    /// Reads one point after the other with intervals and series, as [`Study::each_load`] does.
    ///
    /// # Errors
    /// As [`Study::header`], and that of `act`.
    pub fn each_point(&self, mut act: impl FnMut(Point) -> Result<(), Error>) -> Result<(), Error> {
        for key in self.point_keys()? {
            if let Some(point) = self.point(&key)? {
                act(point)?;
            }
        }
        Ok(())
    }
}
