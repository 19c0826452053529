//! Shared code for tests of distributions.

use crate::random::{Purpose, Random};

/// The same numbers every time.
pub fn random() -> Random {
    Random::new(42, 0, Purpose::Operations)
}

/// Asserts that the bins drawn by `bin` have the given shares, each within 5 binomial standard
/// deviations (plus one draw, for rare bins). Bins beyond the shares are the rest.
pub fn assert_shares(draws: u32, shares: &[f64], mut bin: impl FnMut() -> usize) {
    let mut counts = vec![0_u32; shares.len() + 1];
    for _ in 0..draws {
        counts[bin().min(shares.len())] += 1;
    }
    let rest = (1.0 - shares.iter().sum::<f64>()).max(0.0);
    for (index, share) in shares.iter().chain([&rest]).enumerate() {
        let expected = f64::from(draws) * share;
        let bound = 1.0 + 5.0 * (expected * (1.0 - share)).max(0.0).sqrt();
        let count = f64::from(counts[index]);
        assert!(
            (count - expected).abs() <= bound,
            "bin {index}: {count}, not {expected}±{bound}"
        );
    }
}

/// The bin of a number by powers of ten: 0, 1..10, 10..100, ...
pub fn decade(number: u64) -> usize {
    number.checked_ilog10().map_or(0, |log| log as usize + 1)
}

/// The minimum number beyond a bin of [`decade`].
pub fn decade_end(bin: usize) -> u64 {
    10_u64.pow(bin as u32)
}
