//! Studies of curves whose every number is known, and the sentences about them.

pub use crate::sections::{blocks, tables};

use crate::systems::system;
use std::collections::BTreeMap;
use tailmark_model::{Header, Kind, KindResult, Phase, Point, PointKey, new_latencies};
use tailmark_report::{Block, Data, Text};

/// The thread counts of all curves.
pub const THREADS: [u32; 4] = [4, 8, 16, 32];
pub const MS: u64 = 1_000_000;

/// Operations per second and p99 read latency in milliseconds at each thread count.
#[derive(Clone, Copy)]
pub struct Curve(pub &'static str, pub [(f64, f64); 4]);

pub const A: Curve = Curve(
    "A",
    [(100.0, 1.0), (200.0, 1.0), (300.0, 2.0), (400.0, 3.0)],
);
pub const B: Curve = Curve(
    "B",
    [(80.0, 2.0), (150.0, 3.0), (240.0, 9.0), (250.0, 21.0)],
);
pub const C: Curve = Curve("C", [(50.0, 2.0), (90.0, 3.0), (120.0, 9.0), (130.0, 22.0)]);

pub fn phase(ops: f64, ms: f64) -> Phase {
    let count = (ops * 100.0).round() as u64;
    let mut service = new_latencies();
    service.record_n((ms * MS as f64) as u64, count).unwrap();
    let read = KindResult {
        count,
        service,
        ..KindResult::default()
    };
    Phase {
        duration_s: 100.0,
        operations: count,
        kinds: BTreeMap::from([(Kind::Read, read)]),
        ..Phase::default()
    }
}

/// The same with the writes of a workload of YCSB.
pub fn mixed(mut phase: Phase, workload: &str) -> Phase {
    let (kind, share) = match workload {
        "ycsb-a" => (Kind::Update, 0.5),
        "ycsb-b" => (Kind::Update, 0.05),
        "ycsb-d" => (Kind::Insert, 0.05),
        "ycsb-f" => (Kind::ReadModifyWrite, 0.5),
        _ => return phase,
    };
    let read = phase.kinds.get_mut(&Kind::Read).unwrap();
    let count = (phase.operations as f64 * share) as u64;
    let ns = read.service.max();
    let of = |requests: u64| {
        let mut service = new_latencies();
        service.record_n(ns, requests).unwrap();
        KindResult {
            count: requests,
            service,
            ..KindResult::default()
        }
    };
    let is_pair = kind == Kind::ReadModifyWrite;
    if !is_pair {
        *read = of(phase.operations - count);
    }
    phase
        .kinds
        .extend(is_pair.then(|| (Kind::Update, of(count))));
    phase.kinds.insert(kind, of(count));
    phase
}

pub fn point(system: &str, workload: &str, threads: u32, (ops, ms): (f64, f64)) -> Point {
    let key = PointKey {
        system: system.into(),
        workload: workload.into(),
        distribution: "uniform".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    let phase = phase(ops, ms);
    Point { key, phase }
}

/// Each workload with its curves.
pub fn study(workloads: &[(&str, &[Curve])]) -> Data {
    let mut names: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for (workload, curves) in workloads {
        for Curve(system, values) in *curves {
            if !names.contains(system) {
                names.push(system);
            }
            let all = THREADS.into_iter().zip(values);
            points.extend(all.map(|(threads, at)| point(system, workload, threads, *at)));
        }
    }
    Data {
        headers: vec![Header::without_plan("Statements", String::new())],
        systems: names.into_iter().map(system).collect(),
        points,
        ..Data::default()
    }
}

pub fn one(curves: &[Curve]) -> Data {
    study(&[("ycsb-a", curves)])
}

/// The statements of a section.
pub fn lines(section: &str, data: &Data) -> Vec<String> {
    let lines = |block| match block {
        Block::Statements(lines) => lines.iter().map(Text::to_plain).collect(),
        _ => Vec::new(),
    };
    blocks(section, data).into_iter().flat_map(lines).collect()
}

pub fn said(data: &Data) -> Vec<String> {
    lines("workloads", data)
}

pub fn headline(data: &Data) -> String {
    match &blocks("summary", data)[0] {
        Block::Text(text) => text.to_plain(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub fn assert_said(data: &Data, line: &str) {
    let said = said(data);
    assert!(said.iter().any(|other| other == line), "{line}\n{said:#?}");
}

#[track_caller]
pub fn assert_not_said(data: &Data, part: &str) {
    let said = said(data);
    assert!(!said.iter().any(|line| line.contains(part)), "{said:#?}");
}

pub fn with_baseline(mut data: Data, name: &str) -> Data {
    data.settings.baseline = Some(name.into());
    data
}

pub fn with_subject(mut data: Data, name: &str) -> Data {
    data.settings.subject = Some(name.into());
    data
}

/// What each card says, its numbers in a line.
pub fn cards(data: &Data) -> Vec<String> {
    let cards = blocks("summary", data)
        .into_iter()
        .find_map(|block| match block {
            Block::Cards(cards) => Some(cards),
            _ => None,
        });
    let figures = |card: tailmark_report::Card| {
        let figures = card.figures.iter();
        let figures = figures.map(|figure| format!("{}: {}", figure.value, figure.about));
        figures.collect::<Vec<_>>().join("; ")
    };
    cards.unwrap().into_iter().map(figures).collect()
}
