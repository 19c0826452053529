//! Points whose requests are taken apart: `[anatomy]`.

use super::roles::RUN;
use crate::{
    Accept::{Choice, Count, Flag},
    Error, PlanKey,
    reader::TableReader,
};

/// The keys of `anatomy`.
pub(super) const ANATOMY_KEYS: &[PlanKey] = &[
    PlanKey::new("anatomy", "measure", RUN, Flag)
        .about("take requests apart in further points; true if another key of the table is given")
        .flag(38, "--anatomy", "")
        .help("Measure why the slowest requests are slow, in further points")
        .sets(|plan| plan.anatomy.map(|_| true.to_string())),
    PlanKey::new("anatomy", "points", RUN, Choice(&["all", "peak", "rates"]))
        .about("of each workload: its peak, its rates, or all of them")
        .or("all")
        .sets(|plan| Some(plan.anatomy?.points_name().to_owned())),
    PlanKey::new("anatomy", "requests", RUN, Count(100, 10_000))
        .about("requests of each kind that are kept whole: the slowest, and as many of all")
        .or("1000")
        .sets(|plan| Some(plan.anatomy?.requests.to_string())),
    PlanKey::new("anatomy", "every", RUN, Count(1, 1_000_000))
        .about("N: take one request in N apart; by default, as few as cost 3 % or less")
        .sets(|plan| Some(plan.anatomy?.every?.to_string())),
];

/// Which points are measured again, and how their requests are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnatomyPlan {
    /// Of each workload, the point with the most operations per second.
    pub peaks: bool,
    /// Each point at a rate.
    pub rates: bool,
    /// Requests of each kind that are kept whole.
    pub requests: u32,
    /// One request in N is taken apart; `None`: so that it costs little.
    pub every: Option<u32>,
}

impl AnatomyPlan {
    fn points_name(&self) -> &'static str {
        match (self.peaks, self.rates) {
            (true, true) => "all",
            (true, false) => "peak",
            _ => "rates",
        }
    }
}

/// Reads the table; `None` if it is not there or says so.
pub(crate) fn read(keys: &TableReader<'_>) -> Result<Option<AnatomyPlan>, Error> {
    let is_given = !keys.given().is_empty();
    if !keys.optional("measure")?.unwrap_or(is_given) {
        return Ok(None);
    }
    let points: String = keys.get("points")?;
    Ok(Some(AnatomyPlan {
        peaks: points != "rates",
        rates: points != "peak",
        requests: keys.get("requests")?,
        every: keys.optional("every")?,
    }))
}
