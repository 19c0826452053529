//! Tests that are looked at again after each repeat, so that repeats end once they have shown
//! enough.
//!
//! Who looks often enough finds a difference that is none. So the limit of a look is stricter than
//! that of a single test: after n of at most N repeats, a difference counts from
//! |z| = C (N / n)^(1/4) on, between the constant limit of Pocock and that of O'Brien and Fleming,
//! which falls with the square root of n. C is such that equal systems differ at any look with
//! probability alpha. It follows by recursive integration over the sums of independent normal
//! differences. A test of Student's is looked at by its p (the significance level approach).
//!
//! The p over all looks is the alpha whose limit a look just reaches. So it is a p whenever repeats
//! end, and may be adjusted by Holm; the interval of a look excludes 1 exactly if that p is below
//! alpha.
//!
//! S. K. Wang and A. A. Tsiatis, "Approximately optimal one-parameter boundaries for group
//! sequential trials", Biometrics 43 (1987); P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated
//! significance tests on accumulating data", JRSS A 132 (1969); C. Jennison and B. W. Turnbull,
//! "Group Sequential Methods" (2000), 3.7 and 9.4; Q. Liu and K. M. Anderson, "On adaptive
//! extensions of group sequential trials for clinical investigations", JASA 103 (2008).

use statrs::function::erf::{erfc, erfc_inv};
use std::{
    collections::BTreeMap,
    f64::consts::{PI, SQRT_2},
    sync::{Arc, Mutex, PoisonError},
};
use tailmark_model::RepeatRange;

/// The exponent of N / n in the limit.
const EXPONENT: f64 = 0.25;

/// The values of C in a table of chances are this far apart, up to the last one.
const STEP: f64 = 0.125;
const LAST: f64 = 10.0;

/// The widest step of an integration, in standard deviations of one repeat.
const WIDTH: f64 = 0.25;
/// Beyond so many standard deviations a normal density is nothing.
const FAR: f64 = 9.0;

/// When a test is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look(Option<(RepeatRange, u32)>);

impl Look {
    /// The only one.
    pub const ONLY: Self = Self(None);

    /// After so many runs of a range of repeats that ends by itself; without one, the only look.
    pub fn after(runs: usize, range: Option<RepeatRange>) -> Self {
        let range = range.filter(|range| range.least < range.most);
        Self(range.map(|range| (range, u32::try_from(runs).unwrap_or(u32::MAX))))
    }

    /// The alpha of a single test at this look, for this alpha over all looks.
    pub fn nominal(self, alpha: f64) -> f64 {
        self.0.map_or(alpha, |(range, runs)| {
            let c = Chances::of_range(range).inverse(alpha);
            2.0 * normal_above(c * growth(range, runs))
        })
    }

    /// The p over all looks of a single test's p at this look.
    pub fn over_all(self, p: f64) -> f64 {
        self.0.map_or(p, |(range, runs)| {
            // The inverse ends at the least number that there is.
            let z = SQRT_2 * erfc_inv(p.max(f64::MIN_POSITIVE));
            Chances::of_range(range).above(z / growth(range, runs))
        })
    }
}

/// What the limit of the last look is multiplied by after so many runs.
fn growth(range: RepeatRange, runs: u32) -> f64 {
    let part = f64::from(runs.clamp(1, range.most)) / f64::from(range.most);
    part.powf(-EXPONENT)
}

/// For each C, the logarithm of the chance that equal systems reach its limit at any look.
struct Chances(Vec<f64>);

impl Chances {
    /// Of a range; computed once.
    fn of_range(range: RepeatRange) -> Arc<Self> {
        static KNOWN: Mutex<BTreeMap<RepeatRange, Arc<Chances>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let chances = known.entry(range).or_insert_with(|| {
            let steps = (LAST / STEP) as u32;
            let chance = |step: u32| {
                let c = f64::from(step) * STEP;
                let limit = |runs: u32| c * growth(range, runs);
                crossing(range.least, range.most, limit).min(1.0).ln()
            };
            Arc::new(Self((0..=steps).map(chance).collect()))
        });
        Arc::clone(chances)
    }

    /// The chance of reaching this C. Logarithms are nearly parabolic, so three of them give those in
    /// between to four digits.
    fn above(&self, c: f64) -> f64 {
        let at = (c / STEP).clamp(0.0, (self.0.len() - 1) as f64);
        let first = (at.round() as usize).clamp(1, self.0.len() - 2) - 1;
        let [y0, y1, y2] = [0, 1, 2].map(|next| self.0[first + next]);
        let x = at - (first + 1) as f64;
        let log = y1 + x * (y2 - y0) / 2.0 + x * x * (y2 - 2.0 * y1 + y0) / 2.0;
        log.min(0.0).exp()
    }

    /// The C that is reached with this chance, by bisection.
    fn inverse(&self, alpha: f64) -> f64 {
        let (mut low, mut high) = (0.0, LAST);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.above(middle) > alpha {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// The chance that a sum of independent standard normal numbers is at any look, from `least` to
/// `most` of them, at least this many of its standard deviations from 0.
fn crossing(least: u32, most: u32, limit: impl Fn(u32) -> f64) -> f64 {
    let edge = |count: u32| limit(count) * f64::from(count).sqrt();
    let mut chance = 2.0 * normal_above(limit(least));
    // The density of the sum's distance from 0, of sums that have not crossed.
    let deviation = f64::from(least).sqrt();
    let mut nodes = simpson(edge(least));
    let mut density: Vec<f64> = nodes
        .iter()
        .map(|(s, _)| 2.0 * normal_density(s / deviation) / deviation)
        .collect();
    for count in least + 1..=most {
        let edge = edge(count);
        let integral = |of: &dyn Fn(f64) -> f64| -> f64 {
            let parts = nodes.iter().zip(&density);
            parts.map(|((s, weight), d)| weight * d * of(*s)).sum()
        };
        chance += integral(&|s| normal_above(edge - s) + normal_above(edge + s));
        let next = simpson(edge);
        let at = |(t, _): &(f64, f64)| integral(&|s| normal_density(t - s) + normal_density(t + s));
        let moved: Vec<f64> = next.iter().map(at).collect();
        (nodes, density) = (next, moved);
    }
    chance
}

/// Places from 0 to an edge, and their weights in Simpson's rule.
fn simpson(edge: f64) -> Vec<(f64, f64)> {
    let steps = 2 * (edge / WIDTH / 2.0).ceil().max(2.0) as u32;
    let step = edge / f64::from(steps);
    let weight = |index: u32| match index {
        0 => 1.0,
        index if index == steps => 1.0,
        index if index % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let places = (0..=steps).map(|index| (f64::from(index) * step, weight(index) * step / 3.0));
    places.collect()
}

fn normal_density(z: f64) -> f64 {
    if z.abs() > FAR {
        0.0
    } else {
        (-z * z / 2.0).exp() / (2.0 * PI).sqrt()
    }
}

/// The probability of a standard normal number this high or higher.
fn normal_above(z: f64) -> f64 {
    erfc(z / SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: RepeatRange = RepeatRange { least: 4, most: 20 };

    /// The constant of a limit that equal systems reach with probability 0.05.
    fn constant(looks: u32, limit: impl Fn(f64, u32) -> f64) -> f64 {
        let (mut low, mut high) = (1.0, 4.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            let chance = crossing(1, looks, |look| limit(middle, look));
            if chance > 0.05 {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    #[test]
    fn the_constants_are_those_of_the_tables() {
        // Jennison and Turnbull, tables 2.1 and 2.3, with alpha = 0.05.
        for (looks, pocock, obrien_fleming) in [
            (1, 1.960, 1.960),
            (2, 2.178, 1.977),
            (5, 2.413, 2.040),
            (10, 2.555, 2.087),
            (20, 2.672, 2.126),
        ] {
            let level = constant(looks, |c, _| c);
            assert!((level - pocock).abs() < 6e-4, "{looks}: {level}");
            let falling = constant(looks, |c, look| {
                c * (f64::from(looks) / f64::from(look)).sqrt()
            });
            assert!(
                (falling - obrien_fleming).abs() < 6e-4,
                "{looks}: {falling}"
            );
        }
    }

    #[test]
    fn between_the_values_of_a_table_it_is_the_integral() {
        let chances = Chances::of_range(RANGE);
        for c in [0.6, 1.1, 1.95, 2.3, 2.87, 4.4, 6.6] {
            let exact = crossing(RANGE.least, RANGE.most, |runs| c * growth(RANGE, runs));
            let found = chances.above(c);
            assert!(
                (found / exact.min(1.0) - 1.0).abs() < 2e-3,
                "{c}: {found} {exact}"
            );
        }
    }

    #[test]
    fn p_and_the_level_of_a_look_are_each_other_s_inverse() {
        for runs in [4, 5, 11, 20] {
            let look = Look::after(runs, Some(RANGE));
            for alpha in [0.1, 0.05, 0.01, 1e-4] {
                let p = look.over_all(look.nominal(alpha));
                assert!((p / alpha - 1.0).abs() < 1e-6, "{runs} {alpha}: {p}");
            }
        }
        let early = Look::after(4, Some(RANGE)).nominal(0.05);
        let late = Look::after(20, Some(RANGE)).nominal(0.05);
        assert!(early < late / 10.0 && late < 0.05, "{early} {late}");
    }

    #[test]
    fn a_single_look_changes_nothing() {
        for look in [
            Look::ONLY,
            Look::after(4, Some(RepeatRange { least: 4, most: 4 })),
        ] {
            assert_eq!((look.nominal(0.05), look.over_all(0.3)), (0.05, 0.3));
        }
    }

    #[test]
    fn what_is_certain_stays_nearly_so() {
        let look = Look::after(4, Some(RANGE));
        assert!(look.over_all(0.0) < 1e-15);
        assert_eq!(look.over_all(1.0), 1.0);
    }
}
