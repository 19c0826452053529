//! The rule for background clients at a rate of their own: whether they kept it.

use super::{PointContext, rate};
use tailmark_model::{Kind, KindResult, Phase, Sentence, Unit, finding::LATE_KINDS, number};
use tailmark_plan::requests_per_operation;
use tailmark_workload::{GroupClients, Workload};

/// The share of due requests that may be missing.
const MISSING_MAX: f64 = 0.01;

/// The background clients of a workload.
struct Background {
    clients: u32,
    /// Operations per second over all of them.
    rate: f64,
}

impl Background {
    /// `None` if there are none, or if some have no fixed rate.
    fn from_workload(workload: &Workload) -> Option<Self> {
        let mut all = Self {
            clients: 0,
            rate: 0.0,
        };
        for group in &workload.groups {
            if let GroupClients::Background(clients) = group.clients {
                all.clients += clients;
                all.rate += group.rate.filter(|_| group.sine.is_none())?;
            }
        }
        (all.clients > 0).then_some(all)
    }
}

/// Background clients did less in the measured part than was due, so the load beside the point was
/// lighter than the plan asks for.
pub(super) fn rate_not_met(point: &PointContext<'_>) -> Option<Sentence> {
    let workload = rate::workload(point)?;
    of_workload(point.phase(), workload, point.key.threads)
}

fn of_workload(phase: &Phase, workload: &Workload, threads: u32) -> Option<Sentence> {
    let background = Background::from_workload(workload)?;
    let is_own = |kind: Kind| requests_per_operation(workload, kind, threads) == Some(0.0);
    let own = || phase.kinds.iter().filter(|(kind, _)| is_own(**kind));
    let due = background.rate * phase.duration_s;
    let drained: f64 = own().map(|(_, result)| drained(result)).sum();
    let done = (phase.background_requests() as f64 - drained).max(0.0);
    let may_be_missing = (MISSING_MAX * due).max(f64::from(background.clients));
    if due - done <= may_be_missing {
        return None;
    }
    let (count, busy_ns) = own().fold((0.0, 0.0), |(count, sum), (_, result)| {
        let all = result.service.len() as f64;
        (count + all, sum + all * result.service.mean())
    });
    let each_ns = busy_ns / count;
    let are_too_few = background.rate * each_ns / 1e9 >= f64::from(background.clients);
    let why = if are_too_few {
        "{Background clients} at {Time of a request} per request can do no more, so requests are \
         sent late ({Sent late}): lower sweep.background_rate, or give the workload more background \
         clients"
    } else {
        "Find out where the system stalled, or lower sweep.background_rate"
    };
    let sentence = Sentence::new(format!(
        "Background clients did {{Requests done}} of the {{Requests due}} requests that were due by \
         the end, so the load beside this point was lighter than planned. {why}."
    ))
    .count("Requests done", done.round() as u64)
    .count("Requests due", due.round() as u64);
    if !are_too_few {
        return Some(sentence);
    }
    let clients = number::plural(background.clients.into(), "background client");
    let names: Vec<&str> = own().map(|(kind, _)| kind.name()).collect();
    let sentence = sentence.text("Background clients", clients);
    let sentence = sentence.number("Time of a request", each_ns, Unit::Nanoseconds);
    Some(sentence.text(LATE_KINDS, names.join(", ")))
}

/// About how many requests of a kind were done after the end: their share of the bytes.
fn drained(result: &KindResult) -> f64 {
    let share = result.drained_bytes as f64 / result.bytes.max(1) as f64;
    share * result.count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::new_latencies;
    use tailmark_testing::assert_says;

    /// 10 s with this many writes of a background client due 1,000 times a second, of which some
    /// were done after the end.
    fn found(writes: u64, drained: u64, us: u64) -> Option<Sentence> {
        let mut workload = tailmark_workload::find("readwhilewriting").unwrap();
        let mut groups = workload.groups.iter_mut();
        let group = groups.find(|group| group.is_background()).unwrap();
        group.rate = Some(1_000.0);
        let kind = |count: u64, late: u64| {
            let mut service = new_latencies();
            service.record_n(us * 1_000, count).unwrap();
            KindResult {
                count,
                bytes: count * 100,
                drained_bytes: late * 100,
                service,
                ..KindResult::default()
            }
        };
        let phase = Phase {
            duration_s: 10.0,
            operations: 50_000,
            kinds: [
                (Kind::Read, kind(50_000, 0)),
                (Kind::Insert, kind(writes, drained)),
            ]
            .into(),
            ..Phase::default()
        };
        of_workload(&phase, &workload, 4)
    }

    #[test]
    fn a_background_rate_that_is_missed_is_a_finding_from_one_in_a_hundred_on() {
        assert_eq!(found(10_000, 0, 100), None);
        assert_eq!(found(9_900, 0, 100), None);
        assert!(found(9_899, 0, 100).is_some());
        // Requests done after the end were no load beside the point.
        let stalled = found(10_000, 1_000, 100).unwrap();
        let parts = [
            "did 9,000 of the 10,000 requests",
            "where the system stalled",
        ];
        assert_says(&stalled.to_string(), &parts);
        assert!(!stalled.evidence.iter().any(|own| own.name == LATE_KINDS));
    }

    #[test]
    fn too_few_background_clients_are_named_with_what_they_can_do() {
        let slow = found(5_000, 2_500, 4_000).unwrap();
        let parts = [
            "did 2,500 of the 10,000 requests",
            "1 background client at 4.00 ms per request can do no more",
            "sweep.background_rate",
        ];
        assert_says(&slow.to_string(), &parts);
        assert!(slow.evidence.iter().any(|own| own.name == LATE_KINDS));
    }

    #[test]
    fn without_a_rate_background_clients_miss_none() {
        let workload = tailmark_workload::find("readwhilewriting").unwrap();
        let phase = Phase {
            duration_s: 10.0,
            ..Phase::default()
        };
        assert_eq!(of_workload(&phase, &workload, 4), None);
    }
}
