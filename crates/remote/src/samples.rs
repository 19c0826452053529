//! Samples from a host and its clock, converted to this machine's clock.

use crate::agent::now_ns;
use crate::channel::AgentSample;
use tailmark_cluster::{ClockLine, Measurement};
use tailmark_model::SeriesKind;

/// A value that was sampled there.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The probe.
    pub probe: String,
    /// When, in ns of this machine's clock.
    pub at_ns: u64,
    /// Its subject.
    pub subject: String,
    /// Its name, unit last.
    pub name: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
    /// The value.
    pub value: f64,
}

/// The state of the clock there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// When, in ns of this machine's clock.
    pub at_ns: u64,
    /// By how much it is ahead of this machine's, seconds.
    pub offset_s: f64,
    /// By how much that may be wrong, seconds.
    pub bound_s: f64,
}

/// The state of a clock according to a measurement.
pub fn clock_of(measured: &Measurement) -> Clock {
    Clock {
        at_ns: measured.leader_ns,
        offset_s: measured.offset_ns() as f64 / 1e9,
        bound_s: measured.bound_ns as f64 / 1e9,
    }
}

/// Samples on this machine's clock.
pub fn on_own_clock(taken: Vec<AgentSample>, clock: &ClockLine) -> Vec<Received> {
    let mut received = Vec::new();
    for sample in taken {
        let Some(at) = clock.leader_at(sample.at_ns) else {
            continue;
        };
        received.extend(sample.values.into_iter().map(|(sampled, value)| Received {
            probe: sample.probe.clone(),
            at_ns: at.ns,
            subject: sampled.subject,
            name: sampled.name,
            kind: sampled.kind,
            value,
        }));
    }
    received
}

/// What this machine's clock says, in ns.
pub fn own_ns() -> u64 {
    now_ns()
}
