//! Loads and points read one after the other, if they do not fit into memory together.

use super::{Detail, Study, read, read::Keyed, write};
use crate::{Error, Redaction};
use tailmark_model::{Load, Point};

impl Study {
    /// Reads one point after the other without intervals and series, and hands it over.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn each_point_total(&self, mut act: impl FnMut(Point)) -> Result<(), Error> {
        let act = |point| act(self.shown(point, Redaction::point));
        self.read(|c| read::each_point(c, Detail::Totals, act))
    }

    /// Reads loads one after the other with intervals and series, and passes them on. Each is a
    /// separate transaction, so that a run in progress does not wait for `act` with its commits.
    ///
    /// # Errors
    /// As [`Study::header`], and that of `act`.
    pub fn each_load(&self, mut act: impl FnMut(Load) -> Result<(), Error>) -> Result<(), Error> {
        let mut last = i64::MIN;
        while let Some((phase, load)) = self.read(|c| read::load_after(c, last))? {
            act(self.shown(load, Redaction::load))?;
            last = phase;
        }
        Ok(())
    }

    /// Reads one trial of a search after the other with intervals and series, in the order in which
    /// they were added, as [`Study::each_load`] does.
    ///
    /// # Errors
    /// As [`Study::header`], and that of `act`.
    pub fn each_trial(&self, mut act: impl FnMut(Point) -> Result<(), Error>) -> Result<(), Error> {
        for (_, key) in self.read(|c| read::keys(c, Keyed::Trial))? {
            if let Some(trial) = self.read(|c| read::point(c, Keyed::Trial, &key))? {
                act(self.shown(trial, Redaction::point))?;
            }
        }
        Ok(())
    }

    /// Whether there are trials of a search.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn has_trials(&self) -> Result<bool, Error> {
        self.read(|c| Ok(!read::keys(c, Keyed::Trial)?.is_empty()))
    }

    /// Adds a trial of a search; one of the same key is replaced.
    ///
    /// # Errors
    /// As [`Study::set_facts`].
    pub fn add_trial(&self, trial: &Point) -> Result<(), Error> {
        self.write(|c| write::point(c, Keyed::Trial, trial))
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
