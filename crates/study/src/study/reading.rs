//! Reads a whole study, either all of it or as it may be shown to others.

use super::{Detail, Study, read, read::Keyed};
use crate::{Error, Redaction};
use rusqlite::Connection;
use tailmark_model::{Fact, Header, Load, Point, PointKey, ResolvedRate, System};

impl Study {
    /// The study as it is shown to others: without serial numbers, host names and addresses. It is
    /// only to be read then.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn redacted(mut self) -> Result<Self, Error> {
        if self.redaction.is_none() {
            let redaction = Redaction::new(&self.facts()?, &self.systems()?);
            self.redaction = Some(redaction.with_plans([&self.header()?]));
        }
        Ok(self)
    }

    /// The data in the form in which it is shown.
    pub(super) fn shown<T>(&self, read: T, redact: impl FnOnce(&Redaction, T) -> T) -> T {
        match &self.redaction {
            Some(redaction) => redact(redaction, read),
            None => read,
        }
    }

    /// All rows of a table, as the redaction shows them.
    fn all<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<Vec<T>>,
        redact: impl Fn(&Redaction, T) -> T,
    ) -> Result<Vec<T>, Error> {
        let all = self.read(read)?.into_iter();
        Ok(all.map(|one| self.shown(one, &redact)).collect())
    }

    /// The header of the study.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged, as in every method that reads.
    pub fn header(&self) -> Result<Header, Error> {
        let header = self.read(read::header)?;
        Ok(self.shown(header, Redaction::header))
    }

    /// The systems under test, in the order of the plan.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn systems(&self) -> Result<Vec<System>, Error> {
        self.all(read::systems, Redaction::system)
    }

    /// The facts about the machine and the systems, in the order in which they were first set.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn facts(&self) -> Result<Vec<Fact>, Error> {
        let facts = self.read(read::facts)?;
        Ok(self.shown(facts, Redaction::facts))
    }

    /// Notices of the study, such as a system that was left out.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn notices(&self) -> Result<Vec<String>, Error> {
        self.all(read::notices, |redaction, text: String| {
            redaction.text(&text)
        })
    }

    /// The loads, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn loads(&self) -> Result<Vec<Load>, Error> {
        self.all(|c| read::loads(c, Detail::Whole), Redaction::load)
    }

    /// The loads without intervals and series.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn load_totals(&self) -> Result<Vec<Load>, Error> {
        self.all(|c| read::loads(c, Detail::Totals), Redaction::load)
    }

    /// The points, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn points(&self) -> Result<Vec<Point>, Error> {
        self.all(|c| read::points(c, Detail::Whole), Redaction::point)
    }

    /// The points without intervals and series: quick, however long the study.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn point_totals(&self) -> Result<Vec<Point>, Error> {
        self.all(|c| read::points(c, Detail::Totals), Redaction::point)
    }

    /// The keys of all points, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn point_keys(&self) -> Result<Vec<PointKey>, Error> {
        self.read(|c| {
            Ok(read::keys(c, Keyed::Point)?
                .into_iter()
                .map(|(_, key)| key)
                .collect())
        })
    }

    /// What percentages among the rates of the plan came to, in the order in which they were added.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn resolved_rates(&self) -> Result<Vec<ResolvedRate>, Error> {
        self.read(read::resolved_rates)
    }

    /// One point, if it is there.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn point(&self, key: &PointKey) -> Result<Option<Point>, Error> {
        let point = self.read(|c| read::point(c, Keyed::Point, key))?;
        Ok(point.map(|point| self.shown(point, Redaction::point)))
    }

    /// Whether a point is there.
    ///
    /// # Errors
    /// As [`Study::header`].
    pub fn has_point(&self, key: &PointKey) -> Result<bool, Error> {
        self.read(|c| Ok(read::phase_of(c, Keyed::Point, key)?.is_some()))
    }
}
