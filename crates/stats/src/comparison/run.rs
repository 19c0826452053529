//! The numbers of one run.

use std::collections::BTreeMap;
use tailmark_model::{
    Bounded, FindingCode, Metric, MoneyBasis, Observed, Phase, Point, PointKey, RunRules,
    finding::{
        BACKGROUND_RATE_NOT_MET, CLIENT_SATURATED, DEVICE_THROTTLED, MACHINE_BUSY, NODES_DOWN,
        OTHER_LOAD, RATE_NOT_MET, SERVER_CHANGED, SETTINGS_LEFT, STEAL, WOKEN_LATE,
    },
};

/// Findings of something besides the system that changes its numbers. A difference between runs may
/// be due to it.
pub const DISTURBANCES: &[FindingCode] = &[
    BACKGROUND_RATE_NOT_MET,
    CLIENT_SATURATED,
    DEVICE_THROTTLED,
    MACHINE_BUSY,
    NODES_DOWN,
    OTHER_LOAD,
    SERVER_CHANGED,
    SETTINGS_LEFT,
    STEAL,
    WOKEN_LATE,
];

/// Those of [`DISTURBANCES`] that may also make a system faster.
pub const QUICKENING: &[FindingCode] = &[BACKGROUND_RATE_NOT_MET, SERVER_CHANGED, SETTINGS_LEFT];

/// Evidence of `background-rate-not-met`: the requests that background clients did by the end, and
/// those that were due by then.
pub const BACKGROUND_DONE: &str = "Requests done";
/// See [`BACKGROUND_DONE`].
pub const BACKGROUND_DUE: &str = "Requests due";

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
    /// What its plan says.
    pub rules: RunRules,
    /// The known values.
    pub values: BTreeMap<Metric, Bounded>,
    /// The basis of those that are money.
    pub money: MoneyBasis,
    /// Whether its rate was reached, if it has one. If not, latency only shows how long it ran.
    pub is_rate_met: bool,
    /// Mean bytes that a read found; see [`tailmark_model::Phase::read_bytes`].
    pub read_bytes: Option<f64>,
    /// The share of its background clients' rate that was kept, if they missed it.
    pub background_kept: Option<f64>,
    /// The names of its findings among [`DISTURBANCES`].
    pub disturbances: Vec<&'static str>,
}

impl Run {
    /// A valid run of which nothing is known but these values.
    pub fn new(key: PointKey, values: BTreeMap<Metric, Bounded>) -> Self {
        Self {
            key,
            is_valid: true,
            is_client_limit: false,
            started_ms: None,
            rules: RunRules::default(),
            values,
            money: MoneyBasis::default(),
            is_rate_met: true,
            read_bytes: None,
            background_kept: None,
            disturbances: Vec::new(),
        }
    }

    /// The numbers of a point that is judged so.
    pub fn from_point(point: &Point, rules: RunRules) -> Self {
        let known = |metric: Metric| Some((metric, metric.value(&point.phase)?));
        Self {
            key: point.key.clone(),
            is_valid: point.phase.fault(rules.allow_errors).is_none(),
            is_client_limit: CLIENT_SATURATED.is_among(&point.phase.findings),
            started_ms: point.phase.started_ms,
            rules,
            values: Metric::all()
                .filter(|metric| metric.ranks())
                .filter_map(known)
                .collect(),
            money: point.phase.money.clone(),
            is_rate_met: !RATE_NOT_MET.is_among(&point.phase.findings),
            read_bytes: point.phase.read_bytes(),
            background_kept: background_kept(&point.phase),
            disturbances: DISTURBANCES
                .iter()
                .filter(|code| code.is_among(&point.phase.findings))
                .map(|code| code.name)
                .collect(),
        }
    }

    /// Whether a metric of two runs can be compared: money only in the same currency, and with the
    /// energy of the same parts.
    pub fn is_comparable(&self, other: &Self, metric: Metric) -> bool {
        self.money.is_like(&other.money, metric)
    }
}

/// The share of the background clients' rate that was kept, 0 to 1; `None` if they kept it, or if
/// there are none.
pub fn background_kept(phase: &Phase) -> Option<f64> {
    let mut findings = phase.findings.iter();
    let found = findings.find(|finding| BACKGROUND_RATE_NOT_MET.is_of(finding))?;
    let number = |name: &str| {
        let seen = found.evidence.iter().find(|seen| seen.name == name)?;
        match seen.value {
            Observed::Number(number) => Some(number),
            Observed::Text(_) => None,
        }
    };
    let (done, due) = (number(BACKGROUND_DONE)?, number(BACKGROUND_DUE)?);
    (due > 0.0).then(|| (done / due).clamp(0.0, 1.0))
}
