//! The rank-sum test of Mann and Whitney, a diagnostic that assumes nothing about the distribution
//! of runs. With five runs per side its smallest p is 0.0079, so it cannot reach significance in a
//! family of tests.
//!
//! H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically
//! larger than the other", Annals of Mathematical Statistics 18 (1947).

use statrs::distribution::{ContinuousCDF, Normal};

/// Above this many runs on both sides together, the normal distribution replaces the exact one.
const RUNS_EXACT_MAX: usize = 60;

/// The probability of rank sums this far apart or farther if both sides have one distribution:
/// two-sided, ties at their middle rank, exact up to 60 runs. `None` if a side is empty.
pub fn rank_sum_p(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(a, b);
    let sum: usize = ranks[..a.len()].iter().sum();
    let mean = a.len() * (ranks.len() + 1);
    let away = sum.abs_diff(mean);
    Some(if ranks.len() <= RUNS_EXACT_MAX {
        exact(&ranks, a.len(), mean, away)
    } else {
        normal(&ranks, a.len(), away)
    })
}

/// Twice the rank of each value among all, `a` first: whole numbers even with ties.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let rank = |value: &f64| {
        let below = all.iter().filter(|other| *other < value).count();
        let equal = all.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

/// The share of all choices of `chosen` ranks whose sum is this far or farther from the mean, by
/// counting them.
fn exact(ranks: &[usize], chosen: usize, mean: usize, away: usize) -> f64 {
    let top: usize = ranks.iter().sum();
    // How many choices of that many ranks have this sum.
    let mut counts = vec![vec![0.0_f64; top + 1]; chosen + 1];
    counts[0][0] = 1.0;
    for &rank in ranks {
        for taken in (1..=chosen).rev() {
            for sum in (rank..=top).rev() {
                counts[taken][sum] += counts[taken - 1][sum - rank];
            }
        }
    }
    let all: f64 = counts[chosen].iter().sum();
    let far = counts[chosen].iter().enumerate();
    let far = far.filter(|(sum, _)| sum.abs_diff(mean) >= away);
    far.map(|(_, count)| count).sum::<f64>() / all
}

/// The same by the normal distribution, with variance reduced for ties and a continuity correction.
fn normal(ranks: &[usize], chosen: usize, away: usize) -> f64 {
    let count = ranks.len() as f64;
    let mean = count + 1.0;
    let squares: f64 = ranks.iter().map(|&rank| (rank as f64 - mean).powi(2)).sum();
    let (a, b) = (chosen as f64, count - chosen as f64);
    let variance = a * b / (count * (count - 1.0)) * squares;
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (away as f64 - 1.0).max(0.0) / variance.sqrt();
    (2.0 * Normal::standard().sf(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_p_of_five_and_five_is_two_of_252() {
        let p = rank_sum_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]).unwrap();
        assert!((p - 2.0 / 252.0).abs() < 1e-12);
        let of_four = rank_sum_p(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!((of_four - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_all_tied_shows_nothing() {
        assert_eq!(rank_sum_p(&[2.0; 5], &[2.0; 4]), Some(1.0));
        assert_eq!(rank_sum_p(&[2.0; 50], &[2.0; 40]), Some(1.0));
        assert_eq!(rank_sum_p(&[], &[1.0]), None);
    }

    #[test]
    fn beyond_the_exact_ones_the_normal_distribution_is_close() {
        let a: Vec<f64> = (0..30).map(|i| f64::from(i) * 1.7).collect();
        let b: Vec<f64> = (0..30).map(|i| f64::from(i) * 1.1 + 0.3).collect();
        let ranks = doubled_ranks(&a, &b);
        let sum: usize = ranks[..30].iter().sum();
        let away = sum.abs_diff(30 * 61);
        let close = normal(&ranks, 30, away);
        let exact = rank_sum_p(&a, &b).unwrap();
        assert!((close - exact).abs() < 0.002, "{close} {exact}");
    }
}
