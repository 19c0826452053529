//! Latencies of which another program wrote only a few numbers.
//!
//! A histogram made up from a few quantiles would claim measurements that nobody made, so the
//! numbers are kept as written. [`crate::RankedLatencies`] lets a report read them like histograms.

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

    /// The name of the mark of a time that differs and of which no number is known.
    const UNKNOWN: &str = "unknown";

    /// Of a time that differs from another, and of which no number is known.
    pub fn unknown() -> Self {
        let mut summary = Self::default();
        summary.set(Self::UNKNOWN, 0.0);
        summary
    }

    /// Sets a number. A missing or negative one is ignored.
    pub fn set(&mut self, name: impl Into<String>, ns: f64) {
        if ns.is_finite() && ns >= 0.0 {
            self.0.insert(name.into(), ns);
        }
    }

    /// Sets a quantile, named by its percentage: 99.9 is `p99.9`.
    pub fn set_percentile(&mut self, percent: f64, ns: f64) {
        self.set(format!("p{percent}"), ns);
    }

    /// The number of that name, nanoseconds.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// All numbers by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        self.rows().filter(|(name, _)| *name != Self::UNKNOWN)
    }

    /// What a study keeps: the numbers, or the mark that none is known.
    pub fn rows(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, ns)| (name.as_str(), *ns))
    }

    /// The summary, if it has a number.
    pub fn if_any(self) -> Option<Self> {
        (!self.0.is_empty()).then_some(self)
    }
}
