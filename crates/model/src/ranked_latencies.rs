//! What is known of latencies, whether they were recorded, summed up by another program, failed, or
//! never came to an end.
//!
//! A request that failed ranks above every success, whatever its age: its answer never came, and a
//! fast failure must not improve a tail. While fewer requests failed than lie beyond a quantile, the
//! quantile is that of the successes at the rank that the failures leave. Otherwise it is a lower
//! bound: the longest success or the oldest operation that was never done, or the age of the failure
//! at that rank if that is more. A read that found nothing was answered, and did not fail.
//!
//! Operations that were due and never done are censored: of each it is known that it would have
//! taken its age at least. They are samples like the others, at that age. A quantile is exact where
//! it is the same number if none of them had ever been done, as it is below the lowest age; where
//! it is not, it is a lower bound, and so are maximum and mean.

use crate::{
    Bounded, Latencies, Summary,
    quantile::{self, Quantile, SAMPLES_MIN, SAMPLES_SOLID, samples_beyond},
};

/// What is known of latencies: every one of them, or a few numbers. All are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub enum RankedLatencies<'a> {
    /// Each latency.
    Histogram {
        /// Of what was done.
        done: &'a Latencies,
        /// The ages of what was not, where there is any.
        censored: Option<&'a Latencies>,
        /// What failed.
        failed: Failed<'a>,
    },
    /// A few numbers.
    Summary {
        /// As they were written: of the requests that succeeded.
        numbers: &'a Summary,
        /// Over how many latencies.
        samples: u64,
        /// How many requests failed beside them.
        failed: u64,
    },
}

/// Requests that failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed<'a> {
    /// How many.
    pub count: u64,
    /// How long they took to fail, nanoseconds, if that was recorded.
    pub ages: Option<&'a Latencies>,
}

impl Failed<'_> {
    /// The age of the k-th oldest, k from 1, nanoseconds; 0 if it is not known.
    fn kth_oldest(self, k: u64) -> u64 {
        let of_known = |ages: &Latencies| (k <= ages.len()).then(|| quantile::kth_highest(ages, k));
        self.ages.and_then(of_known).unwrap_or(0)
    }
}

impl<'a> RankedLatencies<'a> {
    /// Latencies of what was all done.
    #[must_use]
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

    /// Latencies of what was done, and the ages of what was not.
    #[must_use]
    pub fn with_censored(done: &'a Latencies, ages: Option<&'a Latencies>) -> Self {
        let censored = ages.filter(|ages| !ages.is_empty());
        Self::Histogram {
            done,
            censored,
            failed: Failed::default(),
        }
    }

    /// The same beside requests that failed.
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

    /// How many samples there are, with those that failed and those that were never done.
    #[must_use]
    pub fn samples(self) -> u64 {
        match self {
            Self::Histogram { done, failed, .. } => done
                .len()
                .saturating_add(self.censored())
                .saturating_add(failed.count),
            Self::Summary { samples, .. } => samples,
        }
    }

    /// How many requests failed.
    #[must_use]
    pub const fn failed(self) -> u64 {
        match self {
            Self::Histogram { failed, .. } => failed.count,
            Self::Summary { failed, .. } => failed,
        }
    }

    /// A number of a summary: that of other requests than all, if some failed.
    fn summed(self, number: Option<f64>) -> Option<Bounded> {
        if self.failed() > 0 {
            number.map(Bounded::at_least)
        } else {
            number.map(Bounded::exact)
        }
    }

    /// How many of the samples were never done.
    #[must_use]
    pub fn censored(self) -> u64 {
        match self {
            Self::Histogram { censored, .. } => censored.map_or(0, |ages| ages.len()),
            Self::Summary { .. } => 0,
        }
    }

    /// The lowest age of what was never done, nanoseconds; none where all was.
    #[must_use]
    pub fn censored_age(self) -> Option<u64> {
        match self {
            Self::Histogram { censored, .. } => censored.and_then(quantile::min),
            Self::Summary { .. } => None,
        }
    }

    /// The mean, if it is known.
    #[must_use]
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
    #[must_use]
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
    #[must_use]
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

    /// A quantile, if it is known and enough samples are beyond it.
    #[must_use]
    pub fn quantile(self, quantile: Quantile) -> Option<Bounded> {
        if self.beyond(quantile) < SAMPLES_MIN && !self.is_of_unknown_samples(quantile) {
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

    /// Whether a quantile was written by somebody who did not write of how many samples it is. It
    /// is taken as it was written, and is never solid.
    fn is_of_unknown_samples(self, quantile: Quantile) -> bool {
        match self {
            Self::Summary {
                numbers,
                samples: 0,
                ..
            } => numbers.number(quantile.name).is_some_and(|ns| ns > 0.0),
            Self::Summary { .. } | Self::Histogram { .. } => false,
        }
    }

    /// Whether enough samples are beyond a quantile to be taken as certain.
    #[must_use]
    pub fn is_solid(self, quantile: Quantile) -> bool {
        self.beyond(quantile) >= SAMPLES_SOLID
    }

    fn beyond(self, quantile: Quantile) -> u64 {
        samples_beyond(self.samples(), quantile.value)
    }
}

/// The k-th highest of all samples, k from 1: what failed ranks above every success. Nothing if
/// nothing succeeded, and it is not known how long failing took.
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

/// A bound in a histogram, nanoseconds: an age at the lower end of its place, and where something was
/// done at the same place the number that would be printed of that, so that quantiles do not fall.
fn at_least(done: &Latencies, ns: u64) -> Bounded {
    let ns = if done.count_at(ns) > 0 {
        ns
    } else {
        done.lowest_equivalent(ns)
    };
    Bounded::at_least(ns as f64)
}

/// All samples, each that was not done at its age.
fn together(done: &Latencies, ages: &Latencies) -> Latencies {
    let mut all = done.clone();
    all.add(ages)
        .expect("a histogram that grows takes any other");
    all
}

#[cfg(test)]
mod tests;
