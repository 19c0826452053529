//! Data sets on devices: whose they are, by their stamp.

use crate::{
    At, resumed, started,
    support::{RECORDS, loads, plan, points, run, system},
};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use tailmark_driver::{Access, Params};
use tailmark_engine::{Observer, PhaseStart, Stop};
use tailmark_model::Kind;
use tailmark_plan::{Adopt, Consent, Plan};
use tailmark_prepare::Uses;
use tailmark_runner::{Error, PreparationError};
use tailmark_testing::{LoopDevice, test};
use tempfile::TempDir;

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
