//! Everything known about latencies, whether they were recorded, summarised by another program,
//! failed, or never ended.
//!
//! A failed request ranks above every success, whatever its age: its answer never came, and a fast
//! failure must not improve a tail. If fewer requests failed than lie beyond a quantile, the
//! quantile is taken from the successes at the remaining rank. Otherwise it is a lower bound: the
//! longest success or the oldest operation that was never done, or the age of the failure at that
//! rank if that is more. A read that found nothing was answered and did not fail.
//!
//! Operations that were due and never done are censored: each would have taken at least its age,
//! and counts as a sample at that age. A quantile is exact if it would be the same had none of them
//! ever been done, which is the case below the lowest age. Otherwise it is a lower bound, and so
//! are maximum and mean.

use crate::{
    Bounded, Latencies, Summary, histogram,
    quantile::{self, Quantile, SAMPLES_MIN, SAMPLES_SOLID, samples_beyond},
};

/// Known latencies: all of them, or a few numbers. All are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub enum RankedLatencies<'a> {
    /// Every latency.
    Histogram {
        /// Completed requests.
        done: &'a Latencies,
        /// The ages of requests that were never done, if any.
        censored: Option<&'a Latencies>,
        /// Failed requests.
        failed: Failed<'a>,
    },
    /// A few numbers.
    Summary {
        /// The numbers as another program wrote them, for requests that succeeded.
        numbers: &'a Summary,
        /// The number of latencies that they summarise.
        samples: u64,
        /// The number of failed requests in addition.
        failed: u64,
    },
}

/// Failed requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed<'a> {
    /// Their number.
    pub count: u64,
    /// How long they took to fail, nanoseconds, if that was recorded.
    pub ages: Option<&'a Latencies>,
}

impl Failed<'_> {
    /// The age of the k-th oldest, k from 1, nanoseconds; 0 if it is unknown.
    fn kth_oldest(self, k: u64) -> u64 {
        let of_known = |ages: &Latencies| (k <= ages.len()).then(|| quantile::kth_highest(ages, k));
        self.ages.and_then(of_known).unwrap_or(0)
    }
}

impl<'a> RankedLatencies<'a> {
    /// Latencies if everything was completed.
    pub const fn new(done: &'a Latencies) -> Self {
        let failed = Failed {
            count: 0,
            ages: None,
        };
        Self::Histogram {
            done,
            censored: None,
            failed,
        }
    }

    /// Latencies of completed requests, and the ages of the others.
    pub fn with_censored(done: &'a Latencies, ages: Option<&'a Latencies>) -> Self {
        let censored = ages.filter(|ages| !ages.is_empty());
        Self::Histogram {
            done,
            censored,
            failed: Failed::default(),
        }
    }

    /// Adds failed requests.
    #[must_use]
    pub fn with_failed(self, failures: Failed<'a>) -> Self {
        match self {
            Self::Histogram { done, censored, .. } => Self::Histogram {
                done,
                censored,
                failed: failures,
            },
            Self::Summary {
                numbers, samples, ..
            } => Self::Summary {
                numbers,
                samples,
                failed: failures.count,
            },
        }
    }

    /// The number of samples, including failed requests and those that were never done.
    pub fn samples(self) -> u64 {
        match self {
            Self::Histogram { done, failed, .. } => done
                .len()
                .saturating_add(self.censored())
                .saturating_add(failed.count),
            Self::Summary { samples, .. } => samples,
        }
    }

    /// The number of failed requests.
    pub const fn failed(self) -> u64 {
        match self {
            Self::Histogram { failed, .. } => failed.count,
            Self::Summary { failed, .. } => failed,
        }
    }

    /// A number of a summary. If requests failed, it does not cover all of them.
    fn summed(self, number: Option<f64>) -> Option<Bounded> {
        if self.failed() > 0 {
            number.map(Bounded::at_least)
        } else {
            number.map(Bounded::exact)
        }
    }

    /// The number of samples that were never done.
    pub fn censored(self) -> u64 {
        match self {
            Self::Histogram { censored, .. } => censored.map_or(0, |ages| ages.len()),
            Self::Summary { .. } => 0,
        }
    }

    /// The lowest age of requests that were never done, nanoseconds; `None` if all were done.
    pub fn censored_age(self) -> Option<u64> {
        match self {
            Self::Histogram { censored, .. } => censored.and_then(quantile::min),
            Self::Summary { .. } => None,
        }
    }

    /// The mean, if it is known.
    pub fn mean(self) -> Option<Bounded> {
        match self {
            Self::Histogram {
                done,
                censored,
                failed,
            } => {
                let all = censored.map_or_else(|| done.clone(), |ages| together(done, ages));
                let mean = quantile::mean(&all);
                if failed.count > 0 {
                    // Failures that were faster than the successes do not lower it.
                    let ages = failed
                        .ages
                        .and_then(|ages| quantile::mean(&together(&all, ages)));
                    let higher = [mean, ages].into_iter().flatten().reduce(f64::max);
                    return higher.map(Bounded::at_least);
                }
                mean.map(if censored.is_some() {
                    Bounded::at_least
                } else {
                    Bounded::exact
                })
            }
            Self::Summary { numbers, .. } => self.summed(numbers.number(Summary::MEAN)),
        }
    }

    /// The minimum, if it is known.
    pub fn min(self) -> Option<Bounded> {
        match self {
            Self::Histogram { done, censored, .. } => {
                let done = quantile::min(done).map(|ns| Bounded::exact(ns as f64));
                let age = censored.and_then(quantile::min);
                let age = age.map(|ns| Bounded::at_least(ns as f64));
                // What was done in no more than the lowest age took less than all that was not.
                match (done, age) {
                    (Some(done), Some(age)) if age.value < done.value => Some(age),
                    (done, age) => done.or(age),
                }
            }
            Self::Summary { numbers, .. } => numbers.number(Summary::MIN).map(Bounded::exact),
        }
    }

    /// The maximum, if it is known.
    pub fn max(self) -> Option<Bounded> {
        match self {
            Self::Histogram {
                done,
                censored,
                failed,
            } => {
                let longest = quantile::max(done);
                let ages = [censored, failed.ages].map(|ages| ages.and_then(quantile::max));
                let oldest = ages.into_iter().flatten().chain(longest).max();
                if censored.is_none() && failed.count == 0 {
                    longest.map(|ns| Bounded::exact(ns as f64))
                } else {
                    oldest.map(|ns| at_least(done, ns))
                }
            }
            Self::Summary { numbers, .. } => self.summed(numbers.number(Summary::MAX)),
        }
    }

    /// A quantile, if it is known and enough samples lie beyond it.
    pub fn quantile(self, quantile: Quantile) -> Option<Bounded> {
        if self.beyond(quantile) < SAMPLES_MIN && !self.is_of_unknown_samples(quantile) {
            return None;
        }
        self.at_rank_of(quantile)
    }

    /// The latency at the rank of a quantile, however few samples lie beyond it; `None` without
    /// samples.
    pub fn at_rank_of(self, quantile: Quantile) -> Option<Bounded> {
        if self.samples() == 0 && !self.is_of_unknown_samples(quantile) {
            return None;
        }
        match self {
            Self::Histogram {
                done,
                censored,
                failed,
            } => {
                let k = quantile::rank(self.samples(), quantile.value);
                kth_highest(done, censored, failed, k)
            }
            Self::Summary { numbers, .. } => self.summed(numbers.number(quantile.name)),
        }
    }

    /// Whether another program wrote the quantile without its number of samples. Such a quantile is
    /// taken as written, and is never solid.
    pub fn is_of_unknown_samples(self, quantile: Quantile) -> bool {
        match self {
            Self::Summary {
                numbers,
                samples: 0,
                ..
            } => numbers.number(quantile.name).is_some_and(|ns| ns > 0.0),
            Self::Summary { .. } | Self::Histogram { .. } => false,
        }
    }

    /// Whether enough samples lie beyond a quantile to treat it as certain.
    pub fn is_solid(self, quantile: Quantile) -> bool {
        self.beyond(quantile) >= SAMPLES_SOLID
    }

    fn beyond(self, quantile: Quantile) -> u64 {
        samples_beyond(self.samples(), quantile.value)
    }
}

/// The k-th highest of all samples, k from 1. Failures rank above every success. `None` if nothing
/// succeeded and the ages of failures are unknown.
fn kth_highest(
    done: &Latencies,
    censored: Option<&Latencies>,
    failed: Failed<'_>,
    k: u64,
) -> Option<Bounded> {
    let Some(k) = k.checked_sub(failed.count).filter(|k| *k > 0) else {
        // A failure ranks above what was never done too: had that been done, it took its age.
        let longest = [Some(done), censored].map(|latencies| latencies.and_then(quantile::max));
        let longest = longest.into_iter().flatten().max().unwrap_or(0);
        let bound = failed.kth_oldest(k).max(longest);
        return (bound > 0).then(|| at_least(done, bound));
    };
    let Some(ages) = censored else {
        return Some(Bounded::exact(quantile::kth_highest(done, k) as f64));
    };
    let value = quantile::kth_highest(&together(done, ages), k);
    let rank_if_never = k.checked_sub(ages.len()).filter(|rank| *rank > 0);
    let if_never = rank_if_never.map(|rank| quantile::kth_highest(done, rank));
    Some(if if_never == Some(value) {
        Bounded::exact(value as f64)
    } else {
        at_least(done, value)
    })
}

/// A lower bound taken from a histogram, nanoseconds: the lower end of the age's slot. If a
/// completed request is in the same slot, its printed value is used, so that quantiles never fall.
fn at_least(done: &Latencies, ns: u64) -> Bounded {
    let ns = if done.count_at(ns) > 0 {
        ns
    } else {
        done.lowest_equivalent(ns)
    };
    Bounded::at_least(ns as f64)
}

/// All samples, with requests that were not done at their ages.
fn together(done: &Latencies, ages: &Latencies) -> Latencies {
    let mut all = done.clone();
    histogram::add(&mut all, ages);
    all
}

#[cfg(test)]
mod tests;
