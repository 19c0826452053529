//! What a quantity comes to over the repeats of a point.

use tailmark_results::{Bound, Stated};

/// A value over repeats: the median, and the lowest and highest around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median; of an even number, the mean of the two in the middle.
    pub middle: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// How many.
    pub repeats: usize,
}

impl Spread {
    /// None of nothing.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&low, &high) = (values.first()?, values.last()?);
        let n = values.len();
        let middle = f64::midpoint(values[(n - 1) / 2], values[n / 2]);
        Some(Self {
            middle,
            low,
            high,
            repeats: n,
        })
    }

    /// Whether repeats show no difference: the ranges meet. One run alone cannot show that.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.repeats.min(other.repeats) > 1 && self.low <= other.high && other.low <= self.high
    }

    /// `low – high` on one line, where there is more than one value.
    #[must_use]
    pub fn range(self, write: fn(f64) -> String) -> String {
        Measured::from(self).range(write)
    }
}

/// A quantity over repeats, of which some may be known as lower bounds only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The median; of a latency, nanoseconds.
    pub middle: Stated,
    /// The lowest.
    pub low: Stated,
    /// The highest.
    pub high: Stated,
    /// How many.
    pub repeats: usize,
    /// Whether enough samples are behind it to draw it as certain.
    pub solid: bool,
}

impl Measured {
    /// Of values that are exact or lower bounds; none of nothing.
    #[must_use]
    pub fn of(values: &[Stated], solid: bool) -> Option<Self> {
        // What is below the lowest of the bounds stays in its place, whatever they come to.
        let bounds = values.iter().filter(|stated| !stated.is_exact());
        let open = bounds
            .map(|stated| stated.value)
            .fold(f64::INFINITY, f64::min);
        let spread = Spread::of(values.iter().map(|stated| stated.value).collect())?;
        // Of an even number, the upper of the two in the middle decides.
        let mut sorted: Vec<f64> = values.iter().map(|stated| stated.value).collect();
        sorted.sort_by(f64::total_cmp);
        let upper = sorted[sorted.len() / 2];
        let stated = |value, decides| match decides < open {
            true => Stated::exact(value),
            false => Stated::at_least(value),
        };
        Some(Self {
            middle: stated(spread.middle, upper),
            low: stated(spread.low, spread.low),
            high: stated(spread.high, spread.high),
            repeats: spread.repeats,
            solid,
        })
    }

    /// Whether repeats show no difference: the ranges meet, or may do so. One run alone cannot show
    /// that.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        let highest = |of: Self| match of.high.bound {
            Bound::Exact => of.high.value,
            Bound::AtLeast | Bound::AtMost => f64::INFINITY,
        };
        self.repeats.min(other.repeats) > 1
            && self.low.value <= highest(other)
            && other.low.value <= highest(self)
    }

    /// `low – high` on one line, where there is more than one value.
    #[must_use]
    pub fn range(self, write: fn(f64) -> String) -> String {
        if self.repeats < 2 {
            return String::new();
        }
        let text = format!("{} – {}", self.low.text(write), self.high.text(write));
        text.replace(' ', "\u{a0}")
    }
}

impl From<Spread> for Measured {
    fn from(spread: Spread) -> Self {
        Self {
            middle: Stated::exact(spread.middle),
            low: Stated::exact(spread.low),
            high: Stated::exact(spread.high),
            repeats: spread.repeats,
            solid: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_median_between_the_extremes() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((spread.low, spread.middle, spread.high), (1.0, 2.5, 10.0));
        assert!(Spread::of(Vec::new()).is_none());
    }

    #[test]
    fn one_run_alone_never_shows_a_tie() {
        let one = Spread::of(vec![1.0]).unwrap();
        assert!(!one.meets(one));
        let two = Spread::of(vec![1.0, 2.0]).unwrap();
        assert!(two.meets(Spread::of(vec![1.5, 3.0]).unwrap()));
        assert!(!two.meets(Spread::of(vec![2.5, 3.0]).unwrap()));
    }

    #[test]
    fn a_spread_is_exact_below_the_lowest_of_its_bounds() {
        let (exact, least) = (Stated::exact, Stated::at_least);
        let of = |values: &[Stated]| Measured::of(values, true).unwrap();
        let bounded = of(&[exact(1.0), exact(2.0), least(3.0)]);
        assert_eq!(
            (bounded.low, bounded.middle, bounded.high),
            (exact(1.0), exact(2.0), least(3.0))
        );
        // The bound may come to 9, and 5 is the median then.
        let inside = of(&[exact(1.0), least(2.0), exact(5.0)]);
        assert_eq!(
            (inside.low, inside.middle, inside.high),
            (exact(1.0), least(2.0), least(5.0))
        );
        let even = of(&[exact(1.0), least(2.0)]);
        assert_eq!(even.middle, least(1.5));
        assert_eq!(even.range(|v| v.to_string()), "1\u{a0}–\u{a0}≥\u{a0}2");
        // What is at least 2 may reach to 4.
        assert!(even.meets(of(&[exact(4.0), exact(5.0)])));
        assert!(!of(&[exact(1.0), exact(2.0)]).meets(of(&[exact(4.0), least(5.0)])));
    }
}
