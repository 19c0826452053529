//! What of a phase at a rate was due and never sent: counted at the age at which it was waited for
//! no longer, so that a stall at the end is not left out of the latencies that it caused.

use crate::{clock::Tick, roles::Roles};
use tailmark_results::{Latencies, Phase, new_latencies};

/// Adds to a phase what its clients left of their arrivals: due before `end`, and nobody had taken
/// it at `now`. Both are since the start of the warm-up.
///
/// Nobody drew what these operations would have been: each kind of request has the share of them
/// that it has of the operations that were sent.
pub fn add_left(phase: &mut Phase, roles: &Roles, end: Tick, now: Tick) {
    let mut ages = new_latencies();
    for arrivals in roles.arrivals() {
        ages.add(arrivals.take_left(end, now))
            .expect("a histogram that grows takes any other");
    }
    let sent = phase.operations + phase.censored;
    phase.censored += ages.len();
    if ages.is_empty() || sent == 0 {
        return;
    }
    for result in phase.kinds.values_mut() {
        let censored = result.censored.as_ref().map_or(0, |c| c.response.len());
        let share = (result.count + result.errors + censored) as f64 / sent as f64;
        let part = scaled(&ages, share);
        if !part.is_empty() {
            let censored = result.censored.get_or_insert_default();
            let added = censored.response.add(part);
            added.expect("a histogram that grows takes any other");
        }
    }
}

/// A share of every latency, 0 or more, rounded such that the total is right.
fn scaled(latencies: &Latencies, share: f64) -> Latencies {
    let mut part = new_latencies();
    let (mut seen, mut given) = (0, 0);
    for bucket in latencies.iter_recorded() {
        seen += bucket.count_at_value();
        let due = (seen as f64 * share).round() as u64;
        part.record_n(bucket.value_iterated_to(), due - given)
            .expect("a histogram that grows takes any value");
        given = due;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_latencies_is_as_large_and_as_old_as_all() {
        let mut all = new_latencies();
        (1..=1_000).for_each(|ms| all.record(ms * 1_000_000).unwrap());
        let part = scaled(&all, 0.25);
        assert_eq!(part.len(), 250);
        assert!((part.mean() / all.mean() - 1.0).abs() < 0.01);
        assert!(scaled(&all, 0.0).is_empty());
        assert_eq!(scaled(&all, 1.0), all);
    }
}
