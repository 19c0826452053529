//! Requests that fail rank above every success: a system that does not answer must not have the
//! shorter tail.

use crate::{Asked, MS, measure, table};
use tailmark_model::{Bounded, Kind, Metric, QUANTILES};

/// A million reads of 1 ms in 100 s, on a model that does something else to a part of them.
fn tails(model: &'static str) -> [Bounded; 3] {
    let phase = measure(Asked {
        model,
        rate: 10_000.0,
        duration_s: 100,
        ..Asked::default()
    });
    let read = &phase.kinds[&Kind::Read];
    assert_eq!(read.count + read.errors, 1_000_000);
    let known = read.ranked_response();
    [3, 4, 5].map(|index| known.quantile(QUANTILES[index]).unwrap())
}

#[test]
fn a_system_that_does_not_answer_has_no_shorter_tail() {
    table("0.09 % of the reads | p99, ms | p99.9, ms | p99.99, ms");
    let rows = [
        ("take 1 ms as all others", "constant 1ms"),
        ("take 100 ms", "constant 1ms; mode 0.09% constant 100ms"),
        ("fail in 1 ms", "constant 1ms; errors 0s 100s 0.09%"),
    ];
    let answers = rows.map(|(what, model)| {
        let tails = tails(model);
        let [p99, p999, p9999] =
            tails.map(|tail| format!("{}{:.0}", tail.bound.sign(), tail.value / MS as f64));
        println!("| {what} | {p99} | {p999} | {p9999} |");
        tails
    });
    let [whole, slow, failing] = answers;
    // About 900 of the 1,000 slowest of a million are such reads, and all of the 100 slowest.
    assert!(whole.iter().chain(&slow).all(|tail| tail.is_exact()));
    assert!(slow[2].value > 99.0 * MS as f64);
    assert_eq!([0, 1].map(|i| failing[i]), [0, 1].map(|i| slow[i]));
    assert!(!failing[2].is_exact(), "{:?}", failing[2]);
    let metric = Metric::from_name("p99.99 read").unwrap();
    let ratio = metric.improvement(
        Bounded {
            value: failing[2].value / slow[2].value,
            ..failing[2]
        },
        None,
    );
    assert_eq!(ratio, "≤ 100X lower", "a bound, and never a lead");
}

#[test]
fn the_response_time_of_a_failure_counts_from_when_it_was_due() {
    // Requests due in the stall, from 5 to 8 s, are sent at its end and fail at once. So 4,000 of
    // 10,000 fail. Their ages are spread evenly over 3 s, except for 1,000 that are due after the
    // stall. The slowest 100 have waited for 2.9 s or more.
    let phase = measure(Asked {
        model: "constant 100us; stall 5s 3s; errors 8s 1s 100%",
        rate: 1_000.0,
        duration_s: 10,
        threads: 8,
        ..Asked::default()
    });
    let read = &phase.kinds[&Kind::Read];
    assert_eq!(read.count + read.errors, 10_000);
    let p99 = read.ranked_response().quantile(QUANTILES[3]).unwrap();
    assert!(!p99.is_exact(), "{p99:?}");
    let expected = 2_900.0 * MS as f64;
    assert!((p99.value / expected - 1.0).abs() < 0.01, "{p99:?}");
}

#[test]
fn the_response_time_counts_from_when_it_was_due_if_every_request_fails_too() {
    let phase = measure(Asked {
        model: "constant 100us; stall 2s 6s; errors 0s 10s 100%",
        threads: 8,
        ..Asked::default()
    });
    let read = &phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.errors), (0, 10_000));
    // The faster half: 4,000 that are not due in the stall, and the last 1,000 in it. The first of
    // these waits for 1 s, and then until 8 clients have done 5,000 requests of 100 us.
    let p50 = read.ranked_response().quantile(QUANTILES[0]).unwrap();
    let expected = 1_062.5 * MS as f64;
    assert!((p50.value / expected - 1.0).abs() < 0.005, "{p50:?}");
}
