//! Detects copied runs: the same file imported again, or the same point twice in a merged study.
//! Two real runs never have the same histograms and the same length to the last nanosecond, so equal
//! ones are one run, whenever each says that it began. Published figures have few digits and do
//! repeat. So runs without a histogram are copies only if they also have the same repeat number and
//! the same start, as in a copied study.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};
use tailmark_model::{KindResult, Latencies, Load, Phase, Point, PointName, Summary};

/// The runs and loads read so far. Readers skip runs that are not new, so that a copy enters no
/// value, interval, verdict or count.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunsRead(HashSet<u64>);

impl RunsRead {
    /// Whether no earlier run of this point has the same content.
    pub fn is_new(&mut self, point: &Point) -> bool {
        let mut hasher = DefaultHasher::new();
        (&point.key.system, PointName::from(&point.key)).hash(&mut hasher);
        if !add_phase(&point.phase, &mut hasher) {
            point.key.repeat.hash(&mut hasher);
        }
        self.0.insert(hasher.finish())
    }

    /// The same for a load.
    pub fn is_new_load(&mut self, load: &Load) -> bool {
        let mut hasher = DefaultHasher::new();
        ("load", &load.system).hash(&mut hasher);
        add_phase(&load.phase, &mut hasher);
        self.0.insert(hasher.finish())
    }
}

/// Hashes everything measured over the whole phase, which only copies have in common. Returns whether
/// it has a histogram. If so, its start, counters and bytes are left out: copies that were imported or
/// merged twice may differ in them, and repeats of a `sim` of constant latency in the bytes.
fn add_phase(phase: &Phase, hasher: &mut DefaultHasher) -> bool {
    let counts = (phase.operations, phase.failed, phase.drained);
    (phase.duration_s.to_bits(), counts, phase.censored).hash(hasher);
    let is_recorded = |result: &KindResult| !result.service.is_empty() || result.response.is_some();
    let has_histogram = phase.kinds.values().any(is_recorded);
    if !has_histogram {
        (phase.started_ms, &phase.counters).hash(hasher);
    }
    for (kind, result) in &phase.kinds {
        (*kind, result.count, result.not_found, result.errors).hash(hasher);
        if !has_histogram {
            result.bytes.hash(hasher);
        }
        add_latencies(&result.service, hasher);
        let others = [&result.response, &result.failed, &result.failed_response];
        for latencies in others.into_iter().flatten() {
            add_latencies(latencies, hasher);
        }
        let summaries = [&result.summary, &result.response_summary];
        let numbers = summaries.into_iter().flatten().flat_map(Summary::numbers);
        numbers.for_each(|(name, ns)| (name, ns.to_bits()).hash(hasher));
    }
    has_histogram
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
    use super::*;
    use tailmark_model::Kind;

    fn verdict(runs: &[Run]) -> (Verdict, usize, Option<f64>) {
        let found = &comparisons(runs, &all_pairs(&["a", "b"]), 0.03)[0];
        (found.verdict, found.runs_a, found.p)
    }

    /// A repeat with these operations. With a histogram, all of them are reads of 1 us.
    fn run(repeat: u32, operations: u64, has_histogram: bool) -> Point {
        let key = runs("a", 4, 1.0, true)[repeat as usize].key.clone();
        let mut read = KindResult::default();
        if has_histogram {
            read.service.record_n(1_000, operations).unwrap();
        }
        let phase = Phase {
            operations,
            kinds: [(Kind::Read, read)].into(),
            ..Phase::default()
        };
        Point { key, phase }
    }

    #[test]
    fn equal_histograms_are_copies_whatever_their_bytes() {
        let mut read = RunsRead::default();
        let all = [0, 1].map(|repeat| {
            let mut run = run(repeat, 100, true);
            let reads = run.phase.kinds.get_mut(&Kind::Read).unwrap();
            reads.bytes = 4_096 * u64::from(repeat);
            run
        });
        assert_eq!(all.map(|run| read.is_new(&run)), [true, false]);
    }

    #[test]
    fn equal_figures_without_a_histogram_are_repeats_unless_they_are_the_same_repeat() {
        let mut read = RunsRead::default();
        let all = [0, 1, 2].map(|repeat| run(repeat, 100, false));
        assert_eq!(all.clone().map(|run| read.is_new(&run)), [true; 3]);
        assert_eq!(all.map(|run| read.is_new(&run)), [false; 3]);
    }

    #[test]
    fn copies_of_a_run_count_once() {
        let run = |repeat, operations| run(repeat, operations, true);
        let mut read = RunsRead::default();
        let all = [run(0, 7), run(1, 7), run(2, 8)];
        assert_eq!(all.map(|seen| read.is_new(&seen)), [true, false, true]);
        let mut elsewhere = run(3, 7);
        elsewhere.key.threads = 8;
        assert!(read.is_new(&elsewhere));
    }

    #[test]
    fn a_copy_with_another_start_and_other_counters_is_a_copy_if_it_has_a_histogram() {
        let are_new = |has_histogram| {
            let mut read = RunsRead::default();
            [0, 1, 2].map(|hour| {
                let mut point = run(0, 7, has_histogram);
                point.phase.started_ms = Some(1_790_000_000_000 + 3_600_000 * hour);
                let counters = &mut point.phase.counters;
                counters.insert("bytes written".to_owned(), hour);
                read.is_new(&point)
            })
        };
        assert_eq!(are_new(true), [true, false, false]);
        // Published figures repeat, so their start tells them apart.
        assert_eq!(are_new(false), [true; 3]);
    }

    #[test]
    fn a_load_with_another_start_is_a_copy_if_it_has_a_histogram() {
        let mut read = RunsRead::default();
        let are_new = [1, 2].map(|hour| {
            let mut phase = run(0, 7, true).phase;
            phase.started_ms = Some(3_600_000 * hour);
            read.is_new_load(&Load {
                system: "a".to_owned(),
                records: 7,
                threads: 1,
                phase,
            })
        });
        assert_eq!(are_new, [true, false]);
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
