//! Why the slowest requests were slow: the sentences and tables of known requests.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod systems;

use systems::system;
use tailmark_model::{
    Anatomy, AnatomyKind, AnatomyPart, Header, Kind, Phase, Point, PointKey,
    anatomy::{Band, Request},
};
use tailmark_report::{AnatomyPoint, Block, Data, SECTIONS, Table};

fn part(name: &str, group: &str, title: &str) -> AnatomyPart {
    AnatomyPart {
        name: name.into(),
        group: group.into(),
        title: title.into(),
        source: String::new(),
    }
}

/// Reads of which the slowest have these shares of the device and of stalls, in percent.
fn reads(device: u64, stall: u64) -> AnatomyKind {
    let band = |above: f64, up_to: f64, requests: u64, ns: [u64; 3]| Band {
        above,
        up_to,
        requests,
        ns: ns.map(|ns| ns * requests).to_vec(),
    };
    let slow = Request {
        sent: 2_000_000_000,
        due: 2_000_000_000,
        done: 2_010_000_000,
        client: 7,
        key: 42,
        ns: vec![
            device * 100_000,
            stall * 100_000,
            (100 - device - stall) * 100_000,
        ],
        blocks: [1, 0, 0],
        cache_hits: 0,
    };
    AnatomyKind {
        timed: 1_000_000,
        lost: 0,
        bands: vec![
            band(0.0, 0.5, 500_000, [0, 0, 2_000]),
            band(0.5, 0.9999, 499_900, [60_000, 0, 40_000]),
            band(
                0.9999,
                1.0,
                100,
                [
                    device * 100_000,
                    stall * 100_000,
                    (100 - device - stall) * 100_000,
                ],
            ),
        ],
        slowest: vec![slow],
        sample: Vec::new(),
    }
}

fn taken_apart(name: &str, device: u64, stall: u64) -> AnatomyPoint {
    AnatomyPoint {
        point: Point {
            key: PointKey {
                system: name.into(),
                workload: "ycsb-b".into(),
                distribution: "zipfian".into(),
                threads: 16,
                repeat: 1,
                target_rate: None,
                arrivals: None,
            },
            phase: Phase {
                duration_s: 10.0,
                ..Phase::default()
            },
        },
        anatomy: Anatomy {
            parts: vec![
                part("data-read", "device", "data block reads"),
                part("stall", "stall", "write stalls"),
                part("rest", "rest", "the rest"),
            ],
            every: 12,
            ops_per_sec: 97_000.0,
            ordinary_ops_per_sec: Some(100_000.0),
            kinds: [(Kind::Read, reads(device, stall))].into(),
        },
    }
}

fn blocks() -> Vec<Block> {
    let data = Data {
        headers: vec![Header::without_plan("t", String::new())],
        systems: vec![system("A"), system("B")],
        anatomies: vec![taken_apart("A", 71, 20), taken_apart("B", 48, 44)],
        ..Data::default()
    };
    let section = SECTIONS.iter().find(|section| section.name == "anatomy");
    (section.unwrap().render)(&data)
}

fn tables(blocks: &[Block]) -> Vec<&Table> {
    let tables = blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.collect()
}

#[test]
fn the_verdict_says_where_the_time_of_the_slowest_went_on_each_system() {
    let blocks = blocks();
    let Block::Statements(said) = &blocks[0] else {
        panic!("the verdict comes first");
    };
    let said: Vec<_> = said.iter().map(tailmark_report::Text::to_plain).collect();
    assert_eq!(
        said,
        [
            "A: Of the slowest 0.01 % of reads in YCSB B, zipfian keys (10.0 ms on average), 71 % of \
             the time was data block reads, 20 % write stalls and 9 % the rest. Files \
             took 71 % in all.",
            "B: Of the slowest 0.01 % of reads in YCSB B, zipfian keys (10.0 ms on average), 48 % of \
             the time was data block reads, 44 % write stalls and 8 % the rest. Files \
             took 48 % in all.",
        ]
    );
    let Block::Text(about) = &blocks[1] else {
        panic!("then how it was measured");
    };
    let about = about.to_plain();
    assert!(about.contains("one request in 12"), "{about}");
    assert!(about.contains("at 97 % of the ordinary ops/s"), "{about}");
}

#[test]
fn each_band_and_the_slowest_of_each_system_are_listed() {
    let blocks = blocks();
    let tables = tables(&blocks);
    let bands: Vec<_> = tables[0]
        .rows
        .iter()
        .map(|row| row.cells[1].text.as_str())
        .collect();
    let of_one = ["up to p50", "p50 to p99.99", "slowest 0.01 %"];
    assert_eq!(bands, [of_one, of_one].concat());
    let titles: Vec<_> = tables[0]
        .columns
        .iter()
        .map(|column| &*column.title)
        .collect();
    assert_eq!(
        titles[4..],
        ["Files", "Stall", "Rest"],
        "columns without time are left out"
    );
    assert_eq!(tables.len(), 3);
    let slow = &tables[1].rows[0].cells;
    assert_eq!(slow[0].text, "10.0 ms");
    assert_eq!(slow[3].text, "42");
    assert!(
        slow[5].text.starts_with("7.10 ms data block reads"),
        "{}",
        slow[5].text
    );
}

#[test]
fn a_report_without_an_anatomy_has_no_such_section() {
    let section = SECTIONS.iter().find(|section| section.name == "anatomy");
    assert!((section.unwrap().render)(&Data::default()).is_empty());
}
