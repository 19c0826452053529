//! Points whose requests were taken apart, in the study file.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod common;

use common::{header, point, systems};
use rusqlite::Connection;
use tailmark_model::{
    Anatomy, AnatomyKind, AnatomyPart, Kind,
    anatomy::{Band, Request},
};
use tailmark_study::Study;
use tempfile::TempDir;

fn anatomy() -> Anatomy {
    let part = |name: &str, group: &str| AnatomyPart {
        name: name.into(),
        group: group.into(),
        ..AnatomyPart::default()
    };
    let request = Request {
        due: 1_000,
        sent: 2_000,
        done: 9_000,
        client: 3,
        key: u64::MAX,
        ns: vec![7_000, 1_000],
        ..Request::default()
    };
    let band = Band {
        above: 0.0,
        up_to: 1.0,
        requests: 100,
        ns: vec![900_000, 100_000],
    };
    let reads = AnatomyKind {
        timed: 100,
        lost: 0,
        bands: vec![band],
        slowest: vec![request.clone()],
        sample: vec![request],
    };
    Anatomy {
        parts: vec![part("data-read", "device"), part("rest", "rest")],
        every: 1,
        ops_per_sec: 1e5,
        ordinary_ops_per_sec: Some(1.01e5),
        kinds: [(Kind::Read, reads)].into(),
    }
}

#[test]
fn what_was_taken_apart_is_read_back_and_is_no_point() {
    let dir = TempDir::new().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&point(4, false)).unwrap();
    study.add_anatomy(&point(4, false), &anatomy()).unwrap();
    // Added again, it replaces itself.
    study.add_anatomy(&point(4, false), &anatomy()).unwrap();
    assert_eq!(study.point_keys().unwrap().len(), 1);
    let keys = study.anatomy_keys().unwrap();
    assert_eq!(keys, [point(4, false).key]);
    let (_, found) = study.anatomy(&keys[0]).unwrap().unwrap();
    assert_eq!(found, anatomy());
    assert_eq!(
        found.share(&found.kinds[&Kind::Read].bands[0], "device"),
        0.9
    );
}

#[test]
fn a_study_gets_the_table_when_it_is_needed() {
    let dir = TempDir::new().unwrap();
    drop(Study::create(dir.path(), &header(), &systems()).unwrap());
    let file = dir.path().join(Study::FILE);
    let raw = Connection::open(&file).unwrap();
    let missing = raw.prepare("SELECT * FROM anatomy").unwrap_err();
    assert!(missing.to_string().contains("no such table"), "{missing}");
    drop(raw);
    let study = Study::open(dir.path()).unwrap();
    assert!(study.anatomy_keys().unwrap().is_empty());
    study.each_anatomy(|_, _| panic!("there is none")).unwrap();
    study.add_anatomy(&point(4, false), &anatomy()).unwrap();
    drop(study);
    let again = Study::open(dir.path()).unwrap();
    assert_eq!(again.anatomy_keys().unwrap().len(), 1);
}

#[test]
fn what_was_changed_is_refused() {
    let dir = TempDir::new().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_anatomy(&point(4, false), &anatomy()).unwrap();
    drop(study);
    let raw = Connection::open(dir.path().join(Study::FILE)).unwrap();
    raw.execute("UPDATE anatomy SET found = zeroblob(20)", [])
        .unwrap();
    drop(raw);
    let changed = Study::open(dir.path()).unwrap();
    let error = changed.anatomy(&point(4, false).key).unwrap_err();
    let said = format!("{error:?}");
    assert!(said.contains("taken apart"), "{said}");
}
