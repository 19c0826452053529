//! The numbers of one run.

use std::collections::BTreeMap;
use tailmark_model::{
    Bounded, Header, Metric, Point, PointKey,
    finding::{CLIENT_SATURATED, RATE_NOT_MET},
};

/// The numbers of one run of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The system and point.
    pub key: PointKey,
    /// Whether it may be a peak and take part in comparisons; see [`tailmark_model::failure`].
    pub is_valid: bool,
    /// Whether the clients were the limit, so that the system may do more.
    pub is_client_limit: bool,
    /// When it began, milliseconds since 1970 UTC.
    pub started_ms: Option<u64>,
    /// Whether the systems of its study take turns.
    pub takes_turns: bool,
    /// The known values.
    pub values: BTreeMap<Metric, Bounded>,
    /// Whether its rate was reached, if it has one. If not, latency only shows how long it ran.
    pub is_rate_met: bool,
    /// Mean bytes that a read found; see [`tailmark_model::Phase::read_bytes`].
    pub read_bytes: Option<f64>,
}

impl Run {
    /// The numbers of a point, of whose operations this share may fail.
    pub fn from_point(point: &Point, allow_errors: f64) -> Self {
        let known = |metric: Metric| Some((metric, metric.value(&point.phase)?));
        Self {
            key: point.key.clone(),
            is_valid: point.phase.fault(allow_errors).is_none(),
            is_client_limit: CLIENT_SATURATED.is_among(&point.phase.findings),
            started_ms: point.phase.started_ms,
            takes_turns: false,
            values: Metric::all()
                .filter(|metric| metric.ranks())
                .filter_map(known)
                .collect(),
            is_rate_met: !RATE_NOT_MET.is_among(&point.phase.findings),
            read_bytes: point.phase.read_bytes(),
        }
    }

    /// The same with the header of its study, whose plan says whether systems take turns.
    pub fn of_study(point: &Point, header: &Header) -> Self {
        Self {
            takes_turns: header.settings.takes_turns,
            ..Self::from_point(point, header.settings.allow_errors)
        }
    }
}
