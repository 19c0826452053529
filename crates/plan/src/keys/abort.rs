//! Limits that end a run when they are broken, because the system under test may serve others too.

use super::{roles::RUN, texts::joined};
use crate::{
    Accept, Accept::AbortLimits, Error, PlanKey, SystemPlan, accept::Accepted, reader::TableReader,
    requests::sends, units,
};
use std::{fmt, sync::Arc, time::Duration};
use tailmark_model::{Kind, Metric, Quantile};
use tailmark_workload::Workload;
use toml::Value;

/// The keys of `abort`.
pub(super) const ABORT_KEYS: &[PlanKey] = &[PlanKey::new("abort", "when", RUN, AbortLimits)
    .about("limits that end the run: `errors > 1%`")
    .flag(29, "--abort", "LIMITS")
    .help("End the run if broken: \"errors > 1%, p99 read > 200ms for 10s\"")
    .sets(|plan| joined(&plan.abort))];

/// A limit that ends a run. Its text is as in plans: `p99 read > 200ms for 10s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbortLimit {
    /// The forbidden condition.
    pub broken: Broken,
    /// It must hold in each second of this period; zero: in a single second.
    pub lasting: Duration,
}

/// What breaks a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Broken {
    /// More than this share of the operations in a second fail, 0 to 1.
    Errors(f64),
    /// This quantile of the requests in a second takes longer.
    Latency(Kind, Quantile, Duration),
    /// More than this number of nodes of a cluster are down.
    DownNodes(u64),
}

impl AbortLimit {
    /// Parses `errors > 1%`, `p99 read > 200ms for 10s` or `down nodes > 0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (subject, limit) = text.split_once('>')?;
        let (limit, lasting) = match limit.split_once(" for ") {
            Some((limit, time)) => (limit, humantime::parse_duration(time.trim()).ok()?),
            None => (limit, Duration::ZERO),
        };
        let (subject, limit) = (subject.trim(), limit.trim());
        let broken = match subject {
            "errors" => {
                let percent = units::percent(&Value::from(limit))?;
                Broken::Errors((0.0..100.0).contains(&percent).then_some(percent / 100.0)?)
            }
            "down nodes" => Broken::DownNodes(limit.parse().ok()?),
            latency => {
                let (kind, statistic) = Metric::from_name(latency)?.latency()?;
                let over = humantime::parse_duration(limit).ok()?;
                Broken::Latency(kind, statistic.quantile?, over)
            }
        };
        Some(Self { broken, lasting })
    }

    /// Reads `abort.when`, and refuses limits that could never be broken.
    pub(crate) fn read(
        keys: &TableReader<'_>,
        workloads: &[Arc<Workload>],
        systems: &[SystemPlan],
    ) -> Result<Vec<Self>, Error> {
        let limits: Vec<Self> = keys.optional("when")?.unwrap_or_default();
        let refuse = |limit: &Self, accepted: String| Error::BadValue {
            key: keys.label("when"),
            value: limit.to_string(),
            accepted,
        };
        // A load inserts, whatever the workloads do.
        let is_sent = |kind: Kind| {
            kind == Kind::Insert || workloads.iter().any(|workload| sends(workload, kind))
        };
        for limit in &limits {
            match limit.broken {
                Broken::Latency(kind, ..) if !is_sent(kind) => {
                    let sent = Kind::ALL.into_iter().filter(|sent| is_sent(*sent));
                    let sent: Vec<_> = sent.map(Kind::name).collect();
                    let sent = sent.join(", ");
                    return Err(refuse(
                        limit,
                        format!("of requests that the plan sends: {sent}"),
                    ));
                }
                Broken::DownNodes(_) => {
                    let mut blind = systems.iter().filter(|system| !system.driver.tells_nodes);
                    if let Some(system) = blind.next() {
                        let (driver, name) = (system.driver.name, &system.name);
                        let accepted = format!(
                            "absent: driver `{driver}` of system `{name}` does not report which \
                             nodes are down"
                        );
                        return Err(refuse(limit, accepted));
                    }
                }
                _ => {}
            }
        }
        Ok(limits)
    }
}

impl fmt::Display for AbortLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time| {
            humantime::format_duration(time)
                .to_string()
                .replace(' ', "")
        };
        match self.broken {
            Broken::Errors(part) => write!(f, "errors > {}", units::percent_text(part))?,
            Broken::Latency(kind, quantile, over) => {
                write!(f, "{} {} > {}", quantile.name, kind.name(), time(over))?;
            }
            Broken::DownNodes(nodes) => write!(f, "down nodes > {nodes}")?,
        }
        if self.lasting.is_zero() {
            return Ok(());
        }
        write!(f, " for {}", time(self.lasting))
    }
}

/// Limits: a list, or text with commas.
impl Accepted for Vec<AbortLimit> {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let items = units::items(value).filter(|_| matches!(accept, Accept::AbortLimits))?;
        let limit = |item: &Value| AbortLimit::parse(item.as_str()?);
        items.iter().map(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        for text in [
            "errors > 1%",
            "errors > 0.5% for 5s",
            "p99 read > 200ms for 10s",
            "p50 insert > 1s500ms",
            "down nodes > 0",
        ] {
            assert_eq!(AbortLimit::parse(text).unwrap().to_string(), text);
        }
        let spaced = AbortLimit::parse("errors > 1 %");
        assert_eq!(spaced, AbortLimit::parse("errors>1%"));
    }

    #[test]
    fn what_is_no_limit_is_none() {
        for text in [
            "",
            "errors",
            "errors < 1%",
            "errors > 1",
            "errors > 100%",
            "mean read > 1ms",
            "p99 > 1ms",
            "p99 read > fast",
            "down nodes > -1",
            "errors > 1% for ever",
        ] {
            assert_eq!(AbortLimit::parse(text), None, "{text}");
        }
    }
}
