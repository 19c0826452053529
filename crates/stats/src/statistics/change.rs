//! Change points of a series: where its level changes lastingly.
//!
//! Binary segmentation: consider all places to cut a series in two, and take the one where
//! Student's t test on the logarithms is most certain. It is a change point if the test is
//! significant after Bonferroni (over all places of the segment) and the levels differ by more than
//! the band of equivalence. Then each side is searched separately. A. J. Scott and M. Knott, "A
//! Cluster Analysis Method for Grouping Means in the Analysis of Variance", Biometrics 30 (1974); a
//! t test replaces their criterion. Noise is assumed equal on both sides, because three values on
//! one side give no estimate of their own.

use super::{Logs, geometric_mean, t_two_sided};

/// The chance of a false change in each segment.
pub const CHANGE_SIGNIFICANCE: f64 = 0.01;

/// The fewest values on either side of a change. With fewer, their spread is unknown.
pub const SIDE_MIN: usize = 3;

/// Where the level of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level: an index into the series.
    pub index: usize,
    /// The new level relative to the previous one: geometric means of the values up to the next
    /// changes.
    pub ratio: f64,
}

/// The change points of a series of positive values, in order. `band` is the fraction by which
/// practically equal levels may differ.
pub fn change_points(values: &[f64], band: f64) -> Vec<ChangePoint> {
    let mut cuts = Vec::new();
    cut(values, 0, band, &mut cuts);
    cuts.sort_unstable();
    let edges: Vec<usize> = std::iter::once(0)
        .chain(cuts)
        .chain([values.len()])
        .collect();
    let level = |from: usize, to: usize| geometric_mean(&values[from..to]);
    let change = |three: &[usize]| {
        let ratio = level(three[1], three[2])? / level(three[0], three[1])?;
        Some(ChangePoint {
            index: three[1],
            ratio,
        })
    };
    edges.windows(3).filter_map(change).collect()
}

fn cut(values: &[f64], offset: usize, band: f64, cuts: &mut Vec<usize>) {
    if values.len() < 2 * SIDE_MIN {
        return;
    }
    let places = SIDE_MIN..=values.len() - SIDE_MIN;
    let tests = places.clone().count() as f64;
    let of_place = |at: usize| Some((at, difference(&values[..at], &values[at..])?));
    let surest = places.filter_map(of_place);
    let Some((at, (log_ratio, p))) = surest.min_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))
    else {
        return;
    };
    if p * tests < CHANGE_SIGNIFICANCE && log_ratio.abs() > (1.0 + band).ln() {
        cuts.push(offset + at);
        cut(&values[..at], offset, band, cuts);
        cut(&values[at..], offset + at, band, cuts);
    }
}

/// The logarithm of the ratio of two levels, and the probability of one as large by chance; `None`
/// if a value is not positive.
fn difference(before: &[f64], after: &[f64]) -> Option<(f64, f64)> {
    let (a, b) = (Logs::from_values(before)?, Logs::from_values(after)?);
    let freedom = a.count + b.count - 2.0;
    // The squares of the errors of the means are the variances over the counts.
    let squares = |logs: &Logs| logs.squared_error() * logs.count * (logs.count - 1.0);
    let variance = (squares(&a) + squares(&b)) / freedom;
    let error = (variance * (1.0 / a.count + 1.0 / b.count)).sqrt();
    let log_ratio = b.mean - a.mean;
    let p = if error > 0.0 {
        t_two_sided(log_ratio / error, freedom)
    } else {
        f64::from(log_ratio == 0.0)
    };
    Some((log_ratio, p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Values around levels, each within `noise` of it on a logarithmic scale.
    fn series(levels: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The sum of twelve is close to normal, with a deviation of 1.
        let mut normal = || {
            (0..12)
                .map(|_| random.next_u64() as f64 / u64::MAX as f64)
                .sum::<f64>()
                - 6.0
        };
        let mut values = Vec::new();
        for (count, level) in levels {
            values.extend((0..*count).map(|_| level * (noise * normal()).exp()));
        }
        values
    }

    #[test]
    fn a_change_is_found_where_it_is_and_how_large() {
        for seed in 0..50 {
            let values = series(&[(8, 100_000.0), (8, 88_000.0)], 0.01, seed);
            let changes = change_points(&values, 0.03);
            assert_eq!(changes.len(), 1, "{seed}: {changes:?}");
            assert!(changes[0].index.abs_diff(8) <= 1, "{seed}: {changes:?}");
            assert!(
                (changes[0].ratio - 0.88).abs() < 0.03,
                "{seed}: {changes:?}"
            );
        }
    }

    #[test]
    fn several_changes_are_found() {
        let values = series(&[(6, 100.0), (6, 120.0), (6, 90.0)], 0.01, 1);
        let changes = change_points(&values, 0.03);
        let at: Vec<usize> = changes.iter().map(|change| change.index).collect();
        assert_eq!(at, [6, 12]);
    }

    #[test]
    fn noise_alone_changes_in_fewer_than_one_series_of_fifty() {
        let changed = (0..400).filter(|&seed| {
            let values = series(&[(20, 100.0)], 0.05, seed);
            !change_points(&values, 0.0).is_empty()
        });
        let changed = changed.count();
        assert!(changed <= 8, "{changed} of 400");
    }

    #[test]
    fn too_few_values_and_equal_levels_have_no_change() {
        assert!(change_points(&[1.0, 1.0, 1.0, 9.0, 9.0], 0.03).is_empty());
        let values = series(&[(10, 100.0), (10, 101.0)], 0.001, 1);
        assert!(change_points(&values, 0.03).is_empty());
    }
}
