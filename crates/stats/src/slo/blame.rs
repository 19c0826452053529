//! Decides whether late requests were the fault of the clients or of the system.
//!
//! A limit may be broken from when requests were due but hold from when they were sent. Then what
//! matters is how late they were sent, and why. The cause of a single operation proves nothing,
//! because every operation has one and most are on time.

use tailmark_model::{
    Kind, Latencies, Limit, Observed, Phase, PointKey,
    finding::{BACKGROUND_RATE_NOT_MET, DATABASE_SATURATED, LATE_KINDS},
};

/// Why a trial says nothing about the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The reason in words.
    pub text: String,
    /// No client was free to send operations that were due.
    pub is_no_client: bool,
}

/// The clients of a point and their rate.
#[derive(Debug, Clone, Copy)]
pub struct Clients {
    /// The number of clients.
    pub count: u32,
    /// Operations per second that were due.
    pub rate: f64,
}

impl Clients {
    /// The clients of a trial.
    pub fn from_key(key: &PointKey) -> Self {
        Self {
            count: key.threads,
            rate: key.target_rate.unwrap_or_default(),
        }
    }
}

/// Why operations were sent late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// No client was free, because there were too few.
    TooFewClients,
    /// A client was free, but its machine woke it late.
    WokenLate,
    /// Background clients were too few for their own rate.
    TooFewBackground,
}

/// Why the clients are to blame for broken limits that all hold from when requests were sent;
/// `None` if they are not to blame for each of them.
pub fn late(phase: &Phase, clients: Clients, broken: &[Limit]) -> Option<Cause> {
    let reasons = broken.iter().map(|limit| reason(phase, clients, *limit));
    let reasons: Vec<Reason> = reasons.collect::<Option<_>>()?;
    let is_no_client = !reasons.contains(&Reason::WokenLate);
    let why = if !is_no_client {
        "the client's machine woke up late: fewer other programs, or more processors, may help"
    } else if reasons.contains(&Reason::TooFewBackground) {
        "background clients cannot keep their rate: a lower sweep.background_rate, or more \
         background clients, may help"
    } else {
        "no client was free to send it: more slo.threads may help"
    };
    let text = format!(
        "Requests held the limits when timed from when they were sent, but not from when they were \
         due: {why}."
    );
    Some(Cause { text, is_no_client })
}

/// The cause in the clients that broke a limit; `None` if there is none.
///
/// An operation is late by a cause if it was sent so late that a request of mean service time would
/// exceed the limit. The cause with more late operations is considered.
fn reason(phase: &Phase, clients: Clients, limit: Limit) -> Option<Reason> {
    if is_late_background(phase, limit.kind) {
        return Some(Reason::TooFewBackground);
    }
    let causes = phase.start_lag.as_ref()?.causes.as_ref()?;
    let limit_ns = limit.latency.as_nanos() as f64;
    let spare_ns = limit_ns - phase.kinds.get(&limit.kind)?.service.mean();
    let late = |lag: &Latencies| lag.len() - lag.count_between(0, spare_ns.max(0.0) as u64);
    let (no_client, woken) = (late(&causes.no_client), late(&causes.woken_late));
    if woken > no_client {
        // Clients that the database on their machine kept waiting for a processor wait for the system.
        let is_by_database = DATABASE_SATURATED.is_among(&phase.findings);
        return (!is_by_database).then_some(Reason::WokenLate);
    }
    let service = &phase.kinds.get(&limit.kind)?.service;
    (no_client > 0 && are_too_few(phase, clients, limit, service)).then_some(Reason::TooFewClients)
}

/// Whether background clients alone send a kind, and were too few for their rate.
fn is_late_background(phase: &Phase, kind: Kind) -> bool {
    let mut findings = phase.findings.iter();
    let found = findings.find(|finding| BACKGROUND_RATE_NOT_MET.is_of(finding));
    let mut evidence = found.into_iter().flat_map(|finding| &finding.evidence);
    evidence.any(|seen| match &seen.value {
        Observed::Text(kinds) if seen.name == LATE_KINDS => {
            kinds.split(", ").any(|name| name == kind.name())
        }
        _ => false,
    })
}

/// Whether there were too few clients even without a stall: as many requests as the limit allows,
/// or more, would have exceeded it by their own time and the wait for a free client. If not, all
/// clients waited for the system at once, as in a stall, and more clients would have waited too.
fn are_too_few(phase: &Phase, clients: Clients, limit: Limit, service: &Latencies) -> bool {
    // Background clients do their requests beside those of the point.
    let of_background = phase.background_requests() as f64 / phase.requests().max(1) as f64;
    let own_ns = phase.busy_ns() * (1.0 - of_background);
    let each_ns = own_ns / phase.operations.max(1) as f64;
    let busy = clients.rate * each_ns / 1e9;
    let idle = f64::from(clients.count) - busy;
    if idle <= 0.0 {
        return true;
    }
    let waits = erlang_c(clients.count, busy);
    let limit_ns = limit.latency.as_nanos() as f64;
    let share_over = |service_ns: f64| {
        let spare_ns = limit_ns - service_ns;
        if spare_ns < 0.0 {
            1.0
        } else {
            waits * (-idle * spare_ns / each_ns).exp()
        }
    };
    let recorded = service.iter_recorded();
    let over = recorded.map(|bucket| {
        share_over(bucket.value_iterated_to() as f64) * bucket.count_at_value() as f64
    });
    over.sum::<f64>() / service.len().max(1) as f64 >= limit.allowed()
}

/// The share of operations that find no free client, if they arrive at random and `busy` of that
/// many clients are busy on average: Erlang's C formula (M/M/n), by the recursion of his B.
fn erlang_c(clients: u32, busy: f64) -> f64 {
    let lost = (1..=clients).fold(1.0, |lost, n| busy * lost / (f64::from(n) + busy * lost));
    let load = busy / f64::from(clients.max(1));
    lost / (1.0 - load * (1.0 - lost))
}

#[cfg(test)]
mod tests;
