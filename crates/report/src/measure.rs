//! What can be read off latencies: their mean, or the value at a quality of service.

use tailmark_results::{KindResult, Known, QUANTILES, Quantile};

/// One way to state a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistic {
    /// In tables and controls: `mean`, `p99.9`.
    pub name: &'static str,
    /// None: the mean.
    pub quantile: Option<Quantile>,
}

/// Every measure, in the order of reports.
pub const STATISTICS: [Statistic; 1 + QUANTILES.len()] = {
    let mut measures = [Statistic {
        name: "mean",
        quantile: None,
    }; 1 + QUANTILES.len()];
    let mut i = 0;
    while i < QUANTILES.len() {
        measures[1 + i] = Statistic {
            name: QUANTILES[i].name,
            quantile: Some(QUANTILES[i]),
        };
        i += 1;
    }
    measures
};

/// The mean.
pub const MEAN: Statistic = STATISTICS[0];
/// The 99th percentile.
pub const P99: Statistic = STATISTICS[4];
/// The 99.9th percentile.
pub const P999: Statistic = STATISTICS[5];

impl Statistic {
    /// The value in nanoseconds; none, where it is not known or too few samples are behind it.
    #[must_use]
    pub fn of(self, known: Known<'_>) -> Option<f64> {
        match self.quantile {
            None => known.mean(),
            Some(quantile) => known.quantile(quantile),
        }
    }

    /// Whether enough samples are behind the value to draw it as certain.
    #[must_use]
    pub fn is_solid(self, known: Known<'_>) -> bool {
        self.quantile
            .is_none_or(|quantile| known.is_solid(quantile))
    }
}

/// From which instant a latency is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBasis {
    /// From the sending of an operation.
    Service,
    /// From the instant it was due.
    Response,
}

impl TimeBasis {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Response, Self::Service];

    /// In controls and titles.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service time",
            Self::Response => "response time",
        }
    }

    /// What is known of the latencies of this clock.
    #[must_use]
    pub fn of(self, result: &KindResult) -> Known<'_> {
        match self {
            Self::Service => result.known_service(),
            Self::Response => result.known_response(),
        }
    }
}

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
        if self.repeats > 1 {
            format!("{} – {}", write(self.low), write(self.high)).replace(' ', "\u{a0}")
        } else {
            String::new()
        }
    }
}

/// The latency of one kind at one cell of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Nanoseconds.
    pub spread: Spread,
    /// Whether enough samples are behind it to draw it as certain.
    pub solid: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_measures_are_what_they_are_called() {
        assert_eq!((MEAN.name, P99.name, P999.name), ("mean", "p99", "p99.9"));
    }

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
}
