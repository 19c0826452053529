//! What a curve does not tell exactly: bounds of readings at a fixed rate and at a fixed latency.

use super::{fixed::OF_2022, support::*};
use std::time::Duration;
use tailmark_model::{Arrivals, Kind, Point, finding::CLIENT_SATURATED};

#[test]
fn a_crossing_that_a_measured_point_contradicts_is_a_bound() {
    // The latency has a spike at the second point.
    let spike = Curve(
        "A",
        [
            (10_000.0, 0.1),
            (20_000.0, 0.5),
            (30_000.0, 0.09),
            (31_000.0, 0.09),
        ],
    );
    let flat = Curve(
        "B",
        [
            (10_000.0, 0.1),
            (20_000.0, 0.1),
            (25_000.0, 0.1),
            (25_100.0, 0.1),
        ],
    );
    let mut data = one(&[spike, flat]);
    data.settings.at_latency = vec![Duration::from_micros(400)];
    let cells = &tables("fixed", &data)[0].rows[0].cells;
    let said = [&cells[3].text, &cells[5].text].map(String::as_str);
    assert_eq!(said, ["≥ 31,000", "≥ 25,100"]);
    let text = headline(&data);
    let stated =
        "At 400 us of p99 read latency, ops/s are at least 31,000 (A) and at least 25,100 (B).";
    assert!(text.starts_with(stated), "{text}");
    assert_eq!(text.matches("400 us").count(), 1, "no ratio: {text}");
}

#[test]
fn bounds_at_a_fixed_rate_or_latency_are_in_the_headline_and_on_the_card() {
    let mut data = one(&OF_2022);
    data.settings.at_rate = vec![5_000.0, 90_000.0];
    data.settings.at_latency = [1, 3, 50].map(Duration::from_millis).into();
    let text = headline(&data);
    for expected in [
        "At 5,000 ops/s, the p99 read latency is at most 2.01 ms (new) and at most 4.01 ms (old).",
        "new and old do not reach 90,000 ops/s in YCSB A.",
        "new and old exceed 1.00 ms of p99 read latency at every thread count in YCSB A.",
        "At 3.00 ms of p99 read latency, ops/s are 24,421 (new).",
        "old exceeds 3.00 ms of p99 read latency at every thread count in YCSB A.",
        "At 50.0 ms of p99 read latency, ops/s are at least 48,000 (new) and at least 42,000 (old).",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let card = &cards(&data)[0];
    for expected in [
        "≤ 2.01 ms: p99 read latency at 5,000 ops/s, new",
        "≥ 48,000: ops/s at 50.0 ms of p99 read latency, new",
    ] {
        assert!(card.contains(expected), "{expected}\n{card}");
    }
    // One that exceeds a latency leaves the others to be compared.
    let third = Curve("far", OF_2022[0].1.map(|(ops, ms)| (ops * 1.5, ms)));
    let mut three = one(&[OF_2022[0], OF_2022[1], third]);
    three.settings.at_latency = vec![Duration::from_millis(3)];
    let of_three = headline(&three);
    for expected in [
        "far delivers the most ops/s at 3.00 ms of p99 read latency in YCSB A, by 50 % over the nearest competitor.",
        "old exceeds 3.00 ms of p99 read latency at every thread count in YCSB A.",
    ] {
        assert!(of_three.contains(expected), "{expected}\n{of_three}");
    }
}

#[test]
fn past_a_branch_that_begins_above_the_latency_the_most_within_it_is_a_bound() {
    let falls = Curve(
        "A",
        [
            (50_000.0, 0.9),
            (40_000.0, 0.5),
            (30_000.0, 0.3),
            (60_000.0, 1.0),
        ],
    );
    let mut data = one(&[falls]);
    data.settings.at_latency = vec![Duration::from_micros(400)];
    assert_eq!(tables("fixed", &data)[0].rows[0].cells[3].text, "≥ 30,000");
}

#[test]
fn a_rate_at_which_the_latency_was_within_the_limit_wins_over_fewer_in_a_closed_loop() {
    let mut data = one(&[Curve(
        "A",
        [
            (1_000.0, 1.0),
            (1_500.0, 1.0),
            (1_600.0, 1.0),
            (1_685.0, 1.0),
        ],
    )]);
    let mut at_rate = point("A", "ycsb-a", 32, (4_999.0, 2.84));
    at_rate.key.target_rate = Some(5_000.0);
    at_rate.key.arrivals = Some(Arrivals::Poisson);
    data.points.push(at_rate);
    data.settings.at_latency = vec![Duration::from_micros(3_500)];
    let cells = &tables("fixed", &data)[0].rows[0].cells;
    let said = [&cells[3].text, &cells[4].text].map(String::as_str);
    assert_eq!(said, ["≥ 4,999", "measured at that rate"]);
}

#[test]
fn a_rate_on_one_side_of_a_curve_has_a_bound_or_was_not_reached() {
    let mut data = one(&OF_2022);
    data.settings.at_rate = vec![15_000.0, 45_000.0];
    let tables = tables("fixed", &data);
    let row = |table: usize| -> Vec<&str> {
        let cells = tables[table].rows[0].cells.iter();
        cells.skip(3).map(|cell| cell.text.as_str()).collect()
    };
    let loop_words = "measured in a closed loop";
    assert_eq!(
        row(0)[..2],
        ["≤ 2.01 ms", loop_words],
        "new begins at 20,000"
    );
    assert_eq!(row(1)[2..], ["none: 42,000 ops/s at most", loop_words]);
    let said = lines("fixed", &data);
    assert!(
        said.contains(&"YCSB A: old did not reach 45,000 ops/s.".to_owned()),
        "{said:?}"
    );
    // Of two that reach it there is a headline, which names the third.
    let third = Curve("far", OF_2022[0].1.map(|(ops, ms)| (ops * 1.1, ms * 2.0)));
    let mut three = one(&[OF_2022[0], OF_2022[1], third]);
    three.settings.at_rate = vec![45_000.0];
    let text = headline(&three);
    assert!(
        text.contains("old does not reach 45,000 ops/s in YCSB A."),
        "{text}"
    );
    let first = format!("{:?}", blocks("summary", &three));
    let interpolated =
        "Values at 45,000 ops/s are interpolated between measured points, as the curves are drawn.";
    assert!(first.contains(interpolated), "{first}");
}

#[test]
fn what_points_before_the_first_known_latency_did_counts() {
    let read = |change: fn(&mut Point)| {
        let mut data = one(&OF_2022);
        data.settings.at_latency = vec![Duration::from_millis(15)];
        let is_first = |point: &&mut Point| point.key.system == "new" && point.key.threads == 4;
        let first = data.points.iter_mut().find(is_first).unwrap();
        let read = first.phase.kinds.get_mut(&Kind::Read).unwrap();
        read.service.reset();
        read.response = None;
        change(first);
        tables("fixed", &data)[0].rows[0].cells[3].text.clone()
    };
    // Where a quantile is not known of every point, the report is about the mean.
    assert_eq!(read(|_| ()), "44,682");
    let limited = read(|point| point.phase.findings.push(CLIENT_SATURATED.finding("95 %")));
    assert_eq!(limited, "≥ 44,681");
    // Behind it ops/s have fallen: the rising branch is over, and what was measured within 15 ms is known.
    let fallen = read(|point| point.phase.duration_s /= 4.0);
    assert_eq!(fallen, "≥ 40,000");
}
