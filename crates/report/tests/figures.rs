//! What was sampled is a metric like any other: it is kept with the point, heads a report, has
//! verdicts and gates.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod systems;

use std::{collections::BTreeMap, path::Path};
use systems::system;
use tailmark_model::{
    Bounded, Header, Kind, KindResult, Metric, Phase, Point, PointKey, Series, SeriesKind,
};
use tailmark_report::{Block, Condition, Data, GateOutcome, SECTIONS, Verdicts, VerdictsRequest};
use tailmark_stats::Verdict;
use tailmark_study::Study;
use tempfile::TempDir;

/// Bytes written to the device for each byte that clients wrote, of five runs each.
const LEAN: (&str, [f64; 5]) = ("lean", [4.0, 4.1, 3.9, 4.05, 3.95]);
const HEAVY: (&str, [f64; 5]) = ("heavy", [8.0, 8.2, 7.8, 8.1, 7.9]);

fn metric() -> Metric {
    Metric::from_name("write_amplification").unwrap()
}

/// Ten seconds of 1,000 updates of 100 bytes a second. Both systems are as fast.
fn phase(amplification: f64, repeat: u32) -> Phase {
    let operations = 10_000 + u64::from(repeat);
    let mut update = KindResult {
        count: operations,
        bytes: operations * 100,
        ..KindResult::default()
    };
    update.service.record_n(1_000_000, operations).unwrap();
    let written = amplification * operations as f64 * 100.0;
    Phase {
        duration_s: 10.0,
        operations,
        kinds: BTreeMap::from([(Kind::Update, update)]),
        series: vec![Series {
            probe: "disk".to_owned(),
            subject: "nvme0n1".to_owned(),
            name: "write_bytes".to_owned(),
            kind: SeriesKind::Counter,
            at_s: vec![0.0, 10.0],
            values: vec![0.0, written],
        }],
        ..Phase::default()
    }
}

fn study(dir: &Path) -> Study {
    let header = Header::without_plan("Amplification", String::new());
    let study = Study::create(dir, &header, &[LEAN, HEAVY].map(|(name, _)| system(name))).unwrap();
    for (name, runs) in [LEAN, HEAVY] {
        let runs = runs.into_iter().zip(1..);
        for (threads, (amplification, repeat)) in
            runs.flat_map(|run| [4, 8].map(|threads| (threads, run)))
        {
            let key = PointKey {
                system: name.to_owned(),
                workload: "ycsb-a".to_owned(),
                distribution: "uniform".to_owned(),
                threads,
                repeat,
                target_rate: None,
                arrivals: None,
            };
            let phase = phase(amplification, repeat);
            study.add_point(&Point { key, phase }).unwrap();
        }
    }
    study
}

#[test]
fn a_figure_is_read_without_the_samples_it_came_from() {
    let dir = TempDir::new().unwrap();
    let points = study(dir.path()).point_totals().unwrap();
    let first = &points[0];
    assert!(first.phase.series.is_empty());
    let value = metric().value(&first.phase).unwrap();
    assert!((value.value - 4.0).abs() < 1e-9, "{value:?}");
    let reads = Metric::from_name("read_amplification").unwrap();
    assert_eq!(reads.value(&first.phase), None);
}

#[test]
fn a_report_that_is_about_a_figure_states_it_first() {
    let dir = TempDir::new().unwrap();
    let mut data = Data::read(&[study(dir.path())]).unwrap();
    data.settings.metric = Some(metric());
    let blocks = |name: &str| -> Vec<Block> {
        let section = SECTIONS.iter().find(|s| s.name == name).unwrap();
        (section.render)(&data)
    };
    let texts = blocks("summary").into_iter();
    let mut texts = texts.filter_map(|block| match block {
        Block::Text(text) => Some(text.to_plain()),
        _ => None,
    });
    let said = texts.next().unwrap();
    let lowest =
        "lean has a lower write amplification than heavy at 8 threads in YCSB A: 2.0X lower.";
    assert!(said.contains(lowest), "{said}");
    let text = format!("{:?}", blocks("workloads"));
    for expected in [
        "At 8 threads, the highest thread count, the write amplification of ",
        "2.0X lower",
        "4.00",
        "Write amplification against operations per second",
        "Write amplification by threads",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_workload_without_the_figure_is_stated_by_its_latency_and_the_families_say_so() {
    let dir = TempDir::new().unwrap();
    let study = study(dir.path());
    for mut point in study.points().unwrap() {
        let update = point.phase.kinds.remove(&Kind::Update).unwrap();
        point.phase = Phase {
            duration_s: point.phase.duration_s,
            operations: update.count,
            kinds: BTreeMap::from([(Kind::Read, update)]),
            ..Phase::default()
        };
        point.key.workload = "ycsb-c".to_owned();
        study.add_point(&point).unwrap();
    }
    let mut data = Data::read(&[study]).unwrap();
    data.settings.metric = Some(metric());
    let text = |name: &str| {
        let section = SECTIONS.iter().find(|s| s.name == name).unwrap();
        format!("{:?}", (section.render)(&data))
    };
    let summary = text("summary");
    for family in [
        "2 comparisons of p99 read",
        "2 comparisons of write amplification",
    ] {
        assert!(
            summary.contains(&format!("{family} at points")),
            "{family}: {summary}"
        );
    }
    let lead = "has a lower write amplification than \"), Strong(\"heavy\"), Plain(\" at 8 threads in YCSB A";
    assert!(summary.contains(lead), "{summary}");
    assert!(!summary.contains("lower latency"), "{summary}");
    let workloads = text("workloads");
    for expected in [
        "At 8 threads, the highest thread count, ",
        " in p99 read latency (",
    ] {
        assert!(workloads.contains(expected), "{expected}: {workloads}");
    }
}

#[test]
fn a_figure_has_verdicts_and_gates() {
    let dir = TempDir::new().unwrap();
    let header = study(dir.path()).header().unwrap();
    let study = Study::open_read_only(dir.path()).unwrap();
    let runs = study.runs(&header).unwrap();
    let pair = [("lean".to_owned(), "heavy".to_owned())];
    let all = tailmark_stats::comparisons(&runs, &pair, 0.03);
    let found = all.iter().find(|c| c.metric == metric()).unwrap();
    assert_eq!(found.verdict, Verdict::Better);
    assert!((found.ratio.value - 0.5).abs() < 0.01, "{found:?}");
    let outcome = |condition: &str| {
        let request = VerdictsRequest {
            study: dir.path().to_owned(),
            system: Some("heavy".to_owned()),
            baseline: Some("lean".to_owned()),
            fail_if: vec![Condition::parse(condition).unwrap()],
            ..VerdictsRequest::default()
        };
        Verdicts::new(&request).unwrap().outcome()
    };
    assert_eq!(
        outcome("write_amplification worse by 10%"),
        Some(GateOutcome::Fail)
    );
    assert_eq!(
        outcome("write_amplification better by 10%"),
        Some(GateOutcome::Pass)
    );
    // It was not sampled.
    assert_eq!(
        outcome("read_amplification worse by 10%"),
        Some(GateOutcome::Unsure)
    );
    assert_eq!(metric().text(Bounded::exact(0.5)), "0.50");
}

#[test]
fn what_ranks_no_system_is_no_condition_and_heads_no_report() {
    let error = Condition::parse("cpu_busy_percent worse by 5%").unwrap_err();
    let (_, accepted) = error.split_once("is not a metric to compare").unwrap();
    assert!(accepted.contains("write_amplification"), "{error}");
    assert!(!accepted.contains("cpu_busy"), "{error}");
    assert!(tailmark_report::report_metric("cpu_busy_percent").is_err());
    assert!(tailmark_report::report_metric("ops_per_sec").is_err());
}
