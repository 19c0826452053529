//! At a fixed rate, at a fixed latency, and at scale.

use super::support::*;
use std::time::Duration;
use tailmark_model::{
    Arrivals, Kind, KindResult, Metric, Point, PointKey, System,
    finding::{CLIENT_SATURATED, RATE_NOT_MET},
};
use tailmark_report::{Block, Data};

/// The study of 2022: about 10 and 23 ms at 40,000 ops/s; 45,000 and 23,000 ops/s at 15 ms.
pub const OF_2022: [Curve; 2] = [
    Curve(
        "new",
        [
            (20_000.0, 2.0),
            (30_000.0, 5.0),
            (40_000.0, 10.0),
            (48_000.0, 20.0),
        ],
    ),
    Curve(
        "old",
        [
            (10_000.0, 4.0),
            (23_000.0, 15.0),
            (40_000.0, 23.0),
            (42_000.0, 40.0),
        ],
    ),
];

#[test]
fn at_a_fixed_rate_and_at_a_fixed_latency_off_the_curve() {
    let mut data = one(&OF_2022);
    assert!(blocks("fixed", &data).is_empty());
    let report = &mut data.headers[0].settings.report;
    report.at_rate = vec![40_000.0, 90_000.0];
    report.at_latency = vec![Duration::from_millis(15)];
    let said = lines("fixed", &data);
    let rate = "YCSB A, p99 read latency at 40,000 ops/s: new is 2.3X lower than old (10.0 ms against \
                23.0 ms; measured in a closed loop).";
    assert_eq!(said[0], rate);
    let latency = "YCSB A, ops/s at 15.0 ms of p99 read latency: new delivers 94 % more ops/s than old (44,677 \
                   against 22,995; interpolated).";
    assert_eq!(said[1], latency);
    let tables = tables("fixed", &data);
    assert_eq!(tables.len(), 2, "no curve reaches 90,000 ops/s");
    // Both have a point at 40,000 ops/s, and none at 15.0 ms.
    for (table, source) in [(0, "measured in a closed loop"), (1, "interpolated")] {
        let cells = &tables[table].rows[0].cells;
        assert_eq!(cells[4].text, source);
    }
    // 40,000 + 8,000 ln(1.5) / ln(2), but for the three digits of histograms.
    let ops = tables[1].rows[0].cells[3].value.unwrap().value;
    assert!((ops - 44_679.7).abs() < 20.0, "{ops}");
}

#[test]
fn between_points_at_rates_nothing_is_read() {
    // At a rate of each thread count, and at one that all are offered.
    for of_threads in [10_000.0, 0.0] {
        let mut data = one(&OF_2022);
        for point in &mut data.points {
            point.key.target_rate = Some(60_000.0 + of_threads * f64::from(point.key.threads));
            point.key.arrivals = Some(Arrivals::Even);
            if of_threads > 0.0 {
                point.key.threads = 64;
            }
        }
        data.headers[0].settings.has_rates = of_threads > 0.0;
        data.settings.at_rate = vec![35_000.0];
        data.settings.at_latency = vec![Duration::from_millis(15)];
        // What was measured is within the latency, and nothing is known between.
        let [table] = &tables("fixed", &data)[..] else {
            panic!("one table");
        };
        assert_eq!(table.rows[0].cells[3].text, "≥ 40,000");
        let said = format!("{:?}", blocks("fixed", &data));
        assert!(said.contains("Nothing was measured at 35,000"), "{said}");
    }
}

#[test]
fn a_measured_value_is_in_no_ratio_with_an_interpolated_one() {
    let mut data = one(&OF_2022);
    data.settings.at_rate = vec![39_000.0];
    let mut at_rate = point("new", "ycsb-a", 64, (39_000.0, 12.0));
    at_rate.key.target_rate = Some(39_000.0);
    at_rate.key.arrivals = Some(Arrivals::Poisson);
    data.points.push(at_rate.clone());
    let table = &tables("fixed", &data)[0];
    let cells = &table.rows[0].cells;
    assert_eq!(
        (cells[3].text.as_str(), cells[4].text.as_str()),
        ("12.0 ms", "measured, poisson arrivals")
    );
    assert_eq!(cells[6].text, "interpolated");
    assert!(lines("fixed", &data).is_empty());
    at_rate.key.system = "old".into();
    at_rate.phase = phase(39_000.0, 24.0);
    data.points.push(at_rate);
    let said = lines("fixed", &data);
    assert!(said[0].contains("new is 2.0X lower than old (12.0 ms against 24.0 ms; measured"));
}

#[test]
fn of_points_at_one_rate_it_is_latency_that_is_compared() {
    let slow = Curve("B", A.1.map(|(ops, ms)| (ops, ms * 43.0)));
    let mut data = one(&[A, slow]);
    for point in &mut data.points {
        point.key.target_rate = Some(100.0);
        point.key.arrivals = Some(Arrivals::Even);
    }
    let text = headline(&data);
    let expected = "A has a lower p99 read latency than B at 32 threads in YCSB A";
    assert!(text.contains(expected) && !text.contains("peak"), "{text}");
    let cards = blocks("summary", &data)
        .into_iter()
        .find_map(|block| match block {
            Block::Cards(cards) => Some(cards),
            _ => None,
        });
    assert_eq!(cards.unwrap()[0].figures[0].value, "43X lower");
}

#[test]
fn the_arithmetic_of_scale_is_that_of_the_study() {
    let mut data = one(&[A]);
    data.points.truncate(1);
    let read = data.points[0].phase.kinds.get_mut(&Kind::Read).unwrap();
    *read = KindResult {
        count: 100_000_000,
        ..KindResult::default()
    };
    read.service.record_n(MS, 100_000_000).unwrap();
    data.points[0].phase.operations = 100_000_000;
    let tables = tables("qos", &data);
    let scaled = tables
        .iter()
        .find(|table| table.caption.contains("at scale"));
    let rows = &scaled.unwrap().rows;
    let five_nines = rows
        .iter()
        .find(|row| row.cells[2].text == "p99.999")
        .unwrap();
    let texts: Vec<&str> = five_nines.cells[4..]
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(texts, ["10.0", "100", "2,000", "40,000"]);
}

/// The plan asks for ops/s within 10 ms.
fn within_10_ms(curves: &[Curve]) -> Data {
    let mut data = one(curves);
    data.settings.at_latency = vec![Duration::from_millis(10)];
    data
}

#[test]
fn a_curve_below_the_limit_is_a_bound_and_one_above_it_is_said_to_exceed_it() {
    let below = Curve(
        "below",
        [
            (20_000.0, 2.0),
            (30_000.0, 3.0),
            (40_000.0, 4.0),
            (44_600.0, 5.0),
        ],
    );
    let above = Curve(
        "above",
        [
            (5_000.0, 12.0),
            (6_000.0, 15.0),
            (7_000.0, 20.0),
            (8_000.0, 40.0),
        ],
    );
    let data = within_10_ms(&[below, above]);
    let bound = "YCSB A, ops/s at 10.0 ms of p99 read latency: below delivers at least 44,600 ops/s \
                 within 10.0 ms; above exceeds 10.0 ms at every thread count (≥ 44,600 against \
                 none: above it at every thread count; measured in a closed loop).";
    assert_eq!(lines("fixed", &data), [bound]);
    // A value off the curve is no bound: latencies have three digits, so 10 ms is reached a little before.
    let across = Curve(
        "across",
        [
            (20_000.0, 2.0),
            (30_000.0, 5.0),
            (40_000.0, 10.0),
            (44_600.0, 20.0),
        ],
    );
    let expected = "YCSB A, ops/s at 10.0 ms of p99 read latency: across delivers 39,996 ops/s within \
                    10.0 ms; above exceeds 10.0 ms at every thread count (39,996, \
                    interpolated, against none: above it at every thread count, measured in a closed loop).";
    assert_eq!(lines("fixed", &within_10_ms(&[across, above])), [expected]);
    // Two bounds have no ratio.
    let other = Curve("other", below.1.map(|(ops, ms)| (ops / 2.0, ms)));
    assert!(lines("fixed", &within_10_ms(&[below, other])).is_empty());
}

#[test]
fn a_bound_up_to_a_point_without_the_latency_may_be_the_higher_one() {
    let across = Curve(
        "across",
        [(2.0e4, 2.0), (3.0e4, 5.0), (4.0e4, 12.0), (4.4e4, 20.0)],
    );
    let gap = Curve(
        "gap",
        [(1.0e4, 1.0), (2.0e4, 2.0), (5.0e4, 9.0), (6.0e4, 30.0)],
    );
    let mut data = within_10_ms(&[across, gap]);
    let of_gap = |point: &&mut Point| point.key.system == "gap" && point.key.threads == 16;
    for point in data.points.iter_mut().filter(of_gap) {
        point.phase.kinds.clear();
    }
    let said = lines("fixed", &data).concat();
    assert!(
        said.contains("it is not certain whether gap or across is higher"),
        "{said}"
    );
    assert!(said.contains("≥ 20,000"), "{said}");
}

#[test]
fn what_was_measured_within_the_limit_after_a_gap_counts() {
    let gap = [(1.0e3, 1.0), (5.0e3, 1.5), (1.3e4, 2.0), (1.4e4, 8.0)];
    let mut data = within_10_ms(&[Curve("gap", gap), Curve("other", [(2.0e4, 9.0); 4])]);
    let of_gap = |point: &&mut Point| point.key.system == "gap" && point.key.threads == 8;
    for point in data.points.iter_mut().filter(of_gap) {
        point.phase.kinds.clear();
    }
    let said = lines("fixed", &data).concat();
    let table = &tables("fixed", &data)[0];
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    assert!(
        cells.clone().any(|cell| cell.text == "≥ 14,000"),
        "{said} {table:?}"
    );
}

#[test]
fn of_an_interpolated_value_and_a_bound_the_ratio_is_a_bound() {
    let below = |name, factor: f64| {
        let points = [(2e4, 2.0), (3e4, 3.0), (4e4, 4.0), (4.46e4, 5.0)];
        Curve(name, points.map(|(ops, ms)| (ops * factor, ms)))
    };
    let across = Curve("across", [(1e4, 2.0), (2e4, 5.0), (3e4, 12.0), (4e4, 20.0)]);
    let said = |curves: [Curve; 2]| lines("fixed", &within_10_ms(&curves)).concat();
    let more = said([below("below", 1.0), across]);
    assert!(
        more.contains(
            "below delivers at least 59 % more ops/s than across (≥ 44,600, measured in a closed loop, \
             against 27,916, interpolated)."
        ),
        "{more}"
    );
    let times = said([below("below", 2.0), across]);
    assert!(
        times.contains("below delivers at least 3.1X the ops/s of across"),
        "{times}"
    );
    // A bound that is the lower one says nothing, and two bounds have no ratio.
    let lower = said([below("below", 0.5), across]);
    assert!(
        lower.contains("it is not certain whether across or below is higher"),
        "{lower}"
    );
    assert_eq!(said([below("below", 1.0), below("other", 0.5)]), "");
}

#[test]
fn the_latency_at_the_end_of_a_curve_or_before_a_gap_is_held_by_at_least_that_rate() {
    let exact = Curve("exact", [(1e4, 2.0), (2e4, 5.0), (3e4, 8.0), (4e4, 16.0)]);
    let mut data = one(&[exact, A]);
    let at = |given: &Data| tables("fixed", given)[0].rows[0].cells[3].text.clone();
    let latency_of = |given: &Data, index: usize| {
        let point = &given.points[index];
        let known = Metric::from_name("p99 read").unwrap().value(&point.phase);
        Duration::from_nanos(known.unwrap().value as u64)
    };
    assert_eq!(data.points[3].key.system, "exact");
    data.settings.at_latency = vec![latency_of(&data, 3)];
    assert_eq!(at(&data), "≥ 40,000");
    data.settings.at_latency = vec![latency_of(&data, 2)];
    assert_eq!(at(&data), "30,000");
    data.points.remove(3);
    assert_eq!(at(&data), "≥ 30,000");
}

#[test]
fn a_curve_whose_lowest_load_is_not_known_is_not_said_to_be_above_at_every_load() {
    let above = Curve(
        "above",
        [
            (5_000.0, 12.0),
            (6_000.0, 15.0),
            (7_000.0, 20.0),
            (8_000.0, 40.0),
        ],
    );
    let at = |data: &Data| {
        let tables = tables("fixed", data);
        tables
            .first()
            .map(|table| table.rows[0].cells[3].text.clone())
    };
    let mut data = within_10_ms(&[above, A]);
    assert_eq!(at(&data).unwrap(), "none: above it at every thread count");
    let read = data.points[0].phase.kinds.get_mut(&Kind::Read).unwrap();
    read.service.reset();
    read.response = None;
    assert_ne!(at(&data).unwrap(), "none: above it at every thread count");
}

#[test]
fn nothing_is_read_across_a_point_that_one_system_lacks() {
    let mut data = one(&OF_2022);
    data.settings.at_latency = vec![Duration::from_millis(15)];
    let at = |given: &Data| tables("fixed", given)[0].rows[0].cells[3].text.clone();
    assert_eq!(at(&data), "44,677");
    // 40,000 ops/s at 10 ms, the point before the crossing.
    data.points
        .retain(|point| (point.key.system.as_str(), point.key.threads) != ("new", 16));
    assert_eq!(at(&data), "≥ 30,000", "what the points before the gap say");
}

fn at_10(data: &mut Data, system: &str, ms: f64) {
    let mut point = point(system, "ycsb-a", 64, (10.0, ms));
    point.key.target_rate = Some(10.0);
    point.key.arrivals = Some(Arrivals::Poisson);
    data.points.push(point);
}

#[test]
fn a_point_at_the_rate_that_lacks_samples_is_not_said_to_be_missing() {
    let mut data = one(&[A, B]);
    data.settings.at_rate = vec![10.0];
    data.settings.metric = Metric::from_name("p99.99 read");
    let said = |given: &Data| format!("{:?}", blocks("fixed", given));
    assert!(
        said(&data).contains("Nothing was measured at 10"),
        "{}",
        said(&data)
    );
    at_10(&mut data, "A", 1.0);
    let expected = "There is no latency at 10.0 ops/s, and no curve can be read there. YCSB A, p99.99 read: a \
                    point has too few samples at 10.0 ops/s.";
    assert!(said(&data).contains(expected), "{}", said(&data));
}

#[test]
fn a_rate_that_was_not_reached_has_its_badge_and_no_ratio() {
    let mut data = one(&[A, B]);
    data.settings.at_rate = vec![10.0];
    at_10(&mut data, "A", 1.0);
    at_10(&mut data, "B", 6_613.0);
    assert!(
        lines("fixed", &data)[0].contains("lower than B"),
        "both reached it"
    );
    let last = data.points.last_mut().unwrap();
    last.phase.findings.push(RATE_NOT_MET.finding("9 of 10"));
    let expected = "YCSB A, p99 read latency at 10.0 ops/s: B did not reach 10.0 ops/s, so there is no \
                    comparison";
    let said = lines("fixed", &data);
    assert!(
        said[0].starts_with(expected) && !said[0].contains('X'),
        "{said:?}"
    );
    let cells = &tables("fixed", &data)[0].rows[0].cells;
    let badges: Vec<_> = cells[5]
        .badges
        .iter()
        .map(|badge| badge.code.clone())
        .collect();
    assert_eq!(badges, ["rate-not-met"]);
}

#[test]
fn off_points_at_which_the_clients_were_the_limit_a_reading_is_a_bound() {
    let mut data = one(&OF_2022);
    data.settings.at_rate = vec![40_000.0];
    data.settings.at_latency = vec![Duration::from_millis(15)];
    let limited = |point: &&mut Point| point.key.system == "old" && point.key.threads >= 16;
    for point in data.points.iter_mut().filter(limited) {
        point.phase.findings.push(CLIENT_SATURATED.finding("95 %"));
    }
    let cells = |index: usize| {
        let row = &tables("fixed", &data)[index].rows[0];
        [3, 5].map(|at| row.cells[at].text.clone())
    };
    // It would have got to 40,000 with fewer clients; to 15 ms it got without them.
    assert_eq!(cells(0), ["10.0 ms", "≤ 23.1 ms"]);
    assert_eq!(cells(1), ["44,677", "22,995"]);
    data.settings.at_latency = vec![Duration::from_millis(20)];
    let at_20 = &tables("fixed", &data)[1].rows[0].cells[5].text;
    assert!(at_20.starts_with("≥ "), "{at_20}");
    let said = lines("fixed", &data);
    assert!(
        said[0].contains("it is not certain whether new or old is lower"),
        "{said:?}"
    );
    assert!(
        said[1].contains("it is not certain whether new or old is higher"),
        "{said:?}"
    );
}

#[test]
fn points_of_each_kind_of_arrivals_have_a_row_of_their_own() {
    let mut data = one(&[A, B]);
    data.settings.at_rate = vec![10.0];
    at_10(&mut data, "A", 1.0);
    at_10(&mut data, "B", 2.0);
    for (system, ms) in [("A", 3.0), ("B", 4.0)] {
        at_10(&mut data, system, ms);
        data.points.last_mut().unwrap().key.arrivals = Some(Arrivals::Even);
    }
    let table = &tables("fixed", &data)[0];
    let rows = table
        .rows
        .iter()
        .map(|row| [3, 4, 5].map(|at| row.cells[at].text.as_str()));
    let expected = [
        ["3.00 ms", "measured, even arrivals", "4.00 ms"],
        ["1.00 ms", "measured, poisson arrivals", "2.00 ms"],
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(lines("fixed", &data).len(), 2);
}

#[test]
fn a_peak_without_its_thread_count_is_within_a_latency_that_it_holds() {
    let curve = |name| {
        Curve(
            name,
            [(1.0e3, 1.0), (2.0e3, 2.0), (5.0e3, 9.0), (6.0e3, 30.0)],
        )
    };
    let mut data = within_10_ms(&[curve("Q"), curve("R")]);
    let of = |ops: f64, ms: f64| point("R", "ycsb-a", PointKey::PEAK, (ops, ms));
    let text = |given: &Data| {
        let table = tables("fixed", given).remove(0);
        let cells = table.rows[0].cells.iter().map(|cell| cell.text.clone());
        cells.collect::<Vec<_>>()
    };
    let plain = text(&data)[3].clone();
    data.points.push(of(6_100.0, 4.0));
    assert_eq!(
        [text(&data)[3].clone(), text(&data)[5].clone()],
        [plain.clone(), "≥ 6,100".into()]
    );
    let said = lines("fixed", &data).concat();
    assert!(
        said.contains("R delivers at least 19 % more ops/s than Q"),
        "{said}"
    );
    // One that exceeds the latency says nothing.
    data.points.pop();
    data.points.push(of(6_100.0, 11.0));
    assert_eq!(
        [text(&data)[3].clone(), text(&data)[5].clone()],
        [plain.clone(), plain]
    );
}

#[test]
fn a_latency_that_held_at_a_rate_is_not_above_at_every_measured_load() {
    let above = Curve(
        "above",
        [(5e3, 12.0), (6e3, 15.0), (7e3, 20.0), (8e3, 40.0)],
    );
    let mut data = within_10_ms(&[above, A]);
    let at = |given: &Data| tables("fixed", given)[0].rows[0].cells[3].text.clone();
    assert_eq!(at(&data), "none: above it at every thread count");
    let paced = |rate: f64, ms: f64| {
        let mut point = point("above", "ycsb-a", 64, (rate, ms));
        point.key.target_rate = Some(rate);
        point.key.arrivals = Some(Arrivals::Poisson);
        point
    };
    data.points.push(paced(4_000.0, 11.0));
    assert_eq!(at(&data), "none: above it at every thread count");
    data.points.push(paced(2_000.0, 4.0));
    assert_eq!(at(&data), "≥ 2,000");
    let source = &tables("fixed", &data)[0].rows[0].cells[4].text;
    assert_eq!(source, "measured at that rate");
}

#[test]
fn a_thread_count_of_another_system_alone_is_no_gap_in_a_curve() {
    let mut data = one(&OF_2022);
    data.settings.at_latency = vec![Duration::from_millis(15)];
    let at = |given: &Data| tables("fixed", given)[0].rows[0].cells[3].text.clone();
    let alone = at(&data);
    data.systems.push(System {
        name: "elsewhere".into(),
        ..data.systems[0].clone()
    });
    data.points
        .push(point("elsewhere", "ycsb-a", 12, (20_000.0, 3.0)));
    assert_eq!(at(&data), alone);
}
