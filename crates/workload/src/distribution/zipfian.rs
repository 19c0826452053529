//! Zipf's law in constant time, approximately: YCSB's generator.
//!
//! After Gray, Sundaresan, Englert, Baclawski and Weinberger, Quickly generating billion-record
//! synthetic databases (SIGMOD 1994). Ranks 0 and 1 are exact; the others come from an inverse of
//! the integral. As in YCSB, the exponent is 0.99, and items can be added.

use super::zeta::{sum, zeta};
use crate::random::Random;

/// YCSB's exponent. Its inverse power is 1 / (1 - theta) = 100, which [`hundredth_power`] computes.
pub const THETA: f64 = 0.99;

/// Draws ranks from 0, the most frequent one.
#[derive(Debug, Clone)]
pub struct Zipfian {
    /// Items in the sum.
    items: u64,
    /// The sum of i^-theta over the items.
    zetan: f64,
    /// 1 + 2^-theta.
    zeta2: f64,
    eta: f64,
    /// The part of eta that does not depend on the sum.
    eta_above: f64,
}

impl Zipfian {
    /// Ranks below `items`.
    pub fn new(items: u64) -> Self {
        Self::with_sum(items, zeta(items, THETA))
    }

    /// Ranks below `items`, given their sum of i^-theta.
    pub fn with_sum(items: u64, zetan: f64) -> Self {
        let zeta2 = 1.0 + 0.5_f64.powf(THETA);
        let eta_above = 1.0 - (2.0 / items as f64).powf(1.0 - THETA);
        let eta = eta_above / (1.0 - zeta2 / zetan);
        Self {
            items,
            zetan,
            zeta2,
            eta,
            eta_above,
        }
    }

    /// Draws from at least `items` ranks from now on. As in YCSB, the sum grows, but the first part
    /// of eta stays that of the items at the start. A smaller number changes nothing.
    #[inline]
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zetan += sum(self.items + 1, items, THETA);
            self.items = items;
            self.eta = self.eta_above / (1.0 - self.zeta2 / self.zetan);
        }
    }

    /// A rank below the items.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.rank(random.unit())
    }

    /// The rank of a draw from [0, 1).
    #[inline]
    pub fn rank(&self, unit: f64) -> u64 {
        let scaled = unit * self.zetan;
        if scaled < 1.0 {
            0
        } else if scaled < self.zeta2 {
            1
        } else {
            let position = hundredth_power(self.eta * unit - self.eta + 1.0);
            (self.items as f64 * position) as u64
        }
    }
}

/// x^100 by eight multiplications, which take a fraction of the time of `powf`. Their error is
/// about as large as that of x times 100, which `powf` does not avoid.
#[inline]
fn hundredth_power(x: f64) -> f64 {
    let x4 = (x * x) * (x * x);
    let x16 = (x4 * x4) * (x4 * x4);
    let x32 = x16 * x16;
    (x32 * x32) * x32 * x4
}

#[cfg(test)]
impl Zipfian {
    /// The share of draws with a rank below `end`, by the inverse of the formula.
    pub fn below(&self, end: u64) -> f64 {
        match end {
            0 => 0.0,
            1 => 1.0 / self.zetan,
            2 => self.zeta2 / self.zetan,
            _ => {
                let position = (end as f64 / self.items as f64).powf(1.0 - THETA);
                ((position - 1.0 + self.eta) / self.eta).clamp(0.0, 1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    /// The shares of the powers of ten of ranks: 0, 1 to 9, 10 to 99, ...
    fn decades(zipfian: &Zipfian, items: u64) -> Vec<f64> {
        let edges = (0..=decade(items - 1)).map(|bin| decade_end(bin).min(items));
        let below: Vec<_> = std::iter::once(0)
            .chain(edges)
            .map(|end| zipfian.below(end))
            .collect();
        below.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn draws_have_the_shares_of_the_formula() {
        for items in [1_000, 1_000_000, 10_000_000_000] {
            let (zipfian, mut random) = (Zipfian::new(items), random());
            let first: Vec<_> = (0..100)
                .map(|k| zipfian.below(k + 1) - zipfian.below(k))
                .collect();
            assert_shares(2_000_000, &first, || zipfian.draw(&mut random) as usize);
            let decades = decades(&zipfian, items);
            assert_shares(2_000_000, &decades, || decade(zipfian.draw(&mut random)));
        }
    }

    #[test]
    fn the_formula_follows_the_law_of_zipf() {
        for items in [1_000, 1_000_000, 10_000_000_000] {
            let zipfian = Zipfian::new(items);
            for end in [1, 2, 100, items / 100, items / 10, items / 2, items] {
                let law = zeta(end, THETA) / zeta(items, THETA);
                let got = zipfian.below(end);
                assert!(
                    (got - law).abs() < 0.02,
                    "{end} of {items}: {got}, not {law}"
                );
            }
        }
    }

    #[test]
    fn growing_reaches_the_sum_of_the_items_and_keeps_the_first_eta() {
        let mut grown = Zipfian::new(1_000);
        let start = grown.eta_above;
        for items in [1_001, 1_002, 1_010, 5_000, 4_000, 1_000_000] {
            grown.grow(items);
        }
        assert_eq!((grown.items, grown.eta_above), (1_000_000, start));
        assert!((grown.zetan - zeta(1_000_000, THETA)).abs() < 1e-11);
        assert_eq!(grown.eta, start / (1.0 - grown.zeta2 / grown.zetan));
    }

    #[test]
    fn constants_are_those_of_ycsb() {
        let zipfian = Zipfian::new(1_000);
        assert_eq!(zipfian.zeta2, 1.503_477_775_028_359_4);
        assert!((1.0 / (1.0 - THETA) - 100.0).abs() < 1e-10);
    }

    #[test]
    fn positions_are_those_of_ycsbs_formula_to_thirteen_digits() {
        let (zipfian, mut random) = (Zipfian::new(10_000_000_000), random());
        for _ in 0..1_000_000 {
            let x = zipfian.eta * random.unit() - zipfian.eta + 1.0;
            let (ours, ycsbs) = (hundredth_power(x), x.powf(1.0 / (1.0 - THETA)));
            assert!(
                (ours / ycsbs - 1.0).abs() < 1e-13,
                "{x}: {ours}, not {ycsbs}"
            );
        }
    }
}
