//! What is known of latencies, whether they were recorded, summed up by another program, failed, or
//! never came to an end.
//!
//! A request that failed ranks above every success, whatever its age: its answer never came, and a
//! fast failure must not improve a tail. While fewer requests failed than lie beyond a quantile, the
//! quantile is that of the successes at the rank that the failures leave. Otherwise it is a lower
//! bound: the longest success, or the age of the failure at that rank if that is more. A read that
//! found nothing was answered, and did not fail.
//!
//! Operations that were due and never done are censored: of each it is known that it would have
//! taken its age at least. They are samples like the others, at that age. A quantile is exact where
//! it is the same number if none of them had ever been done, as it is below the lowest age; where
//! it is not, it is a lower bound, and so are maximum and mean.

use crate::{
    Latencies, Stated, Summary,
    quantile::{self, Quantile, SAMPLES_MIN, SAMPLES_SOLID, samples_beyond},
};

/// What is known of latencies: every one of them, or a few numbers. All are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub enum Known<'a> {
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

impl<'a> Known<'a> {
    /// Latencies of what was all done.
    #[must_use]
    pub const fn of(done: &'a Latencies) -> Self {
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
    fn summed(self, number: Option<f64>) -> Option<Stated> {
        if self.failed() > 0 {
            number.map(Stated::at_least)
        } else {
            number.map(Stated::exact)
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
    pub fn mean(self) -> Option<Stated> {
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
                    return higher.map(Stated::at_least);
                }
                mean.map(if censored.is_some() {
                    Stated::at_least
                } else {
                    Stated::exact
                })
            }
            Self::Summary { numbers, .. } => self.summed(numbers.number(Summary::MEAN)),
        }
    }

    /// The minimum, if it is known.
    #[must_use]
    pub fn min(self) -> Option<Stated> {
        match self {
            Self::Histogram { done, censored, .. } => {
                let done = quantile::min(done).map(|ns| Stated::exact(ns as f64));
                let age = censored.and_then(quantile::min);
                let age = age.map(|ns| Stated::at_least(ns as f64));
                // What was done in no more than the lowest age took less than all that was not.
                match (done, age) {
                    (Some(done), Some(age)) if age.value < done.value => Some(age),
                    (done, age) => done.or(age),
                }
            }
            Self::Summary { numbers, .. } => numbers.number(Summary::MIN).map(Stated::exact),
        }
    }

    /// The maximum, if it is known.
    #[must_use]
    pub fn max(self) -> Option<Stated> {
        match self {
            Self::Histogram {
                done,
                censored,
                failed,
            } => {
                let done = quantile::max(done);
                let ages = [censored, failed.ages].map(|ages| ages.and_then(quantile::max));
                let oldest = ages.into_iter().flatten().chain(done).max();
                if censored.is_none() && failed.count == 0 {
                    done.map(|ns| Stated::exact(ns as f64))
                } else {
                    oldest.map(|ns| Stated::at_least(ns as f64))
                }
            }
            Self::Summary { numbers, .. } => self.summed(numbers.number(Summary::MAX)),
        }
    }

    /// A quantile, if it is known and enough samples are beyond it.
    #[must_use]
    pub fn quantile(self, quantile: Quantile) -> Option<Stated> {
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
) -> Option<Stated> {
    let Some(k) = k.checked_sub(failed.count).filter(|k| *k > 0) else {
        let longest = quantile::max(done).unwrap_or(0);
        let bound = failed.kth_oldest(k).max(longest);
        return (bound > 0).then(|| Stated::at_least(bound as f64));
    };
    let Some(ages) = censored else {
        return Some(Stated::exact(quantile::kth_highest(done, k) as f64));
    };
    let value = quantile::kth_highest(&together(done, ages), k);
    let if_never = k.checked_sub(ages.len()).filter(|k| *k > 0);
    let if_never = if_never.map(|k| quantile::kth_highest(done, k));
    Some(if if_never == Some(value) {
        Stated::exact(value as f64)
    } else {
        Stated::at_least(value as f64)
    })
}

/// All samples, each that was not done at its age.
fn together(done: &Latencies, ages: &Latencies) -> Latencies {
    let mut all = done.clone();
    all.add(ages)
        .expect("a histogram that grows takes any other");
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bound, Censored, KindResult, QUANTILES, new_latencies};

    fn exact(ns: f64) -> Option<Stated> {
        Some(Stated::exact(ns))
    }

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
            failed: 0,
        };
        assert_eq!(
            (known.mean(), known.min(), known.max()),
            (Some(Stated::exact(1_500.5)), None, None)
        );
        let quantiles = QUANTILES.map(|q| known.quantile(q));
        let [p99, p999] = [9_000.0, 20_000.0].map(|ns| Some(Stated::exact(ns)));
        assert_eq!(quantiles, [None, None, None, p99, p999, None, None]);
    }

    #[test]
    fn a_summary_of_few_samples_says_as_little_as_their_histogram() {
        let [p99, p999] = [QUANTILES[3], QUANTILES[4]];
        let summary = summary();
        let known = |samples| Known::Summary {
            numbers: &summary,
            samples,
            failed: 0,
        };
        assert_eq!(known(999).quantile(p99), None);
        // Whoever writes a number and not of how many samples it is has some.
        assert_eq!(known(0).quantile(p99), Some(Stated::exact(9_000.0)));
        assert!(!known(0).is_solid(p99));
        assert_eq!(known(1_000).quantile(p99), Some(Stated::exact(9_000.0)));
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
        assert_eq!(result.known_service().mean(), exact(1_500.5));
        assert_eq!(result.known_response().mean(), exact(1_500.5));
        result.service.record(7).unwrap();
        assert_eq!(result.known_service().mean(), exact(7.0));
        assert_eq!(result.known_response().mean(), exact(7.0));
        let mut response = Summary::default();
        response.set(Summary::MEAN, 11.0);
        result.response_summary = response.if_any();
        assert_eq!(result.known_response().mean(), exact(11.0));
        let mut late = new_latencies();
        late.record(13).unwrap();
        result.response = Some(late);
        assert_eq!(result.known_response().mean(), exact(13.0));
    }

    fn samples(values: impl IntoIterator<Item = (u64, u64)>) -> Latencies {
        let mut latencies = new_latencies();
        for (value, count) in values {
            latencies.record_n(value, count).unwrap();
        }
        latencies
    }

    const MS: u64 = 1_000_000;

    /// A number in milliseconds, and whether it is a lower bound.
    fn ms(stated: Option<Stated>) -> (f64, bool) {
        let stated = stated.unwrap();
        let ms = (stated.value / MS as f64 * 10.0).round() / 10.0;
        (ms, stated.bound == Bound::AtLeast)
    }

    #[test]
    fn what_was_never_done_counts_at_its_age_and_makes_the_tail_a_lower_bound() {
        // 9,802 done in 1 ms, 198 due at the end and not done, 5 to 84 ms old.
        let done = samples([(MS, 9_802)]);
        let ages = samples((0..198).map(|i| ((5 + i * 79 / 197) * MS, 1)));
        let known = Known::with_censored(&done, Some(&ages));
        assert_eq!((known.samples(), known.censored()), (10_000, 198));
        let [p50, p90, p95, p99, p999, ..] = QUANTILES.map(|q| known.quantile(q));
        for exact in [p50, p90, p95, known.min()] {
            assert_eq!(ms(exact), (1.0, false));
        }
        // The 100th and the 10th highest of ages that rise by 79 ms over 198.
        assert_eq!(ms(p99), (44.0, true));
        assert_eq!(ms(p999), (80.0, true));
        assert_eq!(known.quantile(QUANTILES[5]), None, "one is beyond it");
        assert_eq!(ms(known.max()), (84.0, true));
        // (9,802 x 1 + 198 x 44.3) / 10,000
        assert_eq!(ms(known.mean()), (1.9, true));
        assert_eq!(ms(Known::of(&done).max()), (1.0, false));
    }

    #[test]
    fn a_quantile_is_exact_up_to_the_lowest_age_whatever_lies_above() {
        // Some were done in more than the ages of others: above the lowest age nothing is exact.
        let done = samples([(MS, 900), (3 * MS, 50), (9 * MS, 40)]);
        let ages = samples([(4 * MS, 10)]);
        let known = Known::with_censored(&done, Some(&ages));
        let [p50, p90, p95, p99, ..] = QUANTILES.map(|q| known.quantile(q));
        assert_eq!([p50, p90].map(ms), [(1.0, false), (3.0, false)]);
        assert_eq!([p95, p99].map(ms), [(4.0, true), (9.0, true)]);
        assert_eq!(ms(known.max()), (9.0, true));
    }

    #[test]
    fn an_age_below_all_that_was_done_is_a_lower_bound_of_the_minimum() {
        let done = samples([(3 * MS, 100)]);
        let younger = samples([(MS, 1)]);
        let known = Known::with_censored(&done, Some(&younger));
        assert_eq!(ms(known.min()), (1.0, true));
        let as_old = samples([(3 * MS, 1)]);
        let known = Known::with_censored(&done, Some(&as_old));
        assert_eq!(ms(known.min()), (3.0, false));
        let (none, ages) = (new_latencies(), samples([(7 * MS, 20)]));
        let known = Known::with_censored(&none, Some(&ages));
        for stated in [known.min(), known.max(), known.mean()] {
            assert_eq!(ms(stated), (7.0, true));
        }
        assert_eq!(ms(known.quantile(QUANTILES[0])), (7.0, true));
    }

    #[test]
    fn enough_samples_are_those_that_were_never_done_too() {
        let (done, ages) = (samples([(MS, 999)]), samples([(9 * MS, 1)]));
        assert_eq!(Known::of(&done).quantile(QUANTILES[3]), None);
        let known = Known::with_censored(&done, Some(&ages));
        assert_eq!(ms(known.quantile(QUANTILES[3])), (1.0, false));
        let (done, ages, none) = (
            samples([(MS, 9_000)]),
            samples([(9 * MS, 1_000)]),
            new_latencies(),
        );
        assert!(!Known::of(&done).is_solid(QUANTILES[3]));
        assert!(Known::with_censored(&done, Some(&ages)).is_solid(QUANTILES[3]));
        let without = Known::with_censored(&done, Some(&none));
        assert!(ms(without.max()) == (1.0, false));
    }

    #[test]
    fn service_time_has_those_that_were_sent_and_response_time_all() {
        let censored = Censored {
            service: samples([(2 * MS, 10)]),
            response: samples([(5 * MS, 40)]),
        };
        let mut result = KindResult {
            service: samples([(MS, 60)]),
            response: Some(samples([(MS, 60)])),
            censored: Some(Box::new(censored)),
            ..KindResult::default()
        };
        let censored_of = |known: Known<'_>| (known.samples(), known.censored());
        assert_eq!(censored_of(result.known_service()), (70, 10));
        assert_eq!(censored_of(result.known_response()), (100, 40));
        // Nothing was done at all: there is no histogram of response times.
        (result.service, result.response) = (new_latencies(), None);
        assert_eq!(censored_of(result.known_response()), (40, 40));
        assert!(result.has_response());
    }

    #[test]
    fn a_request_that_failed_ranks_above_every_success() {
        // 99,910 reads in 1 ms and 90 that fail at once, in a tenth of that.
        let (done, fast) = (samples([(MS, 99_910)]), samples([(MS / 10, 90)]));
        let failed = |ages| Failed { count: 90, ages };
        let known = Known::of(&done).with_failed(failed(Some(&fast)));
        assert_eq!((known.samples(), known.failed()), (100_000, 90));
        let [p99, p999, p9999] = [3, 4, 5].map(|i| known.quantile(QUANTILES[i]).map(|_| i));
        assert_eq!([p99, p999, p9999], [Some(3), Some(4), Some(5)]);
        // The 1,000th and the 100th highest are successes, the 10th is a failure.
        let of = |known: Known<'_>, i: usize| ms(known.quantile(QUANTILES[i]));
        assert_eq!(
            [3, 4, 5].map(|i| of(known, i)),
            [(1.0, false), (1.0, false), (1.0, true)]
        );
        // Its age is the number of the bound if it is more than every success took.
        let slow = samples((0..90).map(|i| ((100 + i) * MS, 1)));
        let known = Known::of(&done).with_failed(failed(Some(&slow)));
        assert_eq!(
            of(known, 5),
            (180.1, true),
            "as its place in the histogram has it"
        );
        assert_eq!(
            (ms(known.max()), ms(known.min())),
            ((189.0, true), (1.0, false))
        );
        // (99,910 x 1 + 90 x 144.5) / 100,000
        assert_eq!(ms(known.mean()), (1.1, true));
        let unknown = Known::of(&done).with_failed(failed(None));
        assert_eq!(of(unknown, 5), (1.0, true));
    }

    #[test]
    fn quantiles_of_a_partly_failing_system_are_those_of_the_sorted_samples() {
        // Latencies of 1 to 20,000 us; a share fails. What failed is sorted above all others.
        for failures in [0_usize, 1, 19, 20, 199, 200, 2_000, 19_990] {
            let succeeded = 20_000 - failures;
            let done = samples((1..=succeeded as u64).map(|us| (us * 1_000, 1)));
            let known = Known::of(&done).with_failed(Failed {
                count: failures as u64,
                ages: None,
            });
            for q in QUANTILES {
                let Some(stated) = known.quantile(q) else {
                    assert!(samples_beyond(20_000, q.value) < SAMPLES_MIN, "{}", q.name);
                    continue;
                };
                let beyond = samples_beyond(20_000, q.value).max(1) as usize;
                let at = 20_000 - beyond;
                let expected = at.min(succeeded - 1) as u64 * 1_000 + 1_000;
                let expected = done.highest_equivalent(expected) as f64;
                let is_bound = beyond <= failures;
                let what = format!("{} with {failures} failures", q.name);
                assert_eq!(stated.is_exact(), !is_bound, "{what}");
                assert!(
                    (stated.value - expected).abs() <= expected * 2e-3,
                    "{what}: {stated:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_known_of_the_tail_if_everything_failed_without_an_age() {
        let none = new_latencies();
        let known = Known::of(&none).with_failed(Failed {
            count: 5_000,
            ages: None,
        });
        assert_eq!(known.quantile(QUANTILES[3]), None);
        assert_eq!((known.mean(), known.max()), (None, None));
    }

    #[test]
    fn a_summary_beside_failures_is_a_lower_bound() {
        let summary = summary();
        let known = Known::Summary {
            numbers: &summary,
            samples: 10_000_000,
            failed: 3,
        };
        assert_eq!(known.mean(), Some(Stated::at_least(1_500.5)));
        assert_eq!(
            known.quantile(QUANTILES[3]),
            Some(Stated::at_least(9_000.0))
        );
    }

    #[test]
    fn a_quantile_that_is_the_same_whatever_became_of_the_rest_is_exact() {
        // 10,000 done in 1 ms and 100 in 9 ms; of 20 that were not, all are half a millisecond old.
        let done = samples([(MS, 10_000), (9 * MS, 100)]);
        let ages = samples([(MS / 2, 20)]);
        let known = Known::with_censored(&done, Some(&ages));
        let [p50, p99, p999] = [0, 3, 4].map(|i| ms(known.quantile(QUANTILES[i])));
        // The 101st highest of 10,120 is one of 1 ms, and of 9 ms if the 20 are never done.
        assert_eq!((p50, p99), ((1.0, false), (1.0, true)));
        // The tenth highest may be one of the 20.
        assert_eq!(p999, (9.0, true));
    }
}
