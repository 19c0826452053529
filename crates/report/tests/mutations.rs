//! A report is made of every study that can be read, whatever its numbers say. See
//! `tailmark-testing` for how inputs are made and how many.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../../study/tests/common/mod.rs"]
mod common;

use common::small_study;
use rusqlite::{Connection, types::Value};
use std::{fs, path::Path};
use tailmark_report::{Data, html::body};
use tailmark_study::{Study, export::find};
use tailmark_testing::{HOSTILE_NAMES, Trial};
use tempfile::TempDir;

#[test]
fn a_study_with_damaged_pages_is_reported_or_refused() {
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() {
        TempDir::new_in(shm)
    } else {
        TempDir::new()
    };
    let path = small_study(dir.as_ref().unwrap().path());
    let trial = Trial {
        name: "report of a study by pages",
        samples: &[fs::read(&path).unwrap()],
        words: &[],
        inputs: 60,
    };
    trial.run(|input| {
        fs::write(&path, input).unwrap();
        let study = Study::open_read_only(&path);
        if let Ok(data) = study
            .map_err(drop)
            .and_then(|study| Data::read(&[study]).map_err(drop))
        {
            assert!(!body(&data).is_empty());
        }
    });
}

/// Values at and beyond the limits of a column, by its type.
fn limits(kind: &str) -> Vec<Value> {
    match kind {
        "INTEGER" => [-1, 1 << 56, i64::MAX].map(Value::from).into(),
        "REAL" => [-1.0, 0.0, 1e16, f64::INFINITY].map(Value::from).into(),
        "TEXT" => ["", HOSTILE_NAMES[0]]
            .map(|text| Value::from(text.to_owned()))
            .into(),
        _ => Vec::new(),
    }
}

#[test]
fn values_at_their_limits_are_reported_or_refused() {
    let whole = TempDir::new().unwrap();
    let fixture = small_study(whole.path());
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(Study::FILE);
    let connection = Connection::open(&fixture).unwrap();
    let of_tables =
        "SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c
                     WHERE t.type = 'table'";
    let mut columns = connection.prepare(of_tables).unwrap();
    let columns = columns
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    let columns: Vec<(String, String, String)> = columns.map(Result::unwrap).collect();
    let (mut reported, mut refused) = (0, 0);
    for (table, column, kind) in columns {
        for value in limits(&kind) {
            fs::copy(&fixture, &path).unwrap();
            let changed = Connection::open(&path).unwrap();
            let sql = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = ?");
            let is_changed = changed.execute(&sql, [&value]).is_ok_and(|rows| rows > 0);
            drop(changed);
            if !is_changed {
                continue;
            }
            let study = Study::open(&path).unwrap();
            let _ = study.reseal();
            let export = find("json").unwrap();
            let _ = (export.write)(&study, &mut std::io::sink());
            match Data::read(&[study]) {
                Ok(data) => {
                    reported += 1;
                    assert!(!body(&data).is_empty(), "{table}.{column}");
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        reported > 30 && refused > 30,
        "{reported} reported, {refused} refused"
    );
}
