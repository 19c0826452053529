//! Whole distributions, single runs and all comparisons at a glance: charts whose numbers are known.

use crate::support::{A, B, MS, blocks, phase, point, study};
use serde_json::Value;
use tailmark_model::{Kind, KindResult, Point, new_latencies};
use tailmark_report::{Block, Data, Figure};

fn figures(section: &str, data: &Data) -> Vec<Figure> {
    let blocks = blocks(section, data).into_iter();
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(figure) => Some(figure),
        _ => None,
    });
    figures.collect()
}

/// The data of each series of a variant.
fn series(variant: &Value) -> Vec<Vec<Vec<f64>>> {
    let numbers = |item: &Value| -> Vec<f64> {
        let value = item.get("value").unwrap_or(item);
        let parts = value.as_array().unwrap().iter();
        parts
            .map(|part| part.as_f64().unwrap_or(f64::NAN))
            .collect()
    };
    let data = |one: &Value| {
        one["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect()
    };
    variant["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(data)
        .collect()
}

/// A million reads, of which 900 take 100 ms and the others 1 ms, and failures.
fn slow_and_failed(failures: u64) -> Data {
    let mut data = study(&[("ycsb-c", &[A])]);
    data.points.truncate(1);
    let (mut service, mut failed) = (new_latencies(), new_latencies());
    service.record_n(MS, 999_100 - failures).unwrap();
    service.record_n(100 * MS, 900).unwrap();
    failed.record_n(MS, failures).unwrap();
    let read = KindResult {
        count: 1_000_000 - failures,
        errors: failures,
        service,
        failed: (failures > 0).then_some(failed),
        ..KindResult::default()
    };
    let phase = &mut data.points[0].phase;
    phase.operations = 1_000_000;
    phase.failed = failures;
    phase.kinds = [(Kind::Read, read)].into();
    data
}

#[test]
fn a_line_has_each_percentile_and_ends_where_too_few_requests_are_beyond() {
    let figure = &figures("distribution", &slow_and_failed(0))[0];
    let lines = series(figure.initial_variant(&figure.charts[0]).unwrap().as_ref());
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    // Ten of a million are beyond the fifth nine.
    assert_eq!(line.last().unwrap()[0], 5.0);
    for mark in line {
        let [nines, us] = mark[..] else {
            panic!("{mark:?}")
        };
        // 900 of a million are 3.05 nines.
        let expected = if nines <= 3.0 { 1_000.0 } else { 100_000.0 };
        assert!((us / expected - 1.0).abs() < 0.01, "{nines}: {us}");
    }
}

#[test]
fn the_chart_opens_at_the_highest_point_whose_quantile_is_no_bound() {
    let mut data = study(&[("ycsb-c", &[A])]);
    let opened = |of: &Data| {
        let figure = &figures("distribution", of)[0];
        let control = &figure.controls[0];
        control.choices[control.initial].label.clone()
    };
    assert_eq!(opened(&data), "32");
    // Failures make the p99 of the last point a lower bound.
    let fail = |point: &mut Point| {
        let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
        let mut failed = new_latencies();
        failed.record_n(MS, read.count / 20).unwrap();
        read.errors = read.count / 20;
        read.failed = Some(failed);
    };
    fail(&mut data.points[3]);
    assert_eq!(opened(&data), "16");
    data.points.iter_mut().take(3).for_each(fail);
    assert_eq!(opened(&data), "32", "there is no other");
}

#[test]
fn a_line_ends_where_failures_make_a_bound() {
    // 0.5 % failed: p99 is the last nine that is exact, and a little more.
    let figure = &figures("distribution", &slow_and_failed(5_000))[0];
    let lines = series(figure.initial_variant(&figure.charts[0]).unwrap().as_ref());
    let last = lines[0].last().unwrap()[0];
    assert!((2.0..2.31).contains(&last), "{last}");
}

#[test]
fn shares_add_up_to_what_did_not_fail() {
    for (failures, sum) in [(0, 100.0), (5_000, 99.5)] {
        let figure = &figures("distribution", &slow_and_failed(failures))[0];
        let shares = series(figure.initial_variant(&figure.charts[1]).unwrap().as_ref());
        let of_all: f64 = shares[0].iter().map(|bucket| bucket[1]).sum();
        assert!((of_all - sum).abs() < 0.01, "{of_all}");
        let slow = shares[0].iter().filter(|bucket| bucket[0] > 50_000.0);
        let of_slow: f64 = slow.map(|bucket| bucket[1]).sum();
        assert!((of_slow - 0.09).abs() < 0.001, "{of_slow}");
    }
}

#[test]
fn every_run_has_a_mark_and_single_runs_have_none() {
    let mut data = study(&[("ycsb-c", &[A, B])]);
    assert!(figures("runs", &data).is_empty());
    let mut again: Vec<Point> = data.points.clone();
    for point in &mut again {
        point.key.repeat = 2;
        point.phase = phase(50.0, 7.0);
    }
    data.points.append(&mut again);
    let figure = &figures("runs", &data)[0];
    let [rates, latencies] = &figure.charts[..] else {
        panic!("{figure:?}")
    };
    let marks = series(&rates.base);
    assert_eq!(marks.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8]);
    // Thread counts are labels; value and repeat follow.
    assert!(marks[0].iter().any(|mark| mark[1..] == [100.0, 1.0]));
    assert!(marks[0].iter().any(|mark| mark[1..] == [50.0, 2.0]));
    let seven = series(&latencies.base)[1]
        .iter()
        .filter(|mark| (mark[1] - 7_000.0).abs() < 10.0)
        .count();
    assert_eq!(seven, 4, "in microseconds");
}

#[test]
fn each_tile_says_how_many_times_better_the_subject_is() {
    let mut data = study(&[("ycsb-b", &[A, B]), ("ycsb-c", &[B, A])]);
    data.settings.subject = Some("A".to_owned());
    // Only one has a point there.
    data.points.push(point("A", "ycsb-c", 64, (500.0, 4.0)));
    let figure = &figures("heat", &data)[0];
    let labels: Vec<&str> = figure.controls[1]
        .choices
        .iter()
        .map(|choice| &*choice.label)
        .collect();
    assert_eq!(labels, ["ops/s", "latency"]);
    let [rates, latencies] = &figure.charts[0].variants[..] else {
        panic!("{figure:?}")
    };
    let tile = |variant: &Value, column: f64, row: f64| {
        let tiles = series(variant).remove(0);
        tiles
            .into_iter()
            .find(|tile| tile[..2] == [column, row])
            .map(|tile| tile[2])
    };
    // At 4 threads 100 ops/s against 80 at half of the latency, in both workloads.
    for row in [0.0, 1.0] {
        assert_eq!(tile(rates, 0.0, row), Some(1.25));
        assert!((tile(latencies, 0.0, row).unwrap() - 2.0).abs() < 0.01);
    }
    assert_eq!(tile(rates, 4.0, 1.0), None);
    assert!(
        figures("heat", &study(&[("ycsb-c", &[A, B])])).is_empty(),
        "one workload"
    );
}
