//! The data set and its marker, whenever a run ends: what is loaded, what the study says of it, and
//! that nothing of one study is taken for another's.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

#[path = "dataset/adopted.rs"]
mod adopted;
#[path = "dataset/devices.rs"]
mod devices;
#[path = "dataset/failing.rs"]
mod failing;
mod support;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use support::{RECORDS, loads, plan, points, run, system};
use tailmark_driver::{Database, Driver, Session, db};
use tailmark_engine::{Observer, Stop};
use tailmark_model::{Finding, Kind, Load};
use tailmark_plan::{Adopt, Plan};
use tailmark_runner::Error;
use tailmark_study::Study;
use tailmark_testing::test;
use tempfile::TempDir;

/// Does something at a step, as whatever ends a run there would.
struct At<F: Fn() + Send + Sync>(&'static str, F);

impl<F: Fn() + Send + Sync> Observer for At<F> {
    fn step(&self, text: &str) {
        if text.contains(self.0) {
            (self.1)();
        }
    }
}

/// Runs until a step, and no further: what is not on the disk then is lost.
fn run_up_to(plan: &Plan, out: &Path, step: &'static str) {
    // Without the message of a panic.
    let observer = At(step, || resume_unwind(Box::new("the run ends here")));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        tailmark_runner::run(plan, out, &observer, &Stop::new())
    }));
    assert!(ended.is_err(), "it came to its end: {ended:?}");
}

/// The same marker, of a load that ended after this many records.
fn started(marker: &str, records: u64) -> String {
    let mut marker: serde_json::Value = serde_json::from_str(marker).unwrap();
    marker["loaded"] = records.into();
    marker["complete"] = false.into();
    marker.to_string()
}

/// A system of the `file` driver, its run directory, and its marker.
struct Bench {
    place: TempDir,
    out: TempDir,
    plan: Plan,
}

impl Bench {
    fn new(workload: &str) -> Self {
        let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let plan = plan(vec![system("a", "file", place.path())], &[workload], &[2]);
        Self { place, out, plan }
    }

    fn marker(&self) -> PathBuf {
        self.place.path().join("slots.dat.dataset.json")
    }

    /// Makes the marker say that the load ended after this many records.
    fn loaded_until(&self, records: u64) {
        let text = fs::read_to_string(self.marker()).unwrap();
        fs::write(self.marker(), started(&text, records)).unwrap();
    }

    /// Runs to the end; the only load that the study then has.
    fn load_after(&self) -> Load {
        run(&self.plan, self.out.path()).unwrap();
        let read = &points(self.out.path())[0].phase.kinds[&Kind::Read];
        assert_eq!((read.count, read.not_found, read.errors), (500, 0, 0));
        let mut loads = loads(self.out.path());
        assert_eq!(loads.len(), 1);
        loads.remove(0)
    }
}

fn resumed(load: &Load) -> Option<String> {
    let findings = &mut load.phase.findings.iter();
    let found = findings.find(|finding| finding.code == "load-resumed");
    found.map(Finding::text)
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn a_run_that_ends_when_all_is_loaded_keeps_its_load() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "background work to settle");
    let load = bench.load_after();
    assert_eq!((load.records, resumed(&load)), (RECORDS, None));
}

thread_local! {
    /// A marker, and where it is moved when the database that was loaded tells its facts.
    static BLOCKED: RefCell<Option<(PathBuf, PathBuf)>> = const { RefCell::new(None) };
}

/// The driver `file`, of which the marker cannot be written any more once it told its facts.
struct Blocking(Box<dyn Database>);

impl Database for Blocking {
    fn session(&self) -> Result<Box<dyn Session>, tailmark_driver::Error> {
        self.0.session()
    }
    fn facts(&self) -> BTreeMap<String, String> {
        if let Some((marker, aside)) = BLOCKED.take() {
            fs::rename(&marker, &aside).unwrap();
            fs::create_dir(&marker).unwrap();
        }
        self.0.facts()
    }
}

/// Ends a run when its load is in the study, and its marker does not say so yet.
fn end_before_the_marker(bench: &mut Bench) {
    let (marker, aside) = (bench.marker(), bench.out.path().join("marker"));
    let arm = At("flushing the loaded data", || {
        BLOCKED.set(Some((marker.clone(), aside.clone())));
    });
    let file = bench.plan.systems[0].driver;
    bench.plan.systems[0].driver = Box::leak(Box::new(Driver {
        open: |params| Ok(Box::new(Blocking((db::find("file")?.open)(params)?))),
        ..*file
    }));
    let error = tailmark_runner::run(&bench.plan, bench.out.path(), &arm, &Stop::new());
    bench.plan.systems[0].driver = file;
    let Err(Error::Midway(error)) = error else {
        panic!("{error:?}");
    };
    assert!(matches!(*error, Error::Io { .. }), "{error:?}");
    assert_eq!(loads(bench.out.path())[0].records, RECORDS);
    fs::remove_dir(&marker).unwrap();
    fs::rename(&aside, &marker).unwrap();
}

#[test]
fn a_run_that_ends_between_a_load_and_its_marker_loads_the_rest_and_counts_it_once() {
    let mut bench = Bench::new("ycsb-c");
    end_before_the_marker(&mut bench);
    bench.loaded_until(700);
    let load = bench.load_after();
    assert_eq!(load.records, RECORDS - 700);
    let text = resumed(&load).unwrap();
    assert!(text.contains("the last 1,300 of 2,000 records"), "{text}");
}

#[test]
fn a_load_in_the_study_of_which_nothing_was_marked_is_loaded_again_and_counted_once() {
    let mut bench = Bench::new("ycsb-c");
    end_before_the_marker(&mut bench);
    let load = bench.load_after();
    assert_eq!((load.records, resumed(&load)), (RECORDS, None));
}

#[test]
fn a_load_that_was_interrupted_says_so() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    bench.loaded_until(RECORDS - 1);
    let load = bench.load_after();
    assert_eq!(load.records, 1);
    assert!(resumed(&load).is_some());
}

#[test]
fn a_marker_of_everything_that_is_not_complete_leaves_a_load_that_has_a_rate() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    bench.loaded_until(RECORDS);
    let load = bench.load_after();
    assert!(load.records == 1 && load.phase.ops_per_sec() > 0.0);
}

#[test]
fn a_load_that_begins_again_from_nothing_is_whole() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    // Nothing was marked yet, so the content of the file is useless.
    bench.loaded_until(0);
    let file = bench.place.path().join("slots.dat");
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(2 << 20).unwrap();
    let load = bench.load_after();
    assert_eq!((load.records, resumed(&load)), (RECORDS, None));
}

#[test]
fn a_load_that_points_came_after_is_kept() {
    let mut bench = Bench::new("ycsb-c");
    bench.plan.sweep.threads = vec![1, 2];
    bench.plan.dataset.restore.how = tailmark_plan::Restore::Reload;
    run(&bench.plan, bench.out.path()).unwrap();
    assert_eq!(loads(bench.out.path()).len(), 2);
}

#[test]
fn data_that_was_taken_away_beside_its_marker_is_loaded_again() {
    let bench = Bench::new("ycsb-c");
    bench.load_after();
    fs::remove_file(bench.place.path().join("slots.dat")).unwrap();
    let out = tempfile::tempdir().unwrap();
    run(&bench.plan, out.path()).unwrap();
    assert_eq!(loads(out.path())[0].records, RECORDS);
    let read = &points(out.path())[0].phase.kinds[&Kind::Read];
    assert_eq!((read.count, read.not_found), (500, 0));
}

#[test]
fn a_marker_of_a_later_version_is_refused_by_number() {
    let bench = Bench::new("ycsb-c");
    bench.load_after();
    let text = fs::read_to_string(bench.marker()).unwrap();
    let later = text.replace("\"version\": 1", "\"version\": 8");
    fs::write(bench.marker(), &later).unwrap();
    let out = tempfile::tempdir().unwrap();
    let error = run(&bench.plan, out.path()).unwrap_err().to_string();
    assert!(error.contains("has version 8"), "{error}");
    assert_eq!(fs::read_to_string(bench.marker()).unwrap(), later);
}

#[test]
fn a_file_of_others_is_adopted_only_where_its_records_are_the_plans() {
    let mut bench = Bench::new("ycsb-c");
    bench.load_after();
    fs::remove_file(bench.marker()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let error = run(&bench.plan, out.path()).unwrap_err().to_string();
    assert!(error.contains("--adopt"), "{error}");

    bench.plan.dataset.adopt = Adopt::Read;
    run(&bench.plan, out.path()).unwrap();
    assert!(loads(out.path()).is_empty() && !bench.marker().exists());
    let findings = &points(out.path())[0].phase.findings;
    assert!(
        findings
            .iter()
            .any(|finding| finding.code == "data-adopted")
    );

    let file = bench.place.path().join("slots.dat");
    let mut bytes = fs::read(&file).unwrap();
    let stamp = 1 << 20;
    let last = stamp + (bytes.len() - stamp) / 2200 * 1999;
    bytes[last..last + 8].fill(0);
    fs::write(&file, &bytes).unwrap();
    let second = tempfile::tempdir().unwrap();
    let missing = run(&bench.plan, second.path()).unwrap_err().to_string();
    assert!(
        missing.contains("record 1999 ") && missing.contains("it does not exist"),
        "{missing}"
    );
    assert!(fs::read(&file).unwrap() == bytes, "it was written");
}

/// Ends a run when all is checked and nothing loaded.
struct BeforeLoad;

impl Observer for BeforeLoad {
    fn sweep_started(&self, _: usize, _: usize) {
        panic!("the run ends here");
    }
}

/// What somebody puts into the place of a data set: a whole database, without a marker.
fn of_others(bench: &Bench) -> Vec<u8> {
    let theirs = Bench::new("ycsb-c");
    theirs.load_after();
    let bytes = fs::read(theirs.place.path().join("slots.dat")).unwrap();
    fs::write(bench.place.path().join("slots.dat"), &bytes).unwrap();
    bytes
}

#[test]
fn a_run_that_ends_before_its_load_does_not_take_what_others_load_then_for_its_own() {
    let mut bench = Bench::new("ycsb-c");
    let ended = catch_unwind(AssertUnwindSafe(|| {
        tailmark_runner::run(&bench.plan, bench.out.path(), &BeforeLoad, &Stop::new())
    }));
    assert!(ended.is_err(), "it came to its end: {ended:?}");
    let left: Vec<_> = fs::read_dir(bench.place.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");

    let bytes = of_others(&bench);
    let error = run(&bench.plan, bench.out.path()).unwrap_err();
    assert!(matches!(error, Error::ForeignData { .. }), "{error:?}");
    bench.plan.dataset.adopt = Adopt::Read;
    run(&bench.plan, bench.out.path()).unwrap();
    assert!(loads(bench.out.path()).is_empty());
    assert!(fs::read(bench.place.path().join("slots.dat")).unwrap() == bytes);
}

#[test]
fn what_others_put_beside_a_marker_of_nothing_is_theirs_and_may_be_adopted() {
    let mut bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    bench.loaded_until(0);
    let bytes = of_others(&bench);
    let error = run(&bench.plan, bench.out.path()).unwrap_err();
    assert!(matches!(error, Error::ForeignData { .. }), "{error:?}");
    bench.plan.dataset.adopt = Adopt::Read;
    run(&bench.plan, bench.out.path()).unwrap();
    assert!(fs::read(bench.place.path().join("slots.dat")).unwrap() == bytes);
}

#[test]
fn data_that_takes_the_place_between_two_points_is_neither_opened_nor_changed() {
    let drivers = [("file", "slots.dat"), ("rocksdb", "rocksdb")];
    // With the marker of the study that loaded it, or without one.
    for ((driver, entry), is_marked) in drivers.into_iter().flat_map(|it| [(it, false), (it, true)])
    {
        let places = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| {
            let place = places.path().join(name);
            fs::create_dir(&place).unwrap();
            (
                plan(vec![system("a", driver, &place)], &["ycsb-a"], &[1, 2]),
                place,
            )
        });
        let out = tempfile::tempdir().unwrap();
        run(&theirs.0, &out.path().join("theirs")).unwrap();
        let before = contents(&theirs.1.join(entry));
        let openings = AtomicU32::new(0);
        let swap = At("opening the database", || {
            if openings.fetch_add(1, Relaxed) == 1 {
                fs::rename(&ours.1, places.path().join("moved")).unwrap();
                if is_marked {
                    fs::rename(&theirs.1, &ours.1).unwrap();
                    return;
                }
                fs::create_dir(&ours.1).unwrap();
                fs::rename(theirs.1.join(entry), ours.1.join(entry)).unwrap();
            }
        });
        let own = out.path().join("ours");
        let ended = tailmark_runner::run(&ours.0, &own, &swap, &Stop::new());
        let Err(Error::Midway(error)) = ended else {
            panic!("{driver}: {ended:?}");
        };
        assert!(
            matches!(*error, Error::ForeignData { .. }),
            "{driver}: {error:?}"
        );
        assert!(
            contents(&ours.1.join(entry)) == before,
            "{driver}: it changed"
        );
        assert_eq!(points(&own).len(), 1);
    }
}

/// Every file at or below a path, and what is in it.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all: Vec<_> = if path.is_dir() {
        let entries = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries.flat_map(|entry| contents(&entry)).collect()
    } else {
        vec![(path.file_name().unwrap().into(), fs::read(path).unwrap())]
    };
    all.sort();
    all
}

#[test]
fn a_load_began_when_it_began_and_not_when_an_earlier_one_of_nothing_did() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing the loaded data");
    let text = fs::read_to_string(bench.marker()).unwrap();
    let mut marker: serde_json::Value = serde_json::from_str(&text).unwrap();
    marker["loaded"] = 0.into();
    marker["started"] = "2001-01-01T00:00:00.000Z".into();
    fs::write(bench.marker(), marker.to_string()).unwrap();
    bench.load_after();
    let facts = Study::open_read_only(bench.out.path()).unwrap().facts();
    let began = facts.unwrap().into_iter().find(|f| f.name == "load began");
    assert!(!began.unwrap().value.starts_with("2001"));
}

#[test]
fn a_study_that_finds_its_data_loaded_says_when_that_was() {
    let bench = Bench::new("ycsb-c");
    let load = bench.load_after();
    let facts = |out: &Path| Study::open_read_only(out).unwrap().facts().unwrap();
    let value = |out: &Path, name: &str| {
        let mut all = facts(out).into_iter();
        all.find(|fact| fact.name == name).map(|fact| fact.value)
    };
    let began = value(bench.out.path(), "load began");
    assert!(began.is_some() && load.records == RECORDS);
    assert_eq!(value(bench.out.path(), "loaded earlier"), None);
    let later = tempfile::tempdir().unwrap();
    run(&bench.plan, later.path()).unwrap();
    assert!(loads(later.path()).is_empty());
    assert_eq!(value(later.path(), "loaded earlier"), began);
}
