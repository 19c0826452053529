//! Latencies of which another program wrote a few numbers and kept the rest to itself.
//!
//! A histogram made up from a few quantiles would claim what nobody measured, so the numbers are
//! kept as they were written, and [`Known`] lets a report read them and histograms alike.

use crate::{
    Latencies,
    quantile::{self, Quantile, SAMPLES_MIN, SAMPLES_SOLID, samples_beyond},
};
use std::collections::BTreeMap;

/// Numbers of a latency by name, in nanoseconds: `mean`, `min`, `max`, and quantiles such as `p50`
/// and `p99.9`, named as in [`crate::QUANTILES`].
///
/// An import of `p99 = 61.5 us` and a mean is
/// `summary.set_percentile(99.0, 61_500.0); summary.set(Summary::MEAN, 20_100.0);`, and goes to
/// [`crate::KindResult::summary`] beside an empty histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary(BTreeMap<String, f64>);

impl Summary {
    /// The name of the mean.
    pub const MEAN: &str = "mean";
    /// The name of the minimum.
    pub const MIN: &str = "min";
    /// The name of the maximum.
    pub const MAX: &str = "max";

    /// Sets a number; one that is none, or negative, is left out.
    pub fn set(&mut self, name: impl Into<String>, ns: f64) {
        if ns.is_finite() && ns >= 0.0 {
            self.0.insert(name.into(), ns);
        }
    }

    /// Sets a quantile, named by its per cent: 99.9 is `p99.9`.
    pub fn set_percentile(&mut self, percent: f64, ns: f64) {
        self.set(format!("p{percent}"), ns);
    }

    /// The number of a name, nanoseconds.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// All numbers by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, ns)| (name.as_str(), *ns))
    }

    /// The summary, if there is a number in it.
    #[must_use]
    pub fn if_any(self) -> Option<Self> {
        (!self.0.is_empty()).then_some(self)
    }
}

/// What is known of latencies: every one of them, or a few numbers. All are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub enum Known<'a> {
    /// Each latency.
    Histogram(&'a Latencies),
    /// A few numbers.
    Summary {
        /// As they were written.
        numbers: &'a Summary,
        /// Over how many latencies.
        samples: u64,
    },
}

impl Known<'_> {
    /// The mean, if it is known.
    #[must_use]
    pub fn mean(self) -> Option<f64> {
        match self {
            Self::Histogram(latencies) => quantile::mean(latencies),
            Self::Summary { numbers, .. } => numbers.number(Summary::MEAN),
        }
    }

    /// The minimum, if it is known.
    #[must_use]
    pub fn min(self) -> Option<f64> {
        match self {
            Self::Histogram(latencies) => quantile::min(latencies).map(|ns| ns as f64),
            Self::Summary { numbers, .. } => numbers.number(Summary::MIN),
        }
    }

    /// The maximum, if it is known.
    #[must_use]
    pub fn max(self) -> Option<f64> {
        match self {
            Self::Histogram(latencies) => quantile::max(latencies).map(|ns| ns as f64),
            Self::Summary { numbers, .. } => numbers.number(Summary::MAX),
        }
    }

    /// A quantile, if it is known and enough samples are beyond it.
    #[must_use]
    pub fn quantile(self, quantile: Quantile) -> Option<f64> {
        match self {
            Self::Histogram(latencies) => quantile.of(latencies).map(|ns| ns as f64),
            Self::Summary { numbers, .. } => {
                let enough = self.beyond(quantile) >= SAMPLES_MIN;
                numbers.number(quantile.name).filter(|_| enough)
            }
        }
    }

    /// Whether enough samples are beyond a quantile to be taken as certain.
    #[must_use]
    pub fn is_solid(self, quantile: Quantile) -> bool {
        self.beyond(quantile) >= SAMPLES_SOLID
    }

    fn beyond(self, quantile: Quantile) -> u64 {
        let samples = match self {
            Self::Histogram(latencies) => latencies.len(),
            Self::Summary { samples, .. } => samples,
        };
        samples_beyond(samples, quantile.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KindResult, QUANTILES, new_latencies};

    fn summary() -> Summary {
        let mut summary = Summary::default();
        summary.set(Summary::MEAN, 1_500.5);
        summary.set_percentile(99.0, 9_000.0);
        summary.set_percentile(99.9, 20_000.0);
        summary.set(Summary::MAX, f64::NAN);
        summary
    }

    #[test]
    fn what_was_not_written_is_not_known() {
        let (summary, samples) = (summary(), 10_000_000);
        let known = Known::Summary {
            numbers: &summary,
            samples,
        };
        assert_eq!(
            (known.mean(), known.min(), known.max()),
            (Some(1_500.5), None, None)
        );
        let quantiles = QUANTILES.map(|q| known.quantile(q));
        let (p99, p999) = (Some(9_000.0), Some(20_000.0));
        assert_eq!(quantiles, [None, None, None, p99, p999, None, None]);
    }

    #[test]
    fn a_summary_of_few_samples_says_as_little_as_their_histogram() {
        let [p99, p999] = [QUANTILES[3], QUANTILES[4]];
        let summary = summary();
        let known = |samples| Known::Summary {
            numbers: &summary,
            samples,
        };
        assert_eq!(known(999).quantile(p99), None);
        assert_eq!(known(1_000).quantile(p99), Some(9_000.0));
        assert_eq!(known(1_000).quantile(p999), None);
        assert_eq!(
            (known(9_999).is_solid(p99), known(10_000).is_solid(p99)),
            (false, true)
        );
    }

    #[test]
    fn a_histogram_is_taken_before_a_summary() {
        let mut result = KindResult {
            count: 5,
            summary: Some(summary()),
            ..KindResult::default()
        };
        assert_eq!(result.known_service().mean(), Some(1_500.5));
        assert_eq!(result.known_response().mean(), Some(1_500.5));
        result.service.record(7).unwrap();
        assert_eq!(result.known_service().mean(), Some(7.0));
        assert_eq!(result.known_response().mean(), Some(7.0));
        let mut response = Summary::default();
        response.set(Summary::MEAN, 11.0);
        result.response_summary = response.if_any();
        assert_eq!(result.known_response().mean(), Some(11.0));
        let mut late = new_latencies();
        late.record(13).unwrap();
        result.response = Some(late);
        assert_eq!(result.known_response().mean(), Some(13.0));
    }
}
