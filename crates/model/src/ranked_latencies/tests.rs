use super::*;
use crate::{Bound, Censored, KindResult, QUANTILES, new_latencies};

fn exact(ns: f64) -> Option<Bounded> {
    Some(Bounded::exact(ns))
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
    let known = RankedLatencies::Summary {
        numbers: &summary,
        samples,
        failed: 0,
    };
    assert_eq!(
        (known.mean(), known.min(), known.max()),
        (Some(Bounded::exact(1_500.5)), None, None)
    );
    let quantiles = QUANTILES.map(|q| known.quantile(q));
    let [p99, p999] = [9_000.0, 20_000.0].map(|ns| Some(Bounded::exact(ns)));
    assert_eq!(quantiles, [None, None, None, p99, p999, None, None]);
}

#[test]
fn a_summary_of_few_samples_says_as_little_as_their_histogram() {
    let [p99, p999] = [QUANTILES[3], QUANTILES[4]];
    let summary = summary();
    let known = |samples| RankedLatencies::Summary {
        numbers: &summary,
        samples,
        failed: 0,
    };
    assert_eq!(known(999).quantile(p99), None);
    // Whoever writes a number and not of how many samples it is has some.
    assert_eq!(known(0).quantile(p99), Some(Bounded::exact(9_000.0)));
    assert!(!known(0).is_solid(p99));
    assert_eq!(known(1_000).quantile(p99), Some(Bounded::exact(9_000.0)));
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
    assert_eq!(result.ranked_service().mean(), exact(1_500.5));
    assert_eq!(result.ranked_response().mean(), exact(1_500.5));
    result.service.record(7).unwrap();
    assert_eq!(result.ranked_service().mean(), exact(7.0));
    assert_eq!(result.ranked_response().mean(), exact(7.0));
    let mut response = Summary::default();
    response.set(Summary::MEAN, 11.0);
    result.response_summary = response.if_any();
    assert_eq!(result.ranked_response().mean(), exact(11.0));
    let mut late = new_latencies();
    late.record(13).unwrap();
    result.response = Some(late);
    assert_eq!(result.ranked_response().mean(), exact(13.0));
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
fn ms(bounded: Option<Bounded>) -> (f64, bool) {
    let bounded = bounded.unwrap();
    let ms = (bounded.value / MS as f64 * 10.0).round() / 10.0;
    (ms, bounded.bound == Bound::AtLeast)
}

#[test]
fn what_was_never_done_counts_at_its_age_and_makes_the_tail_a_lower_bound() {
    // 9,802 done in 1 ms, 198 due at the end and not done, 5 to 84 ms old.
    let done = samples([(MS, 9_802)]);
    let ages = samples((0..198).map(|i| ((5 + i * 79 / 197) * MS, 1)));
    let known = RankedLatencies::with_censored(&done, Some(&ages));
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
    assert_eq!(ms(RankedLatencies::new(&done).max()), (1.0, false));
}

#[test]
fn a_quantile_is_exact_up_to_the_lowest_age_whatever_lies_above() {
    // Some were done in more than the ages of others: above the lowest age nothing is exact.
    let done = samples([(MS, 900), (3 * MS, 50), (9 * MS, 40)]);
    let ages = samples([(4 * MS, 10)]);
    let known = RankedLatencies::with_censored(&done, Some(&ages));
    let [p50, p90, p95, p99, ..] = QUANTILES.map(|q| known.quantile(q));
    assert_eq!([p50, p90].map(ms), [(1.0, false), (3.0, false)]);
    assert_eq!([p95, p99].map(ms), [(4.0, true), (9.0, true)]);
    assert_eq!(ms(known.max()), (9.0, true));
}

#[test]
fn an_age_below_all_that_was_done_is_a_lower_bound_of_the_minimum() {
    let done = samples([(3 * MS, 100)]);
    let age = samples([(MS, 1)]);
    let younger = RankedLatencies::with_censored(&done, Some(&age));
    assert_eq!(ms(younger.min()), (1.0, true));
    let as_old = samples([(3 * MS, 1)]);
    let equal = RankedLatencies::with_censored(&done, Some(&as_old));
    assert_eq!(ms(equal.min()), (3.0, false));
    let (none, ages) = (new_latencies(), samples([(7 * MS, 20)]));
    let all_censored = RankedLatencies::with_censored(&none, Some(&ages));
    for bounded in [all_censored.min(), all_censored.max(), all_censored.mean()] {
        assert_eq!(ms(bounded), (7.0, true));
    }
    assert_eq!(ms(all_censored.quantile(QUANTILES[0])), (7.0, true));
}

#[test]
fn enough_samples_are_those_that_were_never_done_too() {
    let (done, ages) = (samples([(MS, 999)]), samples([(9 * MS, 1)]));
    assert_eq!(RankedLatencies::new(&done).quantile(QUANTILES[3]), None);
    let known = RankedLatencies::with_censored(&done, Some(&ages));
    assert_eq!(ms(known.quantile(QUANTILES[3])), (1.0, false));
    let (fast, old, none) = (
        samples([(MS, 9_000)]),
        samples([(9 * MS, 1_000)]),
        new_latencies(),
    );
    assert!(!RankedLatencies::new(&fast).is_solid(QUANTILES[3]));
    assert!(RankedLatencies::with_censored(&fast, Some(&old)).is_solid(QUANTILES[3]));
    let without = RankedLatencies::with_censored(&fast, Some(&none));
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
    let censored_of = |known: RankedLatencies<'_>| (known.samples(), known.censored());
    assert_eq!(censored_of(result.ranked_service()), (70, 10));
    assert_eq!(censored_of(result.ranked_response()), (100, 40));
    // Nothing was done at all: there is no histogram of response times.
    (result.service, result.response) = (new_latencies(), None);
    assert_eq!(censored_of(result.ranked_response()), (40, 40));
    assert!(result.has_response());
}

#[test]
fn a_request_that_failed_ranks_above_every_success() {
    // 99,910 reads in 1 ms and 90 that fail at once, in a tenth of that.
    let (done, fast) = (samples([(MS, 99_910)]), samples([(MS / 10, 90)]));
    let failed = |ages| Failed { count: 90, ages };
    let known = RankedLatencies::new(&done).with_failed(failed(Some(&fast)));
    assert_eq!((known.samples(), known.failed()), (100_000, 90));
    let [p99, p999, p9999] = [3, 4, 5].map(|i| known.quantile(QUANTILES[i]).map(|_| i));
    assert_eq!([p99, p999, p9999], [Some(3), Some(4), Some(5)]);
    // The 1,000th and the 100th highest are successes, the 10th is a failure.
    let at = |ranked: RankedLatencies<'_>, i: usize| ms(ranked.quantile(QUANTILES[i]));
    assert_eq!(
        [3, 4, 5].map(|i| at(known, i)),
        [(1.0, false), (1.0, false), (1.0, true)]
    );
    // Its age is the number of the bound if it is more than every success took.
    let slow = samples((0..90).map(|i| ((100 + i) * MS, 1)));
    let by_age = RankedLatencies::new(&done).with_failed(failed(Some(&slow)));
    assert_eq!(
        at(by_age, 5),
        (180.0, true),
        "the lower end of its place in the histogram"
    );
    assert_eq!(
        (ms(by_age.max()), ms(by_age.min())),
        ((188.9, true), (1.0, false))
    );
    // (99,910 x 1 + 90 x 144.5) / 100,000
    assert_eq!(ms(by_age.mean()), (1.1, true));
    let unknown = RankedLatencies::new(&done).with_failed(failed(None));
    assert_eq!(at(unknown, 5), (1.0, true));
}

#[test]
fn quantiles_of_a_partly_failing_system_are_those_of_the_sorted_samples() {
    // Latencies of 1 to 20,000 us; a share fails. What failed is sorted above all others.
    for failures in [0_usize, 1, 19, 20, 199, 200, 2_000, 19_990] {
        let succeeded = 20_000 - failures;
        let done = samples((1..=succeeded as u64).map(|us| (us * 1_000, 1)));
        let known = RankedLatencies::new(&done).with_failed(Failed {
            count: failures as u64,
            ages: None,
        });
        for q in QUANTILES {
            let Some(bounded) = known.quantile(q) else {
                assert!(samples_beyond(20_000, q.value) < SAMPLES_MIN, "{}", q.name);
                continue;
            };
            let beyond = samples_beyond(20_000, q.value).max(1) as usize;
            let at = 20_000 - beyond;
            let expected = at.min(succeeded - 1) as u64 * 1_000 + 1_000;
            let expected = done.highest_equivalent(expected) as f64;
            let is_bound = beyond <= failures;
            let what = format!("{} with {failures} failures", q.name);
            assert_eq!(bounded.is_exact(), !is_bound, "{what}");
            assert!(
                (bounded.value - expected).abs() <= expected * 2e-3,
                "{what}: {bounded:?}"
            );
        }
    }
}

#[test]
fn failures_do_not_take_the_ages_of_what_was_never_done_from_a_bound() {
    // Of 60,000: 59,219 done in 1 ms, 500 never done that are 9.5 to 10.4 s old, 281 failed at once.
    let done = samples([(MS, 59_219)]);
    let ages = samples((0..500).map(|i| ((9_500 + i * 2) * MS, 1)));
    let fast = samples([(MS, 281)]);
    let failed = Failed {
        count: 281,
        ages: Some(&fast),
    };
    let known = RankedLatencies::with_censored(&done, Some(&ages)).with_failed(failed);
    assert_eq!(known.samples(), 60_000);
    // k is 600 and 60: the 319th highest age, and one of the failures.
    let [p95, p99, p999] = [2, 3, 4].map(|i| known.quantile(QUANTILES[i]).unwrap());
    assert_eq!(p95.bound, Bound::Exact);
    let within = |value: f64, seconds: f64| value <= seconds && value > seconds * 0.999;
    assert!(p99.bound == Bound::AtLeast && within(p99.value / 1e9, 9.862));
    assert!(p999.bound == Bound::AtLeast && within(p999.value / 1e9, 10.498));
}

#[test]
fn no_quantile_is_below_one_that_is_lower_whatever_failed_or_was_never_done() {
    let done = samples((1..=9_000_u64).map(|i| (i * i * 100, 1)));
    for (failures, failed_ms) in [(0, 1), (5, 1), (90, 1), (300, 400), (2_000, 5)] {
        for (never, age_ms) in [(0, 1), (7, 900), (60, 2), (800, 50), (800, 1)] {
            let ages = samples((0..never).map(|i| ((age_ms + i) * MS, 1)));
            let failed = samples((0..failures).map(|i| (failed_ms * MS + i, 1)));
            let known = RankedLatencies::with_censored(&done, Some(&ages)).with_failed(Failed {
                count: failures,
                ages: Some(&failed),
            });
            let mut all = together(&done, &ages);
            all.add(&failed).unwrap();
            let bounded = QUANTILES.map(|q| Some((q, known.quantile(q)?)));
            let bounded: Vec<_> = bounded.into_iter().flatten().collect();
            let what = format!("{failures} failed, {never} never done: {bounded:?}");
            assert!(
                bounded.is_sorted_by(|a, b| a.1.value <= b.1.value),
                "{what}"
            );
            for (q, value) in &bounded {
                let k = quantile::rank(known.samples(), q.value);
                let least = all.lowest_equivalent(quantile::kth_highest(&all, k));
                assert!(value.value >= least as f64, "{}: {what}", q.name);
            }
            let (last, max) = (bounded.last().unwrap().1, known.max().unwrap());
            assert!(last.value <= max.value, "{max:?}: {what}");
        }
    }
}

#[test]
fn nothing_is_known_of_the_tail_if_everything_failed_without_an_age() {
    let none = new_latencies();
    let known = RankedLatencies::new(&none).with_failed(Failed {
        count: 5_000,
        ages: None,
    });
    assert_eq!(known.quantile(QUANTILES[3]), None);
    assert_eq!((known.mean(), known.max()), (None, None));
}

#[test]
fn a_summary_beside_failures_is_a_lower_bound() {
    let summary = summary();
    let known = RankedLatencies::Summary {
        numbers: &summary,
        samples: 10_000_000,
        failed: 3,
    };
    assert_eq!(known.mean(), Some(Bounded::at_least(1_500.5)));
    assert_eq!(
        known.quantile(QUANTILES[3]),
        Some(Bounded::at_least(9_000.0))
    );
}

#[test]
fn a_quantile_that_is_the_same_whatever_became_of_the_rest_is_exact() {
    // 10,000 done in 1 ms and 100 in 9 ms; of 20 that were not, all are half a millisecond old.
    let done = samples([(MS, 10_000), (9 * MS, 100)]);
    let ages = samples([(MS / 2, 20)]);
    let known = RankedLatencies::with_censored(&done, Some(&ages));
    let [p50, p99, p999] = [0, 3, 4].map(|i| ms(known.quantile(QUANTILES[i])));
    // The 101st highest of 10,120 is one of 1 ms, and of 9 ms if the 20 are never done.
    assert_eq!((p50, p99), ((1.0, false), (1.0, true)));
    // The tenth highest may be one of the 20.
    assert_eq!(p999, (9.0, true));
}
