//! The data set and its marker, whenever a run ends: what is loaded, what the study says of it, and
//! that nothing of one study is taken for another's.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

#[path = "dataset/adopted.rs"]
mod adopted;
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
use tailmark_driver::{Access, Database, Driver, Params, Session, db};
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::{Finding, Kind, Load};
use tailmark_plan::{Adopt, Consent, Plan};
use tailmark_prepare::Uses;
use tailmark_runner::{Error, PreparationError};
use tailmark_study::Study;
use tailmark_testing::{LoopDevice, test};
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
    let arm = At("flushing what was loaded", || {
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
    run_up_to(&bench.plan, bench.out.path(), "flushing what was loaded");
    bench.loaded_until(RECORDS - 1);
    let load = bench.load_after();
    assert_eq!(load.records, 1);
    assert!(resumed(&load).is_some());
}

#[test]
fn a_marker_of_everything_that_is_not_complete_leaves_a_load_that_has_a_rate() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing what was loaded");
    bench.loaded_until(RECORDS);
    let load = bench.load_after();
    assert!(load.records == 1 && load.phase.ops_per_sec() > 0.0);
}

#[test]
fn a_load_that_begins_again_from_nothing_is_whole() {
    let bench = Bench::new("ycsb-c");
    run_up_to(&bench.plan, bench.out.path(), "flushing what was loaded");
    // Nothing was marked yet: what is in the file is of no use.
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
    bench.plan.sweep.reload = tailmark_plan::Reload::Point;
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
    assert!(error.contains("is of version 8"), "{error}");
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
        missing.contains("record 1999 ") && missing.contains("it is not there"),
        "{missing}"
    );
    assert!(fs::read(&file).unwrap() == bytes, "it was written");
}

#[test]
fn a_device_without_a_stamp_is_not_loaded_over_where_data_is_to_be_adopted() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (mut plan, out) = on_device(&device);
    plan.dataset.adopt = Adopt::Read;
    let error = run(&plan, out.path()).unwrap_err();
    assert!(
        matches!(error, Error::NotAdopted { number: 0, .. }),
        "{error:?}"
    );
    let written = fs::read(dir.path().join("disk")).unwrap();
    assert!(written.iter().all(|byte| *byte == 0));
}

/// A plan of two points on a device, and a run directory.
fn on_device(device: &LoopDevice) -> (Plan, TempDir) {
    let mut plan = plan(
        vec![system("a", "file", device.path())],
        &["ycsb-c"],
        &[1, 2],
    );
    plan.consent = agreed(device);
    (plan, tempfile::tempdir().unwrap())
}

/// Agrees that a device is overwritten: its serial number is the path of its file.
fn agreed(device: &LoopDevice) -> Consent {
    let file = format!("/sys/block/{}/loop/backing_file", device.name());
    let unseen = Uses::look().unseen().to_vec();
    Consent {
        serials: vec![fs::read_to_string(file).unwrap().trim().to_owned()],
        unseen: unseen.iter().map(|u| u.name.clone()).collect(),
        destroys: Vec::new(),
    }
}

/// Stops a run when its second point begins.
#[derive(Default)]
struct OnePoint(Stop);

impl Observer for OnePoint {
    fn phase_started(&self, phase: &PhaseStart<'_>) {
        if phase.point.is_some_and(|point| point.threads == 2) {
            self.0.request();
        }
    }
}

fn assert_all_found(out: &Path) {
    for point in points(out) {
        let read = &point.phase.kinds[&Kind::Read];
        assert_eq!((read.count, read.not_found, read.errors), (500, 0, 0));
    }
}

#[test]
fn a_device_that_another_study_has_loaded_meanwhile_is_loaded_again() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (ours, out) = on_device(&device);
    let observer = OnePoint::default();
    tailmark_runner::run(&ours, out.path(), &observer, &observer.0).unwrap();
    assert_eq!(points(out.path()).len(), 1);

    let (mut theirs, their_out) = on_device(&device);
    theirs.systems[0].data.field_length = 1000;
    run(&theirs, their_out.path()).unwrap();
    assert_all_found(their_out.path());

    run(&ours, out.path()).unwrap();
    assert_eq!(points(out.path()).len(), 2);
    assert_all_found(out.path());
    let records: Vec<_> = loads(out.path()).iter().map(|load| load.records).collect();
    assert_eq!(
        records,
        [RECORDS, RECORDS],
        "each with the point it was for"
    );
}

#[test]
fn a_device_that_another_study_of_the_same_data_has_loaded_is_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (plan, first) = on_device(&device);
    let second = tempfile::tempdir().unwrap();
    run(&plan, first.path()).unwrap();
    run(&plan, second.path()).unwrap();
    assert_eq!(
        (loads(first.path()).len(), loads(second.path()).len()),
        (1, 0)
    );
    assert_all_found(second.path());
}

#[test]
fn a_device_that_something_else_was_made_of_is_loaded_again_with_consent_alone() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (mut plan, first) = on_device(&device);
    run(&plan, first.path()).unwrap();
    device.make_ext4();
    let before = fs::read(device.path()).unwrap();
    let second = tempfile::tempdir().unwrap();
    let error = run(&plan, second.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Preparation(PreparationError::Overwrites { .. })
        ),
        "{error:?}"
    );
    let said = std::error::Error::source(&error).unwrap().to_string();
    assert!(fs::read(device.path()).unwrap() == before, "it was written");
    let signature = said.split("--overwrite-signature ").nth(1).unwrap();
    let signature = signature.split(' ').next().unwrap();
    plan.consent.destroys = vec![signature.to_owned()];
    run(&plan, second.path()).unwrap();
    assert_eq!(loads(second.path()).len(), 1);
    assert_all_found(second.path());
}

#[test]
fn a_load_of_a_device_goes_on_from_its_stamp() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (plan, first) = on_device(&device);
    run(&plan, first.path()).unwrap();
    let system = &plan.systems[0];
    let database = (system.driver.open)(&Params {
        location: system.location.clone(),
        data: system.data.clone(),
        settings: system.settings.clone(),
        semantics: system.semantics,
        access: Access::Write,
        study: String::new(),
    });
    let database = database.unwrap();
    let text = database.marker().unwrap().unwrap();
    database.set_marker(&started(&text, 700)).unwrap();
    drop(database);
    let second = tempfile::tempdir().unwrap();
    run(&plan, second.path()).unwrap();
    let load = &loads(second.path())[0];
    assert_eq!(load.records, RECORDS - 700);
    assert!(resumed(load).is_some());
    assert_all_found(second.path());
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
    run_up_to(&bench.plan, bench.out.path(), "flushing what was loaded");
    bench.loaded_until(0);
    let bytes = of_others(&bench);
    let error = run(&bench.plan, bench.out.path()).unwrap_err();
    assert!(matches!(error, Error::ForeignData { .. }), "{error:?}");
    bench.plan.dataset.adopt = Adopt::Read;
    run(&bench.plan, bench.out.path()).unwrap();
    assert!(fs::read(bench.place.path().join("slots.dat")).unwrap() == bytes);
}

#[test]
fn a_run_with_nothing_to_measure_or_that_is_refused_leaves_the_device_to_another_study() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    let (ours, out) = on_device(&device);
    run(&ours, out.path()).unwrap();
    let (mut theirs, their_out) = on_device(&device);
    theirs.systems[0].data.field_length = 1000;
    run(&theirs, their_out.path()).unwrap();
    let image = || fs::read(dir.path().join("disk")).unwrap();
    let before = image();

    let summary = run(&ours, out.path()).unwrap();
    assert_eq!((summary.points_measured, summary.points_kept), (0, 2));
    assert!(image() == before, "a run with nothing to measure wrote");

    let mut refused = ours;
    let lost = dir.path().join("not").join("there");
    refused.systems.push(system("b", "file", &lost));
    let error = run(&refused, tempfile::tempdir().unwrap().path()).unwrap_err();
    assert!(matches!(error, Error::MissingPlace { .. }), "{error:?}");
    assert!(image() == before, "a run that was refused wrote");
}

#[test]
fn a_scan_beyond_the_records_of_a_device_finds_no_remains_of_its_past() {
    let dir = tempfile::tempdir().unwrap();
    let device = LoopDevice::new(&dir.path().join("disk"), 16 << 20);
    fs::write(device.path(), vec![0xa5; 16 << 20]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut plan = plan(vec![system("a", "file", device.path())], &["ycsb-e"], &[1]);
    plan.consent = agreed(&device);
    run(&plan, out.path()).unwrap();
    let scan = &points(out.path())[0].phase.kinds[&Kind::Scan];
    assert!(scan.count > 400 && scan.errors == 0, "{}", scan.errors);
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

#[test]
fn a_device_of_another_study_that_takes_the_place_between_two_points_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let [device, other] =
        ["disk", "other"].map(|name| LoopDevice::new(&dir.path().join(name), 16 << 20));
    let (theirs, their_out) = on_device(&other);
    run(&theirs, their_out.path()).unwrap();
    let before = fs::read(other.path()).unwrap();
    let (ours, out) = on_device(&device);
    let openings = AtomicU32::new(0);
    let swap = At("opening the database", || {
        if openings.fetch_add(1, Relaxed) == 1 {
            fs::write(device.path(), &before).unwrap();
        }
    });
    let ended = tailmark_runner::run(&ours, out.path(), &swap, &Stop::new());
    let Err(Error::Midway(error)) = ended else {
        panic!("{ended:?}");
    };
    assert!(matches!(*error, Error::ForeignData { .. }), "{error:?}");
    assert!(fs::read(device.path()).unwrap() == before, "it was written");
    assert_eq!(points(out.path()).len(), 1);
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
    run_up_to(&bench.plan, bench.out.path(), "flushing what was loaded");
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
