//! A study stays small: the largest published study, at full scale, in less than 300 MB.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{Random, header, key, latencies, point, systems};
use std::collections::BTreeMap;
use tailmark_model::*;
use tailmark_study::*;

/// The 7400 study: 2 systems, 10 thread counts, and over its five workloads (A, B, C, D, F)
/// 2 + 2 + 1 + 2 + 3 kinds, each in at most 1,200 intervals.
const POINTS: u64 = 2 * 10 * 5;
const KINDS_OF_ALL_WORKLOADS: u64 = 2 * 10 * (2 + 2 + 1 + 2 + 3);
const INTERVALS: u32 = 1200;
/// Its points take 72 minutes on average, by its own table; of so many seconds every fourth is kept.
const TICKS: u32 = 4_330 / 4;
/// Of the machine, two disks with their logs, a database and its process; two of five move, the
/// others are of errors, of what is not used, or of what changes once in minutes.
const SERIES: u32 = 200;
/// Each has two series more.
const CORES: u32 = 128;
const LIMIT_BYTES: u64 = 300_000_000;

/// What an interval of so many samples of [`Random::latency`] would hold: a normal number of
/// samples in every slot where many are expected, otherwise one at a time.
fn drawn(random: &mut Random, samples: f64) -> Packed {
    let mut latencies = new_latencies();
    // HdrHistogram's slots of two digits, 128 an octave, from 2^13 ns (8 us) to 2^25 ns (34 ms).
    for slot in 0..12 * 128 {
        let (octave, within) = (slot / 128, slot % 128);
        let (lowest, width) = ((128 + within) << (6 + octave), 1 << (6 + octave));
        let middle = f64::from(lowest) + f64::from(width) / 2.0;
        let deviations = (middle / 1e6).ln();
        let density = (-deviations * deviations / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let expected = samples * density * f64::from(width) / middle;
        let count = if expected > 30.0 {
            (expected + expected.sqrt() * random.normal())
                .round()
                .max(0.0) as u64
        } else {
            (0..60).filter(|_| random.unit() < expected / 60.0).count() as u64
        };
        if count > 0 {
            latencies.record_n(middle as u64, count).unwrap();
        }
    }
    Packed::pack(&latencies)
}

fn interval(random: &mut Random, number: u32, samples: f64) -> Interval {
    let mut result = || {
        let service = drawn(random, samples);
        IntervalKind {
            count: service.unpack().len(),
            errors: 0,
            service,
            response: None,
        }
    };
    let kinds = [Kind::Read, Kind::Update, Kind::ReadModifyWrite];
    Interval {
        start_s: f64::from(number) * 4.0,
        length_s: 4.0,
        operations: samples as u64,
        failed: 0,
        kinds: kinds.map(|kind| (kind, result())).into(),
    }
}

fn series(random: &mut Random, number: u32) -> Series {
    let at_s = (0..TICKS)
        .map(|tick| f64::from(tick) + (random.next() >> 44) as f64 / 1e9)
        .collect();
    let mut sum = 0;
    let mut next = |_| {
        if number % 5 > 1 {
            return 4096.0;
        }
        sum += 80_000 + random.next() % 20_000;
        // Bytes in blocks, or seconds of CPU in hundredths.
        if number.is_multiple_of(2) {
            sum as f64 * 4096.0
        } else {
            (sum / 1000) as f64 / 100.0
        }
    };
    Series {
        probe: format!("probe{}", number / 10),
        subject: "nvme0n1".into(),
        name: format!("counter{number}"),
        kind: SeriesKind::Counter,
        values: (0..TICKS).map(&mut next).collect(),
        at_s,
    }
}

/// A core that is busy for a part of each second, and a little of it stolen, in the hundredths of a second that the kernel counts.
fn core(random: &mut Random, number: u32, at_s: &[f64]) -> Vec<Series> {
    let mut series = |name: &str, most: u64| {
        let mut sum = 0;
        let mut next = |_| {
            sum += random.next() % (most + 1);
            sum as f64 / 100.0
        };
        Series {
            probe: "cpu".into(),
            subject: format!("cpu{number}"),
            name: name.into(),
            kind: SeriesKind::Counter,
            values: (0..TICKS).map(&mut next).collect(),
            at_s: at_s.to_vec(),
        }
    };
    vec![series("busy_s", 100), series("steal_s", 1)]
}

fn bytes_of(phase: Phase) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let empty = std::fs::metadata(study.path()).unwrap().len();
    study.add_point(&Point { key: key(4), phase }).unwrap();
    std::fs::metadata(study.path()).unwrap().len() - empty
}

#[test]
fn the_largest_published_study_fits_at_full_scale() {
    let random = &mut Random(7);
    let bare = Phase {
        kinds: BTreeMap::new(),
        intervals: Vec::new(),
        series: Vec::new(),
        ..point(4, false).phase
    };
    let intervals = (0..INTERVALS)
        .map(|number| interval(random, number, 150_000.0))
        .collect();
    let intervals = bytes_of(Phase {
        intervals,
        ..bare.clone()
    }) / 3
        * KINDS_OF_ALL_WORKLOADS;
    let service = latencies(random, 3_000_000);
    let result = KindResult {
        count: service.len(),
        service,
        ..KindResult::default()
    };
    let kinds = Kind::ALL.map(|kind| (kind, result.clone())).into();
    let totals = bytes_of(Phase {
        kinds,
        ..bare.clone()
    }) / 6
        * KINDS_OF_ALL_WORKLOADS;
    let mut sampled: Vec<Series> = (0..SERIES).map(|number| series(random, number)).collect();
    for i in 1..sampled.len() {
        if i % 10 != 0 {
            sampled[i].at_s = sampled[i - 1].at_s.clone(); // one probe's
        }
    }
    let ticks = sampled[0].at_s.clone();
    let cores: Vec<Series> = (0..CORES)
        .flat_map(|number| core(random, number, &ticks))
        .collect();
    let of_each = |series| {
        bytes_of(Phase {
            series,
            ..bare.clone()
        })
    };
    let (one, cores) = (of_each(sampled), of_each(cores));
    println!("a point: {one} bytes of series, and {cores} of {CORES} cores");
    let all_series = (one + cores) * POINTS;
    let all = intervals + totals + all_series;
    println!(
        "intervals {} MB, totals {} MB, series {} MB",
        intervals / 1_000_000,
        totals / 1_000_000,
        all_series / 1_000_000
    );
    assert!(all < LIMIT_BYTES * 95 / 100, "{all} bytes");
}

#[test]
fn a_small_study_is_a_small_file() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    assert!(std::fs::metadata(study.path()).unwrap().len() < 500_000);
}
