//! A number together with what is known of it: that it is exact, or that the true one is on one
//! side of it.
//!
//! Operations that were never done make a latency a lower bound. Whoever states such a number has
//! to say so, which a plain `f64` would let him forget.

/// On which side of a stated number the true one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It is the number.
    Exact,
    /// It is the number or more.
    AtLeast,
    /// It is the number or less.
    AtMost,
}

impl Bound {
    /// Before the number, where one is printed: `≥ `, `≤ ` or nothing.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => "≥ ",
            Self::AtMost => "≤ ",
        }
    }

    /// Of a number that falls where this one rises.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
        }
    }

    /// Of a number that rises with two others; none where they are bounded on different sides.
    #[must_use]
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
    /// The number: of a latency, nanoseconds.
    pub value: f64,
    /// Where the true one is.
    pub bound: Bound,
}

impl Bounded {
    /// A number that is exact.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            bound: Bound::Exact,
        }
    }

    /// A number that the true one is not below.
    #[must_use]
    pub const fn at_least(value: f64) -> Self {
        Self {
            value,
            bound: Bound::AtLeast,
        }
    }

    /// A number that the true one is not above.
    #[must_use]
    pub const fn at_most(value: f64) -> Self {
        Self {
            value,
            bound: Bound::AtMost,
        }
    }

    /// The mean of several; none of nothing, and where they are bounded on different sides.
    #[must_use]
    pub fn mean(values: &[Self]) -> Option<Self> {
        let mut bounds = values.iter().map(|bounded| bounded.bound);
        let bound = bounds.try_fold(Bound::Exact, Bound::and)?;
        let sum: f64 = values.iter().map(|bounded| bounded.value).sum();
        (!values.is_empty()).then(|| Self {
            value: sum / values.len() as f64,
            bound,
        })
    }

    /// Whether it is exact.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.bound == Bound::Exact
    }

    /// As text: the sign of its bound, and the number as `write` has it. [`crate::number`] alone calls
    /// it, with a number that is rounded to the side on which its bound is true.
    #[must_use]
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
