//! A number that changed in the file of a study is an error, never another number.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{header, load, point, systems};
use std::{error::Error, fs, path::Path};
use tailmark_study::Study;

fn study(dir: &Path) -> Study {
    let study = Study::create(dir, &header(), &systems()).unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    study.add_point(&point(8, false)).unwrap();
    study
}

/// What one statement makes of what is read.
fn changed_by(sql: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    drop(study(dir.path()));
    let file = dir.path().join(Study::FILE);
    let connection = rusqlite::Connection::open(&file).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
    drop(connection);
    let study = Study::open(dir.path()).unwrap();
    let read = study.points().map(drop).and(study.loads().map(drop));
    read.map_err(|error| error.source().unwrap().to_string())
}

#[test]
fn whatever_is_changed_in_a_phase_is_an_error() {
    for sql in [
        "UPDATE phase SET operations = operations + 1",
        "UPDATE phase SET duration_s = 12.5",
        "UPDATE phase SET counters = '{}' WHERE counters <> '{}'",
        "UPDATE phase SET drained = 4 WHERE drained = 3",
        "UPDATE phase SET censored = censored + 1",
        "UPDATE phase SET lag_no_client = lag_woken_late WHERE lag_no_client NOT NULL",
        "UPDATE phase SET lag_no_client = NULL, lag_woken_late = NULL
         WHERE lag_no_client NOT NULL",
        "UPDATE point SET arrivals = 'even' WHERE arrivals = 'poisson'",
        "UPDATE point SET arrivals = NULL WHERE arrivals = 'poisson'",
        "UPDATE kind SET censored_service = censored_response WHERE censored_service NOT NULL",
        "UPDATE kind SET censored_service = NULL, censored_response = NULL
         WHERE censored_service NOT NULL",
        "UPDATE kind SET block_qos = replace(block_qos, '84000000', '84000001')
         WHERE block_qos NOT NULL",
        "UPDATE kind SET block_qos = NULL WHERE block_qos NOT NULL",
        "UPDATE phase SET steady_s = NULL WHERE steady_s NOT NULL",
        "UPDATE phase SET not_steady = 'another' WHERE warmup_of NOT NULL",
        "DELETE FROM phase WHERE warmup_of NOT NULL",
        "UPDATE phase SET warmup_of = (SELECT max(phase) FROM point) WHERE warmup_of NOT NULL",
        "UPDATE load SET threads = 3",
        "UPDATE point SET threads = 5 WHERE threads = 4",
        "UPDATE kind SET count = count + 1 WHERE kind = 'read'",
        "UPDATE kind SET kind = 'scan' WHERE kind = 'read'",
        "UPDATE summary SET ns = ns + 1",
        "UPDATE error SET example = 'another'",
        "UPDATE finding SET text = 'another'",
        "UPDATE interval SET length_s = 2.0 WHERE id = (SELECT max(id) FROM interval)",
        "UPDATE interval_kind SET errors = 1 WHERE rowid = 1",
        "UPDATE tick SET at_s = (SELECT at_s FROM tick WHERE id = 2) WHERE id = 1",
        "UPDATE series SET subject = 'another' WHERE rowid = 1",
        "UPDATE series SET tick = (SELECT max(id) FROM tick WHERE phase = 1) WHERE rowid = 1",
        "UPDATE interval_kind SET interval = 3 WHERE rowid = 2",
        "DELETE FROM interval_kind WHERE rowid = 1",
        "DELETE FROM finding WHERE rowid = 1",
    ] {
        let found = changed_by(sql);
        assert!(found.is_err(), "{sql} is not noticed");
    }
    // What is of no phase is not judged.
    changed_by("UPDATE header SET title = 'another'").unwrap();
}

#[test]
fn totals_are_verified_without_their_details() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path());
    let connection = rusqlite::Connection::open(dir.path().join(Study::FILE)).unwrap();
    connection
        .execute("UPDATE interval SET operations = 1", [])
        .unwrap();
    assert_eq!(study.point_totals().unwrap().len(), 2);
    assert!(study.points().is_err());
}

#[test]
fn a_bit_that_turned_gives_an_error_or_the_same_numbers() {
    const BITS: usize = 300;
    let dir = tempfile::tempdir().unwrap();
    let whole = study(dir.path());
    let (points, loads) = (whole.points().unwrap(), whole.loads().unwrap());
    drop(whole);
    let file = dir.path().join(Study::FILE);
    let bytes = fs::read(&file).unwrap();
    for bit in 0..BITS {
        // Spread over the file, another bit of the byte each time.
        let place = bytes.len() * 8 / BITS * bit + bit % 8;
        let mut turned = bytes.clone();
        turned[place / 8] ^= 1 << (place % 8);
        fs::write(&file, &turned).unwrap();
        let _ = fs::remove_file(dir.path().join("study.sqlite-journal"));
        let Ok(study) = Study::open_read_only(dir.path()) else {
            continue;
        };
        // One that is not found any more is measured again; there is no other.
        if let Ok(found) = study.points() {
            assert!(found.iter().all(|p| points.contains(p)), "bit {place}");
        }
        if let Ok(found) = study.loads() {
            assert!(found.iter().all(|l| loads.contains(l)), "bit {place}");
        }
    }
}
