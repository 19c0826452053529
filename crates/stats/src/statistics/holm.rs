//! Holm's adjustment for several tests: the chance of any false verdict among them equals that of a
//! single test.
//!
//! S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6 (1979).

/// The adjusted p of each test in a family of `tests`. Those in `p` were made; the others count as
/// tests that show nothing.
pub fn holm(p: &[f64], tests: usize) -> Vec<f64> {
    let tests = tests.max(p.len());
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![1.0; p.len()];
    let mut highest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        highest = highest.max(p[index] * (tests - rank) as f64).min(1.0);
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_adjusted_by_the_tests_that_are_left() {
        // 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 not below the one before.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005], 4);
        for (found, exact) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - exact).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn tests_that_were_not_made_count() {
        assert_eq!(holm(&[0.01, 0.5], 50), [0.5, 1.0]);
        assert_eq!(holm(&[], 3), Vec::<f64>::new());
        assert_eq!(holm(&[0.02], 0), [0.02]);
    }
}
