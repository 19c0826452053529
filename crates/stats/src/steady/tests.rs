//! The rule against series whose answer is known, and what it looks at of a phase.

mod normal;

use super::*;
use normal::Normal;
use std::collections::BTreeMap;
use tailmark_model::{
    IntervalKind, Packed, SeriesKind, new_latencies,
    series::{COMPACTIONS, DATABASE, FLUSHES, PENDING_COMPACTION},
};

const SERIES: usize = 4_000;
const COUNT: usize = 25;

/// In how many of so many series of 25 windows the rule holds for the first five, and for any five
/// that follow each other; each window is `factor` times the one before, with this noise.
fn passes(factor: f64, noise: f64) -> (f64, f64) {
    let normal = &mut Normal(7);
    let (mut first, mut any) = (0, 0);
    for _ in 0..SERIES {
        let level = |i: usize| 1e4 * factor.powi(i as i32);
        let values: Vec<f64> = (0..COUNT)
            .map(|i| level(i) * (1.0 + noise * normal.next()))
            .collect();
        let is_steady = |five: &[f64]| Movement::from_values(five).is_some_and(Movement::is_steady);
        first += usize::from(is_steady(&values[..WINDOWS]));
        any += usize::from(values.windows(WINDOWS).any(is_steady));
    }
    let share = |count: usize| count as f64 / SERIES as f64;
    (share(first), share(any))
}

/// From the first of five windows to the last.
fn fall(by: f64) -> f64 {
    (1.0 - by).powf(0.25)
}

#[test]
fn a_warm_up_slower_than_the_windows_see_passes() {
    // Twice as slow at first, and e times less of that is left after 1,200 s: in the first 150 s ops/s
    // rise by 5 %, which five windows of 30 s take for steady, and by 63 % in the hour after them.
    let ops = |at_s: f64| 1e4 / (1.0 + (-at_s / 1_200.0).exp());
    let windows = |length_s: f64| -> Vec<f64> {
        (0..5)
            .map(|i| ops((f64::from(i) + 0.5) * length_s))
            .collect()
    };
    let movement = |length_s: f64| Movement::from_values(&windows(length_s)).unwrap();
    assert!(movement(30.0).is_steady(), "{:?}", movement(30.0));
    assert!(
        (0.03..0.07).contains(&movement(30.0).slope),
        "{:?}",
        movement(30.0)
    );
    assert!((ops(3_600.0) / ops(75.0) - 1.0).abs() > 0.8);
    // A measured part of ten minutes shows it: `not-steady`.
    assert!(!movement(120.0).is_steady(), "{:?}", movement(120.0));
}

#[test]
fn a_steady_series_passes_within_25_windows() {
    for (noise, least_first, least_any) in [(0.0, 1.0, 1.0), (0.05, 0.8, 0.99), (0.12, 0.15, 0.9)] {
        let (first, any) = passes(1.0, noise);
        assert!(
            first >= least_first && any >= least_any,
            "{noise}: {first} {any}"
        );
    }
    // One test of five windows is rarely enough at such a noise.
    assert!(passes(1.0, 0.12).0 < 0.25);
}

#[test]
fn a_series_that_falls_by_a_fifth_never_passes() {
    for noise in [0.0, 0.005, 0.01] {
        assert_eq!(passes(fall(0.2), noise), (0.0, 0.0), "{noise}");
        assert_eq!(passes(1.0 / fall(0.2), noise), (0.0, 0.0), "{noise}");
    }
    // A line down instead of a curve, for as long as there is something left of it.
    for start in 0..15 {
        let five: Vec<f64> = (0..5).map(|i| 1.0 - 0.05 * f64::from(start + i)).collect();
        assert!(
            !Movement::from_values(&five).unwrap().is_steady(),
            "{start}"
        );
    }
}

/// That it asks again with each window makes chance likelier: docs/METHOD.md has these figures.
#[test]
fn what_noise_makes_of_a_fall_is_as_it_is_documented() {
    for (by, noise, first, any) in [
        (0.0, 0.05, 0.861, 1.0),
        (0.0, 0.12, 0.185, 0.905),
        (0.2, 0.03, 0.000_5, 0.012),
        (0.2, 0.05, 0.024, 0.405),
        (0.2, 0.12, 0.068, 0.71),
    ] {
        let found = passes(fall(by), noise);
        let is_it = (found.0 - first).abs() < 0.001 && (found.1 - any).abs() < 0.001;
        assert!(is_it, "{by} {noise}: {found:?}");
    }
}

#[test]
fn excursion_and_slope_are_parts_of_the_mean() {
    let movement = |values: &[f64]| Movement::from_values(values).unwrap();
    let line = movement(&[8.0, 9.0, 10.0, 11.0, 12.0]);
    assert!((line.excursion - 0.4).abs() < 1e-12 && (line.slope - 0.4).abs() < 1e-12);
    assert!((movement(&[12.0, 11.0, 10.0, 9.0, 8.0]).slope + 0.4).abs() < 1e-12);
    let peak = movement(&[10.0, 10.0, 12.5, 10.0, 10.0]);
    assert!(peak.slope.abs() < 1e-12 && !peak.is_steady());
    assert!(movement(&[9.8, 10.1, 10.0, 10.2, 9.9]).is_steady());
    assert_eq!(Movement::from_values(&[0.0; 5]), None);
}

/// A second with `count` operations of a kind, each of `us` microseconds.
fn second(at: u32, kind: Kind, count: u64, us: u64) -> Interval {
    let mut service = new_latencies();
    service.record_n(us * 1_000, count).unwrap();
    let result = IntervalKind {
        count,
        errors: 0,
        service: Packed::pack(&service),
        response: None,
    };
    Interval {
        start_s: at.into(),
        length_s: 1.0,
        operations: count,
        failed: 0,
        kinds: BTreeMap::from([(kind, result)]),
    }
}

fn phase(seconds: u32, kind: Kind, count: impl Fn(u32) -> (u64, u64)) -> Phase {
    let interval = |at| {
        let (count, us) = count(at);
        second(at, kind, count, us)
    };
    Phase {
        duration_s: seconds.into(),
        intervals: (0..seconds).map(interval).collect(),
        ..Phase::default()
    }
}

fn last(phase: &Phase, from_s: f64) -> Result<Judgement, TooShort> {
    let intervals: Vec<&Interval> = phase.intervals.iter().collect();
    let watched = Watched {
        intervals: &intervals,
        series: &phase.series,
    };
    SteadyRule::default().last_windows(watched, from_s)
}

#[test]
fn windows_are_the_last_and_hold_enough_samples() {
    let start_up = |at| if at < 100 { (500, 900) } else { (1_000, 100) };
    let found = last(&phase(260, Kind::Read, start_up), 0.0).unwrap();
    assert_eq!((found.window_s, found.is_steady()), (30.0, true));
    let names: Vec<&str> = found.judged.iter().map(|j| j.what.as_str()).collect();
    assert_eq!(names, ["ops/s", "read p99"]);
    let early = last(&phase(240, Kind::Read, start_up), 0.0).unwrap();
    assert!(
        early
            .why_not()
            .unwrap()
            .contains("ops/s has an excursion of")
    );
    // A hundred samples beyond p99 are 10,000: 40 s at 250 a second.
    let slow = phase(200, Kind::Read, |_| (250, 100));
    assert_eq!(last(&slow, 0.0).unwrap().window_s, 40.0);
    assert_eq!(last(&slow, 1.0), Err(TooShort { window_s: 40.0 }));
    assert_eq!(
        last(&phase(149, Kind::Read, |_| (1_000, 100)), 0.0),
        Err(TooShort { window_s: 30.0 })
    );
}

#[test]
fn a_latency_that_rises_is_not_steady_where_ops_are() {
    let rises = phase(150, Kind::Read, |at| (1_000, 100 + u64::from(at)));
    let found = last(&rises, 0.0).unwrap();
    let steady: Vec<bool> = found.judged.iter().map(Judged::is_steady).collect();
    assert_eq!(steady, [true, false]);
}

#[test]
fn requests_that_fail_in_one_window_are_a_tail_that_is_not_steady() {
    let mut own = phase(150, Kind::Read, |_| (1_000, 100));
    for (at, interval) in own.intervals.iter_mut().enumerate() {
        let read = interval.kinds.get_mut(&Kind::Read).unwrap();
        // 5 of 1,000 are slow: the p99 is that of the others, unless 2 % fail.
        let mut service = new_latencies();
        service.record_n(100_000, 995).unwrap();
        service.record_n(900_000, 5).unwrap();
        read.service = Packed::pack(&service);
        read.errors = if at >= 120 { 20 } else { 0 };
    }
    let found = last(&own, 0.0).unwrap();
    let steady: Vec<bool> = found.judged.iter().map(Judged::is_steady).collect();
    assert_eq!(steady, [true, false]);
    own.intervals.iter_mut().for_each(|interval| {
        interval.kinds.get_mut(&Kind::Read).unwrap().errors = 0;
    });
    assert!(last(&own, 0.0).unwrap().is_steady());
}

#[test]
fn the_latency_of_the_plan_is_looked_at_up_to_three_nines() {
    let read = phase(500, Kind::Read, |_| (1_000, 100));
    let looked_at = |text: &str| {
        let rule = SteadyRule {
            latency: Metric::from_name(text),
        };
        rule.whole(&read).unwrap().judged[1].what.clone()
    };
    assert_eq!(looked_at("p99.99 read"), "read p99.9");
    assert_eq!(looked_at("mean read"), "read mean");
    // Nothing is inserted.
    assert_eq!(looked_at("p50 insert"), "read p99");
}

#[test]
fn a_second_without_an_operation_counts_as_time() {
    let mut stalled = phase(150, Kind::Read, |_| (1_000, 100));
    stalled
        .intervals
        .retain(|i| !(70.0..80.0).contains(&i.start_s));
    let found = last(&stalled, 0.0).unwrap();
    let ops = found.judged[0].movement.unwrap();
    assert!(
        (ops.excursion - 1.0 / 3.0 / (14.0 / 15.0)).abs() < 1e-9,
        "{ops:?}"
    );
}

fn sampled(probe: &str, name: &str, kind: SeriesKind, value: impl Fn(f64) -> f64) -> Series {
    let at_s: Vec<f64> = (0..=300).map(|at| f64::from(at) - 0.25).collect();
    Series {
        probe: probe.into(),
        subject: "nvme0n1".into(),
        name: name.into(),
        kind,
        values: at_s.iter().map(|at| value(*at)).collect(),
        at_s,
    }
}

#[test]
fn writes_are_steady_where_what_they_cost_is() {
    let (counter, gauge) = (SeriesKind::Counter, SeriesKind::Gauge);
    let with = |series: Vec<Series>| Phase {
        series,
        ..phase(300, Kind::Update, |_| (1_000, 100))
    };
    let grows = sampled("disk", "write_bytes", counter, |at| 1e6 * at * at);
    let even = sampled("disk", "write_bytes", counter, |at| 1e8 * at);
    let debt = |per_s: f64| sampled(DATABASE, PENDING_COMPACTION, gauge, move |at| per_s * at);
    let unsteady = |series| {
        let found = SteadyRule::default().whole(&with(series)).unwrap();
        let unsteady = found.judged.into_iter().filter(|j| !j.is_steady());
        unsteady.map(|j| j.what).collect::<Vec<_>>()
    };
    assert_eq!(unsteady(vec![even.clone(), debt(0.0)]), [""; 0]);
    assert_eq!(unsteady(vec![grows]), ["bytes written per operation"]);
    assert_eq!(
        unsteady(vec![even.clone(), debt(9e7)]),
        ["pending compaction"]
    );
    // A hundredth of what is written is put off: that is nothing.
    assert_eq!(unsteady(vec![even, debt(1e6)]), [""; 0]);
    // A workload that only reads does not care what others write.
    let reads = Phase {
        series: vec![sampled("disk", "write_bytes", counter, |at| 1e6 * at * at)],
        ..phase(300, Kind::Read, |_| (1_000, 100))
    };
    assert!(SteadyRule::default().whole(&reads).unwrap().is_steady());
}

#[test]
fn bytes_written_are_not_judged_where_a_host_of_the_server_has_none() {
    let disk = |host: &str| Series {
        subject: tailmark_model::subject_on_server("nvme0n1", host),
        ..sampled("disk", "write_bytes", SeriesKind::Counter, |at| 1e8 * at)
    };
    let judges_bytes = |series: Vec<Series>| {
        let phase = Phase {
            series,
            ..phase(300, Kind::Update, |_| (1_000, 100))
        };
        let judged = SteadyRule::default().whole(&phase).unwrap().judged;
        judged
            .iter()
            .any(|j| j.what == "bytes written per operation")
    };
    assert!(judges_bytes(vec![disk("db1"), disk("db2")]));
    let clock = Series {
        probe: tailmark_model::SERVER_CLOCK.into(),
        ..disk("db2")
    };
    assert!(!judges_bytes(vec![disk("db1"), clock]));
}

#[test]
fn a_window_holds_a_cycle_of_flushes_and_compactions() {
    let every = |name, seconds: f64| {
        sampled(DATABASE, name, SeriesKind::Counter, move |at| {
            (at / seconds).floor().max(0.0)
        })
    };
    let written = |cycle: f64| Phase {
        series: vec![every(FLUSHES, 10.0), every(COMPACTIONS, cycle)],
        ..phase(300, Kind::Insert, |_| (1_000, 100))
    };
    assert_eq!(last(&written(40.0), 0.0).unwrap().window_s, 41.0);
    assert_eq!(last(&written(70.0), 0.0), Err(TooShort { window_s: 71.0 }));
    assert_eq!(SteadyRule::default().whole(&written(70.0)), None);
}

#[test]
fn what_is_too_short_for_windows_is_not_judged() {
    let rule = SteadyRule::default();
    let judged = |seconds| {
        rule.whole(&phase(seconds, Kind::Read, |at| {
            (1_000 - u64::from(at), 100)
        }))
    };
    assert_eq!(judged(149), None);
    let found = judged(400).unwrap();
    assert_eq!((found.window_s, found.is_steady()), (80.0, false));
    assert_eq!(rule.whole(&Phase::default()), None);
}
