use super::*;
use std::collections::BTreeMap;
use tailmark_model::{Packed, SeriesKind, new_latencies};

/// 60 s of 1,000 reads each at 1 ms; in the seconds that are named 50 of them take 30 ms.
fn phase(slow: &[u32], series: Vec<Series>) -> Phase {
    let interval = |second: u32| {
        let mut latencies = new_latencies();
        let late = if slow.contains(&second) { 50 } else { 0 };
        for (ns, count) in [(1_000_000, 1_000 - late), (30_000_000, late)] {
            latencies.record_n(ns, count).unwrap();
        }
        let kind = IntervalKind {
            count: 1_000,
            errors: 0,
            service: Packed::pack(&latencies),
            response: None,
        };
        Interval {
            start_s: f64::from(second),
            length_s: 1.0,
            operations: 1_000,
            failed: 0,
            kinds: BTreeMap::from([(Kind::Read, kind)]),
        }
    };
    Phase {
        duration_s: 60.0,
        operations: 60_000,
        intervals: (0..60).map(interval).collect(),
        series,
        ..Phase::default()
    }
}

/// Samples at every second, whose rises, or values, are these.
fn series(probe: &str, name: &str, kind: SeriesKind, value_at: impl Fn(u32) -> f64) -> Series {
    let mut sum = 5.0;
    let mut value = |second: u32| match kind {
        SeriesKind::Gauge => value_at(second),
        SeriesKind::Counter => {
            let now = sum;
            sum += value_at(second);
            now
        }
    };
    Series {
        probe: probe.into(),
        subject: "x".into(),
        name: name.into(),
        kind,
        at_s: (0..=60).map(f64::from).collect(),
        values: (0..=60).map(&mut value).collect(),
    }
}

#[test]
fn the_worst_seconds_come_with_what_was_unusual_in_them() {
    // Flushes are made in every tenth second, and one of them is slow; writes are as ever.
    let noise = |second: u32| 100.0 + f64::from(second * 7 % 13);
    let compactions = |second: u32| if second == 40 { 3.0 } else { 0.0 };
    let waiting = |second: u32| if second == 40 { 20.0 } else { 1.0 } * noise(second);
    let reads = |second: u32| 1e3 * noise(second);
    let phase = phase(
        &[40],
        vec![
            series("database", "compactions", SeriesKind::Counter, compactions),
            series("disk", "write_bytes", SeriesKind::Counter, noise),
            series("disk", "read_s", SeriesKind::Counter, waiting),
            series("disk", "reads", SeriesKind::Counter, reads),
        ],
    );
    let (statistic, worst) = worst_seconds(&phase, Kind::Read, Statistic::P999).unwrap();
    // Of 1,000 in a second 10 lie beyond p99, and one beyond p99.9.
    assert_eq!((statistic.name, worst.len()), ("p99", WORST));
    assert_eq!((worst[0].start_s, worst[0].length_s), (40.0, 1.0));
    assert!((worst[0].latency.value / 30e6 - 1.0).abs() < 0.02);
    let unusual: Vec<_> = worst[0]
        .unusual
        .iter()
        .map(|unusual| (unusual.what.name, unusual.usual))
        .collect();
    assert_eq!(
        unusual,
        [("compactions", 0.0), ("time of a read at the device", 1e-3)]
    );
    assert_eq!(worst[0].unusual[0].value, 3.0);
    assert!((worst[0].unusual[1].value / 0.02 - 1.0).abs() < 1e-6);
    // In the others nothing was.
    assert!(worst[1..].iter().all(|second| second.unusual.is_empty()));
}

#[test]
fn what_swings_all_the_time_is_not_unusual() {
    let swings = |second: u32| {
        if second.is_multiple_of(2) {
            10.0
        } else {
            1_000.0
        }
    };
    let phase = phase(
        &[7],
        vec![series("disk", "write_bytes", SeriesKind::Counter, swings)],
    );
    let (_, worst) = worst_seconds(&phase, Kind::Read, Statistic::P99).unwrap();
    assert_eq!(worst[0].start_s, 7.0);
    assert!(worst[0].unusual.is_empty());
}

#[test]
fn a_second_with_few_requests_or_none_because_it_stalled_is_the_worst() {
    let mut phase = phase(&[40], Vec::new());
    let mut latencies = new_latencies();
    latencies.record_n(1_000_000, 292).unwrap();
    latencies.record_n(500_000_000, 8).unwrap();
    let slow = phase.intervals[10].kinds.get_mut(&Kind::Read).unwrap();
    (slow.count, slow.service) = (300, Packed::pack(&latencies));
    phase.intervals[11].kinds.clear();
    phase.intervals[11].operations = 0;
    let (_, worst) = worst_seconds(&phase, Kind::Read, Statistic::P99).unwrap();
    let found: Vec<_> = worst[..3]
        .iter()
        .map(|own| (own.start_s, own.latency))
        .collect();
    assert_eq!(found[0], (11.0, Bounded::at_least(1e9)));
    assert_eq!(found[1].0, 10.0);
    assert!((found[1].1.value / 500e6 - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!(found[2].0, 40.0);
}

#[test]
fn without_samples_nothing_is_known() {
    let phase = phase(&[], Vec::new());
    assert!(worst_seconds(&phase, Kind::Update, Statistic::P99).is_none());
    assert!(worst_seconds(&Phase::default(), Kind::Read, Statistic::P99).is_none());
}
