//! The statements of the five published studies, on data shaped to their own figures, and their briefs.

use crate::support::{blocks, cards, headline, mixed, phase, said};
use std::path::{Path, PathBuf};
use tailmark_model::{DataSize, Header, Metric, Point, PointKey, Ratios, ReportSettings, System};
use tailmark_report::{Block, Data, write};

/// Threads, operations per second, and the latency in milliseconds that the study shows.
type Curve = Vec<(u32, f64, f64)>;

/// Each workload with its systems.
type Study<'a> = Vec<(&'a str, Vec<(&'a str, Curve)>)>;

fn data(title: &str, study: &Study<'_>, settings: ReportSettings) -> Data {
    let mut names: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for (workload, systems) in study {
        for (system, curve) in systems {
            if !names.contains(system) {
                names.push(system);
            }
            points.extend(curve.iter().map(|&(threads, ops, ms)| Point {
                key: PointKey {
                    system: (*system).to_owned(),
                    workload: (*workload).to_owned(),
                    distribution: "uniform".into(),
                    threads,
                    repeat: 1,
                    target_rate: None,
                    arrivals: None,
                },
                phase: mixed(phase(ops, ms), workload),
            }));
        }
    }
    let mut header = Header::without_plan(title, String::new());
    header.settings.data = Some(DataSize {
        records: 250_000_000,
        value_bytes: 250e6 * 4_096.0,
    });
    header.settings.report = settings;
    let system = |name: &&str| System {
        name: (*name).to_owned(),
        driver: "rocksdb".into(),
        ..crate::systems::system(name)
    };
    Data {
        headers: vec![header],
        systems: names.iter().map(system).collect(),
        points,
        ..Data::default()
    }
}

fn of_driver(mut data: Data, driver: &str) -> Data {
    for system in &mut data.systems {
        system.driver = driver.to_owned();
    }
    data
}

fn metric(name: &str) -> Option<Metric> {
    Some(Metric::from_name(name).unwrap())
}

/// The brief of a study, for whoever wants to look at it, and how many pages it has.
fn brief(name: &str, data: &Data) -> usize {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("briefs")
        .join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let written: PathBuf = write("brief", data, &dir).unwrap();
    assert_eq!(written.file_name().unwrap(), "brief.pdf");
    let text = std::process::Command::new("pdfinfo").arg(&written).output();
    let text = String::from_utf8(text.unwrap().stdout).unwrap();
    let pages = text.lines().find_map(|line| line.strip_prefix("Pages:"));
    pages.unwrap().trim().parse().unwrap()
}

#[track_caller]
fn assert_lines(said: &[String], expected: &[&str]) {
    for part in expected {
        let is_said = said.iter().any(|line| line.contains(part));
        assert!(is_said, "{part}\n{said:#?}");
    }
}

const TABLE: &str = include_str!("../../../study/tests/fixtures/micron-7400.csv");

/// By how many percent the mean read latency of the 7400 is lower at each thread count, so that the averages
/// are those that the study prints.
const LOWER: [(&str, [f64; 10]); 5] = [
    (
        "ycsb-a",
        [27.0, 45.0, 52.0, 55.0, 57.0, 60.0, 60.0, 54.0, 50.0, 50.0],
    ),
    (
        "ycsb-b",
        [9.0, 12.0, 18.0, 25.0, 27.0, 27.0, 28.0, 22.0, 23.0, 19.0],
    ),
    (
        "ycsb-c",
        [10.0, 4.0, 5.0, 6.0, 13.0, 14.0, 18.0, 14.0, 16.0, 10.0],
    ),
    (
        "ycsb-d",
        [7.0, 11.0, 17.0, 23.0, 30.0, 27.0, 28.0, 27.0, 22.0, 18.0],
    ),
    (
        "ycsb-f",
        [30.0, 48.0, 56.0, 58.0, 56.0, 54.0, 54.0, 52.0, 51.0, 51.0],
    ),
];

fn micron_7400() -> Data {
    let mut study: Study<'_> = Vec::new();
    for (workload, percents) in LOWER {
        let curve = |device: &str| -> Curve {
            let rows = TABLE
                .lines()
                .map(|line| line.split(',').collect::<Vec<_>>());
            let own = rows.filter(|row| row.contains(&workload) && row[0].contains(device));
            own.map(|row| (row[4].parse().unwrap(), row[5].parse().unwrap(), 0.0))
                .collect()
        };
        let mut older = curve("7300");
        older
            .iter_mut()
            .for_each(|(threads, ops, ms)| *ms = f64::from(*threads) / *ops * 1e3);
        let mut newer = curve("7400");
        for ((at, own), lower) in newer.iter_mut().zip(&older).zip(percents) {
            assert_eq!(at.0, own.0);
            at.2 = own.2 * (1.0 - lower / 100.0);
        }
        study.push((
            workload,
            vec![("Micron 7400", newer), ("Micron 7300", older)],
        ));
    }
    let settings = ReportSettings {
        metric: metric("mean read"),
        subject: Some("Micron 7400".into()),
        use_cases: [
            ("ycsb-a", "Recording user sessions"),
            ("ycsb-b", "Adding metadata"),
            ("ycsb-c", "Caching user profiles"),
            ("ycsb-d", "Status updates"),
            ("ycsb-f", "Recording user activity"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into(),
        ..ReportSettings::default()
    };
    data("RocksDB on the Micron 7400", &study, settings)
}

#[test]
fn the_7400_study() {
    let data = micron_7400();
    let peaks = ["+44 %", "+28 %", "+11 %", "+31 %", "+50 %"];
    let lowers = [
        "51 % lower",
        "21 % lower",
        "11 % lower",
        "21 % lower",
        "51 % lower",
    ];
    for ((card, peak), lower) in cards(&data).iter().zip(peaks).zip(lowers) {
        let expected = format!(
            "{peak}: ops/s at peak, Micron 7400 over Micron 7300; {lower}: mean read latency on average over \
             thread counts, Micron 7400 against Micron 7300"
        );
        assert_eq!(*card, expected);
    }
    let lower = "On average over thread counts, the mean read latency of Micron 7400 is 51 % lower than Micron 7300's, \
                 from 27 % lower at 4 threads to 60 % lower at 64 and 96 threads.";
    assert_lines(&said(&data), &[lower]);
    // As the study has it, in percent throughout.
    let mut percent = data.clone();
    percent.settings.ratios = Some(Ratios::Percent);
    let said = said(&percent);
    assert_lines(
        &said,
        &[
            "On average over thread counts, the mean read latency of Micron 7400 is 51 % lower than Micron 7300's, from 27 % lower at 4 threads to 60 % lower at 64 and 96 threads.",
            "On average over thread counts, the mean read latency of Micron 7400 is 21 % lower than Micron 7300's",
            "On average over thread counts, the mean read latency of Micron 7400 is 11 % lower than Micron 7300's",
            "Micron 7400 delivers more ops/s than Micron 7300 at every thread count (4 to 256).",
        ],
    );
    let text = headline(&percent);
    for expected in [
        "Micron 7400 has higher peak ops/s than Micron 7300 in all 5 workloads, by 11 % (YCSB C) to 50 % (YCSB F).",
        "Micron 7400 has a lower mean read latency than Micron 7300 on average over thread counts in all 5 workloads, by 11 % (YCSB C) to 51 % (YCSB A and F).",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let pages = brief("7400", &percent);
    assert!(pages <= 4, "{pages} pages");
}

fn micron_7450() -> Data {
    let leader = |factor: f64| -> Curve {
        let at = [
            (4, 20e3, 4.0),
            (8, 32e3, 7.0),
            (16, 40e3, 10.0),
            (32, 45e3, 15.0),
        ];
        at.map(|(threads, ops, ms)| (threads, ops * factor, ms))
            .into()
    };
    // The last point is a little above the limit, so that it is crossed there and not only touched.
    let beyond = |mut curve: Curve| {
        curve.push((48, 46e3, 17.0));
        curve
    };
    let slow = vec![
        (4, 12e3, 8.0),
        (8, 23e3, 15.0),
        (16, 40e3, 23.0),
        (32, 42e3, 31.0),
        (48, 42.5e3, 36.0),
    ];
    let systems = vec![
        ("Device A", beyond(leader(1.005))),
        ("Device B", beyond(leader(0.995))),
        ("Device C", slow),
        ("Micron 7450", beyond(leader(1.0))),
    ];
    let settings = ReportSettings {
        metric: metric("p99.99 read"),
        subject: Some("Micron 7450".into()),
        at_rate: vec![40e3],
        at_latency: vec![std::time::Duration::from_millis(15)],
        chart_systems: vec![vec![
            "Micron 7450".into(),
            "Device A".into(),
            "Device B".into(),
        ]],
        ..ReportSettings::default()
    };
    data(
        "RocksDB on the Micron 7450",
        &vec![("ycsb-a", systems)],
        settings,
    )
}

#[test]
fn the_7450_study() {
    let data = micron_7450();
    let text = headline(&data);
    for expected in [
        "At 40,000 ops/s, the p99.99 read latency of Micron 7450 is 57 % lower than Device C's (10.0 ms \
         against 23.0 ms) and is within 3 % of Device A's and Device B's.",
        "At 15.0 ms of p99.99 read latency, Micron 7450 delivers 96 % more ops/s than Device C (44,994 \
         against 22,991) and is within 3 % of Device A and Device B.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert_lines(
        &said(&data),
        &[
            "Points overlap (within 3 % in ops/s and p99.99 read latency): Device A, Device B and Micron 7450 at 4, 8, 16, 32 and 48 threads.",
            "is equal to Device A's and Device B's at every thread count (4 to 48); it ranges from",
        ],
    );
    let figures = blocks("workloads", &data)
        .into_iter()
        .find_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        });
    let figure = figures.unwrap();
    let lines = |chart: usize| {
        let variant = figure
            .initial_variant(&figure.charts[chart])
            .unwrap()
            .into_owned();
        let series = variant["series"].as_array().unwrap().clone();
        let names = series
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned());
        (
            names.collect::<Vec<_>>(),
            series[0]["markLine"]["data"].clone(),
        )
    };
    let (all, marks) = lines(0);
    assert_eq!(all, ["Device A", "Device B", "Device C", "Micron 7450"]);
    assert_eq!(marks[0]["xAxis"], 40_000.0);
    assert_eq!(marks[1]["yAxis"], 15_000.0);
    let (leaders, _) = lines(1);
    assert_eq!(leaders, ["Device A", "Device B", "Micron 7450"]);
    assert!(
        figure.charts[1]
            .title
            .ends_with(": Micron 7450, Device A, Device B")
    );
    // As the study has it: latency in times, ops/s in percent.
    let mut published = data.clone();
    published.settings.ratios = Some(Ratios::LatencyX);
    let said_so = headline(&published);
    for expected in [
        "the p99.99 read latency of Micron 7450 is 2.3X lower than Device C's (10.0 ms against 23.0 ms)",
        "Micron 7450 delivers 96 % more ops/s than Device C (44,994 against 22,991)",
    ] {
        assert!(said_so.contains(expected), "{expected}\n{said_so}");
    }
    let pages = brief("7450", &published);
    assert!(pages <= 4, "{pages} pages");
}

fn micron_6500() -> Data {
    let threads = [8, 16, 32, 64, 128];
    let workload = |peak: f64, ratio: f64, lower: f64| {
        let share = [0.25, 0.45, 0.7, 0.9, 1.0];
        let of_other = [0.3, 0.55, 0.8, 0.97, 1.0];
        let ms = [2.0, 2.2, 2.6, 3.2, 4.0];
        let of_other_ms = [2.4, 3.0, 4.2, 4.0 * lower / 3.0, 4.0 * lower];
        let curve = |ops: f64, shares: [f64; 5], latencies: [f64; 5]| -> Curve {
            let at = threads.iter().zip(shares).zip(latencies);
            at.map(|((count, part), latency)| (*count, ops * part, latency))
                .collect()
        };
        vec![
            ("Micron 6500 ION", curve(peak, share, ms)),
            ("Solidigm P5316", curve(peak / ratio, of_other, of_other_ms)),
        ]
    };
    let study = vec![
        ("ycsb-a", workload(154_815.0, 154_815.0 / 101_593.0, 7.0)),
        ("ycsb-b", workload(120_000.0, 2.4, 4.3)),
        ("ycsb-c", workload(110_000.0, 2.6, 3.0)),
        ("ycsb-f", workload(90_000.0, 1.9, 9.2)),
    ];
    let settings = ReportSettings {
        metric: metric("p99.99 read"),
        subject: Some("Micron 6500 ION".into()),
        ratios: Some(Ratios::X),
        ..ReportSettings::default()
    };
    let data = data("Cassandra on the Micron 6500 ION", &study, settings);
    of_driver(data, "cassandra")
}

#[test]
fn the_6500_study() {
    let data = micron_6500();
    let figures = [
        ("1.5X", "7.0X"),
        ("2.4X", "4.3X"),
        ("2.6X", "3.0X"),
        ("1.9X", "9.2X"),
    ];
    for (card, (peak, lower)) in cards(&data).iter().zip(figures) {
        let begin = format!(
            "{peak}: ops/s at peak, Micron 6500 ION over Solidigm P5316; {lower} lower: p99.99"
        );
        assert!(card.starts_with(&begin), "{card}");
    }
    let text = headline(&data);
    for expected in [
        "Micron 6500 ION has higher peak ops/s than Solidigm P5316 in all 4 workloads: 1.5X (YCSB A) to 2.6X (YCSB C) those of Solidigm P5316.",
        "Micron 6500 ION has a lower p99.99 read latency than Solidigm P5316 at 128 threads in all 4 workloads: 3.0X (YCSB C) to 9.2X (YCSB F) lower.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert_lines(
        &said(&data),
        &[
            "Micron 6500 ION has a much flatter curve than Solidigm P5316: from 8 to 128 threads, its p99.99 read latency rises 2.0X, that of Solidigm P5316 rises 12X.",
            "From 64 to 128 threads, the p99.99 read latency of Solidigm P5316 rises dramatically, 3.0X, with +3 % ops/s: it is nearing its limit; that of Micron 6500 ION rises 1.3X, with +11 %.",
        ],
    );
    let (page, ..) = crate::brief::page("brief-6500", &data);
    assert!(page.contains("it is nearing its limit"), "{page}");
    let pages = brief("6500", &data);
    assert!(pages <= 4, "{pages} pages");
}

fn micron_9400() -> Data {
    let threads = [8, 16, 32, 64, 128];
    let curve = |peak: f64, shares: [f64; 5], ms: f64| -> Curve {
        let factors = [1.0, 1.1, 1.4, 2.2, 4.0];
        let at = threads.iter().zip(shares).zip(factors);
        at.map(|((count, share), slower)| (*count, peak * share, ms * slower))
            .collect()
    };
    let shares = [0.2, 0.4, 0.7, 0.92, 1.0];
    let workload = |peak: f64, ratio: f64| {
        vec![
            (
                "Competitor P",
                curve(peak / ratio, [0.12 * ratio, 0.4, 0.7, 0.95, 1.0], 0.7),
            ),
            (
                "Competitor M",
                curve(peak / ratio / 1.2, [0.24, 0.4, 0.7, 0.95, 1.0], 0.8),
            ),
            (
                "Competitor C",
                curve(peak / ratio / 1.2, [0.24, 0.4, 0.7, 0.95, 1.0], 0.8),
            ),
            ("Micron 9400", curve(peak, shares, 0.4)),
        ]
    };
    let study = vec![
        ("ycsb-a", workload(1_079_441.0, 2.1)),
        ("ycsb-b", workload(900_000.0, 1.9)),
        ("ycsb-c", workload(836_384.0, 1.8)),
        ("ycsb-f", workload(600_000.0, 2.0)),
    ];
    let settings = ReportSettings {
        metric: metric("p99.99 read"),
        subject: Some("Micron 9400".into()),
        ratios: Some(Ratios::X),
        ..ReportSettings::default()
    };
    let data = data("Aerospike on the Micron 9400", &study, settings);
    of_driver(data, "aerospike")
}

#[test]
fn the_9400_study() {
    let data = micron_9400();
    for (card, peak) in cards(&data).iter().zip(["2.1X", "1.9X", "1.8X", "2.0X"]) {
        let begin = format!("{peak}: ops/s at peak, Micron 9400 over Competitor P, the nearest; ");
        assert!(card.starts_with(&begin), "{card}");
    }
    let text = headline(&data);
    let expected = "Micron 9400 has the highest peak ops/s in all 4 workloads: 1.8X (YCSB C) to 2.1X (YCSB A) those of \
                    the nearest competitor.";
    assert!(text.starts_with(expected), "{text}");
    let mut percent = data.clone();
    percent.settings.ratios = Some(Ratios::Percent);
    assert_lines(
        &said(&percent),
        &[
            "At 8 threads, the lowest thread count, Micron 9400 delivers 67 % more ops/s than Competitor P, its nearest competitor",
            "Micron 9400 delivers more ops/s than every other system at every thread count (8 to 128).",
            "Points overlap (within 3 % in ops/s and p99.99 read latency): Competitor M and Competitor C at 8, 16, 32, 64 and 128 threads.",
        ],
    );
    // The brief has room for few sentences of each workload.
    let (page, ..) = crate::brief::page("brief-9400", &percent);
    for told in [
        "the lowest thread count, Micron 9400 delivers 67 % more ops/s than Competitor P , its nearest competitor",
        "It is lower than every other system's at every thread count.",
    ] {
        assert_eq!(page.matches(told).count(), 4, "{told}\n{page}");
    }
    let pages = brief("9400", &data);
    assert!(pages <= 4, "{pages} pages");
}

#[test]
fn the_study_of_the_blog() {
    let curve = |ops: [f64; 5], ms: f64| -> Curve {
        let threads = [8, 16, 32, 64, 96].into_iter();
        let rises = [1.0, 1.05, 1.2, 1.6, 2.2];
        let at = threads.zip(ops).zip(rises);
        at.map(|((count, rate), rise)| (count, rate, ms * rise))
            .collect()
    };
    let systems = vec![
        (
            "Micron 7450",
            curve([97e3, 190e3, 370e3, 640e3, 800e3], 1.0),
        ),
        (
            "Samsung PM9A3",
            curve([103e3, 201e3, 380e3, 600e3, 740e3], 1.1),
        ),
        (
            "Solidigm D5-P5430",
            curve([80e3, 140e3, 260e3, 430e3, 520e3], 1.6),
        ),
    ];
    let settings = ReportSettings {
        metric: metric("p99 read"),
        subject: Some("Micron 7450".into()),
        ..ReportSettings::default()
    };
    let data = data(
        "db_bench on the Micron 7450",
        &vec![("readrandom", systems)],
        settings,
    );
    assert_lines(
        &said(&data),
        &[
            "The lead in ops/s changes: Micron 7450 leads at 64 and 96 threads, Samsung PM9A3 at 8 and 16 threads.",
            "The peak of Solidigm D5-P5430 reaches only 70 % of Samsung PM9A3's and 65 % of Micron 7450's.",
        ],
    );
    let (text, ..) = crate::brief::page("brief-blog", &data);
    for expected in [
        "The peak of Solidigm D5-P5430 reaches only 70 % of Samsung PM9A3's",
        "delivers 40 % more ops/s than Solidigm D5-P5430, and leads it at every thread count.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let pages = brief("blog", &data);
    assert!(pages <= 4, "{pages} pages");
}
