//! Peaks: the highest of several client counts, chosen and measured by the same runs.
//!
//! The highest of several means is too high by chance, and a test that ignores this choice finds
//! false differences. So the value of a peak is cross-validated: each repeat is taken at the count
//! that the other repeats choose. The interval of the ratio of two peaks is simultaneous over all
//! counts that may be the peak:
//!
//! - lower end: max over i of min over j of d(i, j) - t(1 - share * alpha / K of a) * se(i, j)
//! - upper end: min over j of max over i of d(i, j) + t(1 - share * alpha / K of b) * se(i, j)
//!
//! d, se and the degrees of freedom of t are Welch's, for the logarithms of count i of one system
//! and count j of the other. K is the number of plausible counts: those whose mean is not below the
//! highest by more than t(1 - alpha / 10 / counts) standard errors of their difference. The lower
//! end is wrong only if one of at most K bounds against the true peak of the other system is wrong,
//! or if a count was wrongly judged implausible: 0.4 + 0.1 of alpha on either side, by Bonferroni.
//! `docs/METHOD.md` shows how well this holds.

mod trend;

use super::{
    Logs, Look, RUNS_MIN, SIGNIFICANCE,
    student::{t_above, t_quantile},
    welch::{Gap, ROUNDING},
};
pub use trend::CountRun;
use trend::Trend;

use std::collections::BTreeSet;
use tailmark_model::RepeatRange;

/// The share of alpha for judging counts implausible, for each system with several.
const IMPLAUSIBLE: f64 = 0.1;

/// The comparison of two systems' peaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakRatio {
    /// The 95 % interval of the ratio.
    pub interval: (f64, f64),
    /// The one-sided 95 % ends: the true ratio is not below the first and not above the second.
    pub one_sided: (f64, f64),
    /// The lowest alpha at which the interval excludes 1.
    pub p: f64,
    /// The fewest runs of a count that may be a peak.
    pub runs_min: usize,
    /// How much logarithms rise from one position in the study to the next; 0 without positions.
    pub slope: f64,
}

/// The ratio of the peak of `a` to that of `b`, given the runs of each by client count. If all have
/// positions and the counts took turns too, their common linear trend is removed first. On a
/// ladder, counts follow each other and no trend is removed: over such a distance its error would
/// exceed the differences. `None` if a count has fewer than two runs, a value is not positive, or
/// no run differs from the others of its count. `repeats` is their range, if they end by themselves.
pub fn peak_ratio(
    a: &[Vec<CountRun>],
    b: &[Vec<CountRun>],
    repeats: Option<RepeatRange>,
) -> Option<PeakRatio> {
    let (a, b, slope) = logs_of(a, b)?;
    let peaks = Peaks::new(&a, &b);
    if peaks.gaps.iter().flatten().all(|gap| !gap.has_noise()) {
        return None;
    }
    let runs_min = [(0, &a), (1, &b)]
        .into_iter()
        .flat_map(|(side, logs)| logs.iter().zip(peaks.plausible(side, SIGNIFICANCE)))
        .filter(|(_, is_plausible)| *is_plausible)
        .map(|(logs, _)| logs.count as usize)
        .min()?;
    let look = Look::after(runs_min, repeats);
    let interval = |alpha| {
        let (low, high): (f64, f64) = peaks.interval(look.nominal(alpha));
        (low.exp(), high.exp())
    };
    Some(PeakRatio {
        interval: interval(SIGNIFICANCE),
        one_sided: interval(2.0 * SIGNIFICANCE),
        p: look.over_all(peaks.p()),
        runs_min,
        slope,
    })
}

/// The 95 % interval of one peak, given the runs by client count, computed as in [`peak_ratio`].
/// `None` under two runs of a count, or if a value is not positive.
pub fn peak_interval(counts: &[Vec<f64>]) -> Option<(f64, f64)> {
    let logs: Option<Vec<Logs>> = counts.iter().map(|runs| Logs::from_values(runs)).collect();
    let logs = logs.filter(|logs| logs.iter().all(|own| own.count >= 2.0))?;
    // A system that is known exactly, and stands at 1.
    let exact = [Logs {
        count: 2.0,
        mean: 0.0,
        variance: 0.0,
    }];
    let (low, high) = Peaks::new(&logs, &exact).interval(SIGNIFICANCE);
    Some((low.exp(), high.exp()))
}

/// Whether each count of a system may be its peak, judged as in [`peak_ratio`]. If one has a single
/// run, only the highest may.
pub fn may_be_peak(counts: &[Vec<f64>]) -> Vec<bool> {
    let logs: Option<Vec<Logs>> = counts.iter().map(|runs| Logs::from_values(runs)).collect();
    let Some(logs) = logs else {
        return vec![false; counts.len()];
    };
    if logs.iter().any(|own| own.count < 2.0) {
        let means = logs.iter().map(|own| own.mean);
        let highest = means.fold(f64::NEG_INFINITY, f64::max);
        return logs.iter().map(|own| own.mean >= highest).collect();
    }
    let limit = IMPLAUSIBLE * SIGNIFICANCE / counts.len() as f64;
    let chances = chances(&logs).into_iter();
    chances.map(|chance| chance >= limit).collect()
}

/// For each repeat, the count with the highest geometric mean over the other repeats: its index,
/// and the repeat. A repeat without that count is left out. If fewer than two remain, every run of
/// the highest count is returned, and also if no count has [`RUNS_MIN`] runs: one or two others choose
/// too badly, and a system that is ahead at every count could have the lower peak. Of equal counts, the
/// first is taken. `counts` has the repeats and values of each count. Counts with a value that is
/// not positive are never chosen.
pub fn leave_one_out(counts: &[Vec<(u32, f64)>]) -> Vec<(usize, u32)> {
    let mean_without = |runs: &[(u32, f64)], skipped: Option<u32>| {
        let kept = runs.iter().filter(|(repeat, _)| Some(*repeat) != skipped);
        let values: Vec<f64> = kept.map(|(_, value)| *value).collect();
        Logs::from_values(&values).map(|logs| logs.mean)
    };
    let is_positive = |runs: &[(u32, f64)]| mean_without(runs, None).is_some();
    let best = |skipped: Option<u32>| {
        let mut best: Option<(usize, f64)> = None;
        let known = counts
            .iter()
            .enumerate()
            .filter(|(_, runs)| is_positive(runs));
        for (index, runs) in known {
            let Some(mean) = mean_without(runs, skipped) else {
                continue;
            };
            if best.is_none_or(|(_, highest)| mean > highest) {
                best = Some((index, mean));
            }
        }
        best.map(|(index, _)| index)
    };
    let Some(highest) = best(None) else {
        return Vec::new();
    };
    let repeats: BTreeSet<u32> = counts.iter().flatten().map(|(repeat, _)| *repeat).collect();
    let has_few = counts.iter().all(|runs| runs.len() < RUNS_MIN);
    let chosen = repeats.into_iter().filter_map(|repeat| {
        let index = best(Some(repeat))?;
        let is_there = counts[index].iter().any(|(own, _)| *own == repeat);
        is_there.then_some((index, repeat))
    });
    let chosen: Vec<(usize, u32)> = chosen.collect();
    if has_few || chosen.len() < 2 {
        let own = counts[highest].iter();
        return own.map(|(repeat, _)| (highest, *repeat)).collect();
    }
    chosen
}

/// The logarithms of the runs of each count, without their common trend if positions are known, and
/// its slope.
fn logs_of(a: &[Vec<CountRun>], b: &[Vec<CountRun>]) -> Option<(Vec<Logs>, Vec<Logs>, f64)> {
    let all: Vec<&Vec<CountRun>> = a.iter().chain(b).collect();
    let has_logarithm = |(_, value): &CountRun| value.is_finite() && *value > 0.0;
    if all
        .iter()
        .any(|runs| runs.len() < 2 || !runs.iter().all(has_logarithm))
    {
        return None;
    }
    let trend = Trend::new(&all);
    let logs = |runs: &Vec<CountRun>| trend.removed_from(runs);
    let (of_a, of_b) = (a.iter().map(logs).collect(), b.iter().map(logs).collect());
    Some((of_a, of_b, trend.slope))
}

/// Two systems by client count, from which bounds and p of their peaks follow.
struct Peaks {
    /// For each count of the first system, the difference to each of the second.
    gaps: Vec<Vec<Gap>>,
    /// For each count, the probability of lying this far or farther below the highest by chance.
    chances: [Vec<f64>; 2],
    /// The share of alpha for each end.
    share: f64,
}

impl Peaks {
    fn new(a: &[Logs], b: &[Logs]) -> Self {
        let row = |of_a: &Logs| b.iter().map(|of_b| Gap::new(*of_a, *of_b)).collect();
        let several = [a, b].iter().filter(|counts| counts.len() > 1).count();
        Self {
            gaps: a.iter().map(row).collect(),
            chances: [a, b].map(chances),
            share: (1.0 - IMPLAUSIBLE * several as f64) / 2.0,
        }
    }

    /// Whether each count of one side may be its peak.
    fn plausible(&self, side: usize, alpha: f64) -> Vec<bool> {
        let chances = &self.chances[side];
        let limit = IMPLAUSIBLE * alpha / chances.len() as f64;
        chances.iter().map(|chance| *chance >= limit).collect()
    }

    /// The interval of the logarithm of the ratio, with confidence 1 - alpha.
    fn interval(&self, alpha: f64) -> (f64, f64) {
        let sides = [0, 1].map(|side| self.plausible(side, alpha));
        let level = |side: usize| {
            let count = sides[side]
                .iter()
                .filter(|is_plausible| **is_plausible)
                .count();
            1.0 - self.share * alpha / count as f64
        };
        let (below, above) = (level(0), level(1));
        let rows = self.gaps.iter().zip(&sides[0]).filter(|(_, is)| **is);
        let low = rows.map(|(row, _)| {
            let ends = row.iter().map(|gap| gap.mean - gap.half_width(below));
            ends.fold(f64::INFINITY, f64::min)
        });
        let columns = (0..sides[1].len()).filter(|index| sides[1][*index]);
        let high = columns.map(|index| {
            let column = self.gaps.iter().map(|row| &row[index]);
            let ends = column.map(|gap| gap.mean + gap.half_width(above));
            ends.fold(f64::NEG_INFINITY, f64::max)
        });
        (
            low.fold(f64::NEG_INFINITY, f64::max),
            high.fold(f64::INFINITY, f64::min),
        )
    }

    /// The lowest alpha at which the interval excludes 0, by bisection.
    fn p(&self) -> f64 {
        // Of each count of a side: the highest p against any count of the other.
        let above: Vec<f64> = self
            .gaps
            .iter()
            .map(|row| highest(row.iter().map(Gap::p_above)))
            .collect();
        let columns = 0..self.chances[1].len();
        let below: Vec<f64> = columns
            .map(|index| highest(self.gaps.iter().map(|row| row[index].p_below())))
            .collect();
        let is_excluded = |alpha: f64| {
            [&above, &below].into_iter().enumerate().any(|(side, all)| {
                let plausible = all.iter().zip(self.plausible(side, alpha));
                let known: Vec<f64> = plausible.filter_map(|(p, is)| is.then_some(*p)).collect();
                let lowest = known.iter().copied().fold(f64::INFINITY, f64::min);
                lowest * (known.len() as f64) < self.share * alpha
            })
        };
        if !is_excluded(1.0) {
            return 1.0;
        }
        // The exponents of alpha, down to the least that a number has.
        let (mut low, mut high) = (-700.0_f64, 0.0_f64);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if is_excluded(middle.exp()) {
                high = middle
            } else {
                low = middle
            }
        }
        high.exp()
    }
}

fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// For each count, the probability of lying this far or farther below the highest although it is as
/// high; for the highest, 1.
fn chances(counts: &[Logs]) -> Vec<f64> {
    let order = |a: &&Logs, b: &&Logs| a.mean.total_cmp(&b.mean);
    let Some(highest) = counts.iter().max_by(order) else {
        return Vec::new();
    };
    let chance = |logs: &Logs| {
        if logs.mean < highest.mean {
            Gap::new(*highest, *logs).p_above()
        } else {
            1.0
        }
    };
    counts.iter().map(chance).collect()
}

impl Gap {
    /// The probability of a difference this high or higher by chance.
    fn p_above(&self) -> f64 {
        if self.has_noise() {
            t_above(self.mean / self.error, self.freedom)
        } else {
            f64::from(self.mean <= ROUNDING)
        }
    }

    fn p_below(&self) -> f64 {
        let reversed = Self {
            mean: -self.mean,
            ..*self
        };
        reversed.p_above()
    }

    /// The distance from the difference to the end of its one-sided interval of this level.
    fn half_width(&self, level: f64) -> f64 {
        if self.has_noise() {
            t_quantile(level, self.freedom) * self.error
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::welch;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The number of simulated studies of each sort.
    const STUDIES: u32 = 4_000;

    fn untimed(counts: &[&[f64]]) -> Vec<Vec<CountRun>> {
        let runs = |runs: &&[f64]| runs.iter().map(|value| (None, *value)).collect();
        counts.iter().map(runs).collect()
    }

    #[test]
    fn of_one_count_each_it_is_the_test_of_welch() {
        let (a, b) = ([100.0, 103.0, 101.0, 99.0], [90.0, 95.0, 91.0, 92.0]);
        let found = peak_ratio(&untimed(&[&a]), &untimed(&[&b]), None).unwrap();
        let expected = welch(&a, &b).unwrap();
        assert!((found.p / expected.p - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.interval.0 - expected.ratio.low).abs() < 1e-9);
        assert!((found.one_sided.1 - expected.at_most()).abs() < 1e-9);
    }

    #[test]
    fn the_interval_excludes_1_from_the_alpha_on_that_is_p() {
        let a = untimed(&[&[90.0, 91.0, 92.0, 90.5], &[100.0, 103.0, 101.0, 99.0]]);
        let b = untimed(&[&[94.0, 95.0, 97.0, 96.0], &[93.0, 97.0, 92.0, 95.0]]);
        let (of_a, of_b, _) = logs_of(&a, &b).unwrap();
        let peaks = Peaks::new(&of_a, &of_b);
        let p = peaks.p();
        assert!((0.0001..0.5).contains(&p), "{p}");
        assert!(peaks.interval(p * 1.000_1).0 > 0.0);
        assert!(peaks.interval(p / 1.000_1).0 < 0.0);
        let turned = peak_ratio(&b, &a, None).unwrap();
        assert!((turned.p / p - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_repeat_is_taken_where_the_others_are_highest() {
        // Without repeat 1 the second count is highest, without another one the first.
        let counts = [
            vec![(1, 14.0), (2, 9.0), (3, 9.0), (4, 9.0)],
            vec![(1, 8.0), (2, 10.0), (3, 10.0), (4, 10.0)],
        ];
        assert_eq!(leave_one_out(&counts), [(1, 1), (0, 2), (0, 3), (0, 4)]);
        assert_eq!(
            leave_one_out(&counts[..1]),
            [(0, 1), (0, 2), (0, 3), (0, 4)]
        );
        // One run each: the highest.
        let single = [vec![(1, 12.0)], vec![(1, 13.0)], vec![(1, 0.0)]];
        assert_eq!(leave_one_out(&single), [(1, 1)]);
        assert_eq!(leave_one_out(&[]), []);
    }

    #[test]
    fn of_few_repeats_the_highest_count_is_the_peak() {
        // Each of two repeats would choose the count at which the other is lower.
        let counts = [vec![(1, 100.0), (2, 90.0)], vec![(1, 92.0), (2, 99.0)]];
        assert_eq!(leave_one_out(&counts), [(1, 1), (1, 2)]);
        let three = [
            vec![(1, 12.0), (2, 9.0), (3, 9.0)],
            vec![(1, 8.0), (2, 10.0), (3, 10.0)],
        ];
        assert_eq!(leave_one_out(&three), [(0, 1), (0, 2), (0, 3)]);
    }

    #[test]
    fn a_count_with_fewer_repeats_that_is_no_peak_takes_none_from_the_others() {
        let at_8 = [1104.85, 1078.01, 1095.41, 1096.5, 1111.96];
        let counts = [
            (1..).zip([1012.0, 998.0, 1001.0, 985.0, 1003.0]).collect(),
            (1..).zip(at_8).collect(),
            vec![(1, 903.9), (2, 906.4)],
        ];
        let chosen = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5)];
        assert_eq!(leave_one_out(&counts), chosen);
        let a = [&at_8[..], &[903.9, 906.4]];
        let b = [900.0, 905.0, 890.0, 897.0, 903.0];
        let found = peak_ratio(&untimed(&a), &untimed(&[&b]), None).unwrap();
        assert!(found.p < 0.001 && found.runs_min == 5, "{found:?}");
        // One that may be the peak counts.
        let high = [&at_8[..], &[1103.9, 1106.4]];
        let of_high = peak_ratio(&untimed(&high), &untimed(&[&b]), None).unwrap();
        assert_eq!(of_high.runs_min, 2);
    }

    #[test]
    fn the_peak_of_equal_counts_with_unequal_repeats_is_on_average_what_they_are() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut noise = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        for repeats in [[5, 3], [5, 2], [10, 4]] {
            let mut logs = 0.0;
            for _ in 0..STUDIES {
                let counts = repeats.map(|count| {
                    let run = |repeat| (repeat, (0.2 * noise()).exp());
                    (1..=count).map(run).collect::<Vec<_>>()
                });
                let chosen = leave_one_out(&counts);
                let log =
                    |(index, repeat): &(usize, u32)| counts[*index][*repeat as usize - 1].1.ln();
                logs += chosen.iter().map(log).sum::<f64>() / chosen.len() as f64;
            }
            // Of what a run differs from the next.
            let bias = logs / f64::from(STUDIES) / (0.2 / 12_f64.sqrt());
            assert!(bias.abs() < 0.05, "{repeats:?}: {bias}");
        }
    }

    #[test]
    fn counts_that_noise_may_have_put_below_the_highest_may_be_the_peak() {
        let counts = [
            vec![100.0, 101.0, 99.0, 100.0],
            vec![99.0, 102.0, 98.0, 100.0],
            vec![80.0, 81.0, 79.0, 80.0],
        ];
        assert_eq!(may_be_peak(&counts), [true, true, false]);
        let single = [vec![100.0], vec![99.0, 99.5]];
        assert_eq!(may_be_peak(&single), [true, false]);
        assert_eq!(may_be_peak(&[vec![0.0]]), [false]);
    }

    #[test]
    fn a_trend_that_all_share_is_no_noise() {
        // 3 % lower from repeat to repeat, and turns of four runs in each.
        let run = |value: f64, repeat: f64, turn: f64| {
            let at = 4.0 * repeat + turn;
            (
                Some(at),
                value * (-0.0075 * at).exp() * (1.0 + 0.001 * (repeat - 1.5).powi(2)),
            )
        };
        let count = |value: f64, turn: f64| {
            (0..4)
                .map(|repeat| run(value, f64::from(repeat), turn))
                .collect::<Vec<_>>()
        };
        let a = [count(100.0, 0.0), count(110.0, 2.0)];
        let b = [count(98.0, 1.0), count(105.0, 3.0)];
        let found = peak_ratio(&a, &b, None).unwrap();
        assert!(found.p < 0.01, "{found:?}");
        let untimed = |counts: &[Vec<CountRun>]| -> Vec<Vec<CountRun>> {
            let runs =
                |runs: &Vec<CountRun>| runs.iter().map(|(_, value)| (None, *value)).collect();
            counts.iter().map(runs).collect()
        };
        assert!(peak_ratio(&untimed(&a), &untimed(&b), None).unwrap().p > 0.05);
    }

    #[test]
    fn no_trend_is_carried_from_one_end_of_a_ladder_to_the_other() {
        // Noise that rises within each count, as noise may; the peaks are equal.
        let count = |value: f64, rung: f64| -> Vec<CountRun> {
            let run = |repeat: f64| {
                (
                    Some(8.0 * rung + 2.0 * repeat),
                    value * (0.01 * repeat).exp(),
                )
            };
            [0.0, 1.0, 2.0, 3.0].map(run).into()
        };
        let falling = [count(100.0, 0.0), count(90.0, 1.0), count(80.0, 2.0)];
        let rising = [count(80.0, 0.0), count(90.0, 1.0), count(100.0, 2.0)];
        let found = peak_ratio(&falling, &rising, None).unwrap();
        assert_eq!(found.slope, 0.0);
        assert!(found.p > 0.5, "{found:?}");
    }
}
