//! The combined value of a quantity over the runs of a point: their geometric mean, so that ratios
//! of shown values equal the compared ratios, and its interval.

use tailmark_model::{Bound, Bounded};
use tailmark_stats::{
    comparison,
    statistics::{self, RUNS_MIN},
};

/// A value over runs, and the ends of the bar that is drawn around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The geometric mean; the arithmetic one if a run has 0, which no ratio is formed with.
    pub middle: f64,
    /// From four runs on the lower end of the 95 % interval of the mean, otherwise the lowest.
    pub low: f64,
    /// The upper end, or the highest.
    pub high: f64,
    /// The number of repeats.
    pub repeats: usize,
}

impl Spread {
    /// None of nothing.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let repeats = values.len();
        let of_runs = statistics::mean_of_runs(values);
        Some(match of_runs {
            Some(mean) => Self {
                middle: mean.value,
                low: mean.low,
                high: mean.high,
                repeats,
            },
            None => Self {
                // Of one run exactly that: logarithms would change its last digit.
                middle: match repeats {
                    1 => low,
                    _ => statistics::geometric_mean(values)
                        .unwrap_or_else(|| values.iter().sum::<f64>() / repeats as f64),
                },
                low,
                high,
                repeats,
            },
        })
    }

    /// `low to high` on one line, if there is more than one value.
    #[must_use]
    pub fn range(self, write: impl Fn(Bounded) -> String) -> String {
        Quantity::from(self).range(write)
    }
}

/// A quantity over runs, of which some may be bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// The geometric mean, a bound if one of the runs is; latencies in nanoseconds.
    pub middle: Bounded,
    /// The lower end as in [`Spread`]; the lowest value if one of the runs is a bound.
    pub low: Bounded,
    /// The end above.
    pub high: Bounded,
    /// The number of repeats.
    pub repeats: usize,
    /// Whether there are enough samples to draw it as certain.
    pub solid: bool,
}

impl Quantity {
    /// The combination of values that are exact or bounds on one side; `None` without values.
    #[must_use]
    pub fn new(values: &[Bounded], solid: bool) -> Option<Self> {
        let numbers: Vec<f64> = values.iter().map(|stated| stated.value).collect();
        let spread = Spread::from_values(&numbers)?;
        let is_between = |value: &Bounded| matches!(value.bound, Bound::Between(..));
        if values.iter().any(is_between) {
            return Self::between(values, solid);
        }
        let bounds = values.iter().filter(|value| !value.is_exact());
        let (open, bound) = match bounds.clone().next().map(|value| value.bound) {
            None | Some(Bound::Exact | Bound::Between(..)) => {
                let exact = Self::from(spread);
                return Some(Self { solid, ..exact });
            }
            Some(Bound::AtLeast) => {
                let lowest = bounds.map(|value| value.value).reduce(f64::min);
                (lowest?, Bound::AtLeast)
            }
            Some(Bound::AtMost) => {
                let highest = bounds.map(|value| value.value).reduce(f64::max);
                (highest?, Bound::AtMost)
            }
        };
        // Values below the lowest of lower bounds stay in place, whatever the true values are; so
        // do those above the highest of upper bounds.
        let stated = |value| {
            let is_exact = match bound {
                Bound::AtMost => value > open,
                Bound::AtLeast | Bound::Exact | Bound::Between(..) => value < open,
            };
            let bound = if is_exact { Bound::Exact } else { bound };
            Bounded { value, bound }
        };
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(0.0, f64::max);
        Some(Self {
            middle: match values {
                [one] => *one,
                _ => comparison::center(values).unwrap_or(stated(low)),
            },
            low: stated(low),
            high: stated(high),
            repeats: spread.repeats,
            solid,
        })
    }

    /// The combination of values of which some are known between two ends: from the lowest to the
    /// highest that any of them can be.
    fn between(values: &[Bounded], solid: bool) -> Option<Self> {
        let middle = comparison::center(values).or_else(|| Bounded::mean(values))?;
        let low = values
            .iter()
            .map(|value| value.low())
            .fold(f64::INFINITY, f64::min);
        let high = values.iter().map(|value| value.high()).fold(0.0, f64::max);
        Some(Self {
            middle,
            low: if low > 0.0 {
                Bounded::exact(low)
            } else {
                Bounded::at_most(middle.value)
            },
            high: if high.is_finite() {
                Bounded::exact(high)
            } else {
                Bounded::at_least(middle.value)
            },
            repeats: values.len(),
            solid,
        })
    }

    /// `low to high` on one line, if there is more than one value.
    #[must_use]
    pub fn range(self, write: impl Fn(Bounded) -> String) -> String {
        if self.repeats < 2 {
            return String::new();
        }
        let text = format!("{} to {}", write(self.low), write(self.high));
        text.replace(' ', "\u{a0}")
    }
}

impl From<Quantity> for Spread {
    /// Drops the information about bounds.
    fn from(measured: Quantity) -> Self {
        Self {
            middle: measured.middle.value,
            low: measured.low.value,
            high: measured.high.value,
            repeats: measured.repeats,
        }
    }
}

impl From<Spread> for Quantity {
    fn from(spread: Spread) -> Self {
        Self {
            middle: Bounded::exact(spread.middle),
            low: Bounded::exact(spread.low),
            high: Bounded::exact(spread.high),
            repeats: spread.repeats,
            solid: true,
        }
    }
}

/// The description of the interval around a value, in a report whose points have at most that many
/// runs; empty for single runs.
#[must_use]
pub fn ends(repeats: usize) -> &'static str {
    match repeats {
        0 | 1 => "",
        2..RUNS_MIN => "the lowest and the highest run",
        _ => {
            "the 95 % interval of the mean (of fewer than 4 runs, or bounds, the lowest and highest)"
        }
    }
}

/// The ends of an error bar in a chart.
#[must_use]
pub fn error_bars(repeats: usize) -> &'static str {
    match repeats {
        0 | 1 => "",
        2..RUNS_MIN => "error bars: lowest to highest run",
        _ => "error bars: 95 % interval of the mean",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::number;

    #[test]
    fn of_runs_of_which_one_has_0_the_mean_is_arithmetic() {
        let spread = Spread::from_values(&[2.0, 6.0, 0.0, 4.0]).unwrap();
        assert_eq!((spread.middle, spread.low, spread.high), (3.0, 0.0, 6.0));
    }

    #[test]
    fn a_spread_is_the_geometric_mean_between_the_extremes_and_from_four_runs_its_interval() {
        let spread = Spread::from_values(&[8.0, 1.0, 1.0]).unwrap();
        assert!((spread.middle - 2.0).abs() < 1e-12);
        assert_eq!((spread.low, spread.high), (1.0, 8.0));
        let runs = [90.0, 110.0, 95.0, 105.0];
        let interval = Spread::from_values(&runs).unwrap();
        let mean = statistics::mean_of_runs(&runs).unwrap();
        assert_eq!((interval.low, interval.high), (mean.low, mean.high));
        assert!(
            interval.low < 90.0,
            "the interval is not the range: {interval:?}"
        );
        assert!(Spread::from_values(&[]).is_none());
    }

    #[test]
    fn a_spread_is_exact_below_the_lowest_of_its_bounds() {
        let (exact, least) = (Bounded::exact, Bounded::at_least);
        let measured = |values: &[Bounded]| Quantity::new(values, true).unwrap();
        let bounded = measured(&[exact(1.0), least(4.0)]);
        assert_eq!(
            (bounded.low, bounded.middle, bounded.high),
            (exact(1.0), least(2.0), least(4.0))
        );
        assert_eq!(
            bounded.range(number::bounded_rate),
            "1.0\u{a0}to\u{a0}≥\u{a0}4.0"
        );
        // Four runs including a bound have no interval.
        let four = measured(&[exact(2.0), exact(3.0), exact(4.0), least(5.0)]);
        assert_eq!((four.low, four.high), (exact(2.0), least(5.0)));
        // What devices counted in buckets is at most the end of one.
        let most = Bounded::at_most;
        let between = |low, value, high| Bounded::from_ends(low, value, high).unwrap();
        let ends = measured(&[between(1.0, 2.0, 4.0), exact(2.0), between(0.5, 2.0, 3.0)]);
        assert_eq!((ends.low, ends.high), (exact(0.5), exact(4.0)));
        assert_eq!(number::bounded_figure(ends.middle), "1.00 to 2.89");
        let upper = measured(&[most(1.0), most(4.0)]);
        assert_eq!(
            (upper.low, upper.middle, upper.high),
            (most(1.0), most(2.0), most(4.0))
        );
    }
}
