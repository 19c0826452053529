//! Exports: each says what the study says, in its format.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../common/mod.rs"]
mod common;
mod schema;

use common::{facts, header, load, point, systems};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use schema::faults;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tailmark_model::{
    Arrivals, Bounds, Kind, KindResult, Limit, Point, Rule, SloSettings, Summary,
};
use tailmark_study::{
    Study, export,
    import::{Given, Source, find},
};

/// What is searched for.
fn slo() -> SloSettings {
    SloSettings {
        latency: vec![Limit::parse("p99 read < 15ms").unwrap()],
        bounds: Bounds {
            min_rate: None,
            max_rate: None,
            resolution: 0.05,
        },
        arrivals: Arrivals::Poisson,
        threads: 64,
        rule: Rule::with_block(Duration::from_secs(1)),
        warmup: Duration::from_secs(1),
        time: Duration::from_secs(60),
        quick: false,
    }
}

fn study(dir: &std::path::Path) -> Study {
    let mut header = header();
    header.settings.slo = Some(slo());
    let study = Study::create(dir, &header, &systems()).unwrap();
    study.set_facts(&facts()).unwrap();
    study.add_notice("caches are not dropped").unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, false)).unwrap();
    study.add_point(&point(16, true)).unwrap();
    study.add_resolved_rate(&common::resolved_rate()).unwrap();
    study.add_trial(&point(64, true)).unwrap();
    study
}

fn exported(format: &str, study: &Study) -> String {
    let mut bytes = Vec::new();
    (export::find(format).unwrap().write)(study, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn json() -> Value {
    let dir = tempfile::tempdir().unwrap();
    serde_json::from_str(&exported("json", &study(dir.path()))).unwrap()
}

#[test]
fn what_is_private_is_in_no_export_of_a_redacted_study() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let fact = |group: &str, name: &str, value: &str| tailmark_model::Fact {
        system: None,
        group: group.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let facts = [
        fact("machine", "hostname", "bench-host-7"),
        fact("device below 2", "serial number", "SERIAL0042"),
        fact("device", "model", "Drive of bench-host-7"),
    ];
    study.set_facts(&facts).unwrap();
    study
        .add_notice("10.9.8.7:9042 did not answer bench-host-7 (SERIAL0042)")
        .unwrap();
    let private = ["bench-host-7", "SERIAL0042", "10.9.8.7"];
    let whole = exported("json", &study);
    assert!(private.iter().all(|text| whole.contains(text)));
    let study = study.redacted().unwrap();
    for format in tailmark_study::FORMATS {
        let text = exported(format.name, &study);
        let left = private.iter().find(|name| text.contains(**name));
        assert_eq!(left, None, "{}", format.name);
    }
    let document: Value = serde_json::from_str(&exported("json", &study)).unwrap();
    assert_eq!(faults(&document), Vec::<String>::new());
    assert!(document["facts"].to_string().contains("Drive of [host 1]"));
}

#[test]
fn json_is_as_its_schema_says() {
    assert_eq!(faults(&json()), Vec::<String>::new());
    // The check itself finds what is wrong.
    for (pointer, wrong) in [
        ("/points/0/threads", Value::from("4")),
        ("/points/1/kinds/read/service_us/p99", Value::from(true)),
        ("/systems/0", serde_json::json!({})),
        ("/version", Value::from(1)),
        ("/points/0/started_at", Value::from("yesterday")),
        ("/points/0/intervals/0/kinds/read/count", Value::from("4")),
        ("/points/0/series/0/values/0", Value::from("4")),
        ("/loads/0/series/0", serde_json::json!({})),
        ("/loads/0/bandwidth/database_mb_per_sec", Value::from("4")),
        ("/slo/0/status", Value::from("fine")),
        ("/slo/0/low", Value::from(0.0)),
        ("/slo/0/trials/0/verdict", Value::from("good")),
        (
            "/slo/0/trials/0/limits/0/interval",
            serde_json::json!([0.1]),
        ),
        ("/slo/0/trials/0/limits/0/share_over", Value::from(1.1)),
    ] {
        let mut document = json();
        *document.pointer_mut(pointer).unwrap() = wrong;
        assert!(!faults(&document).is_empty(), "{pointer}");
    }
}

#[test]
fn json_has_microseconds_and_no_quantile_without_samples() {
    let document = json();
    let phase = &document["points"][0];
    let source = point(4, false);
    let read = &source.phase.kinds[&tailmark_model::Kind::Read];
    assert_eq!(
        phase["kinds"]["read"]["service_us"]["max"],
        read.service.max() as f64 / 1000.0
    );
    assert_eq!(
        phase["kinds"]["read"]["response_us"],
        phase["kinds"]["read"]["service_us"]
    );
    assert!(phase["kinds"]["read"]["service_us"]["p99"].is_f64());
    // 5,000 samples: 50 beyond p99, 5 beyond p99.9; 15 samples: 7 beyond p50.
    assert!(phase["kinds"]["read"]["service_us"]["p99.9"].is_null());
    assert!(phase["kinds"]["read-modify-write"]["service_us"]["p50"].is_null());
    assert!(phase["kinds"]["read-modify-write"]["service_us"]["min"].is_f64());
    assert_eq!(phase["target_rate"], Value::Null);
    assert_eq!(phase["errors"], 4);
    assert_eq!(document["points"][1]["target_rate"], 1234.5);
    let rated = &document["points"][1]["kinds"]["read"];
    assert_ne!(rated["response_us"], rated["service_us"]);
    let is = |name: &str, count: f64| {
        let rate = phase[name].as_f64().unwrap();
        assert!((rate - count / 12.345_678_9).abs() < 1e-9, "{name}: {rate}");
    };
    is("ops_per_sec", 5_120.0 - 7.0);
    is("errors_per_sec", 7.0);
    assert_eq!(phase["failed_operations"], 7);
    // 7 of 5,120 are 0.14 %.
    assert_eq!(phase["valid"], false);
}

#[test]
fn json_names_what_is_a_lower_bound() {
    let document = json();
    let (closed, rated) = (&document["points"][0], &document["points"][1]);
    let response = &rated["kinds"]["read"]["response_us"];
    // p99 is the 50th highest, and 40 are above all that was done.
    let named: Vec<_> = response["at_least"].as_array().unwrap().iter().collect();
    assert_eq!(named, ["mean", "max"]);
    // 5 s, to the lower end of what the histogram tells apart.
    assert!(response["max"].as_f64().unwrap() >= 4.99e6);
    // Two reads of the other point failed.
    let closed_read = &closed["kinds"]["read"]["response_us"];
    assert_eq!(closed_read["at_least"], serde_json::json!(["mean", "max"]));
    let counts = ["drained_operations", "censored_operations"];
    assert_eq!(counts.map(|name| rated[name].as_u64()), [Some(3), Some(40)]);
    assert_eq!(rated["kinds"]["read"]["censored"], 40);
    assert_eq!(
        [&closed["arrivals"], &rated["arrivals"]],
        [&Value::Null, &"poisson".into()]
    );
    let lag = ["no_client", "woken_late"].map(|cause| &rated[format!("start_lag_{cause}_us")]);
    assert_eq!(lag.map(|lag| lag["count"].as_u64()), [Some(60), Some(40)]);
    assert!(closed["start_lag_no_client_us"].is_null());
    assert_eq!(document["resolved_rates"][0]["requested"], "60%");
}

#[test]
fn json_has_the_quality_of_service_of_runs_and_of_their_blocks() {
    let document = json();
    let qos = &document["points"][1]["qos"]["read"];
    let [service, response] = ["service", "response"].map(|time| qos[time].as_array().unwrap());
    let named: Vec<_> = response.iter().map(|q| q["quantile"].as_str()).collect();
    let names = ["p99", "p99.9", "p99.99", "p99.999", "p99.9999"].map(Some);
    assert_eq!(named, names);
    // Of 5,000 samples 50 are beyond p99: a number, but no certain one.
    let p99 = &response[0];
    assert!(p99["run_us"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (&p99["solid"], &p99["blocks"]),
        (&false.into(), &Value::Null)
    );
    for quality in [&service[2], &response[2]] {
        assert!(quality["run_us"].is_null());
        let blocks = &quality["blocks"];
        assert_eq!(
            (&blocks["count"], &blocks["solid"]),
            (&7.into(), &true.into())
        );
        let worst = &blocks["worst"];
        assert_eq!(
            (worst["us"].as_f64(), worst["start_s"].as_f64()),
            (Some(84e3), Some(3.0))
        );
        assert_eq!(blocks["best"]["us"].as_f64(), Some(8e3));
    }
}

#[test]
fn json_compares_each_system_with_those_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let [first, mut other] = [systems()[0].clone(), systems()[0].clone()];
    other.name = "other".into();
    other.settings.insert("cache_size".into(), "7 GiB".into());
    let study = Study::create(dir.path(), &header(), &[first.clone(), other]).unwrap();
    for repeat in 1..=4 {
        let mut point = point(4, false);
        point.phase.failed = 1;
        point.phase.duration_s += f64::from(repeat) * 0.01;
        point.key.repeat = repeat;
        study.add_point(&point).unwrap();
        point.key.system = "other".into();
        point.phase.duration_s *= 2.0;
        study.add_point(&point).unwrap();
    }
    let document: Value = serde_json::from_str(&exported("json", &study)).unwrap();
    assert_eq!(faults(&document), Vec::<String>::new());
    let found = document["comparisons"].as_array().unwrap();
    let comparison = |metric: &str| {
        let is_it = |c: &&Value| c["metric"] == metric && c["place"] == "point";
        found.iter().find(is_it).unwrap()
    };
    let ops = comparison("ops_per_sec");
    assert_eq!(
        (&ops["a"], &ops["b"]),
        (&first.name.into(), &"other".into())
    );
    assert!((ops["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(
        (&ops["verdict"], &ops["runs_a"]),
        (&"better".into(), &4.into())
    );
    assert!(ops["p_adjusted"].as_f64().unwrap() < 1e-6);
    // The latencies of all runs are the same to the nanosecond, which says nothing of their noise.
    assert_eq!(comparison("p99 read")["verdict"], "too few runs");
    let unequal = &document["unequal"][0];
    assert_eq!(
        (&unequal["condition"], &unequal["value_b"]),
        (&"cache_size".into(), &"7 GiB".into())
    );
}

#[test]
fn csv_marks_what_is_a_lower_bound() {
    let dir = tempfile::tempdir().unwrap();
    let text = exported("csv", &study(dir.path()));
    let rows: Vec<BTreeMap<String, String>> = csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap();
    let (closed, rated) = (&rows[0], &rows[3]);
    for name in ["mean", "max"] {
        let (number, bound) = (
            format!("response_{name}_us"),
            format!("response_{name}_is_at_least"),
        );
        assert!(rated[&number].parse::<f64>().unwrap() > 0.0);
        // Two reads of the other point failed.
        assert!(closed[&number].parse::<f64>().is_ok());
        assert_eq!((&*rated[&bound], &*closed[&bound]), ("true", "true"));
    }
    assert_eq!(closed["response_p50_is_at_least"], "false");
    assert!(rated["response_p99_us"].parse::<f64>().is_ok());
    assert_eq!(rated["response_p99_is_at_least"], "false");
    // Where there is no number there is no bound either.
    assert_eq!(rated["response_p99.999_us"], "");
    assert_eq!(rated["response_p99.999_is_at_least"], "");
    assert!(!text.contains('≥'));
    let cells = ["arrivals", "drained_operations", "censored_operations"];
    assert_eq!(
        cells.map(|name| rated[name].as_str()),
        ["poisson", "3", "40"]
    );
    assert_eq!(cells.map(|name| closed[name].as_str()), ["", "0", "0"]);
}

#[test]
fn hlog_says_what_is_in_none_of_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let log = exported("hlog", &study(dir.path()));
    let said: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("never done"))
        .collect();
    let [only] = said[..] else { panic!("{said:?}") };
    assert!(
        only.starts_with("# disk%2C%20%22fast%22/ycsb-a/uniform/t16/r1/1234.5-poisson/read: 40")
    );
}

#[test]
fn csv_has_a_row_per_point_and_kind() {
    let dir = tempfile::tempdir().unwrap();
    let text = exported("csv", &study(dir.path()));
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        table.deserialize().collect::<Result<_, _>>().unwrap();
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["system"].as_str(),
                row["threads"].as_str(),
                row["kind"].as_str(),
            )
        })
        .collect();
    let system = "disk, \"fast\"";
    let expected = ["4", "16"]
        .map(|threads| ["read", "update", "read-modify-write"].map(|kind| (system, threads, kind)));
    assert_eq!(cells, expected.as_flattened());
    assert_eq!(rows[0]["service_p99.9_us"], "");
    assert_eq!(rows[0]["target_rate"], "");
    assert_eq!(rows[3]["target_rate"], "1234.5");
    for (name, value) in [
        ("operations", "5120"),
        ("failed_operations", "7"),
        ("valid", "false"),
    ] {
        assert_eq!(rows[0][name], value);
    }
    assert_eq!(
        rows[0]["errors_per_sec"].parse::<f64>().unwrap(),
        7.0 / 12.345_678_9
    );
    assert_eq!(rows[0]["findings"], "too-few-samples client-saturated");
    let p99 = json()["points"][0]["kinds"]["read"]["service_us"]["p99"]
        .as_f64()
        .unwrap();
    assert_eq!(rows[0]["service_p99_us"].parse::<f64>().unwrap(), p99);
}

#[test]
fn a_start_that_is_not_known_is_no_date() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let mut imported = point(64, false);
    imported.phase.started_ms = None;
    study.add_point(&imported).unwrap();
    assert_eq!(study.point(&imported.key).unwrap().unwrap(), imported);
    let document: Value = serde_json::from_str(&exported("json", &study)).unwrap();
    assert_eq!(faults(&document), Vec::<String>::new());
    assert_eq!(document["points"][2]["started_at"], Value::Null);
    for format in ["json", "csv", "hlog"] {
        assert!(!exported(format, &study).contains("1970"), "{format}");
    }
    let log = exported("hlog", &study);
    let start = load().phase.started_ms.unwrap() as f64 / 1000.0;
    assert!(
        log.contains(&format!("#[StartTime: {start:.3} ")),
        "{log:.300}"
    );
}

#[test]
fn hlog_has_a_line_per_interval_kind_and_time() {
    let dir = tempfile::tempdir().unwrap();
    let log = exported("hlog", &study(dir.path()));
    assert!(log.starts_with("#[Histogram log format version 1.3]\n"));
    let mut tags: BTreeMap<String, usize> = BTreeMap::new();
    let (mut heads, mut starts) = (0, BTreeSet::new());
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::Interval(interval) => {
                starts.insert(interval.start_timestamp());
                assert_eq!(interval.duration().as_secs(), 1);
                *tags
                    .entry(interval.tag().unwrap().as_str().to_owned())
                    .or_default() += 1;
            }
            LogEntry::StartTime(time) | LogEntry::BaseTime(time) => {
                assert_eq!(
                    time.as_millis(),
                    u128::from(load().phase.started_ms.unwrap())
                );
                heads += 1;
            }
        }
    }
    assert_eq!(heads, 2);
    // The load started with the log, the points 4 and 16 minutes later, each with 12 intervals.
    let starts: Vec<u64> = starts.iter().map(|start| start.as_secs()).collect();
    let seconds = [0, 240, 960].into_iter().flat_map(|s| s..s + 12);
    assert!(starts.into_iter().eq(seconds));
    let system = "disk%2C%20%22fast%22";
    let expected = [
        (format!("{system}/load/1/read/service"), 12),
        (format!("{system}/load/1/update/service"), 12),
        (
            format!("{system}/ycsb-a/uniform/t16/r1/1234.5-poisson/read/response"),
            12,
        ),
        (
            format!("{system}/ycsb-a/uniform/t16/r1/1234.5-poisson/read/service"),
            12,
        ),
        (
            format!("{system}/ycsb-a/uniform/t16/r1/1234.5-poisson/update/response"),
            12,
        ),
        (
            format!("{system}/ycsb-a/uniform/t16/r1/1234.5-poisson/update/service"),
            12,
        ),
        (format!("{system}/ycsb-a/uniform/t4/r1/read/service"), 12),
        (format!("{system}/ycsb-a/uniform/t4/r1/update/service"), 12),
    ];
    assert_eq!(tags.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn published_figures_have_no_length_and_no_operations_in_exports() {
    let table = "system,workload,threads,ops/s,read_mean_us,read_count\nP,w,4,1000.5,90,1000000\n";
    let source = Source {
        path: "published.csv".into(),
        bytes: table.into(),
    };
    let csv = find("csv").unwrap();
    let imported = csv.import(&[source], &Given::default()).unwrap();
    let published = Point {
        phase: imported[0].phase.clone(),
        ..point(4, false)
    };
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&published).unwrap();
    study.add_point(&point(8, false)).unwrap();
    let document: Value = serde_json::from_str(&exported("json", &study)).unwrap();
    assert_eq!(faults(&document), Vec::<String>::new());
    let of_points = [0, 1].map(|at| {
        let point = &document["points"][at];
        ["duration_s", "operations", "ops_per_sec"].map(|name| point[name].as_f64())
    });
    assert_eq!(of_points[0], [None, None, Some(1000.5)]);
    assert_eq!(of_points[1][..2], [Some(12.345_678_9), Some(5_120.0)]);
    let read = &document["points"][0]["kinds"]["read"];
    assert_eq!(read["count"], 1_000_000);
    let rows = exported("csv", &study);
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    let row: BTreeMap<String, String> = reader.deserialize().next().unwrap().unwrap();
    let cells = ["duration_s", "operations", "ops_per_sec", "count"].map(|name| &row[name]);
    assert_eq!(cells, ["", "", "1000.5", "1000000"]);
}

#[test]
fn a_summary_is_exported_where_there_is_no_histogram() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let mut summary = Summary::default();
    summary.set(Summary::MEAN, 1_500.0);
    summary.set_percentile(75.0, 2_500.0);
    summary.set_percentile(99.0, 9_000.0);
    let mut imported = point(4, false);
    let result = KindResult {
        count: 1_000,
        summary: Some(summary),
        ..KindResult::default()
    };
    imported.phase.kinds = BTreeMap::from([(Kind::Read, result)]);
    study.add_point(&imported).unwrap();
    let document: Value = serde_json::from_str(&exported("json", &study)).unwrap();
    let read = &document["points"][0]["kinds"]["read"];
    assert_eq!(read["only_summary"], true);
    for time in ["service_us", "response_us"] {
        let numbers = ["mean", "p75", "p99", "p99.9"].map(|name| read[time][name].as_f64());
        assert_eq!(numbers, [Some(1.5), Some(2.5), Some(9.0), None], "{time}");
    }
    assert_eq!(faults(&document), Vec::<String>::new());
    let table = exported("csv", &study);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let at = rows
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "response_p99_us")
        .unwrap();
    let row = rows.records().next().unwrap().unwrap();
    let next = [at, at + 1, at + 2].map(|at| &row[at]);
    assert_eq!(
        next,
        ["9", "false", ""],
        "the number, whether it is a bound, and p99.9"
    );
}

#[test]
fn an_empty_study_exports_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    for format in export::FORMATS {
        assert!(!exported(format.name, &study).is_empty(), "{}", format.name);
    }
}
