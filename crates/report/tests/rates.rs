//! Points at several rates beside a sweep of clients, and operations that were never done.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod sections;
mod systems;

use sections::{blocks, tables};
use std::collections::BTreeMap;
use systems::system;
use tailmark_model::{
    Arrivals, Censored, Header, Kind, KindResult, LagCauses, Metric, Phase, Point, PointKey,
    ResolvedRate, StartLag, new_latencies,
};
use tailmark_report::{Block, Cell, Data, Table, html};

const SYSTEMS: [&str; 2] = ["disk", "other"];
const MS: u64 = 1_000_000;

fn key(system: &str, threads: u32, rate: Option<f64>) -> PointKey {
    PointKey {
        system: system.into(),
        workload: "ycsb-a".into(),
        distribution: "uniform".into(),
        threads,
        repeat: 1,
        target_rate: rate,
        arrivals: rate.map(|_| Arrivals::Poisson),
    }
}

/// Operations of 1 ms each, of which some were due at the end and never done.
fn phase(rate: f64, never: u64, rated: bool) -> Phase {
    let done = (rate * 10.0) as u64 - never;
    let mut read = KindResult {
        count: done,
        ..KindResult::default()
    };
    read.service.record_n(MS, done).unwrap();
    if rated {
        read.response = Some(read.service.clone());
    }
    if never > 0 {
        let mut censored = Censored::default();
        censored.service.record_n(50 * MS, 8).unwrap();
        censored.response.record_n(84 * MS, never).unwrap();
        read.censored = Some(Box::new(censored));
    }
    let lag = rated.then(|| {
        let mut causes = LagCauses::default();
        causes.no_client.record_n(7 * MS, 2_000).unwrap();
        StartLag {
            all: new_latencies(),
            causes: Some(causes),
        }
    });
    Phase {
        duration_s: 10.0,
        operations: done,
        kinds: BTreeMap::from([(Kind::Read, read)]),
        censored: never,
        start_lag: lag,
        ..Phase::default()
    }
}

/// Two systems at 4 and 16 threads, and at three rates with 64; `disk` does not keep up with the
/// last.
fn data() -> Data {
    let mut points = Vec::new();
    for system in SYSTEMS {
        for (threads, rate) in [(4, 4_000.0), (16, 10_000.0)] {
            let phase = phase(rate, 0, false);
            let key = key(system, threads, None);
            points.push(Point { key, phase });
        }
        for rate in [2_000.0, 6_000.0, 20_000.0] {
            let never = if system == "disk" && rate > 6_000.0 {
                198
            } else {
                0
            };
            let phase = phase(rate, never, true);
            let key = key(system, 64, Some(rate));
            points.push(Point { key, phase });
        }
    }
    let mut header = Header::without_plan("Rates", String::new());
    header.settings.has_rates = true;
    Data {
        headers: vec![header],
        systems: SYSTEMS.map(system).into(),
        points,
        resolved_rates: vec![ResolvedRate {
            system: "other".into(),
            workload: "ycsb-a".into(),
            distribution: "uniform".into(),
            requested: "60%".into(),
            of_system: "disk".into(),
            peak_ops_per_sec: 10_000.0,
            rate: 6_000.0,
        }],
        ..Data::default()
    }
}

fn texts(cells: &[Cell]) -> Vec<&str> {
    cells.iter().map(|cell| cell.text.as_str()).collect()
}

fn column(table: &Table, title: &str) -> usize {
    let columns = &table.columns;
    columns
        .iter()
        .position(|column| column.title == title)
        .unwrap()
}

#[test]
fn rates_are_a_group_beside_the_sweep_of_clients() {
    let blocks = blocks("workloads", &data());
    let headings = blocks.iter().filter_map(|block| match block {
        Block::Heading { title, anchor, .. } => Some((title.as_str(), anchor.as_str())),
        _ => None,
    });
    let expected = [
        ("YCSB A", "workload-ycsb-a-uniform"),
        (
            "YCSB A at fixed rates (Poisson arrivals)",
            "workload-ycsb-a-uniform-rates-poisson",
        ),
    ];
    assert_eq!(headings.collect::<Vec<_>>(), expected);
    let tables = tables("workloads", &data());
    let captions: Vec<&str> = tables.iter().map(|t| t.caption.as_str()).collect();
    // By client count, the two compared at equal rates, and each at its rates.
    assert_eq!(captions, ["", "", "disk", "other"]);
    let first = |table: &Table| -> Vec<String> {
        table
            .rows
            .iter()
            .map(|row| row.cells[0].text.clone())
            .collect()
    };
    assert_eq!(first(&tables[0]), ["4", "16", "average"]);
    assert_eq!(first(&tables[1]), ["2,000", "6,000", "20,000", "average"]);
    assert_eq!(first(&tables[3]), ["2,000", "6,000", "20,000"]);
}

#[test]
fn the_table_of_a_system_has_a_row_for_each_rate() {
    let tables = tables("workloads", &data());
    let (disk, other) = (&tables[2], &tables[3]);
    let at_20_000 = texts(&disk.rows[2].cells);
    assert_eq!(at_20_000[..3], ["20,000", "19,980", "64"]);
    let ms = |title: &str| at_20_000[column(disk, title)];
    // 200,000 samples, of which 198 were never done: the 200th highest is exact, the 20th is not.
    // An age is the lower end of its place in a histogram of three digits.
    assert_eq!(
        [ms("p99"), ms("p99.9"), ms("p99.99")],
        ["1.00 ms", "1.00 ms", "≥ 83.9 ms"]
    );
    assert_eq!([ms("drained"), ms("never done")], ["0", "198"]);
    assert_eq!([ms("no client free"), ms("woken late")], ["7.00 ms", "–"]);
    let details = other.rows.iter().map(|row| row.cells[0].detail.as_str());
    assert!(details.eq(["", "60% of disk's peak so far, 10,000", ""]));
}

#[test]
fn one_rate_is_no_peak_either() {
    let mut data = data();
    data.points
        .retain(|point| point.key.target_rate.is_none_or(|rate| rate < 3_000.0));
    let table = &tables("peaks", &data)[0];
    assert_eq!(table.rows.len(), 1, "of the sweep of clients alone");
    data.points.retain(|point| point.key.target_rate.is_some());
    assert!(tables("peaks", &data).is_empty());
    let cards = blocks("summary", &data);
    assert!(!cards.iter().any(|block| matches!(block, Block::Cards(_))));
}

#[test]
fn a_latency_stands_beside_the_name_of_its_system() {
    let mut data = data();
    for point in &mut data.points {
        // `disk` is the slower one by a hundredth, which is no difference.
        let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
        read.censored = None;
        if point.key.system == "disk" {
            let mut slower = new_latencies();
            slower.record_n(MS + MS / 100, read.count).unwrap();
            read.response = Some(slower);
        }
    }
    let blocks = blocks("workloads", &data);
    let said = blocks.iter().filter_map(|block| match block {
        Block::Statements(lines) => Some(lines.iter().map(|line| line.to_plain())),
        _ => None,
    });
    let said: Vec<String> = said.flatten().collect();
    let expected = "At 20,000 ops/s, the highest offered rate, disk and other are within 3 % of each other \
                    in p99 read latency (1.01 ms against 1.00 ms).";
    assert!(said.iter().any(|line| line.contains(expected)), "{said:?}");
}

#[test]
fn no_rate_is_a_peak() {
    let data = data();
    let table = &tables("peaks", &data)[0];
    assert_eq!(table.rows.len(), 1, "of the sweep of clients alone");
    assert_eq!(texts(&table.rows[0].cells)[..3], ["YCSB A", "10,000", "16"]);
    let summary = blocks("summary", &data);
    let count = summary.iter().find_map(|block| match block {
        Block::Cards(cards) => Some(cards.len()),
        _ => None,
    });
    assert_eq!(count, Some(1));
    let basis = summary.iter().find_map(|block| match block {
        Block::Text(text) if text.to_plain().contains("measurement") => Some(text.to_plain()),
        _ => None,
    });
    let basis = basis.unwrap();
    assert!(
        basis.contains("no request failed, 198 operations never done."),
        "{basis}"
    );
}

#[test]
fn a_comparison_with_a_lower_bound_says_no_more_than_is_known() {
    let mut data = data();
    data.settings.metric = Metric::from_name("mean read");
    let blocks = blocks("workloads", &data);
    let tables = tables("workloads", &data);
    // Of `disk` at 20,000 ops/s the mean is at least 1.08 ms, so it is slower by 8 % or more.
    let row = texts(&tables[1].rows[2].cells);
    assert!(row.contains(&"≥ 1.08 ms"), "{row:?}");
    // `other` leads: it is lower by 7 % or more.
    assert!(row.contains(&"≥ 7 % lower"), "{row:?}");
    let said: Vec<String> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Statements(lines) => Some(lines.iter().map(|line| line.to_plain())),
            _ => None,
        })
        .flatten()
        .collect();
    let sentence = "At 20,000 ops/s, the highest offered rate, the mean read latency of other is at least \
                    7 % lower than disk's (1.00 ms against ≥ 1.08 ms).";
    assert!(said.iter().any(|line| line == sentence), "{said:#?}");
}

#[test]
fn charts_mark_what_is_a_lower_bound() {
    let blocks = blocks("workloads", &data());
    let figures: Vec<_> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        })
        .collect();
    let [_, rates] = figures[..] else { panic!() };
    let [chart] = &rates.charts[..] else { panic!() };
    assert_eq!(chart.variants.len(), rates.combinations());
    // The first choice is the mean of reads' response times.
    let disk = &chart.variants[0]["series"][0]["data"];
    assert_eq!(disk[0][0], 2_000.0);
    assert_eq!(disk[2]["atLeast"], serde_json::json!([true, true, true]));
    assert_eq!(disk[2]["label"]["formatter"], "≥");
    assert!(html::body(&data()).contains("≥ 83.9 ms"));
}

#[test]
fn one_rate_over_several_client_counts_stays_a_sweep_of_clients() {
    let mut data = data();
    data.points.clear();
    data.headers[0].settings.has_rates = false;
    for threads in [4, 16] {
        let key = key("disk", threads, Some(2_000.0));
        let phase = phase(2_000.0, 0, true);
        data.points.push(Point { key, phase });
    }
    let blocks = blocks("workloads", &data);
    let Block::Heading { title, .. } = &blocks[0] else {
        panic!()
    };
    assert_eq!(title, "YCSB A at 2,000 ops/s (Poisson arrivals)");
    let table = &tables("workloads", &data)[0];
    assert_eq!(table.columns[0].title, "Threads");
    assert_eq!(table.rows.len(), 2);
}

#[test]
fn merged_studies_keep_what_percentages_came_to() {
    let mut other = data();
    other.headers[0].title = "Again".into();
    for point in &mut other.points {
        point.key.arrivals = point.key.arrivals.map(|_| Arrivals::Even);
    }
    let merged = Data::merged(vec![data(), other]);
    assert_eq!(merged.points.len(), 20);
    let studies: Vec<_> = merged.points.iter().map(|point| &point.key).collect();
    assert!(
        studies
            .iter()
            .all(|key| studies.iter().filter(|k| k == &key).count() == 1)
    );
    let repeats = merged.points.iter().filter(|point| point.key.repeat > 1);
    assert!(repeats.clone().all(|point| point.key.arrivals.is_none()));
    assert!(!merged.resolved_rates.is_empty());
    let names: Vec<&str> = merged.systems.iter().map(|s| s.name.as_str()).collect();
    for rate in &merged.resolved_rates {
        assert!(names.contains(&rate.system.as_str()) && names.contains(&rate.of_system.as_str()));
    }
}

/// What the rate 6,000 of `other` is called in a merge with another study of the same systems.
fn called(other: impl FnOnce(&mut Data)) -> String {
    let mut again = data();
    for point in &mut again.points {
        point.phase.operations += 1;
    }
    other(&mut again);
    let merged = Data::merged(vec![data(), again]);
    assert_eq!(merged.systems.len(), 2);
    let tables = tables("workloads", &merged);
    let mut tables = tables.iter().filter(|table| table.caption == "other");
    tables.next().unwrap().rows[1].cells[0].detail.clone()
}

#[test]
fn in_a_merge_a_rate_is_a_percentage_of_a_peak_only_if_it_is_in_each_study() {
    assert_eq!(called(|_| {}), "60% of disk's peak so far, 10,000");
    let higher = |data: &mut Data| data.resolved_rates[0].peak_ops_per_sec = 10_004.0;
    assert_eq!(
        called(higher),
        "60% of disk's peak so far, 10,000 to 10,004"
    );
    // The same rate, but as a number, or as a share of another peak.
    assert_eq!(called(|data| data.resolved_rates.clear()), "");
    let of_other = |data: &mut Data| data.resolved_rates[0].of_system = "other".into();
    assert_eq!(called(of_other), "");
    // A study that has no point at that rate takes no label away.
    let without = |data: &mut Data| {
        data.resolved_rates.clear();
        data.points
            .retain(|point| point.key.target_rate != Some(6_000.0));
    };
    assert_eq!(called(without), "60% of disk's peak so far, 10,000");
}

#[test]
fn at_one_fixed_rate_latencies_are_compared_and_no_peaks() {
    let mut data = data();
    data.points.clear();
    data.headers[0].settings.has_rates = false;
    for (system, threads) in SYSTEMS.into_iter().flat_map(|s| [(s, 4), (s, 16)]) {
        let key = key(system, threads, Some(2_000.0));
        let phase = phase(2_000.0, 0, true);
        data.points.push(Point { key, phase });
    }
    let summary = blocks("summary", &data);
    let [
        Block::Text(headline),
        Block::Text(as_measured),
        Block::Cards(cards),
        Block::Text(_),
    ] = &summary[..]
    else {
        panic!("{summary:#?}")
    };
    let headline = headline.to_plain();
    assert!(!headline.contains("peak"), "{headline}");
    let nobody = "At 16 threads, the p99 read latency of disk is within 3 % of other's.";
    assert!(headline.ends_with(nobody), "{headline}");
    let figure = &cards[0].figures[0];
    let card = (figure.value.as_str(), figure.about.as_str());
    let tied = "p99 read latency at 16 threads within 3 %, disk and other";
    assert_eq!(card, ("tie", tied));
    let as_measured = as_measured.to_plain();
    assert!(as_measured.contains("that takes 4 runs"), "{as_measured}");
    let blocks = blocks("workloads", &data);
    let Block::Statements(lines) = &blocks[1] else {
        panic!("statements follow the heading")
    };
    let lines: Vec<String> = lines.iter().map(tailmark_report::Text::to_plain).collect();
    let expected = "At 16 threads, the highest thread count, disk and other are within 3 % of each other \
                    in p99 read latency (1.00 ms against 1.00 ms).";
    assert!(lines.iter().any(|line| line == expected), "{lines:?}");
    assert!(!lines.concat().contains("peak"), "{lines:?}");
}

#[test]
fn only_arrivals_that_keep_to_the_rate_are_said_not_to_exceed_it() {
    let said = |arrivals: Arrivals, has_rates: bool| {
        let mut data = data();
        data.points
            .retain(|point| point.key.target_rate == Some(2_000.0));
        for point in &mut data.points {
            point.key.arrivals = Some(arrivals);
        }
        data.headers[0].settings.has_rates = has_rates;
        format!("{:?}", blocks("workloads", &data))
    };
    for has_rates in [false, true] {
        let even = said(Arrivals::Even, has_rates);
        assert!(even.contains("ops/s cannot exceed the rate"), "{even}");
        let poisson = said(Arrivals::Poisson, has_rates);
        assert!(!poisson.contains("cannot exceed"), "{poisson}");
        let expected = "ops/s follow the rate as far as the system keeps up, with small random";
        assert!(poisson.contains(expected), "{poisson}");
    }
}
