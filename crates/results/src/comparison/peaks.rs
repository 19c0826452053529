//! How the peaks of two systems compare, whatever the thread counts where they are.

use super::{CellName, Comparison, Place, Side, Verdict, center, compare, values};
use crate::{Metric, PointKey, Run};
use std::collections::{BTreeMap, BTreeSet};

/// The peaks of both in each workload that they have in common, in closed loops. Where one leads that
/// has a valid point at a thread count at which the other has none, the other might have had a higher
/// one there: nothing is tested then. Peaks within the band are tested only where both have the same
/// thread counts.
pub(super) fn at_peaks<'r>(
    (a, of_a): Side<'_, &BTreeMap<CellName, Vec<&'r Run>>>,
    (b, of_b): Side<'_, &BTreeMap<CellName, Vec<&'r Run>>>,
    band: f64,
) -> Vec<Comparison> {
    let (peaks_a, peaks_b) = (peaks(of_a), peaks(of_b));
    let common = peaks_a.iter().filter_map(|(workload, (_, runs_a))| {
        let (_, runs_b) = peaks_b.get(workload)?;
        let place = Place::Peak {
            threads_a: runs_a[0].key.threads,
            threads_b: runs_b[0].key.threads,
        };
        let mut found = compare((a, runs_a), (b, runs_b), Metric::OpsPerSec, place)?;
        let (counts_a, counts_b) = (thread_counts(of_a, workload), thread_counts(of_b, workload));
        let ratio = found.ratio.value;
        // Where only a peak is known, nobody can say at which thread counts it is one.
        let is_one_known_alone = |counts: &BTreeSet<u32>| counts.contains(&PointKey::PEAK);
        let is_alike = match () {
            () if is_one_known_alone(&counts_a) || is_one_known_alone(&counts_b) => true,
            () if ratio > 1.0 + band => counts_a.is_subset(&counts_b),
            () if ratio < 1.0 / (1.0 + band) => counts_b.is_subset(&counts_a),
            () => counts_a == counts_b,
        };
        if !is_alike {
            (found.verdict, found.p) = (Verdict::NotTestable, None);
            (found.interval, found.one_sided) = (None, None);
        }
        Some(found)
    });
    common.collect()
}

/// The thread counts at which a workload has a point in a closed loop whose runs are all valid.
fn thread_counts(
    cells: &BTreeMap<CellName, Vec<&Run>>,
    (workload, distribution): &(&str, &str),
) -> BTreeSet<u32> {
    let own = cells.keys().filter(|name| {
        name.3.is_none() && (name.0.as_str(), name.1.as_str()) == (*workload, *distribution)
    });
    own.map(|name| name.2).collect()
}

/// Of each workload and distribution the point with the highest operations per second, the one
/// with fewer clients of equals.
fn peaks<'c, 'r>(
    cells: &'c BTreeMap<CellName, Vec<&'r Run>>,
) -> BTreeMap<(&'c str, &'c str), (f64, &'c Vec<&'r Run>)> {
    let mut peaks = BTreeMap::new();
    for (name, runs) in cells.iter().filter(|(name, _)| name.3.is_none()) {
        let Some(ops) = values(runs, Metric::OpsPerSec).and_then(|ops| center(&ops)) else {
            continue;
        };
        let peak = peaks
            .entry((name.0.as_str(), name.1.as_str()))
            .or_insert((ops.value, runs));
        if ops.value > peak.0 {
            *peak = (ops.value, runs);
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::super::{all_pairs, comparisons, tests::runs};
    use super::*;

    fn peak(runs: &[Vec<Run>]) -> Comparison {
        let found = comparisons(&runs.concat(), &all_pairs(&["a", "b"]), 0.03);
        let mut peaks = found
            .into_iter()
            .filter(|c| matches!(c.place, Place::Peak { .. }));
        peaks.next().unwrap()
    }

    #[test]
    fn a_peak_is_not_better_than_one_whose_system_lacks_its_thread_counts() {
        let a = [runs("a", 1, 2_000.0, true), runs("a", 4, 8_000.0, false)];
        let b = [runs("b", 1, 1_000.0, true), runs("b", 4, 4_000.0, true)];
        // The system that is twice as fast has a failed run at 4 threads, or none.
        for a in [&a[..], &a[..1]] {
            let of = peak(&[a, &b[..]].concat());
            assert_eq!(
                (of.verdict, of.p, of.interval),
                (Verdict::NotTestable, None, None)
            );
            assert_eq!(of.reversed().verdict, Verdict::NotTestable);
        }
        // What it lacks could only have made it better still.
        let ahead = peak(&[runs("a", 1, 9_000.0, true), b[0].clone(), b[1].clone()]);
        assert_eq!(ahead.verdict, Verdict::Better);
        // Within the band a point that is missing may decide.
        let alike = peak(&[runs("a", 1, 4_000.0, true), b[0].clone(), b[1].clone()]);
        assert_eq!(alike.verdict, Verdict::NotTestable);
        let [a1, mut a4] = a;
        a4.iter_mut().for_each(|run| run.is_valid = true);
        assert_eq!(
            peak(&[a1, a4, b[0].clone(), b[1].clone()]).verdict,
            Verdict::Better
        );
    }
}
