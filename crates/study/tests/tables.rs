//! The tables of a study have the numbers of its JSON document, to the digit, and all of them.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{facts, header, load, point, systems};
use serde_json::Value;
use std::{collections::BTreeMap, sync::LazyLock};
use tailmark_model::{Interval, Kind, Metric, Phase, Series};
use tailmark_study::{Study, export};

type Row = BTreeMap<String, String>;

/// Two systems with four runs of two points each, one at a rate, and a load. Each phase has a second
/// in which nothing was done, and of one system the device is known.
fn study(dir: &std::path::Path) -> Study {
    let [first, mut other] = [systems()[0].clone(), systems()[0].clone()];
    other.name = "other".into();
    let study = Study::create(dir, &header(), &[first, other]).unwrap();
    study.set_facts(&facts()).unwrap();
    let mut loaded = load();
    with_gap_and_device(&mut loaded.phase);
    study.add_load(&loaded).unwrap();
    for (repeat, (threads, rated)) in (1..=4).flat_map(|n| [(n, (4, false)), (n, (16, true))]) {
        let mut point = point(threads, rated);
        point.phase.failed = 1;
        point.phase.duration_s += f64::from(repeat) * 0.01;
        point.key.repeat = repeat;
        let without_device = point.clone();
        with_gap_and_device(&mut point.phase);
        study.add_point(&point).unwrap();
        let mut slower = without_device;
        slower.key.system = "other".into();
        slower.phase.duration_s *= 2.0;
        study.add_point(&slower).unwrap();
    }
    study
}

fn with_gap_and_device(phase: &mut Phase) {
    phase.intervals.push(Interval {
        start_s: 12.0,
        length_s: 1.0,
        operations: 0,
        failed: 0,
        kinds: BTreeMap::new(),
    });
    let read = phase.series[0].clone();
    let values = (0..read.at_s.len()).map(|i| i as f64 * 1e7 / 3.0).collect();
    phase.series[0].values = values;
    phase.series.push(Series {
        name: "write_bytes".into(),
        ..phase.series[0].clone()
    });
}

/// The study in every format; it takes a while to make.
static EXPORTS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let exported = |format: &export::Format| {
        let mut bytes = Vec::new();
        (format.write)(&study, &mut bytes).unwrap();
        (format.name, String::from_utf8(bytes).unwrap())
    };
    export::FORMATS.iter().map(exported).collect()
});

/// The study as JSON, and one of its tables.
fn document_and_table(format: &str) -> (Value, Vec<Row>) {
    let document = serde_json::from_str(&EXPORTS["json"]).unwrap();
    let rows = csv::Reader::from_reader(EXPORTS[format].as_bytes()).into_deserialize();
    (document, rows.collect::<Result<_, _>>().unwrap())
}

/// The kinds among the members of an object, in the order of tables.
fn kinds(object: &Value) -> impl Iterator<Item = &'static str> {
    let names = Kind::ALL.map(Kind::name).into_iter();
    names.filter(|name| object.get(name).is_some())
}

/// Whether a cell says what a member of the document does.
fn agree(cell: &str, member: &Value) -> bool {
    match member {
        Value::Null => cell.is_empty(),
        Value::String(text) => cell == text,
        Value::Number(number) if number.is_f64() => cell.parse().ok() == number.as_f64(),
        // A count, or whether something is so.
        other => serde_json::from_str::<Value>(cell).ok().as_ref() == Some(other),
    }
}

fn assert_agree(row: &Row, column: &str, member: &Value) {
    let cell = &row[column];
    assert!(agree(cell, member), "{column}: {cell} is not {member}");
}

/// Compares the columns of service and response time, and takes them out.
fn take_latencies(row: &mut Row, kind: &Value) {
    for time in ["service", "response"] {
        let latency = &kind[format!("{time}_us")];
        let at_least = latency["at_least"].as_array().cloned().unwrap_or_default();
        for (name, value) in latency.as_object().unwrap() {
            let Some(cell) = row.remove(&format!("{time}_{name}_us")) else {
                assert_eq!(name, "at_least");
                continue;
            };
            assert!(agree(&cell, value), "{time} {name}: {cell}, {value}");
            let bound = row.remove(&format!("{time}_{name}_is_at_least"));
            let is_bound = if cell.is_empty() {
                String::new()
            } else {
                at_least.contains(&name.as_str().into()).to_string()
            };
            assert_eq!(bound, Some(is_bound), "{time} {name}");
        }
    }
}

/// The members of a phase that have columns of their own, and then all of a kind.
fn take_phase(mut row: Row, phase: &Value) {
    let kind = &phase["kinds"][&row["kind"]];
    take_latencies(&mut row, kind);
    let codes = phase["findings"].as_array().unwrap().iter();
    let codes: Vec<_> = codes
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(row.remove("findings"), Some(codes.join(" ")));
    assert_eq!(row.remove("driver").as_deref(), Some("rocksdb"));
    for part in ["bandwidth", "derived"] {
        let members = phase[part].as_object().unwrap().iter();
        // Each device by itself is in the series.
        for (name, value) in members.filter(|(name, _)| *name != "devices") {
            assert_agree(&row, name, value);
            row.remove(name);
        }
    }
    let ends = Metric::figures().filter(|metric| metric.may_have_ends());
    for name in ends.map(|metric| metric.row().name) {
        for end in ["at_least", "at_most"] {
            let column = format!("{name}_{end}");
            assert_agree(&row, &column, &phase["derived_bounds"][name][end]);
            row.remove(&column);
        }
    }
    for name in ["count", "not_found", "errors", "bytes"] {
        assert_agree(&row, name, &kind[name]);
        row.remove(name);
    }
    row.remove("kind");
    for name in row.keys() {
        assert_agree(&row, name, &phase[name]);
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// What identifies a point, besides its system.
const POINT: [&str; 6] = [
    "workload",
    "distribution",
    "threads",
    "repeat",
    "target_rate",
    "arrivals",
];

/// Every load and point of the document, with what begins its rows.
fn phases(document: &Value) -> Vec<(Value, &Value)> {
    let place = |object: &Value, load: Value, point: [Value; 6]| {
        let own = [("system", object["system"].clone()), ("load", load)];
        let members = own.into_iter().chain(POINT.into_iter().zip(point));
        members
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    };
    let loads = (1..).zip(array(&document["loads"]));
    let loads = loads.map(|(n, load)| (place(load, n.into(), POINT.map(|_| Value::Null)), load));
    let points = array(&document["points"]).iter().map(|point| {
        let own = POINT.map(|name| point[name].clone());
        (place(point, Value::Null, own), point)
    });
    loads.chain(points).collect()
}

/// Compares the cells that say of which load or point a row is, and takes them out.
fn take_place(row: &mut Row, place: &Value) {
    for (name, value) in place.as_object().unwrap() {
        assert_agree(row, name, value);
        row.remove(name);
    }
}

#[test]
fn the_table_of_points_has_the_numbers_of_the_document() {
    let (document, rows) = document_and_table("csv");
    let points = array(&document["points"]);
    assert_eq!(points.len(), 16);
    let mut rows = rows.into_iter();
    for point in points {
        for kind in kinds(&point["kinds"]) {
            let row = rows.next().unwrap();
            assert_eq!(row["kind"], kind);
            take_phase(row, point);
        }
    }
    assert_eq!(rows.next(), None);
    let device = |point: &Value| point["bandwidth"]["device_read_mb_per_sec"].as_f64();
    assert!(device(&points[0]).unwrap() > 1.0);
    assert_eq!(device(&points[1]), None);
}

#[test]
fn the_table_of_loads_has_the_numbers_of_the_document() {
    let (document, rows) = document_and_table("csv-loads");
    let loaded = &document["loads"][0];
    assert_eq!(rows.len(), loaded["kinds"].as_object().unwrap().len());
    for mut row in rows {
        assert_eq!(row.remove("load").as_deref(), Some("1"));
        take_phase(row, loaded);
    }
}

#[test]
fn the_table_of_intervals_has_the_numbers_of_the_document_and_rows_of_what_did_nothing() {
    let (document, rows) = document_and_table("csv-intervals");
    let (mut rows, mut idle) = (rows.into_iter(), 0);
    for (place, phase) in phases(&document) {
        for interval in array(&phase["intervals"]) {
            for kind in ["read", "update"] {
                let mut row = rows.next().unwrap();
                take_place(&mut row, &place);
                assert_eq!(row.remove("kind").as_deref(), Some(kind));
                match interval["kinds"].get(kind) {
                    Some(measured) => {
                        take_latencies(&mut row, measured);
                        for name in ["count", "errors"] {
                            assert_agree(&row, name, &measured[name]);
                        }
                    }
                    None => {
                        idle += 1;
                        assert_eq!([&*row["count"], &*row["errors"]], ["0", "0"]);
                        row.retain(|name, cell| {
                            let is_latency = ["_us", "_is_at_least"];
                            let is_latency = is_latency.iter().any(|end| name.ends_with(end));
                            !is_latency || !cell.is_empty()
                        });
                    }
                }
                row.retain(|name, _| name != "count" && name != "errors");
                for name in row.keys() {
                    assert_agree(&row, name, &interval[name]);
                }
            }
        }
    }
    assert_eq!(rows.next(), None);
    assert!(idle > 17, "{idle}");
}

#[test]
fn the_table_of_qos_has_the_numbers_of_the_document() {
    let (document, rows) = document_and_table("csv-qos");
    let mut rows = rows.into_iter();
    for (place, phase) in phases(&document) {
        for kind in kinds(&phase["qos"]) {
            for time in ["service", "response"] {
                for quality in array(&phase["qos"][kind][time]) {
                    let mut row = rows.next().unwrap();
                    take_place(&mut row, &place);
                    assert_eq!([&*row["kind"], &*row["time"]], [kind, time]);
                    let is_bound = if row["run_us"].is_empty() {
                        String::new()
                    } else {
                        quality["run_is_at_least"].to_string()
                    };
                    assert_eq!(row["run_is_at_least"], is_bound);
                    assert_agree(&row, "run_us", &quality["run_us"]);
                    for name in ["quantile", "solid"] {
                        assert_agree(&row, name, &quality[name]);
                    }
                    let blocks = &quality["blocks"];
                    assert_agree(&row, "blocks", &blocks["count"]);
                    assert_agree(&row, "samples_min", &blocks["samples_min"]);
                    assert_agree(&row, "blocks_solid", &blocks["solid"]);
                    for block in ["worst", "median", "best"] {
                        for member in ["us", "start_s"] {
                            let name = format!("{block}_{member}");
                            assert_agree(&row, &name, &blocks[block][member]);
                        }
                    }
                }
            }
        }
    }
    assert_eq!(rows.next(), None);
}

#[test]
fn the_table_of_series_has_the_samples_of_the_document() {
    let (document, rows) = document_and_table("csv-series");
    let mut rows = rows.into_iter();
    for (place, phase) in phases(&document) {
        for series in array(&phase["series"]) {
            for (at_s, value) in array(&series["at_s"]).iter().zip(array(&series["values"])) {
                let mut row = rows.next().unwrap();
                take_place(&mut row, &place);
                for name in ["probe", "subject", "name", "kind"] {
                    assert_agree(&row, name, &series[name]);
                }
                assert_agree(&row, "at_s", at_s);
                assert_agree(&row, "value", value);
            }
        }
    }
    assert_eq!(rows.next(), None);
}

#[test]
fn the_table_of_comparisons_has_the_members_of_the_document() {
    let (document, rows) = document_and_table("csv-comparisons");
    let comparisons = array(&document["comparisons"]);
    assert_eq!(rows.len(), comparisons.len());
    assert!(rows.iter().any(|row| row["verdict"] == "better"));
    for (row, comparison) in rows.iter().zip(comparisons) {
        let members = comparison.as_object().unwrap();
        assert!(members.keys().all(|name| row.contains_key(name)));
        for name in row.keys() {
            assert_agree(row, name, &members[name]);
        }
    }
}
