//! What a report is made of: one study, or several merged, as plain data.

use crate::Error;
use tailmark_results::{ALLOW_ERRORS, Fact, Header, Load, Point, ResolvedRate, Study, System};

/// Everything that sections read. Nothing in it refers to a file.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// One for each study.
    pub headers: Vec<Header>,
    /// The systems of all studies; names are unique.
    pub systems: Vec<System>,
    /// What is known of the machine (no system) and of each system.
    pub facts: Vec<Fact>,
    /// The loads of all systems.
    pub loads: Vec<Load>,
    /// The points of all systems.
    pub points: Vec<Point>,
    /// What percentages among the rates of the plans came to.
    pub resolved_rates: Vec<ResolvedRate>,
    /// What the studies say of themselves, such as a system left out.
    pub notices: Vec<String>,
}

impl Data {
    /// Reads one or several studies.
    ///
    /// # Errors
    /// Where a study cannot be read, or none holds anything.
    pub fn read(studies: &[Study]) -> Result<Self, Error> {
        let all = studies.iter().map(Self::read_one);
        let all = all.collect::<Result<Vec<_>, _>>().map_err(Error::Study)?;
        let merged = Self::merged(all);
        if merged.points.is_empty() && merged.loads.is_empty() {
            return Err(Error::Empty);
        }
        Ok(merged)
    }

    /// The part of a point's operations that may fail, 0 to 1; of several studies, the minimum.
    #[must_use]
    pub fn allow_errors(&self) -> f64 {
        let parts = self.headers.iter().map(Header::allow_errors);
        parts.reduce(f64::min).unwrap_or(ALLOW_ERRORS)
    }

    fn read_one(study: &Study) -> Result<Self, tailmark_results::Error> {
        Ok(Self {
            headers: vec![study.header()?],
            systems: study.systems()?,
            facts: study.facts()?,
            loads: study.loads()?,
            points: study.points()?,
            resolved_rates: study.resolved_rates()?,
            notices: study.notices()?,
        })
    }
}
