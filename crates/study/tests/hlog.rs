//! Histogram logs: what is exported is imported again as it was, and what other programs write is
//! read in the unit that the user says.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use base64::{Engine, prelude::BASE64_STANDARD};
use common::{facts, header, load, point, systems};
use flate2::{Compression, write::ZlibEncoder};
use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};
use std::{
    io::Write,
    time::{Duration, Instant, UNIX_EPOCH},
};
use tailmark_model::{
    Arrivals, Bounded, Interval, Kind, KindResult, Packed, Phase, QUANTILES,
    finding::{CENSORED, NO_ANSWER},
    new_latencies,
};
use tailmark_study::{
    FORMATS, Study,
    import::{Given, Imported, Source, find},
};

fn import(path: &str, log: &[u8], given: &Given) -> Result<Vec<Imported>, String> {
    let source = Source {
        path: path.into(),
        bytes: log.to_vec(),
    };
    let format = find("hlog").unwrap();
    format
        .import(&[source], given)
        .map_err(|error| error.to_string())
}

fn in_unit(unit_ns: u64) -> Given {
    Given {
        unit_ns: Some(unit_ns),
        ..Given::default()
    }
}

fn exported(study: &Study) -> Vec<u8> {
    let mut log = Vec::new();
    let format = FORMATS.iter().find(|format| format.name == "hlog").unwrap();
    (format.write)(study, &mut log).unwrap();
    log
}

/// Every histogram of a phase: interval, kind, service and response.
type Histograms = Vec<(u64, Kind, Packed, Option<Packed>)>;

fn histograms(phase: &Phase) -> Histograms {
    let all = phase.intervals.iter().flat_map(|interval| {
        let start_ms = (interval.start_s * 1000.0).round() as u64;
        let kinds = interval.kinds.iter();
        kinds.map(move |(kind, own)| (start_ms, *kind, own.service.clone(), own.response.clone()))
    });
    all.collect()
}

/// Operations and failures of each interval, and errors of each of its kinds.
fn failures(phase: &Phase) -> Vec<(u64, u64, Vec<u64>)> {
    let errors = |i: &Interval| i.kinds.values().map(|kind| kind.errors).collect();
    let intervals = phase.intervals.iter();
    let failures = intervals.map(|i| (i.operations, i.failed, errors(i)));
    failures.collect()
}

#[test]
fn what_was_exported_comes_back_with_the_same_histograms_and_failures() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.set_facts(&facts()).unwrap();
    study.add_load(&load()).unwrap();
    let points = [point(4, true), point(1, false)];
    points
        .iter()
        .for_each(|point| study.add_point(point).unwrap());
    let all = import("study.hlog", &exported(&study), &in_unit(1)).unwrap();
    let of_load = all
        .iter()
        .find(|imported| imported.workload.is_none())
        .unwrap();
    assert_eq!(histograms(&of_load.phase), histograms(&load().phase));
    assert_eq!(all.len(), 3);
    for point in &points {
        let key = &point.key;
        let of_key = |imported: &&Imported| {
            imported.workload.as_ref() == Some(&key.workload) && imported.threads == key.threads
        };
        let imported = all.iter().find(of_key).unwrap();
        assert_eq!(
            (&imported.system, &imported.distribution),
            (&key.system, &key.distribution)
        );
        assert_eq!(
            (imported.target_rate, imported.arrivals),
            (key.target_rate, key.arrivals)
        );
        assert_eq!(histograms(&imported.phase), histograms(&point.phase));
        assert_eq!(imported.phase.started_ms, point.phase.started_ms);
        assert_eq!(failures(&imported.phase), failures(&point.phase));
        assert_eq!(imported.phase.block_qos, point.phase.block_qos);
        let never_done = point.phase.censored > 0;
        assert_eq!(CENSORED.is_among(&imported.phase.findings), never_done);
        assert_eq!(imported.phase.censored, point.phase.censored);
        for (kind, result) in &point.phase.kinds {
            let found = &imported.phase.kinds[kind];
            assert_eq!(found.censored, result.censored);
            assert_eq!(found.failed, result.failed);
            assert_eq!(found.failed_response, result.failed_response);
        }
    }
    let rated = points[0].key.arrivals;
    assert_eq!(rated, Some(Arrivals::Poisson));
}

/// A line of each second and tag: values 1, 2, 3, ... as often as the tag's place from 1 says.
fn log(tags: &[Option<&'static str>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let start = Duration::from_secs(1_700_000_000);
    let mut writer = IntervalLogWriterBuilder::new()
        .with_start_time(UNIX_EPOCH + start)
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap();
    for second in 0..3 {
        for (tag, times) in tags.iter().zip(1..) {
            let mut values = new_latencies();
            (1..=100).for_each(|value| values.record_n(value, times).unwrap());
            let at = start + Duration::from_secs(second);
            let tag = tag.map(|tag| Tag::new(tag).unwrap());
            writer
                .write_histogram(&values, at, Duration::from_secs(1), tag)
                .unwrap();
        }
    }
    drop(writer);
    bytes
}

#[test]
fn a_log_of_another_program_is_one_point_in_the_unit_that_is_given() {
    let log = log(&[
        Some("READ"),
        Some("UPDATE-st"),
        Some("UPDATE-rt"),
        Some("READ-wt"),
    ]);
    for (unit_ns, max) in [(1, 100), (1_000, 100_000), (1_000_000, 100_000_000)] {
        let all = import("nvme-t16.hlog", &log, &in_unit(unit_ns)).unwrap();
        let [imported] = all.as_slice() else {
            panic!("{} points", all.len());
        };
        assert_eq!((imported.system.as_str(), imported.threads), ("nvme", 16));
        let phase = &imported.phase;
        assert_eq!((phase.operations, phase.duration_s), (900, 3.0));
        assert_eq!(phase.started_ms, Some(1_700_000_000_000));
        let [read, update] = [Kind::Read, Kind::Update].map(|kind| &phase.kinds[&kind]);
        assert_eq!(
            (read.count, read.service.len(), &read.response),
            (300, 300, &None)
        );
        assert!(read.service.equivalent(read.service.max(), max));
        let response = update.response.as_ref().unwrap();
        assert_eq!(
            (update.count, update.service.len(), response.len()),
            (900, 600, 900)
        );
    }
}

#[test]
fn a_histogram_of_two_digits_keeps_its_mean() {
    let mut values = new_latencies();
    (10_000..30_000).for_each(|value| values.record(value).unwrap());
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap();
    let (second, tag) = (Duration::from_secs(1), Tag::new("READ"));
    let rough = Packed::pack(&values).unpack();
    writer.write_histogram(&rough, second, second, tag).unwrap();
    drop(writer);
    let all = import("nvme-t1.hlog", &bytes, &in_unit(1)).unwrap();
    let mean = all[0].phase.kinds[&Kind::Read].service.mean();
    assert!((mean / 20_000.0 - 1.0).abs() < 0.0005, "{mean}");
}

#[test]
fn lines_without_tags_are_of_the_kind_that_the_file_is_named_by() {
    let given = Given {
        threads: Some(4),
        workload: Some("ycsb-c".into()),
        ..in_unit(1_000)
    };
    let all = import("out/READ.hlog", &log(&[None]), &given).unwrap();
    assert_eq!(
        (all[0].workload.as_deref(), all[0].threads),
        (Some("ycsb-c"), 4)
    );
    assert_eq!(all[0].phase.kinds[&Kind::Read].count, 300);
}

#[test]
fn what_cannot_be_told_is_refused_with_what_to_give() {
    let read = log(&[Some("READ")]);
    for (path, log, given, said) in [
        (
            "t8.hlog",
            &read,
            Given::default(),
            "give --unit ns, us or ms",
        ),
        ("disk.hlog", &read, in_unit(1), "give --threads"),
        (
            "t8.hlog",
            &log(&[Some("CLEANUP")]),
            in_unit(1),
            "line 2: the tag `CLEANUP` names no kind",
        ),
        ("t8.hlog", &log(&[None]), in_unit(1), "it has no tag"),
        (
            "t8.hlog",
            &log(&[Some("READ-rt")]),
            in_unit(1),
            "no line has service times",
        ),
        (
            "t8.hlog",
            &b"READ\n".to_vec(),
            in_unit(1),
            "line 1: it is not a line of a histogram log",
        ),
        (
            "t8.hlog",
            &b"# empty\n".to_vec(),
            in_unit(1),
            "it contains no line",
        ),
    ] {
        let error = import(path, log, &given).unwrap_err();
        assert!(error.contains(said) && error.contains(path), "{error}");
    }
}

#[test]
fn a_unit_is_refused_by_formats_that_say_theirs() {
    let source = Source {
        path: "t.csv".into(),
        bytes: Vec::new(),
    };
    let error = find("csv")
        .unwrap()
        .import(&[source], &in_unit(1))
        .unwrap_err();
    assert!(
        error.to_string().contains("--unit is only for hlog"),
        "{error}"
    );
}

#[test]
fn what_failed_has_failed_after_an_export_and_an_import_too() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let [mut failing, mut gone] = [point(4, false), point(1, false)];
    (failing.phase.operations, failing.phase.failed) = (10_000, 5_000);
    failing.phase.kinds.get_mut(&Kind::Update).unwrap().errors = 5_000;
    gone.phase.findings.push(NO_ANSWER.finding("It went away."));
    for point in [&failing, &gone] {
        study.add_point(point).unwrap();
    }
    let log = exported(&study);
    let all = import("study.hlog", &log, &in_unit(1)).unwrap();
    for point in [failing, gone] {
        let of_key = |imported: &&Imported| imported.threads == point.key.threads;
        let (found, phase) = (&all.iter().find(of_key).unwrap().phase, &point.phase);
        let fault = phase.fault(0.001).unwrap();
        assert_eq!(found.fault(0.001), Some(fault));
        assert_eq!(found.ops_per_sec(), phase.ops_per_sec());
        assert_eq!(found.errors_per_sec(), phase.errors_per_sec());
        assert_eq!(
            (&found.errors, found.drained),
            (&phase.errors, phase.drained)
        );
        let [of_found, of_phase] = [found, phase].map(|phase| {
            let codes: Vec<_> = phase.findings.iter().map(|f| f.code.clone()).collect();
            let update = &phase.kinds[&Kind::Update];
            (codes, update.errors, update.not_found, update.bytes)
        });
        assert_eq!(of_found, of_phase);
    }
    // HdrHistogram's own tools take such lines for remarks.
    let text = String::from_utf8(log).unwrap();
    let (remark, others) = text
        .lines()
        .partition::<Vec<_>, _>(|line| line.contains("not in its lines"));
    assert!(remark.iter().all(|line| line.starts_with('#')) && remark.len() == 2);
    // Without them, as other programs write logs, nothing is known of failures.
    let foreign = import("study.hlog", others.join("\n").as_bytes(), &in_unit(1)).unwrap();
    assert!(foreign.iter().all(|imported| imported.phase.failed == 0));
}

#[test]
fn a_quantile_among_what_was_never_done_is_a_bound_after_an_import_too() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let mut rated = point(4, true);
    let read = rated.phase.kinds.get_mut(&Kind::Read).unwrap();
    let never = &mut read.censored.as_mut().unwrap().response;
    never.record_n(5_000_000_000, 400_000).unwrap();
    rated
        .phase
        .findings
        .push(CENSORED.finding("400,000 were never done."));
    study.add_point(&rated).unwrap();
    let all = import("study.hlog", &exported(&study), &in_unit(1)).unwrap();
    let found = &all[0].phase;
    let is_bound = |phase: &Phase| {
        let known = phase.kinds[&Kind::Read].ranked_response();
        known.quantile(QUANTILES[3]).map(Bounded::is_exact)
    };
    assert_eq!(is_bound(found), Some(false));
    assert_eq!(is_bound(found), is_bound(&rated.phase));
    let censored = found.findings.iter().filter(|f| CENSORED.is_of(f));
    assert_eq!(censored.count(), 1);
}

#[test]
fn the_ages_of_failures_bound_the_same_quantiles_after_an_export_and_an_import() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let mut rated = point(4, true);
    let read = rated.phase.kinds.get_mut(&Kind::Read).unwrap();
    let ages = |age_ns, count| {
        let mut ages = new_latencies();
        ages.record_n(age_ns, count).unwrap();
        Some(ages)
    };
    // More than lie beyond p95, and older than all that was done or never done.
    read.errors = read.count / 5;
    read.failed = ages(10_000_000_000, read.errors);
    read.failed_response = ages(20_000_000_000, read.errors);
    study.add_point(&rated).unwrap();
    let all = import("study.hlog", &exported(&study), &in_unit(1)).unwrap();
    let found = &all[0].phase.kinds[&Kind::Read];
    let expected = &rated.phase.kinds[&Kind::Read];
    assert_eq!(
        (&found.failed, &found.failed_response),
        (&expected.failed, &expected.failed_response)
    );
    let bounds = |result: &KindResult| {
        let known = [result.ranked_service(), result.ranked_response()];
        let of_failed = known.map(|known| known.quantile(QUANTILES[2]));
        of_failed.map(|bounded| bounded.filter(|bounded| !bounded.is_exact()).unwrap().value)
    };
    assert_eq!(bounds(found), bounds(expected));
    let [service, response] = bounds(found);
    assert!(response > 1.9 * service, "{response} after {service}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&point(4, false)).unwrap();
    let log = String::from_utf8(exported(&study)).unwrap();
    for (from, to, said) in [
        ("\"failed\":7", "\"failed\":99999", "contradicts itself"),
        (
            "\"failed\":7",
            "\"failed\":-7",
            "the comment `not in its lines` is damaged",
        ),
        (
            "\"duration_s\":12",
            "\"duration_s\":-12",
            "contradicts itself",
        ),
    ] {
        assert!(log.contains(from), "{from} in {log:.1000}");
        let error = import("s.hlog", log.replace(from, to).as_bytes(), &in_unit(1));
        let error = error.unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

/// A histogram in HdrHistogram's first encoding, of which the last of so many counts is 1 and the others
/// are 0, as a log has it.
fn nearly_empty(digits: u32, counts: usize) -> String {
    const WORD: usize = 8;
    let bytes = counts * WORD;
    let mut plain = 0x1c84_9381_u32.to_be_bytes().to_vec();
    for head in [bytes as u32, 0, digits] {
        plain.extend(head.to_be_bytes());
    }
    for head in [1, u64::MAX, 1_f64.to_bits()] {
        plain.extend(head.to_be_bytes());
    }
    plain.resize(plain.len() + bytes - 1, 0);
    plain.push(1);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    let packed = packed.finish().unwrap();
    let mut all = 0x1c84_9382_u32.to_be_bytes().to_vec();
    all.extend((packed.len() as u32).to_be_bytes());
    all.extend(packed);
    BASE64_STANDARD.encode(all)
}

#[test]
fn millions_of_empty_counts_are_passed_over() {
    let given = Given {
        threads: Some(4),
        ..in_unit(1)
    };
    let line = nearly_empty(5, 5_000_000);
    let lines = (0..20).map(|second| format!("Tag=READ,{second}.000,1.000,1.0,{line}\n"));
    let log: String = lines.collect();
    let begin = Instant::now();
    let all = import("disk.hlog", log.as_bytes(), &given).unwrap();
    assert_eq!(all[0].phase.kinds[&Kind::Read].count, 20);
    // A program that is not optimized took 20 s to look at each.
    assert!(
        begin.elapsed() < Duration::from_secs(8),
        "{:?}",
        begin.elapsed()
    );
    // No histogram of five digits has that many.
    let more = format!("Tag=READ,0.000,1.000,1.0,{}\n", nearly_empty(5, 7_000_000));
    let refused = import("disk.hlog", more.as_bytes(), &given).unwrap_err();
    assert!(
        refused.contains("line 1: its histogram is damaged"),
        "{refused}"
    );
}
