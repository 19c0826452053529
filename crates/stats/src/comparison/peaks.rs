//! Compares the peaks of two systems, whatever the thread counts of those peaks.

use super::{
    Comparison, Place, Positions, Side, Test, Verdict, center, compare, is_within, values,
};
use crate::{
    Run,
    statistics::{self, CountRun, RUNS_MIN},
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Bound, Metric, PointKey, PointName};

/// The points of a system whose runs are valid.
type Points<'r> = BTreeMap<PointName, Vec<&'r Run>>;

/// The points of two systems that were measured, valid or not.
pub(super) type Measured<'m> = [&'m BTreeSet<PointName>; 2];

/// Compares peaks in each workload that both systems have, in closed loops. A peak may be where the
/// other system has no valid point, and decide. Then the peaks over those thread counts are compared
/// that both measured. Nothing is tested if there are none, or if a point of the lower one is not
/// valid there.
pub(super) fn at_peaks<'r>(
    (a, of_a): Side<'_, &Points<'r>>,
    (b, of_b): Side<'_, &Points<'r>>,
    measured: Measured<'_>,
    band: f64,
    positions: &Positions,
) -> Vec<Comparison> {
    let found = in_workloads((a, of_a), (b, of_b), band, positions);
    if found.iter().all(|(_, is_alike)| *is_alike) {
        return found.into_iter().map(|(one, _)| one).collect();
    }
    let common = |points: &Points<'r>| -> Points<'r> {
        let is_common = |name: &&PointName| measured.iter().all(|own| own.contains(name));
        let names = points.keys().filter(is_common);
        names
            .map(|name| (name.clone(), points[name].clone()))
            .collect()
    };
    let over_common = in_workloads((a, &common(of_a)), (b, &common(of_b)), band, positions);
    let chosen = found.into_iter().map(|(whole, is_tested)| {
        let is_same = |(one, is_alike): &&(Comparison, bool)| {
            *is_alike && one.workload == whole.workload && one.distribution == whole.distribution
        };
        let other = over_common.iter().find(is_same).filter(|_| !is_tested);
        let Some((other, _)) = other else {
            return whole;
        };
        let mut other = other.clone();
        if let Place::Peak { is_over_common, .. } = &mut other.place {
            *is_over_common = true;
        }
        other
    });
    chosen.collect()
}

/// The comparison of the peaks in each workload that both systems have, and whether their thread
/// counts leave it to be tested: a peak is not above that of a system without its thread counts, and
/// two are equivalent only over the same, because the higher one might be higher still.
fn in_workloads<'r>(
    (a, of_a): Side<'_, &Points<'r>>,
    (b, of_b): Side<'_, &Points<'r>>,
    band: f64,
    positions: &Positions,
) -> Vec<(Comparison, bool)> {
    let (peaks_a, peaks_b) = (peaks(of_a), peaks(of_b));
    let common = peaks_a.iter().filter_map(|(workload, peak_a)| {
        let peak_b = peaks_b.get(workload)?;
        let mut found = of_two((a, peak_a), (b, peak_b), positions)?;
        let (counts_a, counts_b) = (thread_counts(of_a, workload), thread_counts(of_b, workload));
        let ratio = found.ratio.value;
        // If only a peak is known, its thread count is not.
        let is_one_known_alone = |counts: &BTreeSet<u32>| counts.contains(&PointKey::PEAK);
        let ends = found.interval.unwrap_or((ratio, ratio));
        let is_equivalent = is_within(ends.0, band) && is_within(ends.1, band);
        let is_alike = if is_one_known_alone(&counts_a) || is_one_known_alone(&counts_b) {
            true
        } else if is_equivalent {
            counts_a == counts_b
        } else if ratio > 1.0 {
            counts_a.is_subset(&counts_b)
        } else {
            counts_b.is_subset(&counts_a)
        };
        let bounds = [peak_a.bound(), peak_b.bound()];
        let bound = bounds[0].and(bounds[1].reversed())?;
        (found.centers[0].bound, found.centers[1].bound) = (bounds[0], bounds[1]);
        found.bound_by(bound);
        if !is_alike {
            found.leave_open();
            found.one_sided = None;
        }
        Some((found, is_alike))
    });
    common.collect()
}

/// Compares two peaks: the ratio of cross-validated repeats and, with several thread counts, the
/// test over all of them.
fn of_two<'r>(
    (a, of_a): Side<'_, &Peak<'_, 'r>>,
    (b, of_b): Side<'_, &Peak<'_, 'r>>,
    positions: &Positions,
) -> Option<Comparison> {
    let place = Place::Peak {
        threads_a: of_a.threads,
        threads_b: of_b.threads,
        is_over_common: false,
    };
    let (runs_a, runs_b) = (of_a.runs(), of_b.runs());
    let mut found = compare(
        (a, &runs_a),
        (b, &runs_b),
        Metric::OPS_PER_SEC,
        place,
        positions,
    )?;
    let all = || of_a.counts.iter().chain(&of_b.counts);
    if all().count() == 2 || found.interval.is_none() {
        return Some(found);
    }
    let every = |peak: &Peak<'_, 'r>| -> Vec<&'r Run> {
        peak.counts
            .iter()
            .flat_map(|runs| runs.iter().copied())
            .collect()
    };
    let take_turns = positions.of_turns(&every(of_a), &every(of_b)).is_some();
    let count_runs = |peak: &Peak<'_, '_>| -> Vec<Vec<CountRun>> {
        let run = |own: &&Run| {
            let position = positions.of_run(own).filter(|_| take_turns);
            (position, own.values[&Metric::OPS_PER_SEC].value)
        };
        let counts = peak.counts.iter();
        counts.map(|own| own.iter().map(run).collect()).collect()
    };
    let ratio = statistics::peak_ratio(
        &count_runs(of_a),
        &count_runs(of_b),
        super::repeat_range(every(of_a).into_iter().chain(every(of_b))),
    );
    let [mean_a, mean_b] = found.centers.map(|center| center.value);
    let slope = ratio.map_or(0.0, |ratio| ratio.slope);
    let drift = slope * (positions.mean(&runs_a) - positions.mean(&runs_b));
    found.ratio.value = mean_a / mean_b / drift.exp();
    found.test = Test::Peaks;
    // The value is cross-validated, the interval is about the highest means: it may lie outside.
    let value = found.ratio.value;
    let holding = |(low, high): (f64, f64)| (low.min(value), high.max(value));
    found.interval = ratio.map(|ratio| holding(ratio.interval));
    found.one_sided = ratio.map(|ratio| holding(ratio.one_sided));
    let has_too_few = ratio.is_none_or(|ratio| ratio.runs_min < RUNS_MIN);
    if has_too_few && found.verdict == Verdict::NoDifferenceShown {
        found.verdict = Verdict::TooFewRuns;
    }
    let is_tested = found.verdict == Verdict::NoDifferenceShown;
    found.p = ratio.filter(|_| is_tested).map(|ratio| ratio.p);
    Some(found)
}

/// The thread counts of a workload at which all runs of the closed-loop point are valid.
fn thread_counts(cells: &Points<'_>, (workload, distribution): &(&str, &str)) -> BTreeSet<u32> {
    let names = cells.keys();
    let own = names.filter(|name| name.is_closed_loop_of(workload, distribution));
    own.map(|name| name.threads).collect()
}

/// The thread counts of a system in a closed loop of one workload.
struct Peak<'c, 'r> {
    /// The thread count with the highest geometric mean; of equal ones the lowest.
    threads: u32,
    highest: f64,
    /// The runs of each thread count that has a value.
    counts: Vec<&'c Vec<&'r Run>>,
}

impl<'r> Peak<'_, 'r> {
    /// A lower bound if the clients were the limit at a thread count that may be the peak.
    fn bound(&self) -> Bound {
        let value = |run: &&Run| run.values[&Metric::OPS_PER_SEC].value;
        let values = |runs: &&Vec<&Run>| runs.iter().map(value).collect();
        let values: Vec<Vec<f64>> = self.counts.iter().map(values).collect();
        let is_limit = |runs: &Vec<&Run>| runs.iter().any(|run| run.is_client_limit);
        let mut counts = self.counts.iter().zip(statistics::may_be_peak(&values));
        if counts.any(|(runs, may_be_peak)| may_be_peak && is_limit(runs)) {
            Bound::AtLeast
        } else {
            Bound::Exact
        }
    }

    /// For each repeat, its run at the thread count that the other repeats choose.
    fn runs(&self) -> Vec<&'r Run> {
        let value = |run: &&Run| (run.key.repeat, run.values[&Metric::OPS_PER_SEC].value);
        let counts = self.counts.iter();
        let counts: Vec<Vec<_>> = counts
            .map(|runs| runs.iter().map(value).collect())
            .collect();
        let chosen = statistics::leave_one_out(&counts).into_iter();
        let run = |(index, repeat): (usize, u32)| {
            let mut runs = self.counts[index].iter();
            runs.find(|run| run.key.repeat == repeat).copied()
        };
        chosen.filter_map(run).collect()
    }
}

/// The closed-loop thread counts with a known value, for each workload and distribution.
fn peaks<'c, 'r>(cells: &'c Points<'r>) -> BTreeMap<(&'c str, &'c str), Peak<'c, 'r>> {
    let mut peaks: BTreeMap<_, Peak<'_, '_>> = BTreeMap::new();
    let closed = |name: &PointName| name.target_rate().is_none();
    for (name, runs) in cells.iter().filter(|(name, _)| closed(name)) {
        let Some(ops) = values(runs, Metric::OPS_PER_SEC).and_then(|ops| center(&ops)) else {
            continue;
        };
        let of_workload = peaks.entry((name.workload.as_str(), name.distribution.as_str()));
        let peak = of_workload.or_insert_with(|| Peak {
            threads: name.threads,
            highest: ops.value,
            counts: Vec::new(),
        });
        peak.counts.push(runs);
        if ops.value > peak.highest {
            (peak.threads, peak.highest) = (name.threads, ops.value);
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::super::{all_pairs, comparisons, tests::runs};
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

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
        // The system that is twice as fast has a failed run at 4 threads.
        let compared = peak(&[&a[..], &b[..]].concat());
        assert_eq!(
            (compared.verdict, compared.p, compared.interval),
            (Verdict::NotTestable, None, None)
        );
        assert_eq!(compared.reversed().verdict, Verdict::NotTestable);
        // What it lacks could only have made it better still.
        let ahead = peak(&[runs("a", 1, 9_000.0, true), b[0].clone(), b[1].clone()]);
        assert_eq!(ahead.verdict, Verdict::Better);
        // Within the band a point that failed may decide.
        let failed = runs("a", 4, 1.0, false);
        let alike = peak(&[
            runs("a", 1, 4_000.0, true),
            failed,
            b[0].clone(),
            b[1].clone(),
        ]);
        assert_eq!(alike.verdict, Verdict::NotTestable);
        // Where noise hides a difference, the lower one has all thread counts of the other.
        let apart = |low: f64, high: f64| {
            let mut lower = runs("a", 4, low, true);
            let noisy = lower.iter_mut().zip([0.96, 1.0, 1.04, 1.0]);
            noisy.for_each(|(run, by)| {
                run.values = [(
                    Metric::OPS_PER_SEC,
                    tailmark_model::Bounded::exact(low * by),
                )]
                .into();
            });
            peak(&[
                lower,
                runs("a", 1, 1_000.0, true),
                runs("b", 1, 1.0, false),
                runs("b", 4, high, true),
            ])
        };
        assert_eq!(apart(3_900.0, 3_950.0).verdict, Verdict::NoDifferenceShown);
        assert_eq!(apart(4_000.0, 3_950.0).verdict, Verdict::NotTestable);
        let [a1, mut a4] = a;
        a4.iter_mut().for_each(|run| run.is_valid = true);
        assert_eq!(
            peak(&[a1, a4, b[0].clone(), b[1].clone()]).verdict,
            Verdict::Better
        );
    }

    #[test]
    fn peaks_over_unlike_thread_counts_are_compared_at_those_in_common() {
        let a = [runs("a", 1, 2_000.0, true), runs("a", 4, 8_000.0, true)];
        let more = peak(&[&a[..], &[runs("b", 1, 1_000.0, true)]].concat());
        let at = |threads_a, is_over_common| Place::Peak {
            threads_a,
            threads_b: 1,
            is_over_common,
        };
        assert_eq!(more.place, at(1, true), "b was never measured at 4 threads");
        assert_eq!((more.verdict, more.ratio.value), (Verdict::Better, 2.0));
        // What the lower one has alone could only help it.
        let lower = [runs("b", 1, 9_000.0, true)];
        let less = peak(&[&a[..], &lower[..]].concat());
        assert_eq!((less.place, less.verdict), (at(4, false), Verdict::Worse));
        // Without any in common there is no peak to compare.
        let apart = peak(&[&a[1..], &[runs("b", 1, 1_000.0, true)]].concat());
        assert_eq!(apart.verdict, Verdict::NotTestable);
    }

    /// Runs of four repeats at several thread counts, with these factors in each repeat.
    fn noisy(system: &str, ops: &[(u32, [f64; 4])]) -> Vec<Run> {
        let all = ops.iter().flat_map(|(threads, values)| {
            let runs = runs(system, *threads, 1.0, true).into_iter();
            runs.zip(values).map(|(mut run, value)| {
                run.values = [(Metric::OPS_PER_SEC, tailmark_model::Bounded::exact(*value))].into();
                run
            })
        });
        all.collect()
    }

    #[test]
    fn the_value_of_a_peak_is_that_of_repeats_where_the_others_have_theirs() {
        // The highest mean is at 8 threads, by the first repeat alone.
        let a = noisy(
            "a",
            &[
                (4, [100.0, 100.0, 100.0, 100.0]),
                (8, [140.0, 99.0, 99.0, 99.0]),
            ],
        );
        let b = noisy(
            "b",
            &[
                (4, [100.0, 101.0, 99.0, 100.0]),
                (8, [90.0, 91.0, 89.0, 90.0]),
            ],
        );
        let found = peak(&[a, b]);
        assert_eq!(
            found.place,
            Place::Peak {
                threads_a: 8,
                threads_b: 4,
                is_over_common: false,
            }
        );
        // Without the first repeat 4 threads are highest, without another one 8.
        assert_eq!(found.values[0], [100.0, 99.0, 99.0, 99.0]);
        assert_eq!(found.test, Test::Peaks);
        let (low, high) = found.interval.unwrap();
        assert!(low < 1.0 && 1.0 < high, "{found:?}");
        assert!(!found.verdict.is_difference(), "{found:?}");
    }

    #[test]
    fn the_ratio_of_two_peaks_lies_in_its_interval_in_all_of_2_000_draws() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(32);
        for draw in 0..2_000 {
            let mut system = |name: &str, counts: u32| {
                let mut run = |_| 95.0 + 10.0 * (random.next_u64() >> 11) as f64 / 2_f64.powi(53);
                let count = |threads| (threads, [0; 4].map(&mut run));
                noisy(name, &(1..=counts).map(count).collect::<Vec<_>>())
            };
            let both = [system("a", 10), system("b", [10, 1][draw % 2])];
            let compared = peak(&both);
            for found in [compared.reversed(), compared] {
                for (low, high) in [found.interval, found.one_sided].into_iter().flatten() {
                    assert!(
                        (low..=high).contains(&found.ratio.value),
                        "{draw}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_client_that_was_the_limit_at_a_count_that_may_be_the_peak_makes_a_bound() {
        let verdict = |ops: [f64; 4]| {
            let lower = noisy("a", &[(8, [100.0, 101.0, 99.0, 100.0]), (16, ops)]);
            let limited = lower.into_iter().map(|run| Run {
                is_client_limit: run.key.threads == 16,
                ..run
            });
            let higher = noisy("b", &[(8, [150.0, 151.0, 149.0, 150.0])]);
            let found = peak(&[limited.collect(), higher]);
            (found.verdict, found.centers[0].bound)
        };
        let close = verdict([99.0, 101.0, 98.0, 100.0]);
        assert_eq!(close, (Verdict::NotTestable, Bound::AtLeast));
        let below = verdict([70.0, 71.0, 69.0, 70.0]);
        assert_eq!(below, (Verdict::Worse, Bound::Exact));
    }

    #[test]
    fn a_bound_on_the_side_of_the_better_is_at_least_and_two_make_no_ratio() {
        let with = |limits: [bool; 2]| {
            let mut all = [runs("a", 4, 96_855.0, true), runs("b", 4, 25_465.0, true)];
            for (runs, is_client_limit) in all.iter_mut().zip(limits) {
                runs.iter_mut()
                    .for_each(|run| run.is_client_limit = is_client_limit);
            }
            let found = comparisons(&all.concat(), &all_pairs(&["a", "b"]), 0.03);
            let peak = found
                .into_iter()
                .find(|c| matches!(c.place, Place::Peak { .. }));
            peak.map(|peak| (peak.verdict, peak.ratio.bound))
        };
        assert_eq!(with([false, false]), Some((Verdict::Better, Bound::Exact)));
        assert_eq!(with([true, false]), Some((Verdict::Better, Bound::AtLeast)));
        assert_eq!(
            with([false, true]),
            Some((Verdict::NotTestable, Bound::AtMost))
        );
        assert_eq!(with([true, true]), None);
    }
}
