//! Where the time of requests to a real RocksDB goes, where it is known: it is forced to stall, or to
//! sync its log.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};
use support::{plan, points, run, system_with};
use tailmark_driver::{
    Access, Clients, DataSet, Database, Location, Params, Schema, Semantics, Settings, db,
};
use tailmark_engine::{Anatomist, AnatomySettings, Silent, Spec, Stop, Terms};
use tailmark_model::{Anatomy, Phase, Point, PointKey};
use tailmark_plan::{AnatomyPlan, AskedRate, Plan};
use tailmark_study::{Study, export::FORMATS};
use tailmark_workload::KeySpace;
use tempfile::TempDir;

fn data() -> DataSet {
    DataSet {
        schema: Schema {
            table: "default".into(),
            fields: vec!["value".into()],
        },
        records: 20_000,
        field_length: 1_000,
    }
}

fn open(place: &Path, given: &[(&str, &str)]) -> Box<dyn Database> {
    let driver = db::find("rocksdb").unwrap();
    let raw = [("layout", "raw")];
    let given = given.iter().chain(&raw);
    let given: BTreeMap<_, _> = given
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let params = Params {
        location: Location::Directory(place.join("rocksdb")),
        data: data(),
        settings: Settings::check(driver, &given, &data(), 1.0).unwrap(),
        semantics: Semantics::default(),
        access: Access::Create,
        study: String::new(),
    };
    (driver.open)(&params).unwrap()
}

/// Some seconds of a workload of db_bench, with each request taken apart.
fn measure(
    database: &dyn Database,
    workload: &str,
    threads: u32,
    seconds: u64,
) -> (Phase, Anatomy) {
    measure_every(database, workload, threads, seconds, Some(1))
}

/// The same with one request in `every` taken apart, or none.
fn measure_every(
    database: &dyn Database,
    workload: &str,
    threads: u32,
    seconds: u64,
    every: Option<u32>,
) -> (Phase, Anatomy) {
    let workload = Arc::new(tailmark_workload::find(workload).unwrap());
    let (data, keys) = (data(), Arc::new(KeySpace::new(20_000, 20_000)));
    let key = PointKey {
        system: "a".into(),
        workload: workload.name.clone(),
        distribution: "uniform".into(),
        threads,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    let anatomist = Arc::new(Anatomist::new(AnatomySettings {
        requests: 1_000,
        every: every.unwrap_or(1),
    }));
    let spec = Spec {
        clients: Clients::Threads,
        system: "a",
        point: Some(&key),
        anatomy: every.map(|_| &anatomist),
        terms: Terms {
            threads,
            duration: Some(Duration::from_secs(seconds)),
            seed: 1,
            ..Terms::default()
        },
        ..Spec::new(database, &workload, &data, &keys)
    };
    let phase = tailmark_engine::run(&spec, &mut (), &Silent, &Stop::new()).unwrap();
    (phase, anatomist.finish())
}

/// The sum of a part over all requests, seconds.
fn sum_s(anatomy: &Anatomy, name: &str) -> f64 {
    let Some(place) = anatomy.parts.iter().position(|part| part.name == name) else {
        return 0.0;
    };
    let kinds = anatomy.kinds.values();
    let bands = kinds.flat_map(|kind| &kind.bands);
    bands.map(|band| band.ns[place] as f64).sum::<f64>() / 1e9
}

/// Each part with its sum, for failures.
fn all(anatomy: &Anatomy) -> String {
    let sum = |name: &str| format!("{name} {:.4} s", sum_s(anatomy, name));
    let parts = anatomy.parts.iter().map(|part| sum(&part.name));
    parts.collect::<Vec<_>>().join(", ")
}

/// The share of a group in the slowest band of the only kind.
fn slowest_share(anatomy: &Anatomy, group: &str) -> f64 {
    let kind = anatomy.kinds.values().next().unwrap();
    anatomy.share(kind.bands.last().unwrap(), group)
}

/// A plan of a simulated database, of two thread counts and a rate.
fn simulated(place: &Path) -> Plan {
    let model = "exponential 1ms; servers 16; device 70%; stall 3s 200ms";
    let system = system_with("a", "sim", place, &[("model", model)]);
    let mut plan = plan(vec![system], &["ycsb-a"], &[4, 16]);
    plan.sweep.rates = vec![AskedRate::Fixed(2_000.0)];
    plan.sweep.rate_threads = 64;
    plan.sweep.operations = None;
    plan.sweep.duration = Some(Duration::from_secs(20));
    plan
}

const BOTH: AnatomyPlan = AnatomyPlan {
    peaks: true,
    rates: true,
    requests: 1_000,
    every: Some(1),
};

/// The points of an exported study, without the time of day.
fn exported(out: &Path) -> serde_json::Value {
    let study = Study::open_read_only(out).unwrap();
    let mut bytes = Vec::new();
    let json = FORMATS.iter().find(|format| format.name == "json").unwrap();
    (json.write)(&study, &mut bytes).unwrap();
    let mut document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    for point in document["points"].as_array_mut().unwrap() {
        point["started_at"].take();
        // What the machine at hand was like meanwhile.
        point["findings"].take();
        point["series"].take();
    }
    document
}

fn anatomies(out: &Path) -> Vec<(Point, Anatomy)> {
    let study = Study::open_read_only(out).unwrap();
    let mut all = Vec::new();
    study
        .each_anatomy(|point, anatomy| {
            all.push((point, anatomy));
            Ok(())
        })
        .unwrap();
    all
}

#[test]
fn ordinary_points_are_the_same_with_and_without_an_anatomy() {
    let place = TempDir::new().unwrap();
    let (without, with) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut asked = simulated(place.path());
    run(&asked, without.path()).unwrap();
    asked.anatomy = Some(BOTH);
    run(&asked, with.path()).unwrap();
    let [before, after] = [&without, &with].map(|out| exported(out.path()));
    assert_eq!(before["points"], after["points"]);
    assert_eq!(before["comparisons"], after["comparisons"]);
    assert_eq!(before["anatomy"], serde_json::json!([]));
    assert_eq!(after["anatomy"].as_array().unwrap().len(), 2);
}

#[test]
fn the_peak_and_each_rate_are_taken_apart_once() {
    let (place, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut asked = simulated(place.path());
    run(&asked, out.path()).unwrap();
    assert!(anatomies(out.path()).is_empty());
    // Asked for later, only they are measured.
    asked.anatomy = Some(BOTH);
    let summary = run(&asked, out.path()).unwrap();
    assert_eq!(summary.points_measured, 0);
    let all = anatomies(out.path());
    let keys: Vec<_> = all.iter().map(|(point, _)| &point.key).collect();
    assert_eq!((keys[0].threads, keys[0].target_rate), (16, None));
    assert_eq!(keys[1].target_rate, Some(2_000.0));
    assert_eq!(keys.len(), 2);
    for (point, anatomy) in &all {
        // In virtual time it costs nothing: the same seed gives the same point.
        let kept = anatomy.kept().unwrap();
        assert!((kept - 1.0).abs() < 1e-6, "{kept}");
        for (kind, own) in &anatomy.kinds {
            assert_eq!(own.timed, point.phase.kinds[kind].count);
            let slowest = own.bands.last().unwrap();
            // At the rate, most of those that the stall holds wait in line for the first 16.
            let held = if point.key.target_rate.is_some() {
                ["waiting", "client"]
            } else {
                ["stall", "stall"]
            };
            let share = held.map(|group| anatomy.share(slowest, group));
            assert!(share[0].max(share[1]) > 0.4, "{}: {share:?}", kind.name());
        }
    }
    let ordinary = points(out.path());
    assert_eq!(ordinary.len(), 3);
    run(&asked, out.path()).unwrap();
    assert_eq!(anatomies(out.path()), all);
}

/// A database whose flushes cannot keep up with its writers.
const STALLS: [(&str, &str); 5] = [
    ("statistics", "true"),
    ("write_buffer", "64KiB"),
    ("background_jobs", "1"),
    ("background_rate", "4MB"),
    ("compression", "none"),
];

fn stalled(threads: u32) -> (f64, Anatomy) {
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let database = open(place.path(), &STALLS);
    let (_, anatomy) = measure(database.as_ref(), "fillrandom", threads, 8);
    let stalled = database.counters()["rocksdb.stall.micros"] as f64 / 1e6;
    assert!(stalled > 2.0, "it stalled for {stalled} s only");
    (stalled, anatomy)
}

#[test]
fn a_forced_stall_of_one_writer_is_what_rocksdb_counts() {
    let (expected, anatomy) = stalled(1);
    let found = sum_s(&anatomy, "stall");
    assert!(
        (found / expected - 1.0).abs() < 0.1,
        "{found} s of {expected}"
    );
    let share = slowest_share(&anatomy, "stall");
    assert!(share > 0.9, "{share}");
    assert!(slowest_share(&anatomy, "device") < 0.05);
}

#[test]
fn a_forced_stall_of_eight_writers_is_charged_to_each_that_waits() {
    let (expected, anatomy) = stalled(8);
    // While one leads a group and is stalled, the seven others wait for it.
    let found = sum_s(&anatomy, "stall") / 8.0;
    assert!(
        (found / expected - 1.0).abs() < 0.1,
        "{found} s of {expected}"
    );
    let unexplained = slowest_share(&anatomy, "unexplained");
    assert!(unexplained < 0.1, "{unexplained}");
}

#[test]
fn with_sync_the_time_is_that_of_the_log() {
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let database = open(place.path(), &[("sync", "true")]);
    let (phase, anatomy) = measure(database.as_ref(), "fillrandom", 1, 4);
    let sums = ["log-sync", "log-write", "processor"].map(|name| sum_s(&anatomy, name));
    let [sync, write, processor] = sums;
    assert!(sync > 5.0 * write, "{}", all(&anatomy));
    // All but some 20 us of each write. On a busy machine, a writer waits for a processor too.
    let found = (sync + write) / (phase.duration_s - processor);
    assert!(found > 0.9, "{found}: {}", all(&anatomy));
}

#[test]
fn reads_from_files_are_counted_by_the_kind_of_block() {
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let settings = [("block_cache", "0"), ("compression", "none")];
    let database = open(place.path(), &settings);
    measure(database.as_ref(), "fillseq", 1, 2);
    database.flush(&|| false).unwrap();
    let (phase, anatomy) = measure(database.as_ref(), "readrandom", 2, 2);
    let kind = anatomy.kinds.values().next().unwrap();
    assert_eq!(kind.timed, phase.operations);
    let found = kind.sample.iter().filter(|request| request.blocks[0] >= 1);
    assert!(
        found.count() > kind.sample.len() * 9 / 10,
        "{:?}: {}",
        kind.sample[0],
        all(&anatomy)
    );
    assert!(sum_s(&anatomy, "data-read") > 0.0 && sum_s(&anatomy, "checksum") > 0.0);
    for request in &kind.slowest {
        assert_eq!(request.ns.iter().sum::<u64>(), request.response_ns());
    }
}

/// The median of the ratios of points with and without an anatomy, which take turns.
fn kept(database: &dyn Database, threads: u32, every: u32) -> f64 {
    let ops = |one_in| {
        let (phase, _) = measure_every(database, "readrandom", threads, 1, one_in);
        phase.ops_per_sec()
    };
    let mut ratios: Vec<f64> = (0..15)
        .map(|turn| match turn % 2 {
            0 => ops(Some(every)) / ops(None),
            _ => 1.0 / (ops(None) / ops(Some(every))),
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

#[test]
#[ignore = "a measurement, for a machine with nothing else to do"]
fn an_anatomy_keeps_most_of_the_speed_of_the_point() {
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let database = open(place.path(), &[("block_cache", "512MB")]);
    measure(database.as_ref(), "fillseq", 1, 1);
    database.flush(&|| false).unwrap();
    // That of the rule, at 2 us a read.
    let in_cache = kept(database.as_ref(), 1, 50);
    drop(database);
    let settings = [("block_cache", "0"), ("direct_reads", "true")];
    let direct = open(place.path(), &settings);
    let of_device = kept(direct.as_ref(), 2, 1);
    println!("in cache {in_cache:.3}, from the device {of_device:.3}");
    assert!(
        in_cache > 0.9 && of_device > 0.97,
        "{in_cache}, {of_device}"
    );
}
