//! What a call measured, in YCSB's groups: READ, UPDATE-FAILED, Intended-READ, ...
//!
//! It hears of every client's sheets as they are handed over, and keeps two sets: one of the whole
//! phase, one since the last status line.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use tailmark_results::{Kind, Latencies, new_latencies};
use tailmark_runner::phase::{Counts, KindSheet, Sheet};

/// Which latencies are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// From the sending of an operation.
    Op,
    /// From the instant at which it was to be sent.
    Intended,
    /// Both, the latter in groups of their own.
    Both,
}

impl Interval {
    /// As the property says; what it does not know is `op`.
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

/// Which groups latencies of failures go to.
#[derive(Debug, Clone, Default)]
pub struct Failed {
    /// All into groups by their status.
    pub each: bool,
    /// Those of these statuses into groups by it.
    pub tracked: Vec<String>,
}

impl Failed {
    fn name(&self, group: &str, status: &str) -> String {
        match self.each || self.tracked.iter().any(|tracked| tracked == status) {
            true => format!("{group}-{status}"),
            false => format!("{group}-FAILED"),
        }
    }
}

/// Adds a sheet to the groups.
pub fn add(tallies: &mut Tallies, sheet: &Sheet, interval: Interval, failed: &Failed) {
    for kind in Kind::ALL {
        if let Some(recorded) = &sheet.kinds[kind as usize] {
            add_kind(tallies, group(kind), recorded, interval, failed);
        }
    }
}

fn add_kind(
    tallies: &mut Tallies,
    group: &str,
    sheet: &KindSheet,
    interval: Interval,
    failed: &Failed,
) {
    let missed = sheet.missed.as_deref();
    if interval != Interval::Intended {
        found(tallies, group, &sheet.service, missed.map(|m| &m.service));
    }
    if interval != Interval::Op {
        let name = match interval {
            Interval::Both => format!("Intended-{group}"),
            _ => group.to_owned(),
        };
        // In a closed loop both are the same.
        match sheet.response.is_empty() {
            true => found(tallies, &name, &sheet.service, missed.map(|m| &m.service)),
            false => found(tallies, &name, &sheet.response, missed.map(|m| &m.response)),
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
    if let Some(first) = sheet.failures.first() {
        // Latencies of failures are kept together: those of several causes go to the first one's.
        let name = failed.name(group, status(first.cause));
        sheet
            .failed
            .add_to(&mut tallies.entry(name).or_default().latencies);
    }
    let returns = &mut tallies.entry(group.to_owned()).or_default().returns;
    for (status, count) in [
        ("OK", sheet.count - sheet.not_found),
        ("NOT_FOUND", sheet.not_found),
    ] {
        if count > 0 {
            *returns.entry(status).or_default() += count;
        }
    }
    for failures in &sheet.failures {
        *returns.entry(status(failures.cause)).or_default() += failures.count;
    }
}

/// Adds the latencies of what succeeded: those of all but those of what was missed.
fn found(tallies: &mut Tallies, name: &str, all: &Counts, missed: Option<&Counts>) {
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
        us.record_n(value.value_iterated_to() / 1000, value.count_at_value())
            .expect("a histogram that grows takes any value");
    }
    us
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_driver::Cause;
    use tailmark_runner::phase::{Failures, Missed};

    fn sheet() -> Sheet {
        let mut kind = KindSheet::default();
        (kind.count, kind.not_found) = (10, 3);
        kind.service.record_n(50_000, 7);
        kind.service.record_n(9_000, 3);
        kind.response.record_n(80_000, 7);
        kind.response.record_n(70_000, 3);
        let mut missed = Missed::default();
        missed.service.record_n(9_000, 3);
        missed.response.record_n(70_000, 3);
        kind.missed = Some(Box::new(missed));
        kind.failed.record_n(1_000_000, 2);
        let example = "no answer".to_owned();
        kind.failures.push(Failures {
            cause: Cause::Timeout,
            count: 2,
            example,
        });
        let mut sheet = Sheet {
            operations: 12,
            ..Sheet::default()
        };
        sheet.kinds[Kind::Read as usize] = Some(Box::new(kind));
        sheet
    }

    fn tallied(interval: Interval, failed: &Failed) -> Tallies {
        let mut tallies = Tallies::new();
        add(&mut tallies, &sheet(), interval, failed);
        add(&mut tallies, &sheet(), interval, failed);
        tallies
    }

    #[test]
    fn what_failed_or_missed_is_timed_apart_and_counted_together() {
        let tallies = tallied(Interval::Op, &Failed::default());
        let names: Vec<_> = tallies.keys().map(String::as_str).collect();
        assert_eq!(names, ["READ", "READ-FAILED"]);
        assert_eq!(tallies["READ"].latencies.len(), 14);
        assert_eq!(tallies["READ-FAILED"].latencies.len(), 10);
        let expected = BTreeMap::from([("OK", 14), ("NOT_FOUND", 6), ("ERROR", 4)]);
        assert_eq!(tallies["READ"].returns, expected);
    }

    #[test]
    fn tracked_errors_have_groups_of_their_own() {
        let tracked = vec!["NOT_FOUND".to_owned()];
        let tallies = tallied(
            Interval::Op,
            &Failed {
                each: false,
                tracked,
            },
        );
        assert_eq!(tallies["READ-NOT_FOUND"].latencies.len(), 6);
        assert_eq!(tallies["READ-FAILED"].latencies.len(), 4);
    }

    #[test]
    fn intended_times_come_alone_or_beside() {
        let alone = tallied(Interval::Intended, &Failed::default());
        assert!(alone["READ"].latencies.min() >= 79_000);
        let both = tallied(Interval::Both, &Failed::default());
        assert!(both["READ"].latencies.max() < 60_000);
        assert!(both["Intended-READ"].latencies.min() >= 79_000);
        assert!(both["Intended-READ"].returns.is_empty());
    }
}
