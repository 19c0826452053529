//! A service level objective as plans write it: `p99.99 read < 15ms`.

use crate::{Kind, Metric, Quantile};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// A latency that a share of the requests of one kind must not exceed. Stored as text in a study.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Limit {
    /// The kind of requests.
    pub kind: Kind,
    /// The share of them that must hold it.
    pub quantile: Quantile,
    /// The limit of response time. Only longer times exceed it.
    pub latency: Duration,
}

impl Limit {
    /// Parses `p99.99 read < 15ms`; `None` if it is not a limit.
    pub fn parse(text: &str) -> Option<Self> {
        let (metric, latency) = text.split_once('<')?;
        let (kind, statistic) = Metric::from_name(metric)?.latency()?;
        let latency = humantime::parse_duration(latency.trim()).ok()?;
        (!latency.is_zero()).then_some(Self {
            kind,
            quantile: statistic.quantile?,
            latency,
        })
    }

    /// The share of requests that may exceed it.
    pub fn allowed(self) -> f64 {
        1.0 - self.quantile.value
    }

    /// The latency as a metric, without its limit.
    pub fn metric(self) -> Option<Metric> {
        Metric::from_name(&format!("{} {}", self.quantile.name, self.kind.name()))
    }
}

impl TryFrom<String> for Limit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a latency limit"))
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> Self {
        limit.to_string()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = humantime::format_duration(self.latency);
        let latency = latency.to_string().replace(' ', "");
        write!(f, "{} {} < {latency}", self.quantile.name, self.kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        for (text, allowed) in [
            ("p99.99 read < 15ms", 1e-4),
            ("p99 update < 1s500ms", 1e-2),
            ("p50 read-modify-write < 250us", 0.5),
        ] {
            let limit = Limit::parse(text).unwrap();
            assert_eq!(limit.to_string(), text);
            assert!((limit.allowed() - allowed).abs() < 1e-12);
        }
        assert_eq!(
            Limit::parse(" p99 read<15 ms "),
            Limit::parse("p99 read < 15ms")
        );
    }

    #[test]
    fn what_is_no_limit_is_none() {
        for text in [
            "",
            "p99 read",
            "p99 read < ",
            "p99 read < 0s",
            "p99 read < 15",
            "p98 read < 15ms",
            "mean read < 1ms",
            "p99 reads < 1ms",
            "p99 read > 1ms",
            "ops_per_sec < 1ms",
        ] {
            assert_eq!(Limit::parse(text), None, "{text}");
        }
    }
}
