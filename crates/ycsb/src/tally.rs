//! The measurements of a call, in YCSB's groups: READ, UPDATE-FAILED, Intended-READ, ...
//!
//! It receives the recordings of every client as they are handed over, and keeps two sets: one of
//! the whole phase, and one since the last status line.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use tailmark_engine::{IntervalStats, KindStats, LatencyCounts};
use tailmark_model::{Kind, Latencies, histogram, new_latencies};

/// The latencies that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementInterval {
    /// From the sending of an operation.
    Op,
    /// From the instant at which it was to be sent.
    Intended,
    /// Both, the latter in groups of their own.
    Both,
}

impl MeasurementInterval {
    /// The value of the property; unknown values mean `op`.
    pub fn named(name: &str) -> Self {
        match name {
            "intended" => Self::Intended,
            "both" => Self::Both,
            _ => Self::Op,
        }
    }
}

/// One group of the output.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Latencies in nanoseconds.
    pub latencies: Latencies,
    /// How often each status was returned.
    pub returns: BTreeMap<&'static str, u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latencies: new_latencies(),
            returns: BTreeMap::new(),
        }
    }
}

/// The groups of a phase or of a part of it, by name.
pub type Tallies = BTreeMap<String, Tally>;

/// The name of a kind's group.
pub const fn group(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "READ",
        Kind::Update => "UPDATE",
        Kind::Insert => "INSERT",
        Kind::Scan => "SCAN",
        Kind::Delete => "DELETE",
        Kind::ReadModifyWrite => "READ-MODIFY-WRITE",
    }
}

/// YCSB's word for a cause of failure.
fn status(cause: tailmark_driver::Cause) -> &'static str {
    use tailmark_driver::Cause;
    match cause {
        Cause::Unsupported => "NOT_IMPLEMENTED",
        Cause::Unavailable | Cause::Overloaded => "SERVICE_UNAVAILABLE",
        Cause::Corruption => "UNEXPECTED_STATE",
        _ => "ERROR",
    }
}

/// The groups for latencies of failures.
#[derive(Debug, Clone, Default)]
pub struct Failed {
    /// All into groups by their status.
    pub each: bool,
    /// Statuses with groups of their own.
    pub tracked: Vec<String>,
}

impl Failed {
    fn name(&self, group: &str, status: &str) -> String {
        if self.each || self.tracked.iter().any(|tracked| tracked == status) {
            format!("{group}-{status}")
        } else {
            format!("{group}-FAILED")
        }
    }
}

/// Adds one client's work in a second to the groups.
pub fn add(
    tallies: &mut Tallies,
    stats: &IntervalStats,
    interval: MeasurementInterval,
    failed: &Failed,
) {
    for kind in Kind::ALL {
        if let Some(recorded) = &stats.kinds[kind as usize] {
            add_kind(tallies, group(kind), recorded, interval, failed);
        }
    }
}

fn add_kind(
    tallies: &mut Tallies,
    group: &str,
    stats: &KindStats,
    interval: MeasurementInterval,
    failed: &Failed,
) {
    let missed = stats.missed.as_deref();
    if interval != MeasurementInterval::Intended {
        found(tallies, group, &stats.service, missed.map(|m| &m.service));
    }
    if interval != MeasurementInterval::Op {
        let name = match interval {
            MeasurementInterval::Both => format!("Intended-{group}"),
            _ => group.to_owned(),
        };
        // In a closed loop both are the same.
        if stats.response.is_empty() {
            found(tallies, &name, &stats.service, missed.map(|m| &m.service))
        } else {
            found(tallies, &name, &stats.response, missed.map(|m| &m.response))
        }
    }
    if group == "READ-MODIFY-WRITE" {
        return;
    }
    if let Some(missed) = missed {
        let name = failed.name(group, "NOT_FOUND");
        missed
            .service
            .add_to(&mut tallies.entry(name).or_default().latencies);
    }
    for failures in &stats.failures {
        let name = failed.name(group, status(failures.cause));
        failures
            .latencies
            .service
            .add_to(&mut tallies.entry(name).or_default().latencies);
    }
    let returns = &mut tallies.entry(group.to_owned()).or_default().returns;
    for (status, count) in [
        ("OK", stats.count - stats.not_found),
        ("NOT_FOUND", stats.not_found),
    ] {
        if count > 0 {
            *returns.entry(status).or_default() += count;
        }
    }
    for failures in &stats.failures {
        *returns.entry(status(failures.cause)).or_default() += failures.count;
    }
}

/// Adds the latencies of successful requests: all except misses.
fn found(tallies: &mut Tallies, name: &str, all: &LatencyCounts, missed: Option<&LatencyCounts>) {
    let hits = match missed {
        None => None,
        Some(missed) => {
            let mut hits = all.clone();
            hits.subtract(missed);
            Some(hits)
        }
    };
    let hits = hits.as_ref().unwrap_or(all);
    if !hits.is_empty() {
        hits.add_to(&mut tallies.entry(name.to_owned()).or_default().latencies);
    }
}

/// The same latencies in whole microseconds, rounded down, as YCSB has them.
pub fn microseconds(latencies: &Latencies) -> Histogram<u64> {
    let mut us = new_latencies();
    for value in latencies.iter_recorded() {
        let whole_us = value.value_iterated_to() / 1000;
        histogram::record(&mut us, whole_us, value.count_at_value());
    }
    us
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::Cause;
    use tailmark_engine::{Failures, LatencyPair};

    fn stats() -> IntervalStats {
        let mut kind = KindStats::default();
        (kind.count, kind.not_found) = (10, 3);
        kind.service.record_n(50_000, 7);
        kind.service.record_n(9_000, 3);
        kind.response.record_n(80_000, 7);
        kind.response.record_n(70_000, 3);
        let mut missed = LatencyPair::default();
        missed.service.record_n(9_000, 3);
        missed.response.record_n(70_000, 3);
        kind.missed = Some(Box::new(missed));
        for (cause, count, ns) in [
            (Cause::Timeout, 2, 1_000_000),
            (Cause::Overloaded, 1, 5_000_000),
        ] {
            let mut latencies = LatencyPair::default();
            latencies.service.record_n(ns, count);
            kind.failures.push(Failures {
                cause,
                count: count.into(),
                example: "no answer".to_owned(),
                latencies,
            });
        }
        let mut stats = IntervalStats {
            operations: 13,
            ..IntervalStats::default()
        };
        stats.kinds[Kind::Read as usize] = Some(Box::new(kind));
        stats
    }

    fn tallied(interval: MeasurementInterval, failed: &Failed) -> Tallies {
        let mut tallies = Tallies::new();
        add(&mut tallies, &stats(), interval, failed);
        add(&mut tallies, &stats(), interval, failed);
        tallies
    }

    #[test]
    fn what_failed_or_missed_is_timed_apart_and_counted_together() {
        let tallies = tallied(MeasurementInterval::Op, &Failed::default());
        let names: Vec<_> = tallies.keys().map(String::as_str).collect();
        assert_eq!(names, ["READ", "READ-FAILED"]);
        assert_eq!(tallies["READ"].latencies.len(), 14);
        assert_eq!(tallies["READ-FAILED"].latencies.len(), 12);
        let expected = BTreeMap::from([
            ("OK", 14),
            ("NOT_FOUND", 6),
            ("ERROR", 4),
            ("SERVICE_UNAVAILABLE", 2),
        ]);
        assert_eq!(tallies["READ"].returns, expected);
    }

    #[test]
    fn tracked_errors_have_groups_of_their_own() {
        let tracked = vec!["NOT_FOUND".to_owned()];
        let tallies = tallied(
            MeasurementInterval::Op,
            &Failed {
                each: false,
                tracked,
            },
        );
        assert_eq!(tallies["READ-NOT_FOUND"].latencies.len(), 6);
        assert_eq!(tallies["READ-FAILED"].latencies.len(), 6);
    }

    #[test]
    fn latencies_of_a_failure_are_in_the_group_of_its_own_status() {
        let each = Failed {
            each: true,
            tracked: Vec::new(),
        };
        let tallies = tallied(MeasurementInterval::Op, &each);
        for (group, count, ns) in [
            ("READ-NOT_FOUND", 6, 9_000),
            ("READ-ERROR", 4, 1_000_000),
            ("READ-SERVICE_UNAVAILABLE", 2, 5_000_000),
        ] {
            let latencies = &tallies[group].latencies;
            assert_eq!(latencies.len(), count, "{group}");
            assert!(latencies.equivalent(latencies.min(), ns), "{group}");
            assert!(latencies.equivalent(latencies.max(), ns), "{group}");
        }
    }

    #[test]
    fn intended_times_come_alone_or_apart() {
        let alone = tallied(MeasurementInterval::Intended, &Failed::default());
        assert!(alone["READ"].latencies.min() >= 79_000);
        let both = tallied(MeasurementInterval::Both, &Failed::default());
        assert!(both["READ"].latencies.max() < 60_000);
        assert!(both["Intended-READ"].latencies.min() >= 79_000);
        assert!(both["Intended-READ"].returns.is_empty());
    }

    #[test]
    fn misses_are_beside_intended_latencies_also_in_a_closed_loop() {
        let mut stats = stats();
        let kind = stats.kinds[Kind::Read as usize].as_mut().unwrap();
        kind.response = LatencyCounts::default();
        kind.missed.as_mut().unwrap().response = LatencyCounts::default();
        let mut tallies = Tallies::new();
        let both = MeasurementInterval::Both;
        add(&mut tallies, &stats, both, &Failed::default());
        for group in ["READ", "Intended-READ"] {
            let latencies = &tallies[group].latencies;
            assert_eq!(latencies.len(), 7, "{group}");
            assert!(latencies.min() >= 49_000, "{group}");
        }
    }
}
