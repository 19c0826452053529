//! A study as a real one would be, made up: two systems and their ceilings, five workloads, and all
//! that sections show. The same every time.

use std::collections::BTreeMap;
use tailmark_model::finding;
use tailmark_model::{
    DataSize, ErrorCount, Fact, Header, Interval, IntervalKind, Kind, KindResult, Latencies, Load,
    Packed, Phase, PlanValue, Point, PointKey, Role, Scope, Series, SeriesKind, StudySettings,
    Subject, System, new_latencies,
};
use tailmark_report::Data;

/// What the synthetic study is to be like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Client counts.
    pub threads: &'static [u32],
    /// Runs of each point.
    pub repeats: u32,
    /// Intervals of one second of each point.
    pub seconds: u32,
}

/// Small enough for a golden file.
pub const SMALL: Shape = Shape {
    threads: &[1, 4, 16, 64],
    repeats: 1,
    seconds: 12,
};

/// A system's speed after the universal scalability law (Gunther, "A General Theory of
/// Computational Scalability", 2008): one client's ops/s, contention, coherency.
struct Speed {
    name: &'static str,
    alone: f64,
    contention: f64,
    coherency: f64,
}

const SPEEDS: [Speed; 4] = [
    Speed {
        name: "Drive A 3.84TB",
        alone: 5_200.0,
        contention: 0.035,
        coherency: 0.000_35,
    },
    Speed {
        name: "Drive B 3.84TB",
        alone: 4_900.0,
        contention: 0.085,
        coherency: 0.000_9,
    },
    Speed {
        name: "Drive A ceiling",
        alone: 9_000.0,
        contention: 0.02,
        coherency: 0.000_1,
    },
    Speed {
        name: "Drive B ceiling",
        alone: 8_000.0,
        contention: 0.05,
        coherency: 0.000_2,
    },
];

/// Shares of the kinds.
type Mix = &'static [(Kind, f64)];

/// Name, distribution, how fast against A, and the shares of the kinds.
const WORKLOADS: [(&str, &str, f64, Mix); 5] = [
    (
        "ycsb-a",
        "zipfian",
        1.0,
        &[(Kind::Read, 0.5), (Kind::Update, 0.5)],
    ),
    (
        "ycsb-b",
        "zipfian",
        2.1,
        &[(Kind::Read, 0.95), (Kind::Update, 0.05)],
    ),
    ("ycsb-c", "zipfian", 2.6, &[(Kind::Read, 1.0)]),
    (
        "ycsb-d-uniform",
        "uniform",
        2.0,
        &[(Kind::Read, 0.95), (Kind::Insert, 0.05)],
    ),
    (
        "ycsb-f",
        "zipfian",
        0.8,
        &[
            (Kind::Read, 1.0),
            (Kind::Update, 0.5),
            (Kind::ReadModifyWrite, 0.5),
        ],
    ),
];

/// The whole study.
pub fn study(shape: Shape) -> Data {
    let mut random = Random(42);
    let mut points = Vec::new();
    for repeat in 1..=shape.repeats {
        for (workload, distribution, factor, mix) in WORKLOADS {
            for speed in &SPEEDS {
                for &threads in shape.threads {
                    let key = PointKey {
                        system: speed.name.into(),
                        workload: workload.into(),
                        distribution: distribution.into(),
                        threads,
                        repeat,
                        target_rate: None,
                        arrivals: None,
                    };
                    let rate = speed.at(threads) * factor * (0.97 + 0.06 * random.next());
                    let mut phase = phase(rate, threads, mix, shape.seconds, &mut random);
                    qualify(&key, &mut phase);
                    points.push(Point { key, phase });
                }
            }
        }
    }
    let header = header(shape);
    for point in &mut points {
        point.phase.figures = point.phase.sampled_figures(header.value_bytes());
    }
    Data {
        headers: vec![header],
        systems: SPEEDS.iter().map(system).collect(),
        facts: facts(),
        loads: SPEEDS[..2].iter().map(|s| load(s, &mut random)).collect(),
        points,
        resolved_rates: Vec::new(),
        notices: vec!["`Drive C` was left out: there is no such directory".into()],
        ..Data::default()
    }
}

impl Speed {
    fn at(&self, threads: u32) -> f64 {
        let n = f64::from(threads);
        let slowed = 1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0);
        n * self.alone / slowed
    }
}

/// A small generator of numbers from 0 to 1 (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: the sum of twelve draws (Irwin and Hall).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

const SAMPLES: u64 = 400;

fn latencies(mean_us: f64, count: u64, random: &mut Random) -> Latencies {
    let mut latencies = new_latencies();
    let weight = (count / SAMPLES).max(1);
    for _ in 0..count / weight {
        let stall = if random.next() < 0.004 { 8.0 } else { 1.0 };
        let us = mean_us * (0.45 * random.normal() - 0.1).exp() * stall;
        latencies
            .record_n((us * 1e3) as u64, weight)
            .expect("the histogram grows");
    }
    latencies
}

fn phase(rate: f64, threads: u32, mix: &[(Kind, f64)], seconds: u32, random: &mut Random) -> Phase {
    let mut kinds: BTreeMap<Kind, KindResult> = BTreeMap::new();
    let mut intervals = Vec::new();
    let mut operations = 0;
    for second in 0..seconds {
        let dip = if second % 9 == 7 { 0.72 } else { 1.0 };
        let now = rate * dip * (0.97 + 0.06 * random.next());
        let mean_us = f64::from(threads) / now * 1e6;
        let mut interval = Interval {
            start_s: f64::from(second),
            length_s: 1.0,
            operations: now as u64,
            failed: 0,
            kinds: BTreeMap::new(),
        };
        operations += interval.operations;
        for &(kind, share) in mix {
            let slower = [1.0, 1.3, 1.4, 3.0, 1.0, 2.3][kind as usize];
            let service = latencies(mean_us * slower, (now * share) as u64, random);
            let count = service.len();
            let packed = Packed::pack(&service);
            interval.kinds.insert(
                kind,
                IntervalKind {
                    count,
                    errors: 0,
                    service: packed,
                    response: None,
                },
            );
            let result = kinds.entry(kind).or_default();
            result.count += count;
            result.bytes += count * 4_096;
            result.service.add(&service).expect("the histogram grows");
        }
        intervals.push(interval);
    }
    Phase {
        started_ms: Some(1_795_255_200_000),
        duration_s: f64::from(seconds),
        operations,
        kinds,
        intervals,
        series: series(rate, mix, seconds, random),
        ..Phase::default()
    }
}

fn series(rate: f64, mix: &[(Kind, f64)], seconds: u32, random: &mut Random) -> Vec<Series> {
    let reads: f64 = mix
        .iter()
        .filter(|(k, _)| *k == Kind::Read)
        .map(|(_, s)| s)
        .sum::<f64>()
        * rate;
    let writes = rate * 0.4;
    let busy = (rate / 40_000.0).clamp(0.1, 7.0);
    let rows = [
        ("disk", "nvme0n1", "reads", reads),
        ("disk", "nvme0n1", "read_bytes", reads * 4_096.0),
        ("disk", "nvme0n1", "writes", writes / 30.0),
        ("disk", "nvme0n1", "write_bytes", writes * 4_096.0),
        ("cpu", "machine", "user_s", busy),
        ("cpu", "machine", "system_s", busy * 0.4),
        ("cpu", "machine", "iowait_s", 1.0),
        ("cpu", "machine", "idle_s", 15.0 - busy * 1.4),
        ("process", "process", "user_s", busy * 0.9),
        ("process", "process", "system_s", busy * 0.3),
        ("database", "rocksdb", "flushes", rate / 50_000.0),
        ("database", "rocksdb", "compactions", rate / 40_000.0),
    ];
    rows.into_iter()
        .map(|(probe, subject, name, row_rate)| {
            let mut value = 1e6;
            let at_s: Vec<f64> = (0..=seconds).map(f64::from).collect();
            let values = at_s
                .iter()
                .map(|_| {
                    let now = value;
                    value += row_rate
                        * if probe == "disk" {
                            0.9 + 0.2 * random.next()
                        } else {
                            1.0
                        };
                    now
                })
                .collect();
            Series {
                probe: probe.into(),
                subject: subject.into(),
                name: name.into(),
                kind: SeriesKind::Counter,
                at_s,
                values,
            }
        })
        .collect()
}

fn qualify(key: &PointKey, phase: &mut Phase) {
    let mut add = |code: &str, text: &str| {
        phase
            .findings
            .push(finding::find(code).unwrap().finding(text));
    };
    if key.threads == 64 && key.system.starts_with("Drive A") && key.workload == "ycsb-c" {
        add(
            "client-saturated",
            "The processors were 97 % busy: the client was the limit, not the device. Use fewer \
             clients or a larger machine.",
        );
    }
    if key.threads == 1 {
        add(
            "too-few-samples",
            "p99.999 has fewer than 10 samples beyond it. Run longer: 200 s are needed at this \
             rate.",
        );
    }
    if key.threads == 16 && key.system == "Drive B 3.84TB" && key.workload == "ycsb-a" {
        add(
            "errors",
            "12 requests failed. The causes are listed under Errors.",
        );
        if let Some(updates) = phase.kinds.get_mut(&Kind::Update) {
            updates.errors = 12;
        }
        phase.failed = 12;
        phase.errors.push(ErrorCount {
            kind: Kind::Update,
            cause: "io".into(),
            count: 12,
            example: "IO error: <nvme1n1> No space left on device".into(),
        });
    }
}

fn load(speed: &Speed, random: &mut Random) -> Load {
    let mut phase = phase(speed.alone * 9.0, 16, &[(Kind::Insert, 1.0)], 12, random);
    phase.findings.push(finding::FITS_IN_MEMORY.finding(
        "The data set (0.4 GB) fits in memory (16 GB): caches, not the device, may answer reads. \
         Limit memory or load more records.",
    ));
    Load {
        system: speed.name.into(),
        records: phase.operations,
        threads: 16,
        phase,
    }
}

fn header(shape: Shape) -> Header {
    let threads: Vec<String> = shape.threads.iter().map(u32::to_string).collect();
    let records = 250_000_000;
    let (data_set, run) = (Subject::DataSet, Subject::Run);
    let [data_set, run] = [data_set, run].map(Role::Condition);
    let [system, points] = [Scope::System, Scope::Points].map(Role::Scope);
    let plan = [
        ("database.driver", "rocksdb".to_owned(), system),
        ("dataset.field_length", "1024".to_owned(), data_set),
        ("dataset.fields", "4".to_owned(), data_set),
        ("dataset.records", records.to_string(), data_set),
        ("sweep.repeats", shape.repeats.to_string(), points),
        ("sweep.seed", "1".to_owned(), points),
        ("sweep.threads", threads.join(", "), points),
        ("sweep.warmup", "60s".to_owned(), run),
        (
            "sweep.workloads",
            "ycsb-a, ycsb-b, ycsb-c, ycsb-d-uniform, ycsb-f".to_owned(),
            points,
        ),
    ];
    let plan = plan.map(|(key, value, role)| (key.to_owned(), PlanValue::new(value, role)));
    Header {
        id: "55555555555555555555555555555555".into(),
        title: "Drive A against Drive B, RocksDB".into(),
        tailmark: "0.1.0".into(),
        created_ms: 1_795_255_200_000,
        plan: plan.into(),
        settings: StudySettings {
            data: Some(DataSize {
                records,
                value_bytes: 250e6 * 4.0 * 1024.0,
            }),
            ..StudySettings::default()
        },
        source: "title = \"Drive A against Drive B, RocksDB\" # </script> & \"quotes\"\n\n\
                 [dataset]\nrecords = 250_000_000\n"
            .into(),
        assumed: vec!["sweep.warmup".into()],
    }
}

fn system(speed: &Speed) -> System {
    let drive = if speed.name.starts_with("Drive A") {
        "a"
    } else {
        "b"
    };
    let ceiling = speed
        .name
        .strip_suffix(" ceiling")
        .map(|name| format!("{name} 3.84TB"));
    let settings: &[(&str, &str)] = if ceiling.is_some() {
        &[]
    } else {
        &[
            ("block_cache", "51200000000"),
            ("direct_reads", "true"),
            ("compression", "none"),
        ]
    };
    System {
        name: speed.name.into(),
        driver: if ceiling.is_some() { "file" } else { "rocksdb" }.into(),
        place: format!("/mnt/drive-{drive}"),
        semantics: "faithful".into(),
        settings: settings
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ceiling_for: ceiling,
    }
}

fn facts() -> Vec<Fact> {
    let fact = |system: Option<&str>, group: &str, name: &str, value: &str| Fact {
        system: system.map(Into::into),
        group: group.into(),
        name: name.into(),
        value: value.into(),
    };
    let mut facts = vec![
        fact(None, "machine", "host name", "bench-07"),
        fact(None, "machine", "operating system", "Debian GNU/Linux 12"),
        fact(None, "cpu", "model", "AMD EPYC 7713 64-Core Processor"),
        fact(None, "cpu", "cores", "16"),
        fact(None, "memory", "total", "512 GiB"),
        fact(None, "kernel", "release", "6.18.5"),
        fact(None, "kernel", "transparent huge pages", "madvise"),
    ];
    for (speed, firmware) in SPEEDS
        .iter()
        .zip(["E2MU110", "E1MU020", "E2MU110", "E1MU020"])
    {
        let system = Some(speed.name);
        facts.push(fact(system, "device", "model", &speed.name[..7]));
        facts.push(fact(system, "device", "firmware", firmware));
        facts.push(fact(system, "device", "size", "3.84 TB"));
        facts.push(fact(system, "file system", "type", "xfs"));
        facts.push(fact(
            system,
            "file system",
            "mount options",
            "rw,noatime,nodiratime",
        ));
        facts.push(fact(system, "database", "version", "RocksDB 11.1.1"));
    }
    facts
}

/// Repeats what a phase recorded over time, to make it as long as a long point.
#[allow(dead_code, reason = "not every test has long points")]
pub fn lengthen(phase: &mut tailmark_model::Phase, times: usize) {
    let (intervals, step) = (phase.intervals.clone(), phase.duration_s);
    phase.intervals = (0..times)
        .flat_map(|n| {
            intervals.iter().cloned().map(move |mut interval| {
                interval.start_s += n as f64 * step;
                interval
            })
        })
        .collect();
    for series in &mut phase.series {
        let (at_s, values) = (series.at_s.clone(), series.values.clone());
        let rise = values[values.len() - 1] - values[0];
        series.at_s.clear();
        series.values.clear();
        for n in 0..times {
            series
                .at_s
                .extend(at_s[1..].iter().map(|t| t + n as f64 * step));
            series
                .values
                .extend(values[1..].iter().map(|v| v + n as f64 * rise));
        }
    }
    phase.duration_s *= times as f64;
}

/// Four systems whose names are as long as people make them, and differ at their ends as those of drives do.
#[allow(dead_code, reason = "not every test has so many")]
pub fn four_systems(repeats: u32, seconds: u32) -> Data {
    let mut data = study(Shape {
        repeats,
        seconds,
        ..SMALL
    });
    let long =
        |name: &mut String| *name = format!("Manufacturer PM1743-{name} (firmware 2.1.0, xfs)");
    for system in &mut data.systems {
        long(&mut system.name);
        system.ceiling_for = None;
    }
    data.loads
        .iter_mut()
        .for_each(|load| long(&mut load.system));
    data.points
        .iter_mut()
        .for_each(|point| long(&mut point.key.system));
    data
}
