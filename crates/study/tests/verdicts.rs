//! Verdicts over a large study, in little memory: its points are read one at a time.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{Random, header, systems};
use std::{collections::BTreeMap, time::Instant};
use tailmark_model::*;
use tailmark_stats::comparison::{all_pairs, comparisons};
use tailmark_study::*;
use tailmark_testing::MemoryWatch;

const WORKLOADS: [&str; 5] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-f"];
const THREADS: [u32; 10] = [4, 8, 16, 32, 48, 64, 96, 128, 192, 256];
const REPEATS: u32 = 5;
/// 20 minutes at 170,000 a second.
const SAMPLES: f64 = 200e6;
/// All histograms together take several times as much.
const MEMORY_MAX: u64 = 50 << 20;

/// What 20 minutes leave of [`Random::latency`], of a run that is slower by a factor: in every slot
/// of three digits as many samples as are expected there.
fn twenty_minutes(factor: f64) -> Latencies {
    let mut latencies = new_latencies();
    // HdrHistogram's slots, 1,024 an octave, from 2^13 ns (8 us) to 2^28 ns (268 ms).
    for slot in 0..15 * 1024_u32 {
        let (octave, within) = (slot / 1024, slot % 1024);
        let (lowest, width) = (
            u64::from(1024 + within) << (3 + octave),
            1_u64 << (3 + octave),
        );
        let middle = lowest as f64 + width as f64 / 2.0;
        let deviations = (middle / (1e6 * factor)).ln();
        let density = (-deviations * deviations / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let count = (SAMPLES * density * width as f64 / middle) as u64;
        if count > 0 {
            latencies.record_n(middle as u64, count).unwrap();
        }
    }
    latencies
}

fn key(system: &str, workload: &str, threads: u32, repeat: u32) -> PointKey {
    PointKey {
        system: system.to_owned(),
        workload: workload.to_owned(),
        distribution: "uniform".to_owned(),
        threads,
        repeat,
        target_rate: None,
        arrivals: None,
    }
}

fn point(key: PointKey, factor: f64) -> Point {
    let result = |latencies: &Latencies| KindResult {
        count: latencies.len(),
        service: latencies.clone(),
        ..KindResult::default()
    };
    let latencies = twenty_minutes(factor);
    let kinds = [Kind::Read, Kind::Update].map(|kind| (kind, result(&latencies)));
    let phase = Phase {
        started_ms: Some(1_764_000_000_000),
        duration_s: 1200.0 * factor,
        operations: 2 * latencies.len(),
        kinds: kinds.into(),
        ..Phase::default()
    };
    Point { key, phase }
}

/// Runs of a system differ by 3 %, and the second system is slower by 20 %.
fn fill(study: &Study, names: &[String]) {
    let random = &mut Random(11);
    let mut add = |system: &str, slower: f64, workload: &str, threads: u32| {
        for repeat in 1..=REPEATS {
            let factor = slower * (0.03 * random.normal()).exp();
            let key = key(system, workload, threads, repeat);
            study.add_point(&point(key, factor)).unwrap();
        }
    };
    for (system, slower) in names.iter().zip([1.0, 1.2]) {
        for workload in WORKLOADS {
            for threads in THREADS {
                add(system, slower, workload, threads);
            }
        }
    }
}

#[test]
fn five_hundred_points_of_twenty_minutes_are_compared_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let names: Vec<String> = systems().into_iter().map(|system| system.name).collect();
    study
        .together(|| {
            fill(&study, &names);
            Ok(())
        })
        .unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut memory = MemoryWatch::start();
    let started = Instant::now();
    let runs = memory.measure(|| study.runs(&study.header().unwrap()).unwrap());
    let (read_s, of_runs) = (started.elapsed().as_secs_f64(), memory.peak());
    let found = memory.measure(|| comparisons(&runs, &all_pairs(&names), 0.03));
    let all_s = started.elapsed().as_secs_f64();
    let grown = memory.of_process();
    println!(
        "read in {read_s:.1} s, all in {all_s:.1} s; {} MB in Rust, the process grew by {} MB",
        memory.most() / 1_000_000,
        grown / 1_000_000
    );
    assert_eq!(
        runs.len(),
        2 * WORKLOADS.len() * THREADS.len() * REPEATS as usize
    );
    assert!(
        of_runs < MEMORY_MAX && memory.most() < MEMORY_MAX,
        "{of_runs}"
    );
    let mut verdicts = BTreeMap::new();
    let of_metric = |name: &str| {
        let metric = Metric::from_name(name).unwrap_or(Metric::OPS_PER_SEC);
        found.iter().filter(move |c| c.metric == metric)
    };
    for comparison in of_metric("p99.9 read").chain(of_metric("ops")) {
        *verdicts.entry(comparison.verdict.name()).or_insert(0) += 1;
    }
    // 50 points each, and five peaks: the first is better by far more than the noise.
    assert_eq!(verdicts, BTreeMap::from([("better", 105)]));
}
