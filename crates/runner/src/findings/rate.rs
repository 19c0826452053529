//! Rules for points at a fixed rate: whether it was reached, how late operations were sent and why,
//! and which were never done.

use super::PointContext;
use tailmark_model::{
    Arrivals, Bounded, Kind, KindResult, Latencies, Phase, Sentence, StartLag, Unit,
    finding::NO_ANSWER, number, quantile,
};
use tailmark_plan::requests_per_operation;
use tailmark_workload::Workload;

/// Lag below this is none, nanoseconds.
const LAG_MIN_NS: u64 = 100_000;
/// Lag above this is some, however long operations take, nanoseconds.
const LAG_MAX_NS: u64 = 1_000_000;
/// The share of due operations that may be missing.
const MISSING_MAX: f64 = 0.01;

/// More was due than was done in time, beyond what may be in flight at the end.
pub(super) fn rate_not_met(point: &PointContext<'_>) -> Option<Sentence> {
    let target = point.key.target_rate?;
    let due = target * point.phase().duration_s;
    // A drained operation was due in time and done after the end.
    let in_time = point.phase().operations_in_time() as f64;
    // The number of operations due in a Poisson process is itself random.
    let drawn = match point.key.arrivals {
        Some(Arrivals::Poisson) => 3.0 * due.sqrt(),
        Some(Arrivals::Even) | None => 0.0,
    };
    let known = (point.phase().operations - point.phase().operations_in_time()
        + point.phase().censored) as f64;
    let missing = (due - in_time - drawn).max(known);
    let may_be_missing = (MISSING_MAX * due).max(in_flight(point.phase(), point.key.threads));
    (missing > may_be_missing).then(|| {
        Sentence::new(
            "The system reached {Rate reached} of the offered {Rate offered}; {Done late} \
             operations were done after the end, or never. If operations queued up over the whole \
             run, response times grow with its length: use more clients (sweep.rate_threads, \
             sweep.threads), or a rate that the system can hold. If the system only stalled near \
             the end, they do not.",
        )
        .number(
            "Rate reached",
            point.phase().ops_per_sec(),
            Unit::OpsPerSecond,
        )
        .number("Rate offered", target, Unit::OpsPerSecond)
        .count("Done late", known as u64)
    })
}

/// How many operations may be in flight at the end: the average number in flight (Little's law),
/// but at least one and at most one per client.
fn in_flight(phase: &Phase, threads: u32) -> f64 {
    let mean = phase.busy_ns() / 1e9 / phase.duration_s.max(1e-9);
    mean.ceil().clamp(1.0, f64::from(threads.max(1)))
}

/// Of a study in which lag has no causes, and of clients with a schedule of their own.
pub(super) fn started_late(point: &PointContext<'_>) -> Option<Sentence> {
    let lag = point.phase().start_lag.as_ref()?;
    if lag.causes.is_some() {
        return None;
    }
    let late = late(&lag.all, lag.all.len(), response_p99(point)?)?;
    let sentence = Sentence::new(
        "1 % of the operations were sent {1 % sent later than} or more after they were due. \
         Response time includes that delay: use more threads, or leave the clients more processor \
         time.",
    );
    Some(sentence.number("1 % sent later than", late as f64, Unit::Nanoseconds))
}

/// Operations waited for a client: the system does not answer fast enough for so few.
pub(super) fn no_free_client(point: &PointContext<'_>) -> Option<Sentence> {
    let lag = point.phase().start_lag.as_ref()?;
    let waited = &lag.causes.as_ref()?.no_client;
    let (all, response) = (operations(lag), response_p99(point)?);
    let late = late(waited, all, response)?;
    let waited = waited.len() as f64 / all as f64;
    let sentence = Sentence::new(format!(
        "No client was free for {{Operations that waited}} of the operations when they were due, and \
         1 % of all operations waited {{1 % waited}} or more for one. The p99 of the response time, \
         which includes that wait, is {}. The system does not answer fast enough for {{Clients}}: \
         raise sweep.rate_threads (sweep.threads if the plan sets sweep.rate), or lower the rate.",
        p99_in_words(response)
    ));
    let sentence = sentence.number("Operations that waited", waited * 100.0, Unit::Percent);
    let sentence = sentence.number("1 % waited", late as f64, Unit::Nanoseconds);
    let sentence = with_p99(sentence, response);
    let clients = number::plural(u64::from(point.key.threads), "client");
    Some(sentence.text("Clients", clients))
}

/// Clients waited for operations and were woken late: the client machine is busy.
pub(super) fn woken_late(point: &PointContext<'_>) -> Option<Sentence> {
    let lag = point.phase().start_lag.as_ref()?;
    let woken = &lag.causes.as_ref()?.woken_late;
    let response = response_p99(point)?;
    let late = late(woken, operations(lag), response)?;
    let sentence = Sentence::new(format!(
        "1 % of the operations were sent {{1 % sent later than}} or more after they were due \
         although a client was free, because it was woken late. The system did not cause this \
         delay, but response time includes it (its p99 is {}). The machine of the clients is busy: \
         use fewer clients, more processors or an idle machine.",
        p99_in_words(response)
    ));
    let sentence = sentence.number("1 % sent later than", late as f64, Unit::Nanoseconds);
    Some(with_p99(sentence, response))
}

/// Operations were never done, so only lower bounds of their latencies are known.
pub(super) fn censored(point: &PointContext<'_>) -> Option<Sentence> {
    let (count, is_background) = never_done(point.phase());
    if count == 0 {
        return None;
    }
    let kinds = point.phase().kinds.iter();
    let exact = kinds.filter_map(|(kind, result)| Some((kind, part_known(result)?)));
    let bounds = match exact.min_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((kind, part)) if part > 0.0 => format!(
            "quantiles of {}s above {} are lower bounds",
            kind.name(),
            quantile_name(part)
        ),
        Some((kind, _)) => format!("all quantiles of {}s are lower bounds", kind.name()),
        None => "quantiles are lower bounds".to_owned(),
    };
    if is_background {
        let sentence = Sentence::new(
            "{Never done} requests of background clients were due but never done, not even within \
             10 s of the end; {Bounds}, printed as such. Find out where the system hung, or use a \
             lower background rate.",
        );
        let sentence = sentence.count("Never done", count);
        return Some(sentence.text("Bounds", bounds));
    }
    if was_ended_early(point) {
        let sentence = Sentence::new(
            "{Never done} of {Operations} operations had no answer when the point was ended early; \
             {Bounds}, printed as such.",
        );
        let sentence = sentence.count("Never done", count);
        let sentence = sentence.count("Operations", count + point.phase().operations);
        return Some(sentence.text("Bounds", bounds));
    }
    let sentence = Sentence::new(
        "{Never done} of {Operations} operations were due but never done, not even within 10 s of \
         the end; {Bounds}, printed as such. Find out where the system hung, use more clients \
         (sweep.rate_threads) if operations were never sent, or use a lower rate.",
    );
    let sentence = sentence.count("Never done", count);
    let sentence = sentence.count("Operations", count + point.phase().operations);
    Some(sentence.text("Bounds", bounds))
}

/// Whether the point ended before its planned time because the database did not answer. Then nothing
/// was waited for.
fn was_ended_early(point: &PointContext<'_>) -> bool {
    let phase = point.phase();
    let sweep = point.sweep.as_ref();
    let planned = sweep.and_then(|sweep| sweep.plan.sweep.duration);
    let is_short = planned.is_some_and(|planned| phase.duration_s < 0.99 * planned.as_secs_f64());
    is_short && NO_ANSWER.is_among(&phase.findings)
}

/// Operations of the point that were never done; if there are none, requests of background clients,
/// and whether they are theirs.
fn never_done(phase: &Phase) -> (u64, bool) {
    if phase.censored > 0 {
        return (phase.censored, false);
    }
    let sent = phase
        .kinds
        .iter()
        .filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
    let ages = |(_, result): (_, &KindResult)| Some(result.censored.as_ref()?.response.len());
    (sent.filter_map(ages).sum(), true)
}

/// The gap for a p99, and its name as evidence if it is a lower bound: a number either way.
const P99: &str = "p99 response";
const P99_AT_LEAST: &str = "p99 response, at least";

fn p99_in_words(p99: Bounded) -> String {
    if p99.is_exact() {
        format!("{{{P99}}}")
    } else {
        format!("at least {{{P99_AT_LEAST}}}")
    }
}

fn with_p99(sentence: Sentence, p99: Bounded) -> Sentence {
    let name = if p99.is_exact() { P99 } else { P99_AT_LEAST };
    sentence.number(name, p99.value, Unit::Nanoseconds)
}

/// The share of a kind's operations, 0 to 1, whose response time is below the lowest age of
/// operations that were never done, and so is known exactly; `None` if all were done. Failures rank
/// above.
fn part_known(result: &KindResult) -> Option<f64> {
    let ages = &result.censored.as_ref()?.response;
    let done = result.response();
    let all = result.ranked_response().samples();
    let below = match ages.min() {
        0 => 0,
        age => done.count_between(0, age - 1),
    };
    // The value at a quantile is known if a lower one has its rank.
    (!ages.is_empty()).then(|| below.saturating_sub(1) as f64 / all as f64)
}

/// `p99.88`: rounded down to three decimals.
fn quantile_name(part: f64) -> String {
    format!("p{}", (part * 1e5 + 1e-6).floor() / 1e3)
}

/// The lag that 1 % of that many operations reached, if it is large relative to the p99 of the
/// response time. Operations that are not in `lag` did not lag for this cause.
fn late(lag: &Latencies, operations: u64, response_p99: Bounded) -> Option<u64> {
    let tail = operations.div_ceil(100);
    let in_time = lag.len().checked_sub(tail)?;
    let quantile = (in_time + 1) as f64 / lag.len().max(1) as f64;
    let late = match tail {
        0 => return None,
        _ => lag.value_at_quantile(quantile.min(1.0)),
    };
    (late > LAG_MAX_NS.min(response_p99.value as u64 / 10) && late > LAG_MIN_NS).then_some(late)
}

/// The number of operations that were sent.
fn operations(lag: &StartLag) -> u64 {
    let causes = lag.causes.as_ref();
    causes.map_or(lag.all.len(), |causes| {
        causes.no_client.len() + causes.woken_late.len()
    })
}

/// The workload of a point, as the plan has it.
pub(super) fn workload<'a>(point: &PointContext<'a>) -> Option<&'a Workload> {
    let mut workloads = point.sweep.as_ref()?.plan.sweep.workloads.iter();
    let own = workloads.find(|workload| workload.name == point.key.workload);
    own.map(|own| &**own)
}

/// The highest p99 of the response time over all kinds that clients of the point send, nanoseconds.
fn response_p99(point: &PointContext<'_>) -> Option<Bounded> {
    let workload = workload(point);
    let is_sent = |kind: Kind| {
        workload.is_none_or(|workload| {
            requests_per_operation(workload, kind, point.key.threads) != Some(0.0)
        })
    };
    let of_kind = |kind: &KindResult| {
        let few = || Bounded::exact(kind.response().value_at_quantile(0.99) as f64);
        kind.ranked_response()
            .quantile(quantile::P99)
            .unwrap_or_else(few)
    };
    let kinds = point.phase().kinds.iter();
    let kinds = kinds.filter(|(kind, _)| is_sent(**kind));
    let kinds = kinds.map(|(_, result)| of_kind(result));
    kinds.max_by(|one, other| one.value.total_cmp(&other.value))
}

#[cfg(test)]
mod tests;
