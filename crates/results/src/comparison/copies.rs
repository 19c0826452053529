//! Runs that are copies of others: the same file imported again, or the same point twice in a merged
//! study. Two runs never measure the same to the last nanosecond, so equal content is one run.

use crate::{Latencies, Phase, Summary};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number that only copies have in common: of all that was measured over the whole phase.
pub(super) fn digest(phase: &Phase) -> u64 {
    let mut hasher = DefaultHasher::new();
    let counts = (phase.operations, phase.failed, phase.drained);
    (phase.started_ms, phase.duration_s.to_bits(), counts).hash(&mut hasher);
    (phase.censored, &phase.counters).hash(&mut hasher);
    for (kind, result) in &phase.kinds {
        let counts = (result.count, result.not_found, result.errors, result.bytes);
        (*kind, counts).hash(&mut hasher);
        add_latencies(&result.service, &mut hasher);
        for latencies in [&result.response, &result.failed].into_iter().flatten() {
            add_latencies(latencies, &mut hasher);
        }
        let summaries = [&result.summary, &result.response_summary];
        let numbers = summaries.into_iter().flatten().flat_map(Summary::numbers);
        numbers.for_each(|(name, ns)| (name, ns.to_bits()).hash(&mut hasher));
    }
    hasher.finish()
}

fn add_latencies(latencies: &Latencies, hasher: &mut DefaultHasher) {
    latencies.len().hash(hasher);
    for value in latencies.iter_recorded() {
        (value.value_iterated_to(), value.count_at_value()).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Run, Verdict, all_pairs, comparisons, tests::runs};

    fn verdict(runs: &[Run]) -> (Verdict, usize, Option<f64>) {
        let found = &comparisons(runs, &all_pairs(&["a", "b"]), 0.03)[0];
        (found.verdict, found.runs_a, found.p)
    }

    #[test]
    fn copies_of_a_run_count_once() {
        let (mut a, b) = (runs("a", 4, 80.0, true), runs("b", 4, 100.0, true));
        assert_eq!(verdict(&[a.clone(), b.clone()].concat()).0, Verdict::Worse);
        a.iter_mut().for_each(|run| run.digest = Some(7));
        let copied = verdict(&[a, b].concat());
        assert_eq!(copied, (Verdict::TooFewRuns, 1, None));
    }

    #[test]
    fn runs_without_any_noise_give_no_verdict() {
        let equal = |system, ops: f64| {
            let mut runs = runs(system, 4, ops, true);
            let first = runs[0].values.clone();
            runs.iter_mut().for_each(|run| run.values = first.clone());
            runs
        };
        let both = [equal("a", 80.0), equal("b", 100.0)].concat();
        assert_eq!(verdict(&both), (Verdict::TooFewRuns, 4, None));
    }
}
