//! Zipf's law over the records themselves, exactly, for any exponent.
//!
//! Rejection-inversion after Hörmann and Derflinger, Rejection-inversion to generate variates from
//! monotone discrete distributions (ACM TOMACS 6, 1996). It needs no sum over the records, and
//! accepts nearly every draw.

use crate::random::Random;

/// Draws numbers from 0, the most frequent one.
#[derive(Debug, Clone)]
pub struct TrueZipfian {
    items: f64,
    theta: f64,
    /// The lower end of the range of the inverse; `upper` is the other.
    lower: f64,
    upper: f64,
    /// A draw this close below its whole number is accepted without further tests.
    squeeze: f64,
}

impl TrueZipfian {
    /// Numbers below `items`, at least 1; `theta` is above 0.
    pub fn new(items: u64, theta: f64) -> Self {
        let items = items as f64;
        let lower = integral(1.5, theta) - 1.0;
        let upper = integral(items + 0.5, theta);
        let squeeze = 2.0 - inverse(integral(2.5, theta) - 2.0_f64.powf(-theta), theta);
        Self {
            items,
            theta,
            lower,
            upper,
            squeeze,
        }
    }

    /// A number below the items.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.upper + random.unit() * (self.lower - self.upper);
            let position = inverse(area, self.theta);
            let rank = ((position + 0.5) as u64 as f64).clamp(1.0, self.items);
            if rank - position <= self.squeeze
                || area >= integral(rank + 0.5, self.theta) - rank.powf(-self.theta)
            {
                return rank as u64 - 1;
            }
        }
    }
}

/// The integral of t^-theta from 1 to x.
#[inline]
fn integral(x: f64, theta: f64) -> f64 {
    let (power, log) = (1.0 - theta, x.ln());
    if power == 0.0 {
        log
    } else {
        (power * log).exp_m1() / power
    }
}

/// The inverse of [`integral`].
#[inline]
fn inverse(area: f64, theta: f64) -> f64 {
    let power = 1.0 - theta;
    if power == 0.0 {
        area.exp()
    } else {
        ((power * area).max(-1.0).ln_1p() / power).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{testing::*, zeta};
    use super::*;

    #[test]
    fn draws_have_the_shares_of_the_law_of_zipf() {
        for theta in [0.3, 0.8, 0.99, 1.0, 1.2, 3.0] {
            for items in [1_000, 1_000_000, 10_000_000_000] {
                let (zipfian, mut random) = (TrueZipfian::new(items, theta), random());
                let all = zeta::zeta(items, theta);
                let first: Vec<_> = (1..=50).map(|i| f64::from(i).powf(-theta) / all).collect();
                assert_shares(500_000, &first, || zipfian.draw(&mut random) as usize);
                let bins = decade(items - 1);
                let decades: Vec<_> = (0..=bins)
                    .map(|bin| {
                        let start = if bin == 0 { 0 } else { decade_end(bin - 1) };
                        zeta::sum(start + 1, decade_end(bin).min(items), theta) / all
                    })
                    .collect();
                assert_shares(500_000, &decades, || decade(zipfian.draw(&mut random)));
            }
        }
    }

    #[test]
    fn one_item_is_always_drawn() {
        let (zipfian, mut random) = (TrueZipfian::new(1, 0.99), random());
        assert!((0..1_000).all(|_| zipfian.draw(&mut random) == 0));
    }
}
