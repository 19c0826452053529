//! A number that is exact, or a bound of the true one.
//!
//! Operations that were never done turn a latency into a lower bound. Whoever prints such a number
//! must say so, and a plain `f64` would not remind them.

/// How the true number relates to the stated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It is the stated number.
    Exact,
    /// It is the stated number or more.
    AtLeast,
    /// It is the stated number or less.
    AtMost,
}

impl Bound {
    /// The sign before a printed number: `≥ `, `≤ ` or nothing.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
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
        }
    }

    /// The bound of a number that rises with two others; `None` if they are bounded on different
    /// sides.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Exact, bound) | (bound, Self::Exact) => Some(bound),
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

    /// The mean of several numbers; `None` if there are none or they are bounded on different
    /// sides.
    pub fn mean(values: &[Self]) -> Option<Self> {
        let mut bounds = values.iter().map(|bounded| bounded.bound);
        let bound = bounds.try_fold(Bound::Exact, Bound::and)?;
        let sum: f64 = values.iter().map(|bounded| bounded.value).sum();
        (!values.is_empty()).then(|| Self {
            value: sum / values.len() as f64,
            bound,
        })
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
