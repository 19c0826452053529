//! Quality of service: whole runs and their blocks, of one run and of several.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod systems;

use std::collections::BTreeMap;
use systems::system;
use tailmark_model::{
    Header, Interval, IntervalKind, Kind, KindResult, Latencies, Packed, Phase, Point, PointKey,
    new_latencies, qos::block_qos,
};
use tailmark_report::{Block, Cell, Data, SECTIONS, Table};

const MS: u64 = 1_000_000;
const MILLION: u64 = 1_000_000;

/// A second of reads of 1 ms, some of which take longer.
fn second(at: u32, slow: u64, slow_ms: u64) -> (Latencies, Interval) {
    let mut reads = new_latencies();
    reads.record_n(MS, MILLION - slow).unwrap();
    if slow > 0 {
        reads.record_n(slow_ms * MS, slow).unwrap();
    }
    let read = IntervalKind {
        count: MILLION,
        errors: 0,
        service: Packed::pack(&reads),
        response: None,
    };
    let interval = Interval {
        start_s: at.into(),
        length_s: 1.0,
        operations: MILLION,
        failed: 0,
        kinds: BTreeMap::from([(Kind::Read, read)]),
    };
    (reads, interval)
}

/// A phase of such seconds: how many reads are slow, and how slow.
fn phase(seconds: &[(u64, u64)]) -> Phase {
    let mut read = KindResult::default();
    let mut intervals = Vec::new();
    for (at, &(slow, slow_ms)) in (0..).zip(seconds) {
        let (reads, interval) = second(at, slow, slow_ms);
        read.service.add(&reads).unwrap();
        read.count += MILLION;
        intervals.push(interval);
    }
    Phase {
        duration_s: seconds.len() as f64,
        operations: read.count,
        kinds: BTreeMap::from([(Kind::Read, read)]),
        block_qos: block_qos(&intervals),
        intervals,
        ..Phase::default()
    }
}

fn point(threads: u32, repeat: u32, phase: Phase) -> Point {
    let key = PointKey {
        system: "disk".into(),
        workload: "ycsb-c".into(),
        distribution: "uniform".into(),
        threads,
        repeat,
        target_rate: None,
        arrivals: None,
    };
    Point { key, phase }
}

fn table(points: Vec<Point>) -> Table {
    let data = Data {
        headers: vec![Header::without_plan("Quality", String::new())],
        systems: vec![system("disk")],
        points,
        ..Data::default()
    };
    let section = SECTIONS.iter().find(|s| s.name == "qos").unwrap();
    let tables = (section.render)(&data)
        .into_iter()
        .filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
    // What the quality leaves at scale has a table of its own.
    let mut tables = tables.filter(|table| table.caption.is_empty());
    let (Some(table), None) = (&tables.next(), tables.next()) else {
        panic!("one workload has one table")
    };
    table.clone()
}

/// Text, whether it is grey, and what stands below it.
fn cell<'t>(table: &'t Table, row: usize, quality: &str) -> (&'t str, bool, &'t str) {
    let at = table.columns.iter().position(|c| c.title == quality);
    let Cell {
        text,
        muted,
        detail,
        ..
    } = &table.rows[row].cells[at.unwrap()];
    (text, *muted, detail)
}

fn parts(table: &Table) -> Vec<Vec<&str>> {
    let rows = table.rows.iter();
    rows.map(|row| row.cells[..4].iter().map(|c| c.text.as_str()).collect())
        .collect()
}

#[test]
fn a_bad_second_stands_beside_the_whole_run_and_says_when_it_was() {
    // Of the third second 100 reads take 40 ms: its p99.99, and not that of the run.
    let table = table(vec![point(
        8,
        1,
        phase(&[(0, 0), (50, 20), (100, 40), (0, 0), (0, 0)]),
    )]);
    assert_eq!(
        parts(&table),
        [
            ["disk", "8 threads (peak)", "read", "whole run"],
            ["", "", "", "worst of 5 blocks"],
            ["", "", "", "median block"],
            ["", "", "", "best block"],
            ["", "", "", "requests/s at or above"],
        ]
    );
    assert_eq!(cell(&table, 0, "p99.99"), ("1.00 ms", false, ""));
    assert_eq!(cell(&table, 1, "p99.99").2, "from 2 s");
    assert!(cell(&table, 1, "p99.99").0.starts_with("40."), "within 1 %");
    assert!(cell(&table, 2, "p99.99").0.starts_with("1.0"));
    assert!(cell(&table, 3, "p99.99").0.starts_with("1.0"));
    let beyond: Vec<_> = ["p99", "p99.9", "p99.99", "p99.999", "p99.9999"]
        .map(|quality| cell(&table, 4, quality).0)
        .to_vec();
    // Five samples are beyond six nines of five million, which is no number.
    assert_eq!(beyond, ["10,000", "1,000", "100", "10.0", "–"]);
}

#[test]
fn where_halves_of_pairs_fail_all_requests_of_a_kind_are_counted() {
    let mut phase = phase(&[(0, 0)]);
    // 560,000 reads and 500,000 pairs, of which a read or an update fails.
    phase.operations = 1_060_000;
    phase.failed = 70_000;
    let counted = |count, errors| KindResult {
        count,
        errors,
        ..KindResult::default()
    };
    phase.kinds.get_mut(&Kind::Read).unwrap().errors = 60_000;
    phase.kinds.insert(Kind::Update, counted(480_000, 20_000));
    let pairs = counted(460_000, 40_000);
    phase.kinds.insert(Kind::ReadModifyWrite, pairs);
    let mut point = point(1, 1, phase);
    point.key.workload = "ycsb-f".into();
    let table = table(vec![point]);
    let rows = parts(&table);
    let row = rows
        .iter()
        .position(|row| row[3] == "requests/s at or above");
    assert_eq!(cell(&table, row.unwrap(), "p99").0, "10,600");
}

#[test]
fn few_samples_are_grey_and_fewer_are_none() {
    let table = table(vec![point(8, 1, phase(&[(0, 0); 12]))]);
    // Of 12 million 120 are beyond five nines, and 12 beyond six; of a block 10 beyond five.
    assert_eq!(cell(&table, 0, "p99.999"), ("1.00 ms", false, ""));
    assert_eq!(cell(&table, 0, "p99.9999"), ("1.00 ms", true, ""));
    assert!(cell(&table, 1, "p99.999").1 && !cell(&table, 1, "p99.99").1);
    assert_eq!(cell(&table, 1, "p99.9999"), ("–", true, ""));
}

#[test]
fn a_worst_block_raised_by_another_run_names_the_block_and_run_of_its_value() {
    let slow = phase(&[(0, 0), (0, 0), (200, 60)]);
    let mut failing = phase(&[(0, 0)]);
    for interval in &mut failing.intervals {
        interval.kinds.get_mut(&Kind::Read).unwrap().errors = 200;
    }
    failing.block_qos = block_qos(&failing.intervals);
    let table = table(vec![point(8, 1, slow), point(8, 2, failing)]);
    let (worst, _, began) = cell(&table, 1, "p99.99");
    assert!(worst.starts_with("≥ 60."), "{worst}");
    assert_eq!(began, "from 2 s, run 1");
}

#[test]
fn of_several_runs_the_worst_and_the_best_and_the_mean_of_medians() {
    // Medians of p99.99: about 1 ms and 16 ms, whose geometric mean is 4 ms.
    let calm = phase(&[(0, 0), (0, 0), (200, 30)]);
    let rough = phase(&[(200, 16), (200, 16), (200, 60)]);
    let table = table(vec![point(8, 1, calm), point(8, 2, rough)]);
    let parts = parts(&table);
    assert_eq!(
        (parts[0][3], parts[1][3]),
        ("2 whole runs", "worst of 6 blocks")
    );
    let (worst, _, began) = cell(&table, 1, "p99.99");
    assert!(
        worst.starts_with("60.") && began == "from 2 s, run 2",
        "{worst} {began}"
    );
    let median = cell(&table, 2, "p99.99").0;
    assert!(median.starts_with("4.0"), "{median}");
    assert!(cell(&table, 3, "p99.99").0.starts_with("1.0"));
    assert!(
        table.note.contains("the geometric mean of the medians"),
        "{}",
        table.note
    );
}

#[test]
fn a_system_is_looked_at_with_the_most_clients_and_at_its_peak() {
    let slow = |phase: Phase| Phase {
        duration_s: phase.duration_s * 2.0,
        ..phase
    };
    let points = vec![
        point(4, 1, slow(phase(&[(0, 0)]))),
        point(8, 1, phase(&[(0, 0)])),
        point(16, 1, slow(phase(&[(0, 0)]))),
    ];
    let table = table(points);
    let places: Vec<&str> = parts(&table).iter().map(|part| part[1]).collect();
    let named: Vec<&&str> = places.iter().filter(|place| !place.is_empty()).collect();
    assert_eq!(named, [&"8 threads (peak)", &"16 threads"]);
}

#[test]
fn a_run_without_a_block_says_so() {
    let mut short = phase(&[(0, 0)]);
    short.block_qos.clear();
    let table = table(vec![point(8, 1, short)]);
    let parts: Vec<&str> = parts(&table).iter().map(|part| part[3]).collect();
    assert_eq!(parts, ["whole run", "requests/s at or above"]);
    assert!(
        table
            .note
            .contains("No run has enough requests for a block")
    );
}

#[test]
fn a_worst_block_that_is_a_bound_is_not_below_the_blocks_of_other_runs() {
    // Reads of 1 ms half a percent of which fails, beside a run of which 0.2 % takes 40 ms.
    let mut failing = phase(&[(0, 0); 3]);
    let errors = 5_000;
    for interval in &mut failing.intervals {
        interval.kinds.get_mut(&Kind::Read).unwrap().errors = errors;
    }
    failing.kinds.get_mut(&Kind::Read).unwrap().errors = 3 * errors;
    failing.block_qos = block_qos(&failing.intervals);
    let slow = phase(&[(2_000, 40); 3]);
    let table = table(vec![point(8, 1, failing), point(8, 2, slow)]);
    let p99_9 = |row| cell(&table, row, "p99.9").0.to_owned();
    assert!(p99_9(1).starts_with("≥ 40."), "{}", p99_9(1));
    // The geometric mean of medians, of which the first is at least the second.
    assert!(p99_9(2).starts_with("≥ 40."), "{}", p99_9(2));
    assert!(p99_9(3).starts_with("40."), "{}", p99_9(3));
}
