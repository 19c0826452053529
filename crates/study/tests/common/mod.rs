//! A study for tests, with every field in use, and made-up latencies.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::collections::BTreeMap;
use tailmark_model::finding::{CLIENT_SATURATED, TOO_FEW_SAMPLES};
use tailmark_model::*;
use tailmark_study::*;

/// Random numbers by the splitmix64 generator (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0, included, to 1, excluded.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A log-normal latency in nanoseconds: nearly all from 50 us to 20 ms, median 1 ms.
    pub fn latency(&mut self) -> u64 {
        (1e6 * self.normal().exp()) as u64
    }
}

/// So many samples of [`Random::latency`].
pub fn latencies(random: &mut Random, samples: u32) -> Latencies {
    let mut latencies = new_latencies();
    (0..samples).for_each(|_| latencies.record(random.latency()).unwrap());
    latencies
}

pub fn header() -> Header {
    Header {
        id: "55555555555555555555555555555555".into(),
        title: "Disk against memory".into(),
        tailmark: "0.1.0".into(),
        created_ms: 1_764_000_000_123,
        plan: BTreeMap::from([
            (
                "dataset.records".into(),
                PlanValue::new("1000", Role::Condition(Subject::DataSet)),
            ),
            (
                "sweep.threads".into(),
                PlanValue::new("1, 4", Role::Scope(Scope::Points)),
            ),
        ]),
        settings: StudySettings::default(),
        source: "title = \"Disk against memory\"\n".into(),
        assumed: vec!["dataset.records".into()],
    }
}

pub fn systems() -> Vec<System> {
    let system = |name: &str, ceiling_for: Option<&str>| System {
        name: name.into(),
        driver: "rocksdb".into(),
        place: "/mnt/a".into(),
        semantics: "faithful".into(),
        settings: BTreeMap::from([("block_cache".into(), "1048576".into())]),
        ceiling_for: ceiling_for.map(str::to_owned),
    };
    vec![
        system("disk, \"fast\"", None),
        system("ceiling", Some("disk, \"fast\"")),
    ]
}

pub fn key(threads: u32) -> PointKey {
    PointKey {
        system: "disk, \"fast\"".into(),
        workload: "ycsb-a".into(),
        distribution: "uniform".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    }
}

/// A summary with this quantile of three nines.
pub fn summary(ns: f64) -> Summary {
    let mut summary = Summary::default();
    summary.set(Summary::MEAN, ns / 3.0);
    summary.set_percentile(99.9, ns);
    summary
}

/// A phase in which nothing is left out; `rated` has response times too.
pub fn phase(seed: u64, rated: bool) -> Phase {
    let random = &mut Random(seed);
    let kinds = [
        (Kind::Read, 5_000),
        (Kind::Update, 120),
        (Kind::ReadModifyWrite, 15),
    ];
    let mut result = |samples: u32| KindResult {
        count: samples.into(),
        not_found: 3,
        errors: 2,
        bytes: u64::from(samples) * 4096,
        drained_bytes: if rated { 4096 } else { 0 },
        service: latencies(random, samples),
        response: rated.then(|| latencies(random, samples)),
        failed: (samples > 1000).then(|| latencies(random, 2)),
        failed_response: (rated && samples > 1000).then(|| latencies(random, 2)),
        censored: (rated && samples > 1000).then(|| Box::new(censored())),
        summary: Some(summary(2_000_000.0)),
        response_summary: rated.then(|| summary(3_000_000.5)),
    };
    let error = |kind, cause: &str| ErrorCount {
        kind,
        cause: cause.into(),
        count: 2,
        example: "io: No space left on device".into(),
    };
    // Those of cost follow from others when a study is read.
    let figures = Metric::figures().filter(|metric| !metric.is_cost());
    let figures = figures.step_by(5);
    let figure = |metric: Metric, value: f64| {
        if metric.is_at_most() {
            Bounded::at_most(value)
        } else if metric.may_have_ends() {
            Bounded::from_ends(value / 2.0, value, value * 2.0).unwrap()
        } else {
            Bounded::exact(value)
        }
    };
    Phase {
        figures: figures
            .map(|metric| (metric, figure(metric, seed as f64 + 0.25)))
            .collect(),
        started_ms: Some(1_764_000_001_000 + seed * 60_000),
        duration_s: 12.345_678_9,
        operations: 5_120,
        failed: 7,
        kinds: kinds.map(|(kind, n)| (kind, result(n))).into(),
        errors: vec![error(Kind::Update, "timeout"), error(Kind::Read, "io")],
        block_qos: vec![
            block_qos(TimeBasis::Service),
            block_qos(TimeBasis::Response),
        ],
        drained: if rated { 3 } else { 0 },
        drained_failed: u64::from(rated),
        censored: if rated { 40 } else { 0 },
        start_lag: rated.then(|| start_lag(random)),
        intervals: (0..12)
            .map(|second| interval(random, second, rated))
            .collect(),
        ranks: if rated { ranks() } else { Vec::new() },
        series: series(random),
        money: tailmark_model::MoneyBasis::default(),
        findings: vec![TOO_FEW_SAMPLES.finding("15 are too few."), saturated()],
        counters: BTreeMap::from([("rocksdb.stall.micros".into(), u64::MAX)]),
        warmup: None,
    }
}

/// A finding with evidence.
pub fn saturated() -> Finding {
    let sentence = Sentence::new("CPU of {Machine} at {Processors busy}.");
    let sentence = sentence.text("Machine", "db1");
    CLIENT_SATURATED.finding(sentence.number("Processors busy", 99.0, Unit::Percent))
}

/// Of two processes.
pub fn ranks() -> Vec<RankPart> {
    let part = |rank, host: &str| RankPart {
        rank,
        host: host.into(),
        threads: 2,
        operations: 2_560,
        failed: 1,
        drained: 0,
        duration_s: 12.345_678_9,
        late_ns: 12_345,
        clock_ahead_ns: -987_654_321,
        clock_bound_ns: 20_000,
        clock_drift_ns: -150,
        cpu_busy: (rank == 0).then_some(0.25),
        cpu_client: None, // as in the fixture of version 7
        quantiles: vec![(0.5, 1_000_000), (0.99, 4_000_000)],
    };
    vec![part(0, "db1"), part(1, "db2")]
}

/// A warm-up that was steady at last.
pub fn warmup() -> Warmup {
    Warmup {
        phase: phase(9, false),
        steady_s: Some(11.0),
        reason: None,
    }
}

/// 30 that were sent 4 s before the end, and 10 that never were, all due 5 s before it.
pub fn censored() -> Censored {
    let mut censored = Censored::default();
    censored.service.record_n(4_000_000_000, 30).unwrap();
    censored.response.record_n(5_000_000_000, 40).unwrap();
    censored
}

/// As if there had been blocks.
pub fn block_qos(time: TimeBasis) -> BlockQos {
    let value = |ns, start_s| BlockValue {
        ns,
        is_at_least: false,
        start_s,
    };
    BlockQos {
        kind: Kind::Read,
        time,
        quantile: QUANTILES[5],
        blocks: 7,
        samples_min: 1_000_123,
        worst: value(84_000_000, 3.0),
        median: value(9_000_000, 5.5),
        best: value(8_000_000, 0.0),
    }
}

fn start_lag(random: &mut Random) -> StartLag {
    let all = latencies(random, 100);
    let causes = LagCauses {
        no_client: latencies(random, 60),
        woken_late: latencies(random, 40),
    };
    StartLag {
        all,
        causes: Some(causes),
    }
}

pub fn resolved_rate() -> ResolvedRate {
    ResolvedRate {
        system: systems()[0].name.clone(),
        workload: "ycsb-a".into(),
        distribution: "uniform".into(),
        requested: "60%".into(),
        of_system: systems()[0].name.clone(),
        peak_ops_per_sec: 2_057.5,
        rate: 1_234.5,
    }
}

fn interval(random: &mut Random, second: u32, rated: bool) -> Interval {
    let mut kind = |samples: u32| IntervalKind {
        count: samples.into(),
        errors: (second % 3).into(),
        service: Packed::pack(&latencies(random, samples)),
        response: rated.then(|| Packed::pack(&latencies(random, samples))),
    };
    let mut kinds = BTreeMap::from([(Kind::Read, kind(400))]);
    if second % 4 == 1 {
        kinds.insert(Kind::Update, kind(40));
    }
    let operations = kinds.values().map(|k| k.count + k.errors).sum();
    let failed = kinds.values().map(|k| k.errors).sum();
    Interval {
        start_s: second.into(),
        length_s: 1.0,
        operations,
        failed,
        kinds,
    }
}

fn series(random: &mut Random) -> Vec<Series> {
    let ticks: Vec<f64> = (0..14).map(|i| f64::from(i) - 0.999_999_123).collect();
    let mut series = |probe: &str, name: &str, kind, at_s: &[f64]| Series {
        probe: probe.into(),
        subject: "nvme0n1".into(),
        name: name.into(),
        kind,
        at_s: at_s.to_vec(),
        values: at_s.iter().map(|_| random.next() as f64 / 3.0).collect(),
    };
    vec![
        series("disk", "read_bytes", SeriesKind::Counter, &ticks),
        series("disk", "in_flight", SeriesKind::Gauge, &ticks),
        series("cpu", "user_s", SeriesKind::Counter, &ticks[2..]),
        series("cpu", "empty", SeriesKind::Gauge, &[]),
    ]
}

pub fn point(threads: u32, rated: bool) -> Point {
    let target_rate = rated.then_some(1234.5);
    Point {
        key: PointKey {
            target_rate,
            arrivals: rated.then_some(Arrivals::Poisson),
            ..key(threads)
        },
        phase: Phase {
            warmup: rated.then(|| Box::new(warmup())),
            ..phase(threads.into(), rated)
        },
    }
}

pub fn load() -> Load {
    let system = systems()[0].name.clone();
    Load {
        system,
        records: 10_000_000_000,
        threads: 8,
        phase: phase(0, false),
    }
}

pub fn facts() -> Vec<Fact> {
    let fact = |system: Option<&str>, group: &str, name: &str, value: &str| Fact {
        system: system.map(str::to_owned),
        group: group.into(),
        name: name.into(),
        value: value.into(),
    };
    vec![
        fact(None, "cpu", "model", "A CPU"),
        fact(Some("disk, \"fast\""), "device", "model", "A device"),
        fact(None, "memory", "total", "16 GiB"),
    ]
}

/// A study in `dir` with a row in every table, in small pages, so that its file is small.
pub fn small_study(dir: &std::path::Path) -> std::path::PathBuf {
    let study = Study::create(dir, &header(), &systems()).unwrap();
    study.set_facts(&facts()).unwrap();
    study.add_notice("caches are not dropped").unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    study.add_resolved_rate(&resolved_rate()).unwrap();
    study.add_trial(&point(8, true)).unwrap();
    let path = study.path().to_owned();
    drop(study);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA page_size = 512; VACUUM;")
        .unwrap();
    path
}
