//! The lengths of scans.

use super::zipfian::Zipfian;
use crate::{LengthChoice, ScanLength, random::Random};

/// Draws lengths of scans.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    min: u32,
    count: u64,
    zipfian: Option<Box<Zipfian>>,
}

impl Lengths {
    /// Lengths `min..=max` of a valid range.
    pub fn new(scan: ScanLength) -> Self {
        let count = u64::from(scan.max - scan.min) + 1;
        let zipfian = match scan.choice {
            LengthChoice::Uniform => None,
            LengthChoice::Zipfian => Some(Box::new(Zipfian::new(count))),
        };
        Self {
            min: scan.min,
            count,
            zipfian,
        }
    }

    /// The next length.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let above = match &self.zipfian {
            None => random.below(self.count),
            Some(zipfian) => zipfian.draw(random).min(self.count - 1),
        };
        self.min + above as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn lengths(min: u32, max: u32, choice: LengthChoice) -> Lengths {
        Lengths::new(ScanLength { min, max, choice })
    }

    #[test]
    fn uniform_lengths_reach_both_ends_alike() {
        let (lengths, mut random) = (lengths(1, 100, LengthChoice::Uniform), random());
        let mut shares = [0.01; 101];
        shares[0] = 0.0;
        assert_shares(1_000_000, &shares, || lengths.draw(&mut random) as usize);
    }

    #[test]
    fn the_minimum_zipfian_length_is_the_most_frequent() {
        let (lengths, mut random) = (lengths(10, 12, LengthChoice::Zipfian), random());
        let sum = 1.0 + 0.5_f64.powf(0.99) + 3.0_f64.powf(-0.99);
        let mut shares = [0.0; 12];
        (shares[10], shares[11]) = (1.0 / sum, 0.5_f64.powf(0.99) / sum);
        assert_shares(1_000_000, &shares, || lengths.draw(&mut random) as usize);
    }

    #[test]
    fn one_length_is_always_drawn() {
        for choice in [LengthChoice::Uniform, LengthChoice::Zipfian] {
            let (lengths, mut random) = (lengths(7, 7, choice), random());
            assert!((0..1_000).all(|_| lengths.draw(&mut random) == 7));
        }
    }
}
