//! A number that is exact, or a bound of the true one.
//!
//! Operations that were never done turn a latency into a lower bound, and a counter with coarse
//! steps bounds what it counts on both sides. Whoever prints such a number must say so, and a plain
//! `f64` would not remind them.

/// How the true number relates to the stated one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// It is the stated number.
    Exact,
    /// It is the stated number or more.
    AtLeast,
    /// It is the stated number or less.
    AtMost,
    /// It lies between the products of the stated number and these two factors, the lower first.
    Between(f64, f64),
}

impl Bound {
    /// The sign before a printed number: `≥ `, `≤ ` or nothing. A number between two others has
    /// none, because both are printed.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Exact | Self::Between(..) => "",
            Self::AtLeast => "≥ ",
            Self::AtMost => "≤ ",
        }
    }

    /// The bound of a number that falls as this one rises.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
            Self::Between(low, high) => Self::Between(1.0 / high, 1.0 / low),
        }
    }

    /// The bound of a number that rises with two others; `None` if they are bounded on different
    /// sides, or one on both sides and one on one.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Exact, bound) | (bound, Self::Exact) => Some(bound),
            (Self::Between(low, high), Self::Between(other_low, other_high)) => {
                Some(Self::Between(low * other_low, high * other_high))
            }
            (one, other) => (one == other).then_some(one),
        }
    }
}

/// A number and whether it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The number; for a latency, nanoseconds.
    pub value: f64,
    /// How the true number relates to it.
    pub bound: Bound,
}

impl Bounded {
    /// An exact number.
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            bound: Bound::Exact,
        }
    }

    /// A lower bound of the true number.
    pub const fn at_least(value: f64) -> Self {
        Self {
            value,
            bound: Bound::AtLeast,
        }
    }

    /// An upper bound of the true number.
    pub const fn at_most(value: f64) -> Self {
        Self {
            value,
            bound: Bound::AtMost,
        }
    }

    /// A number of which the value and the two ends are known. `low` is 0 and `high` infinite where
    /// an end is unknown; `None` if both are.
    pub fn from_ends(low: f64, value: f64, high: f64) -> Option<Self> {
        let (has_low, has_high) = (low > 0.0, high.is_finite());
        Some(match (has_low, has_high) {
            _ if low == high => Self::exact(high),
            (true, true) => Self {
                value,
                bound: Bound::Between(low / value, high / value),
            },
            (true, false) => Self::at_least(low),
            (false, true) => Self::at_most(high),
            (false, false) => return None,
        })
    }

    /// The least that the true number can be; 0 if that is unknown.
    pub fn low(self) -> f64 {
        match self.bound {
            Bound::Exact | Bound::AtLeast => self.value,
            Bound::AtMost => 0.0,
            Bound::Between(low, _) => self.value * low,
        }
    }

    /// The most that the true number can be; infinite if that is unknown.
    pub fn high(self) -> f64 {
        match self.bound {
            Bound::Exact | Bound::AtMost => self.value,
            Bound::AtLeast => f64::INFINITY,
            Bound::Between(_, high) => self.value * high,
        }
    }

    /// The mean of several numbers; `None` if there are none or they are bounded on different
    /// sides.
    pub fn mean(values: &[Self]) -> Option<Self> {
        Self::combined(values, |numbers| {
            Some(numbers.iter().sum::<f64>() / numbers.len() as f64)
        })
    }

    /// A mean of several numbers, given how it is formed of exact ones; `None` without numbers, if
    /// exact ones have none, or if they are bounded on different sides.
    pub fn combined(values: &[Self], mean: impl Fn(Vec<f64>) -> Option<f64>) -> Option<Self> {
        let of = |part: fn(Self) -> f64| values.iter().map(|bounded| part(*bounded)).collect();
        let has = |is_side: fn(Bound) -> bool| values.iter().any(|value| is_side(value.bound));
        let is_open_above = has(|bound| bound == Bound::AtLeast);
        let is_open_below = has(|bound| bound == Bound::AtMost);
        if values.is_empty() || (is_open_above && is_open_below) {
            return None;
        }
        Some(if is_open_above {
            Self::at_least(mean(of(Self::low))?)
        } else if is_open_below {
            Self::at_most(mean(of(Self::high))?)
        } else if has(|bound| matches!(bound, Bound::Between(..))) {
            let (low, high) = (mean(of(Self::low))?, mean(of(Self::high))?);
            Self::from_ends(low, mean(of(|one| one.value))?, high)?
        } else {
            Self::exact(mean(of(|one| one.value))?)
        })
    }

    /// A ratio as comparisons state it: between two ends, the end that is closer to 1 as a bound;
    /// `None` if the ends are on both sides of 1.
    pub fn toward_one(self) -> Option<Self> {
        match self.bound {
            Bound::Between(..) if self.low() > 1.0 => Some(Self::at_least(self.low())),
            Bound::Between(..) if self.high() < 1.0 => Some(Self::at_most(self.high())),
            Bound::Between(..) => None,
            _ => Some(self),
        }
    }

    /// Whether the number is exact.
    pub fn is_exact(self) -> bool {
        self.bound == Bound::Exact
    }

    /// Text: the sign of the bound, then the number as `write` formats it. Only [`crate::number`]
    /// calls this, with a number rounded so that the bound stays true.
    pub(crate) fn text(self, write: fn(f64) -> String) -> String {
        format!("{}{}", self.bound.sign(), write(self.value))
    }

    /// Its two ends, each as a bound; `None` unless it lies between two numbers.
    pub(crate) fn ends(self) -> Option<[Self; 2]> {
        let is_between = matches!(self.bound, Bound::Between(..));
        is_between.then(|| [Self::at_least(self.low()), Self::at_most(self.high())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_different_sides_say_nothing_together() {
        use Bound::{AtLeast, AtMost, Exact};
        assert_eq!(Exact.and(AtMost), Some(AtMost));
        assert_eq!(AtLeast.and(AtLeast), Some(AtLeast));
        assert_eq!(AtLeast.and(AtMost), None);
        assert_eq!(AtLeast.and(AtMost.reversed()), Some(AtLeast));
        let between = Bound::Between(0.5, 4.0);
        assert_eq!(between.reversed(), Bound::Between(0.25, 2.0));
        assert_eq!(
            between.and(between.reversed()),
            Some(Bound::Between(0.125, 8.0))
        );
        assert_eq!(between.and(AtLeast), None);
    }

    #[test]
    fn a_number_between_two_others_has_both_ends() {
        let between = |low, value, high| Bounded::from_ends(low, value, high).unwrap();
        let known = between(2.0, 4.0, 6.0);
        assert_eq!((known.low(), known.value, known.high()), (2.0, 4.0, 6.0));
        assert_eq!(between(2.0, 4.0, f64::INFINITY), Bounded::at_least(2.0));
        assert_eq!(between(0.0, 4.0, 6.0), Bounded::at_most(6.0));
        assert_eq!(between(4.0, 4.0, 4.0), Bounded::exact(4.0));
        assert_eq!(Bounded::from_ends(0.0, 4.0, f64::INFINITY), None);
        let with = |other| Bounded::mean(&[known, other]);
        assert_eq!(with(Bounded::exact(8.0)), Some(between(5.0, 6.0, 7.0)));
        assert_eq!(with(Bounded::at_least(8.0)), Some(Bounded::at_least(5.0)));
        assert_eq!(with(Bounded::at_most(8.0)), Some(Bounded::at_most(7.0)));
    }

    #[test]
    fn a_mean_of_bounds_is_a_bound() {
        let (exact, least) = (Bounded::exact, Bounded::at_least);
        let most = Bounded {
            value: 0.6,
            bound: Bound::AtMost,
        };
        assert_eq!(Bounded::mean(&[exact(0.2), least(0.6)]), Some(least(0.4)));
        assert_eq!(Bounded::mean(&[least(0.2), most]), None);
        assert_eq!(Bounded::mean(&[]), None);
    }
}
